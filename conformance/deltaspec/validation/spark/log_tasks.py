"""Tasks that read the log on executors, with the code of the embedded backend."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa

from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.protocol.revisions import Revision
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import ReadContext
from deltaspec.validation.log.file_action_checks import (
    StateActions,
    check_checkpoint_lines,
    check_file_actions,
    check_lines,
)
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.spark.bucket_counts import BucketCounts
from deltaspec.validation.spark.log_sources import Reader
from deltaspec.validation.spark.payloads import Payload, value_to_payload
from deltaspec.validation.spark.row_totals import RowTotals
from deltaspec.validation.spark.spark_buckets import TaskOutput, TaskResult, build_result_payloads
from deltaspec.views.files.file_action_facts import FileContext, Provenance
from deltaspec.views.log.checkpoint_parts import PartAssignmentCheck
from deltaspec.wire.log.checkpoint_reader import (
    CheckpointPart,
    ParsedCheckpoint,
    PartSummary,
    iter_part_batches,
    read_part_actions,
)
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA
from deltaspec.wire.log.line_decoder import MAX_LINE_BYTES, LogFile, decode_line_stream, decode_lines
from deltaspec.wire.log.row_slices import RowSlice
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import read_lines as stream_lines

SUMMARY = "summary"
"""Tag of the table actions and line outcomes of a JSON file."""
TOP = "top"
"""Tag of the table actions of a file of a checkpoint."""
RAW = "raw"
"""Tag of the file actions of a JSON file."""
PART = "part"
"""Tag of the summary of a file of a checkpoint, after its file actions were read."""
MAX_BUFFERED_BYTES = 64 << 20
BATCH_ROWS = 50_000


class LogUnit(msgspec.Struct, frozen=True):
    """A file of the log whose actions are read."""

    number: int
    file: str
    """Path relative to the table."""
    version: int
    size_bytes: int
    checkpoint: Checkpoint | None = None
    """The checkpoint that the file is part of; None for commits and compactions."""


def tag_of_actions(number: int) -> str:
    """Return the tag of the file actions of a JSON file in totals, by the number of its unit."""
    return f"{RAW} {number}"


class PartUnit(msgspec.Struct, frozen=True):
    """A file of a checkpoint whose file actions are read."""

    number: int
    checkpoint: Checkpoint
    part: CheckpointPart
    context: FileContext
    tag: str
    rows: RowSlice = RowSlice()
    """The rows of a Parquet file that a task reads."""

    @property
    def file(self) -> str:
        """Path relative to the table."""
        return self.part.file


class PartResult(msgspec.Struct, frozen=True):
    """What a task reports about a slice of a file of a checkpoint."""

    number: int
    """Number of the part."""
    rows: RowSlice
    summary: PartSummary
    misplaced_files: int | None = None
    """Number of its actions that belong in another part of the checkpoint; None if unknown."""
    is_complete: bool = True
    """All rows and typed columns of the slice were read, and the file is known to be the one of other slices."""


class ReadTask(msgspec.Struct, frozen=True):
    """Reads files of the log. Table actions go to the driver, file actions stay on the executor."""

    context: ReadContext
    recorder: Findings
    """Without findings."""
    reader: Reader

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        findings, revision = self.recorder.copy_without_findings(), self.context.options.revision
        produced = RowTotals()
        for unit, store in chain.from_iterable(map(self.reader, rows)):
            assert isinstance(unit, LogUnit)
            try:
                if unit.checkpoint is not None:
                    top = _read_top(store, unit, unit.checkpoint, revision, findings)
                    yield value_to_payload(TOP, unit.number, top)
                    continue
                log = read_json(store, unit.file, unit.size_bytes, revision, with_digest=True)
            except StorageError as fault:
                yield value_to_payload(SUMMARY, unit.number, fault)
                continue
            check_lines(findings, [(unit.file, unit.version, log.lines)])
            yield value_to_payload(SUMMARY, unit.number, log.summary)
            if len(log.files):
                # a commit is one payload, because its change data files are compared with its adds
                content = _table_to_bytes(log.files.table())
                produced.add(tag_of_actions(unit.number), (content,), len(log.files))
                yield Payload(RAW, unit.number, content)
        yield from build_result_payloads(0, TaskResult(findings, Aggregates(), produced))


def _read_top(
    store: Store, unit: LogUnit, checkpoint: Checkpoint, revision: Revision, findings: Findings
) -> ParsedCheckpoint:
    """Read the table actions of a file of a checkpoint, and check its lines."""
    name = unit.file.removeprefix(f"{LOG_DIRECTORY}/")
    read = read_part_actions(store, checkpoint, name, revision)
    check_checkpoint_lines(findings, read)
    # there may be millions of file actions: they are read again by the task that checks them
    read.json_lines = [(file, LogFile(checksum=log.checksum)) for file, log in read.json_lines]
    return read


def read_json(store: Store, file: str, size_bytes: int, revision: Revision, *, with_digest: bool = False) -> LogFile:
    """Read and decode a file of JSON lines; as a stream if it is large. Raise `StorageError`."""
    if size_bytes > MAX_BUFFERED_BYTES:
        return decode_line_stream(stream_lines(store, file, MAX_LINE_BYTES), revision)
    return decode_lines(store.read(file, MAX_BUFFERED_BYTES), revision, with_digest=with_digest)


class FileSource(msgspec.Struct, frozen=True):
    """Where the file actions of a JSON file come from, and the state of the table that they belong to."""

    source: str
    """`commit` or `compaction`."""
    file: str
    version: int
    context: FileContext
    tag: str = REPLAY_ROWS


class FactsTask(msgspec.Struct, frozen=True):
    """Checks single file actions, and puts what replay needs of them into the buckets."""

    context: ReadContext
    recorder: Findings
    """Without findings."""
    reader: Reader
    sources: dict[int, FileSource]
    """Source of the file actions of each JSON file, by the number of its unit."""
    counts: BucketCounts

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        findings, output = self.recorder.copy_without_findings(), TaskOutput(self.counts)
        pending, received = _Pending(), RowTotals()
        for row in rows:
            if row.tag == RAW:
                table = _bytes_to_table(row.payload)
                received.add(tag_of_actions(row.bucket), (row.payload,), table.num_rows)
                source = self.sources.get(row.bucket)
                if source is None:  # it could not be read before
                    continue
                if not pending.accepts(source):
                    self._check(findings, pending, output)
                    pending = _Pending()
                pending.add(source, table)
            else:
                for unit, store in self.reader(row):
                    assert isinstance(unit, PartUnit)
                    yield value_to_payload(PART, unit.number, self._read_part(store, findings, unit, output))
            yield from output.drain_payloads()
        self._check(findings, pending, output)
        yield from output.drain_payloads(include_incomplete=True)
        yield from build_result_payloads(0, TaskResult(findings, Aggregates(), output.produced, received))

    def _check(self, findings: Findings, pending: _Pending, output: TaskOutput) -> None:
        source = pending.source
        if source is None:
            return
        provenance = Provenance(source.source, pending.files, pending.versions)
        actions = StateActions(pa.concat_tables(pending.tables), provenance, source.context, source.tag)
        check_file_actions(self.context, findings, actions, output.put)

    def _read_part(self, store: Store, findings: Findings, unit: PartUnit, output: TaskOutput) -> PartResult:
        """Check a slice of a file of a checkpoint."""
        summary, revision = PartSummary(), self.context.options.revision
        files = tuple(f"{LOG_DIRECTORY}/{name}" for name in unit.checkpoint.files)
        parts = PartAssignmentCheck(files, vectors_supported=unit.context.deletion_vectors_supported)
        source, compared = _open_part(store, unit.part, revision), self.context.compares_files
        typed_are_complete = True
        for batch in iter_part_batches(unit.part, source, summary, revision, compared=compared, rows_of=unit.rows):
            typed_are_complete &= batch.typed is None or not batch.typed.unread
            parts.check_batch(batch.file, batch.table)
            provenance = Provenance(batch.source, batch.file, unit.checkpoint.version)
            actions = StateActions(batch.table, provenance, unit.context, unit.tag, batch.typed)
            check_file_actions(self.context, findings, actions, output.put)
        is_readable = summary.unreadable is None and summary.storage_error is None and summary.checksum is not None
        return PartResult(
            unit.number, unit.rows, summary, parts.misplaced_files, is_complete=is_readable and typed_are_complete
        )


def _open_part(store: Store, part: CheckpointPart, revision: Revision) -> Any:
    """Open or decode the file of a part, or return the error."""
    try:
        if part.name.endswith(".json") and part.sidecar is None:
            return decode_line_stream(stream_lines(store, part.file, MAX_LINE_BYTES), revision)
        return store.open_seekable(part.file)
    except StorageError as fault:
        return fault


class _Pending:
    """File actions that belong to one state of the table and are not checked yet."""

    def __init__(self) -> None:
        self.source: FileSource | None = None
        self.tables: list[pa.Table] = []
        self.files: list[str] = []
        self.versions: list[int] = []

    def accepts(self, source: FileSource) -> bool:
        """Return whether file actions of a source may be checked together with these."""
        mine = self.source
        same = mine is None or (mine.source, mine.tag, mine.context) == (source.source, source.tag, source.context)
        return same and len(self.files) <= BATCH_ROWS

    def add(self, source: FileSource, table: pa.Table) -> None:
        """Add the file actions of one file."""
        self.source = source
        self.tables.append(table)
        self.files += [source.file] * table.num_rows
        self.versions += [source.version] * table.num_rows


def _table_to_bytes(table: pa.Table) -> bytes:
    target = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(target, FILE_ACTION_SCHEMA, options=options) as writer:
        writer.write_table(table)
    return target.getvalue()


def _bytes_to_table(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
