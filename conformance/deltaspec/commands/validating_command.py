"""Commands that validate a table as `deltaspec validate` does, with options that they share with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import click

from deltaspec.commands.validate import validate

_GIVEN_KEY = "deltaspec.given_options"


class ValidatingCommand(click.Command):
    """A command that keeps its options as the user gave them, so that a configuration file can set the others."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_GIVEN_KEY], *_ = self.make_parser(ctx).parse_args(list(args))
        return super().parse_args(ctx, args)


def select_options(names: Collection[str]) -> list[click.Parameter]:
    """Return options of `deltaspec validate` by the names of their parameters, with `--config`."""
    return [each for each in validate.params if each.name in {*names, "config"}]


def get_given_options() -> Mapping[str, Any]:
    """Return the options of the running `ValidatingCommand` that the user gave."""
    given: Mapping[str, Any] = click.get_current_context().meta[_GIVEN_KEY]
    return given


def build_validate_context(table: str, given: Mapping[str, Any]) -> click.Context:
    """Return the parameters of `deltaspec validate` for a table: given ones, those of its configuration, and defaults.

    Args:
        table: path or URI.
        given: values by parameter of `deltaspec validate`, as text; others are left out.

    Raises:
        InvalidUsage: the configuration is not valid.
    """
    return validate.make_context("validate", [*validate.build_arguments(given), "--", table])
