"""Faults in checkpoints, log compactions and version checksums."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from deltaspec.candidates.reference.checkpoint_writer import CheckpointWriter
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.candidates.reference.writer import Writer
from deltaspec.candidates.serve import EngineError
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import (
    Action,
    Add,
    DeletionVectorDescriptor,
    DomainMetadata,
    MetaData,
    Protocol,
    Remove,
    Txn,
)
from deltaspec.protocol.log.last_checkpoint import LastCheckpoint
from deltaspec.protocol.log.version_checksum import VersionChecksum
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.writers.commits import change, drop
from deltaspec.wire.storage.interface import LOG_DIRECTORY

LISTED = CheckpointWriter.list_actions


@mutant(LISTED, "checkpoint-contents.has-protocol", suites=("write",))
def protocol_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes checkpoints without the protocol."""
    return drop(original(writer, snapshot, v2=v2), Protocol)


@mutant(LISTED, "checkpoint-schema.writer-features-set", "checkpoint-schema.reader-features-set", suites=("write",),
        origin="ckpt-004")  # fmt: skip
def features_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes the versions of the protocol into checkpoints, but not its features."""
    return change(original(writer, snapshot, v2=v2), Protocol, lambda each: msgspec.structs.replace(
        each, reader_features=None, writer_features=None))  # fmt: skip


@mutant(LISTED, "checkpoint-contents.has-metadata", suites=("write",))
def properties_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes metadata without properties into checkpoints."""
    return change(original(writer, snapshot, v2=v2), MetaData, lambda each: msgspec.structs.replace(
        each, configuration={}))  # fmt: skip


@mutant(LISTED, "checkpoint-contents.has-adds", suites=("write",))
def last_file_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes checkpoints without the last live file."""
    actions: list[Action] = original(writer, snapshot, v2=v2)
    last = [each for each in actions if isinstance(each, Add)][-1:]
    return [each for each in actions if each not in last]


@mutant(LISTED, "checkpoint-contents.has-removes", suites=("write",))
def newest_tombstone_left_out(
    original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool
) -> list[Action]:
    """Writes checkpoints without the newest tombstone."""
    actions: list[Action] = original(writer, snapshot, v2=v2)
    newest = [each for each in actions if isinstance(each, Remove)][-1:]
    return [each for each in actions if each not in newest]


@mutant(LISTED, "checkpoint-contents.remove-fields", suites=("write",))
def statistics_of_tombstones_kept(
    original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool
) -> list[Action]:
    """Writes tombstones as live files with statistics."""
    return [
        Add(path=each.path, partition_values=each.partition_values or {}, size=each.size or 0, modification_time=0,
            data_change=False) if isinstance(each, Remove) else each
        for each in original(writer, snapshot, v2=v2)
    ]  # fmt: skip


@mutant(LISTED, "checkpoint-contents.has-transactions", suites=("write",))
def transactions_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes checkpoints without transactions."""
    return drop(original(writer, snapshot, v2=v2), Txn)


@mutant(LISTED, "checkpoint-contents.has-transactions", suites=("write",), origin="ckpt-003")
def older_transactions_written(
    original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool
) -> list[Action]:
    """Writes an older version of each transaction in addition to the latest one."""
    actions: list[Action] = original(writer, snapshot, v2=v2)
    return [*actions, *(msgspec.structs.replace(each, version=0) for each in actions if isinstance(each, Txn))]


@mutant(LISTED, "checkpoint-contents.has-domains", suites=("write",), origin="ckpt-001")
def domains_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes checkpoints without domains."""
    return drop(original(writer, snapshot, v2=v2), DomainMetadata)


@mutant(LISTED, "checkpoint-contents.no-domain-tombstones", suites=("write",), origin="ckpt-002")
def removed_domains_written(
    original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool
) -> list[Action]:
    """Writes removed domains into checkpoints, as if they existed."""
    known = {each.domain for each in snapshot.domains.values()}
    gone = [each for each in _list_domains(writer, snapshot) if each.domain not in known]
    return [*original(writer, snapshot, v2=v2), *(msgspec.structs.replace(each, removed=False) for each in gone)]


def _list_domains(writer: CheckpointWriter, snapshot: Snapshot) -> list[DomainMetadata]:
    log = LogReader(str(writer.log.parent))
    actions = [each for version in range(snapshot.version + 1) for each in log.read_commit(version)]
    return list({each.domain: each for each in actions if isinstance(each, DomainMetadata)}.values())


@mutant(LISTED, "checkpoint-contents.json-statistics", suites=("write",))
def statistics_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes files without statistics into checkpoints."""
    return change(original(writer, snapshot, v2=v2), Add, lambda each: msgspec.structs.replace(each, stats=None))


