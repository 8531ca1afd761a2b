"""Save the results of Spark jobs in a directory, so that another run can resume after the last completed job.

Jobs are numbered in the order of the run. The result of a job is written as Parquet, followed by a marker that names
it. A job counts as done if its marker can be read. Each process writes to its own subdirectory, because the
Spark of a killed process may continue for a while. Nothing is ever deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec

from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.report.report_types import Report
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.resume.resume_folder import KEY_FILE, require_private_directory
from deltaspec.validation.resume.resume_key import BUCKET_COUNT, Key, check_key, to_bytes
from deltaspec.validation.spark.bucket_counts import BucketCounts
from deltaspec.validation.spark.jobs import Jobs, translating_spark_errors
from deltaspec.validation.spark.payloads import FAILED, SCHEMA, Payload
from deltaspec.wire.storage.interface import Store, redact_uri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEY, _DONE, _REPORT, _PROBE = "key", "done", "report", "probe"
_GLOB = re.compile(r"[*?\[\]{}\\]")
_OPTIONS = {
    "compression": "none",  # payloads are compressed
    "parquet.block.size": str(32 << 20),
    "parquet.page.size.row.check.min": "1",  # rows are large: by default, sizes are checked after 100 rows
    "parquet.page.size.row.check.max": "8",
}


class SavedJobs:
    """The completed jobs of a run. A `JobStore`."""

    def __init__(self, jobs: Jobs, place: str, store: Store) -> None:
        """Read the key of a state, if the directory has one.

        Args:
            jobs: of the run. Their session reads and writes the directory.
            place: path of a local directory, or URI of a directory that all executors can write to.
            store: the table, in which nothing may be written.

        Raises:
            InvalidUsage: the directory is in the table, or cannot be used for a state.
        """
        self._jobs = jobs
        self._shown = redact_uri(place)
        self._place = _uri_of(place, self._shown, store)
        self._mine = f"run-{uuid4().hex}"
        self._steps = self._attempts = 0
        self._done: dict[str, dict[str, Any]] = {}
        keys = self.read_payloads(f"{self._place}/{_KEY}")
        self.key = keys[0].payload if keys else None
        """Key of the run that saved the state; None if there is no state."""

    @property
    def bucket_counts(self) -> BucketCounts | None:
        """Numbers of buckets of the run that saved the state; None if there is no state."""
        try:
            return None if self.key is None else BucketCounts.from_key(msgspec.json.decode(self.key)[BUCKET_COUNT])
        except (msgspec.DecodeError, LookupError, TypeError, ValueError):
            return None  # `check_key` reports it

    def begin(self, key: Key, *, resume: bool) -> None:
        """Continue from the state, or begin one.

        Raises:
            InvalidUsage: there is a state and `resume` is false, the state belongs to another run, or executors do not
                share the directory.
        """
        if self.key is not None and not resume:
            raise InvalidUsage(
                f"{self._shown}: contains a state; add --resume to continue from it, or name another directory"
            )
        if self.key is not None:
            check_key(self._shown, self.key, key)
        self._probe()
        if self.key is None:
            self._write(self._jobs.frame([Payload(_KEY, 0, to_bytes(key))], 1), _KEY)
        else:
            for row in self.read_payloads(f"{self._place}/run-*/*/{_DONE}"):
                self._done.setdefault(row.tag, msgspec.json.decode(row.payload))

    def run_or_load(self, compute: Callable[[], DataFrame]) -> DataFrame:
        """Return the saved result of the next job, and run the job if there is none.

        Raises:
            SparkFailed: the job failed.
        """
        self._steps += 1
        return self._run_or_load(f"{self._steps:04}", compute)

    @property
    def report(self) -> Report | None:
        """Report of the finished run; None if it has not finished."""
        if _REPORT not in self._done:
            return None
        (row,) = self._jobs.rows(self._run_or_load(_REPORT, self._nothing), 1)
        return msgspec.json.decode(row.payload, type=Report)

    def save_report(self, report: Report) -> None:
        """Save the report of a finished run."""
        row = Payload(_REPORT, 0, msgspec.json.encode(report))
        self._run_or_load(_REPORT, lambda: self._jobs.frame([row], 1))

    def _run_or_load(self, name: str, compute: Callable[[], DataFrame]) -> DataFrame:
        if name not in self._done:
            frame = compute()
            rows = self._jobs.repeat_once(lambda: self._write_rows(frame, name))
            found = self._frame(f"{self._place}/{rows}")
            count, failed = self._counts(found)
            if failed:
                list(self._jobs.rows(found.filter(found["tag"] == FAILED), 1))  # raises the error
            marker = {"rows": rows, "count": count}
            done = self._jobs.frame([Payload(name, 0, msgspec.json.encode(marker))], 1)
            self._write(done, f"{self._mine}/{name}/{_DONE}")
            self._done[name] = marker
            return found
        marker = self._done[name]
        with translating_spark_errors():
            found = self._frame(f"{self._place}/{marker['rows']}")
        if self._counts(found)[0] != marker["count"]:
            raise self.damaged_error()
        return found

    def damaged_error(self) -> InvalidUsage:
        """Return the error for a state whose rows are missing or different."""
        return InvalidUsage(f"{self._shown}: its state is damaged; name another directory")

    def _write_rows(self, frame: DataFrame, name: str) -> str:
        """Write the result of a job, and return its location: a new one if the job is repeated."""
        self._attempts += 1
        rows = f"{self._mine}/{name}/rows-{self._attempts}"
        self._write(frame, rows)
        return rows

    def _counts(self, frame: DataFrame) -> tuple[int, int]:
        """Count the rows, and those that report a failed task."""
        with translating_spark_errors():
            ((rows, failed),) = frame.selectExpr("count(*)", f"count_if(tag = '{FAILED}')").collect()
        return int(rows), int(failed)

    def _nothing(self) -> DataFrame:
        raise AssertionError("the report is saved")

    def _probe(self) -> None:
        """Check that all executors share the directory: otherwise what they write is lost."""
        rows = [Payload(_PROBE, number, b"") for number in range(self._jobs.parallelism)]
        try:
            self._write(self._jobs.frame(rows, len(rows)), f"{self._mine}/{_PROBE}")
        except DeltaspecError as fault:
            raise InvalidUsage(f"{self._shown}: the state cannot be written: {fault}") from fault
        if len(self.read_payloads(f"{self._place}/{self._mine}/{_PROBE}")) < len(rows):
            raise InvalidUsage(
                f"{self._shown}: executors do not share this directory; name one that all of them can write to"
            )

    def _frame(self, uri: str) -> DataFrame:
        return self._jobs.session.read.schema(SCHEMA).parquet(uri)

    def read_payloads(self, uri: str) -> list[Payload]:
        """Read a few rows; none if there is nothing at the URI."""
        from pyspark.errors import AnalysisException

        with translating_spark_errors():
            try:
                found = self._frame(uri).collect()
            except AnalysisException as fault:
                if "PATH_NOT_FOUND" in str(fault):
                    return []
                raise
        return [Payload(row["tag"], row["bucket"], bytes(row["payload"])) for row in found]

    def _write(self, frame: DataFrame, name: str) -> None:
        writer = frame.write.mode("append").options(**_OPTIONS)
        self._jobs.run_jobs(lambda: writer.parquet(f"{self._place}/{name}"))


def _uri_of(place: str, shown: str, store: Store) -> str:
    """Return the URI of the directory for Spark."""
    if _GLOB.search(place):
        raise InvalidUsage(f"{shown}: Spark reads this as a pattern; name a directory without any of * ? [ ] {{ }} \\")
    is_file = place.startswith("file:")
    if is_file or "://" not in place:
        folder = require_private_directory(urlsplit(place).path if is_file else place, store)
        names = {each for each in os.listdir(folder) if not each.startswith((".", "run-"))}
        if names - {_KEY} or KEY_FILE in names:
            raise InvalidUsage(
                f"{shown}: contains files that belong to no state of the Spark backend; name an empty directory"
            )
        return f"file://{folder}"
    require_outside_table(place, store.root)
    return place.rstrip("/")
