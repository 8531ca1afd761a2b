"""Run tasks over payloads on every partition of a Spark frame. Works with classic Spark and Spark Connect."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import pyarrow as pa

from deltaspec.build import describe_build
from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.exit_codes import ExitCode
from deltaspec.validation.spark.checkpoint_directory import delete_checkpoint, has_checkpoint_directory
from deltaspec.validation.spark.executor_watch import find_cancellation_reason, watch_executors
from deltaspec.validation.spark.interrupts import InterruptibleJobs
from deltaspec.validation.spark.log_fetch import list_settings
from deltaspec.validation.spark.payloads import FAILED, SCHEMA, Payload, payloads_to_arrow
from deltaspec.validation.spark.session_copies import change_settings, copied_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

T = TypeVar("T")
Task = Callable[[Iterable[Payload]], Iterator[Payload]]
"""What runs on a partition. It is pickled with all its attributes."""


class SparkFailed(DeltaspecError):
    """A Spark job failed. The message has the cause that Spark reports."""

    exit_code = ExitCode.INCOMPLETE
    is_final = False
    """Whether it would fail again."""


class TaskFailed(Exception):
    """A task raised an unexpected exception. The message is its traceback."""


class ExecutorMismatch(InvalidUsage):
    """Executors have other packages than the driver."""


class JobStore(Protocol):
    """Saves the results of jobs, so that a later run does not repeat them."""

    def run_or_load(self, compute: Callable[[], DataFrame]) -> DataFrame:
        """Return the saved result of the next job, and run the job if there is none."""
        ...

    def damaged_error(self) -> InvalidUsage:
        """Return the error for saved rows that are missing or different."""
        ...


class Jobs:
    """Runs tasks in a copy of a session, so that its settings do not change. Call `close` at the end."""

    def __init__(
        self,
        session: SparkSession,
        parallelism: int | None = None,
    ) -> None:
        """Copy a session.

        Args:
            session: classic or Connect.
            parallelism: number of tasks that run at once; None takes it from the session.
        """
        self._stack = ExitStack()
        self._stack.enter_context(watch_executors(session))
        own = self._stack.enter_context(copied_session(session))
        self.session = own or session
        """The copy; the session itself if Spark cannot copy it."""
        self._interruptible = InterruptibleJobs(self.session)
        self._stack.enter_context(self._interruptible.tag_jobs())
        self.limits_batches = own is not None
        """Batches for Python are small enough for large log files."""
        if own is not None:
            change_settings(own, list_settings(own))
        self.parallelism = parallelism or compute_parallelism(session)
        self._checkpoints = has_checkpoint_directory(session)
        version = tuple(int(each) for each in re.findall(r"\d+", session.version)[:2])
        self._accepts_arrow = version >= (4, 0)
        self._places_rows = version >= (4, 1)
        self._persisted: dict[int, DataFrame] = {}
        self.job_store: JobStore | None = None
        """Saves the results of jobs for a run that resumes; None saves nothing."""

    def close(self) -> None:
        """Cancel jobs that still run, unpersist all frames, and leave the copy of the session."""
        self._interruptible.cancel()
        for frame in list(self._persisted.values()):
            self.unpersist_frame(frame)
        self._stack.close()

    def frame(self, rows: list[Payload], partitions: int | None = None) -> DataFrame:
        """Create a Spark frame from rows of the driver."""
        table: Any = payloads_to_arrow(rows) if self._accepts_arrow else [tuple(row) for row in rows]
        frame = self.session.createDataFrame(table, SCHEMA)
        return frame if partitions is None else self.partition(frame, partitions)

    def partition(self, rows: DataFrame, count: int) -> DataFrame:
        """Put the rows of bucket i into partition i modulo `count`.

        Spark before 4.1 can only hash the number again, which leaves some partitions empty and puts several buckets
        into others.
        """
        if self._places_rows and hasattr(rows, "repartitionById"):
            return rows.repartitionById(count, "bucket")
        return rows.repartition(count, "bucket")

    def run(self, rows: DataFrame, task: Task) -> DataFrame:
        """Run a task on every partition. The result is kept until `unpersist_frame`, or saved in the job store.

        If the Spark context has a checkpoint directory, the result is kept there, because it outlives executors.
        Otherwise it is persisted on the disks of executors.
        """
        pickled = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)
        found = rows.mapInArrow(_build_job_function(pickled), SCHEMA)
        if self.job_store is not None:
            return self.job_store.run_or_load(lambda: found)
        kept = self.repeat_once(lambda: self.run_jobs(found.checkpoint)) if self._checkpoints else _persist(found)
        self._persisted[id(kept)] = kept
        return kept

    def repeat_once(self, run: Callable[[], T]) -> T:
        """Run jobs, and run them once more if one fails: Spark gives up some jobs that lose executors.

        Raises:
            SparkFailed: a job failed twice.
        """
        try:
            return run()
        except SparkFailed as fault:
            if fault.is_final:
                raise
        return run()

    def run_jobs(self, run: Callable[[], T]) -> T:
        """Run jobs, which an interrupt cancels.

        Raises:
            SparkFailed: a job failed.
        """
        with translating_spark_errors():
            return self._interruptible.wait_for(run)

    def compute_again(self) -> None:
        """Forget what executors keep, so that it is computed again. A checkpoint directory keeps its rows."""
        if not self._checkpoints:
            for frame in self._persisted.values():
                frame.unpersist(blocking=True)
                _persist(frame)

    def collect_results(self, frame: DataFrame, partitions: int) -> Iterator[Payload]:
        """Compute all partitions in parallel, and yield the rows, of which the driver has two batches at a time.

        One job computes the partitions, and one fetches each `BATCH_OF_RESULTS` bytes of payloads. A few partitions
        are collected by one job.

        Args:
            frame: small rows of a kept result.
            partitions: number of partitions of the result.

        Raises:
            SparkFailed: a job failed.
        """
        if partitions <= MAX_COLLECTED_PARTITIONS:
            yield from self.fetch(frame, 1)
            return
        ((size,),) = self.run_jobs(frame.selectExpr("coalesce(sum(length(payload)), 0)").collect)
        batches = int(size) // BATCH_OF_RESULTS + 1
        # the hash of the payload is the same if Spark repeats a task
        yield from self.fetch(frame if batches == 1 else frame.repartition(batches, "payload"), batches)

    def rows(self, frame: DataFrame, partitions: int) -> Iterator[Payload]:
        """Yield the rows of a frame. Many partitions are fetched one at a time, each by a job.

        Raises:
            SparkFailed: a job failed.
        """
        return self.fetch(frame, 1 if partitions <= MAX_COLLECTED_PARTITIONS else partitions)

    def fetch(self, frame: DataFrame, batches: int) -> Iterator[Payload]:
        """Yield the rows of a frame, each partition by a job, or all at once if there is one.

        The driver has the rows of two partitions at a time.

        Raises:
            SparkFailed: a job failed.
        """
        if batches == 1:
            found: Iterable[Row] = self.run_jobs(frame.collect)
        else:
            found = self.run_jobs(lambda: frame.toLocalIterator(prefetchPartitions=True))
        with translating_spark_errors():
            for row in found:
                if row["tag"] == FAILED:
                    raise _build_task_error(bytes(row["payload"]).decode())
                yield Payload(row["tag"], row["bucket"], bytes(row["payload"]))

    def unpersist_frame(self, frame: DataFrame) -> None:
        """Release the kept rows of a frame."""
        if self._persisted.pop(id(frame), None) is not None:
            with suppress(Exception):  # the session may have ended
                if self._checkpoints:
                    delete_checkpoint(frame)
                else:
                    frame.unpersist()


def _persist(frame: DataFrame) -> DataFrame:
    from pyspark.storagelevel import StorageLevel

    return frame.persist(StorageLevel.DISK_ONLY)


MAX_COLLECTED_PARTITIONS = 64
"""Number of partitions up to which all rows are collected at once, without a job that measures them first."""
BATCH_OF_RESULTS = 64 << 20
"""Bytes of payloads that one job brings to the driver."""


def _build_job_function(task: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Build the function of a job. It is sent by value, because executors may have another build, or none.

    It never raises, because Spark would repeat the task and print Java stack traces; failures are rows.
    """
    build = describe_build()

    def on_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle
        import traceback

        import pyarrow as pa

        try:
            try:
                from deltaspec.build import describe_build as describe_own_build
            except ModuleNotFoundError:  # an older release, or none
                from deltaspec.version import __version__ as own_build
            else:
                own_build = describe_own_build()
            if own_build != build:
                raise ImportError(f"executors have deltaspec {own_build}, the driver {build}:")
            from deltaspec.validation.spark.payloads import batches_to_payloads, payloads_to_batches

            loaded: Any = pickle.loads(task)
            yield from payloads_to_batches(loaded(batches_to_payloads(batches)))
        except Exception:  # noqa: BLE001 - as above
            failure = {"tag": ["failed"], "bucket": [0], "payload": [traceback.format_exc().encode()]}
            types = [("tag", pa.string()), ("bucket", pa.int32()), ("payload", pa.binary())]
            yield pa.RecordBatch.from_pydict(failure, schema=pa.schema(types))
            for _ in batches:  # a worker that ends before it has read its input may crash the JVM
                pass

    return on_batches


