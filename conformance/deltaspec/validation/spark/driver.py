"""The Spark backend: executors read the log and run the stages, and findings come back to the driver.

A run has the same steps and stages as in the embedded backend. The driver keeps the state of the table, the table
actions of commits, and findings; it keeps no files of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from deltaspec.protocol.log.file_names import CompactionName
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.validation.data.data_stages import LIVE_FILES
from deltaspec.validation.data.row_constraint_checks import has_row_constraints
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.facts import ReadContext
from deltaspec.validation.log.log_source import CheckpointFiles, JsonFile, ReadLog, commit_file, compaction_file
from deltaspec.validation.log.replay_stage import CDC_ROWS
from deltaspec.validation.log.undecided import mark_checkpoint_undecided
from deltaspec.validation.pipeline import RunResult, check_files, check_log, recording_stop
from deltaspec.validation.plan import Plan
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.spark.checkpoint_slices import CombinedPart, combine_slices, split_parts
from deltaspec.validation.spark.constraint_evaluation import check_constraints_on_spark
from deltaspec.validation.spark.constraint_stage import OPEN_FILES, evaluate_constraints
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.log_sources import LogRequest, Sources
from deltaspec.validation.spark.log_tasks import (
    PART,
    RAW,
    SUMMARY,
    TOP,
    FactsTask,
    FileSource,
    LogUnit,
    PartResult,
    PartUnit,
    ReadTask,
    tag_of_actions,
)
from deltaspec.validation.spark.payloads import Payload, payload_to_value
from deltaspec.validation.spark.row_totals import RowTotals
from deltaspec.validation.spark.spark_buckets import SparkBuckets, sort_payloads
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.validation.stopping import RunStopped, leaving_undecided
from deltaspec.views.files.file_action_facts import FileContext
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint, PartSummary, complete_actions, list_parts
from deltaspec.wire.log.line_decoder import LogSummary
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def ignore_findings(findings: Findings) -> None:
    """Do nothing, for a run whose findings are only in its report."""


def check_table_on_spark(
    source: SparkLog,
    interrupts: Mapping[type[BaseException], str] = MappingProxyType({}),
    on_finished: Callable[[Findings], None] = ignore_findings,
) -> RunResult:
    """Check a table as `pipeline.check_table` does. Spark evaluates the row constraints, if executors can read files.

    Args:
        source: the log.
        interrupts: exceptions that stop the run, and how to report them.
        on_finished: called when all findings are known, while the frames of the run still exist.
    """
    result = RunResult.begin(source)
    with recording_stop(source, result, interrupts):
        try:
            _check_table(source, result)
        except RunStopped as stop:
            if stop.levels is not None and result.facts.constraints_on_spark:  # they come after everything else
                stop.levels = ("rows", *stop.levels)
            on_finished(result.findings)
            raise
        on_finished(result.findings)
    return result


def _check_table(source: SparkLog, result: RunResult) -> None:
    aggregates = check_log(source, result)
    may_use_spark = source.context.options.level == "rows" and source.executors_can_read
    if aggregates is not None and may_use_spark and has_row_constraints(result.facts, result.findings):
        result.facts = replace(result.facts, constraints_on_spark=True)
    check_files(source, result, aggregates)
    if result.facts.constraints_on_spark and result.facts.replay_blocked_reason is None:
        with leaving_undecided("rows"):
            source.progress("constraints", 0, None)
            source.buckets.run_stage(
                evaluate_constraints, result.facts, result.findings, (LIVE_FILES,), opens_files=True
            )
            source.buckets.drop((LIVE_FILES,))
            result.findings.merge(source.buckets.run_once(partial(_check_row_constraints, source, result)))


def _check_row_constraints(source: SparkLog, result: RunResult) -> Findings:
    findings = result.findings.copy_without_findings()
    open_files = source.buckets.iter_frames(OPEN_FILES)
    check_constraints_on_spark(source.jobs.session, result.facts, findings, open_files)
    return findings


class SparkLog:
    """The log of a table, read on executors. A `LogSource`.

    One job reads all files and returns their table actions to the driver. Handles to file actions only record the state
    of the table that these belong to; a second job checks all of them in `finish`.
    """

    def __init__(
        self,
        jobs: Jobs,
        access: TableAccess,
        context: ReadContext,
        findings: Findings,
        buckets: SparkBuckets,
        progress: Progress = ignore_progress,
    ) -> None:
        self.jobs = jobs
        self.context = context
        self.findings = findings
        self.buckets = buckets
        self.progress = progress
        self.parsed_checkpoints: dict[Checkpoint, ParsedCheckpoint] = {}
        self._access = access
        self._executor_context = replace(context, store=access.executor_store)
        self._sources = Sources(jobs, access)
        self.raw: DataFrame | None = None
        """What was read of the log, until its file actions are checked."""
        self._units = _list_units(context.plan)
        self._numbers = {unit.file: unit.number for unit in self._units}
        self._summaries: dict[str, LogSummary | StorageError] = {}
        self._tops: dict[Checkpoint, dict[str, ParsedCheckpoint]] = defaultdict(dict)
        self._file_sources: dict[int, FileSource] = {}
        self._file_actions = RowTotals()
        """Totals of the file actions of JSON files."""
        self._parts: list[PartUnit] = []

    @property
    def executors_can_read(self) -> bool:
        """Whether executors can read the files of the table."""
        return self._access.executors_can_read

    @contextmanager
    def open(self) -> Iterator[None]:
        """Read every file of the log that has actions, and release what remains of it in the end."""
        try:
            self._read_table_actions()
            yield
        finally:
            if self.raw is not None:
                self.buckets.release(self.raw)

    @contextmanager
    def open_range(self, part: Plan) -> Iterator[SparkLog]:
        """Yield the source of a part of the log. It uses the same buckets, and leaves no rows for later stages."""
        context = build_read_context(self.context.store, part, replace(self.context.options, level="log"))
        findings = self.findings.copy_without_findings()
        try:
            yield SparkLog(self.jobs, self._access, context, findings, self.buckets, self.progress)
        finally:
            self.buckets.drop((CDC_ROWS,))  # all that is left; the rows of findings are needed at the end

    def run_once(self, read: Callable[[], ReadLog]) -> ReadLog:
        """Read the log. A resumed run loads the results of jobs instead."""
        return read()

    def _read_table_actions(self) -> None:
        """Read every file of the log that has actions. File actions stay on executors."""
        request = self._sources.request(self._units, self.context.plan.sizes)
        rows, tasks = self._sources.partition(request, len(self._units))
        task = ReadTask(self._executor_context, self.findings.copy_without_findings(), request.reader)
        frame = self.raw = self.jobs.run(sort_payloads(rows, "tag", "bucket"), task)
        results: dict[int, Any] = dict(request.faults)

        def take(row: Payload) -> None:
            results[row.bucket] = payload_to_value(row.payload)

        found = self.buckets.collect(self.findings, frame, others=(SUMMARY, TOP), take=take, tasks=tasks, keep=True)
        self._file_actions = found.produced
        for unit in self._units:
            result = results[unit.number] if unit.number in results else self._sources.find_missing_reason(unit)
            if unit.checkpoint is None:
                self._summaries[unit.file] = result
            elif isinstance(result, StorageError):
                self._tops[unit.checkpoint][unit.file] = ParsedCheckpoint(unit.checkpoint, storage_error=str(result))
            else:
                self._tops[unit.checkpoint][unit.file] = result

    def iter_commits(self, versions: Sequence[int]) -> Iterator[JsonFile | StorageError]:
        """Yield commits in the given order, or the reason why a commit cannot be read."""
        for version in versions:
            file = commit_file(version)
            summary = self._summaries.pop(file)
            if isinstance(summary, StorageError):
                yield summary
            else:
                yield JsonFile(summary, partial(self._register_source, "commit", file, version))

    def read_compaction(self, name: CompactionName) -> JsonFile:
        """Read a log compaction. Raise `StorageError`."""
        file = compaction_file(name)
        summary = self._summaries.pop(file)
        if isinstance(summary, StorageError):
            raise summary
        return JsonFile(summary, partial(self._register_source, "compaction", file, name.end))

    def _register_source(self, source: str, file: str, version: int, context: FileContext, tag: str) -> None:
        self._file_sources[self._numbers[file]] = FileSource(source, file, version, context, tag)

    def read_checkpoint(self, checkpoint: Checkpoint) -> CheckpointFiles:
        """Combine the table actions of all files of a checkpoint."""
        read = self.parsed_checkpoints[checkpoint] = ParsedCheckpoint(checkpoint, self.context.options.revision)
        tops = self._tops.pop(checkpoint)
        for name in checkpoint.files:
            read.take(tops[f"{LOG_DIRECTORY}/{name}"])
        complete_actions(self.context.store, read, self.context.plan.sizes)
        return CheckpointFiles(read, partial(self._register_parts, read))

    def _register_parts(self, read: ParsedCheckpoint, context: FileContext, tag: str) -> None:
        for part in list_parts(read):
            self._parts.append(PartUnit(len(self._parts), read.checkpoint, part, context, tag))

    def flush(self) -> None:
        """Do nothing: executors have the file actions."""

    def keep_new_files(self) -> None:
        """Keep everything: the executors read a checkpoint without the paths of the commits."""

    def finish_started(self) -> None:
        """Do nothing: tasks evaluate rows when they read them."""

    def finish(self) -> Collection[str]:
        """Check all file actions, and put them into the buckets.

        Returns:
            The files whose actions did not all arrive: Spark may repeat a task after its files were deleted.
        """
        lost = self._check_file_actions(split=self.executors_can_read)
        if lost is None:
            lost = self._check_file_actions(split=False)
        assert lost is not None
        for read in self.parsed_checkpoints.values():
            mark_checkpoint_undecided(self.findings, read)
        assert self.raw is not None
        self.buckets.release(self.raw)
        return [self._units[number].file for number in self._file_sources if tag_of_actions(number) in lost]

    def _check_file_actions(self, *, split: bool) -> dict[str, str] | None:
        """Check all file actions, with large files of checkpoints split into slices or not.

        Returns:
            Differences by tag, if rows were lost; None if a slice could not be read completely.
        """
        sizes, findings = self.context.plan.sizes, self.findings.copy_without_findings()
        units = split_parts(self._parts, sizes, self.jobs.parallelism) if split else self._parts
        used = {unit.number for unit in self._units if tag_of_actions(unit.number) in self._file_actions.rows}
        request = self._sources.request(units, sizes, used)
        task = FactsTask(
            self._executor_context,
            self.findings.copy_without_findings(),
            request.reader,
            self._file_sources,
            self.buckets.counts,
        )
        rows, tasks = self._add_raw_rows(request, len(units))
        frame = self.jobs.run(sort_payloads(rows, "tag", "bucket"), task)
        results: list[PartResult] = []
        lost: dict[str, str] = {}

        def take(row: Payload) -> None:
            results.append(payload_to_value(row.payload))

        found = self.buckets.collect(
            findings, frame, self._file_actions, (PART,), take, tasks=tasks, mark_lost=lost.update, keep=True
        )
        combined = combine_slices(results)
        if combined is None:
            self.buckets.release(frame)
            return None
        self.findings.merge(findings)
        self.buckets.add(found.produced, frame)
        self.buckets.release(frame)
        for number, error in request.faults.items():
            combined[number] = CombinedPart(PartSummary(storage_error=str(error)))
        for unit in self._parts:
            if unit.number not in combined:
                error = self._sources.find_missing_reason(unit)
                combined[unit.number] = CombinedPart(PartSummary(storage_error=str(error)))
            part = combined[unit.number]
            read = self.parsed_checkpoints[unit.checkpoint]
            read.add_part(unit.part, part.summary)
            if part.misplaced_files is not None:
                read.misplaced_files = (read.misplaced_files or 0) + part.misplaced_files
        return lost

    def _add_raw_rows(self, request: LogRequest, units: int) -> tuple[DataFrame, int]:
        """Return the rows of a request and the file actions of JSON files, and the number of their tasks."""
        assert self.raw is not None
        files = len(self._file_actions.tags)
        if files == 0:
            return self._sources.partition(request, units)
        rows = self.raw.filter(self.raw["tag"] == RAW)
        if units:
            rows = rows.unionAll(request.frame)
        return self._sources.partition(replace(request, frame=rows), units + files)


def _list_units(plan: Plan) -> list[LogUnit]:
    """List every file of the log whose actions are read."""
    files: list[tuple[str, int, Checkpoint | None]] = [
        (commit_file(version), version, None) for version in (*plan.earlier_commits, *plan.commits)
    ]
    checkpoints = ([plan.base] if plan.base is not None else []) + list(plan.compared_checkpoints)
    files += [(f"{LOG_DIRECTORY}/{name}", each.version, each) for each in checkpoints for name in each.files]
    files += [(compaction_file(each), each.end, None) for each in plan.compactions]
    sizes = plan.sizes
    return [
        LogUnit(number, file, version, sizes[file.removeprefix(f"{LOG_DIRECTORY}/")], checkpoint)
        for number, (file, version, checkpoint) in enumerate(files)
    ]
