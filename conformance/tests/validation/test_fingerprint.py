"""Fingerprints: a fault keeps its fingerprint when commits follow; other faults have other ones."""

import copy
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from helpers.drawn_tables import draw_table
from helpers.hypothesis_settings import example_settings
from helpers.reports import COMMIT, make_finding
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.report.report_types import Finding
from deltaspec.validation.fingerprint import compute_fingerprint
from deltaspec_generators.table_files import TableFiles, write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.faults.registry import PlantedFault

PATHS = st.text(st.characters(codec="utf-8"), min_size=1)


def add_commits(files: TableFiles, number: int) -> TableFiles:
    """Return the table with later commits that change nothing."""
    longer = copy.deepcopy(files)
    last = max(files.commits)
    for version in range(last + 1, last + 1 + number):
        info: dict[str, Any] = {"timestamp": version, "operation": "WRITE"}
        for line in files.commits[last]:
            if isinstance(line, dict) and isinstance(line.get("commitInfo"), dict):
                info |= line["commitInfo"]
        if isinstance(info.get("inCommitTimestamp"), int):
            info["inCommitTimestamp"] += version - last
        if "txnId" in info:
            info["txnId"] = str(UUID(int=version))
        longer.commits[version] = [{"commitInfo": info}]
    return longer


def validate(files: TableFiles, fault: PlantedFault, root: Path) -> list[Finding]:
    write_table(files, root)
    return deltaspec.validate(str(root), level=fault.level, clock=files.clock_ms).findings


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED_FAULTS)
def test_later_commits_keep_the_fingerprints_of_a_fault(name: str, tmp_path: Path) -> None:
    files = draw_table(PLANTED_FAULTS[name])
    if not files.commits:
        return
    before = validate(files, PLANTED_FAULTS[name], tmp_path / "before")
    after = validate(add_commits(files, 2), PLANTED_FAULTS[name], tmp_path / "after")
    found = {each.rule for each in after}
    kept = Counter(each.fingerprint for each in before if each.rule in found)
    assert kept <= Counter(each.fingerprint for each in after)


def test_moved_table_keeps_the_fingerprints(tmp_path: Path) -> None:
    fault = PLANTED_FAULTS["maximum_too_low"]
    files = draw_table(fault)
    first, second = (validate(files, fault, tmp_path / name) for name in ("here", "there"))
    assert [each.fingerprint for each in first] == [each.fingerprint for each in second] != []


@example_settings(30)
@given(PATHS, st.integers(), st.integers(1), st.sampled_from([COMMIT, "_delta_log/00000000000000000010.json", None]))
def test_version_line_and_log_file_do_not_count(path: str, version: int, line: int, file: str | None) -> None:
    moved = make_finding(path=path, version=version, line=line, file=file, severity="warning")
    assert compute_fingerprint(moved) == compute_fingerprint(make_finding(path=path))


@example_settings(30)
@given(st.lists(st.from_regex(r"[a-z0-9 =/_]{1,12}\.parquet", fullmatch=True), min_size=2, unique=True))
def test_other_files_have_other_fingerprints(paths: list[str]) -> None:
    names = {path.strip("/") for path in paths if "//" not in path}
    found = {compute_fingerprint(make_finding(path=name, file=None)) for name in names}
    assert len(found) == len(names)


@pytest.mark.parametrize(
    "changes",
    [
        {"rule": "FIL007", "evidence": {"missing_partition_columns": ["c1"]}},
        {"rule": "FIL007", "evidence": {"missing_partition_columns": ["c2"]}},
        {"path": "b.parquet"},
        {"path": None},
        {"column": "c"},
        {"evidence": {"path_fault": "has a tab"}},
        {"path": None, "file": "_delta_log/7.json"},
        {"path": None, "file": "_delta_log/other.tmp"},
    ],
)
def test_other_faults_have_other_fingerprints(changes: dict[str, Any]) -> None:
    every = {compute_fingerprint(make_finding()), compute_fingerprint(make_finding(rule="FIL007", evidence={}))}
    assert compute_fingerprint(make_finding(**changes)) not in every


def test_spellings_of_a_path_have_one_fingerprint() -> None:
    spellings = ["a%20b.parquet", "./a%20b.parquet", "file:/lake/sales/a%20b.parquet", "/lake/sales/a%20b.parquet"]
    found = {compute_fingerprint(make_finding(path=each), "/lake/sales") for each in spellings}
    assert len(found) == 1


def test_numbers_in_descriptions_do_not_count() -> None:
    first, second = (make_finding(evidence={"path_fault": f"fault at character {at}"}) for at in (3, 15))
    assert compute_fingerprint(first) == compute_fingerprint(second)


def test_finding_of_an_unknown_rule_has_a_fingerprint() -> None:
    """A report of a later release may name such rules."""
    assert compute_fingerprint(make_finding(rule="XYZ999")) != compute_fingerprint(make_finding(rule="XYZ998"))
