"""Start a Spark session for a command-line run and remove everything it leaves behind.

The user's own configuration (spark-defaults.conf, spark-submit, PYSPARK_SUBMIT_ARGS) always takes precedence.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.validation.spark.environment import (
    OLDEST,
    build_connect_install_command,
    find_missing_requirement,
    is_connect,
    release,
)
from deltaspec.wire.storage.interface import redact_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION = "deltaspec"
_DESCRIPTION = "spark.job.description"
_LOG_BYTES = 1 << 20
"""How much of Spark's log is searched for the reason of a failure."""
_CONNECT_PORT = 15002
_STANDALONE, _STANDALONE_PORT = "spark://", 7077
_CONNECT_TIMEOUT_SECONDS = 15.0
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Environment variables that make the client connect through a proxy."""
_NAMES_ERROR = re.compile(r"(Exception|Error)\b.*:|[Ee]rror:")
_WRAPPED = re.compile(r".*(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (.+)")


@contextmanager
def open_session(master: str | None = None) -> Iterator[SparkSession]:
    """Yield the active session of this process, or start one and stop it at the end of the block.

    Args:
        master: as `start` takes it.

    Raises:
        InvalidUsage: as `start`.
    """
    active = _active()
    if active is not None:
        yield active
        return
    session = start(master)
    try:
        yield session
    finally:
        with suppress(Exception):  # its process may have ended already
            session.stop()


def start(master: str | None = None) -> SparkSession:
    """Start a session without UI or terminal output; its files are in a temporary directory, removed at exit.

    Args:
        master: `local[4]`, `spark://…`, `yarn`, `k8s://…`, or `sc://…` for a client of Spark Connect. None means the
            configured master, or `local[*]` if none is configured.

    Raises:
        InvalidUsage: pyspark or Java is missing or has an unsupported version, or the master does not answer. The
            message says what to do.
    """
    problem = find_missing_requirement(master)
    if problem is not None:
        raise InvalidUsage(f"Spark cannot be started: {problem}")
    _check_packages()
    session = _connected(str(master)) if is_connect(master) else _classic(master)
    try:
        _check_server(session)
    except InvalidUsage:
        session.stop()
        raise
    return session


def is_remote(session: object) -> bool:
    """Return whether a session is a Spark Connect client, which has no JVM in reach."""
    return type(session).__module__.startswith("pyspark.sql.connect")


class JobDescription:
    """Description of the jobs that this thread starts, for Spark's UI. Spark Connect shows it as a tag."""

    def __init__(self, session: SparkSession) -> None:
        self._session: Any = session
        self._is_remote = is_remote(session)
        self._before = None if self._is_remote else session.sparkContext.getLocalProperty(_DESCRIPTION)
        self._tag: str | None = None

    def set(self, text: str) -> None:
        """Describe the jobs from now on."""
        if self._is_remote:
            self._set_tag(text.replace(",", " "))  # a tag has no comma
        else:
            self._session.sparkContext.setLocalProperty(_DESCRIPTION, text)

    def restore(self) -> None:
        """Restore the description that the user has set."""
        with suppress(Exception):  # the session may be gone
            if self._is_remote:
                self._set_tag(None)
            else:
                self._session.sparkContext.setLocalProperty(_DESCRIPTION, self._before)

    def _set_tag(self, tag: str | None) -> None:
        if self._tag is not None:
            self._session.removeTag(self._tag)
        if tag is not None:
            self._session.addTag(tag)
        self._tag = tag


def _active() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    session: SparkSession | None = SparkSession.getActiveSession()
    return session


def _check_packages() -> None:
    """Check the versions of pandas and pyarrow that pyspark requires for functions over Arrow batches."""
    from pyspark.sql.pandas.utils import require_minimum_pandas_version, require_minimum_pyarrow_version

    try:
        require_minimum_pandas_version()
        require_minimum_pyarrow_version()
    except ImportError as fault:
        raise InvalidUsage(f"Spark cannot be used: {format_error(fault)}: {build_install_command('spark')}") from fault


def _connected(master: str) -> SparkSession:
    from pyspark.sql import SparkSession

    _check_connect_server(master)
    try:
        session: SparkSession = SparkSession.builder.remote(master).appName(APPLICATION).getOrCreate()
        session.version  # noqa: B018 - connects to the server
    except ImportError as fault:
        raise InvalidUsage(
            f"Spark Connect cannot be used: {format_error(fault)}: {build_connect_install_command()}"
        ) from fault
    except Exception as fault:  # noqa: BLE001 - any client error; its text may contain the token of the URI
        raise InvalidUsage(
            f"cannot connect to {_redact_master(master)}: {type(fault).__name__}; is the server running?"
        ) from None
    return session


