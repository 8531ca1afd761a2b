"""The limit of requests per second to object stores."""

import threading
from collections.abc import Iterator

import pytest
from helpers.cli import run
from helpers.faulty_s3 import FaultyS3, run_faulty_s3, set_environment

import deltaspec
from deltaspec.commands.several_tables import divide_limit
from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage import rate_limit
from deltaspec.wire.storage.rate_limit import SETTING, RateLimit, get_rate_limit
from deltaspec.wire.storage.settings import StorageSettings
from deltaspec_generators.small_tables import build_table_with_stored_vectors
from deltaspec_generators.table_files import encode_table


class Clock:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 50.0
        self.waits = 0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        self.waits += 1
        return self.seconds

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


def test_requests_are_spaced_evenly() -> None:
    clock = Clock()
    limit = RateLimit(4, clock, clock.sleep)
    times = []
    for _ in range(5):
        limit.wait()
        times.append(clock.seconds - 50)
    assert times == [0, 0.25, 0.5, 0.75, 1.0]


def test_time_without_requests_is_not_saved_up() -> None:
    clock = Clock()
    limit = RateLimit(10, clock, clock.sleep)
    limit.wait()
    clock.seconds += 100
    limit.wait()
    limit.wait()
    assert clock.seconds == pytest.approx(150.1)


@pytest.mark.parametrize("text", ["many", "-1", "nan", "inf", "1e9"])
def test_other_limits_are_refused(text: str) -> None:
    with pytest.raises(InvalidUsage, match=f"{SETTING} is not a number from 0 to 1000000"):
        get_rate_limit(StorageSettings({SETTING: text}))


def test_no_limit_by_default() -> None:
    assert get_rate_limit(StorageSettings()) is None
    assert get_rate_limit(StorageSettings({SETTING: "0"})) is None


def test_stores_of_a_process_share_the_limit() -> None:
    assert get_rate_limit(StorageSettings({SETTING: "7"})) is get_rate_limit(StorageSettings({SETTING: "7.0"}))


def test_workers_share_the_limit() -> None:
    assert divide_limit({"max_requests_per_second": 100.0}, 4) == 25
    assert divide_limit({"max_requests_per_second": None}, 4) is None


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as found:
        yield found


@pytest.fixture
def s3(server: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    set_environment(monkeypatch, server)
    server.clear()
    for path, data in encode_table(build_table_with_stored_vectors(), uri="s3://lake/t/").items():
        server.put(f"t/{path}", data)
    yield server
    server.clear()


def test_every_request_waits_for_its_turn(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    limit = RateLimit(5, clock, clock.sleep)
    monkeypatch.setattr(rate_limit, "get_shared_limit", lambda per_second: limit)
    clock.waits = 0
    report = deltaspec.validate("s3://lake/t", level="rows", storage_options={SETTING: "5"})
    assert report.verdict == "conforms"
    listings = s3.count("list")
    assert len(s3.requests) <= clock.waits <= len(s3.requests) + listings, (
        "a listing waits for a page that may not exist"
    )
    assert clock.seconds - 50 == pytest.approx((clock.waits - 1) / 5)


def test_command_sets_the_limit(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    monkeypatch.setattr(rate_limit, "get_shared_limit", lambda per_second: limits.append(per_second))
    assert run("validate", "s3://lake/t", "--level", "log", "--max-requests-per-second", "2.5").exit_code == 0
    assert set(limits) == {2.5}
    assert run("validate", "s3://lake/t", "--max-requests-per-second", "0").exit_code == 2
