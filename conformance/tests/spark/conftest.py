"""The shared Spark session of a test process, and a summary of the divergences found in Spark's tables."""

import fcntl
import os
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.known_deviations import list_divergences
from spark.session import find_skip_reason, start


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start one session. If Spark cannot start, tests fail in CI and are skipped elsewhere, with the reason."""
    reason = find_skip_reason()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    # Ivy, which resolves Spark's packages, fails if two processes fill its cache at once
    with (tmp_path_factory.getbasetemp().parent / "spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        session = start(str(tmp_path_factory.mktemp("spark") / "warehouse"))
    yield session
    session.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in list_divergences("spark"):
        terminalreporter.write_line(f"divergence: {line}")
