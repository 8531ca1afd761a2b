"""Check whether a run on Spark can start: this machine, a session, its executors, and access to a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from deltaspec import __version__
from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.report.diagnosis import Check
from deltaspec.validation.spark import environment
from deltaspec.validation.spark.environment import is_connect
from deltaspec.validation.spark.log_fetch import build_hadoop_uri
from deltaspec.validation.spark.session import find_cause_line, is_remote, open_session
from deltaspec.wire.storage.interface import LOG_DIRECTORY, redact_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("msgspec", "obstore", "polars", "pyarrow", "pyroaring", "sqlglot")
"""Modules that executors must be able to import."""
_CONNECT_TASKS = 8
_MAX_TASKS = 64
INSTALL_ON_EXECUTORS = (
    f"install deltaspec {__version__} in the executors' Python (PYSPARK_PYTHON), or ship a packed environment"
    " (--archives env.tar.gz#env)"
)


def check_spark(master: str | None, table: str | None = None) -> Iterator[Check]:
    """Run all checks in order; stop after a problem that makes the next checks impossible.

    Args:
        master: as in `session.start`.
        table: path or URI of a table's root that executors should be able to read.
    """
    problem = environment.find_pyspark_problem()
    yield (
        Check("problem", "pyspark", problem)
        if problem
        else Check("ok", "pyspark", str(environment.get_pyspark_version()))
    )
    if problem:
        return
    for name, problem in (
        ("pandas", environment.find_pandas_problem()),
        ("cluster", environment.find_cluster_problem(master)),
    ):
        if problem:
            yield Check("problem", name, problem)
            return
    yield (platform_check := _check_connect_client() if is_connect(master) else _check_java())
    if platform_check.status == "problem":
        return
    try:
        with open_session(master) as session:
            yield Check("ok", "session", f"Spark {session.version} at {_describe_cluster(session)}")
            yield from check_session(session, table)
    except InvalidUsage as fault:
        yield Check("problem", "session", str(fault))


def check_session(session: SparkSession, table: str | None = None) -> Iterator[Check]:
    """Check the executors' packages, functions over Arrow batches, and how executors read a table."""
    try:
        found = probe_executors(session, table)
    except Exception as fault:  # noqa: BLE001 - any error of Spark
        yield Check("problem", "executors", f"cannot run Python: {find_cause_line(str(fault))}", _find_fix(str(fault)))
        return
    checks = list(_check_packages(found))
    yield from checks
    if any(each.status == "problem" for each in checks):
        return
    yield _check_arrow(session)
    if table is not None:
        yield _check_table_access(session, table, found)


def _check_connect_client() -> Check:
    problem = environment.find_client_problem()
    return Check("problem", "Connect", problem) if problem else Check("ok", "Connect", "all packages are installed")


def _check_java() -> Check:
    problem = environment.find_java_problem()
    if problem is not None:
        return Check("problem", "Java", problem)
    program = environment.find_java()
    found = None if program is None else environment.get_java_release(program)
    known = environment.list_java_releases(environment.get_pyspark_version() or "")
    if found is None or found in known:
        return Check("ok", "Java", f"{found or 'started by spark-submit'}" + (f" ({program})" if program else ""))
    releases = " or ".join(map(str, known))
    return Check("note", "Java", f"{found} ({program}); Spark {environment.get_pyspark_version()} supports {releases}")


def _describe_cluster(session: SparkSession) -> str:
    if is_remote(session):
        return "a Spark Connect server"
    context = session.sparkContext
    return f"{context.master}, {context.defaultParallelism} tasks in parallel"


# the executors


def probe_executors(session: SparkSession, table: str | None = None) -> list[dict[str, Any]]:
    """Collect what tasks report about their Python, one entry per distinct report.

    Spark assigns tasks to executors, so in a large cluster some executors may not be probed.
    """
    from pyspark.sql.functions import udf

    tasks = _CONNECT_TASKS
    if not is_remote(session):
        tasks = max(1, min(session.sparkContext.defaultParallelism, _MAX_TASKS))
    probe = udf(_build_probe(PACKAGES, table), "string", useArrow=False)
    rows = session.range(0, tasks, 1, tasks).select(probe("id").alias("report")).collect()
    return [json.loads(text) for text in sorted({row["report"] for row in rows})]


def _build_probe(packages: tuple[str, ...], table: str | None) -> Callable[[int], str]:
    """Build the function that a task runs. It is pickled by value, so executors do not need deltaspec to load it."""

    def probe(_: int) -> str:
        import importlib
        import json
        import platform
        import socket

        found: dict[str, Any] = {"host": socket.gethostname(), "python": platform.python_version(), "packages": {}}
        for name in ("deltaspec", *packages):
            try:
                found["packages"][name] = str(getattr(importlib.import_module(name), "__version__", "without version"))
            except Exception:  # noqa: BLE001 - missing or broken
                found["packages"][name] = None
        if table is not None and all(found["packages"].values()):
            try:
                storage = importlib.import_module("deltaspec.wire.storage.factory")
                found["listed"] = len(storage.open_store(table).list_log())
            except Exception as fault:  # noqa: BLE001 - reported to the driver
                found["fault"] = " ".join(str(fault).split())[:300]
        return json.dumps(found, sort_keys=True)

    return probe