@mutant(LISTED, "row-tracking.base-row-id-kept", suites=("write",))
def row_ids_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes files without row ids into checkpoints."""
    return change(original(writer, snapshot, v2=v2), Add, lambda each: msgspec.structs.replace(
        each, base_row_id=None, default_row_commit_version=None))  # fmt: skip


@mutant(LISTED, "deletion-vectors.storage-type", suites=("write",), origin="dv-011")
def empty_vectors_written(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes a deletion vector with empty fields for files without one."""
    empty = DeletionVectorDescriptor(storage_type="", path_or_inline_dv="", size_in_bytes=0, cardinality=0)
    return change(original(writer, snapshot, v2=v2), Add, lambda each: msgspec.structs.replace(
        each, deletion_vector=each.deletion_vector or empty))  # fmt: skip


@mutant(LISTED, "checkpoint-contents.has-adds", suites=("write",))
def vectors_left_out(original: Method, writer: CheckpointWriter, snapshot: Snapshot, *, v2: bool) -> list[Action]:
    """Writes files without their deletion vectors into checkpoints."""
    return change(original(writer, snapshot, v2=v2), Add, lambda each: msgspec.structs.replace(
        each, deletion_vector=None))  # fmt: skip


@mutant(CheckpointWriter.write_checkpoint, "checkpoint.v2-needs-feature", suites=("write",))
def v2_written_without_feature(original: Method, writer: CheckpointWriter, snapshot: Snapshot, form: str) -> None:
    """Writes checkpoints of version 2 into tables that do not support them."""
    original(writer, snapshot, "v2")


@mutant(Writer.write_checkpoint, "checkpoint-contents.has-metadata", suites=("write",), origin="ckpt-012")
def second_checkpoint_refused(
    original: Method, writer: Writer, table: str, log: LogReader, operation: Mapping[str, object]
) -> None:
    """Fails to write a checkpoint if the schema has changed since the previous one."""
    hint = Path(table) / LOG_DIRECTORY / "_last_checkpoint"
    if hint.exists():
        before = log.read_state(msgspec.json.decode(hint.read_bytes())["version"])
        if before.schema != log.read_state().schema:
            raise EngineError("corrupt", "the checkpoints have different schemas", phase="commit")
    original(writer, table, log, operation)


@mutant(CheckpointWriter.write_hint, "last-checkpoint.version", suites=("write",))
def next_version_in_hint(original: Method, writer: CheckpointWriter, hint: LastCheckpoint) -> None:
    """Writes the version after the checkpoint's version into `_last_checkpoint`."""
    original(writer, msgspec.structs.replace(hint, version=hint.version + 1))


@mutant(CheckpointWriter.write_hint, "last-checkpoint.parts", suites=("write",))
def parts_in_hint(original: Method, writer: CheckpointWriter, hint: LastCheckpoint) -> None:
    """Writes two parts into `_last_checkpoint` for a checkpoint of one file."""
    original(writer, msgspec.structs.replace(hint, parts=2))


@mutant(Writer.compute_checksum, "checksum.accurate", suites=("write",), origin="crc-004")
def files_miscounted(original: Method, writer: Writer, snapshot: Snapshot) -> VersionChecksum:
    """Counts one file too many in a version checksum."""
    found: VersionChecksum = original(writer, snapshot)
    return msgspec.structs.replace(found, num_files=found.num_files + 1)


@mutant(Writer.compute_checksum, "checksum.accurate", suites=("write",))
def tombstones_measured(original: Method, writer: Writer, snapshot: Snapshot) -> VersionChecksum:
    """Adds the sizes of removed files to the size of the table."""
    found: VersionChecksum = original(writer, snapshot)
    size = sum(each.size or 0 for each in snapshot.tombstones.values())
    return msgspec.structs.replace(found, table_size_bytes=found.table_size_bytes + size)


@mutant(Writer.list_compacted, "compaction.commit-info-dropped", suites=("write",))
def commit_info_compacted(
    original: Method, writer: Writer, commits: Mapping[int, Iterable[Action]], start: int, end: int
) -> list[Action]:
    """Keeps commitInfo in log compactions."""
    return [next(iter(commits[end])), *original(writer, commits, start, end)]


@mutant(Writer.list_compacted, "compaction.removes-kept", suites=("write",), origin="log-001")
def removes_not_compacted(
    original: Method, writer: Writer, commits: Mapping[int, Iterable[Action]], start: int, end: int
) -> list[Action]:
    """Drops removes from log compactions."""
    return drop(original(writer, commits, start, end), Remove)


@mutant(Writer.list_compacted, "compaction.equals-replay", suites=("write",))
def last_commit_not_compacted(
    original: Method, writer: Writer, commits: Mapping[int, Iterable[Action]], start: int, end: int
) -> list[Action]:
    """Leaves out the last commit of the range."""
    fewer = {version: actions if version < end else [] for version, actions in commits.items()}
    return list(original(writer, fewer, start, end))
