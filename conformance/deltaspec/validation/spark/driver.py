"""The Spark engine: the log is read on executors, shares are looked at there, and findings come back.

What a run does, and in which order, is `LogRun`'s, and what a bucket is looked at for is that of the embedded engine.
The driver holds the table's state, what its commits do, and findings; no file of the table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from deltaspec.model.log.file_names import CompactionName, compaction_name
from deltaspec.model.log.segment import Checkpoint
from deltaspec.model.revisions import Revision
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import ACTION_VIEWS, Progress, Run
from deltaspec.validation.data.data_stages import LIVE_FILES
from deltaspec.validation.data.row_constraint_checks import has_row_constraints
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.log_run import LogRun, commit_file
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.options import Asked
from deltaspec.validation.plan import Plan
from deltaspec.validation.spark.constraint_evaluation import check_constraints_on_spark
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.log_sources import Sources
from deltaspec.validation.spark.log_tasks import (
    COUNTED,
    PART,
    RAW,
    SUMMARY,
    TOP,
    FactsTask,
    FileSource,
    LogUnit,
    PartUnit,
    ReadTask,
)
from deltaspec.validation.spark.payloads import payload_to_value
from deltaspec.validation.spark.spark_buckets import SparkBuckets
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint, PartSummary, find_sidecars, list_parts
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError


class SparkRun(LogRun):
    """One run over one table. `judge` may be called once."""

    def __init__(
        self, jobs: Jobs, reach: TableAccess, plan: Plan, asked: Asked, progress: Progress, count: int
    ) -> None:
        super().__init__(
            *(reach.store, plan, asked.findings(), progress),
            level=asked.level,
            revision=asked.revision,
            clock_ms=asked.clock,
            allow_outside=asked.allow_outside,
        )
        self._reach = reach
        self._sources = Sources(jobs, reach)
        self.reads = {}
        self.buckets: SparkBuckets = SparkBuckets(jobs, count, here=None if reach.executors_can_read else reach.store)
        self._jobs = jobs
        self._units = _units(plan, self.revision)
        self._summaries: dict[str, LogSummary | StorageError] = {}
        self._tops: dict[Checkpoint, dict[str, ParsedCheckpoint]] = defaultdict(dict)
        self._places: dict[int, FileSource] = {}
        self._expected: dict[int, int] = {}
        """How many file actions each JSON file has."""
        self._parts: list[PartUnit] = []
        self.on_finished: Callable[[], None] = lambda: None
        """Called when all is found, and the frames of the run are still there."""

    def read_history(self) -> None:
        self._read()
        super().read_history()

    def _judge_log(self) -> Aggregates | None:
        aggregates = super()._judge_log()
        # its own readers hand rows to Spark, which evaluates what the kit alone cannot
        by_spark = aggregates is not None and self.level == "rows" and self._reach.executors_can_read
        self.engine_checks_constraints = by_spark and has_row_constraints(self)
        return aggregates

    def _judge(self) -> Findings:
        found = super()._judge()
        if self.engine_checks_constraints and self.replay_blocked_reason is None:
            found.merge(self.buckets.run_once(self._look_at_conditions))
        self.on_finished()
        return found

    def _look_at_conditions(self) -> Findings:
        other = super().apart()
        check_constraints_on_spark(
            self._jobs.session, other, self.buckets.iter_frames(LIVE_FILES), self._jobs.environment
        )
        return other.findings

    def apart(self) -> Run:
        """The knowledge of the run, for executors: with what they reach of the table."""
        other = super().apart()
        other.store = self._reach.executor_store
        return other

    def _read(self) -> None:
        """Read every file of the log that has actions of the table; file actions stay with the executors."""
        asked = self._sources.request(self._units, self.plan.sizes)
        frame = self._raw = self._jobs.run(asked.frame, ReadTask(self.apart(), asked.reader))
        self.buckets.collect(self, frame)
        told: dict[int, Any] = dict(asked.faults)
        for row in self._jobs.rows(frame.filter(frame["tag"].isin([SUMMARY, TOP])), 1):
            told[row.bucket] = payload_to_value(row.payload)
        for unit in self._units:
            read = told[unit.number] if unit.number in told else self._sources.find_missing_reason(unit)
            if unit.checkpoint is None:
                self._summaries[unit.file] = read
            elif isinstance(read, StorageError):
                self._tops[unit.checkpoint][unit.file] = ParsedCheckpoint(unit.checkpoint, storage_error=str(read))
            else:
                self._tops[unit.checkpoint][unit.file] = read

    def _commits(self) -> Iterator[LogSummary | StorageError]:
        for version in self.plan.commits:
            yield self._summaries.pop(commit_file(version))

    def _deal_files(self, file: str, version: int, context: FileContext, summary: LogSummary) -> None:
        self._note_actions(summary, FileSource("commit", file, version, context))

    def _note_actions(self, summary: LogSummary, place: FileSource) -> None:
        number = self._numbers[place.file]
        self._places[number], self._expected[number] = place, summary.file_actions

    def _end_of_commits(self) -> None:
        """They are dealt in `settle`."""

    def _read_base(self, base: Checkpoint) -> ParsedCheckpoint:
        return self._read_actions(base)

    def _deal_base(self, read: ParsedCheckpoint, context: FileContext) -> None:
        self._note(read, context, REPLAY_ROWS)

    def read_derived_checkpoint(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> ParsedCheckpoint:
        read = self._read_actions(checkpoint)
        self._note(read, context, tag)
        return read

    def read_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        summary = self._summaries.pop(file)
        if isinstance(summary, StorageError):
            raise summary
        self._note_actions(summary, FileSource("compaction", file, version, context, tag))
        return summary

    def _read_actions(self, checkpoint: Checkpoint) -> ParsedCheckpoint:
        read = self.reads[checkpoint] = ParsedCheckpoint(checkpoint, self.revision)
        tops = self._tops.pop(checkpoint)
        for name in checkpoint.files:
            read.take(tops[f"{LOG_DIRECTORY}/{name}"])
        find_sidecars(self.store, read, self.plan.sizes)
        return read

    def _note(self, read: ParsedCheckpoint, context: FileContext, tag: str) -> None:
        for part in list_parts(read):
            self._parts.append(PartUnit(len(self._parts), read.checkpoint, part, context, tag))
        self.register_parts(read.checkpoint, tag)

    def finalize(self) -> None:
        """Look at all file actions by themselves, and deal them."""
        rows = self._raw.filter(self._raw["tag"] == RAW)
        asked = self._sources.request(self._parts, self.plan.sizes)
        task = FactsTask(self.apart(), asked.reader, self._places, self.buckets.count)
        frame = self._jobs.run(rows.unionAll(asked.frame), task)
        self.buckets.collect(self, frame)
        told: dict[int, tuple[PartSummary, int | None]] = {
            number: (PartSummary(storage_error=str(why)), None) for number, why in asked.faults.items()
        }
        counted = Counter[int]()
        for row in self._jobs.rows(frame.filter(frame["tag"].isin([PART, COUNTED])), 1):
            if row.tag == COUNTED:
                counted.update(payload_to_value(row.payload))
            else:
                told[row.bucket] = payload_to_value(row.payload)
        self._doubt_lost(counted)
        for unit in self._parts:
            if unit.number not in told:
                told[unit.number] = PartSummary(storage_error=str(self._sources.find_missing_reason(unit))), None
            part, misplaced = told[unit.number]
            read = self.reads[unit.checkpoint]
            read.add_part(unit.part, part)
            if misplaced is not None:
                read.misplaced_files = (read.misplaced_files or 0) + misplaced
        for read in self.reads.values():
            self.mark_checkpoint_undecided(read)
        if self.findings.sink is None:  # else its findings are read again, at the end
            self._jobs.unpersist_frame(self._raw)
        super().finalize()

    def _doubt_lost(self, counted: Counter[int]) -> None:
        """Enter files whose actions did not all come: a task may be repeated when its files are gone."""
        for number, expected in self._expected.items():
            if counted[number] != expected:
                file = self._units[number].file
                self.block_replay("its actions were not there when they were read again", file)
                self.findings.mark_undecided(ACTION_VIEWS, "its actions were not there when they were read again", file)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {unit.file: unit.number for unit in self._units}


def _units(plan: Plan, revision: Revision) -> list[LogUnit]:
    """Every file of the log that is read for its actions."""
    files: list[tuple[str, int, Checkpoint | None]] = [
        (commit_file(version), version, None) for version in plan.commits
    ]
    checkpoints = ([plan.base] if plan.base is not None else []) + list(plan.compared_checkpoints)
    files += [(f"{LOG_DIRECTORY}/{name}", each.version, each) for each in checkpoints for name in each.files]
    compactions = plan.compactions if revision.since(Revision.R3) else ()
    files += [(_compaction_file(each), each.end, None) for each in compactions]
    sizes = plan.sizes
    return [
        LogUnit(number, file, version, sizes[file.removeprefix(f"{LOG_DIRECTORY}/")], checkpoint)
        for number, (file, version, checkpoint) in enumerate(files)
    ]


def _compaction_file(name: CompactionName) -> str:
    return f"{LOG_DIRECTORY}/{compaction_name(name.start, name.end)}"
