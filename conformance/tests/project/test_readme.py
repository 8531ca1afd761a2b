"""The README shows what the kit prints."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from deltaspec.cli import main

CHECKOUT = Path(__file__).parents[3]
SHOWN = re.findall(r"^```text\n\$ deltaspec ([^\n]+)\n(.*?)^```$", (CHECKOUT / "README.md").read_text(), re.M | re.S)


def _without_numbers_of_rules(text: str) -> str:
    return re.sub(r"\d+ (rules run|not applicable|not selected)", r"… \1", text)


def test_readme_shows_a_sound_and_an_unsound_table() -> None:
    judged = [output for command, output in SHOWN if command.startswith("validate ")]
    assert [output.splitlines()[-1].split()[0] for output in judged] == ["CONFORMS", "VIOLATIONS"]


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_readme_shows_the_output_of_a_command(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    printed = CliRunner().invoke(main, command.split()).stdout
    assert _without_numbers_of_rules(printed) == _without_numbers_of_rules(shown)
