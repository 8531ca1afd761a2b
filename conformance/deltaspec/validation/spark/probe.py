"""Looks whether a run on Spark can begin: this machine, a session, the executors, and the way to a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from deltaspec import __version__
from deltaspec.errors import InvalidUsage
from deltaspec.report.diagnosis import Check
from deltaspec.validation.spark import environment
from deltaspec.validation.spark.environment import INSTALL, is_connect
from deltaspec.validation.spark.log_fetch import build_hadoop_uri
from deltaspec.validation.spark.session import find_cause_line, is_remote, open_session
from deltaspec.wire.storage.interface import LOG_DIRECTORY, redact_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("msgspec", "obstore", "polars", "pyarrow", "pyroaring", "sqlglot")
"""Modules that steps import on executors."""
_CONNECT_TASKS = 8
_MOST_TASKS = 64
SHIP = (
    f"install deltaspec {__version__} in the Python of the executors (PYSPARK_PYTHON), or ship it with an environment"
    " (--archives env.tar.gz#env)"
)


def check_spark(master: str | None, table: str | None = None) -> Iterator[Check]:
    """Every check in turn, up to one that leaves the next ones nothing to look at.

    Args:
        master: as `session.start` takes it.
        table: path or URI of a table's root, which the executors are to reach.
    """
    lacking = environment.find_pyspark_problem()
    yield (
        Check("problem", "pyspark", lacking)
        if lacking
        else Check("ok", "pyspark", str(environment.get_pyspark_version()))
    )
    if lacking:
        return
    for name, lacking in (
        ("pandas", environment.find_pandas_problem()),
        ("cluster", environment.find_cluster_problem(master)),
    ):
        if lacking:
            yield Check("problem", name, lacking)
            return
    yield (beside := _connect() if is_connect(master) else _java())
    if beside.status == "problem":
        return
    try:
        with open_session(master) as session:
            yield Check("ok", "session", f"Spark {session.version} at {_place(session)}")
            yield from check_session(session, table)
    except InvalidUsage as fault:
        yield Check("problem", "session", str(fault))


def check_session(session: SparkSession, table: str | None = None) -> Iterator[Check]:
    """What a session's executors have, whether they take Arrow batches, and which way they reach a table."""
    try:
        found = executors(session, table)
    except Exception as fault:  # noqa: BLE001 - whatever Spark says
        yield Check("problem", "executors", f"run no Python: {find_cause_line(str(fault))}", _todo(str(fault)))
        return
    checks = list(_packages(found))
    yield from checks
    if any(each.status == "problem" for each in checks):
        return
    yield _arrow(session)
    if table is not None:
        yield _reach(session, table, found)


def _connect() -> Check:
    lacking = environment.find_client_problem()
    return Check("problem", "Connect", lacking) if lacking else Check("ok", "Connect", "its packages are there")


def _java() -> Check:
    lacking = environment.find_java_problem()
    if lacking is not None:
        return Check("problem", "Java", lacking)
    place = environment.find_java()
    found = None if place is None else environment.get_java_release(place)
    known = environment.list_java_releases(environment.get_pyspark_version() or "")
    if found is None or found in known:
        return Check("ok", "Java", f"{found or 'that of spark-submit'}" + (f" ({place})" if place else ""))
    releases = " or ".join(map(str, known))
    return Check(
        "note", "Java", f"{found} ({place}); Spark {environment.get_pyspark_version()} is tested with {releases}"
    )


def _place(session: SparkSession) -> str:
    if is_remote(session):
        return "a server of Spark Connect"
    context = session.sparkContext
    return f"{context.master}, {context.defaultParallelism} tasks at a time"


# the executors


def executors(session: SparkSession, table: str | None = None) -> list[dict[str, Any]]:
    """What tasks tell of the Python they run in, one entry for each that differs from the others.

    Which executor takes a task is Spark's to say: where there are many, not each of them may be asked.
    """
    from pyspark.sql.functions import udf

    tasks = _CONNECT_TASKS
    if not is_remote(session):
        tasks = max(1, min(session.sparkContext.defaultParallelism, _MOST_TASKS))
    tell = udf(_teller(PACKAGES, table), "string", useArrow=False)
    rows = session.range(0, tasks, 1, tasks).select(tell("id").alias("told")).collect()
    return [json.loads(text) for text in sorted({row["told"] for row in rows})]


