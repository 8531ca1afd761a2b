"""Shares of a table's files on executors: rows of payloads, repartitioned by bucket before a stage looks at them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Run
from deltaspec.validation.bucketing import normalize_path_keys, split_by_bucket
from deltaspec.validation.buckets import RowsByTag, Stage, matches_tag
from deltaspec.validation.findings import Findings
from deltaspec.validation.findings_table import InMemorySink
from deltaspec.validation.spark.jobs import Jobs
from deltaspec.validation.spark.payloads import (
    FAILED,
    FRAME_ROWS,
    Payload,
    frame_to_payloads,
    payload_to_value,
    payloads_to_frame,
    value_to_payload,
)
from deltaspec.wire.storage.interface import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltaspec.validation.spark.saved_jobs import SavedJobs

FINDINGS = "findings"
"""Tag of every single finding, where they are asked for: rows of `findings_table.FINDING_SCHEMA`."""
FOUND = "found"
"""Tag of what a task found: its findings, sums, and the tags of the rows that it deals."""
_GIVEN = "given"
"""Tag of what was done once gave, and of the tags of the rows that it dealt."""
Found = tuple[Findings, Aggregates, set[str]]
T = TypeVar("T")


class SparkBuckets:
    """Rows of shares as frames of Spark, kept on the executors' disks until no stage needs them."""

    def __init__(self, jobs: Jobs, count: int, here: Store | None = None) -> None:
        """Begin without rows.

        Args:
            jobs: by which stages run.
            count: how many shares there are.
            here: store of the driver, which has to look at the table's files itself; None where executors reach them.
        """
        self._jobs = jobs
        self._here = here
        self.count = count
        self._frames: list[tuple[set[str], DataFrame]] = []
        self._mine: list[Payload] = []
        """Rows that the driver deals."""
        self.state: SavedJobs | None = None
        """Where what the driver does is kept for a run that goes on."""

    def put(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        self._mine += deal(tag, frame, places, self.count)
        if sum(len(each.payload) for each in self._mine) > _DRIVER_BYTES:
            self._flush()

    def add(self, tags: set[str], frame: DataFrame) -> None:
        """Take over rows that a task has dealt."""
        self._frames.append((tags, frame))

    def run_stage(
        self, stage: Stage, run: Run, tags: Iterable[str], *, in_one_bucket: bool = False, opens_files: bool = False
    ) -> Aggregates:
        self._flush()
        run.bucket_count = self.count
        wanted = list(tags)
        sources = []
        for there, frame in self._frames:
            these = sorted(tag for tag in there if any(matches_tag(tag, each) for each in wanted))
            if these:
                sources.append(frame.filter(frame["tag"].isin(these)))
        if not sources:
            return stage(run, {}, self.put)
        rows = reduce(lambda one, other: one.unionAll(other), sources)
        rows = rows.repartition(1) if in_one_bucket else rows.repartition(self.count, "bucket")
        rows = rows.sortWithinPartitions("bucket", "tag")
        task = StageTask(stage, run.apart(), self.count, in_one_bucket=in_one_bucket)
        if opens_files and self._here is not None:
            return self._look_here(run, rows, task, self._here)
        return self.collect(run, self._jobs.run(rows, task))

    def _look_here(self, run: Run, rows: DataFrame, task: StageTask, store: Store) -> Aggregates:
        """Run a task on the driver, which holds one bucket at a time."""
        task.run.store = store

        def work() -> tuple[Findings, Aggregates]:
            found, aggregates, number = run.findings.copy_without_findings(), Aggregates(), 0
            for row in task(self._jobs.rows(rows, self.count)):
                if row.tag == FOUND:
                    findings, more, _ = payload_to_value(row.payload)
                    found.merge(findings)
                    aggregates.merge(more)
                    number += 1
                    run.progress("shares", number, self.count)
                else:
                    self._mine.append(row)
            self._flush()
            return found, aggregates

        found, aggregates = self.run_once(work)
        run.findings.merge(found)
        return aggregates

    def collect(self, run: Run, frame: DataFrame) -> Aggregates:
        """Merge what the tasks of a frame found, and keep the rows that they deal."""
        aggregates, tags = Aggregates(), set[str]()
        found = frame.filter(frame["tag"].isin([FOUND, FAILED]))
        for number, row in enumerate(self._jobs.rows(found, self.count), 1):
            findings, more, these = payload_to_value(row.payload)
            run.findings.merge(findings)
            aggregates.merge(more)
            tags |= these
            run.progress("shares", number, self.count)
        if tags:
            self.add(tags, frame)
        else:
            self._jobs.unpersist_frame(frame)
        return aggregates

    def run_once(self, work: Callable[[], T]) -> T:
        if self.state is None:
            return work()
        self._flush()
        before = len(self._frames)

        def give() -> DataFrame:
            value = work()
            self._flush()
            dealt_rows = self._frames[before:]
            del self._frames[before:]
            tags = {tag for there, _ in dealt_rows for tag in there}
            told = self._jobs.frame([value_to_payload(_GIVEN, 0, (value, tags))])
            return reduce(lambda one, other: one.unionAll(other), [told, *(frame for _, frame in dealt_rows)])

        frame = self.state.run_or_load(give)
        (given,) = self._jobs.rows(frame.filter(frame["tag"] == _GIVEN), 1)
        value, tags = payload_to_value(given.payload)
        if tags:
            self.add(tags, frame)
        found: T = value
        return found

    def get_frames(self, tag: str) -> list[DataFrame]:
        """The rows of a tag, frame by frame."""
        self._flush()
        return [frame.filter(frame["tag"] == tag) for there, frame in self._frames if tag in there]

    def iter_frames(self, tag: str) -> Iterator[pl.DataFrame]:
        """All rows of a tag, some at a time."""
        self._flush()
        for there, frame in self._frames:
            if tag in there:
                for row in self._jobs.rows(frame.filter(frame["tag"].isin([tag, FAILED])), self.count):
                    yield payloads_to_frame([row.payload])

    def drop(self, tags: Iterable[str]) -> None:
        gone = set(tags)
        kept = []
        for there, frame in self._frames:
            left = {tag for tag in there if not any(matches_tag(tag, each) for each in gone)}
            if left:
                kept.append((left, frame))
            else:
                self._jobs.unpersist_frame(frame)
        self._frames = kept

    def close(self) -> None:
        for _, frame in self._frames:
            self._jobs.unpersist_frame(frame)
        self._frames = []

    def _flush(self) -> None:
        if self._mine:
            self.add({row.tag for row in self._mine}, self._jobs.frame(self._mine))
            self._mine = []


_DRIVER_BYTES = 64 << 20
"""Payloads of the driver that are gathered before Spark gets them."""


def deal(tag: str, frame: pl.DataFrame, places: pl.Series | None, count: int) -> Iterator[Payload]:
    """Rows of a tag as payloads of their shares."""
    if frame.is_empty():
        return
    by = normalize_path_keys(frame["path_key"]) if places is None else places
    for bucket, part in split_by_bucket(frame, by, count):
        yield from frame_to_payloads(tag, bucket, part)


class PayloadBucketer:
    """Gathers what a task deals, and gives it on as payloads when there is enough of it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._held: dict[str, list[tuple[pl.DataFrame, pl.Series]]] = defaultdict(list)
        self._rows: dict[str, int] = defaultdict(int)
        self._ready: list[Payload] = []
        self.tags: set[str] = set()

    def __call__(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        if frame.is_empty():
            return
        self.tags.add(tag)
        self._held[tag].append((frame, normalize_path_keys(frame["path_key"]) if places is None else places))
        self._rows[tag] += len(frame)
        if self._rows[tag] > FRAME_ROWS * min(self._count, _GATHERED):
            self._deal(tag)

    def drain_payloads(self, *, include_incomplete: bool = False) -> Iterator[Payload]:
        """What may be given on by now."""
        if include_incomplete:
            for tag in list(self._held):
                self._deal(tag)
        given, self._ready = self._ready, []
        yield from given

    def _deal(self, tag: str) -> None:
        held = self._held.pop(tag, [])
        self._rows[tag] = 0
        if held:
            places = pl.concat([each for _, each in held])
            self._ready += deal(tag, pl.concat([frame for frame, _ in held]), places, self._count)


_GATHERED = 8
"""Frames of `FRAME_ROWS` rows that a task holds of a tag before it deals them, so that shares get few and long ones."""


def build_result_payloads(bucket: int, findings: Findings, aggregates: Aggregates, tags: set[str]) -> Iterator[Payload]:
    """What a task found; every single finding goes by itself, past the driver."""
    if isinstance(findings.sink, InMemorySink):
        rows, findings.sink = findings.sink.all(), None
        if len(rows):
            tags = {*tags, FINDINGS}
            yield from frame_to_payloads(FINDINGS, bucket, rows)
    found: Found = (findings, aggregates, tags)
    yield value_to_payload(FOUND, bucket, found)


class StageTask:
    """A stage on an executor, bucket by bucket."""

    def __init__(self, stage: Stage, run: Run, count: int, *, in_one_bucket: bool) -> None:
        self.stage = stage
        self.run = run
        self.count = count
        self.in_one_bucket = in_one_bucket

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        key: Callable[[Payload], int] = (lambda _: 0) if self.in_one_bucket else (lambda row: row.bucket)
        for bucket, of_share in groupby(rows, key):
            payloads: dict[str, list[bytes]] = defaultdict(list)
            for row in of_share:
                payloads[row.tag].append(row.payload)
            frames: RowsByTag = {}
            for tag in list(payloads):
                frames[tag] = payloads_to_frame(payloads.pop(tag))
            run, dealer = self.run.apart(), PayloadBucketer(self.count)
            aggregates = self.stage(run, frames, dealer)
            yield from dealer.drain_payloads(include_incomplete=True)
            yield from build_result_payloads(bucket, run.findings, aggregates, dealer.tags)
