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
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.validation.stopping import Budget, RunStopped
from deltaspec.validation.stored_rows import leave_out_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FINDINGS = "findings"
"""Tag of all findings as rows of `findings_table.FINDING_SCHEMA`, if `--findings-out` is given."""
RESULT = "result"
"""Tag of the result of a task: findings, aggregates, and the tags of the rows that it produced."""
_RUN_ONCE_RESULT = "run once"
"""Tag of the result of `run_once`, and of the tags of the rows that it put into the buckets."""
_DRIVER_BYTES = 64 << 20
"""Payloads that the driver collects before it hands them to Spark."""
_COLLECTED_FRAMES = 8
"""Frames of `FRAME_ROWS` rows that a task collects per tag, so that buckets receive few large frames."""
TaskResult = tuple[Findings, Aggregates, set[str]]
T = TypeVar("T")


class SparkBuckets:
    """Rows in Spark frames, persisted on the disks of executors until no stage needs them."""

    def __init__(
        self,
        jobs: Jobs,
        access: TableAccess,
        count: int,
        progress: Progress = ignore_progress,
        budget: Budget | None = None,
    ) -> None:
        """Begin without rows.

        Args:
            jobs: run the stages.
            access: says whether executors can read the table. If not, the driver runs the stages that open files.
            count: number of buckets.
            progress: called after each bucket of a stage.
            budget: time after which executors stop; None for no limit.
        """
        self._jobs = jobs
        self._budget = budget
        self._access = access
        self._progress = progress
        self.count = count
        self._frames: list[tuple[set[str], DataFrame]] = []
        self._driver_rows: list[Payload] = []
        self.job_store: JobStore | None = None
        """Saves what the driver computes for a run that resumes; None saves nothing."""

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        self._driver_rows += split_into_payloads(tag, rows, keys, self.count)
        if sum(len(each.payload) for each in self._driver_rows) > _DRIVER_BYTES:
            self._flush()

    def add(self, tags: set[str], frame: DataFrame) -> None:
        """Add rows that a task produced."""
        self._frames.append((tags, frame))

    def report_progress(self, phase: str, done: int, total: int | None) -> None:
        self._progress(phase, done, total)

    def run_stage(
        self,
        stage: Stage,
        facts: LogFacts,
        findings: Findings,
        tags: Iterable[str],
        *,
        in_one_bucket: bool = False,
        opens_files: bool = False,
    ) -> Aggregates:
        self._flush()
        facts = replace(facts, bucket_count=self.count)
        wanted = list(tags)
        sources = []
        for frame_tags, frame in self._frames:
            matching = sorted(tag for tag in frame_tags if any(matches_tag(tag, each) for each in wanted))
            if matching:
                sources.append(frame.filter(frame["tag"].isin(matching)))
        if not sources:
            return stage(facts, findings, {}, self)
        rows = reduce(lambda one, other: one.unionAll(other), sources)
        rows = rows.repartition(1) if in_one_bucket else rows.repartition(self.count, "bucket")
        rows = rows.sortWithinPartitions("bucket", "tag")
        on_driver = opens_files and not self._access.executors_can_read
        store = self._access.store if on_driver else self._access.executor_store
        task_facts, recorder = replace(facts, store=store), findings.copy_without_findings()
        # a saved job is never repeated, so it must be complete
        budget = self._budget if self.job_store is None else None
        task = StageTask(stage, task_facts, recorder, self.count, in_one_bucket, budget)
        if on_driver:
            aggregates = self._run_on_driver(findings, rows, task)
        else:
            aggregates = self.collect(findings, self._jobs.run(rows, task))
        if aggregates.stop_reason is not None:
            raise RunStopped(aggregates.stop_reason)
        return aggregates

    def _run_on_driver(self, findings: Findings, rows: DataFrame, task: StageTask) -> Aggregates:
        """Run a task on the driver, which keeps one bucket in memory at a time."""

        def work() -> tuple[Findings, Aggregates]:
            found, aggregates, number = findings.copy_without_findings(), Aggregates(), 0
            for row in task(self._jobs.rows(rows, self.count)):
                if row.tag == RESULT:
                    task_findings, task_aggregates, _ = payload_to_value(row.payload)
                    found.merge(task_findings)
                    aggregates.merge(task_aggregates)
                    number += 1
                    self.report_progress("buckets", number, self.count)
                else:
                    self._driver_rows.append(row)
            self._flush()
            return found, aggregates

        found, aggregates = self.run_once(work)
        findings.merge(found)
        return aggregates

    def collect(
        self,
        findings: Findings,
        frame: DataFrame,
        others: Sequence[str] = (),
        take: Callable[[Payload], None] = lambda _: None,
        *,
        keep: bool = False,
    ) -> Aggregates:
        """Merge the findings of all tasks of a frame, and keep the rows that they produced.

        Args:
            findings: receives what the tasks found.
            frame: result of a job. Each pass over it reads all its rows again.
            others: tags of other payloads for the driver.
            take: called with each of them.
            keep: the caller reads the frame again, and calls `release`.
        """
        aggregates, tags, number = Aggregates(), set[str](), 0
        results = frame.filter(frame["tag"].isin([RESULT, FAILED, *others]))
        self._jobs.compute(results, self.count)
        for row in self._jobs.rows(results, self.count):
            if row.tag != RESULT:
                take(row)
                continue
            task_findings, task_aggregates, task_tags = payload_to_value(row.payload)
            findings.merge(task_findings)
            aggregates.merge(task_aggregates)
            tags |= task_tags
            number += 1
            self.report_progress("buckets", number, self.count)
        if tags:
            self.add(tags, frame)
        if not keep:
            self.release(frame)
        return aggregates

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
            value = work()
            self._flush()
            new_frames = self._frames[before:]
            del self._frames[before:]
            tags = {tag for frame_tags, _ in new_frames for tag in frame_tags}
            result = self._jobs.frame([value_to_payload(_RUN_ONCE_RESULT, 0, (value, tags))])
            return reduce(lambda one, other: one.unionAll(other), [result, *(frame for _, frame in new_frames)])

        frame = self.job_store.run_or_load(compute)
        (row,) = self._jobs.rows(frame.filter(frame["tag"] == _RUN_ONCE_RESULT), 1)
        value, tags = payload_to_value(row.payload)
        if tags:
            self.add(tags, frame)
        result: T = value
        return result

    def get_frames(self, tag: str) -> list[DataFrame]:
        """Return the frames with rows of a tag."""
        self._flush()
        return [frame.filter(frame["tag"] == tag) for tags, frame in self._frames if tag in tags]

    def iter_frames(self, tag: str) -> Iterator[pl.DataFrame]:
        """Yield all rows of a tag, a part at a time."""
        self._flush()
        for tags, frame in self._frames:
            if tag in tags:
                for row in self._jobs.rows(frame.filter(frame["tag"].isin([tag, FAILED])), self.count):
                    yield payloads_to_frame([row.payload])

    def drop(self, tags: Iterable[str]) -> None:
        dropped = set(tags)
        remaining = []
        for frame_tags, frame in self._frames:
            left = {tag for tag in frame_tags if not any(matches_tag(tag, each) for each in dropped)}
            if left:
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
            self.add({row.tag for row in self._driver_rows}, self._jobs.frame(self._driver_rows))
            self._driver_rows = []


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

    def __init__(self, count: int, budget: Budget | None = None) -> None:
        self._count = count
        self._budget = budget
        self._collected: dict[str, list[tuple[pl.DataFrame, pl.Series]]] = defaultdict(list)
        self._row_counts: dict[str, int] = defaultdict(int)
        self._ready: list[Payload] = []
        self.tags: set[str] = set()

    def put(self, tag: str, rows: pl.DataFrame, keys: pl.Series | None = None, /) -> None:
        if rows.is_empty():
            return
        self.tags.add(tag)
        self._collected[tag].append((rows, normalize_path_keys(rows["path_key"]) if keys is None else keys))
        self._row_counts[tag] += len(rows)
        if self._row_counts[tag] > FRAME_ROWS * min(self._count, _COLLECTED_FRAMES):
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
            self._ready += split_into_payloads(tag, rows, keys, self._count)