def _check_packages(found: list[dict[str, Any]]) -> Iterator[Check]:
    """Check that executors have this version of deltaspec and the packages it needs."""
    hosts = sorted({each["host"] for each in found})
    shown = ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")
    versions = sorted({str(each["packages"]["deltaspec"]) for each in found} - {"None", __version__})
    if any(each["packages"]["deltaspec"] is None for each in found):
        where = next(each["host"] for each in found if each["packages"]["deltaspec"] is None)
        yield Check("problem", "executors", f"cannot import deltaspec ({where})", INSTALL_ON_EXECUTORS)
        return  # it installs the packages
    if versions:
        problem = f"have deltaspec {', '.join(versions)}; the driver has {__version__}"
        yield Check("problem", "executors", problem, INSTALL_ON_EXECUTORS)
    missing = sorted({name for each in found for name in PACKAGES if each["packages"][name] is None})
    if missing:
        fix = f"run `pip install {' '.join(missing)}` in the executors' Python (PYSPARK_PYTHON)"
        yield Check("problem", "executors", f"cannot import {', '.join(missing)}", fix)
    elif not versions:
        python = ", ".join(sorted({each["python"] for each in found}))
        yield Check("ok", "executors", f"deltaspec {__version__} and its packages on Python {python} ({shown})")


def _check_arrow(session: SparkSession) -> Check:
    """Check that a function over Arrow batches runs."""

    def identity(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    try:
        number = session.range(10).mapInArrow(identity, "id long").count()
    except Exception as fault:  # noqa: BLE001 - any error of Spark
        return Check("problem", "mapInArrow", find_cause_line(str(fault)), build_install_command("spark"))
    return Check("ok", "mapInArrow", f"{number} rows went through a function on the executors")


# the table


def _check_table_access(session: SparkSession, table: str, found: list[dict[str, Any]]) -> Check:
    """Check whether executors read a table with the kit's storage, or only Spark can read it."""
    shown = redact_uri(table)
    faults = sorted({each["fault"] for each in found if "fault" in each})
    if not faults:
        number = max(each["listed"] for each in found)
        return Check("ok", "table", f"executors can read {shown} with the kit's storage; its log has {number:,} files")
    try:
        reader = session.read.format("binaryFile").option("pathGlobFilter", "*.json")
        files = reader.load(f"{build_hadoop_uri(table).rstrip('/')}/{LOG_DIRECTORY}").select("path").limit(1).count()
    except Exception as fault:  # noqa: BLE001 - any error of Spark
        message = str(fault).replace(build_hadoop_uri(table), shown).replace(table, shown)
        problem = f"{faults[0]}; Spark cannot read it either: {find_cause_line(message)}"
        return Check("problem", "table", problem, _find_fix(message, session))
    if not files:
        return Check("problem", "table", f"{faults[0]}; Spark finds no commit there either")
    summary = f"executors cannot read {shown} with the kit's storage ({faults[0]}); Spark can, and transfers the log"
    return Check(
        "note", "table", summary, "to read data files on executors, set the store's environment variables there"
    )


def _find_fix(message: str, session: SparkSession | None = None) -> str | None:
    """Return what to do about an error of Spark, or None if unknown."""
    if "PYTHON_VERSION_MISMATCH" in message or "different minor version" in message:
        return "set PYSPARK_PYTHON to a Python of the driver's minor version, on every executor"
    if "Cannot run program" in message:
        return "set PYSPARK_PYTHON to a Python that exists on every executor"
    version = get_hadoop_version(session)
    for text, artifact in _JARS.items():
        if text in message:
            return f"start Spark with --packages org.apache.hadoop:{artifact}:{version or 'VERSION'}"
    if re.search(r'No FileSystem for scheme "?(s3|s3n)\b', message):
        return "use s3a:// instead of s3://"
    return None


_JARS = {"S3AFileSystem": "hadoop-aws", "Abfs": "hadoop-azure", "SecureAzureBlob": "hadoop-azure"}
"""Text in an error, and the Hadoop artifact that is missing then."""


def get_hadoop_version(session: SparkSession | None) -> str | None:
    """Return the Hadoop version of a classic session, which further Hadoop jars must match; None if unknown."""
    with suppress(Exception):
        gateway: Any = session
        return str(gateway._jvm.org.apache.hadoop.util.VersionInfo.getVersion())
    return None
