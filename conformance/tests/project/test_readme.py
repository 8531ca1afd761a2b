"""Examples in the README match the output of the commands."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from deltaspec.cli import main

CHECKOUT = Path(__file__).parents[3]
EXAMPLES = re.findall(r"^```text\n\$ deltaspec ([^\n]+)\n(.*?)^```$", (CHECKOUT / "README.md").read_text(), re.M | re.S)


def _mask_rule_counts(text: str) -> str:
    return re.sub(r"\d+ (rules run|not applicable|not selected|need|not defined)", r"… \1", text)


def test_readme_shows_a_sound_and_a_faulty_table() -> None:
    outputs = [output for command, output in EXAMPLES if command.startswith("validate ")]
    assert [output.splitlines()[-1].split()[0] for output in outputs] == ["CONFORMS", "VIOLATIONS"]


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_readme_shows_the_output_of_a_command(command: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    printed = CliRunner().invoke(main, command.split()).stdout
    assert _mask_rule_counts(printed) == _mask_rule_counts(shown)