def _check_connect_server(master: str) -> None:
    """Raise if nothing listens at the server's address: the client would retry for ten minutes."""
    if any(os.environ.get(name) for name in _PROXIES):
        return
    problem = _find_connection_problem(master.partition(";")[0], _CONNECT_PORT)
    if problem is not None:
        raise InvalidUsage(f"cannot connect to {_redact_master(master)}: {problem}; is the server running?")


def _check_standalone_master(master: str) -> None:
    """Raise if no host of a standalone cluster answers: Spark would retry for minutes and not say why."""
    hosts = master.removeprefix(_STANDALONE).split(",")
    problems = [_find_connection_problem(_STANDALONE + host, _STANDALONE_PORT) for host in hosts]
    if None not in problems:
        raise InvalidUsage(f"cannot connect to {master}: {problems[0]}; is the master running?")


def _find_connection_problem(uri: str, default_port: int) -> str | None:
    """Return why the host and port of a URI do not accept a connection, or None if they do."""
    try:
        parts = urlsplit(uri)
        with socket.create_connection((parts.hostname or "", parts.port or default_port), _CONNECT_TIMEOUT_SECONDS):
            return None
    except (OSError, ValueError) as fault:
        return format_error(getattr(fault, "strerror", None) or fault)


def _classic(master: str | None) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if master is not None and master.startswith(_STANDALONE):
        _check_standalone_master(master)
    directory = Path(tempfile.mkdtemp(prefix="deltaspec-spark-"))
    log = directory / "spark.log"
    try:
        if SparkContext._gateway is None:
            with open(log, "wb") as file:
                gateway: Any = launch_gateway(popen_kwargs={"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)
        virtual_machine: Any = SparkContext._jvm
        virtual_machine.java.lang.System.setProperty("derby.system.home", str(directory))
        conf = SparkConf()
        if master is not None:
            conf.setMaster(master)
        if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":  # the default of spark-submit
            conf.setAppName(APPLICATION)
        for name, value in _default_settings(directory).items():
            conf.setIfMissing(name, value)
        context = SparkContext(conf=conf)
        if "PYSPARK_PYTHON" not in os.environ and str(context.master).startswith("local"):
            context.pythonExec = sys.executable  # another `python3` on the PATH may not have our packages
        context.setLogLevel("ERROR")
        session = SparkSession(context)
    except Exception as fault:
        reason = _find_start_failure(fault, log)
        _remove(directory)
        raise InvalidUsage(f"Spark cannot be started: {reason}") from fault
    atexit.register(_remove, directory)
    return session


def _default_settings(directory: Path) -> dict[str, str]:
    return {
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (directory / "warehouse").as_uri(),
    }


def _check_server(session: SparkSession) -> None:
    """Check Spark's version: with SPARK_HOME or a server it may not be pyspark's version."""
    import pyspark

    client, server = pyspark.__version__, session.version
    if release(server) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise InvalidUsage(f"Spark {server} is too old; version {oldest} or later is required")
    if release(client) != release(server) and not is_remote(session):
        raise InvalidUsage(
            f"pyspark {client} does not match Spark {server}: pip install 'pyspark=={server}', or correct SPARK_HOME"
        )


def _find_start_failure(fault: Exception, log: Path) -> str:
    """Return the cause in one line; from Spark's log if the Java process ended before it could report it."""
    if isinstance(fault, FileNotFoundError) and "SPARK_HOME" in os.environ:
        return f"SPARK_HOME is {os.environ['SPARK_HOME']}, which has no bin/spark-submit"
    text = str(fault)
    if "JAVA_GATEWAY_EXITED" in text:
        with suppress(OSError), open(log, "rb") as file:
            text = file.read(_LOG_BYTES).decode("utf-8", "replace")
    return find_cause_line(text) or type(fault).__name__


def find_cause_line(text: str) -> str:
    """Return the innermost message of the first line that names an exception, else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if _NAMES_ERROR.search(line)), lines[0] if lines else "")
    wrapped = _WRAPPED.fullmatch(line)
    return format_error(wrapped[1] if wrapped else line)


def format_error(error: object) -> str:
    """Format an error as one line of at most 300 characters."""
    return " ".join(str(error).split())[:300]


def _redact_master(master: str) -> str:
    """Remove the user and the parameters, such as a token, from the URI of a server."""
    return redact_uri(master.partition(";")[0])


def _remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
