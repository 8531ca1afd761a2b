"""Tasks that read the log: its files become actions where Spark runs, by the code that the embedded engine uses."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from deltaspec.model.log.segment import Checkpoint
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Run
from deltaspec.validation.log.file_action_checks import check_checkpoint_lines, check_file_actions, check_lines
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.spark.log_sources import Reader
from deltaspec.validation.spark.payloads import Payload, value_to_payload
from deltaspec.validation.spark.spark_buckets import PayloadBucketer, build_result_payloads
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
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import read_lines as stream_lines

SUMMARY, TOP, RAW, PART, COUNTED = "summary", "top", "raw", "part", "counted"
"""Tags: what is told of a JSON file without its file actions; the same of a checkpoint's file; file
actions of a JSON file; what was found in one file of a checkpoint; how many file actions came of each JSON file."""
MAX_BUFFERED_BYTES = 64 << 20
BATCH_ROWS = 50_000


@dataclass(frozen=True)
class LogUnit:
    """A file of the log that is read for its actions."""

    number: int
    file: str
    """Relative to the table."""
    version: int
    size_bytes: int
    checkpoint: Checkpoint | None = None
    """Which the file is of; None of commits and compactions."""


@dataclass(frozen=True)
class PartUnit:
    """A file of a checkpoint that is read for its file actions."""

    number: int
    checkpoint: Checkpoint
    part: CheckpointPart
    context: FileContext
    tag: str

    @property
    def file(self) -> str:
        """Relative to the table."""
        return self.part.file


class ReadTask:
    """Reads units of the log: table actions to the driver, file actions kept where they are."""

    def __init__(self, run: Run, reader: Reader) -> None:
        self.run = run
        self.reader = reader

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        run = self.run.apart()
        for unit, run.store in chain.from_iterable(map(self.reader, rows)):
            assert isinstance(unit, LogUnit)
            try:
                if unit.checkpoint is not None:
                    yield value_to_payload(TOP, unit.number, self._top(run, unit, unit.checkpoint))
                    continue
                log = read_json(run.store, unit.file, unit.size_bytes, run)
            except StorageError as fault:
                yield value_to_payload(SUMMARY, unit.number, fault)
                continue
            check_lines(run, [(unit.file, unit.version, log.lines)])
            yield value_to_payload(SUMMARY, unit.number, log.summary)
            if log.files.rows:
                # a commit is one row: its change files are looked at beside what it adds
                yield Payload(RAW, unit.number, _to_bytes(log.files.table()))
        yield from build_result_payloads(0, run.findings, Aggregates(), set())

    def _top(self, run: Run, unit: LogUnit, checkpoint: Checkpoint) -> ParsedCheckpoint:
        name = unit.file.removeprefix(f"{LOG_DIRECTORY}/")
        read = read_part_actions(run.store, checkpoint, name, run.revision)
        check_checkpoint_lines(run, read)
        # its file actions are read again, where they are looked at: they may be millions
        read.json_lines = [(file, LogFile()) for file, _ in read.json_lines]
        return read


def read_json(store: Store, file: str, size_bytes: int, run: Run) -> LogFile:
    """A file of JSON lines, decoded; as a stream if it is large. Raises `StorageError`."""
    if size_bytes > MAX_BUFFERED_BYTES:
        return decode_line_stream(stream_lines(store, file, MAX_LINE_BYTES), run.revision)
    return decode_lines(store.read(file, MAX_BUFFERED_BYTES), run.revision)


class FactsTask:
    """Looks at file actions by themselves and deals what replay keeps of them."""

    def __init__(self, run: Run, reader: Reader, places: dict[int, FileSource], count: int) -> None:
        """`places`: of the units that `ReadTask` read file actions of, by their numbers."""
        self.run = run
        self.reader = reader
        self.places = places
        self.count = count

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        run, dealer = self.run.apart(), PayloadBucketer(self.count)
        pending, counted = _Pending(), Counter[int]()
        for row in rows:
            if row.tag == RAW:
                place = self.places[row.bucket]
                if not pending.takes(place):
                    self._look(run, pending, dealer)
                    pending = _Pending()
                table = _from_bytes(row.payload)
                counted[row.bucket] += table.num_rows
                pending.add(place, table)
            else:
                for unit, run.store in self.reader(row):
                    assert isinstance(unit, PartUnit)
                    yield value_to_payload(PART, unit.number, self._read_part(run, unit, dealer))
            yield from dealer.drain_payloads()
        self._look(run, pending, dealer)
        yield value_to_payload(COUNTED, 0, counted)
        yield from dealer.drain_payloads(include_incomplete=True)
        yield from build_result_payloads(0, run.findings, Aggregates(), dealer.tags)

    def _look(self, run: Run, pending: _Pending, dealer: PayloadBucketer) -> None:
        if pending.place is None:
            return
        place = Provenance(pending.place.source, pending.files, pending.versions)
        table = pa.concat_tables(pending.tables)
        dealer(pending.place.tag, check_file_actions(run, table, place, pending.place.context, dealer))

    def _read_part(self, run: Run, unit: PartUnit, dealer: PayloadBucketer) -> tuple[PartSummary, int | None]:
        found, context = PartSummary(), unit.context
        files = tuple(f"{LOG_DIRECTORY}/{name}" for name in unit.checkpoint.files)
        parts = PartAssignmentCheck(files, vectors_supported=context.deletion_vectors_supported)
        for each in iter_part_batches(unit.part, _source(run, unit.part), found, run.revision):
            parts.check_batch(each.file, each.table)
            place = Provenance(each.source, each.file, unit.checkpoint.version)
            dealer(unit.tag, check_file_actions(run, each.table, place, context, dealer))
        return found, parts.misplaced_files


def _source(run: Run, part: CheckpointPart) -> Any:
    """The file of a part, opened or decoded, or why it is not."""
    try:
        if part.name.endswith(".json") and part.sidecar is None:
            return decode_line_stream(stream_lines(run.store, part.file, MAX_LINE_BYTES), run.revision)
        return run.store.open_seekable(part.file)
    except StorageError as fault:
        return fault


@dataclass(frozen=True)
class FileSource:
    """Where the file actions of a JSON file stand, and what they are judged against."""

    source: str
    """`commit` or `compaction`."""
    file: str
    version: int
    context: FileContext
    tag: str = REPLAY_ROWS


class _Pending:
    """File actions of one state, not looked at yet."""

    def __init__(self) -> None:
        self.place: FileSource | None = None
        self.tables: list[pa.Table] = []
        self.files: list[str] = []
        self.versions: list[int] = []

    def takes(self, place: FileSource) -> bool:
        mine = self.place
        same = mine is None or (mine.source, mine.tag, mine.context) == (place.source, place.tag, place.context)
        return same and len(self.files) <= BATCH_ROWS

    def add(self, place: FileSource, table: pa.Table) -> None:
        self.place = place
        self.tables.append(table)
        self.files += [place.file] * table.num_rows
        self.versions += [place.version] * table.num_rows


def _to_bytes(table: pa.Table) -> bytes:
    target = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(target, FILE_ACTION_SCHEMA, options=options) as writer:
        writer.write_table(table)
    return target.getvalue()


def _from_bytes(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
