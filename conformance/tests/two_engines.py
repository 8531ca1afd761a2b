"""Reports of one table by every way that its rows may be spread: helpers of the tests that compare them.

`ListJobs` stands in for Spark: its frames are lists of rows, its tasks are pickled and run on one partition after the
other, and rows come in any order that a shuffle may give them.
"""

from __future__ import annotations

import pickle
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from deltaspec.report.values import Report
from deltaspec.validate import embedded, shares
from deltaspec.validate.asked import Asked, ask, report_of
from deltaspec.validate.base_run import silent
from deltaspec.validate.embedded import EmbeddedRun
from deltaspec.validate.plan import make_plan
from deltaspec.validate.shares import LocalShares
from deltaspec.validate.spark import driver, payloads, reading, sources
from deltaspec.validate.spark import shares as spark_shares
from deltaspec.validate.spark.driver import SparkRun
from deltaspec.validate.spark.fetch import Fetch
from deltaspec.validate.spark.payloads import Payload, from_batches, to_batches
from deltaspec.validate.spark.reach import Reach
from deltaspec.wire.given_bytes import GivenBytes
from deltaspec.wire.storage import open_store
from deltaspec_generators.builder import TableFiles, write_table

Engine = Callable[[str, Asked], Report]
DEFAULTS: dict[str, Any] = {
    "level": "log",
    "at": None,
    "history": "latest",
    "revision": "current",
    "clock": None,
    "select": None,
    "ignore": (),
    "samples": 1000,
    "accept_unchecked": (),
    "allow_outside": False,
}


def in_shares(rows_in_memory: int | None = None, count: int = 1) -> Engine:
    """The embedded engine, its rows in memory or spilled to so many shares."""

    def judge(uri: str, asked: Asked) -> Report:
        store = open_store(uri)
        run = EmbeddedRun(
            *(store, make_plan(store.uri, store.list_log(), at=asked.at, history=asked.history)),
            *(asked.rules, asked.samples, silent),
            level=asked.level,
            revision=asked.revision,
            clock_ms=asked.clock,
            allow_outside=asked.allow_outside,
        )
        run.shares = LocalShares(rows_in_memory, count)
        run.judge()
        return report_of(asked, run, "embedded")

    return judge


def on_lists(count: int, seed: int, *, executors_reach: bool = True) -> Engine:
    """The Spark engine over lists of rows in so many shares, which come in an order that the seed tells.

    Expressions of the table's metadata are evaluated by the kit alone: there is no Spark to ask.
    """

    def judge(uri: str, asked: Asked) -> Report:
        store, jobs = open_store(uri), ListJobs(seed)
        listing = store.list_log()
        reach = Reach(uri, store, listing, store, None)
        if not executors_reach:
            reach = Reach(uri, store, listing, GivenBytes(store.uri, {}, root=store.root), "they do not")
        plan = make_plan(store.uri, listing, at=asked.at, history=asked.history)
        run = SparkRun(jobs, reach, plan, asked, silent, count)  # type: ignore[arg-type]
        with patch.object(driver, "has_conditions", lambda run: False), patch.object(sources, "fetch", _fetched(jobs)):
            run.judge()
        assert not jobs.kept, "every frame is given back"
        return report_of(asked, run, "spark")

    return judge


def plain(report: Report) -> dict[str, Any]:
    """A report as plain values, but for the name of the engine."""
    found: dict[str, Any] = msgspec.to_builtins(report)
    found.pop("engine")
    return found


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Places where two plain values are not the same, with what stands there."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            each
            for key in sorted(one.keys() | other.keys(), key=str)
            for each in differences(one.get(key, "absent"), other.get(key, "absent"), f"{where}.{key}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            each for n, pair in enumerate(zip(one, other, strict=True)) for each in differences(*pair, f"{where}[{n}]")
        ]
    if isinstance(one, list) and isinstance(other, list):
        only = [[each for each in these if each not in those] for these, those in ((one, other), (other, one))]
        return [f"{where}: {len(one)} and {len(other)}; only {only[0][:3]!r:.600} and {only[1][:3]!r:.600}"]
    return [] if one == other and type(one) is type(other) else [f"{where}: {one!r:.300} and {other!r:.300}"]


