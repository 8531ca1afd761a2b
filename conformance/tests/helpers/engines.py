"""Reports of one table by every way that its rows may be spread: helpers of the tests that compare them.

`InProcessJobs` stands in for Spark: its frames are lists of rows, its tasks are pickled and run on one partition after
another, and rows come in any order that a shuffle may give them.
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

from deltaspec.report.report_types import Report
from deltaspec.validation import buckets, embedded
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.embedded import EmbeddedRun
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.plan import build_plan
from deltaspec.validation.report_builder import build_report
from deltaspec.validation.spark import driver, log_sources, log_tasks, payloads
from deltaspec.validation.spark import spark_buckets as spark_shares
from deltaspec.validation.spark.driver import SparkRun
from deltaspec.validation.spark.log_fetch import Fetch
from deltaspec.validation.spark.payloads import Payload, batches_to_payloads, payloads_to_batches
from deltaspec.validation.spark.table_access import TableAccess
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec_generators.table_files import TableFiles, write_table

Engine = Callable[[str, Options], Report]


def embedded_engine(rows_in_memory: int | None = None, count: int = 1) -> Engine:
    """The embedded engine, its rows in memory or spilled to so many shares."""

    def validate(uri: str, options: Options) -> Report:
        store = open_store(uri)
        plan = build_plan(store.uri, store.list_log(), at=options.at, history=options.history)
        buckets = LocalBuckets(rows_in_memory, count)
        run = EmbeddedRun(store, plan, options, options.create_findings(), buckets=buckets)
        run.run()
        return build_report(run, "embedded")

    return validate


def list_engine(count: int, seed: int, *, executors_can_read: bool = True) -> Engine:
    """The Spark engine over lists of rows in so many shares, which come in an order that the seed tells.

    Expressions of the table's metadata are evaluated by the kit alone: there is no Spark to ask.
    """

    def validate(uri: str, options: Options) -> Report:
        store, jobs = open_store(uri), InProcessJobs(seed)
        listing = store.list_log()
        access = TableAccess(uri, store, listing, store, None)
        if not executors_can_read:
            access = TableAccess(uri, store, listing, InMemoryStore(store.uri, {}, root=store.root), "they cannot")
        plan = build_plan(store.uri, listing, at=options.at, history=options.history)
        run = SparkRun(jobs, access, plan, options, count)  # type: ignore[arg-type]
        with (
            patch.object(driver, "has_row_constraints", lambda facts, findings: False),
            patch.object(log_sources, "fetch", _fetched(jobs)),
        ):
            run.run()
        assert not jobs.kept, "every frame is unpersisted"
        return build_report(run, "spark")

    return validate


def validate_on_spark(
    session: Any,
    uri: str,
    *,
    bucket_count: int | None = None,
    state: str | None = None,
    resume: bool = False,
    **options: Any,
) -> Report:
    """Validate a table with the Spark engine and a number of buckets."""
    from deltaspec.validation.spark.run import run_on_spark

    settings = RunSettings(state=state, resume=resume)
    return run_on_spark(session, uri, Options.create(**options), settings, bucket_count=bucket_count)


def report_to_builtins(report: Report) -> dict[str, Any]:
    """A report as plain values, but for the name of the engine."""
    found: dict[str, Any] = msgspec.to_builtins(report)
    found.pop("engine")
    return found


def find_differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Places where two plain values are not the same, with what stands there."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            each
            for key in sorted(one.keys() | other.keys(), key=str)
            for each in find_differences(one.get(key, "absent"), other.get(key, "absent"), f"{where}.{key}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            each
            for n, pair in enumerate(zip(one, other, strict=True))
            for each in find_differences(*pair, f"{where}[{n}]")
        ]
    if isinstance(one, list) and isinstance(other, list):
        only = [[each for each in these if each not in those] for these, those in ((one, other), (other, one))]
        return [f"{where}: {len(one)} and {len(other)}; only {only[0][:3]!r:.600} and {only[1][:3]!r:.600}"]
    return [] if one == other and type(one) is type(other) else [f"{where}: {one!r:.300} and {other!r:.300}"]


@contextmanager
def table_in_temporary_directory(files: TableFiles) -> Iterator[str]:
    """A table in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        yield str(Path(directory) / "table")


@contextmanager
def use_small_batches() -> Iterator[None]:
    """Bounds at which rows are cut, so low that tables of a few rows are cut."""
    with (
        patch.object(embedded, "BATCH_ROWS", 3),
        patch.object(log_tasks, "BATCH_ROWS", 2),
        patch.object(payloads, "FRAME_ROWS", 2),
        patch.object(spark_shares, "FRAME_ROWS", 1),
        patch.object(buckets, "_ROWS_AT_ONCE", 3),
    ):
        yield