def _teller(packages: tuple[str, ...], table: str | None) -> Callable[[int], str]:
    """What a task runs. It travels by value, and so needs nothing of deltaspec where it arrives."""

    def tell(_: int) -> str:
        import importlib
        import json
        import platform
        import socket

        found: dict[str, Any] = {"host": socket.gethostname(), "python": platform.python_version(), "packages": {}}
        for name in ("deltaspec", *packages):
            try:
                found["packages"][name] = str(getattr(importlib.import_module(name), "__version__", "of no version"))
            except Exception:  # noqa: BLE001 - not there, or broken
                found["packages"][name] = None
        if table is not None and all(found["packages"].values()):
            try:
                storage = importlib.import_module("deltaspec.wire.storage.factory")
                found["listed"] = len(storage.open_store(table).list_log())
            except Exception as fault:  # noqa: BLE001 - told as it is
                found["fault"] = " ".join(str(fault).split())[:300]
        return json.dumps(found, sort_keys=True)

    return tell


def _packages(found: list[dict[str, Any]]) -> Iterator[Check]:
    """What executors lack of deltaspec and of what it needs there."""
    hosts = sorted({each["host"] for each in found})
    shown = ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")
    versions = sorted({str(each["packages"]["deltaspec"]) for each in found} - {"None", __version__})
    if any(each["packages"]["deltaspec"] is None for each in found):
        where = next(each["host"] for each in found if each["packages"]["deltaspec"] is None)
        yield Check("problem", "executors", f"cannot import deltaspec ({where})", SHIP)
    elif versions:
        told = f"have deltaspec {', '.join(versions)}, and this is {__version__}"
        yield Check("problem", "executors", told, SHIP)
    lacking = sorted({name for each in found for name in PACKAGES if each["packages"][name] is None})
    if lacking:
        todo = f"pip install {' '.join(lacking)}, in the Python of the executors (PYSPARK_PYTHON)"
        yield Check("problem", "executors", f"cannot import {', '.join(lacking)}", todo)
    elif not versions and all(each["packages"]["deltaspec"] for each in found):
        python = ", ".join(sorted({each["python"] for each in found}))
        yield Check("ok", "executors", f"deltaspec {__version__} and its packages on Python {python} ({shown})")


def _arrow(session: SparkSession) -> Check:
    """Whether a function over Arrow batches runs."""

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    try:
        number = session.range(10).mapInArrow(same, "id long").count()
    except Exception as fault:  # noqa: BLE001 - whatever Spark says
        return Check("problem", "mapInArrow", find_cause_line(str(fault)), INSTALL)
    return Check("ok", "mapInArrow", f"{number} rows went through a function on the executors")


# the table


def _reach(session: SparkSession, table: str, found: list[dict[str, Any]]) -> Check:
    """By which way the executors come to a table."""
    shown = redact_uri(table)
    faults = sorted({each["fault"] for each in found if "fault" in each})
    if not faults:
        number = max(each["listed"] for each in found)
        return Check("ok", "table", f"executors list {number:,} files of the log of {shown} by their own storage")
    try:
        reader = session.read.format("binaryFile").option("pathGlobFilter", "*.json")
        files = reader.load(f"{build_hadoop_uri(table).rstrip('/')}/{LOG_DIRECTORY}").select("path").limit(1).count()
    except Exception as fault:  # noqa: BLE001 - whatever Spark says
        said = str(fault).replace(build_hadoop_uri(table), shown).replace(table, shown)
        return Check("problem", "table", f"{faults[0]}; by Spark: {find_cause_line(said)}", _todo(said, session))
    if not files:
        return Check("problem", "table", f"{faults[0]}; Spark finds no commit there either")
    told = f"executors do not reach {shown} by their own storage ({faults[0]}); Spark does, and brings the log's files"
    return Check("note", "table", told, "give the executors the environment variables of the store, if they are to")


def _todo(said: str, session: SparkSession | None = None) -> str | None:
    """What helps against a fault of Spark's, where that is known."""
    if "PYTHON_VERSION_MISMATCH" in said or "different minor version" in said:
        return "let PYSPARK_PYTHON name a Python of the same minor version as this one on every executor"
    if "Cannot run program" in said:
        return "let PYSPARK_PYTHON name a Python that is there on every executor"
    version = get_hadoop_version(session)
    for words, artifact in _JARS.items():
        if words in said:
            return f"start Spark with --packages org.apache.hadoop:{artifact}:{version or 'VERSION'}"
    if re.search(r'No FileSystem for scheme "?(s3|s3n)\b', said):
        return "write s3a:// instead"
    return None


_JARS = {"S3AFileSystem": "hadoop-aws", "Abfs": "hadoop-azure", "SecureAzureBlob": "hadoop-azure"}
"""Words of a fault, and the jar of Hadoop that lacks."""


def get_hadoop_version(session: SparkSession | None) -> str | None:
    """That of the Hadoop a classic session runs with, which its further jars have to equal."""
    with suppress(Exception):
        gateway: Any = session
        return str(gateway._jvm.org.apache.hadoop.util.VersionInfo.getVersion())
    return None
