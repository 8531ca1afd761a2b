"""Starts a session of Spark for a run of the command line, and leaves nothing behind.

The user's own configuration (spark-defaults.conf, spark-submit, PYSPARK_SUBMIT_ARGS) goes before everything here: a
setting is only made where theirs makes none.
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
from deltaspec.validation.spark.environment import (
    INSTALL,
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
_LOG_BYTES = 1 << 20
"""Of Spark's log, in which the reason of a failure is looked for."""
_CONNECT_PORT = 15002
_STANDALONE, _STANDALONE_PORT = "spark://", 7077
_KNOCK_SECONDS = 15.0
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Variables by which the client takes another way than straight to the server."""
_TELLING = re.compile(r"(Exception|Error)\b.*:|[Ee]rror:")
_WRAPPED = re.compile(r".*(?:[\w$]+\.)+[\w$]*(?:Exception|Error): (.+)")


@contextmanager
def open_session(master: str | None = None) -> Iterator[SparkSession]:
    """A session for a while: the active one of this process if there is one, which then stays, else a new one.

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
        with suppress(Exception):  # its process may have ended before
            session.stop()


def start(master: str | None = None) -> SparkSession:
    """A new session: no UI, nothing on the terminal, files of its own in a directory that goes with it.

    Args:
        master: `local[4]`, `spark://…`, `yarn`, `k8s://…`, or `sc://…` for a client of Spark Connect; the configured
            one where None, or else this machine with all its cores.

    Raises:
        InvalidUsage: no pyspark, no Java, one of a version that does not serve, no such master; says what to do.
    """
    lacking = find_missing_requirement(master)
    if lacking is not None:
        raise InvalidUsage(f"Spark cannot be started: {lacking}")
    _check_packages()
    session = _connected(str(master)) if is_connect(master) else _classic(master)
    try:
        _check_server(session)
    except InvalidUsage:
        session.stop()
        raise
    return session


def is_remote(session: object) -> bool:
    """Whether a session is a client of Spark Connect, which has no Java beside it."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _active() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    session: SparkSession | None = SparkSession.getActiveSession()
    return session


def _check_packages() -> None:
    """Hold pandas and pyarrow to what pyspark asks of them for functions over Arrow batches."""
    from pyspark.sql.pandas.utils import require_minimum_pandas_version, require_minimum_pyarrow_version

    try:
        require_minimum_pandas_version()
        require_minimum_pyarrow_version()
    except ImportError as fault:
        raise InvalidUsage(f"Spark cannot be used: {format_error(fault)}: {INSTALL}") from fault


def _connected(master: str) -> SparkSession:
    from pyspark.sql import SparkSession

    _knock(master)
    try:
        session: SparkSession = SparkSession.builder.remote(master).appName(APPLICATION).getOrCreate()
        session.version  # noqa: B018 - asks the server
    except ImportError as fault:
        raise InvalidUsage(
            f"Spark Connect cannot be used: {format_error(fault)}: {build_connect_install_command()}"
        ) from fault
    except Exception as fault:  # noqa: BLE001 - whatever the client says; it may repeat the token of the URI
        raise InvalidUsage(f"no session from {_shown(master)}: {type(fault).__name__}; is the server there?") from None
    return session


def _knock(master: str) -> None:
    """See that something listens where a server is to be: the client would try for ten minutes."""
    if any(os.environ.get(name) for name in _PROXIES):
        return
    why = _silence(master.partition(";")[0], _CONNECT_PORT)
    if why is not None:
        raise InvalidUsage(f"no session from {_shown(master)}: {why}; is the server there?")


def _find_master(master: str) -> None:
    """See that one of the hosts of a standalone cluster answers: Spark would try for minutes, and not say why."""
    hosts = master.removeprefix(_STANDALONE).split(",")
    told = [_silence(_STANDALONE + host, _STANDALONE_PORT) for host in hosts]
    if None not in told:
        raise InvalidUsage(f"no session from {master}: {told[0]}; is the master there?")


def _silence(uri: str, port: int) -> str | None:
    """Why nothing answers at the host of a URI, and its port or else this one; None where something does."""
    try:
        parts = urlsplit(uri)
        with socket.create_connection((parts.hostname or "", parts.port or port), _KNOCK_SECONDS):
            return None
    except (OSError, ValueError) as fault:
        return format_error(getattr(fault, "strerror", None) or fault)


def _classic(master: str | None) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if master is not None and master.startswith(_STANDALONE):
        _find_master(master)
    place = Path(tempfile.mkdtemp(prefix="deltaspec-spark-"))
    log = place / "spark.log"
    try:
        if SparkContext._gateway is None:
            with open(log, "wb") as file:
                gateway: Any = launch_gateway(popen_kwargs={"stdout": file, "stderr": file})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway)
        virtual_machine: Any = SparkContext._jvm
        virtual_machine.java.lang.System.setProperty("derby.system.home", str(place))
        conf = SparkConf()
        if master is not None:
            conf.setMaster(master)
        if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":  # as spark-submit has it where none is given
            conf.setAppName(APPLICATION)
        for name, value in _settings(place).items():
            conf.setIfMissing(name, value)
        context = SparkContext(conf=conf)
        if "PYSPARK_PYTHON" not in os.environ and str(context.master).startswith("local"):
            context.pythonExec = sys.executable  # what `python3` finds may lack what is installed for this one
        context.setLogLevel("ERROR")
        session = SparkSession(context)
    except Exception as fault:
        reason = _reason(fault, log)
        _remove(place)
        raise InvalidUsage(f"Spark cannot be started: {reason}") from fault
    atexit.register(_remove, place)
    return session


def _settings(place: Path) -> dict[str, str]:
    return {
        "spark.master": "local[*]",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (place / "warehouse").as_uri(),
    }


def _check_server(session: SparkSession) -> None:
    """Hold the version of Spark itself to that of pyspark, which SPARK_HOME or a server may differ from."""
    import pyspark

    here, there = pyspark.__version__, session.version
    if release(there) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise InvalidUsage(f"Spark {there} is too old, {oldest} or later is needed")
    if release(here) != release(there) and not is_remote(session):
        raise InvalidUsage(f"pyspark {here} stands beside Spark {there}: pip install 'pyspark=={there}', or SPARK_HOME")


def _reason(fault: Exception, log: Path) -> str:
    """What went wrong in one line: of the log, where the Java process ended before it could tell."""
    if isinstance(fault, FileNotFoundError) and "SPARK_HOME" in os.environ:
        return f"SPARK_HOME is {os.environ['SPARK_HOME']}, and holds no bin/spark-submit"
    text = str(fault)
    if "JAVA_GATEWAY_EXITED" in text:
        with suppress(OSError), open(log, "rb") as file:
            text = file.read(_LOG_BYTES).decode("utf-8", "replace")
    return find_cause_line(text) or type(fault).__name__


def find_cause_line(text: str) -> str:
    """Of what Spark says, what tells the cause: the innermost message of the first line that names an exception."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if _TELLING.search(line)), lines[0] if lines else "")
    wrapped = _WRAPPED.fullmatch(line)
    return format_error(wrapped[1] if wrapped else line)


def format_error(said: object) -> str:
    """Words of a fault in one line that is not long."""
    return " ".join(str(said).split())[:300]


def _shown(master: str) -> str:
    """A server without its user and its parameters, a token among them."""
    return redact_uri(master.partition(";")[0])


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)
