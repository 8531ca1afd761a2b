"""A candidate that changes a table while it reads is named as such, and the next question gets the table as it was."""

import os
from pathlib import Path

import pytest

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.selftest.all_mutants import MUTANTS
from deltaspec.suites.cases import list_cases, run_case
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.subjects import build_subject
from deltaspec.suites.table_watch import SAMPLED_FILES, describe_changes, list_files

FAULTS = {
    "side-effects.cache-left-in-the-log": "files added",
    "side-effects.directory-created": "files added",
    "side-effects.table-deleted-after-reading": "files deleted",
    "side-effects.data-files-deleted-before-reading": "files deleted",
    "side-effects.commit-touched": "files changed",
    "side-effects.byte-changed-in-place": "files changed",
}


@pytest.mark.parametrize(("name", "kind"), FAULTS.items(), ids=FAULTS)
def test_change_is_named_and_undone(tmp_path: Path, name: str, kind: str) -> None:
    subject = build_subject("rare.shallow-clone", tmp_path)
    faulty = InProcess(MUTANTS[name].build())
    before = list_files(subject.locations).keys()
    case = next(iter(list_cases(faulty.capabilities, [subject], MUTANTS[name].suites)))
    result = run_case(faulty, case)
    assert result.outcome is Outcome.FAILED
    assert result.message.startswith(f"changed the table that it was asked to read: {kind}\n"), result.message
    assert list_files(subject.locations).keys() == before
    assert run_case(InProcess(Engine()), case).outcome is Outcome.PASSED


def test_answer_after_the_change_is_shown_too(tmp_path: Path) -> None:
    subject = build_subject("rare.shallow-clone", tmp_path)
    faulty = InProcess(MUTANTS["side-effects.data-files-deleted-before-reading"].build())
    (case,) = [
        each for each in list_cases(faulty.capabilities, [subject], ("read",)) if each.check.name == "read.all-rows"
    ]
    message = run_case(faulty, case).message
    assert "\nfailed: refused: corrupt" in message, message


def test_every_kind_of_change_is_found(tmp_path: Path) -> None:
    table = tmp_path / "table"
    (table / "a").mkdir(parents=True)
    for number in range(SAMPLED_FILES + 4):
        (table / "a" / f"{number:02}").write_text("same")
    before = list_files([table, tmp_path / "absent"])
    assert describe_changes(before, list_files([table, tmp_path / "absent"])) == ""
    (table / "a" / "00").unlink()
    os.utime(table / "a" / "01", ns=(0, 0))
    (table / "a" / "02").write_text("longer")
    (table / "b").mkdir()
    assert describe_changes(before, list_files([table])).splitlines() == [
        "changed the table that it was asked to read: files added, deleted, changed",
        "  added: table/b",
        "  deleted: table/a/00",
        "  changed: table/a/01, table/a/02",
    ]
