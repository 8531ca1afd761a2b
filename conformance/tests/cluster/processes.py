"""Spark's own processes on the loopback address, by the scripts of the pyspark package: a cluster, a Connect server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark

HOST = "127.0.0.1"
PATIENCE = 180
"""Seconds in which a process is to be ready."""
_SCRIPTS = Path(pyspark.__file__).parent / "bin"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


@dataclass
class Cluster:
    """A standalone master and its workers."""

    url: str
    """`spark://…`."""
    folder: Path
    """Holds the logs of all processes and the workers' directories."""
    _page: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self) -> None:
        """Start one more worker, of one core, and wait until the master knows it."""
        before = self.alive()
        name = f"worker-{len(self.workers)}"
        options = ["--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        command = [*_java_class(_WORKER), *options, "--work-dir", str(self.folder / name), self.url]
        self.workers.append(_process(command, self.folder / f"{name}.log"))
        wait_until(lambda: self.alive() > before, f"{name} is registered")

    def alive(self) -> int:
        """How many workers the master counts on."""
        return sum(worker["state"] == "ALIVE" for worker in fetch_json(f"{self._page}/json/")["workers"])

    def kill_worker(self) -> None:
        """SIGKILL to the first worker that is left, and to the executors that it has started."""
        kill(self.workers.pop(0))


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master with so many workers."""
    port, page = free_port(), free_port()
    options = ["--host", HOST, "--port", str(port), "--webui-port", str(page)]
    master = _process([*_java_class(_MASTER), *options], folder / "master.log")
    found = Cluster(f"spark://{HOST}:{port}", folder, f"http://{HOST}:{page}")
    try:
        wait_until(lambda: fetch_json(f"{found._page}/json/")["status"] == "ALIVE", "the master is there")
        for _ in range(workers):
            found.add_worker()
        yield found
    finally:
        for process in (*found.workers, master):
            kill(process)


@contextmanager
def connect_server(folder: Path, python: Path | str, settings: dict[str, str]) -> Iterator[str]:
    """A server of Spark Connect with executors of its own, and the URI for its clients.

    Args:
        folder: gets its log.
        python: what its executors run.
        settings: further ones of Spark.
    """
    port = free_port()
    all_of_them = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.pyspark.python": str(python),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        **settings,
    }
    options = [part for name, value in all_of_them.items() for part in ("--conf", f"{name}={value}")]
    command = [str(_SCRIPTS / "spark-submit"), "--master", "local[2]", "--class", _CONNECT]
    given = {"PYSPARK_PYTHON": str(python), "SPARK_DAEMON_MEMORY": "1g"}
    process = _process([*command, *options, "spark-internal"], folder / "connect.log", given)
    try:
        wait_until(lambda: _listens(port, process), "the Connect server is there")
        yield f"sc://{HOST}:{port}"
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a process and to what it has started; the Python workers of an executor end with it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def free_port() -> int:
    """A port that nothing listens at."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def fetch_json(url: str) -> Any:
    """The JSON at a URL of a web page of Spark."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def wait_until(is_so: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Ask again and again; a page that does not answer yet says no. Raises `TimeoutError`."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            if is_so():
                return
        except (OSError, ValueError, KeyError):  # it does not listen yet, or has not begun to know
            pass
        time.sleep(0.1)
    raise TimeoutError(f"not so after {patience} seconds: {what}")


def _java_class(name: str) -> list[str]:
    return [str(_SCRIPTS / "spark-class"), name]


def _process(command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own; it does not see the environment variables of Python and Spark."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK", "PYTHON"))}
    mine |= {"SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m", **(environment or {})}
    with open(log, "wb") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=mine, start_new_session=True
        )


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "it has ended; its log tells why"
    with socket.create_connection((HOST, port), 1):
        return True
