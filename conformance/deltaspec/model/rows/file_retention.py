"""Files outside the log that may be deleted. Source: Overview, Add File and Remove File, VACUUM Protocol Check.

The protocol allows deleting files that no reader needs, a retention period after their removal. It names neither the
property of the period nor a rule for files without any action (S25). Engines agree on
`delta.deletedFileRetentionDuration`, and on the age of unknown files.
"""

import re
from collections.abc import Collection, Iterable
from typing import Literal

from deltaspec.model.decisions import Accepted, Decision, Refused, may_read, may_write
from deltaspec.model.log.reconciliation import Snapshot, is_expired
from deltaspec.protocol.actions import Add, Protocol, Remove
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_features import MAX_READER_VERSION, MAX_WRITER_VERSION
from deltaspec.protocol.features.table_properties import (
    get_file_retention_ms,
)
from deltaspec.protocol.files.deletion_vectors import build_relative_path
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.revisions import Revision

RetentionReason = Literal[
    "it belongs to the log",
    "it is live",
    "its tombstone has not expired",
    "a live file needs its deletion vector",
    "an unexpired tombstone needs its deletion vector",
    "it is hidden",
    "it is recent and may belong to a future commit",
]
"""Reason why a file is kept."""

LOG = "_delta_log/"
CHANGE_DATA = "_change_data/"
_HIDDEN = re.compile(r"(^|/)[_.][^/=]*(/|$)")
"""A segment that starts with an underscore or a dot, except a partition folder such as `_day=1`."""


def get_retention_reason(
    path: str, written_ms: int, snapshot: Snapshot, clock_ms: int, table_root: str | None = None
) -> RetentionReason | None:
    """Return why a file in the table's directory must be kept, or None if it may be deleted.

    Only commits refer to change data files, which is no reason to keep them: their age decides.

    Args:
        path: Path of the file relative to the table; a file system name, not percent-encoded.
        written_ms: Modification time in milliseconds since the epoch.
        snapshot: Latest snapshot with its metadata.
        clock_ms: Clock of the cleaning client.
        table_root: Decoded absolute path or URI of the table, to resolve absolute paths in the log.
    """
    retention_ms = get_file_retention_ms(snapshot.metadata.configuration if snapshot.metadata else {})
    live = snapshot.files.values()
    removed = [each for each in snapshot.tombstones.values() if not is_expired(each, clock_ms, retention_ms)]
    if path.startswith(LOG):
        return "it belongs to the log"
    if path in list_data_files(live, table_root):
        return "it is live"
    if path in list_data_files(removed, table_root):
        return "its tombstone has not expired"
    if path in list_vector_files(live, table_root):
        return "a live file needs its deletion vector"
    if path in list_vector_files(removed, table_root):
        return "an unexpired tombstone needs its deletion vector"
    if _HIDDEN.search(path) and not path.startswith(CHANGE_DATA):
        return "it is hidden"
    if clock_ms <= written_ms + retention_ms:
        return "it is recent and may belong to a future commit"
    return None


def may_be_removed(
    path: str, written_ms: int, snapshot: Snapshot, clock_ms: int, table_root: str | None = None
) -> bool:
    """Return whether a file in the table's directory may be deleted. Arguments as `get_retention_reason`."""
    return get_retention_reason(path, written_ms, snapshot, clock_ms, table_root) is None


def list_data_files(actions: Iterable[Add | Remove], table_root: str | None = None) -> set[str]:
    """Return the data files of logical files; files below the table are relative to it."""
    return {path_key(action.path, table_root) for action in actions}


def list_vector_files(actions: Iterable[Add | Remove], table_root: str | None = None) -> set[str]:
    """Return the files with the deletion vectors of logical files; inline vectors have none.

    Raises:
        DeletionVectorError: A descriptor does not name a file.
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
    """Decide whether a client with these features and versions may delete files of the table.

    A vacuum commits nothing, so older clients only check whether they can read the table. With `vacuumProtocolCheck`
    they must be able to write to it as well.

    Source: VACUUM Protocol Check (current).
    """
    reading = may_read(protocol, features, max_reader)
    if isinstance(reading, Refused):
        return reading
    if revision is not Revision.CURRENT or not supports(protocol, "vacuumProtocolCheck"):  # [Changed in current]
        return Accepted()
    writing = may_write(protocol, features, max_reader, max_writer)
    if isinstance(writing, Refused):
        return Refused("vacuum-protocol-check.checked-before-vacuum", writing.reason)
    return Accepted()
