"""Backends that validate one table with other distributions of its rows or slower decoders, and compare their reports.

`InProcessJobs` simulates Spark: frames are lists of rows, and tasks are pickled and run on one partition after another.
Rows arrive in a random order, as after a shuffle.
"""

from __future__ import annotations

import pickle
import random
import re
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
from deltaspec.validation.acceptance import build_acceptance
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.embedded import EmbeddedLog
from deltaspec.validation.log.catalog import open_catalog
from deltaspec.validation.log.derived_files import build_read_context
from deltaspec.validation.log.new_files import plan_run
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.pipeline import check_table
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.report_builder import build_report
from deltaspec.validation.resume import saved_buckets
from deltaspec.validation.spark import checkpoint_slices, driver, log_sources, log_tasks, payloads, spark_buckets
from deltaspec.validation.spark.bucket_counts import BucketCounts
from deltaspec.validation.spark.driver import SparkLog, check_table_on_spark
from deltaspec.validation.spark.log_fetch import Fetch
from deltaspec.validation.spark.payloads import Payload, batches_to_payloads, payloads_to_batches
from deltaspec.validation.spark.spark_buckets import SparkBuckets
from deltaspec.validation.spark.table_access import TableAccess, ask_catalog
from deltaspec.validation.stopping import Budget
from deltaspec.wire.log import line_decoder, row_slices
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.in_memory import InMemoryStore
from deltaspec_generators.table_files import TableFiles, write_table

Backend = Callable[[str, Options], Report]


def embedded_backend(
    rows_in_memory: int | None = None, count: int = 1, progress: Progress = ignore_progress
) -> Backend:
    """Return the embedded backend with its rows in memory, or spilled to `count` buckets."""

    def validate(uri: str, options: Options) -> Report:
        table = open_store(uri)
        store = open_catalog(table, options.ratified)
        plan, options = plan_run(store, table.list_log(), options)
        buckets = LocalBuckets(rows_in_memory, count, rows_of_a_stage=0)
        findings = options.create_findings()
        findings.acceptance = build_acceptance(options.accept, options.baseline, store)
        log = EmbeddedLog(build_read_context(store, plan, options), findings, buckets, progress)
        return build_report(check_table(log), "embedded")

    return validate


def line_by_line_backend() -> Backend:
    """Return the embedded backend without the fast ways to decode JSON: every line is explained on its own."""
    validate = embedded_backend()

    def validate_slowly(uri: str, options: Options) -> Report:
        with (
            patch.object(line_decoder, "decode_canonical_line", lambda line, revision: (None, None)),
            patch.object(line_decoder, "decode_valid_line", lambda line, types: (None, None)),
        ):
            return validate(uri, options)

    return validate_slowly


def list_backend(
    count: int,
    seed: int,
    *,
    executors_can_read: bool = True,
    budget: Budget | None = None,
    before_job: Callable[[InProcessJobs, int], None] = lambda jobs, number: None,
) -> Backend:
    """Return the Spark backend over lists of rows in `count` buckets of one to three splits, ordered by a seed.

    SQL expressions of the metadata are not evaluated by Spark. `before_job` is called with the number of each job.
    """

    def validate(uri: str, options: Options) -> Report:
        store, jobs = open_store(uri), InProcessJobs(seed, before_job=before_job)
        counts = BucketCounts(count, splits=1 + seed % 3)
        listing = store.list_log()
        access = TableAccess(uri, store, listing, store, None)
        if not executors_can_read:
            access = TableAccess(
                uri, store, listing, InMemoryStore(store.uri, {}, root=store.root), "executors cannot read"
            )
        access = ask_catalog(access, options)
        store = access.store
        plan, options = plan_run(store, listing, options)
        findings, buckets = options.create_findings(), SparkBuckets(jobs, access, counts, budget=budget)  # type: ignore[arg-type]
        findings.acceptance = build_acceptance(options.accept, options.baseline, store)
        log = SparkLog(jobs, access, build_read_context(store, plan, options), findings, buckets)  # type: ignore[arg-type]
        with (
            patch.object(driver, "has_row_constraints", lambda facts, findings: False),
            patch.object(log_sources, "fetch", _build_fetch(jobs)),
        ):
            result = check_table_on_spark(log)
        report = build_report(result, "spark")
        assert report.stopped or not jobs.persisted, "every frame is unpersisted"
        return report

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
    """Validate a table with the Spark backend and a number of buckets of the log; each has two of files."""
    from deltaspec.validation.spark.run import run_on_spark

    settings = RunSettings(state=state, resume=resume)
    counts = None if bucket_count is None else BucketCounts(bucket_count, splits=2)
    return run_on_spark(session, uri, Options.create(**options), settings, bucket_counts=counts)