@contextmanager
def laid_down(files: TableFiles) -> Iterator[str]:
    """A table in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        yield str(Path(directory) / "table")


@contextmanager
def small_batches() -> Iterator[None]:
    """Bounds at which rows are cut, so low that tables of a few rows are cut."""
    with (
        patch.object(embedded, "BATCH_ROWS", 3),
        patch.object(reading, "BATCH_ROWS", 2),
        patch.object(payloads, "FRAME_ROWS", 2),
        patch.object(spark_shares, "FRAME_ROWS", 1),
        patch.object(shares, "_ROWS_AT_ONCE", 3),
    ):
        yield


def compared(uri: str, engines: dict[str, Engine], **options: Any) -> list[str]:
    """What the reports of some engines say otherwise than that of the embedded one in memory."""
    asked = ask(**{**DEFAULTS, **options})
    expected = plain(in_shares()(uri, asked))
    found = []
    with small_batches():
        for name, judge in engines.items():
            found += [f"{name}{each}" for each in differences(expected, plain(judge(uri, asked)))]
    return found


# Spark without Spark


@dataclass(frozen=True)
class Wanted:
    """Which rows are meant."""

    holds: Callable[[Payload], bool]


@dataclass(frozen=True)
class Column:
    """A column of a frame."""

    name: str

    def isin(self, values: Iterable[Any]) -> Wanted:
        wanted = set(values)
        return Wanted(lambda row: getattr(row, self.name) in wanted)

    def __eq__(self, value: object) -> Wanted:  # type: ignore[override]
        return Wanted(lambda row: getattr(row, self.name) == value)


@dataclass(frozen=True)
class ListFrame:
    """Partitions of rows."""

    partitions: list[list[Payload]]
    seed: random.Random

    def __getitem__(self, name: str) -> Column:
        assert name in Payload._fields
        return Column(name)

    def filter(self, test: Wanted) -> ListFrame:
        return self._with([[row for row in each if test.holds(row)] for each in self.partitions])

    def unionAll(self, other: ListFrame) -> ListFrame:  # noqa: N802 - as Spark has it
        return self._with([*self.partitions, *other.partitions])

    def repartition(self, number: int, *columns: str) -> ListFrame:
        """Rows of one share end up in one partition, several shares perhaps in one; their order is anybody's."""
        assert columns in ((), ("share",))
        rows = [row for each in self.partitions for row in each]
        self.seed.shuffle(rows)
        salt = self.seed.randrange(1 << 30)
        parts: list[list[Payload]] = [[] for _ in range(number)]
        for place, row in enumerate(rows):
            parts[hash((row.share if columns else place, salt)) % number].append(row)
        return self._with(parts)

    def sortWithinPartitions(self, *columns: str) -> ListFrame:  # noqa: N802 - as Spark has it
        return self._with(
            [sorted(each, key=lambda row: [getattr(row, name) for name in columns]) for each in self.partitions]
        )

    def selectExpr(self, *expressions: str) -> ListFrame:  # noqa: N802 - as Spark has it
        """Of fetched files, which are payloads already."""
        assert expressions == ("name AS tag", "CAST(0 AS INT) AS share", "content AS payload")
        return self

    def _with(self, partitions: list[list[Payload]]) -> ListFrame:
        return ListFrame(partitions, self.seed)


@dataclass
class ListJobs:
    """Runs tasks as `Jobs` does: pickled, and between batches of Arrow."""

    number: int
    parallelism: int = 2
    session: None = None
    kept: list[ListFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seed = random.Random(self.number)

    def frame(self, rows: list[Payload], partitions: int | None = None) -> ListFrame:
        found = ListFrame([_over_arrow(rows)], self.seed)
        return found if partitions is None else found.repartition(partitions, "share")

    def run(self, rows: ListFrame, task: Callable[[Iterable[Payload]], Iterator[Payload]]) -> ListFrame:
        shipped = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)
        found = [_over_arrow(pickle.loads(shipped)(_over_arrow(each))) for each in rows.partitions]
        self.kept.append(ListFrame(found, self.seed))
        return self.kept[-1]

    def rows(self, frame: ListFrame, partitions: int) -> Iterator[Payload]:
        for each in frame.partitions:
            yield from each

    def forget(self, frame: ListFrame) -> None:
        self.kept = [each for each in self.kept if each is not frame]


def _fetched(jobs: ListJobs) -> Callable[[Any, str, dict[str, int], int], Any]:
    """Files of the log as rows, in the order that the jobs have."""

    def fetch(session: None, uri: str, wanted: dict[str, int], limit: int) -> Any:
        folder = Path(uri) / "_delta_log"
        rows = [Payload(name, 0, (folder / name).read_bytes()) for name, size in wanted.items() if size]
        frame = ListFrame([rows], jobs.seed).repartition(3)
        return Fetch(frame, frozenset(wanted), frozenset(name for name, size in wanted.items() if not size), {})  # type: ignore[arg-type]

    return fetch


def _over_arrow(rows: Iterable[Payload]) -> list[Payload]:
    return list(from_batches(to_batches(rows)))
