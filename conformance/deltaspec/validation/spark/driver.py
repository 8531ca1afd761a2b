"""The Spark backend: executors read the log and run the stages, and findings come back to the driver.

`LogRun` defines what a run does and in which order, and the stages are those of the embedded backend. The driver keeps
the state of the table, the table actions of commits, and findings; it keeps no files of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from deltaspec.model.log.file_names import CompactionName, compaction_name
from deltaspec.model.log.segment import Checkpoint
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.data.data_stages import LIVE_FILES
from deltaspec.validation.data.row_constraint_checks import has_row_constraints
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.log_run import ACTION_VIEWS, LogRun, ReadLog, commit_file
from deltaspec.validation.log.replay_stage import CDC_ROWS, REPLAY_ROWS
from deltaspec.validation.options import Options
from deltaspec.validation.plan import Plan
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.spark.constraint_evaluation import check_constraints_on_spark
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.log_sources import Sources
from deltaspec.validation.spark.log_tasks import (
    PART,
    RAW,
    SUMMARY,
    TOP,
    FactsTask,
    FileSource,
    LogUnit,
    PartUnit,
    ReadTask,
    tag_of_actions,
)
from deltaspec.validation.spark.payloads import Payload, payload_to_value
from deltaspec.validation.spark.row_totals import RowTotals
from deltaspec.validation.spark.spark_buckets import SparkBuckets, sort_payloads
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.validation.stopping import Budget, RunStopped, leaving_undecided
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint, PartSummary, complete_actions, list_parts
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOST_ACTIONS = "its actions were missing or different when the file was read again"


class SparkRun(LogRun):
    """One run over one table. Call `run` once."""

    buckets: SparkBuckets

    def __init__(
        self,
        jobs: Jobs,
        access: TableAccess,
        plan: Plan,
        options: Options,
        bucket_count: int,
        progress: Progress = ignore_progress,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(access.store, plan, options, options.create_findings(), progress)
        self._access = access
        self._executor_context = replace(self.context, store=access.executor_store)
        self._sources = Sources(jobs, access)
        self.buckets = SparkBuckets(jobs, access, bucket_count, progress, budget)
        self._jobs = jobs
        self._raw: DataFrame | None = None
        """What was read of the log, until its file actions are checked."""
        self._units = _list_units(plan)
        self._summaries: dict[str, LogSummary | StorageError] = {}
        self._tops: dict[Checkpoint, dict[str, ParsedCheckpoint]] = defaultdict(dict)
        self._file_sources: dict[int, FileSource] = {}
        self._file_actions = RowTotals()
        """Totals of the file actions of JSON files."""
        self._parts: list[PartUnit] = []
        self.on_finished: Callable[[], None] = lambda: None
        """Called when all findings are known, while the frames of the run still exist."""

    def _read_log(self) -> ReadLog:
        self._read_table_actions()
        return super()._read_log()

    def _create_range_run(self, part: Plan, options: Options) -> LogRun:
        run = SparkRun(self._jobs, self._access, part, options, self.buckets.count, self.progress)
        run.findings, run.buckets = self.findings.copy_without_findings(), self.buckets
        return run

    def close_range(self) -> None:
        self.buckets.drop((CDC_ROWS,))  # all that is left; the rows of findings are needed at the end

    def _check_log(self) -> Aggregates | None:
        try:
            aggregates = super()._check_log()
        finally:
            if self._raw is not None:  # the state of the table is unknown, or the run was stopped
                self.buckets.release(self._raw)
        may_use_spark = self.options.level == "rows" and self._access.executors_can_read
        if aggregates is not None and may_use_spark and has_row_constraints(self.facts, self.findings):
            self.facts = replace(self.facts, constraints_on_spark=True)
        return aggregates

    def _run(self) -> Findings:
        try:
            findings = super()._run()
            if self.facts.constraints_on_spark and self.facts.replay_blocked_reason is None:
                with leaving_undecided("rows"):
                    self.progress("constraints", 0, None)
                    findings.merge(self.buckets.run_once(self._check_row_constraints))
        except RunStopped as stop:
            if stop.levels is not None and self.facts.constraints_on_spark:  # they come after everything else
                stop.levels = ("rows", *stop.levels)
            self.on_finished()
            raise
        self.on_finished()
        return findings

    def _check_row_constraints(self) -> Findings:
        findings = self.findings.copy_without_findings()
        check_constraints_on_spark(self._jobs.session, self.facts, findings, self.buckets.iter_frames(LIVE_FILES))
        return findings

    def _read_table_actions(self) -> None:
        """Read every file of the log that has actions. File actions stay on executors."""
        request = self._sources.request(self._units, self.plan.sizes)
        task = ReadTask(self._executor_context, self.findings.copy_without_findings(), request.reader)
        frame = self._raw = self._jobs.run(sort_payloads(request.frame, "tag", "bucket"), task)
        results: dict[int, Any] = dict(request.faults)

        def take(row: Payload) -> None:
            results[row.bucket] = payload_to_value(row.payload)

        found = self.buckets.collect(self.findings, frame, others=(SUMMARY, TOP), take=take, keep=True)
        self._file_actions = found.produced
        for unit in self._units:
            result = results[unit.number] if unit.number in results else self._sources.find_missing_reason(unit)
            if unit.checkpoint is None:
                self._summaries[unit.file] = result
            elif isinstance(result, StorageError):
                self._tops[unit.checkpoint][unit.file] = ParsedCheckpoint(unit.checkpoint, storage_error=str(result))
            else:
                self._tops[unit.checkpoint][unit.file] = result

    def _iter_commits(self, versions: Sequence[int]) -> Iterator[LogSummary | StorageError]:
        for version in versions:
            yield self._summaries.pop(commit_file(version))

    def _put_commit_files(self, file: str, version: int, context: FileContext, tag: str = REPLAY_ROWS) -> None:
        self._register_source(FileSource("commit", file, version, context, tag))

    def _register_source(self, source: FileSource) -> None:
        self._file_sources[self._numbers[source.file]] = source

    def _check_what_was_read(self) -> None:
        """Do nothing: tasks evaluate rows when they read them."""

    def _end_commits(self) -> None:
        """Their file actions are put into the buckets in `finalize`."""

    def _read_base(self, base: Checkpoint) -> ParsedCheckpoint:
        return self._assemble_checkpoint(base)

    def _put_base_files(self, read: ParsedCheckpoint, context: FileContext) -> None:
        self._add_parts(read, context, REPLAY_ROWS)

    def read_derived_checkpoint(self, checkpoint: Checkpoint, context: FileContext, tag: str) -> ParsedCheckpoint:
        read = self._assemble_checkpoint(checkpoint)
        self._add_parts(read, context, tag)
        return read

    def read_compaction(self, file: str, version: int, context: FileContext, tag: str) -> LogSummary:
        summary = self._summaries.pop(file)
        if isinstance(summary, StorageError):
            raise summary
        self._register_source(FileSource("compaction", file, version, context, tag))
        return summary

    def _assemble_checkpoint(self, checkpoint: Checkpoint) -> ParsedCheckpoint:
        """Combine the table actions of all files of a checkpoint."""
        read = self.parsed_checkpoints[checkpoint] = ParsedCheckpoint(checkpoint, self.options.revision)
        tops = self._tops.pop(checkpoint)
        for name in checkpoint.files:
            read.take(tops[f"{LOG_DIRECTORY}/{name}"])
        complete_actions(self.store, read, self.plan.sizes)
        return read

    def _add_parts(self, read: ParsedCheckpoint, context: FileContext, tag: str) -> None:
        for part in list_parts(read):
            self._parts.append(PartUnit(len(self._parts), read.checkpoint, part, context, tag))
        self.register_parts(read.checkpoint, tag)

    def finalize(self) -> None:
        """Check all file actions, and put them into the buckets."""
        assert self._raw is not None
        rows = self._raw.filter(self._raw["tag"] == RAW)
        request = self._sources.request(self._parts, self.plan.sizes)
        task = FactsTask(
            self._executor_context,
            self.findings.copy_without_findings(),
            request.reader,
            self._file_sources,
            self.buckets.count,
        )
        frame = self._jobs.run(sort_payloads(rows.unionAll(request.frame), "tag", "bucket"), task)
        results: dict[int, tuple[PartSummary, int | None]] = {
            number: (PartSummary(storage_error=str(error)), None) for number, error in request.faults.items()
        }

        def take(row: Payload) -> None:
            results[row.bucket] = payload_to_value(row.payload)

        self.buckets.collect(self.findings, frame, self._file_actions, (PART,), take, mark_lost=self._mark_lost_actions)
        for unit in self._parts:
            if unit.number not in results:
                error = self._sources.find_missing_reason(unit)
                results[unit.number] = PartSummary(storage_error=str(error)), None
            summary, misplaced = results[unit.number]
            read = self.parsed_checkpoints[unit.checkpoint]
            read.add_part(unit.part, summary)
            if misplaced is not None:
                read.misplaced_files = (read.misplaced_files or 0) + misplaced
        for read in self.parsed_checkpoints.values():
            self.mark_checkpoint_undecided(read)
        self.buckets.release(self._raw)
        super().finalize()

    def _mark_lost_actions(self, differences: dict[str, str]) -> None:
        """Mark files whose actions did not all arrive: Spark may repeat a task after its files were deleted."""
        for number in self._file_sources:
            if tag_of_actions(number) in differences:
                file = self._units[number].file
                self.block_replay(_LOST_ACTIONS, file)
                self.findings.mark_undecided(ACTION_VIEWS, _LOST_ACTIONS, file)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {unit.file: unit.number for unit in self._units}


def _list_units(plan: Plan) -> list[LogUnit]:
    """List every file of the log whose actions are read."""
    files: list[tuple[str, int, Checkpoint | None]] = [
        (commit_file(version), version, None) for version in (*plan.earlier_commits, *plan.commits)
    ]
    checkpoints = ([plan.base] if plan.base is not None else []) + list(plan.compared_checkpoints)
    files += [(f"{LOG_DIRECTORY}/{name}", each.version, each) for each in checkpoints for name in each.files]
    files += [(_compaction_file(each), each.end, None) for each in plan.compactions]
    sizes = plan.sizes
    return [
        LogUnit(number, file, version, sizes[file.removeprefix(f"{LOG_DIRECTORY}/")], checkpoint)
        for number, (file, version, checkpoint) in enumerate(files)
    ]


def _compaction_file(name: CompactionName) -> str:
    return f"{LOG_DIRECTORY}/{compaction_name(name.start, name.end)}"
