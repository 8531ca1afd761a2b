"""The published first week has the commands of its script, and each still ends as it must."""

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.selection import ROOT

SCRIPT = "conformance/examples/first_week.py"
PAGE = "reports/first-week.md"


def list_commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("$ ")]


@pytest.mark.slow(SCRIPT, PAGE, "conformance/deltaspec/commands", "conformance/deltaspec/report")
def test_week_ends_as_published(tmp_path: Path) -> None:
    output = tmp_path / "week.md"
    command = [sys.executable, str(ROOT / SCRIPT), "--output", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert list_commands(output.read_text("utf-8")) == list_commands((ROOT / PAGE).read_text("utf-8"))
