"""The Spark session of the test process, and the divergences seen in the tables it writes."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.known_deviations import list_divergences
from spark.session import find_skip_reason, start


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session; where none can be started tests are skipped with the reason, in CI they fail."""
    reason = find_skip_reason()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    session = start(str(tmp_path_factory.mktemp("spark") / "warehouse"))
    yield session
    session.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in list_divergences("spark"):
        terminalreporter.write_line(f"divergence: {line}")
