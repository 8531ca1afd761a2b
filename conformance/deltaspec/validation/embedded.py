"""The embedded backend: one process that reads the log once, in order, with Arrow and Polars.

Rules over single rows are evaluated batch by batch while the log is read. What replay needs of the file actions is kept
in narrow columns, in memory or on disk. A file that cannot be read or decoded makes the views that depend on it
undecided, so that one fault gives one finding and not a cascade.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import polars as pl
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.model.log.file_names import commit_name
from deltaspec.model.log.segment import Checkpoint
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.buckets import Buckets, LocalBuckets
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.file_action_checks import (
    FileActionFacts,
    StateActions,
    build_file_action_facts,
    check_checkpoint_lines,
    check_file_action_facts,
    check_lines,
)
from deltaspec.validation.log.log_run import LogRun, ReadLog
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.options import Options
from deltaspec.validation.plan import Plan
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.results_ahead import MOST_AHEAD, ResultsAhead
from deltaspec.views.files.file_action_facts import FileContext, Provenance
from deltaspec.views.files.file_replay import (
    DATA_REPLAY_COLUMNS,
    REPLAY_COLUMNS,
    build_empty_replay_frame,
    build_intervals,
)
from deltaspec.views.log.checkpoint_parts import PartAssignmentCheck
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint, iter_file_action_batches, read_checkpoint
from deltaspec.wire.log.file_action_rows import FileActions
from deltaspec.wire.log.line_decoder import MAX_LINE_BYTES, LogFile, LogSummary, decode_line_stream, decode_lines
from deltaspec.wire.log.line_outcomes import LineOutcomes
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import prefetch_contents
from deltaspec.wire.storage.prefetch import read_lines as stream_lines

BATCH_ROWS = 50_000
_LARGE_TABLE_BYTES = 64 << 20
"""Size of file actions in memory from which on fewer of them are in memory at a time."""
MAX_BUFFERED_BYTES = 64 << 20
"""Larger commits are read as a stream of lines."""


class EmbeddedRun(LogRun):
    """One run over one table. Call `run` once."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        options: Options,
        findings: Findings,
        progress: Progress = ignore_progress,
        buckets: Buckets | None = None,
    ) -> None:
        """Prepare a run.

        Args:
            store: the table.
            plan: what to read of the log.
            options: what to check.
            findings: receives what is found, and has the rules to evaluate.
            progress: called while the run works.
            buckets: receive the rows of the table's files; None keeps them in memory and spills beyond a limit.
        """
        super().__init__(store, plan, options, findings, progress)
        self.buckets = LocalBuckets(progress=progress) if buckets is None else buckets
        self._pending = _Pending()
        self._ahead = ResultsAhead[FileActionFacts]()

    def _check_log(self) -> Aggregates | None:
        with _without_garbage_collection():
            return super()._check_log()

    def _read_log(self) -> ReadLog:
        log = self.buckets.run_once(self._read_log_for_state)
        return replace(log, facts=replace(log.facts, store=self.store, plan=self.plan))

    def _read_log_for_state(self) -> ReadLog:
        """Read the log. The result has no store, because a store may contain credentials."""
        log = super()._read_log()
        return replace(log, facts=replace(log.facts, store=InMemoryStore(self.store.uri, {}, root=self.store.root)))

    def replay(self) -> pl.DataFrame:
        """Read the validated history. Return all file actions, as `build_intervals` does."""
        buckets = self.buckets = LocalBuckets(rows_in_memory=None)
        self.read_history()
        self.finalize()
        self.facts = self.history.build()
        chain = buckets.rows(REPLAY_ROWS)
        empty = build_empty_replay_frame(REPLAY_COLUMNS if self.options.level == "log" else DATA_REPLAY_COLUMNS)
        return build_intervals(empty if chain is None else chain, self.options.revision)

    def _create_range_run(self, part: Plan, options: Options) -> LogRun:
        return EmbeddedRun(self.store, part, options, self.findings.copy_without_findings(), self.progress)

    # commits

    def _iter_commits(self, versions: Sequence[int]) -> Iterator[LogSummary | StorageError]:
        names = list(map(commit_name, versions))
        files = [f"{LOG_DIRECTORY}/{name}" for name in names]
        sizes = [self.plan.entries[name].size_bytes for name in names]
        small = (file for file, size in zip(files, sizes, strict=True) if size <= MAX_BUFFERED_BYTES)
        contents = prefetch_contents(self.store, small, MAX_BUFFERED_BYTES)
        for version, file, size in zip(versions, files, sizes, strict=True):
            try:
                if size <= MAX_BUFFERED_BYTES:
                    log = self._decode_commit(next(contents))
                else:
                    log = decode_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.options.revision)
            except StorageError as fault:
                yield fault
                continue
            self._pending.add_lines(file, version, log.lines)
            self._pending.current = log.files
            yield log.summary

    def _decode_commit(self, content: bytes | StorageError) -> LogFile:
        if isinstance(content, StorageError):
            raise content
        return decode_lines(content, self.options.revision, with_digest=True)

    def _put_commit_files(self, file: str, version: int, context: FileContext, tag: str = REPLAY_ROWS) -> None:
        if self._pending.context not in (None, context) or self._pending.size > BATCH_ROWS:
            self._flush()
        self._pending.tag = tag
        self._pending.add_current(file, version, context)

    def _end_commits(self) -> None:
        self._flush()
        self._ahead.finish()
        pa.default_memory_pool().release_unused()  # the next stages have the peak of memory, and use Polars

    def _check_what_was_read(self) -> None:
        self._ahead.finish()

    def _flush(self) -> None:
        """Check the lines and file actions collected so far, which all belong to one state of the table."""
        pending, self._pending = self._pending, _Pending(self._pending.current)
        check_lines(self.findings, pending.lines)
        if pending.context is not None and len(pending.actions):
            provenance = Provenance("commit", pending.files, pending.versions)
            self._put_file_actions(StateActions(pending.actions.table(), provenance, pending.context, pending.tag))

    # checkpoints and other files of actions

    def _read_base(self, base: Checkpoint) -> ParsedCheckpoint:
        return self._read_table_actions(base)

    def _put_base_files(self, read: ParsedCheckpoint, context: FileContext) -> None:
        self._read_files(read, context, REPLAY_ROWS)

    def read_derived_checkpoint(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> ParsedCheckpoint:
        read = self._read_table_actions(checkpoint)
        self._read_files(read, context, tag)
        return read

    def read_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        log = decode_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.options.revision)
        check_lines(self.findings, [(file, version, log.lines)])
        self._put_file_actions(StateActions(log.files.table(), Provenance("compaction", file, version), context, tag))
        self._ahead.finish()
        return log.summary

    def _read_table_actions(self, checkpoint: Checkpoint) -> ParsedCheckpoint:
        """Read the table actions of a checkpoint and check its lines."""
        read = read_checkpoint(self.store, checkpoint, self.plan.sizes, self.options.revision)
        self.parsed_checkpoints[checkpoint] = read
        check_checkpoint_lines(self.findings, read)
        return read

    def _read_files(self, read: ParsedCheckpoint, context: FileContext, tag: str) -> None:
        """Check the file actions of a checkpoint, and put them into the buckets."""
        done = 0
        files = tuple(f"{LOG_DIRECTORY}/{name}" for name in read.checkpoint.files)
        parts = PartAssignmentCheck(files, vectors_supported=context.deletion_vectors_supported)
        for batch in iter_file_action_batches(self.store, read, compared=self.context.compares_files):
            parts.check_batch(batch.file, batch.table)
            provenance = Provenance(batch.source, batch.file, read.checkpoint.version)
            self._put_file_actions(StateActions(batch.table, provenance, context, tag, batch.typed))
            done += batch.table.num_rows
            self.progress(f"checkpoint {read.checkpoint.version}", done, None)
        self._ahead.finish()
        read.misplaced_files = parts.misplaced_files
        self.register_parts(read.checkpoint, tag)
        self.mark_checkpoint_undecided(read)

    def _put_file_actions(self, actions: StateActions) -> None:
        """Check file actions while the facts of the next ones are built."""
        if actions.table.num_rows:
            self._ahead.add(
                partial(build_file_action_facts, self.context, actions),
                partial(self._check_facts, actions.without_rows()),
                most=1 if actions.table.nbytes > _LARGE_TABLE_BYTES else MOST_AHEAD,
            )

    def _check_facts(self, actions: StateActions, facts: FileActionFacts) -> None:
        check_file_action_facts(self.context, self.findings, actions, facts, self.put_rows)


class _Pending:
    """File actions and lines of commits that belong to one state of the table and are not checked yet."""

    def __init__(self, current: FileActions | None = None) -> None:
        self.lines: list[tuple[str, int, LineOutcomes]] = []
        self.line_count = 0
        self.actions = FileActions()
        self.files: list[str] = []
        self.versions: list[int] = []
        self.context: FileContext | None = None
        self.tag = REPLAY_ROWS
        self.current = FileActions() if current is None else current
        """File actions of the commit that was read last. They belong to this state or to the next one."""

    @property
    def size(self) -> int:
        """Number of rows or of lines, whichever is larger."""
        return max(len(self.actions), self.line_count)

    def add_lines(self, file: str, version: int, outcomes: LineOutcomes) -> None:
        """Add the lines of a commit."""
        self.lines.append((file, version, outcomes))
        self.line_count += len(outcomes)

    def add_current(self, file: str, version: int, context: FileContext) -> None:
        """Add the file actions of the commit that was read last."""
        actions, self.current = self.current, FileActions()
        if len(actions):
            self.actions.extend(actions)
            self.files += [file] * len(actions)
            self.versions += [version] * len(actions)
            self.context = context


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch off the cyclic collector: actions have no cycles, and it would traverse millions of them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