def compare_reports(uri: str, engines: dict[str, Engine], **options: Any) -> list[str]:
    """What the reports of some engines say otherwise than that of the embedded one in memory."""
    checked = Options.create(**{"level": "log", **options})
    expected = report_to_builtins(embedded_engine()(uri, checked))
    found = []
    with use_small_batches():
        for name, validate in engines.items():
            found += [
                f"{name}{each}" for each in find_differences(expected, report_to_builtins(validate(uri, checked)))
            ]
    return found


# Spark without Spark


@dataclass(frozen=True)
class RowFilter:
    """Which rows are meant."""

    holds: Callable[[Payload], bool]


@dataclass(frozen=True)
class Column:
    """A column of a frame."""

    name: str

    def isin(self, values: Iterable[Any]) -> RowFilter:
        wanted = set(values)
        return RowFilter(lambda row: getattr(row, self.name) in wanted)

    def __eq__(self, value: object) -> RowFilter:  # type: ignore[override]
        return RowFilter(lambda row: getattr(row, self.name) == value)


@dataclass(frozen=True)
class InProcessFrame:
    """Partitions of rows."""

    partitions: list[list[Payload]]
    seed: random.Random

    def __getitem__(self, name: str) -> Column:
        assert name in Payload._fields
        return Column(name)

    def filter(self, test: RowFilter) -> InProcessFrame:
        return self._with([[row for row in each if test.holds(row)] for each in self.partitions])

    def unionAll(self, other: InProcessFrame) -> InProcessFrame:  # noqa: N802 - as Spark has it
        return self._with([*self.partitions, *other.partitions])

    def repartition(self, number: int, *columns: str) -> InProcessFrame:
        """Rows of one bucket end up in one partition, several shares perhaps in one; their order is anybody's."""
        assert columns in ((), ("bucket",))
        rows = [row for each in self.partitions for row in each]
        self.seed.shuffle(rows)
        salt = self.seed.randrange(1 << 30)
        parts: list[list[Payload]] = [[] for _ in range(number)]
        for place, row in enumerate(rows):
            parts[hash((row.bucket if columns else place, salt)) % number].append(row)
        return self._with(parts)

    def sortWithinPartitions(self, *columns: str) -> InProcessFrame:  # noqa: N802 - as Spark has it
        return self._with(
            [sorted(each, key=lambda row: [getattr(row, name) for name in columns]) for each in self.partitions]
        )

    def selectExpr(self, *expressions: str) -> InProcessFrame:  # noqa: N802 - as Spark has it
        """Of fetched files, which are payloads already."""
        assert expressions == ("name AS tag", "CAST(0 AS INT) AS bucket", "content AS payload")
        return self

    def _with(self, partitions: list[list[Payload]]) -> InProcessFrame:
        return InProcessFrame(partitions, self.seed)


@dataclass
class InProcessJobs:
    """Runs tasks as `Jobs` does: pickled, and between batches of Arrow."""

    number: int
    parallelism: int = 2
    session: None = None
    kept: list[InProcessFrame] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seed = random.Random(self.number)

    def frame(self, rows: list[Payload], partitions: int | None = None) -> InProcessFrame:
        found = InProcessFrame([_over_arrow(rows)], self.seed)
        return found if partitions is None else found.repartition(partitions, "bucket")

    def run(self, rows: InProcessFrame, task: Callable[[Iterable[Payload]], Iterator[Payload]]) -> InProcessFrame:
        shipped = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)
        found = [_over_arrow(pickle.loads(shipped)(_over_arrow(each))) for each in rows.partitions]
        self.kept.append(InProcessFrame(found, self.seed))
        return self.kept[-1]

    def rows(self, frame: InProcessFrame, partitions: int) -> Iterator[Payload]:
        for each in frame.partitions:
            yield from each

    def unpersist_frame(self, frame: InProcessFrame) -> None:
        self.kept = [each for each in self.kept if each is not frame]


def _fetched(jobs: InProcessJobs) -> Callable[[Any, str, dict[str, int], int], Any]:
    """Files of the log as rows, in the order that the jobs have."""

    def fetch(session: None, uri: str, wanted: dict[str, int], limit: int) -> Any:
        folder = Path(uri) / "_delta_log"
        rows = [Payload(name, 0, (folder / name).read_bytes()) for name, size in wanted.items() if size]
        frame = InProcessFrame([rows], jobs.seed).repartition(3)
        return Fetch(frame, frozenset(wanted), frozenset(name for name, size in wanted.items() if not size), {})  # type: ignore[arg-type]

    return fetch


def _over_arrow(rows: Iterable[Payload]) -> list[Payload]:
    return list(batches_to_payloads(payloads_to_batches(rows)))
