"""Pages about the command line, written from the definitions of its commands."""

import re
from collections.abc import Iterator
from html import escape
from inspect import cleandoc

import click

from deltaspec.cli import main
from deltaspec.commands.validate import validate

_ADDRESS_OR_OPTION = re.compile(r"(`[^`]*`|(?<![\w-])--?[a-z][\w-]*)")


COMMANDS = "commands.md"


def build_pages() -> dict[str, str]:
    """Return Markdown by path below the directory of pages."""
    return {COMMANDS: _render_commands()}


def render_configuration_keys() -> str:
    """Return the table of the keys that a configuration file of `validate` may have."""
    context = click.Context(validate, info_name="deltaspec validate")
    rows = (
        f"| `{key}` | {_describe(option, context)}{_list_choices(option)} |"
        for key, option in validate.configurable_options.items()
    )
    return "\n".join(["| key | meaning |", "|-|-|", *rows])


def _render_commands() -> str:
    parts = [
        "---\ntitle: Commands\n",
        "description: Every command of deltaspec with its arguments and options\n---\n\n# Commands\n",
    ]
    for path, command in _iter_commands(main, "deltaspec"):
        context = click.Context(command, info_name=path)
        usage = " ".join(command.collect_usage_pieces(context))
        parts.append(f"\n## {path}\n\n```sh\n{path} {usage}\n```\n\n{_render_help(command)}\n")
        options = [each for each in command.get_params(context) if isinstance(each, click.Option) and not each.hidden]
        if rows := [f"| {_render_flags(each, context)} | {_describe(each, context)} |" for each in options]:
            parts.append("\n".join(["\n| option | meaning |", "|-|-|", *rows]) + "\n")
    return "".join(parts)


def _iter_commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield all commands that do something, sorted by name."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in sorted(command.commands):
        yield from _iter_commands(command.commands[name], f"{path} {name}")


def _render_help(command: click.Command) -> str:
    """Return the help of a command; paragraphs that must not be wrapped become code."""
    paragraphs = cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        "```text\n" + each.removeprefix("\b").strip("\n") + "\n```" if each.startswith("\b") else _text(each)
        for each in paragraphs
    )


def _render_flags(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    return f"`{record[0]}`"  # bars in code do not end a cell


def _describe(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    return _text(record[1]).replace("|", r"\|")


def _list_choices(option: click.Option) -> str:
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    return f" One of {', '.join(f'`{each}`' for each in choices)}." if choices else ""


def _text(text: str) -> str:
    """Return the words of a help text as Markdown, with options as code."""
    parts = _ADDRESS_OR_OPTION.split(" ".join(text.split()))
    parts[::2] = [escape(re.sub(r"([\\*_\[\]])", r"\\\1", part), quote=False) for part in parts[::2]]
    parts[1::2] = [part if part.startswith("`") else f"`{part}`" for part in parts[1::2]]
    return "".join(parts)
