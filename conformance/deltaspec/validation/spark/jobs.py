"""Jobs of Spark: a task over rows of payloads on every partition. Works on classic Spark and on Spark Connect."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from deltaspec import __version__
from deltaspec.errors import DeltaspecError, InvalidUsage
from deltaspec.validation.spark.executor_watch import find_cancellation_reason, watch_executors
from deltaspec.validation.spark.log_fetch import limit_batch_bytes
from deltaspec.validation.spark.payloads import FAILED, SCHEMA, Payload, payloads_to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Task = Callable[[Iterable[Payload]], Iterator[Payload]]
"""What runs on a partition; it is pickled, with whatever it holds."""
_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


class SparkFailed(DeltaspecError):
    """A job of Spark did not end; says what Spark says is the cause."""

    exit_code = 3


class TaskFailed(Exception):
    """A task ran into a defect of the kit; holds its traceback."""


class ExecutorMismatch(InvalidUsage):
    """Executors do not have what the driver has."""


class JobStore(Protocol):
    """Saves the results of jobs, so that a later run does not repeat them."""

    def run_or_load(self, compute: Callable[[], DataFrame]) -> DataFrame:
        """Return the saved result of the next job, and run the job if there is none."""
        ...


class Jobs:
    """Runs tasks in one session, whose settings are as they were once `close` is called."""

    def __init__(
        self,
        session: SparkSession,
        parallelism: int | None = None,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Begin to run jobs.

        Args:
            session: classic or Connect.
            parallelism: how many tasks run at once; what the session tells where None.
            environment: variables that tasks find set, such as those of the clients of object stores. Never shown.
        """
        self.session = session
        self.environment = dict(environment or {})
        self._stack = ExitStack()
        self._stack.enter_context(watch_executors(session))
        self._stack.enter_context(limit_batch_bytes(session))
        self.parallelism = parallelism or compute_parallelism(session)
        self._takes_arrow = int(session.version.partition(".")[0]) >= 4
        self._before = {name: session.conf.get(name, None) for name in _SETTINGS}
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        self._persisted: dict[int, DataFrame] = {}
        self.job_store: JobStore | None = None
        """Saves the results of jobs for a run that resumes; None saves nothing."""

    def close(self) -> None:
        """Give the session back as it was."""
        for frame in list(self._persisted.values()):
            self.unpersist_frame(frame)
        for name, value in self._before.items():
            if value is None:
                self.session.conf.unset(name)
            else:
                self.session.conf.set(name, value)
        self._stack.close()

    def frame(self, rows: list[Payload], partitions: int | None = None) -> DataFrame:
        """Rows of the driver as a frame of Spark."""
        table: Any = payloads_to_arrow(rows) if self._takes_arrow else [tuple(row) for row in rows]
        frame = self.session.createDataFrame(table, SCHEMA)
        return frame if partitions is None else frame.repartition(partitions, "bucket")

    def run(self, rows: DataFrame, task: Task) -> DataFrame:
        """Start a task on every partition; what it gives is computed once, and kept until `forget`, or in a state."""
        from pyspark.storagelevel import StorageLevel

        sent = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)
        found = rows.mapInArrow(_on_batches(sent, self.environment), SCHEMA)
        if self.job_store is not None:
            return self.job_store.run_or_load(lambda: found)
        kept = found.persist(StorageLevel.DISK_ONLY)
        self._persisted[id(kept)] = kept
        return kept

    def rows(self, frame: DataFrame, partitions: int) -> Iterator[Payload]:
        """The rows of a frame: all at once, or where there are many partitions one partition after the other.

        Raises:
            SparkFailed: a job did not end.
        """
        with translating_spark_errors():
            for row in frame.collect() if partitions <= _COLLECTED else frame.toLocalIterator(prefetchPartitions=True):
                if row["tag"] == FAILED:
                    raise _fault_of_task(bytes(row["payload"]).decode())
                yield Payload(row["tag"], row["bucket"], bytes(row["payload"]))

    def unpersist_frame(self, frame: DataFrame) -> None:
        """Let go of what was kept of a frame."""
        if self._persisted.pop(id(frame), None) is not None:
            with suppress(Exception):  # the session may be gone
                frame.unpersist()


_COLLECTED = 64
"""Partitions whose findings the driver takes at once: a job for each takes longer."""


def _on_batches(
    task: bytes, environment: dict[str, str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a job. It travels by value, and imports where it runs: what is there may be of any release."""
    release = __version__

    def on_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import pickle
        import traceback

        from deltaspec import __version__ as there

        if there != release:
            for _ in batches:  # a worker that fails amid large batches may take its JVM with it
                pass
            raise ImportError(f"executors have deltaspec {there}, the driver {release}:")
        from deltaspec.validation.spark.payloads import FAILED, Payload, batches_to_payloads, payloads_to_batches

        os.environ.update(environment)
        try:
            loaded: Any = pickle.loads(task)
            yield from payloads_to_batches(loaded(batches_to_payloads(batches)))
        except Exception:  # noqa: BLE001 - as above
            yield from payloads_to_batches([Payload(FAILED, 0, traceback.format_exc().encode())])
            for _ in batches:
                pass

    return on_batches


def _fault_of_task(text: str) -> Exception:
    """What a traceback of a task comes to."""
    unlike = _unlike(text)
    return TaskFailed(text) if unlike is None else ExecutorMismatch(unlike)


def compute_parallelism(session: SparkSession) -> int:
    """How many tasks run at once, as far as the session tells."""
    from deltaspec.validation.spark.session import is_remote

    if not is_remote(session):
        return max(1, int(session.sparkContext.defaultParallelism))
    told = session.conf.get("spark.default.parallelism", None)
    return max(1, int(told)) if told else _PARALLELISM_OF_SERVERS


_PARALLELISM_OF_SERVERS = 8
"""Tasks at once where a server of Spark Connect does not tell."""


@contextmanager
def translating_spark_errors() -> Iterator[None]:
    """Turn what Spark raises into one line that names the cause."""
    from pyspark.errors import PySparkException

    try:
        yield
    except DeltaspecError:
        raise
    except PySparkException as fault:
        raise _told(str(fault)) from fault
    except ConnectionError as fault:
        raise SparkFailed("Spark's own process has ended; its log tells why") from fault
    except Exception as fault:
        if type(fault).__module__.startswith(("py4j", "grpc")):
            raise _told(str(fault)) from fault
        raise


def _told(text: str) -> DeltaspecError:
    from deltaspec.validation.spark.session import find_cause_line

    unlike = _unlike(text)
    if unlike is not None:
        return ExecutorMismatch(unlike)
    return SparkFailed(find_cancellation_reason(text) or f"Spark gave up: {find_cause_line(text)}")


def _unlike(text: str) -> str | None:
    """What executors lack or have otherwise, by what Spark says of a job."""
    absent = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if absent:
        package = absent[1].partition(".")[0]
        return (
            f"the executors have no {package}: install deltaspec in their Python, which PYSPARK_PYTHON names as a "
            "session starts; `deltaspec doctor --spark` tells more"
        )
    other = re.search(r"ImportError: (executors have deltaspec \S+, the driver \S+:)", text)
    return f"{other[1]} install the same" if other else None
