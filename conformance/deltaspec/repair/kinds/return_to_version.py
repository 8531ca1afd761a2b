"""A version without a state, because a file of the log is lost: return to an earlier one, if the user chooses it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deltaspec.errors import InvalidUsage
from deltaspec.protocol.log.file_names import CommitName, CompactionName, LastCheckpointName, commit_name
from deltaspec.repair.changes import HINT, Change
from deltaspec.repair.context import refuse_findings
from deltaspec.repair.plan_format import NotRepaired, Repair
from deltaspec.repair.table_log import LogUnusable, TableLog, find_last_readable, open_table_log
from deltaspec.report.report_types import Report
from deltaspec.report.text import count
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store

_MAX_COMMIT_BYTES = 1 << 30
_MAX_LISTED = 1000


def explain(
    store: Store,
    entries: Mapping[str, Entry],
    version: int,
    distrusted: Collection[str],
    report: Report,
    reason: str,
) -> list[NotRepaired]:
    """Return why a table whose latest version has no state is not repaired, and to which version it can return."""
    last = find_last_readable(store, entries, version, distrusted)
    choices = [] if last is None or last == version else [f"version={last}"]
    more = "restore the file from a backup or an earlier version of the object"
    if choices:
        more += f", or return to version {last}, which loses the commits after it"
    reason = f"version {version} has no state: {reason}; {more}"
    findings = [each for each in report.findings if each.severity == "violation"]
    if findings:
        return refuse_findings(findings, reason, choices)
    return [NotRepaired(rule=each.rule, location=each.file or "the table", reason=reason, choices=choices)
            for each in report.checked.not_checked] or [
        NotRepaired(rule="", location="the log", reason=reason, choices=choices)
    ]  # fmt: skip


def propose(
    store: Store,
    entries: Mapping[str, Entry],
    target: int,
    version: int,
    distrusted: Collection[str],
    report: Report,
) -> tuple[Change, TableLog]:
    """Return the change that sets aside everything after a version, and the log at that version.

    Raises:
        InvalidUsage: the latest version can be read, or the version cannot.
    """
    try:
        open_table_log(store, entries, version, distrusted)
    except LogUnusable:
        pass
    else:
        raise InvalidUsage(f"version {version} can be read; run RESTORE in an engine to return to version {target}")
    try:
        log = open_table_log(store, entries, target, distrusted)
    except LogUnusable as fault:
        raise InvalidUsage(f"cannot return to version {target}: {fault}") from fault
    later = [name for name, entry in entries.items() if _get_version(entry) > target]
    later.sort(key=lambda name: (-_get_version(entries[name]), isinstance(entries[name].log_name, CommitName), name))
    hint = [HINT] if HINT in entries else []
    repair = Repair(
        kind="return-to-version",
        rules=sorted({each.rule for each in report.findings if each.severity == "violation"}),
        summary=(
            f"Return to version {target}: set aside {count(len(later), 'file')} of later versions, which cannot be "
            "read. The changes of these versions are lost."
        ),
        files=_list_added(store, entries, target, version),
        effect="lost",
    )
    return Change(repair=repair, set_aside=(*hint, *later)), log


def _get_version(entry: Entry) -> int:
    name = entry.log_name
    if isinstance(name, CompactionName):
        return name.end
    return -1 if isinstance(name, LastCheckpointName) else getattr(name, "version", -1)


def _list_added(store: Store, entries: Mapping[str, Entry], target: int, version: int) -> list[str]:
    """Return the files that the commits after a version added, as far as they can be decoded."""
    found: list[str] = []
    for number in range(target + 1, version + 1):
        name = commit_name(number)
        if name not in entries:
            continue
        try:
            actions = decode_lines(store.read(f"{LOG_DIRECTORY}/{name}", _MAX_COMMIT_BYTES)).files
        except StorageError:
            continue
        found += [action.path for _, kind, action in actions if kind == "add"]
    return found[:_MAX_LISTED]
