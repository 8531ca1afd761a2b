"""Check row tracking: the row ids that the log assigns to files, and the row ids that files store."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.validation.data.data_bucket import EARLIER_FILES_GONE, describe_read_error
from deltaspec.validation.data.row_id_reader import MaterializedColumns, NonIntegerRowIds, RowIds, read_row_ids
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.row_id_history_checks import (
    build_row_id_enablement,
    find_inserted_paths,
    find_mark_at,
)
from deltaspec.views.data.data_files import DataFiles
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.files.row_ids import (
    row_id_files,
    row_id_rewrites,
)
from deltaspec.views.table import table_actions
from deltaspec.views.table.enablement import build_enablement_history, find_end_of_enablement, get_enablement_at
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

_UPDATE = "UPDATE"
"""Operation of commits that change rows without inserting or deleting any."""


def has_row_tracking(facts: LogFacts) -> bool:
    """Return whether a version of the validated history supports row tracking, and the state of the table is known."""
    if facts.state.protocol is None or facts.state.metadata is None:
        return False
    return any(supported for _, supported, _ in build_row_id_enablement(facts))


def check_live_row_ids(data: DataBucket) -> None:
    """Check the row ids in the live files of the validated version, and of the last version that had ids enabled."""
    state = data.facts.state
    if not data.findings.has_rules_for(row_id_files) or state.protocol is None or state.metadata is None:
        return
    enabled = row_tracking.is_enabled(state.protocol, state.metadata, state.revision)
    if enabled or row_tracking.assigns_row_ids(state.protocol, state.metadata, state.revision):
        _check_live_row_ids(data, data.files, data.facts.plan.version, state.high_water_mark[0], enabled=enabled)
    before = None if enabled else find_end_of_enablement(build_row_id_enablement(data.facts))
    if before is not None:
        files = DataFiles(find_live_files(data.intervals, before))
        _check_live_row_ids(data, files, before, find_mark_at(data.facts, before), enabled=True)


def _check_live_row_ids(data: DataBucket, files: DataFiles, version: int, mark: int | None, *, enabled: bool) -> None:
    """Check the row ids in the live files of a version, given with its high-water mark."""
    configuration = data.facts.state.rows[table_actions.configuration.name]
    hidden = (
        MaterializedColumns.at(configuration, version, data.facts.state.revision)
        if enabled
        else MaterializedColumns(None, None)
    )
    inserted = find_inserted_paths(data) if enabled else frozenset()
    assert data.values is not None, "set for the checks of all files"
    item = f"row ids of version {version}"
    for number, file in enumerate(files):
        if number % 500 == 0:
            data.progress("row ids", number, len(files))
        if file.base_row_id is None:
            continue  # a finding of level log
        try:
            ids = read_row_ids(data, file, hidden)
        except NonIntegerRowIds as fault:
            row = {**file.place, "materialized_column_fault": str(fault)}
            data.values.add_row(row_id_files, file, item, row)
            data.findings.mark_undecided((row_id_files,), describe_read_error(fault), file.path)
            continue
        except (StorageError, UnreadableRows, DeletionVectorError) as fault:
            is_gone = isinstance(fault, FileGone) and file.until is not None
            reason, path = (EARLIER_FILES_GONE, None) if is_gone else (describe_read_error(fault), file.path)
            data.findings.mark_undecided((row_id_files,), reason, path)
            continue
        row = {
            **file.place,
            "high_water_mark": mark,
            "table_version": version,
            "default_row_commit_version": file.default_row_commit_version,
            "rows_are_inserted": file.path_key in inserted,
            "duplicate_default_ids": 0,
            "materialized_ids": ids.preserved_rows,
            "materialized_default_ids": ids.default_id_rows,
            "highest_row_id": ids.highest_preserved,
            "highest_row_commit_version": ids.highest_commit_version,
            "earlier_row_commit_versions": ids.earlier_versions,
            "duplicate_ids": 0,
        }
        data.values.add_row(row_id_files, file, item, row)
        sets = {"values": ids.fresh, "kept": ids.kept, "repeated": ids.repeated}
        data.values.add_sets(file, item, data.values.row_id_borders, sets)


def check_rewritten_row_ids(data: DataBucket) -> None:
    """Check that rewritten rows keep their row ids."""
    if not data.findings.has_rules_for(row_id_rewrites):
        return
    revision = data.facts.state.revision
    rows = data.facts.state.rows
    configuration = rows[table_actions.configuration.name]
    feature, enabled_by = row_tracking.get_feature_name(revision), row_tracking.get_enablement_property(revision)
    since = build_enablement_history(rows[table_actions.protocols.name], configuration, feature, enabled_by)
    for version in data.commits.rewriting:
        hidden = MaterializedColumns.at(configuration, version, revision)
        steady = all((*get_enablement_at(since, version - 1), *get_enablement_at(since, version)))
        if not steady or hidden != MaterializedColumns.at(configuration, version - 1, revision):
            continue
        row = _rewrite(data, version, hidden)
        data.findings.evaluate_rows(row_id_rewrites, [] if row is None else [row])


def _rewrite(data: DataBucket, version: int, hidden: MaterializedColumns) -> dict[str, Any] | None:
    """Return the row of `row_id_rewrites` for a commit; None if it inserts or deletes rows, or a file is missing."""
    name = f"{LOG_DIRECTORY}/{commit_name(version)}"
    ids = {"add": RowIds(), "remove": RowIds()}
    place = name
    try:
        moves = not any(each.data_change for each in data.commit(version).files.actions)
    except StorageError as fault:
        data.findings.mark_undecided((row_id_rewrites,), str(fault), name)
        return None
    if not moves and data.facts.operations.get(version) != _UPDATE:
        return None
    try:
        again = (replace(file, kind="remove") for file in data.commits.find_readded_files(version))
        for file in chain(data.commits.files(version), again):
            if file.base_row_id is None:
                return None
            place = file.path
            ids[file.kind].take(read_row_ids(data, file, hidden, versions=True))
    except FileGone:
        return None
    except (StorageError, UnreadableRows, DeletionVectorError) as fault:
        data.findings.mark_undecided((row_id_rewrites,), describe_read_error(fault), place)
        return None
    before, after = ids["remove"], ids["add"]
    if not moves and len(before.stable) != len(after.stable):
        return None  # despite its operation, it inserts or deletes rows
    lost, new = len(before.stable - after.stable), len(after.stable - before.stable)
    same = before.versions == after.versions if moves and lost == new == 0 else None
    stated = data.facts.stated_row_ids.get(version)
    return {
        "version": version,
        "file": name,
        "lost_ids": lost,
        "new_ids": new,
        "commit_versions_preserved": same,
        "rows_preserved": stated.rows_preserved if stated else None,
    }
