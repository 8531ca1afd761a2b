"""A table that changes during validation: writes after the pinned version cause no findings.

The table is copied when its version is pinned, and the copy is validated undisturbed. Findings of the concurrent run
must also be findings of the undisturbed run. Everything that the concurrent run misses or skips must be in its ledger.
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
from deltaspec.protocol.files import paths
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation import run as validate_run
from deltaspec.validation.describe.table_description import describe_table
from deltaspec.validation.ledger import find_unused_rules
from deltaspec.wire.storage.interface import Store
from deltaspec_generators.action_lines import encode_lines
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import add_action, commit_info_action, remove_action, write_table
from deltaspec_generators.tables.strategies import data_tables_with_states

LEVELS = ("log", "files", "footers", "rows")


@contextmanager
def use_store(store: Store) -> Iterator[None]:
    """Make every run read from this store, whatever its URI."""
    before = validate_run.open_store
    validate_run.open_store = lambda uri, settings: store  # type: ignore[attr-defined]
    try:
        yield
    finally:
        validate_run.open_store = before  # type: ignore[attr-defined]


_DERIVED_FILE_RULES = {code for code, rule in RULES.items() if rule.view.name == "replay_differences"}
"""Rules over checkpoints, compactions and checksums. They are reported as run if any such file is compared."""
_REMOVED_FILE_VIEWS = ("change_files", "change_commits", "rearranged_rows", "row_id_rewrites")
_REMOVED_FILE_RULES = {code for code, rule in RULES.items() if rule.view.name in _REMOVED_FILE_VIEWS}
"""Rules over change data and over rows that a commit removes. They do not apply to vacuumed files."""
_CHANGE_FILE_MISSING = "DAT004"


def assert_no_false_positive(concurrent: Report, frozen: Report, schedule: Schedule, root: Path) -> None:
    """Assert that findings hold for the pinned version, and that the ledger names every rule that was skipped."""
    assert concurrent.version == frozen.version
    for finding in concurrent.findings:
        # VACUUM may delete change data files of every version without a commit
        is_true = finding.rule == _CHANGE_FILE_MISSING and not (root / paths.decode(finding.path or "")).exists()
        assert finding in frozen.findings or is_true
    unchecked = {entry.rule for entry in concurrent.checked.not_checked}
    assert {each.rule for each in frozen.findings if each not in concurrent.findings} <= unchecked
    may_be_silent = _DERIVED_FILE_RULES | (_REMOVED_FILE_RULES if "vacuum" in schedule.started_operations else set())
    # rules of features that the table does not have are not listed as unchecked
    features = {each.name for each in describe_table(frozen.table).features}
    may_be_silent |= find_unused_rules(RULES, features)
    assert set(frozen.checked.run) - set(concurrent.checked.run) <= unchecked | may_be_silent
    if frozen.verdict == "conforms":
        assert concurrent.verdict in ("conforms", "incomplete")


_RULES_OF_SOUND_TABLES = {_CHANGE_FILE_MISSING, "CKP070"}
"""Rules with findings in these sound tables: vacuumed change data files, and multi-part checkpoints."""


@st.composite
def table_writers(draw: st.DrawFn, root: Path, *, may_have_wrong_size: bool = False) -> DrawnTableWriter:
    """Writers of tables that have some versions by now; `may_have_wrong_size`: an add may record a wrong size."""
    features = ("deletionVectors", "rowTracking", "changeDataFeed")
    table = draw(data_tables_with_states(features=features, depth=0, max_commits=8))
    if draw(st.booleans()):
        add_v2_checkpoint_feature(table.files, table.states)
    adds = [line["add"] for lines in table.files.commits.values() for line in lines if "add" in line]  # type: ignore[index]
    if may_have_wrong_size and adds and draw(st.booleans()):
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
def test_concurrent_writes_cause_no_false_findings(level: str, data: st.DataObject) -> None:
    options: dict[str, Any] = {"level": level, "history": data.draw(st.sampled_from(("latest", "all")))}
    with tempfile.TemporaryDirectory() as directory:
        root, frozen = Path(directory) / "table", Path(directory) / "frozen"
        writer = data.draw(table_writers(root, may_have_wrong_size=True))
        shutil.copytree(root, frozen)
        schedule = Schedule(writer, data.draw(scheduled_operations()))
        store = ConcurrentlyWrittenStore(str(root), schedule.advance, is_remote=data.draw(st.booleans()))
        with use_store(store):
            concurrent = deltaspec.validate(str(root), **options)
        assert_no_false_positive(concurrent, deltaspec.validate(str(frozen), **options), schedule, root)


@example_settings(10)
@given(data=st.data())
def test_log_written_during_listing_has_no_missing_files(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "table"
        schedule = Schedule(data.draw(table_writers(root)), data.draw(scheduled_operations(most=3)))
        store = InconsistentListingStore(str(root), schedule.advance, data.draw(st.randoms(use_true_random=False)))
        with use_store(store):
            report = deltaspec.validate(str(root), level="files", history=data.draw(st.sampled_from(("latest", "all"))))
    assert {each.rule for each in report.findings} <= _RULES_OF_SOUND_TABLES
    assert report.verdict in ("conforms", "incomplete")


def validate_during_change(root: Path, change: dict[str, bytes | None]) -> Report:
    """Validate a sound table whose files are overwritten, or deleted if None, after its log is listed."""
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


_NEXT_COMMIT = f"_delta_log/{3:020}.json"


def test_file_removed_by_a_later_commit_may_be_missing(tmp_path: Path) -> None:
    removal = encode_lines([commit_info_action(3), remove_action(add_action("b.parquet"))])
    report = validate_during_change(tmp_path, {"b.parquet": None, _NEXT_COMMIT: removal})
    assert (report.version, report.verdict, report.totals) == (2, "incomplete", {})
    assert {each.reason for each in report.checked.not_checked} == {"b.parquet: is missing; a later commit removed it"}


def test_missing_file_without_remove_is_found_despite_concurrent_commits(tmp_path: Path) -> None:
    report = validate_during_change(tmp_path, {"b.parquet": None, _NEXT_COMMIT: encode_lines([commit_info_action(3)])})
    assert (report.version, report.verdict, report.totals) == (2, "violations", {"DAT001": 1})


def test_missing_file_is_undecided_if_a_later_commit_is_unreadable(tmp_path: Path) -> None:
    report = validate_during_change(tmp_path, {"b.parquet": None, _NEXT_COMMIT: b"no JSON\n"})
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert {each.reason for each in report.checked.not_checked} == {
        "b.parquet: is missing; a later commit may have removed it"
    }
