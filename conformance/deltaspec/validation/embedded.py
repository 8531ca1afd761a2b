"""The embedded backend: one process that reads the log once, in order, with Arrow and Polars.

Rules over single rows are evaluated batch by batch while the log is read. The parts of file actions that replay needs
are kept in narrow columns, in memory or on disk. A file that cannot be read or decoded makes the views that depend on
it undecided, so that one fault gives one finding and not a cascade.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.protocol.log.file_names import CompactionName, commit_name
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.validation.buckets import Buckets, LocalBuckets
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.facts import LogFacts, LogFactsBuilder, ReadContext
from deltaspec.validation.log.file_action_checks import (
    FileActionFacts,
    StateActions,
    build_file_action_facts,
    check_checkpoint_lines,
    check_file_action_facts,
    check_lines,
)
from deltaspec.validation.log.history_reader import read_history
from deltaspec.validation.log.log_source import CheckpointFiles, JsonFile, ReadLog, compaction_file
from deltaspec.validation.log.read_log import finish_reading
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.log.undecided import mark_checkpoint_undecided
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
from deltaspec.wire.log.line_decoder import MAX_LINE_BYTES, LogFile, decode_line_stream, decode_lines
from deltaspec.wire.log.line_outcomes import LineOutcomes
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError
from deltaspec.wire.storage.prefetch import prefetch_contents
from deltaspec.wire.storage.prefetch import read_lines as stream_lines

BATCH_ROWS = 50_000
_SMALL_TABLE_ROWS = 500
"""Fewer file actions are checked without a thread."""
_LARGE_TABLE_BYTES = 64 << 20
"""Size of file actions in memory from which on fewer of them are in memory at a time."""
MAX_BUFFERED_BYTES = 64 << 20
"""Larger commits are read as a stream of lines."""


class EmbeddedLog:
    """The log of a table, read in this process. A `LogSource`."""

    def __init__(
        self, context: ReadContext, findings: Findings, buckets: Buckets, progress: Progress = ignore_progress
    ) -> None:
        self.context = context
        self.findings = findings
        self.buckets = buckets
        self.progress = progress
        self.parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint] = {}
        self._pending = _Pending()
        self._ahead = ResultsAhead[FileActionFacts]()
        self._new_paths: list[pl.Series] = []
        self._kept_paths: pl.Series | None = None

    @contextmanager
    def open(self) -> Iterator[None]:
        """Switch off the cyclic collector: actions have no cycles, and it would traverse millions of them."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if enabled:
                gc.enable()

    @contextmanager
    def open_range(self, part: Plan) -> Iterator[EmbeddedLog]:
        """Yield a source for a part of the log, with its own buckets."""
        context = build_read_context(self.context.store, part, replace(self.context.options, level="log"))
        with closing(LocalBuckets(progress=self.progress)) as buckets:
            yield EmbeddedLog(context, self.findings.copy_without_findings(), buckets, self.progress)

    def run_once(self, read: Callable[[], ReadLog]) -> ReadLog:
        """Read the log, or load it from an earlier run. Its store is not saved, because it may contain credentials."""
        store = self.context.store

        def read_for_state() -> ReadLog:
            return _with_facts(read(), store=InMemoryStore(store.uri, {}, root=store.root))

        return _with_facts(self.buckets.run_once(read_for_state), store=store, plan=self.context.plan)

    # commits and compactions

    def iter_commits(self, versions: Sequence[int]) -> Iterator[JsonFile | StorageError]:
        """Yield commits in the given order, or the reason why a commit cannot be read."""
        names = list(map(commit_name, versions))
        files = [f"{LOG_DIRECTORY}/{name}" for name in names]
        sizes = [self.context.plan.entries[name].size_bytes for name in names]
        small = (file for file, size in zip(files, sizes, strict=True) if size <= MAX_BUFFERED_BYTES)
        contents = prefetch_contents(self.context.store, small, MAX_BUFFERED_BYTES)
        for version, file, size in zip(versions, files, sizes, strict=True):
            try:
                log = self._decode_commit(next(contents)) if size <= MAX_BUFFERED_BYTES else self._decode_stream(file)
            except StorageError as fault:
                yield fault
                continue
            yield JsonFile(log.summary, partial(self._check_commit, file, version, log))

    def _decode_commit(self, content: bytes | StorageError) -> LogFile:
        if isinstance(content, StorageError):
            raise content
        return decode_lines(content, self.context.options.revision, with_digest=True)

    def _decode_stream(self, file: str) -> LogFile:
        return decode_line_stream(stream_lines(self.context.store, file, MAX_LINE_BYTES), self.context.options.revision)

    def _check_commit(self, file: str, version: int, log: LogFile, context: FileContext, tag: str) -> None:
        """Collect the lines and file actions of a commit. They are checked once enough have the same state."""
        self._pending.add_lines(file, version, log.lines)
        if self._pending.context not in (None, context) or self._pending.size > BATCH_ROWS:
            self._check_pending()
        actions, log.files = log.files, FileActions()  # so that memory contains only the collected actions
        self._pending.add_actions(file, version, actions, context, tag)

    def _check_pending(self) -> None:
        """Check the lines and file actions collected so far, which all belong to one state of the table."""
        pending, self._pending = self._pending, _Pending()
        check_lines(self.findings, pending.lines)
        if pending.context is not None and len(pending.actions):
            provenance = Provenance("commit", pending.files, pending.versions)
            self._put_file_actions(StateActions(pending.actions.table(), provenance, pending.context, pending.tag))

    def keep_new_files(self) -> None:
        """See `LogSource.keep_new_files`. Paths are compared by hash: a file too many is kept, and not checked."""
        self._ahead.finish()
        self._kept_paths = pl.concat([pl.Series([], dtype=pl.UInt64), *self._new_paths]).unique()

    def flush(self) -> None:
        """Check the commits collected so far."""
        self._check_pending()
        self._ahead.finish()
        pa.default_memory_pool().release_unused()  # the next stages have the peak of memory, and use Polars

    def read_compaction(self, name: CompactionName) -> JsonFile:
        """Read a log compaction. Raise `StorageError`."""
        file = compaction_file(name)
        log = self._decode_stream(file)
        check_lines(self.findings, [(file, name.end, log.lines)])
        return JsonFile(log.summary, partial(self._check_compaction, file, name.end, log))

    def _check_compaction(self, file: str, version: int, log: LogFile, context: FileContext, tag: str) -> None:
        self._put_file_actions(StateActions(log.files.table(), Provenance("compaction", file, version), context, tag))
        self._ahead.finish()

    # checkpoints

    def read_checkpoint(self, checkpoint: Checkpoint) -> CheckpointFiles:
        """Read the table actions of a checkpoint, and check its lines."""
        read = read_checkpoint(self.context.store, checkpoint, self.context.plan.sizes, self.context.options.revision)
        self.parsed_checkpoints[checkpoint] = read
        check_checkpoint_lines(self.findings, read)
        return CheckpointFiles(read, partial(self._check_checkpoint, read))

    def _check_checkpoint(self, read: ParsedCheckpoint, context: FileContext, tag: str) -> None:
        """Check the file actions of a checkpoint, and put them into the buckets."""
        done = 0
        files = tuple(f"{LOG_DIRECTORY}/{name}" for name in read.checkpoint.files)
        parts = PartAssignmentCheck(files, vectors_supported=context.deletion_vectors_supported)
        for batch in iter_file_action_batches(self.context.store, read, compared=self.context.compares_files):
            parts.check_batch(batch.file, batch.table)
            provenance = Provenance(batch.source, batch.file, read.checkpoint.version)
            kept_paths = self._kept_paths if tag == REPLAY_ROWS else None
            self._put_file_actions(StateActions(batch.table, provenance, context, tag, batch.typed, kept_paths))
            done += batch.table.num_rows
            self.progress(f"checkpoint {read.checkpoint.version}", done, None)
        self._ahead.finish()
        read.misplaced_files = parts.misplaced_files
        mark_checkpoint_undecided(self.findings, read)

    # file actions

    def _put_file_actions(self, actions: StateActions) -> None:
        """Check file actions while the facts of the next ones are built."""
        if actions.table.num_rows:
            is_small = actions.table.num_rows < _SMALL_TABLE_ROWS
            self._ahead.add(
                partial(build_file_action_facts, self.context, actions),
                partial(self._check_facts, actions.without_rows()),
                most=0 if is_small else 1 if actions.table.nbytes > _LARGE_TABLE_BYTES else MOST_AHEAD,
            )

    def _check_facts(self, actions: StateActions, built: FileActionFacts) -> None:
        since = self.context.options.since
        if since is not None and actions.tag == REPLAY_ROWS and actions.provenance.source == "commit":
            is_new = (pl.col("version") > since.version) & (pl.col("kind") != "cdc")
            self._new_paths.append(built.facts.filter(is_new)["path_key"].hash())
        check_file_action_facts(self.context, self.findings, actions, built, self.buckets.put)

    def finish(self) -> Collection[str]:
        """Return no file: everything was read once, and has been checked."""
        return ()

    def finish_started(self) -> None:
        """Use the facts that threads have built or are building."""
        self._ahead.finish()


