"""Shares of a table's files on executors: rows of payloads, repartitioned by share before a stage looks at them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from deltaspec.validate.base_run import Run
from deltaspec.validate.dealing import dealt, place_of
from deltaspec.validate.findings import Findings
from deltaspec.validate.findings_table import HeldRows
from deltaspec.validate.shares import Frames, Stage, fits
from deltaspec.validate.spark.jobs import Jobs
from deltaspec.validate.spark.payloads import FAILED, FRAME_ROWS, Payload, of_frame, of_value, to_frame, to_value
from deltaspec.validate.sums import Sums
from deltaspec.wire.storage import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltaspec.validate.spark.kept import KeptJobs

FINDINGS = "findings"
"""Tag of every single finding, where they are asked for: rows of `findings_table.FINDING_ROWS`."""
FOUND = "found"
"""Tag of what a task found: its findings, sums, and the tags of the rows that it deals."""
_GIVEN = "given"
"""Tag of what was done once gave, and of the tags of the rows that it dealt."""
Found = tuple[Findings, Sums, set[str]]
T = TypeVar("T")


class SparkShares:
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
        self.state: KeptJobs | None = None
        """Where what the driver does is kept for a run that goes on."""

    def put(self, tag: str, frame: pl.DataFrame, places: pl.Series | None = None) -> None:
        self._mine += deal(tag, frame, places, self.count)
        if sum(len(each.payload) for each in self._mine) > _DRIVER_BYTES:
            self._flush()

    def add(self, tags: set[str], frame: DataFrame) -> None:
        """Take over rows that a task has dealt."""
        self._frames.append((tags, frame))

    def look(
        self, stage: Stage, run: Run, tags: Iterable[str], *, together: bool = False, opens_files: bool = False
    ) -> Sums:
        self._flush()
        run.share_count = self.count
        wanted = list(tags)
        sources = []
        for there, frame in self._frames:
            these = sorted(tag for tag in there if any(fits(tag, each) for each in wanted))
            if these:
                sources.append(frame.filter(frame["tag"].isin(these)))
        if not sources:
            return stage(run, {}, self.put)
        rows = reduce(lambda one, other: one.unionAll(other), sources)
        rows = rows.repartition(1) if together else rows.repartition(self.count, "share")
        rows = rows.sortWithinPartitions("share", "tag")
        task = StageTask(stage, run.apart(), self.count, together=together)
        if opens_files and self._here is not None:
            return self._look_here(run, rows, task, self._here)
        return self.collect(run, self._jobs.run(rows, task))

    def _look_here(self, run: Run, rows: DataFrame, task: StageTask, store: Store) -> Sums:
        """Run a task on the driver, which holds one share at a time."""
        task.run.store = store

        def work() -> tuple[Findings, Sums]:
            found, sums, number = run.findings.empty(), Sums(), 0
            for row in task(self._jobs.rows(rows, self.count)):
                if row.tag == FOUND:
                    findings, more, _ = to_value(row.payload)
                    found.merge(findings)
                    sums.merge(more)
                    number += 1
                    run.progress("shares", number, self.count)
                else:
                    self._mine.append(row)
            self._flush()
            return found, sums

        found, sums = self.once(work)
        run.findings.merge(found)
        return sums

    def collect(self, run: Run, frame: DataFrame) -> Sums:
        """Merge what the tasks of a frame found, and keep the rows that they deal."""
        sums, tags = Sums(), set[str]()
        found = frame.filter(frame["tag"].isin([FOUND, FAILED]))
        for number, row in enumerate(self._jobs.rows(found, self.count), 1):
            findings, more, these = to_value(row.payload)
            run.findings.merge(findings)
            sums.merge(more)
            tags |= these
            run.progress("shares", number, self.count)
        if tags:
            self.add(tags, frame)
        else:
            self._jobs.forget(frame)
        return sums

    def once(self, work: Callable[[], T]) -> T:
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
            told = self._jobs.frame([of_value(_GIVEN, 0, (value, tags))])
            return reduce(lambda one, other: one.unionAll(other), [told, *(frame for _, frame in dealt_rows)])

        frame = self.state.step(give)
        (given,) = self._jobs.rows(frame.filter(frame["tag"] == _GIVEN), 1)
        value, tags = to_value(given.payload)
        if tags:
            self.add(tags, frame)
        found: T = value
        return found

    def kept(self, tag: str) -> list[DataFrame]:
        """The rows of a tag, frame by frame."""
        self._flush()
        return [frame.filter(frame["tag"] == tag) for there, frame in self._frames if tag in there]

    def frames(self, tag: str) -> Iterator[pl.DataFrame]:
        """All rows of a tag, some at a time."""
        self._flush()
        for there, frame in self._frames:
            if tag in there:
                for row in self._jobs.rows(frame.filter(frame["tag"].isin([tag, FAILED])), self.count):
                    yield to_frame([row.payload])

    def drop(self, tags: Iterable[str]) -> None:
        gone = set(tags)
        kept = []
        for there, frame in self._frames:
            left = {tag for tag in there if not any(fits(tag, each) for each in gone)}
            if left:
                kept.append((left, frame))
            else:
                self._jobs.forget(frame)
        self._frames = kept

    def close(self) -> None:
        for _, frame in self._frames:
            self._jobs.forget(frame)
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
    by = place_of(frame["path_key"]) if places is None else places
    for share, part in dealt(frame, by, count):
        yield from of_frame(tag, share, part)


class Dealer:
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
        self._held[tag].append((frame, place_of(frame["path_key"]) if places is None else places))
        self._rows[tag] += len(frame)
        if self._rows[tag] > FRAME_ROWS * min(self._count, _GATHERED):
            self._deal(tag)

    def ready(self, *, all_of_it: bool = False) -> Iterator[Payload]:
        """What may be given on by now."""
        if all_of_it:
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


def found_rows(share: int, findings: Findings, sums: Sums, tags: set[str]) -> Iterator[Payload]:
    """What a task found; every single finding goes by itself, past the driver."""
    if isinstance(findings.sink, HeldRows):
        rows, findings.sink = findings.sink.all(), None
        if len(rows):
            tags = {*tags, FINDINGS}
            yield from of_frame(FINDINGS, share, rows)
    found: Found = (findings, sums, tags)
    yield of_value(FOUND, share, found)


class StageTask:
    """A stage on an executor, share by share."""

    def __init__(self, stage: Stage, run: Run, count: int, *, together: bool) -> None:
        self.stage = stage
        self.run = run
        self.count = count
        self.together = together

    def __call__(self, rows: Iterable[Payload]) -> Iterator[Payload]:
        key: Callable[[Payload], int] = (lambda _: 0) if self.together else (lambda row: row.share)
        for share, of_share in groupby(rows, key):
            payloads: dict[str, list[bytes]] = defaultdict(list)
            for row in of_share:
                payloads[row.tag].append(row.payload)
            frames: Frames = {}
            for tag in list(payloads):
                frames[tag] = to_frame(payloads.pop(tag))
            run, dealer = self.run.apart(), Dealer(self.count)
            sums = self.stage(run, frames, dealer)
            yield from dealer.ready(all_of_it=True)
            yield from found_rows(share, run.findings, sums, dealer.tags)
