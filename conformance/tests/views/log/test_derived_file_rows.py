"""Version checksums, `allFiles` and `_last_checkpoint` compared with what the log says."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from deltaspec.protocol.actions import Format, MetaData, Protocol
from deltaspec.protocol.log.version_checksum import FileSizeHistogram, VersionChecksum
from deltaspec.views.files.file_replay import REPLAY_COLUMNS
from deltaspec.views.log.derived_file_rows import (
    CommitFacts,
    LiveFileTotals,
    all_files_fault,
    build_checksum_row,
    build_hint_row,
    read_checksum,
)

HISTOGRAM = FileSizeHistogram(sorted_bin_boundaries=[0, 100], file_counts=[1, 2], total_bytes=[99, 350])


def build_live(sizes: Sequence[int | None], cardinalities: Sequence[int | None] = ()) -> pl.DataFrame:
    """Build live files with these sizes, and deletion vectors with these cardinalities."""
    counts = [*cardinalities, *[None] * (len(sizes) - len(cardinalities))]
    rows = [
        {"size": size, "cardinality": count, "deletion_vector_id": None if count is None else f"u{number}"}
        for number, (size, count) in enumerate(zip(sizes, counts, strict=True))
    ]
    schema = {name: REPLAY_COLUMNS[name] for name in LiveFileTotals.COLUMNS}
    return pl.DataFrame(rows, schema=schema)


def build_checksum(histogram: FileSizeHistogram | None = HISTOGRAM, **more: Any) -> VersionChecksum:
    """Build a checksum of three files."""
    return VersionChecksum(
        table_size_bytes=449,
        num_files=3,
        num_metadata=1,
        num_protocol=1,
        metadata=MetaData("id", Format("parquet", {}), "{}", [], {}),
        protocol=Protocol(1, 2),
        file_size_histogram=histogram,
        **more,
    )


def test_totals_count_files_bytes_and_deleted_rows() -> None:
    totals = LiveFileTotals.from_files(build_live([99, 100, 250], [4, 0]), build_checksum())
    assert (totals.files, totals.bytes, totals.vectors, totals.deleted_records) == (3, 449, 2, 4)
    assert (totals.files_by_size, totals.bytes_by_size) == ((1, 2), (99, 350))
    assert totals.files_by_deleted == {0: 2, 1: 1}
    assert not totals.has_odd_sizes


def test_totals_of_buckets_are_added() -> None:
    checksum = build_checksum()
    one = LiveFileTotals.from_files(build_live([99], [4]), checksum)
    two = LiveFileTotals.from_files(build_live([100, 250], [0]), checksum)
    assert one + two == LiveFileTotals.from_files(build_live([99, 100, 250], [4, 0]), checksum)
    assert (one + LiveFileTotals.from_files(build_live([-1]), checksum)).has_odd_sizes


@pytest.mark.parametrize("odd", [-1, None])
def test_histogram_is_not_compared_if_a_file_has_no_valid_size(odd: int | None) -> None:
    totals = LiveFileTotals.from_files(build_live([99, 100, 250, odd]), build_checksum())
    row = build_checksum_row("f", 1, build_checksum(), (None, None, None), totals, CommitFacts())
    assert (totals.has_odd_sizes, row["histogram_fault"]) == (True, None)
    assert row["replayed_table_size_bytes"] == 449 + (odd or 0)


@pytest.mark.parametrize(
    ("sizes", "fault"),
    [
        ([99, 100, 250], None),
        ([98, 100, 251], "bin from 0 bytes: expected 1 files with 98 bytes, found 1 files with 99 bytes"),
        ([99, 350], "bin from 100 bytes: expected 1 files with 350 bytes, found 2 files with 350 bytes"),
        ([], "bin from 0 bytes: expected 0 files with 0 bytes, found 1 files with 99 bytes"),
    ],
)
def test_first_wrong_bin_is_reported(sizes: list[int], fault: str | None) -> None:
    totals = LiveFileTotals.from_files(build_live(sizes), build_checksum())
    row = build_checksum_row("f", 1, build_checksum(), (None, None, None), totals, CommitFacts())
    assert row["histogram_fault"] == fault


def test_malformed_histogram_is_not_compared() -> None:
    odd = FileSizeHistogram(sorted_bin_boundaries=[100, 0], file_counts=[1, 2], total_bytes=[99, 350])
    checksum = build_checksum(odd)
    totals = LiveFileTotals.from_files(build_live([99]), checksum)
    row = build_checksum_row("f", 1, checksum, (None, None, None), totals, CommitFacts())
    assert totals.files_by_size == ()
    assert row["histogram_schema_error"] is not None
    assert "histogram_fault" not in row


def test_sums_of_sizes_are_exact_and_bounded() -> None:
    totals = LiveFileTotals.from_files(build_live([2**63 - 1, 2**63 - 1]), None)
    assert totals.bytes == 2**64 - 2
    row = build_checksum_row("f", 1, build_checksum(None), (None, None, None), totals, CommitFacts())
    assert row["replayed_table_size_bytes"] == 2**63 - 1


def test_checksum_without_known_state_is_compared_with_its_commit_only() -> None:
    checksum = build_checksum(in_commit_timestamp_opt=7, txn_id="a")
    facts = CommitFacts(in_commit_timestamp=8, in_commit_timestamps_enabled=True, txn_id="b", catalog_managed=True)
    row = build_checksum_row("f", 1, checksum, (None, None, None), None, facts)
    assert not [name for name in row if name.startswith("replayed_") and name != "replayed_in_commit_timestamp"]
    assert (row["in_commit_timestamp"], row["replayed_in_commit_timestamp"]) == (7, 8)
    assert (row["txn_id"], row["commit_txn_id"]) == ("a", "b")
    assert row["in_commit_timestamps_enabled"]
    assert row["catalog_managed"]


def test_undecodable_checksum_has_only_its_fault() -> None:
    checksum, fault, pointer = read_checksum(b'{"tableSizeBytes":"x"}')
    assert checksum is None
    assert fault
    row = build_checksum_row("f", 1, checksum, (fault, pointer, None), None, CommitFacts())
    assert row == {"version": 1, "file": "f", "schema_error": fault, "pointer": pointer, "repeated_key": None}
    assert read_checksum(b"[" * 100_000)[0] is None


# allFiles


def difference(kind: str, path: str) -> dict[str, Any]:
    return {"difference": kind, "path": path, "field": "size", "replayed": "1", "recorded": "2"}


EXTRA, MISSING = (1, "c", "c is listed but is not a live file"), (2, "b", "b is a live file but is not listed")


@pytest.mark.parametrize(
    ("listed", "differences", "expected"),
    [
        (["a", "b"], [], None),
        (["a", "b", "b"], [difference("extra", "a")], (0, "b", "b is listed 2 times")),
        (["a"], [difference("missing", "b"), difference("extra", "c")], EXTRA),
        (
            ["a"],
            [difference("changed", "a"), difference("missing", "b")],
            (2, "b", "b is a live file but is not listed"),
        ),
        (["a"], [difference("changed", "a")], (3, "a", "a: size expected 1, found 2")),
    ],
)
def test_first_fault_of_all_files(listed: list[str], differences: list[Any], expected: Any) -> None:
    assert all_files_fault(pl.DataFrame({"path_key": listed}), differences) == expected


# _last_checkpoint


def test_hint_without_a_listed_checkpoint() -> None:
    row = build_hint_row(b'{"version":3,"size":7}', [], {}, {})
    assert (row["version"], row["size"], row["newest_checkpoint"]) == (3, 7, None)
    assert (row["checkpoint_listed"], row["older_checkpoint_listed"], row["actual_sizes"]) == (False, False, [])


def test_undecodable_hint_has_only_its_fault() -> None:
    row = build_hint_row(b'{"version":"x"}', [], {}, {})
    assert row["schema_error"]
    assert "version" not in row
