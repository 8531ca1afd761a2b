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

from deltaspec.model.revisions import Revision
from deltaspec.model.segment import Checkpoint
from deltaspec.rules.registry import Rule
from deltaspec.validate.base_run import Progress
from deltaspec.validate.claims import Claims
from deltaspec.validate.file_rows import look_at_checkpoint_lines, look_at_file_rows, look_at_lines
from deltaspec.validate.findings import Findings
from deltaspec.validate.log_run import LogRun, commit_file
from deltaspec.validate.path_stage import CHAIN_ROWS
from deltaspec.validate.plan import Plan
from deltaspec.validate.shares import LocalShares, Shares
from deltaspec.validate.sums import Sums
from deltaspec.views.base import Level
from deltaspec.views.checkpoint_parts import PartFacts
from deltaspec.views.file_facts import FileContext, Provenance
from deltaspec.views.file_replay import CHAIN, DATA_CHAIN, chain_frame, spans
from deltaspec.wire.checkpoint_files import CheckpointRead, read_checkpoint, runs
from deltaspec.wire.file_rows import FileRows
from deltaspec.wire.log_lines import MAX_LINE_BYTES, LogFile, LogSummary, read_line_stream, read_lines
from deltaspec.wire.log_outcomes import LineOutcomes
from deltaspec.wire.storage import LOG, StorageError, Store, read_in_order
from deltaspec.wire.storage import read_lines as stream_lines

BATCH_ROWS = 50_000
WHOLE_FILE_BYTES = 64 << 20
"""Larger commits are read as a stream of lines."""
_OF_THIS_PROCESS = ("store", "plan", "progress", "shares", "_pending")
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
        shares: Shares | None = None,
    ) -> None:
        """`shares`: where the rows of the table's files go; in memory, and beyond a bound spilled, where None."""
        super().__init__(
            *(store, plan, Findings(rules, samples, revision), progress),
            level=level,
            revision=revision,
            clock_ms=clock_ms,
            allow_outside=allow_outside,
        )
        self.shares: Shares = LocalShares() if shares is None else shares
        self.reads = {}
        self._pending = _Pending()

    def _judge_log(self) -> Sums | None:
        with _no_cyclic_garbage():
            return super()._judge_log()

    def _read_log(self) -> Claims | None:
        known, claims = self.shares.once(self._read_and_tell)
        vars(self).update(known)
        if claims is not None:
            claims.run = self
        return claims

    def _read_and_tell(self) -> tuple[dict[str, Any], Claims | None]:
        """Read the log; gives with the claims what the run knows by then, its findings included."""
        claims = super()._read_log()
        return {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}, claims

    def replay(self) -> pl.DataFrame:
        """Read the judged history; gives all of its file actions as `file_replay.spans` has them."""
        kept = self.shares = LocalShares(rows_in_memory=None)
        self.read_history()
        self.settle()
        chain = kept.rows(CHAIN_ROWS)
        empty = chain_frame(CHAIN if self.level == "log" else DATA_CHAIN)
        return spans(empty if chain is None else chain, self.revision)

    # commits

    def _commits(self) -> Iterator[LogSummary | StorageError]:
        small = (file for file in map(commit_file, self.plan.commits) if self._size(file) <= WHOLE_FILE_BYTES)
        contents = read_in_order(self.store, small, WHOLE_FILE_BYTES)
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
        return self.plan.entries[file.removeprefix(f"{LOG}/")].size_bytes

    def _read_commit(self, file: str, contents: Iterator[bytes | StorageError]) -> LogFile:
        """The next commit: from `contents` if it is small enough to stand there, else line by line."""
        if self._size(file) > WHOLE_FILE_BYTES:
            return read_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.revision)
        content = next(contents)
        if isinstance(content, StorageError):
            raise content
        return read_lines(content, self.revision)

    def _deal_files(self, file: str, version: int, context: FileContext, summary: LogSummary) -> None:
        if self._pending.context not in (None, context) or self._pending.size > BATCH_ROWS:
            self._flush()
        self._pending.add(file, version, context)

    def _end_of_commits(self) -> None:
        self._flush()

    def _flush(self) -> None:
        """Look at the lines and file actions gathered since, all of one state of the table."""
        pending, self._pending = self._pending, _Pending(self._pending.coming)
        look_at_lines(self, pending.lines)
        if pending.context is not None and pending.rows:
            place = Provenance("commit", pending.files, pending.versions)
            self._deal(FileRows(pending.rows).table(), place, pending.context, CHAIN_ROWS)

    # checkpoints and other files of actions

    def _read_base(self, base: Checkpoint) -> CheckpointRead:
        return self._read_actions(base)

    def _deal_base(self, read: CheckpointRead, context: FileContext) -> None:
        self._read_files(read, context, CHAIN_ROWS)

    def take_claim(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> CheckpointRead:
        read = self._read_actions(checkpoint)
        self._read_files(read, context, tag)
        return read

    def take_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        log = read_line_stream(stream_lines(self.store, file, MAX_LINE_BYTES), self.revision)
        look_at_lines(self, [(file, version, log.lines)])
        self._deal(log.files.table(), Provenance("compaction", file, version), context, tag)
        return log.summary

    def _read_actions(self, checkpoint: Checkpoint) -> CheckpointRead:
        """Read the table actions of a checkpoint and look at their lines."""
        read = read_checkpoint(self.store, checkpoint, self.plan.sizes, self.revision)
        self.reads[checkpoint] = read
        look_at_checkpoint_lines(self, read)
        return read

    def _read_files(self, read: CheckpointRead, context: FileContext, tag: str) -> None:
        """Look at the file actions of a checkpoint, and deal them."""
        done = 0
        files = tuple(f"{LOG}/{name}" for name in read.checkpoint.files)
        parts = PartFacts(files, vectors_supported=context.deletion_vectors_supported)
        for run in runs(self.store, read):
            parts.take(run.file, run.table)
            self._deal(run.table, Provenance(run.source, run.file, read.checkpoint.version), context, tag)
            done += run.table.num_rows
            self.progress(f"checkpoint {read.checkpoint.version}", done, None)
        read.misplaced_files = parts.misplaced_files
        self.note_parts(read.checkpoint, tag)
        self.doubt_read(read)

    def _deal(self, table: pa.Table, place: Provenance, context: FileContext, tag: str) -> None:
        self.put_rows(tag, look_at_file_rows(self, table, place, context, self.put_rows))


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
