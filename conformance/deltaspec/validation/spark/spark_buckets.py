"""Buckets on executors: frames of payloads, repartitioned by bucket before a stage reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.bucketing import normalize_path_keys, split_by_bucket
from deltaspec.validation.buckets import RowsByTag, Stage, matches_tag
from deltaspec.validation.findings import Findings
from deltaspec.validation.findings_table import InMemorySink
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.spark.bucket_counts import BucketCounts
from deltaspec.validation.spark.jobs import Jobs, JobStore
from deltaspec.validation.spark.payloads import (
    FAILED,
    FRAME_ROWS,
    Payload,
    frame_to_payloads,
    payload_to_value,
    payloads_to_frame,
    rows_to_payloads,
    value_to_payload,
)
from deltaspec.validation.spark.row_totals import RowTotals, describe_lost_rows
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.validation.stopping import Budget, RunStopped
from deltaspec.validation.stored_rows import leave_out_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDINGS = "findings"
"""Tag of all findings as rows of `findings_table.FINDING_SCHEMA`, if `--findings-out` is given."""
RESULT = "result"
"""Tag of a `TaskResult`."""
_RUN_ONCE_RESULT = "run once"
"""Tag of the result of `run_once`, and of the totals of the rows that it put into the buckets."""
_DRIVER_BYTES = 64 << 20
"""Payloads that the driver collects before it hands them to Spark."""
_DRIVER_ROWS = 250_000
"""Number of rows that the driver fetches at a time to evaluate them, unless a bucket has more."""
_COLLECTED_FRAMES = 8
"""Frames of `FRAME_ROWS` rows that a task collects per tag, so that buckets receive few large frames."""
T = TypeVar("T")


class TaskResult(msgspec.Struct):
    """What a task returns to the driver for one bucket, or the sum over all tasks of a stage."""

    findings: Findings
    aggregates: Aggregates
    produced: RowTotals = msgspec.field(default_factory=RowTotals)
    """Rows for later stages."""
    received: RowTotals = msgspec.field(default_factory=RowTotals)
    """Rows that earlier stages produced."""

    def merge(self, other: TaskResult) -> None:
        """Add the result of another task."""
        self.findings.merge(other.findings)
        self.aggregates.merge(other.aggregates)
        self.produced.merge(other.produced)
        self.received.merge(other.received)


class SparkBuckets:
    """Rows in Spark frames, persisted on the disks of executors until no stage needs them.

    Every stage reports the rows that it received. They must be the rows that were produced: otherwise the run stops.
    """

    def __init__(
        self,
        jobs: Jobs,
        access: TableAccess,
        counts: BucketCounts,
        progress: Progress = ignore_progress,
        budget: Budget | None = None,
    ) -> None:
        """Begin without rows.

        Args:
            jobs: run the stages.
            access: says whether executors can read the table. If not, the driver runs the stages that open files.
            counts: numbers of buckets.
            progress: called after each bucket of a stage.
            budget: time after which executors stop; None for no limit.
        """
        self._jobs = jobs
        self._budget = budget
        self._access = access
        self._progress = progress
        self.counts = counts
        self._frames: list[tuple[RowTotals, DataFrame]] = []
        self._driver_rows: list[Payload] = []
        self._driver_totals = RowTotals()
        self.job_store: JobStore | None = None
        """Saves what the driver computes for a run that resumes; None saves nothing."""

    @property
    def count(self) -> int:
        """Number of buckets for stages that open no files."""
        return self.counts.log

    @property
    def readers(self) -> int:
        """See `Buckets.readers`."""
        return self.counts.files if self._access.executors_can_read else 1

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if rows.is_empty():  # a tag without rows would make a stage run on nothing
            return
        payloads = split_into_payloads(tag, rows, keys, self.counts.get_count(tag))
        self._driver_rows += self._driver_totals.record(payloads, tag, len(rows))
        if sum(len(each.payload) for each in self._driver_rows) > _DRIVER_BYTES:
            self._flush()

    def add(self, produced: RowTotals, frame: DataFrame) -> None:
        """Add rows that tasks produced."""
        self._frames.append((produced, frame))

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        self._progress(phase, done, total)

    def run_stage(
        self,
        stage: Stage,
        facts: LogFacts,
        findings: Findings,
        tags: Iterable[str],
        *,
        opens_files: bool = False,
    ) -> Aggregates:
        self._flush()
        on_driver = opens_files and not self._access.executors_can_read
        count = self.counts.files if opens_files and not on_driver else self.count
        facts = replace(facts, bucket_count=count)
        wanted, expected = list(tags), RowTotals()
        sources = []
        for produced, frame in self._frames:
            matching = produced.select(wanted)
            if matching.tags:
                expected.merge(matching)
                sources.append(frame.filter(frame["tag"].isin(sorted(matching.tags))))
        if not sources:
            return stage(facts, findings, {}, self)
        rows = reduce(lambda one, other: one.unionAll(other), sources)
        rows = rows.selectExpr("tag", f"bucket % {count} AS bucket", "payload")
        number = expected.rows.total()
        tasks = min(count, number // _DRIVER_ROWS + 1 if on_driver else number)
        rows = self._jobs.partition(rows, tasks)
        rows = sort_payloads(rows, "bucket", "tag")
        store = self._access.store if on_driver else self._access.executor_store
        task_facts, recorder = replace(facts, store=store), findings.copy_without_findings()
        # a saved job is never repeated, so it must be complete
        budget = self._budget if self.job_store is None else None
        task = StageTask(stage, task_facts, recorder, self.counts, budget)
        if on_driver:
            aggregates = self._run_on_driver(findings, self._jobs.fetch(rows, tasks), task, expected, count)
        else:
            aggregates = self.collect(findings, self._jobs.run(rows, task), expected, tasks=tasks).aggregates
        if aggregates.stop_reason is not None:
            raise RunStopped(aggregates.stop_reason)
        return aggregates

    def _run_on_driver(
        self, findings: Findings, rows: Iterable[Payload], task: StageTask, expected: RowTotals, count: int
    ) -> Aggregates:
        """Run a task on the driver, bucket by bucket.

        Args:
            findings: receives what the task finds.
            rows: rows of all buckets.
            task: the task.
            expected: rows that the task must receive.
            count: number of buckets.
        """

        def work() -> TaskResult:
            found, number = TaskResult(findings.copy_without_findings(), Aggregates()), 0
            for row in task(rows):
                if row.tag == RESULT:
                    result: TaskResult = payload_to_value(row.payload)
                    found.merge(result)
                    self._driver_totals.merge(result.produced)
                    number += 1
                    self.report_progress("buckets", number, count)
                else:
                    self._driver_rows.append(row)
            self._require_all_rows(found.received.find_differences(expected))
            self._flush()
            return found

        found = self.run_once(work)
        findings.merge(found.findings)
        return found.aggregates

    def collect(
        self,
        findings: Findings,
        frame: DataFrame,
        expected: RowTotals | None = None,
        others: Sequence[str] = (),
        take: Callable[[Payload], None] = lambda _: None,
        *,
        tasks: int,
        mark_lost: Callable[[dict[str, str]], None] | None = None,
        keep: bool = False,
    ) -> TaskResult:
        """Merge the findings of all tasks of a frame, keep the rows that they produced, and return the sum of results.

        If rows were lost, or a job failed, everything that executors keep is computed again, once.

        Args:
            findings: receives what the tasks found.
            frame: result of a job. Each pass over it reads all its rows again.
            expected: rows that the tasks must have received.
            others: tags of other payloads for the driver.
            take: called with each of them; called with all of them again if they are computed again.
            tasks: number of tasks of the job.
            mark_lost: called with the differences by tag if rows are still lost; None stops the run.
            keep: the caller reads the frame again, and calls `release`; its rows are not in the buckets.

        Raises:
            RunStopped: rows were lost.
            SparkFailed: a job failed twice.
        """
        expected = expected or RowTotals()
        found = self._jobs.repeat_once(lambda: self._collect(findings, frame, others, take, tasks))
        differences = found.received.find_differences(expected)
        if differences and self.job_store is None:
            self._jobs.compute_again()
            found = self._collect(findings, frame, others, take, tasks)
            differences = found.received.find_differences(expected)
        if differences and mark_lost is not None:
            mark_lost(differences)
        else:
            self._require_all_rows(differences)
        findings.merge(found.findings)
        if not keep:
            if found.produced.tags:
                self.add(found.produced, frame)
            self.release(frame)
        return found

    def _collect(
        self, findings: Findings, frame: DataFrame, others: Sequence[str], take: Callable[[Payload], None], tasks: int
    ) -> TaskResult:
        """Return the sum of the results of all tasks."""
        found, number = TaskResult(findings.copy_without_findings(), Aggregates()), 0
        results = frame.filter(frame["tag"].isin([RESULT, FAILED, *others]))
        for row in self._jobs.collect_results(results, tasks):
            if row.tag != RESULT:
                take(row)
                continue
            found.merge(payload_to_value(row.payload))
            number += 1
            self.report_progress("buckets", number, tasks)
        return found

    def _require_all_rows(self, differences: dict[str, str]) -> None:
        """Stop the run if rows were lost."""
        for difference in differences.values():
            if self.job_store is not None:
                raise self.job_store.damaged_error()
            raise RunStopped(describe_lost_rows(difference))

    def release(self, frame: DataFrame) -> None:
        """Release the rows of a frame, unless a later stage needs some of them."""
        if all(each is not frame for _, each in self._frames):
            self._jobs.unpersist_frame(frame)

    def run_once(self, work: Callable[[], T]) -> T:
        if self.job_store is None:
            return work()
        self._flush()
        before = len(self._frames)

        def compute() -> DataFrame:
            value, produced = work(), RowTotals()
            self._flush()
            new_frames = self._frames[before:]
            del self._frames[before:]
            for totals, _ in new_frames:
                produced.merge(totals)
            result = self._jobs.frame([value_to_payload(_RUN_ONCE_RESULT, 0, (value, produced))])
            return reduce(lambda one, other: one.unionAll(other), [result, *(frame for _, frame in new_frames)])

        frame = self.job_store.run_or_load(compute)
        (row,) = self._jobs.rows(frame.filter(frame["tag"] == _RUN_ONCE_RESULT), 1)
        result: T
        result, produced = payload_to_value(row.payload)
        if produced.tags:
            self.add(produced, frame)
        return result

    def get_frames(self, tag: str) -> tuple[list[DataFrame], RowTotals]:
        """Return the frames with rows of a tag, and the totals that these rows must have."""
        self._flush()
        expected = RowTotals()
        frames = [(totals.select((tag,)), frame) for totals, frame in self._frames]
        for totals, _ in frames:
            expected.merge(totals)
        return [frame.filter(frame["tag"] == tag) for totals, frame in frames if totals.tags], expected

    def iter_frames(self, tag: str) -> Iterator[pl.DataFrame]:
        """Yield all rows of a tag, a part at a time.

        Raises:
            RunStopped: after the last row, because rows were lost.
        """
        self._flush()
        received, expected = RowTotals(), RowTotals()
        for totals, frame in self._frames:
            selected = totals.select((tag,))
            if selected.tags:
                expected.merge(selected)
                for row in self._jobs.rows(frame.filter(frame["tag"].isin([tag, FAILED])), self.counts.files):
                    part = payloads_to_frame([row.payload])
                    received.add(tag, (row.payload,), len(part))
                    yield part
        self._require_all_rows(received.find_differences(expected))

    def drop(self, tags: Iterable[str]) -> None:
        dropped = list(tags)
        remaining = []
        for totals, frame in self._frames:
            left = totals.select(tag for tag in totals.tags if not any(matches_tag(tag, each) for each in dropped))
            if left.tags:
                remaining.append((left, frame))
            else:
                self._jobs.unpersist_frame(frame)
        self._frames = remaining

    def close(self) -> None:
        for _, frame in self._frames:
            self._jobs.unpersist_frame(frame)
        self._frames = []

    def _flush(self) -> None:
        if self._driver_rows:
            self.add(self._driver_totals, self._jobs.frame(self._driver_rows))
            self._driver_rows, self._driver_totals = [], RowTotals()


def sort_payloads(rows: DataFrame, *columns: str) -> DataFrame:
    """Sort the payloads of each partition by some columns, then by their content.

    A task that is repeated after an executor was lost then receives the same input, and produces the same output.
    """
    return rows.sortWithinPartitions(*columns, "payload")


def split_into_payloads(tag: str, rows: pl.DataFrame, keys: pl.Series | None, count: int) -> Iterator[Payload]:
    """Yield the rows of a tag as payloads of their buckets."""
    if rows.is_empty():
        return
    hashed = normalize_path_keys(rows["path_key"]) if keys is None else keys
    stored, left_out = leave_out_columns(rows)
    for bucket, part in split_by_bucket(stored, hashed, count):
        yield from rows_to_payloads(tag, bucket, part, left_out)


class TaskOutput:
    """Collects the rows that a task produces, and splits them into payloads once there are enough. A `StageOutput`."""

    def __init__(self, counts: BucketCounts, budget: Budget | None = None) -> None:
        self._counts = counts
        self._budget = budget
        self._collected: dict[str, list[tuple[pl.DataFrame, pl.Series]]] = defaultdict(list)
        self._row_counts: dict[str, int] = defaultdict(int)
        self._ready: list[Payload] = []
        self.produced = RowTotals()

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if rows.is_empty():
            return
        self._collected[tag].append((rows, normalize_path_keys(rows["path_key"]) if keys is None else keys))
        self._row_counts[tag] += len(rows)
        if self._row_counts[tag] > FRAME_ROWS * min(self._counts.get_count(tag), _COLLECTED_FRAMES):
            self._split(tag)

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        """Stop if the budget is used. Nobody sees the progress of an executor."""
        if self._budget is not None and done != total:
            self._budget.check()

    def drain_payloads(self, *, include_incomplete: bool = False) -> Iterator[Payload]:
        """Yield the payloads that are complete; all of them at the end of the task."""
        if include_incomplete:
            for tag in list(self._collected):
                self._split(tag)
        payloads, self._ready = self._ready, []
        yield from payloads

    def _split(self, tag: str) -> None:
        collected = self._collected.pop(tag, [])
        self._row_counts[tag] = 0
        if collected:
            rows, keys = pl.concat([rows for rows, _ in collected]), pl.concat([keys for _, keys in collected])
            self._ready += self.produced.record(
                split_into_payloads(tag, rows, keys, self._counts.get_count(tag)), tag, len(rows)
            )


def build_result_payloads(bucket: int, result: TaskResult) -> Iterator[Payload]:
    """Yield the result of a task. The rows of all findings are separate payloads, which the driver does not collect."""
    findings = result.findings
    if isinstance(findings.sink, InMemorySink):
        rows, findings.sink = findings.sink.all(), None
        if len(rows):
            yield from result.produced.record(frame_to_payloads(FINDINGS, bucket, rows), FINDINGS, len(rows))
    findings.acceptance = None  # the driver has it
    yield value_to_payload(RESULT, bucket, result)


class StageTask(msgspec.Struct, frozen=True):
    """Runs a stage on an executor, bucket by bucket."""

    stage: Stage
    facts: LogFacts
    recorder: Findings
    """Without findings."""
    counts: BucketCounts
    budget: Budget | None = None
    """Time after which buckets are left out; None for no limit."""

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        for bucket, bucket_rows in groupby(rows, lambda row: row.bucket):
            payloads: dict[str, list[bytes]] = defaultdict(list)
            for row in bucket_rows:
                payloads[row.tag].append(row.payload)
            rows_by_tag, received = RowsByTag(), RowTotals()
            for tag in list(payloads):
                rows_by_tag[tag] = payloads_to_frame(payloads[tag])
                received.add(tag, payloads.pop(tag), len(rows_by_tag[tag]))
            findings, output = self.recorder.copy_without_findings(), TaskOutput(self.counts, self.budget)
            try:
                output.report_progress("buckets", 0, None)
                aggregates = self.stage(self.facts, findings, rows_by_tag, output)
            except RunStopped as stop:
                aggregates, output = Aggregates(stop_reason=stop.reason), TaskOutput(self.counts)
            yield from output.drain_payloads(include_incomplete=True)
            yield from build_result_payloads(bucket, TaskResult(findings, aggregates, output.produced, received))
