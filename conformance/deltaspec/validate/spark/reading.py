"""Tasks that read the log: its files become actions where Spark runs, by the code that the embedded engine uses."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from deltaspec.model.segment import Checkpoint
from deltaspec.validate.base_run import Run
from deltaspec.validate.file_rows import look_at_checkpoint_lines, look_at_file_rows, look_at_lines
from deltaspec.validate.path_stage import CHAIN_ROWS
from deltaspec.validate.spark.payloads import Payload, of_value
from deltaspec.validate.spark.shares import Dealer, found_rows
from deltaspec.validate.spark.sources import Reader
from deltaspec.validate.sums import Sums
from deltaspec.views.checkpoint_parts import PartFacts
from deltaspec.views.file_facts import FileContext, Provenance
from deltaspec.wire.checkpoint_files import CheckpointRead, FilePart, PartRead, part_runs, read_top
from deltaspec.wire.file_rows import FILE_ROWS
from deltaspec.wire.log_lines import MAX_LINE_BYTES, LogFile, read_line_stream, read_lines
from deltaspec.wire.storage import LOG, StorageError, Store
from deltaspec.wire.storage import read_lines as stream_lines

SUMMARY, TOP, RAW, PART, COUNTED = "summary", "top", "raw", "part", "counted"
"""Tags: what is told of a JSON file without its file actions; the same of a checkpoint's file; file
actions of a JSON file; what was found in one file of a checkpoint; how many file actions came of each JSON file."""
WHOLE_FILE_BYTES = 64 << 20
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
    part: FilePart
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
                    yield of_value(TOP, unit.number, self._top(run, unit, unit.checkpoint))
                    continue
                log = read_json(run.store, unit.file, unit.size_bytes, run)
            except StorageError as fault:
                yield of_value(SUMMARY, unit.number, fault)
                continue
            look_at_lines(run, [(unit.file, unit.version, log.lines)])
            yield of_value(SUMMARY, unit.number, log.summary)
            if log.files.rows:
                # a commit is one row: its change files are looked at beside what it adds
                yield Payload(RAW, unit.number, _to_bytes(log.files.table()))
        yield from found_rows(0, run.findings, Sums(), set())

    def _top(self, run: Run, unit: LogUnit, checkpoint: Checkpoint) -> CheckpointRead:
        name = unit.file.removeprefix(f"{LOG}/")
        read = read_top(run.store, checkpoint, name, run.revision)
        look_at_checkpoint_lines(run, read)
        # its file actions are read again, where they are looked at: they may be millions
        read.json_lines = [(file, LogFile()) for file, _ in read.json_lines]
        return read


def read_json(store: Store, file: str, size_bytes: int, run: Run) -> LogFile:
    """A file of JSON lines, decoded; as a stream if it is large. Raises `StorageError`."""
    if size_bytes > WHOLE_FILE_BYTES:
        return read_line_stream(stream_lines(store, file, MAX_LINE_BYTES), run.revision)
    return read_lines(store.read(file, WHOLE_FILE_BYTES), run.revision)


class FactsTask:
    """Looks at file actions by themselves and deals what replay keeps of them."""

    def __init__(self, run: Run, reader: Reader, places: dict[int, Place], count: int) -> None:
        """`places`: of the units that `ReadTask` read file actions of, by their numbers."""
        self.run = run
        self.reader = reader
        self.places = places
        self.count = count

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        run, dealer = self.run.apart(), Dealer(self.count)
        pending, counted = _Pending(), Counter[int]()
        for row in rows:
            if row.tag == RAW:
                place = self.places[row.share]
                if not pending.takes(place):
                    self._look(run, pending, dealer)
                    pending = _Pending()
                table = _from_bytes(row.payload)
                counted[row.share] += table.num_rows
                pending.add(place, table)
            else:
                for unit, run.store in self.reader(row):
                    assert isinstance(unit, PartUnit)
                    yield of_value(PART, unit.number, self._read_part(run, unit, dealer))
            yield from dealer.ready()
        self._look(run, pending, dealer)
        yield of_value(COUNTED, 0, counted)
        yield from dealer.ready(all_of_it=True)
        yield from found_rows(0, run.findings, Sums(), dealer.tags)

    def _look(self, run: Run, pending: _Pending, dealer: Dealer) -> None:
        if pending.place is None:
            return
        place = Provenance(pending.place.source, pending.files, pending.versions)
        table = pa.concat_tables(pending.tables)
        dealer(pending.place.tag, look_at_file_rows(run, table, place, pending.place.context, dealer))

    def _read_part(self, run: Run, unit: PartUnit, dealer: Dealer) -> tuple[PartRead, int | None]:
        found, context = PartRead(), unit.context
        files = tuple(f"{LOG}/{name}" for name in unit.checkpoint.files)
        parts = PartFacts(files, vectors_supported=context.deletion_vectors_supported)
        for each in part_runs(unit.part, _source(run, unit.part), found, run.revision):
            parts.take(each.file, each.table)
            place = Provenance(each.source, each.file, unit.checkpoint.version)
            dealer(unit.tag, look_at_file_rows(run, each.table, place, context, dealer))
        return found, parts.misplaced_files


def _source(run: Run, part: FilePart) -> Any:
    """The file of a part, opened or decoded, or why it is not."""
    try:
        if part.name.endswith(".json") and part.sidecar is None:
            return read_line_stream(stream_lines(run.store, part.file, MAX_LINE_BYTES), run.revision)
        return run.store.open_random(part.file)
    except StorageError as fault:
        return fault


@dataclass(frozen=True)
class Place:
    """Where the file actions of a JSON file stand, and what they are judged against."""

    source: str
    """`commit` or `compaction`."""
    file: str
    version: int
    context: FileContext
    tag: str = CHAIN_ROWS


class _Pending:
    """File actions of one state, not looked at yet."""

    def __init__(self) -> None:
        self.place: Place | None = None
        self.tables: list[pa.Table] = []
        self.files: list[str] = []
        self.versions: list[int] = []

    def takes(self, place: Place) -> bool:
        mine = self.place
        same = mine is None or (mine.source, mine.tag, mine.context) == (place.source, place.tag, place.context)
        return same and len(self.files) <= BATCH_ROWS

    def add(self, place: Place, table: pa.Table) -> None:
        self.place = place
        self.tables.append(table)
        self.files += [place.file] * table.num_rows
        self.versions += [place.version] * table.num_rows


def _to_bytes(table: pa.Table) -> bytes:
    target = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(target, FILE_ROWS, options=options) as writer:
        writer.write_table(table)
    return target.getvalue()


def _from_bytes(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