def build_result_payloads(bucket: int, findings: Findings, aggregates: Aggregates, tags: set[str]) -> Iterator[Payload]:
    """Yield the result of a task. The rows of all findings are separate payloads, which the driver does not collect."""
    if isinstance(findings.sink, InMemorySink):
        rows, findings.sink = findings.sink.all(), None
        if len(rows):
            tags = {*tags, FINDINGS}
            yield from frame_to_payloads(FINDINGS, bucket, rows)
    findings.acceptance = None  # the driver has it
    result: TaskResult = (findings, aggregates, tags)
    yield value_to_payload(RESULT, bucket, result)


class StageTask(msgspec.Struct, frozen=True):
    """Runs a stage on an executor, bucket by bucket."""

    stage: Stage
    facts: LogFacts
    recorder: Findings
    """Without findings."""
    count: int
    in_one_bucket: bool
    budget: Budget | None = None
    """Time after which buckets are left out; None for no limit."""

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        key: Callable[[Payload], int] = (lambda _: 0) if self.in_one_bucket else (lambda row: row.bucket)
        for bucket, bucket_rows in groupby(rows, key):
            payloads: dict[str, list[bytes]] = defaultdict(list)
            for row in bucket_rows:
                payloads[row.tag].append(row.payload)
            rows_by_tag: RowsByTag = {}
            for tag in list(payloads):
                rows_by_tag[tag] = payloads_to_frame(payloads.pop(tag))
            findings, output = self.recorder.copy_without_findings(), TaskOutput(self.count, self.budget)
            try:
                output.report_progress("buckets", 0, None)
                aggregates = self.stage(self.facts, findings, rows_by_tag, output)
            except RunStopped as stop:
                aggregates, output = Aggregates(stop_reason=stop.reason), TaskOutput(self.count)
            yield from output.drain_payloads(include_incomplete=True)
            yield from build_result_payloads(bucket, findings, aggregates, output.tags)
