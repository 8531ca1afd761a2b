"""A table that is written to while it is judged: what the pinned version does not show is never found.

The same table is copied at the moment of the pin and judged in peace. Whatever the moving run finds the peaceful run
finds as well, and what it does not find, or did not look at, stands in the ledger.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from helpers.concurrent_writer import (
    OPERATIONS,
    ConcurrentlyWrittenStore,
    DrawnTableWriter,
    InconsistentListingStore,
    Schedule,
    add_v2_checkpoint_feature,
    scheduled_operations,
)
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

import deltaspec
from deltaspec.model.log import paths
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation import run as validate_run
from deltaspec.wire.storage.interface import Store
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.bases.data_files import build_table_with_data
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import add_action, remove_action, write_table
from deltaspec_generators.tables.strategies import data_tables_with_states

LEVELS = ("log", "files", "footers", "rows")


@contextmanager
def use_store(store: Store) -> Iterator[None]:
    """Runs read from this store, whatever they are asked for."""
    before = validate_run.open_store
    validate_run.open_store = lambda uri: store  # type: ignore[attr-defined]
    try:
        yield
    finally:
        validate_run.open_store = before  # type: ignore[attr-defined]


_OF_ALL_CLAIMS = {code for code, rule in RULES.items() if rule.view.name == "replay_differences"}
"""Rules over what checkpoints, compactions and checksums say: they are told to run where any of those is compared."""
_OF_VACUUMED_FILES = {
    code for code, rule in RULES.items() if rule.view.name in ("change_files", "change_commits", "row_id_rewrites")
}
"""Rules over change data, and over rows that a commit removes: what was vacuumed says nothing against a commit."""
_CHANGE_FILE_MISSING = "DAT004"


def assert_no_false_positive(moving: Report, frozen: Report, schedule: Schedule, root: Path) -> None:
    """What a moving run says is true of the pinned version, and what it leaves out is in its ledger."""
    assert moving.version == frozen.version
    for finding in moving.findings:
        # no commit need tell of a vacuum, and change data files it may take from every version
        is_true = finding.rule == _CHANGE_FILE_MISSING and not (root / paths.decode(finding.path or "")).exists()
        assert finding in frozen.findings or is_true
    unsaid = {entry.rule for entry in moving.checked.not_checked}
    assert {each.rule for each in frozen.findings if each not in moving.findings} <= unsaid
    may_be_silent = _OF_ALL_CLAIMS | (_OF_VACUUMED_FILES if "vacuum" in schedule.started_operations else set())
    assert set(frozen.checked.run) - set(moving.checked.run) <= unsaid | may_be_silent
    if frozen.verdict == "conforms":
        assert moving.verdict in ("conforms", "incomplete")


_NO_FAULTS = {_CHANGE_FILE_MISSING, "CKP070"}
"""What sound tables are told all the same: change data files that a vacuum took, checkpoints of several parts."""


@st.composite
def written(draw: st.DrawFn, root: Path, *, may_lie: bool = False) -> DrawnTableWriter:
    """The writer of a table that has some of its versions by now; `may_lie`: a file may not be as long as is said."""
    features = ("deletionVectors", "rowTracking", "changeDataFeed")
    table = draw(data_tables_with_states(features=features, depth=0, max_commits=8))
    if draw(st.booleans()):
        add_v2_checkpoint_feature(table.files, table.states)
    adds = [line["add"] for lines in table.files.commits.values() for line in lines if "add" in line]  # type: ignore[index]
    if may_lie and adds and draw(st.booleans()):
        draw(st.sampled_from(adds))["size"] += 1
    writer = DrawnTableWriter(draw, table.files, table.states, root)
    for _ in range(draw(st.integers(0, max(len(table.states) - 2, 0))) + 1):
        writer.run_operation("commit")
        for operation in draw(st.lists(st.sampled_from(OPERATIONS[1:]), max_size=2)):
            writer.run_operation(operation)
    return writer


@example_settings(5)
@given(data=st.data())
@pytest.mark.parametrize("level", LEVELS)
def test_table_that_moves_gives_no_false_finding(level: str, data: st.DataObject) -> None:
    options: dict[str, Any] = {"level": level, "history": data.draw(st.sampled_from(("latest", "all")))}
    with tempfile.TemporaryDirectory() as directory:
        root, frozen = Path(directory) / "table", Path(directory) / "frozen"
        writer = data.draw(written(root, may_lie=True))
        shutil.copytree(root, frozen)
        schedule = Schedule(writer, data.draw(scheduled_operations()))
        store = ConcurrentlyWrittenStore(str(root), schedule.advance, is_remote=data.draw(st.booleans()))
        with use_store(store):
            moving = deltaspec.validate(str(root), **options)
        assert_no_false_positive(moving, deltaspec.validate(str(frozen), **options), schedule, root)


@example_settings(10)
@given(data=st.data())
def test_log_that_moves_while_it_is_listed_lacks_nothing(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "table"
        schedule = Schedule(data.draw(written(root)), data.draw(scheduled_operations(most=3)))
        store = InconsistentListingStore(str(root), schedule.advance, data.draw(st.randoms(use_true_random=False)))
        with use_store(store):
            report = deltaspec.validate(str(root), level="files", history=data.draw(st.sampled_from(("latest", "all"))))
    assert {each.rule for each in report.findings} <= _NO_FAULTS
    assert report.verdict in ("conforms", "incomplete")


def judged_while(root: Path, change: dict[str, bytes | None]) -> Report:
    """The report on a sound table whose files are overwritten, or deleted, once its log is listed."""
    write_table(build_table_with_data(), root)

    def advance() -> None:
        while change:
            path, data = change.popitem()
            if data is None:
                (root / path).unlink()
            else:
                (root / path).write_bytes(data)

    with use_store(ConcurrentlyWrittenStore(str(root), advance, is_remote=False)):
        return deltaspec.validate(str(root))


_NEXT = f"_delta_log/{3:020}.json"


def test_file_that_a_commit_after_the_pin_removes_may_be_gone(tmp_path: Path) -> None:
    removal = encode_lines([commit_info_action(3), remove_action(add_action("b.parquet"))])
    report = judged_while(tmp_path, {"b.parquet": None, _NEXT: removal})
    assert (report.version, report.verdict, report.totals) == (2, "incomplete", {})
    assert {each.reason for each in report.checked.not_checked} == {"b.parquet: is missing; a later commit removed it"}


def test_file_that_no_commit_removes_is_missed_though_the_table_moved(tmp_path: Path) -> None:
    report = judged_while(tmp_path, {"b.parquet": None, _NEXT: encode_lines([commit_info_action(3)])})
    assert (report.version, report.verdict, report.totals) == (2, "violations", {"DAT001": 1})


def test_file_is_not_missed_where_a_commit_after_the_pin_cannot_be_read(tmp_path: Path) -> None:
    report = judged_while(tmp_path, {"b.parquet": None, _NEXT: b"no JSON\n"})
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert {each.reason for each in report.checked.not_checked} == {
        "b.parquet: is missing; a later commit may have removed it"
    }