def _with_facts(log: ReadLog, **changes: Any) -> ReadLog:
    return replace(log, facts=replace(log.facts, **changes))


def replay_log(context: ReadContext, buckets: LocalBuckets, progress: Progress) -> tuple[LogFacts, pl.DataFrame]:
    """Read the validated history without evaluating rules.

    Args:
        context: what the log is read with.
        buckets: receive the file actions, and do not spill.
        progress: called while the log is read.

    Returns:
        The facts of the log, and all file actions, as `build_intervals` does.
    """
    source, history = EmbeddedLog(context, Findings([], 0), buckets, progress), LogFactsBuilder(context)
    read_history(source, history)
    finish_reading(source, history)
    chain = buckets.rows(REPLAY_ROWS)
    empty = build_empty_replay_frame(REPLAY_COLUMNS if context.options.level == "log" else DATA_REPLAY_COLUMNS)
    return history.build(), build_intervals(empty if chain is None else chain, context.options.revision)


class _Pending:
    """File actions and lines of commits that belong to one state of the table and are not checked yet."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int, LineOutcomes]] = []
        self.line_count = 0
        self.actions = FileActions()
        self.files: list[str] = []
        self.versions: list[int] = []
        self.context: FileContext | None = None
        self.tag = REPLAY_ROWS

    @property
    def size(self) -> int:
        """Number of rows or of lines, whichever is larger."""
        return max(len(self.actions), self.line_count)

    def add_lines(self, file: str, version: int, outcomes: LineOutcomes) -> None:
        """Add the lines of a commit."""
        self.lines.append((file, version, outcomes))
        self.line_count += len(outcomes)

    def add_actions(self, file: str, version: int, actions: FileActions, context: FileContext, tag: str) -> None:
        """Add the file actions of a commit."""
        self.tag = tag
        if len(actions):
            self.actions.extend(actions)
            self.files += [file] * len(actions)
            self.versions += [version] * len(actions)
            self.context = context
