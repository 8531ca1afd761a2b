"""The embedded engine: one process, Arrow and Polars, the log read once and in order.

Rules that read their own row run batch by batch while the log streams by; what replay needs of the file actions is
kept in narrow columns, in memory or spilled. What cannot be read or decoded puts the views that depend on it in doubt,
so that one fault gives one finding and not a cascade.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pyarrow as pa

from deltaspec.model.log.segment import Checkpoint
from deltaspec.model.revisions import Revision
from deltaspec.rules.registry import Rule
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Progress
from deltaspec.validation.buckets import Buckets, LocalBuckets
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.derived_files import DerivedFiles
from deltaspec.validation.log.file_action_checks import check_checkpoint_lines, check_file_actions, check_lines
from deltaspec.validation.log.log_run import LogRun, commit_file
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.plan import Plan
from deltaspec.views.base import Level
from deltaspec.views.files.file_action_facts import FileContext, Provenance
from deltaspec.views.files.file_replay import (
    DATA_REPLAY_COLUMNS,
    REPLAY_COLUMNS,
    build_empty_replay_frame,
    build_intervals,
)
from deltaspec.views.log.checkpoint_parts import PartAssignmentCheck
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint, iter_file_action_batches, read_checkpoint
from deltaspec.wire.log.file_action_rows import FileActionBuilder
from deltaspec.wire.log.line_decoder import MAX_LINE_BYTES, LogFile, LogSummary, decode_line_stream, decode_lines
from deltaspec.wire.log.line_outcomes import LineOutcomes
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import prefetch_contents
from deltaspec.wire.storage.prefetch import read_lines as stream_lines

BATCH_ROWS = 50_000
MAX_BUFFERED_BYTES = 64 << 20
"""Larger commits are read as a stream of lines."""
_OF_THIS_PROCESS = ("store", "plan", "progress", "buckets", "_pending")
"""What a run has anew, though it goes on with what an earlier one has read."""


class EmbeddedRun(LogRun):
    """One run over one table. `judge` may be called once."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        rules: list[Rule],
        samples: int,
        progress: Progress,
        *,
        level: Level = "log",
        revision: Revision = Revision.CURRENT,
        clock_ms: int | None = None,
        allow_outside: bool = False,
        buckets: Buckets | None = None,
    ) -> None:
        """`shares`: where the rows of the table's files go; in memory, and beyond a bound spilled, where None."""
        super().__init__(
            *(store, plan, Findings(rules, samples, revision), progress),
            level=level,
            revision=revision,
            clock_ms=clock_ms,
            allow_outside=allow_outside,
        )
        self.buckets: Buckets = LocalBuckets() if buckets is None else buckets
        self.reads = {}
        self._pending = _Pending()

    def _judge_log(self) -> Aggregates | None:
        with _no_cyclic_garbage():
            return super()._judge_log()

    def _read_log(self) -> DerivedFiles | None:
        known, derived_files = self.buckets.run_once(self._read_and_tell)
        vars(self).update(known)
        if derived_files is not None:
            derived_files.run = self
        return derived_files

    def _read_and_tell(self) -> tuple[dict[str, Any], DerivedFiles | None]:
        """Read the log; gives with the claims what the run knows by then, its findings included."""
        derived_files = super()._read_log()
        return {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}, derived_files

    def replay(self) -> pl.DataFrame:
        """Read the judged history; gives all of its file actions as `file_replay.spans` has them."""
        kept = self.buckets = LocalBuckets(rows_in_memory=None)
        self.read_history()
        self.finalize()
        chain = kept.rows(REPLAY_ROWS)
        empty = build_empty_replay_frame(REPLAY_COLUMNS if self.level == "log" else DATA_REPLAY_COLUMNS)
        return build_intervals(empty if chain is None else chain, self.revision)

    # commits

    def _commits(self) -> Iterator[LogSummary | StorageError]:
        small = (file for file in map(commit_file, self.plan.commits) if self._size(file) <= MAX_BUFFERED_BYTES)
        contents = prefetch_contents(self.store, small, MAX_BUFFERED_BYTES)
        for version in self.plan.commits:
            file = commit_file(version)
            try:
                log = self._read_commit(file, contents)
            except StorageError as fault:
                yield fault
                continue
            self._pending.take_lines(file, version, log.lines)
            self._pending.coming = log.files.rows
            yield log.summary

    def _size(self, file: str) -> int:
        return self.plan.entries[file.removeprefix(f"{LOG_DIRECTORY}/")].size_bytes

    def _read_commit(self, file: str, contents: Iterator[bytes | StorageError]) -> LogFile:
        """The next commit: from `contents` if it is small enough to stand there, else line by line."""
        if self._size(file) > MAX_BUFFERED_BYTES:
            return decode_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.revision)
        content = next(contents)
        if isinstance(content, StorageError):
            raise content
        return decode_lines(content, self.revision)

    def _deal_files(self, file: str, version: int, context: FileContext, summary: LogSummary) -> None:
        if self._pending.context not in (None, context) or self._pending.size > BATCH_ROWS:
            self._flush()
        self._pending.add(file, version, context)

    def _end_of_commits(self) -> None:
        self._flush()

    def _flush(self) -> None:
        """Look at the lines and file actions gathered since, all of one state of the table."""
        pending, self._pending = self._pending, _Pending(self._pending.coming)
        check_lines(self, pending.lines)
        if pending.context is not None and pending.rows:
            place = Provenance("commit", pending.files, pending.versions)
            self._deal(FileActionBuilder(pending.rows).table(), place, pending.context, REPLAY_ROWS)

    # checkpoints and other files of actions

    def _read_base(self, base: Checkpoint) -> ParsedCheckpoint:
        return self._read_actions(base)

    def _deal_base(self, read: ParsedCheckpoint, context: FileContext) -> None:
        self._read_files(read, context, REPLAY_ROWS)

    def read_derived_checkpoint(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> ParsedCheckpoint:
        read = self._read_actions(checkpoint)
        self._read_files(read, context, tag)
        return read

    def read_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        log = decode_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.revision)
        check_lines(self, [(file, version, log.lines)])
        self._deal(log.files.table(), Provenance("compaction", file, version), context, tag)
        return log.summary

    def _read_actions(self, checkpoint: Checkpoint) -> ParsedCheckpoint:
        """Read the table actions of a checkpoint and look at their lines."""
        read = read_checkpoint(self.store, checkpoint, self.plan.sizes, self.revision)
        self.reads[checkpoint] = read
        check_checkpoint_lines(self, read)
        return read

    def _read_files(self, read: ParsedCheckpoint, context: FileContext, tag: str) -> None:
        """Look at the file actions of a checkpoint, and deal them."""
        done = 0
        files = tuple(f"{LOG_DIRECTORY}/{name}" for name in read.checkpoint.files)
        parts = PartAssignmentCheck(files, vectors_supported=context.deletion_vectors_supported)
        for run in iter_file_action_batches(self.store, read):
            parts.check_batch(run.file, run.table)
            self._deal(run.table, Provenance(run.source, run.file, read.checkpoint.version), context, tag)
            done += run.table.num_rows
            self.progress(f"checkpoint {read.checkpoint.version}", done, None)
        read.misplaced_files = parts.misplaced_files
        self.register_parts(read.checkpoint, tag)
        self.mark_checkpoint_undecided(read)

    def _deal(self, table: pa.Table, place: Provenance, context: FileContext, tag: str) -> None:
        self.put_rows(tag, check_file_actions(self, table, place, context, self.put_rows))


class _Pending:
    """File actions and lines of commits of one state, not looked at yet."""

    def __init__(self, coming: list[tuple[object, ...]] | None = None) -> None:
        self.lines: list[tuple[str, int, LineOutcomes]] = []
        self.line_count = 0
        self.rows: list[tuple[object, ...]] = []
        self.files: list[str] = []
        self.versions: list[int] = []
        self.context: FileContext | None = None
        self.coming: list[tuple[object, ...]] = coming or []
        """File actions of the commit at hand, which belong to these or to those after them."""

    @property
    def size(self) -> int:
        return max(len(self.rows), self.line_count)

    def take_lines(self, file: str, version: int, outcomes: LineOutcomes) -> None:
        """Take the lines of a commit."""
        self.lines.append((file, version, outcomes))
        self.line_count += len(outcomes)

    def add(self, file: str, version: int, context: FileContext) -> None:
        """Take the file actions of the commit at hand."""
        rows, self.coming = self.coming, []
        if rows:
            self.rows += rows
            self.files += [file] * len(rows)
            self.versions += [version] * len(rows)
            self.context = context


@contextmanager
def _no_cyclic_garbage() -> Iterator[None]:
    """Actions hold no cycles: the collector would walk millions of them for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
