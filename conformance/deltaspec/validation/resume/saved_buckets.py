"""Buckets in a state directory, with the result of each stage for each bucket, so that nothing is done twice.

Steps are numbered in the order of the run. A step over a bucket ends with a record of its result and of the locations
of the rows that it produced. All input of a later step is in the records of earlier ones.
"""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import BinaryIO, NamedTuple, TypeVar
from zlib import crc32

import polars as pl
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import normalize_path_keys, split_by_bucket
from deltaspec.validation.buckets import RowsByTag, Stage, matches_tag
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.resume.resume_folder import ResumeFolder
from deltaspec.validation.stored_rows import LZ4, LeftOut, leave_out_columns, read_rows, write_rows

T = TypeVar("T")
ROWS_AT_ONCE = 500_000
"""Rows of a tag that are collected before they are written."""


class Chunk(NamedTuple):
    """Location of rows of one tag and one bucket."""

    tag: str
    bucket: int
    record: str
    start: int
    """Position in the file of rows."""
    size_bytes: int
    checksum: int
    """CRC-32 of the bytes: Arrow may crash on damaged ones."""
    left_out: LeftOut


class SavedBuckets:
    """A fixed number of buckets in the files of a state."""

    def __init__(self, folder: ResumeFolder, count: int, progress: Progress = ignore_progress) -> None:
        self.count = count
        self._folder = folder
        self._progress = progress
        self._chunks: list[Chunk] = []
        self._steps = 0
        self._rows: _RowFile | None = None

    @property
    def readers(self) -> int:
        """See `Buckets.readers`."""
        return 1

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        assert self._rows is not None, "rows are put by `run_once` and by stages only"
        self._rows.put(tag, rows, keys)

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        self._progress(phase, done, total)

    def run_once(self, work: Callable[[], T]) -> T:
        record = self._next_step()
        saved: tuple[T, list[Chunk]] | None = self._folder.load(record)
        if saved is None:
            self._rows = _RowFile(self._folder, record, self.count, self._progress)
            saved = work(), self._rows.finish()
            self._rows = None
            self._folder.save(record, saved)
        value, chunks = saved
        self._chunks += chunks
        return value

    def run_stage(
        self,
        stage: Stage,
        facts: LogFacts,
        findings: Findings,
        tags: Iterable[str],
        *,
        opens_files: bool = False,
    ) -> Aggregates:
        step, prefixes = self._next_step(), list(tags)
        facts = replace(facts, bucket_count=self.count)
        chunks = [chunk for chunk in self._chunks if any(matches_tag(chunk.tag, tag) for tag in prefixes)]
        buckets: list[list[Chunk]] = [chunks]
        if chunks:
            buckets = [[chunk for chunk in chunks if chunk.bucket == bucket] for bucket in range(self.count)]
        aggregates = Aggregates()
        for bucket, chunks_of_bucket in enumerate(buckets):
            if chunks_of_bucket or len(buckets) == 1:
                aggregates.merge(self._run_or_load(f"{step}-{bucket:04}", stage, facts, findings, chunks_of_bucket))
                self.report_progress("buckets", bucket + 1, len(buckets))
        return aggregates

    def drop(self, tags: Iterable[str]) -> None:
        prefixes = list(tags)
        before = {chunk.record for chunk in self._chunks}
        self._chunks = [chunk for chunk in self._chunks if not any(matches_tag(chunk.tag, tag) for tag in prefixes)]
        self._folder.sync()
        for record in before - {chunk.record for chunk in self._chunks}:
            self._folder.rows(record).unlink(missing_ok=True)

    def close(self) -> None:
        """Keep everything for a run that resumes."""

    def _next_step(self) -> str:
        self._steps += 1
        return f"{self._steps:04}"

    def _run_or_load(
        self, record: str, stage: Stage, facts: LogFacts, findings: Findings, chunks: list[Chunk]
    ) -> Aggregates:
        """Run a stage on a bucket, or load its result."""
        saved: tuple[Findings, Aggregates, list[Chunk]] | None = self._folder.load(record)
        if saved is None:
            found, rows = findings.copy_without_findings(), _RowFile(self._folder, record, self.count, self._progress)
            aggregates = stage(facts, found, self._read_rows(chunks), rows)
            found.acceptance = None  # the run has it
            saved = found, aggregates, rows.finish()
            self._folder.save(record, saved)
        found, aggregates, new_chunks = saved
        findings.merge(found)
        self._chunks += new_chunks
        return aggregates

    def _read_rows(self, chunks: list[Chunk]) -> RowsByTag:
        by_tag: dict[str, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            by_tag[chunk.tag].append(chunk)
        return {tag: read_rows((chunk.left_out, self._read(chunk)) for chunk in by_tag[tag]) for tag in sorted(by_tag)}

    def _read(self, chunk: Chunk) -> pa.Buffer:
        try:
            with pa.memory_map(os.fsencode(self._folder.rows(chunk.record))) as source:
                source.seek(chunk.start)
                content = source.read_buffer(chunk.size_bytes)
        except OSError as fault:
            raise self._folder.damaged_error() from fault
        if crc32(content) != chunk.checksum:
            raise self._folder.damaged_error()
        return content


class _RowFile:
    """The file of the rows that one step produces; it is created with the first row."""

    def __init__(self, folder: ResumeFolder, record: str, count: int, progress: Progress) -> None:
        self._folder = folder
        self._record = record
        self._count = count
        self._progress = progress
        self._file: BinaryIO | None = None
        self._collected: dict[str, list[tuple[pl.DataFrame, pl.Series]]] = defaultdict(list)
        self._row_counts: dict[str, int] = defaultdict(int)
        self._chunks: list[Chunk] = []

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if rows.is_empty():
            return
        self._collected[tag].append((rows, normalize_path_keys(rows["path_key"]) if keys is None else keys))
        self._row_counts[tag] += len(rows)
        if self._row_counts[tag] > ROWS_AT_ONCE:
            self._write(tag)

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        self._progress(phase, done, total)

    def finish(self) -> list[Chunk]:
        """Write the remaining rows, and return the locations of all rows."""
        for tag in list(self._collected):
            self._write(tag)
        if self._file is not None:
            with self._folder.translate_write_errors(), self._file:
                self._file.flush()
                os.fsync(self._file.fileno())
        return self._chunks

    def _write(self, tag: str) -> None:
        frames, keys = zip(*self._collected.pop(tag), strict=True)
        self._row_counts[tag] = 0
        rows, left_out = leave_out_columns(pl.concat(frames))
        with self._folder.translate_write_errors():
            file = self._file = self._file or self._folder.rows(self._record).open("wb")
            for bucket, part in split_by_bucket(rows, pl.concat(keys), self._count):
                target = io.BytesIO()
                write_rows(target, part, LZ4)
                content = target.getbuffer()
                self._chunks.append(
                    Chunk(tag, bucket, self._record, file.tell(), len(content), crc32(content), left_out)
                )
                file.write(content)
