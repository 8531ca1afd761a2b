"""Object stores: number of requests, retries and timeouts, and lasting failures."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.faulty_s3 import Fault, FaultyS3
from wire.s3_tables import list_names, put_table

from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.wire.storage.client import MAX_UNANSWERED_REQUESTS
from deltaspec.wire.storage.interface import Entry, FileGone, NoPermission, StorageError
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS, prefetch_contents
from deltaspec.wire.storage.retries import RetryPolicy


def parquet(rows: int, columns: int = 1) -> bytes:
    sink = io.BytesIO()
    table = pa.table({f"a_long_name_of_column_{number}": range(rows) for number in range(columns)})
    pq.write_table(table, sink, row_group_size=max(rows // 4, 1))
    return sink.getvalue()


class TestRequests:
    def test_footer_takes_one_request(self, s3: FaultyS3) -> None:
        store = put_table(s3, part=parquet(100_000))
        with pq.ParquetFile(store.open_seekable("part"), pre_buffer=False) as file:
            assert file.metadata.num_rows == 100_000
        assert [(each.kind, each.range) for each in s3.requests] == [("range", "bytes=-65536")]

    def test_footer_above_64_kib_takes_two_requests(self, s3: FaultyS3) -> None:
        store = put_table(s3, part=parquet(10, columns=400))
        with pq.ParquetFile(store.open_seekable("part"), pre_buffer=False) as file:
            assert file.metadata.num_columns == 400
        assert len(s3.requests) == 2

    def test_small_file_takes_one_request(self, s3: FaultyS3) -> None:
        store = put_table(s3, part=parquet(100, columns=10))
        with pq.ParquetFile(store.open_seekable("part"), pre_buffer=False) as file:
            assert file.read().num_rows == 100
        assert len(s3.requests) == 1

    def test_complete_file_and_length_take_one_request_each(self, s3: FaultyS3) -> None:
        store = put_table(s3, a=b"1")
        store.read("a", 10)
        store.size("a")
        store.read_range("a", 0, 1)
        assert [each.kind for each in s3.requests] == ["get", "head", "range"]

    def test_files_are_read_concurrently(self, s3: FaultyS3) -> None:
        store = put_table(s3, **{f"p{number}": b"x" for number in range(64)})
        s3.delay_seconds = 0.1
        assert list(prefetch_contents(store, (f"p{number}" for number in range(64)), 10)) == [b"x"] * 64
        assert 4 <= s3.max_concurrent["get"] <= MAX_CONCURRENT_READS


READS: dict[str, Callable[[ObjectStore], Any]] = {
    "read": lambda store: store.read("part", 1 << 20),
    "chunks": lambda store: b"".join(store.chunks("part")),
    "range": lambda store: store.read_range("part", 5, 80_000),
    "random": lambda store: store.open_seekable("part").read(),
    "size": lambda store: store.size("part"),
}
BODIES = bytes(range(250)) * 400
ANSWERS = {"range": BODIES[5:80_005], "size": 100_000}


class TestFaults:
    @pytest.mark.parametrize("what", ["500", "503", "reset", "cut", "hang", "stall"])
    @pytest.mark.parametrize("way", READS)
    def test_temporary_failures_are_retried(self, way: str, what: str, s3_with_short_timeouts: FaultyS3) -> None:
        store = put_table(s3_with_short_timeouts, part=BODIES)
        s3_with_short_timeouts.faults = [Fault(what, turns=lambda turn: turn in (1, 3))]
        assert READS[way](store) == ANSWERS.get(way, BODIES)
        assert READS[way](store) == ANSWERS.get(way, BODIES)

    @pytest.mark.parametrize("what", ["500", "503", "reset", "cut", "hang", "stall"])
    @pytest.mark.parametrize("way", ["chunks", "random"])
    def test_lasting_failures_end_within_a_bound(self, way: str, what: str, s3_with_short_timeouts: FaultyS3) -> None:
        store = put_table(s3_with_short_timeouts, part=BODIES)
        s3_with_short_timeouts.faults = [Fault(what)]
        with pytest.raises(StorageError, match=r"^part: ") as caught:
            READS[way](store)
        assert not isinstance(caught.value, FileGone)
        # a response that broke off is continued by other requests
        assert len(s3_with_short_timeouts.requests) == (
            6 if (way, what) in (("chunks", "cut"), ("chunks", "stall")) else 3
        )

    def test_messages_are_equal_in_every_run(self, s3_with_short_timeouts: FaultyS3) -> None:
        store = put_table(s3_with_short_timeouts, part=BODIES)
        said = []
        for what in ("503", "reset", "cut", "hang"):
            s3_with_short_timeouts.faults = [Fault(what)]
            for _ in range(2):
                with pytest.raises(StorageError) as caught:
                    store.read("part", 1 << 20)
                said.append(str(caught.value))
        assert (
            said[::2]
            == said[1::2]
            == [
                "part: the store answers 503 Service Unavailable (SlowDown), after 2 retries",
                "part: the connection to the store was lost, after 2 retries",
                "part: the connection to the store was lost during a response, after 2 retries",
                "part: no response from the store in time, after 2 retries",
            ]
        )

    @pytest.mark.parametrize("what", ["500", "503", "reset", "cut", "hang", "stall"])
    def test_temporary_failures_of_a_listing_page_are_retried(
        self, what: str, s3_with_short_timeouts: FaultyS3
    ) -> None:
        store = put_table(s3_with_short_timeouts, **{f"p{number}": b"" for number in range(9)})
        s3_with_short_timeouts.page = 3
        s3_with_short_timeouts.faults = [Fault(what, kinds=("list",), turns=lambda turn: turn in (1, 3))]
        assert list_names(store.list_files()) == [f"p{number}" for number in range(9)]
        for version in range(1, 9):
            s3_with_short_timeouts.put(f"t/_delta_log/{version:020d}.json", b"")
        s3_with_short_timeouts.faults = [Fault(what, kinds=("list",), turns=lambda turn: turn in (1, 3))]
        assert len(store.list_log()) == 9

    @pytest.mark.parametrize("what", ["403", "500", "503", "reset", "cut", "hang", "stall"])
    def test_lasting_failure_of_a_later_page_makes_the_listing_incomplete(
        self, what: str, s3_with_short_timeouts: FaultyS3
    ) -> None:
        store = put_table(s3_with_short_timeouts, **{f"p{number}": b"" for number in range(9)})
        s3_with_short_timeouts.page = 4
        s3_with_short_timeouts.faults = [Fault(what, kinds=("list",), turns=lambda turn: turn > 1)]
        *listed, fault = store.list_files()
        assert {entry.name for entry in listed if isinstance(entry, Entry)} <= {"p0", "p1", "p2"}
        assert isinstance(fault, StorageError)
        s3_with_short_timeouts.faults = [Fault(what, kinds=("list",))]
        with pytest.raises(TableUnreadable, match="_delta_log cannot be listed") as caught:
            store.list_log()
        assert isinstance(caught.value, StorageUnavailable) == (what != "403")

    def test_unresponsive_store_is_given_up(self, s3_with_short_timeouts: FaultyS3) -> None:
        store = put_table(s3_with_short_timeouts)
        s3_with_short_timeouts.faults = [Fault("reset", kinds=("get",))]
        found = list(prefetch_contents(store, (f"p{number}" for number in range(500)), 10))
        assert [each for each in found if not isinstance(each, StorageError)] == []
        assert "stopped responding" in str(found[-1])
        assert len(s3_with_short_timeouts.requests) <= 3 * (MAX_UNANSWERED_REQUESTS + MAX_CONCURRENT_READS)

    def test_refused_files_do_not_count_as_unanswered(self, s3_with_short_timeouts: FaultyS3) -> None:
        store = put_table(s3_with_short_timeouts, good=b"1")
        s3_with_short_timeouts.faults = [Fault("403", key=lambda key: "bad" in key)]
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(store.read, f"bad{number}", 9) for number in range(40)]
        assert [each for each in asked if not isinstance(each.exception(), NoPermission)] == []
        assert store.read("good", 9) == b"1"


class TestRetryPolicy:
    def test_policy_is_read_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("RETRIES", "RETRY_SECONDS", "TIMEOUT_SECONDS"):
            monkeypatch.delenv(f"DELTASPEC_STORE_{name}", raising=False)
        assert RetryPolicy.from_settings() == RetryPolicy(None, 60.0, 15.0)
        monkeypatch.setenv("DELTASPEC_STORE_RETRIES", "2")
        monkeypatch.setenv("DELTASPEC_STORE_RETRY_SECONDS", "7.5")
        assert RetryPolicy.from_settings() == RetryPolicy(2, 7.5, 15.0)

    @pytest.mark.parametrize("text", ["-1", "1e9", "nan", "soon", "9999999", "１"])
    def test_invalid_number_is_invalid_usage(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DELTASPEC_STORE_RETRY_SECONDS", text)
        with pytest.raises(InvalidUsage, match="DELTASPEC_STORE_RETRY_SECONDS is not a number"):
            ObjectStore("s3://lake/t")