def _build_task_error(text: str) -> Exception:
    """Build the error for the traceback of a task."""
    mismatch = _find_mismatch(text)
    return TaskFailed(text) if mismatch is None else ExecutorMismatch(mismatch)


def compute_parallelism(session: SparkSession) -> int:
    """Return the number of tasks that run at once, according to the session."""
    from deltaspec.validation.spark.session import is_remote

    if not is_remote(session):
        return max(1, int(session.sparkContext.defaultParallelism))
    configured = session.conf.get("spark.default.parallelism", None)
    return max(1, int(configured)) if configured else _CONNECT_PARALLELISM


_CONNECT_PARALLELISM = 8
"""Number of tasks if a Spark Connect server does not report it."""


@contextmanager
def translating_spark_errors() -> Iterator[None]:
    """Translate exceptions of Spark into one line that names the cause."""
    from pyspark.errors import PySparkException

    try:
        yield
    except DeltaspecError:
        raise
    except PySparkException as fault:
        raise _translate_error(str(fault)) from fault
    except ConnectionError as fault:
        raise _final("the Spark process has ended; see its log") from fault
    except Exception as fault:
        if type(fault).__module__.startswith(("py4j", "grpc")):
            raise _translate_error(str(fault)) from fault
        raise


def _translate_error(text: str) -> DeltaspecError:
    from deltaspec.validation.spark.session import find_cause_line

    mismatch = _find_mismatch(text)
    if mismatch is not None:
        return ExecutorMismatch(mismatch)
    cancelled = find_cancellation_reason(text)
    return SparkFailed(f"a Spark job failed: {find_cause_line(text)}") if cancelled is None else _final(cancelled)


def _final(message: str) -> SparkFailed:
    """Build the error for a failure that a repetition would not change."""
    fault = SparkFailed(message)
    fault.is_final = True
    return fault


def _find_mismatch(text: str) -> str | None:
    """Describe what executors lack, or have in another release, from an error of Spark."""
    absent = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if absent:
        package = absent[1].partition(".")[0]
        return (
            f"executors do not have {package}: install deltaspec in the Python that PYSPARK_PYTHON names when the "
            "session starts; see `deltaspec doctor --spark`"
        )
    other = re.search(r"ImportError: (executors have deltaspec [^:]+:)", text)
    return f"{other[1]} install the same build" if other else None
