"""Faults in reading checkpoints and their sidecars."""

from typing import Any

import msgspec
import pyarrow.parquet as pq

from deltaspec.candidates.reference.log_reader import CorruptLog, LogReader, build_file_actions
from deltaspec.protocol.actions import Add, CheckpointMetadata, DomainMetadata, MetaData, Protocol, Remove, Sidecar, Txn
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint, read_checkpoint
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_REPLACES = "checkpoint.newest-preferred"


@mutant(
    LogReader.list_checkpoint_batches, "reconciliation.checkpoint-actions-not-replayed", suites=("snapshot", "read")
)
def last_sidecar_dropped(original: Method, log: LogReader, read: ParsedCheckpoint) -> Any:
    """Ignores the last of several sidecars."""
    if len(read.sidecars) > 1:
        read.sidecars.pop()
    return original(log, read)


@mutant(
    LogReader.list_checkpoint_batches, "reconciliation.checkpoint-actions-not-replayed", suites=("snapshot", "read")
)
def sidecars_ignored(original: Method, log: LogReader, read: ParsedCheckpoint) -> Any:
    """Does not read sidecars."""
    read.sidecars.clear()
    return original(log, read)


@mutant(LogReader.list_checkpoint_batches, "checkpoint.several-of-one-version", suites=("snapshot", "read"))
def sidecars_of_classic_names_ignored(original: Method, log: LogReader, read: ParsedCheckpoint) -> Any:
    """Expects sidecars only in checkpoints whose name has a UUID."""
    if read.checkpoint.naming != "uuid":
        read.sidecars.clear()
    return original(log, read)


