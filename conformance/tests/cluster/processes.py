"""Start a Spark cluster or a Connect server on the loopback address, with the scripts of the pyspark package."""

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
TIMEOUT_SECONDS = 180
"""How long a process may take to be ready."""
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
    """Directory of all process logs and of the workers' directories."""
    _page: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add_worker(self) -> None:
        """Start one more worker with one core and wait until the master has registered it."""
        before = self.count_alive_workers()
        name = f"worker-{len(self.workers)}"
        options = ["--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        command = [*_java_class(_WORKER), *options, "--work-dir", str(self.folder / name), self.url]
        self.workers.append(_start_process(command, self.folder / f"{name}.log"))
        wait_until(lambda: self.count_alive_workers() > before, f"{name} is registered")

    def count_alive_workers(self) -> int:
        """Return the number of workers that the master considers alive."""
        return sum(worker["state"] == "ALIVE" for worker in fetch_json(f"{self._page}/json/")["workers"])

    def kill_worker(self) -> None:
        """Send SIGKILL to the first remaining worker and to its executors."""
        kill(self.workers.pop(0))


@contextmanager
def cluster(folder: Path, workers: int = 2, environment: dict[str, str] | None = None) -> Iterator[Cluster]:
    """Run a master, with further environment variables, and some workers for a block."""
    port, page = free_port(), free_port()
    options = ["--host", HOST, "--port", str(port), "--webui-port", str(page)]
    master = _start_process([*_java_class(_MASTER), *options], folder / "master.log", environment)
    found = Cluster(f"spark://{HOST}:{port}", folder, f"http://{HOST}:{page}")
    try:
        wait_until(lambda: fetch_json(f"{found._page}/json/")["status"] == "ALIVE", "the master is running")
        for _ in range(workers):
            found.add_worker()
        yield found
    finally:
        for process in (*found.workers, master):
            kill(process)


@contextmanager
def connect_server(folder: Path, python: Path | str, settings: dict[str, str]) -> Iterator[str]:
    """Run a Spark Connect server with local executors for a block; yield the URI for clients.

    Args:
        folder: directory for its log.
        python: Python interpreter of its executors.
        settings: further Spark settings.
    """
    port = free_port()
    all_settings = {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.pyspark.python": str(python),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        **settings,
    }
    options = [part for name, value in all_settings.items() for part in ("--conf", f"{name}={value}")]
    command = [str(_SCRIPTS / "spark-submit"), "--master", "local[2]", "--class", _CONNECT]
    variables = {"PYSPARK_PYTHON": str(python), "SPARK_DAEMON_MEMORY": "1g"}
    process = _start_process([*command, *options, "spark-internal"], folder / "connect.log", variables)
    try:
        wait_until(lambda: _is_listening(port, process), "the Connect server is running")
        yield f"sc://{HOST}:{port}"
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Send SIGKILL to a process and its children; the Python workers of an executor end with it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def fetch_json(url: str) -> Any:
    """Read JSON from a web page of Spark."""
    with urllib.request.urlopen(url, timeout=5) as response:
        return json.load(response)


def wait_until(is_true: Callable[[], bool], condition: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
    """Poll until a condition is true; a page that does not respond yet counts as false. Raises `TimeoutError`."""
    end = time.monotonic() + timeout_seconds
    while time.monotonic() < end:
        try:
            if is_true():
                return
        except (OSError, ValueError, KeyError):  # the process is still starting
            pass
        time.sleep(0.1)
    raise TimeoutError(f"waited {timeout_seconds} seconds until {condition}")


def _java_class(name: str) -> list[str]:
    return [str(_SCRIPTS / "spark-class"), name]


def _start_process(
    command: Sequence[str], log: Path, environment: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in a new process group, without the environment variables of Python and Spark."""
    removed = ("PYSPARK", "SPARK", "PYTHON")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    variables |= {"SPARK_LOCAL_IP": HOST, "SPARK_DAEMON_MEMORY": "256m", **(environment or {})}
    with open(log, "wb") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables, start_new_session=True
        )


def _is_listening(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "the process has ended; see its log"
    with socket.create_connection((HOST, port), 1):
        return True
