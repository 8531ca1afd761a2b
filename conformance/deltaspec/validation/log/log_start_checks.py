"""Check whether log cleanup deleted commits too early, if a clock is given."""

from __future__ import annotations

from deltaspec.protocol.actions import CommitInfo
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.log.segment import (
    SegmentError,
    find_cleanup_version,
    find_complete_checkpoints,
    find_readable_versions,
)
from deltaspec.protocol.property_names import LOG_RETENTION
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.retention import log_starts
from deltaspec.views.table.log_retention import find_shortest_log_retention_ms
from deltaspec.views.table.state import TableState
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

_MAX_BYTES = 64 << 20
"""Size in bytes of the largest commit that is read for its time."""


def check_log_start(facts: LogFacts, findings: Findings) -> None:
    """Check whether a cleaned-up log begins too late, if the validated history goes back that far."""
    names, clock_ms = facts.plan.entries, facts.options.clock_ms
    if clock_ms is None or facts.plan.missing or not findings.has_rules_for(log_starts):
        return
    if find_cleanup_version(names) is None:
        return
    try:
        first, _ = find_readable_versions(names)
    except SegmentError:
        return
    base = facts.plan.base
    if base is None or base.version != min(each.version for each in find_complete_checkpoints(names)):
        return
    retention_ms = _find_log_retention_ms(facts.state)
    row = {
        "version": first,
        "file": f"{LOG_DIRECTORY}/{commit_name(first)}",
        "committed_at": _find_commit_time_ms(facts, findings, first),
        "shortest_retention_ms": retention_ms,
        "retention_cutoff": None if retention_ms is None else clock_ms - retention_ms,
    }
    findings.evaluate_rows(log_starts, [row])


def _find_log_retention_ms(state: TableState) -> int | None:
    """Return the shortest log retention; None if it was not always set or a dropped feature may truncate history."""
    dropped = any(row["dropped_features"] for row in state.rows["protocols"])
    values = collect_property_values(state, LOG_RETENTION)
    if dropped or None in values or not state.metadata_known:
        return None
    return find_shortest_log_retention_ms(values)


def _find_commit_time_ms(facts: LogFacts, findings: Findings, version: int) -> int | None:
    if commit_name(version) not in facts.plan.entries:
        return None
    file = f"{LOG_DIRECTORY}/{commit_name(version)}"
    try:
        log = decode_lines(facts.store.read(file, _MAX_BYTES), facts.options.revision)
    except StorageError as fault:
        findings.mark_undecided((log_starts,), str(fault), file)
        return None
    info = next((each for _, each in log.actions if isinstance(each, CommitInfo)), None)
    if info is None or info.in_commit_timestamp is not None:
        return None if info is None else info.in_commit_timestamp
    stated = info.timestamp
    if not isinstance(stated, int) or isinstance(stated, bool):
        return None
    # the file time is the time of writing, unless the file was copied
    return min(facts.plan.entries[commit_name(version)].modified_ms, max(stated, 0))


def collect_property_values(state: TableState, name: str) -> list[str | None]:
    """Return the values of a property in the validated history, from the first metadata on; None if unset."""
    changes = [row for row in state.rows["configuration"] if row["property"] == name]
    if not changes:
        return [None]
    begins = [row["version"] for row in state.rows["metadata"][:1]]
    first = [] if [changes[0]["version"]] == begins else [None]
    return [*first, *(row["value"] for row in changes)]
