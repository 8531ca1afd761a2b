"""Each fault of a lake has the expected verdict, exit code, rules and text; before the fault the table conforms."""

import json
from pathlib import Path

import pytest
from helpers.cli import run
from lake.all_faults import FAULTS
from lake.bases import BASES
from lake.registry import Fault
from lake.table import LakeTable

pytest.importorskip("deltalake", reason="the Python package deltalake (extra [deltalake]) is not installed")


BY_DEFAULT = {"CKP083"}
"""The divergence that Delta Spark writes stats_parsed unless a property forbids it, in each of its checkpoints."""


def validate(table: Path, options: tuple[str, ...], report: Path) -> tuple[int, str, dict[str, int], str]:
    """Run the command; return exit code, verdict, findings by rule, and the text with single spaces."""
    result = run("validate", table, "--level", "rows", *options, "--report", f"json:{report}")
    text = " ".join((result.stdout + result.stderr).split())
    if not report.exists():
        return result.exit_code, "unreadable", {}, text
    document = json.loads(report.read_bytes())
    return result.exit_code, document["verdict"], document["totals"], text


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_named(fault: Fault, tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES[fault.base](table.path)
    exit_code, verdict, totals, text = validate(table.path, fault.base_options, tmp_path / "sound.json")
    assert (exit_code, verdict, set(totals) - BY_DEFAULT) == (0, "conforms", set()), text
    fault.damage(table)
    exit_code, verdict, totals, text = validate(table.path, fault.options, tmp_path / "damaged.json")
    rules = set(totals) - BY_DEFAULT
    assert (exit_code, verdict, rules) == (fault.exit_code, fault.verdict, fault.rules - BY_DEFAULT), text
    assert [each for each in fault.says if each not in text] == [], text
