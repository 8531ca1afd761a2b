"""Commands in README.md, on the pages of the site and in the files that it includes."""

from pathlib import Path

import pytest
from helpers.cli import run
from helpers.documented_commands import (
    CHECKOUT,
    INCLUDED,
    PAGES,
    find_wrong_words,
    list_commands,
    list_examples,
    mask_seconds,
)

EXAMPLES = [example for file in (*INCLUDED, *PAGES) for example in list_examples(file)]


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_example_has_the_output_of_its_command(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    printed = run(*command.split()).stdout
    assert mask_seconds(printed) == mask_seconds(shown)


@pytest.mark.parametrize("file", [*INCLUDED, *PAGES], ids=lambda file: file.relative_to(CHECKOUT).as_posix())
def test_commands_have_subcommands_options_and_choices_that_exist(file: Path) -> None:
    wrong = {" ".join(words): found for words in list_commands(file) if (found := find_wrong_words(words))}
    assert wrong == {}


def test_commands_are_found_and_faults_in_them_are_noticed() -> None:
    assert len(list_commands(CHECKOUT / "README.md")) > 25
    assert find_wrong_words(["deltaspec", "validate", "t", "--level", "deep"]) == ["deep"]
    assert find_wrong_words(["deltaspec", "validate", "t", "--levels=log"]) == ["--levels=log"]
    assert find_wrong_words(["deltaspec", "golden", "make"]) == ["make"]
