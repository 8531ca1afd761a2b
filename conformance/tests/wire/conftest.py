"""A bucket that may be told to fail."""

from collections.abc import Iterator

import pytest
from helpers.faulty_s3 import FaultyS3, run_faulty_s3, set_environment


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as s3:
        yield s3


@pytest.fixture
def s3(server: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    """The bucket, emptied, without faults."""
    set_environment(monkeypatch, server)
    server.clear()
    yield server
    server.clear()


@pytest.fixture
def impatient(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> FaultyS3:
    """The bucket, for clients that wait no more than a second."""
    set_environment(monkeypatch, s3, impatient=True)
    return s3
