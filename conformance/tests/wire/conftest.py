"""A bucket that can be configured to fail."""

from collections.abc import Iterator

import pytest
from helpers.faulty_s3 import FaultyS3, run_faulty_s3, set_environment


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as s3:
        yield s3


@pytest.fixture
def s3(server: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    """An empty bucket without failures."""
    set_environment(monkeypatch, server)
    server.clear()
    yield server
    server.clear()


@pytest.fixture
def s3_with_short_timeouts(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> FaultyS3:
    """The bucket, for clients with timeouts of at most a second."""
    set_environment(monkeypatch, s3, impatient=True)
    return s3
