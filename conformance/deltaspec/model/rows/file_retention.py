"""Which files beside the log may go at a moment. Source: Overview, Add File and Remove File, VACUUM Protocol Check.

The text lets files go that no reader needs, a retention period after they were removed, and names neither the
property that sets it nor what becomes of files that no action names (S25): engines agree on
`delta.deletedFileRetentionDuration`, and on the age of a file where nothing else is known of it.
"""

import re
from collections.abc import Collection, Iterable
from typing import Literal

from deltaspec.model.actions import Add, Protocol, Remove
from deltaspec.model.features.protocol import Accepted, Decision, Refused, may_read, may_write, supports
from deltaspec.model.features.table_features import MAX_READER_VERSION, MAX_WRITER_VERSION
from deltaspec.model.features.table_properties import DEFAULT_FILE_RETENTION_MS, file_retention_ms, parse_interval_ms
from deltaspec.model.log.paths import path_key
from deltaspec.model.log.reconciliation import Snapshot, is_expired
from deltaspec.model.revisions import Revision
from deltaspec.model.rows.deletion_vectors import build_relative_path

RetentionReason = Literal[
    "it is of the log",
    "it is live",
    "its tombstone has not expired",
    "a live file needs the deletion vector in it",
    "a tombstone that has not expired needs the deletion vector in it",
    "it is hidden",
    "it is young, and may be of a commit to come",
]
"""Why a file stays."""

LOG = "_delta_log/"
CHANGE_DATA = "_change_data/"
_HIDDEN = re.compile(r"(^|/)[_.][^/=]*(/|$)")
"""A segment that begins with an underscore or a dot; a folder `_day=1` of a partition column is none."""


def get_retention_reason(
    path: str, written_ms: int, snapshot: Snapshot, clock_ms: int, table_root: str | None = None
) -> RetentionReason | None:
    """Why a file in the table's directory has to stay at a moment; None where it may go.

    Change data files are named by their commits alone, which is no reason to keep them: they go by their age.

    Args:
        path: of the file, relative to the table; a name in the file system, not percent-encoded.
        written_ms: when it was last written, in milliseconds since the epoch.
        snapshot: the latest one, with its metadata.
        clock_ms: the moment, by the clock of whoever cleans up.
        table_root: decoded absolute path or URI that absolute paths in the log may begin with.
    """
    retention_ms = file_retention_ms(snapshot.metadata.configuration if snapshot.metadata else {})
    live = snapshot.files.values()
    removed = [each for each in snapshot.tombstones.values() if not is_expired(each, clock_ms, retention_ms)]
    if path.startswith(LOG):
        return "it is of the log"
    if path in list_data_files(live, table_root):
        return "it is live"
    if path in list_data_files(removed, table_root):
        return "its tombstone has not expired"
    if path in list_vector_files(live, table_root):
        return "a live file needs the deletion vector in it"
    if path in list_vector_files(removed, table_root):
        return "a tombstone that has not expired needs the deletion vector in it"
    if _HIDDEN.search(path) and not path.startswith(CHANGE_DATA):
        return "it is hidden"
    if clock_ms <= written_ms + retention_ms:
        return "it is young, and may be of a commit to come"
    return None


def may_be_removed(
    path: str, written_ms: int, snapshot: Snapshot, clock_ms: int, table_root: str | None = None
) -> bool:
    """Whether a file in the table's directory may go at a moment. Arguments as of `get_retention_reason`."""
    return get_retention_reason(path, written_ms, snapshot, clock_ms, table_root) is None


def list_data_files(actions: Iterable[Add | Remove], table_root: str | None = None) -> set[str]:
    """The data files of logical files, as a listing of the table names those below it."""
    return {path_key(action.path, table_root) for action in actions}


def list_vector_files(actions: Iterable[Add | Remove], table_root: str | None = None) -> set[str]:
    """The files that hold the deletion vectors of logical files; inline vectors are in none.

    Raises:
        DeletionVectorError: a descriptor names no file.
    """
    found = set()
    for vector in (action.deletion_vector for action in actions):
        if vector is not None and vector.storage_type == "u":
            found.add(build_relative_path(vector))
        if vector is not None and vector.storage_type == "p":
            found.add(path_key(vector.path_or_inline_dv, table_root))
    return found


def may_vacuum(
    protocol: Protocol,
    features: Collection[str],
    max_reader: int = MAX_READER_VERSION,
    max_writer: int = MAX_WRITER_VERSION,
    revision: Revision = Revision.CURRENT,
) -> Decision:
    """Whether a client that knows these features and versions may delete files of the table.

    A vacuum commits nothing, so older clients looked only at what it takes to read the table: with
    `vacuumProtocolCheck` they have to be able to write to it as well.

    Source: VACUUM Protocol Check (current).
    """
    reading = may_read(protocol, features, max_reader)
    if isinstance(reading, Refused):
        return reading
    if revision is not Revision.CURRENT or not supports(protocol, "vacuumProtocolCheck"):  # [Changed in current]
        return Accepted()
    writing = may_write(protocol, features, max_reader, max_writer)
    if isinstance(writing, Refused):
        return Refused("vacuum-protocol-check.checked-before-vacuum", writing.why)
    return Accepted()


def find_shortest_file_retention_ms(values: Iterable[str | None]) -> int | None:
    """The shortest retention that was in force, by which whoever cleaned up may have gone; None: nobody can tell.

    Args:
        values: of `delta.deletedFileRetentionDuration`, None where it was not set: then it is the week that the text
            tells of.
    """
    found = [DEFAULT_FILE_RETENTION_MS if value is None else parse_interval_ms(value) for value in values]
    known = [each for each in found if each is not None and each >= 0]
    return min(known) if known and len(known) == len(found) else None
