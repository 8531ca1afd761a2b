"""Check change data: each file by itself, and each commit against the rows that its files add and remove.

If VACUUM deleted a file, the checks that need it are skipped, and the report names the commit.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl

from deltaspec.protocol.actions import CommitInfo
from deltaspec.protocol.features import change_data
from deltaspec.protocol.features.change_data import DELETE, INSERT, POSTIMAGE, PREIMAGE
from deltaspec.protocol.property_names import CHANGE_DATA_FEED
from deltaspec.validation.data.change_row_reader import ChangeFacts, Projection, read_change_file
from deltaspec.validation.data.commit_reader import RowGroups
from deltaspec.validation.data.commit_rows import CommitFiles, read_commit_files, read_commit_rows
from deltaspec.validation.data.data_bucket import DataBucket, describe_read_error
from deltaspec.views.data.change_data import change_commits, change_files
from deltaspec.views.data.data_files import DataFile, DataFiles
from deltaspec.views.table import table_actions
from deltaspec.views.table.enablement import build_enablement_history, get_enablement_at
from deltaspec.wire.data.row_hashing import HASH_MODULUS
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import FileGone, StorageError

_ROW_RULE = "CDF007"
"""The rule that compares rows; the other rules count them."""


def check_change_data(data: DataBucket) -> None:
    """Check the change data of every validated commit, including commits without change data that may need it."""
    if not (data.findings.has_rules_for(change_files) or data.findings.has_rules_for(change_commits)):
        return
    changes = RowGroups(data.changes.rows, "version", pl.lit(True))
    # a commit with change data, or one of a table with change data feed that both adds and removes
    versions = sorted({*changes, *_with_feed(data)})
    for number, version in enumerate(versions):
        data.progress("change data", number, len(versions))
        commit = read_commit_files(data, version, list(DataFiles(changes.of(version))))
        row = _log_facts(data, commit)
        if row is None:
            continue
        if commit.changes:
            row |= _look_at_rows(data, commit)
        data.findings.evaluate_rows(change_commits, [row])


def _with_feed(data: DataBucket) -> list[int]:
    rows = (
        data.facts.state.rows[table_actions.protocols.name],
        data.facts.state.rows[table_actions.configuration.name],
    )
    since = build_enablement_history(*rows, change_data.FEATURE, CHANGE_DATA_FEED)
    return [version for version in data.commits.rewriting if all(get_enablement_at(since, version))]


def _log_facts(data: DataBucket, commit: CommitFiles) -> dict[str, Any] | None:
    """Read what the log says about a commit; None if its change data is not known, which is in the ledger."""
    try:
        log = data.commit(commit.version)
    except StorageError as fault:
        data.findings.mark_undecided((change_files, change_commits), str(fault), commit.file)
        return None
    if "cdc" in log.undecoded_kinds:
        return None
    infos = [action for _, action in log.actions if isinstance(action, CommitInfo)]
    changing = {(line, kind) for line, kind, action in log.files if action.data_change}
    adds = {file.path_key for file in commit.adds if (file.line, "add") in changing}
    removes = {file.path_key for file in commit.removes if (file.line, "remove") in changing}
    operation = infos[0].operation if infos else None
    replaced = adds & removes
    return {
        "version": commit.version,
        "file": commit.file,
        "change_files": len(commit.changes),
        "operation": operation if isinstance(operation, str) else None,
        "new_files": len(adds - replaced),
        "removed_files": len(removes - replaced),
        "vector_changed_files": len(replaced),
    }


def _look_at_rows(data: DataBucket, commit: CommitFiles) -> dict[str, Any]:
    """Evaluate each change data file, and return the columns of `change_commits` for the commit."""
    files = [*commit.changes, *commit.adds, *commit.ended]
    projection = Projection.of(data.get_table_schema(commit.version), files, _ROW_RULE)
    if projection.table is None:
        data.findings.mark_rule_undecided(_ROW_RULE, "the table's schema is not known", commit.file)
    for reason in (*projection.ambiguous, *projection.incomparable):
        data.findings.mark_rule_undecided(_ROW_RULE, reason, commit.file)
    facts = [_change_file(data, file, projection) for file in commit.changes]
    read = [each for each in facts if each is not None]
    if len(read) < len(facts):
        return {}
    counts: Counter[str] = Counter()
    total = 0
    for each in read:
        counts.update(each.counts)
        total += each.total
    found: dict[str, Any] = {"preimages": counts[PREIMAGE], "postimages": counts[POSTIMAGE]}
    if any(each.unknown for each in read):
        return found  # unknown change types are a finding, and their rows cannot be counted
    found["net_changes"] = counts[INSERT] + counts[POSTIMAGE] - counts[DELETE] - counts[PREIMAGE]
    net = read_commit_rows(data, commit, change_commits, projection)
    if net is None:
        return found
    found["net_rows"] = net.rows
    comparable = net.total is not None and all(each.incomparable_reason is None for each in read)
    if projection.compares and comparable and found["net_changes"] == net.rows:
        found["rows_match"] = total % HASH_MODULUS == net.total
    return found


def _change_file(data: DataBucket, file: DataFile, projection: Projection) -> ChangeFacts | None:
    """Check one change data file; None and a ledger entry if it is missing or cannot be read."""
    views = (change_files, change_commits)
    try:
        facts = read_change_file(data, file, projection)
    except FileGone as fault:
        if file.actual_size is not None:  # it existed when the table was listed
            data.findings.mark_undecided(views, str(fault), file.path)
        else:
            data.findings.rows_not_compared.add(file.file)
        return None
    except (StorageError, UnreadableRows) as fault:
        data.findings.mark_undecided(views, describe_read_error(fault), file.path)
        return None
    data.findings.evaluate_rows(change_files, [{**file.place, **facts.row}])
    if not facts.has_change_type:
        return None
    if facts.incomparable_reason is not None:
        data.findings.mark_rule_undecided(_ROW_RULE, facts.incomparable_reason, file.path)
    return facts
