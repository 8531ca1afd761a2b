"""Completion in a shell, as `click` asks for it."""

import pytest
from click.testing import CliRunner

from deltaspec.cli import main


def complete(*words: str) -> list[tuple[str, str]]:
    """Return type and value of what completes the last word of a command line."""
    variables = {
        "_DELTASPEC_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("deltaspec", *words)),
        "COMP_CWORD": str(len(words)),
    }
    found = CliRunner().invoke(main, prog_name="deltaspec", env=variables).stdout.splitlines()
    return [(kind, value) for kind, _, value in (line.partition(",") for line in found)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("explain", "fil00"), "FIL001"),
        (("explain", "add.partition-v"), "add.partition-values"),
        (("explain", "check-c"), "check-constraints"),
        (("explain", "s2"), "S21"),
        (("validate", "--select", "LOG00"), "LOG001"),
        (("validate", "--select", "LOG,FIL00"), "LOG,FIL001"),
        (("validate", "--ignore", "fil00"), "FIL001"),
        (("rules", "--select", "FIL00"), "FIL001"),
        (("requirements", "--chapter", "ad"), "add"),
        (("extract", "table", "FIL00"), "FIL001"),
    ],
)
def test_names_are_completed(words: tuple[str, ...], expected: str) -> None:
    assert ("plain", expected) in complete(*words)


@pytest.mark.parametrize("command", ["validate", "show", "extract"])
def test_shell_completes_folders(command: str) -> None:
    assert complete(command, "da") == [("dir", "da")]


def test_shell_completes_files() -> None:
    assert complete("validate", "table", "--baseline", "k") == [("file", "k")]
