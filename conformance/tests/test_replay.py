"""`deltaspec replay` takes paths relative to the working directory."""

from pathlib import Path

import pytest
from helpers.cli import run

CASE = "snapshot.version/drawn.1.0"


def test_tables_are_kept_in_a_relative_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("replay", CASE, "--candidate", "reference", "--keep", "kept")
    assert result.output == f"passed {CASE}\n"
    assert (tmp_path / "kept/table/_delta_log").is_dir()
