"""Shares that lie in a state directory, and what was found in each: what was done once is not done again.

Every look has a number, in the order of the run. A look at a bucket ends with a record of what it found and where the
rows lie that it dealt; all that leads to a later look is in records of earlier ones.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import BinaryIO, NamedTuple, TypeVar

import polars as pl
import pyarrow as pa

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Run
from deltaspec.validation.bucketing import normalize_path_keys, split_by_bucket
from deltaspec.validation.buckets import RowsByTag, Stage, matches_tag
from deltaspec.validation.findings import Findings
from deltaspec.validation.resume.resume_folder import ResumeFolder

T = TypeVar("T")
_ROWS_AT_ONCE = 500_000
"""Rows of a tag that are gathered before they are dealt to shares."""
_ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")


class Chunk(NamedTuple):
    """Rows of a tag and a bucket in a file of rows."""

    tag: str
    bucket: int
    record: str
    start: int


class SavedBuckets:
    """Shares in the files of a state, always as many."""

    def __init__(self, folder: ResumeFolder, count: int) -> None:
        self.count = count
        self._folder = folder
        self._chunks: list[Chunk] = []
        self._steps = 0
        self._rows: _Rows | None = None

    def put(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        assert self._rows is not None, "rows are dealt by what is done once, and by looks"
        self._rows.put(tag, frame, places)

    def run_once(self, work: Callable[[], T]) -> T:
        record = self._next()
        kept: tuple[T, list[Chunk]] | None = self._folder.load(record)
        if kept is None:
            self._rows = _Rows(self._folder, record, self.count)
            kept = work(), self._rows.end()
            self._rows = None
            self._folder.save(record, kept)
        value, chunks = kept
        self._chunks += chunks
        return value

    def run_stage(
        self, stage: Stage, run: Run, tags: Iterable[str], *, in_one_bucket: bool = False, opens_files: bool = False
    ) -> Aggregates:
        step, wanted = self._next(), list(tags)
        run.bucket_count = self.count
        chunks = [each for each in self._chunks if any(matches_tag(each.tag, tag) for tag in wanted)]
        buckets: list[list[Chunk]] = [chunks]
        if not in_one_bucket and chunks:
            buckets = [[each for each in chunks if each.bucket == bucket] for bucket in range(self.count)]
        found = Aggregates()
        for bucket, its in enumerate(buckets):
            if its or len(buckets) == 1:
                found.merge(self._look(f"{step}-{bucket:04}", stage, run, its))
                run.progress("shares", bucket + 1, len(buckets))
        return found

    def drop(self, tags: Iterable[str]) -> None:
        gone = list(tags)
        before = {each.record for each in self._chunks}
        self._chunks = [each for each in self._chunks if not any(matches_tag(each.tag, tag) for tag in gone)]
        self._folder.sync()
        for record in before - {each.record for each in self._chunks}:
            self._folder.rows(record).unlink(missing_ok=True)

    def close(self) -> None:
        """All stays, for a run that goes on."""

    def _next(self) -> str:
        self._steps += 1
        return f"{self._steps:04}"

    def _look(self, record: str, stage: Stage, run: Run, chunks: list[Chunk]) -> Aggregates:
        """Look at a bucket, unless that was done."""
        kept: tuple[Findings, Aggregates, list[Chunk]] | None = self._folder.load(record)
        if kept is None:
            apart, rows = run.apart(), _Rows(self._folder, record, self.count)
            apart.progress = run.progress
            aggregates = stage(apart, self._frames(chunks), rows.put)
            kept = apart.findings, aggregates, rows.end()
            self._folder.save(record, kept)
        findings, aggregates, dealt_rows = kept
        run.findings.merge(findings)
        self._chunks += dealt_rows
        return aggregates

    def _frames(self, chunks: list[Chunk]) -> RowsByTag:
        found: dict[str, list[pl.DataFrame]] = defaultdict(list)
        for each in chunks:
            found[each.tag].append(self._read(each))
        return {tag: pl.concat(found[tag]) for tag in sorted(found)}

    def _read(self, chunk: Chunk) -> pl.DataFrame:
        try:
            with pa.memory_map(str(self._folder.rows(chunk.record))) as source:
                source.seek(chunk.start)
                return pl.DataFrame(pl.from_arrow(pa.ipc.open_stream(source).read_all()))
        except (OSError, pa.ArrowInvalid) as fault:
            raise self._folder.damaged_error() from fault


class _Rows:
    """A file of the rows that something deals; without a row there is none."""

    def __init__(self, folder: ResumeFolder, record: str, count: int) -> None:
        self._folder = folder
        self._record = record
        self._count = count
        self._file: BinaryIO | None = None
        self._held: dict[str, list[tuple[pl.DataFrame, pl.Series | None]]] = defaultdict(list)
        self._number: dict[str, int] = defaultdict(int)
        self._chunks: list[Chunk] = []

    def put(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        if frame.is_empty():
            return
        self._held[tag].append((frame, places))
        self._number[tag] += len(frame)
        if self._number[tag] > _ROWS_AT_ONCE:
            self._write(tag)

    def end(self) -> list[Chunk]:
        """Write what is left; gives where all of it lies."""
        for tag in list(self._held):
            self._write(tag)
        if self._file is not None:
            with self._folder.translate_write_errors(), self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
        return self._chunks

    def _write(self, tag: str) -> None:
        parts: dict[int, list[pl.DataFrame]] = defaultdict(list)
        for frame, places in self._held.pop(tag):
            by = normalize_path_keys(frame["path_key"]) if places is None else places
            for bucket, part in split_by_bucket(frame, by, self._count):
                parts[bucket].append(part)
        self._number[tag] = 0
        with self._folder.translate_write_errors():
            file = self._file = self._file or self._folder.rows(self._record).open("wb")
            for bucket, frames in parts.items():
                table = pl.concat(frames).to_arrow()
                self._chunks.append(Chunk(tag, bucket, self._record, file.tell()))
                with pa.ipc.new_stream(file, table.schema, options=_ZSTD) as to:
                    to.write_table(table)
