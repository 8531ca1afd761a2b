"""Keeps what the jobs of a run give in a directory that Spark writes, so that another run goes on after the last one.

Jobs have numbers, in the order of the run. What one gives is written as Parquet, and then a marker that names it: a job
counts as done once its marker can be read. Every process writes below a name of its own, for the Spark of one that was
killed may be at work a while longer; nothing is ever deleted.
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
    "parquet.page.size.row.check.min": "1",  # rows are large: else a hundred are held before their length is asked for
    "parquet.page.size.row.check.max": "8",
}


class SavedJobs:
    """The jobs of a run that are done, by their numbers."""

    def __init__(self, jobs: Jobs, place: str, store: Store) -> None:
        """Look what a directory holds.

        Args:
            jobs: of the run; their session reads and writes it.
            place: path of a local directory, or URI of one that all executors reach.
            store: the table, in which nothing is kept.

        Raises:
            InvalidUsage: it lies in the table, or is no place to keep anything.
        """
        self._jobs = jobs
        self._shown = redact_uri(place)
        self._place = _uri_of(place, self._shown, store)
        self._mine = f"run-{uuid4().hex}"
        self._steps = 0
        self._done: dict[str, dict[str, Any]] = {}
        keys = self._read(f"{self._place}/{_KEY}")
        self.key = keys[0].payload if keys else None
        """Of the run whose state is there; None where there is none."""

    @property
    def buckets(self) -> int | None:
        """How many shares the run has whose state is there."""
        try:
            return None if self.key is None else int(msgspec.json.decode(self.key)[BUCKET_COUNT])
        except (msgspec.DecodeError, LookupError, TypeError, ValueError):
            return None  # which the check of the key tells

    def begin(self, key: Key, *, resume: bool) -> None:
        """Go on with the state, or begin one.

        Raises:
            InvalidUsage: there is one, and it is not to be gone on with, or is that of another run; or not all
                executors write to one place.
        """
        if self.key is not None and not resume:
            raise InvalidUsage(
                f"{self._shown}: holds a state; add --resume to go on with it, or name another directory"
            )
        if self.key is not None:
            check_key(self._shown, self.key, key)
        self._probe()
        if self.key is None:
            self._write(self._jobs.frame([Payload(_KEY, 0, to_bytes(key))], 1), _KEY)
        else:
            for row in self._read(f"{self._place}/run-*/*/{_DONE}"):
                self._done.setdefault(row.tag, msgspec.json.decode(row.payload))

    def run_or_load(self, give: Callable[[], DataFrame]) -> DataFrame:
        """What the next job gives, as it was written; the job is only run if that was not done.

        Raises:
            SparkFailed: a job did not end.
        """
        self._steps += 1
        return self._kept(f"{self._steps:04}", give)

    @property
    def report(self) -> Report | None:
        """What the run gave that has ended; None of one that has not."""
        if _REPORT not in self._done:
            return None
        (row,) = self._jobs.rows(self._kept(_REPORT, self._nothing), 1)
        return msgspec.json.decode(row.payload, type=Report)

    def save_report(self, report: Report) -> None:
        """Keep what a run gave."""
        row = Payload(_REPORT, 0, msgspec.json.encode(report))
        self._kept(_REPORT, lambda: self._jobs.frame([row], 1))

    def _kept(self, name: str, give: Callable[[], DataFrame]) -> DataFrame:
        if name not in self._done:
            rows = f"{self._mine}/{name}/rows"
            self._write(give(), rows)
            found = self._frame(f"{self._place}/{rows}")
            count, failed = self._counts(found)
            if failed:
                list(self._jobs.rows(found.filter(found["tag"] == FAILED), 1))  # raises what failed
            marker = {"rows": rows, "count": count}
            told = self._jobs.frame([Payload(name, 0, msgspec.json.encode(marker))], 1)
            self._write(told, f"{self._mine}/{name}/{_DONE}")
            self._done[name] = marker
            return found
        marker = self._done[name]
        with translating_spark_errors():
            found = self._frame(f"{self._place}/{marker['rows']}")
        if self._counts(found)[0] != marker["count"]:
            raise InvalidUsage(f"{self._shown}: its state is damaged; name another directory")
        return found

    def _counts(self, frame: DataFrame) -> tuple[int, int]:
        """How many rows there are, and how many of them tell of a task that failed."""
        with translating_spark_errors():
            ((rows, failed),) = frame.selectExpr("count(*)", f"count_if(tag = '{FAILED}')").collect()
        return int(rows), int(failed)

    def _nothing(self) -> DataFrame:
        raise AssertionError("is kept")

    def _probe(self) -> None:
        """Refuse a place that is another one on every machine: what executors write there is lost."""
        rows = [Payload(_PROBE, number, b"") for number in range(self._jobs.parallelism)]
        try:
            self._write(self._jobs.frame(rows, len(rows)), f"{self._mine}/{_PROBE}")
        except DeltaspecError as fault:
            raise InvalidUsage(f"{self._shown}: no state can be written there: {fault}") from fault
        if len(self._read(f"{self._place}/{self._mine}/{_PROBE}")) < len(rows):
            raise InvalidUsage(f"{self._shown}: is not the same place for all executors; name one that they share")

    def _frame(self, uri: str) -> DataFrame:
        return self._jobs.session.read.schema(SCHEMA).parquet(uri)

    def _read(self, uri: str) -> list[Payload]:
        """A few rows; none where there is nothing."""
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
        with translating_spark_errors():
            frame.write.mode("append").options(**_OPTIONS).parquet(f"{self._place}/{name}")


def _uri_of(place: str, shown: str, store: Store) -> str:
    """The directory as Spark is told of it."""
    if _GLOB.search(place):
        raise InvalidUsage(f"{shown}: is read as a pattern by Spark; name a directory without any of * ? [ ] {{ }} \\")
    is_file = place.startswith("file:")
    if is_file or "://" not in place:
        folder = require_private_directory(urlsplit(place).path if is_file else place, store)
        names = {each for each in os.listdir(folder) if not each.startswith((".", "run-"))}
        if names - {_KEY} or KEY_FILE in names:
            raise InvalidUsage(f"{shown}: holds files that are no state of Spark's; name an empty directory")
        return f"file://{folder}"
    require_outside_table(place, store.root)
    return place.rstrip("/")
