"""Commands that Markdown files show: examples with their output, and commands that can only be parsed."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from deltaspec.cli import main
from deltaspec.commands.repair import PlanByDefault

CHECKOUT = Path(__file__).parents[3]
SITE = CHECKOUT / "conformance/site"
PAGES = sorted((SITE / "pages").rglob("*.md"))
INCLUDED = [
    CHECKOUT / name
    for name in (
        *("README.md", "CONTRIBUTING.md", "SECURITY.md", "conformance/CANDIDATES.md", "conformance/SPARK.md"),
        *("golden-tables/README.md", "reports/README.md"),
    )
]
_FENCE = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.M | re.S)
_SECONDS = re.compile(r"[\d.]+(?= s$)", re.M)


def list_examples(file: Path) -> list[tuple[str, str]]:
    """Return the examples of a file: arguments of `deltaspec`, and the output."""
    blocks = (text for _, language, text in _FENCE.findall(file.read_text("utf-8")) if language in ("text", "console"))
    return [
        (command.removeprefix("deltaspec "), output)
        for block in blocks
        if block.startswith("$ ")
        for command, _, output in (each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.M)[1:])
    ]


def mask_seconds(output: str) -> str:
    """Return an output without running times, the only part that differs from run to run."""
    return _SECONDS.sub("…", output).rstrip()


def list_commands(file: Path) -> list[list[str]]:
    """Return the commands of `deltaspec` in blocks of shell code of a file, as words."""
    blocks = (text for _, language, text in _FENCE.findall(file.read_text("utf-8")) if language == "sh")
    return [
        words
        for block in blocks
        for line in block.splitlines()
        for words in _split_commands(shlex.split(line, comments=True))
        if words and words[0].rpartition("/")[2] == "deltaspec"
    ]


def _split_commands(words: list[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in words:
        if word in ("&&", "||", "|", ";"):
            yield command
            command = []
        else:
            command.append(word)
    yield command


def find_wrong_words(words: list[str]) -> list[str]:
    """Return the words of a command that `deltaspec` does not know: subcommands, options, and values of choices."""
    command: click.Command = main
    rest = words[1:]
    while isinstance(command, click.Group):
        if not rest or rest[0].startswith("-"):
            break
        found = command.commands.get(rest[0])
        if found is None and isinstance(command, PlanByDefault):
            found, rest = command.commands["plan"], ["plan", *rest]
        if found is None:
            return rest[:1]
        command, rest = found, rest[1:]
    context = click.Context(command)
    options = {name: each for each in command.get_params(context) for name in (*each.opts, *each.secondary_opts)}
    wrong = []
    for number, word in enumerate(rest):
        name, equals, value = word.partition("=")
        option = options.get(name)
        if name.startswith("-") and option is None:
            wrong.append(word)
        elif option is not None and name.startswith("-") and isinstance(option.type, click.Choice):
            value = value if equals else rest[number + 1]
            wrong += [value] if value not in option.type.choices else []
    return wrong
