"""Options shared by several commands, and parsers of their values."""

import math
from typing import Any

import click

from deltaspec.errors import InvalidUsage


class NumberRange(click.FloatRange):
    """A range of numbers. Python reads `nan`, which no comparison refuses, and `inf`."""

    name = "number"  # Click writes: 'x' is not a valid number.

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the text of an option."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class CountRange(click.IntRange):
    """A range of integers."""

    name = "integer"  # Click writes: 'x' is not a valid integer.


REVISIONS = click.Choice(["r1", "r2", "r3", "current"])
CONFIG = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Take defaults from this file. [default: the nearest deltaspec.toml, or pyproject.toml with [tool.deltaspec]]",
)
CATALOG = click.option(
    "--catalog",
    metavar="URL",
    help="Address of the Unity Catalog that knows tables such as uc://catalog.schema.table; its token is in "
    "DELTASPEC_CATALOG_TOKEN.",
)
COLOR = click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)


def parse_codes(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Parse comma-separated rule codes or prefixes of codes, in upper case."""
    return [name.upper() for name in parse_names(context, parameter, value)]


def parse_names(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> list[str]:
    """Parse comma-separated names. An empty value is an error, because omitting the option means all."""
    found = [name.strip() for each in value for name in each.split(",") if name.strip()]
    if value and not found:
        raise click.BadParameter("expected at least one name")
    return found


def check_at(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Check that a value is a version, or an ISO 8601 time with a time zone."""
    from deltaspec.validation.instants import parse_at

    try:
        parse_at(value)
    except InvalidUsage as fault:
        raise click.BadParameter(str(fault)) from fault
    return value


AT = click.option(
    "--at",
    callback=check_at,
    metavar="VERSION|TIME",
    help="Version, or the latest one committed by a time in ISO 8601 with a time zone. [default: the latest]",
)


def parse_clock(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Parse `now` or an ISO 8601 time with a time zone into milliseconds since the epoch."""
    from deltaspec.validation.instants import parse_instant

    try:
        return parse_instant(value)
    except InvalidUsage as fault:
        raise click.BadParameter(str(fault)) from fault