@mutant(LogReader.read_checkpoint, "reconciliation.checkpoint-actions-not-replayed", suites=("snapshot", "read"))
def sidecars_taken_for_data_files(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Lists the sidecars of a checkpoint with its data files."""
    actions = original(log, checkpoint)
    return [
        Add(path=f"_delta_log/_sidecars/{each.path}", partition_values={}, size=each.size_in_bytes,
            modification_time=each.modification_time, data_change=False)
        if isinstance(each, Sidecar) else each
        for each in actions
    ]  # fmt: skip


@mutant(LogReader.read_checkpoint, _REPLACES, suites=("snapshot", "read"))
def last_part_ignored(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Reads all parts of a checkpoint but the last."""
    files = checkpoint.files[:-1] if len(checkpoint.files) > 1 else checkpoint.files
    actions: list[Any] = original(log, Checkpoint(checkpoint.version, checkpoint.naming, files))
    return actions


@mutant(LogReader.read_checkpoint, _REPLACES, suites=("snapshot", "read"))
def vectors_in_checkpoints_lost(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Does not read the column `deletionVector` of a checkpoint."""
    return [
        msgspec.structs.replace(each, deletion_vector=None) if isinstance(each, Add) else each
        for each in original(log, checkpoint)
    ]


@mutant(LogReader.read_checkpoint, _REPLACES, suites=("row-ids",))
def row_ids_in_checkpoints_lost(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Does not read the columns `baseRowId` and `defaultRowCommitVersion` of a checkpoint."""
    return [
        msgspec.structs.replace(each, base_row_id=None, default_row_commit_version=None)
        if isinstance(each, Add) else each
        for each in original(log, checkpoint)
    ]  # fmt: skip


@mutant(LogReader.read_checkpoint, _REPLACES, "transaction.latest-holds", suites=("snapshot",))
def transactions_in_checkpoints_lost(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Does not read the transactions of a checkpoint."""
    return [each for each in original(log, checkpoint) if not isinstance(each, Txn)]


@mutant(LogReader.read_checkpoint, _REPLACES, "domain.readers-support-all", suites=("snapshot",))
def domains_in_checkpoints_lost(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Does not read the domains of a checkpoint."""
    return [each for each in original(log, checkpoint) if not isinstance(each, DomainMetadata)]


@mutant(LogReader.read_checkpoint, _REPLACES, suites=("snapshot",))
def properties_in_checkpoints_lost(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Does not read the properties of the metadata in a checkpoint."""
    return [
        msgspec.structs.replace(each, configuration={}) if isinstance(each, MetaData) else each
        for each in original(log, checkpoint)
    ]


@mutant(LogReader.read_checkpoint, _REPLACES, "table-features.reader-supports-all", suites=("snapshot", "refuse"))
def features_in_checkpoints_lost(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Reads only the versions of the protocol in a checkpoint, not its features."""
    return [
        msgspec.structs.replace(each, reader_features=[], writer_features=[]) if isinstance(each, Protocol) else each
        for each in original(log, checkpoint)
    ]


@mutant(LogReader.read_checkpoint, "reconciliation.queries-see-live-files", suites=("snapshot", "read"))
def tombstones_in_checkpoints_read_as_files(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Takes every row of a checkpoint with a path for a live file."""
    return [
        Add(path=each.path, partition_values=each.partition_values or {}, size=each.size or 0, modification_time=0,
            data_change=False, deletion_vector=each.deletion_vector)
        if isinstance(each, Remove) else each
        for each in original(log, checkpoint)
    ]  # fmt: skip


@mutant(LogReader.read_checkpoint, "checkpoint-metadata.tags-not-assumed", suites=("snapshot", "read"))
def checkpoint_tags_required(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Needs the tags of checkpointMetadata, which Delta Spark writes."""
    actions: list[Any] = original(log, checkpoint)
    if any(isinstance(each, CheckpointMetadata) and not each.tags for each in actions):
        raise CorruptLog("checkpointMetadata has no tags")
    return actions


def _list_columns(log: LogReader, checkpoint: Checkpoint) -> dict[str, set[str]]:
    """Return the columns of the Parquet files of a checkpoint, with the names of their members."""
    found: dict[str, set[str]] = {}
    for name in checkpoint.files:
        if name.endswith(".parquet"):
            schema = pq.read_schema(f"{log.store.root}/{LOG_DIRECTORY}/{name}")
            for each in schema:
                members = {member.name for member in each.type} if hasattr(each.type, "num_fields") else set()
                found.setdefault(each.name, set()).update(members)
    return found


_ADD_MEMBERS = {
    *("path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags", "deletionVector"),
    *("baseRowId", "defaultRowCommitVersion", "clusteringProvider"),
}


@mutant(LogReader.read_checkpoint, "checkpoint.missing-column-is-null", suites=("snapshot", "read"), origin="ckpt-015")
def every_column_of_checkpoints_required(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Refuses a checkpoint without a column for each kind of action."""
    columns = _list_columns(log, checkpoint)
    missing = {"txn", "add", "remove", "metaData", "protocol"} - set(columns)
    if columns and missing:
        raise CorruptLog(f"the checkpoint has no columns {sorted(missing)}")
    actions: list[Any] = original(log, checkpoint)
    return actions


@mutant(LogReader.read_checkpoint, "checkpoint.missing-column-is-null", suites=("snapshot", "read"), origin="ckpt-015")
def unknown_columns_of_checkpoints_refused(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Refuses a checkpoint whose adds have members that it does not know, such as typed statistics."""
    unknown = _list_columns(log, checkpoint).get("add", set()) - _ADD_MEMBERS
    if unknown:
        raise CorruptLog(f"the checkpoint has unknown columns {sorted(unknown)}")
    actions: list[Any] = original(log, checkpoint)
    return actions


@mutant(LogReader.read_checkpoint, "sidecar.exists", suites=("refuse",), origin="ckpt-011")
def missing_sidecars_skipped(original: Method, log: LogReader, checkpoint: Checkpoint) -> list[Any]:
    """Reads the remaining files of a checkpoint if a sidecar is missing."""
    sizes = {name: entry.size_bytes for name, entry in log.entries.items()}
    read = read_checkpoint(log.store, checkpoint, sizes)
    if not any(each.actual_size is None for each in read.sidecars):
        actions: list[Any] = original(log, checkpoint)
        return actions
    read.sidecars[:] = [each for each in read.sidecars if each.actual_size is not None]
    found: list[Any] = [action for _, _, action in read.actions]
    for batch in log.list_checkpoint_batches(read):
        found += build_file_actions(batch.table)
    return found
