"""README.md shows a sound and a faulty table, and what it shows is true."""

from helpers.documented_commands import CHECKOUT, list_examples


def test_readme_shows_a_sound_and_a_faulty_table() -> None:
    outputs = [output for command, output in list_examples(CHECKOUT / "README.md") if command.startswith("validate ")]
    assert [output.splitlines()[-1].split()[0] for output in outputs] == ["CONFORMS", "VIOLATIONS"]