def report_to_builtins(report: Report) -> dict[str, Any]:
    """Return a report as plain values, without the name of the backend and what only Spark reports."""
    found: dict[str, Any] = msgspec.to_builtins(report)
    found.pop("engine")
    found.pop("access")
    return found


def find_differences(one: Any, other: Any, location: str = "") -> list[str]:
    """List the differences of two plain values, each with its location and both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            each
            for key in sorted(one.keys() | other.keys(), key=str)
            for each in find_differences(one.get(key, "absent"), other.get(key, "absent"), f"{location}.{key}")
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            each
            for n, pair in enumerate(zip(one, other, strict=True))
            for each in find_differences(*pair, f"{location}[{n}]")
        ]
    if isinstance(one, list) and isinstance(other, list):
        unmatched = [[each for each in these if each not in those] for these, those in ((one, other), (other, one))]
        return [
            f"{location}: {len(one)} and {len(other)}; only {unmatched[0][:3]!r:.600} and {unmatched[1][:3]!r:.600}"
        ]
    return [] if one == other and type(one) is type(other) else [f"{location}: {one!r:.300} and {other!r:.300}"]


@contextmanager
def table_in_temporary_directory(files: TableFiles) -> Iterator[str]:
    """Write a table to a temporary directory; yield its path."""
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        yield str(Path(directory) / "table")


@contextmanager
def use_small_batches() -> Iterator[None]:
    """Use batches so small that even tables with a few rows need several."""
    with (
        patch.object(embedded, "BATCH_ROWS", 3),
        patch.object(log_tasks, "BATCH_ROWS", 2),
        patch.object(payloads, "FRAME_ROWS", 2),
        patch.object(spark_buckets, "FRAME_ROWS", 1),
        patch.object(checkpoint_slices, "SMALLEST_SLICE_BYTES", 1),
        patch.object(row_slices, "BATCH_ROWS", 2),
        patch.object(buckets, "ROWS_AT_ONCE", 3),
        patch.object(saved_buckets, "ROWS_AT_ONCE", 2),
    ):
        yield


def compare_reports(uri: str, backends: dict[str, Backend], **options: Any) -> list[str]:
    """List the differences between the reports of backends and that of the embedded backend in memory."""
    checked = Options.create(**{"level": "log", **options})
    expected = report_to_builtins(embedded_backend()(uri, checked))
    found = []
    with use_small_batches():
        for name, validate in backends.items():
            found += [
                f"{name}{each}" for each in find_differences(expected, report_to_builtins(validate(uri, checked)))
            ]
    return found


# Spark without Spark


@dataclass(frozen=True)
class RowFilter:
    """Predicate over rows."""

    matches: Callable[[Payload], bool]


@dataclass(frozen=True)
class Column:
    """Column of a frame."""

    name: str

    def isin(self, values: Iterable[Any]) -> RowFilter:
        wanted = set(values)
        return RowFilter(lambda row: getattr(row, self.name) in wanted)

    def __eq__(self, value: object) -> RowFilter:  # type: ignore[override]
        return RowFilter(lambda row: getattr(row, self.name) == value)


Partition = list[Payload]


@dataclass(eq=False)
class InProcessFrame:
    """Frame whose partitions are computed when they are needed, again each time unless they are persisted."""

    compute: Callable[[], list[Partition]]
    number: int
    """Number of partitions."""
    seed: random.Random
    is_persisted: bool = False
    is_released: bool = False
    """Spark would compute its rows again."""
    kept: dict[int, Partition] = field(default_factory=dict)
    """Persisted partitions that no executor has lost, by number."""

    @property
    def partitions(self) -> list[Partition]:
        if len(self.kept) == self.number:
            return [self.kept[number] for number in range(self.number)]
        found = [self.kept.get(number, each) for number, each in enumerate(self.compute())]
        if self.is_persisted:
            self.kept = dict(enumerate(found))
        return found

    def __getitem__(self, name: str) -> Column:
        assert name in Payload._fields
        return Column(name)

    def filter(self, test: RowFilter) -> InProcessFrame:
        assert not self.is_released
        return self.transform(lambda rows: [row for row in rows if test.matches(row)])

    def unionAll(self, other: InProcessFrame) -> InProcessFrame:  # noqa: N802 - name in Spark
        return InProcessFrame(lambda: [*self.partitions, *other.partitions], self.number + other.number, self.seed)

    def repartition(self, number: int, *columns: str) -> InProcessFrame:
        """Put the rows of each bucket into one partition, in random order; a partition may have several."""
        assert columns in ((), ("bucket",))
        salt = self.seed.randrange(1 << 30)

        def compute() -> list[Partition]:
            rows = [row for each in self.partitions for row in each]
            parts: list[Partition] = [[] for _ in range(number)]
            for row in rows:
                parts[hash((row.bucket if columns else row, salt)) % number].append(row)
            for each in parts:
                self.seed.shuffle(each)
            return parts

        return InProcessFrame(compute, number, self.seed)

    def sortWithinPartitions(self, *columns: str) -> InProcessFrame:  # noqa: N802 - name in Spark
        return self.transform(lambda rows: sorted(rows, key=lambda row: [getattr(row, name) for name in columns]))

    def selectExpr(self, *expressions: str) -> InProcessFrame:  # noqa: N802 - name in Spark
        """Compute the number of another bucket. Fetched files are already payloads."""
        if expressions == ("name AS tag", "CAST(0 AS INT) AS bucket", "content AS payload"):
            return self
        tag, bucket, payload = expressions
        found = re.fullmatch(r"bucket % (\d+) AS bucket", bucket)
        assert found
        assert (tag, payload) == ("tag", "payload")
        count = int(found[1])
        return self.transform(lambda rows: [Payload(row.tag, row.bucket % count, row.payload) for row in rows])

    def transform(self, change: Callable[[Partition], Partition]) -> InProcessFrame:
        """Return the frame with changed partitions."""
        return InProcessFrame(lambda: list(map(change, self.partitions)), self.number, self.seed)


@dataclass
class InProcessJobs:
    """Run tasks like `Jobs`: pickled, with Arrow batches as input and output."""

    number: int
    parallelism: int = 2
    session: None = None
    persisted: list[InProcessFrame] = field(default_factory=list)
    before_job: Callable[[InProcessJobs, int], None] = lambda jobs, number: None
    """Called before each job with its number, from 0."""

    def __post_init__(self) -> None:
        self.seed = random.Random(self.number)
        self._jobs = 0

    def frame(self, rows: list[Payload], partitions: int | None = None) -> InProcessFrame:
        found = InProcessFrame(lambda: [_convert_through_arrow(rows)], 1, self.seed)
        return found if partitions is None else self.partition(found, partitions)

    def partition(self, rows: InProcessFrame, count: int) -> InProcessFrame:
        """Hash the numbers of buckets, as Spark before 4.1 does."""
        return rows.repartition(count, "bucket")

    def run(self, rows: InProcessFrame, task: Callable[[Iterable[Payload]], Iterator[Payload]]) -> InProcessFrame:
        pickled = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)
        found = rows.transform(lambda part: _convert_through_arrow(pickle.loads(pickled)(_convert_through_arrow(part))))
        found.is_persisted = True
        self.persisted.append(found)
        self.before_job(self, self._jobs)
        self._jobs += 1
        return found

    def lose_partitions(self, share: float) -> None:
        """Lose each persisted partition with a probability, as if its executor had ended."""
        for frame in self.persisted:
            frame.kept = {number: rows for number, rows in frame.kept.items() if self.seed.random() >= share}

    def rows(self, frame: InProcessFrame, partitions: int) -> Iterator[Payload]:
        for each in frame.partitions:
            yield from each

    collect_results = fetch = rows

    def repeat_once(self, run: Callable[[], Any]) -> Any:
        return run()

    def compute_again(self) -> None:
        self.lose_partitions(1)

    def unpersist_frame(self, frame: InProcessFrame) -> None:
        frame.is_released, frame.is_persisted, frame.kept = True, False, {}
        self.persisted = [each for each in self.persisted if each is not frame]


def _build_fetch(jobs: InProcessJobs) -> Callable[[Any, str, dict[str, int], int], Any]:
    """Return a replacement of `fetch` that reads log files into rows of these jobs."""

    def fetch(session: None, uri: str, wanted: dict[str, int], limit: int) -> Any:
        folder = Path(uri) / "_delta_log"
        rows = [Payload(name, 0, (folder / name).read_bytes()) for name, size in wanted.items() if size]
        frame = InProcessFrame(lambda: [rows], 1, jobs.seed).repartition(3)
        return Fetch(frame, frozenset(wanted), frozenset(name for name, size in wanted.items() if not size), {})  # type: ignore[arg-type]

    return fetch


def _convert_through_arrow(rows: Iterable[Payload]) -> list[Payload]:
    return list(batches_to_payloads(payloads_to_batches(rows)))
