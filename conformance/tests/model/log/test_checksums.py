"""The version checksum, its histograms, and its differences from the version. Source: Version Checksum File."""

import msgspec
import pytest
from helpers.small_logs import SmallLog, add, domain, metadata, protocol, remove, small_log_settings, small_logs, txn
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from deltaspec.model.log.checksums import build_checksum, compare_checksum
from deltaspec.model.log.reconciliation import (
    EMPTY_SNAPSHOT,
    Snapshot,
    build_checkpoint_snapshot,
    replay_commit,
    replay_log,
)
from deltaspec.protocol.actions import Action, CommitInfo
from deltaspec.protocol.log.version_checksum import (
    DeletedRecordCountsHistogram,
    FileSizeHistogram,
    VersionChecksum,
    find_deleted_records_bin,
    find_file_size_bin,
    find_histogram_fault,
)

FIELDS = {
    "txnId",
    "tableSizeBytes",
    "numFiles",
    "numMetadata",
    "numProtocol",
    "inCommitTimestampOpt",
    "setTransactions",
    "domainMetadata",
    "metadata",
    "protocol",
    "fileSizeHistogram",
    "allFiles",
    "numDeletedRecordsOpt",
    "numDeletionVectorsOpt",
    "deletedRecordCountsHistogramOpt",
}
TIMED = (protocol(1, 7, "inCommitTimestamp"), metadata(delta__enableInCommitTimestamps="true"))


def snapshot(*actions: Action) -> Snapshot:
    return build_checkpoint_snapshot(3, [protocol(), metadata(), *actions])


def build_minimal_checksum(**fields: object) -> VersionChecksum:
    """Build a checksum with the required fields of an empty table and the given ones."""
    plain = VersionChecksum(
        table_size_bytes=0, num_files=0, num_metadata=1, num_protocol=1, metadata=metadata(), protocol=protocol()
    )
    return msgspec.structs.replace(plain, **fields)


def list_differences(state: Snapshot, derived: VersionChecksum) -> list[tuple[object, ...]]:
    return [(each.kind, each.key, each.what, each.field) for each in compare_checksum(state, derived)]


class TestFields:
    def test_every_field_has_its_wire_name(self) -> None:
        assert set(VersionChecksum.__struct_encode_fields__) == FIELDS
        assert set(FileSizeHistogram.__struct_encode_fields__) == {"sortedBinBoundaries", "fileCounts", "totalBytes"}
        assert DeletedRecordCountsHistogram.__struct_encode_fields__ == ("deletedRecordCounts",)

    def test_required_fields_are_required(self) -> None:
        body = msgspec.to_builtins(build_minimal_checksum())
        assert set(body) == {"tableSizeBytes", "numFiles", "numMetadata", "numProtocol", "metadata", "protocol"}
        for name in body:
            with pytest.raises(msgspec.ValidationError, match=name):
                msgspec.convert({key: value for key, value in body.items() if key != name}, VersionChecksum)

    def test_null_means_absent_and_unknown_fields_are_ignored(self) -> None:
        body = {
            **msgspec.to_builtins(build_minimal_checksum()),
            "txnId": None,
            "allFiles": None,
            "histogramOpt": {"x": 1},
        }
        assert msgspec.convert(body, VersionChecksum) == build_minimal_checksum()

    def test_longs_have_64_bits(self) -> None:
        body = msgspec.to_builtins(build_minimal_checksum())
        assert msgspec.convert({**body, "numFiles": 2**63 - 1}, VersionChecksum).num_files == 2**63 - 1
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({**body, "numFiles": 2**63}, VersionChecksum)


class TestBins:
    """V25: boundaries derived by hand from the protocol's tables."""

    @pytest.mark.parametrize(("size", "expected"), [(0, 0), (1023, 0), (1024, 1), (4095, 1), (4096, 2), (2**63 - 1, 2)])
    def test_bin_of_a_file_size(self, size: int, expected: int) -> None:
        assert find_file_size_bin([0, 1024, 4096], size) == expected

    def test_single_bin_contains_every_size(self) -> None:
        assert {find_file_size_bin([0], size) for size in (0, 1, 2**40)} == {0}

    @pytest.mark.parametrize(
        ("count", "expected"),
        [
            (0, 0),
            (1, 1),
            (9, 1),
            (10, 2),
            (99, 2),
            (100, 3),
            (999, 3),
            (1000, 4),
            (9999, 4),
            (10_000, 5),
            (99_999, 5),
            (100_000, 6),
            (999_999, 6),
            (1_000_000, 7),
            (9_999_999, 7),
            (10_000_000, 8),
            (100_000_000, 8),
            (2_147_483_646, 8),
            (2_147_483_647, 9),
            (2**63 - 1, 9),
        ],
    )
    def test_bin_of_a_number_of_deleted_records(self, count: int, expected: int) -> None:
        assert find_deleted_records_bin(count) == expected

    @pytest.mark.parametrize(
        ("histogram", "expected"),
        [
            (([0, 1024], [1, 2], [3, 4]), None),
            (([], [], []), "the first boundary is not 0"),
            (([1, 2], [0, 0], [0, 0]), "the first boundary is not 0"),
            (([0, 2, 2], [0, 0, 0], [0, 0, 0]), None),
            (([0, 3, 2], [0, 0, 0], [0, 0, 0]), "boundaries are not sorted"),
            (([0, 2], [0], [0, 0]), "2 boundaries, 1 file counts and 2 byte totals"),
            (([0, 2], [0, 0], []), "2 boundaries, 2 file counts and 0 byte totals"),
        ],
    )
    def test_form_of_a_file_size_histogram(
        self, histogram: tuple[list[int], list[int], list[int]], expected: str | None
    ) -> None:
        bounds, counts, totals = histogram
        found = FileSizeHistogram(sorted_bin_boundaries=bounds, file_counts=counts, total_bytes=totals)
        assert find_histogram_fault(found) == expected


class TestChecksumOfAVersion:
    def test_counts_only_live_files(self) -> None:
        state = snapshot(add("a", size=3), add("b", "one", size=1030, cardinality=12), remove("c"), txn("s", 1))
        found = build_checksum(state, [0, 1024, 4096])
        assert (found.table_size_bytes, found.num_files, found.num_metadata, found.num_protocol) == (1033, 2, 1, 1)
        assert (found.num_deleted_records_opt, found.num_deletion_vectors_opt) == (12, 1)
        assert found.file_size_histogram == FileSizeHistogram(
            sorted_bin_boundaries=[0, 1024, 4096], file_counts=[1, 1, 0], total_bytes=[3, 1030, 0]
        )
        assert found.deleted_record_counts_histogram_opt == DeletedRecordCountsHistogram(
            deleted_record_counts=[1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        )
        assert found.all_files == [add("a", size=3), add("b", "one", size=1030, cardinality=12)]
        assert found.set_transactions == [txn("s", 1)]
        assert (found.protocol, found.metadata) == (protocol(), metadata())

    def test_histogram_of_sizes_needs_boundaries(self) -> None:
        assert build_checksum(snapshot(add("a"))).file_size_histogram is None

    def test_removed_domains_are_omitted(self) -> None:
        state = replay_commit(snapshot(domain("x"), domain("y")), 4, [domain("x", removed=True)])
        assert build_checksum(state).domain_metadata == [domain("y")]

    def test_timestamp_is_present_only_if_enabled(self) -> None:
        info = CommitInfo(in_commit_timestamp=77)
        assert build_checksum(replay_commit(EMPTY_SNAPSHOT, 0, [*TIMED, info])).in_commit_timestamp_opt == 77
        assert (
            build_checksum(replay_commit(EMPTY_SNAPSHOT, 0, [protocol(), metadata(), info])).in_commit_timestamp_opt
            is None
        )

    @pytest.mark.parametrize("missing", ["protocol", "metadata"])
    def test_version_without_protocol_or_metadata_has_none(self, missing: str) -> None:
        with pytest.raises(ValueError, match="has no checksum"):
            build_checksum(replace(snapshot(), **{missing: None}))  # type: ignore[arg-type]


class TestDifference:
    def test_omitted_fields_are_not_compared(self) -> None:
        assert compare_checksum(snapshot(), build_minimal_checksum(txn_id="anything")) == []

    @pytest.mark.parametrize(
        ("field", "wire_name"),
        [
            ("table_size_bytes", "tableSizeBytes"),
            ("num_files", "numFiles"),
            ("num_metadata", "numMetadata"),
            ("num_protocol", "numProtocol"),
            ("num_deleted_records_opt", "numDeletedRecordsOpt"),
            ("num_deletion_vectors_opt", "numDeletionVectorsOpt"),
        ],
    )
    def test_wrong_count(self, field: str, wire_name: str) -> None:
        (found,) = compare_checksum(snapshot(), build_minimal_checksum(**{field: 7}))
        assert (found.kind, found.field, found.derived) == ("versionChecksum", wire_name, 7)
        assert found.replayed == (1 if wire_name in ("numMetadata", "numProtocol") else 0)

    def test_zero_differs_from_absent(self) -> None:
        state = snapshot(add("a", "one", cardinality=5))
        derived = build_minimal_checksum(
            table_size_bytes=1, num_files=1, num_deleted_records_opt=0, num_deletion_vectors_opt=0
        )
        assert [each[3] for each in list_differences(state, derived)] == [
            "numDeletedRecordsOpt",
            "numDeletionVectorsOpt",
        ]

    def test_protocol_and_metadata(self) -> None:
        derived = build_minimal_checksum(protocol=protocol(1, 1), metadata=metadata(a="b"))
        assert list_differences(snapshot(), derived) == [
            ("protocol", None, "differs", "minWriterVersion"),
            ("metaData", None, "differs", "configuration"),
        ]

    def test_transactions_may_have_expired(self) -> None:
        state = snapshot(txn("s", 1), txn("t", 1))
        found = compare_checksum(state, build_minimal_checksum(set_transactions=[txn("t", 2)]))
        assert [(each.key, each.what, each.retained) for each in found] == [
            ("s", "missing", None),
            ("t", "differs", True),
        ]

    def test_domains(self) -> None:
        derived = build_minimal_checksum(domain_metadata=[domain("y", removed=True)])
        assert list_differences(snapshot(domain("x")), derived) == [
            ("domainMetadata", "x", "missing", None),
            ("domainMetadata", "y", "extra", None),
        ]

    def test_all_files(self) -> None:
        state = snapshot(add("a%20b", size=1), add("c", size=1))
        derived = build_minimal_checksum(
            table_size_bytes=2, num_files=2, all_files=[add("a b", size=1), add("d", size=1)]
        )
        assert list_differences(state, derived) == [("add", "c", "missing", None), ("add", "d", "extra", None)]

    @pytest.mark.parametrize(
        ("counts", "totals", "expected"), [([1, 1], [3, 2000], []), ([2, 0], [3, 2000], [1]), ([1, 1], [3, 1], [1])]
    )
    def test_file_size_histogram(self, counts: list[int], totals: list[int], expected: list[int]) -> None:
        state = snapshot(add("a", size=3), add("b", size=2000))
        histogram = FileSizeHistogram(sorted_bin_boundaries=[0, 1024], file_counts=counts, total_bytes=totals)
        found = list_differences(
            state, build_minimal_checksum(table_size_bytes=2003, num_files=2, file_size_histogram=histogram)
        )
        assert found == [("versionChecksum", None, "differs", "fileSizeHistogram") for _ in expected]

    def test_malformed_file_size_histogram(self) -> None:
        histogram = FileSizeHistogram(sorted_bin_boundaries=[], file_counts=[], total_bytes=[])
        (found,) = compare_checksum(snapshot(), build_minimal_checksum(file_size_histogram=histogram))
        assert (found.field, found.derived) == ("fileSizeHistogram", "the first boundary is not 0")

    @pytest.mark.parametrize(
        ("counts", "differs"), [([1, 0, 1, *[0] * 7], False), ([2, *[0] * 9], True), ([1, 0, 1, *[0] * 8], True)]
    )
    def test_deleted_record_counts_histogram(self, counts: list[int], differs: bool) -> None:
        state = snapshot(add("a", "one", size=0, cardinality=12), add("b", size=0))
        histogram = DeletedRecordCountsHistogram(deleted_record_counts=counts)
        found = list_differences(
            state, build_minimal_checksum(num_files=2, deleted_record_counts_histogram_opt=histogram)
        )
        assert bool(found) is differs

    @pytest.mark.parametrize(
        ("enabled", "committed", "derived", "differs"),
        [
            (True, 77, 77, False),
            (True, 77, 78, True),
            (True, 77, None, True),
            (True, None, 77, False),
            (False, None, None, False),
            (False, 77, None, False),
            (False, 77, 77, True),
        ],
    )
    def test_in_commit_timestamp(
        self, enabled: bool, committed: int | None, derived: int | None, differs: bool
    ) -> None:
        table = TIMED if enabled else (protocol(), metadata())
        state = build_checkpoint_snapshot(3, table)
        if committed is not None:
            state = replay_commit(state, 4, [CommitInfo(in_commit_timestamp=committed)])
        stated = build_minimal_checksum(protocol=table[0], metadata=table[1], in_commit_timestamp_opt=derived)
        found = list_differences(state, stated)
        assert found == ([("versionChecksum", None, "differs", "inCommitTimestampOpt")] if differs else [])


@small_log_settings
@given(small_logs(), st.lists(st.integers(1, 9), unique=True).map(sorted))
def test_checksum_of_a_version_never_differs_from_it(log: SmallLog, boundaries: list[int]) -> None:
    state = replay_log(log.commits, to=len(log.expected_state) - 1)
    derived = build_checksum(state, [0, *boundaries])
    assert compare_checksum(state, derived) == []
    expected_state = log.expected_state[-1]
    assert derived.num_files == len(expected_state.live)
    assert derived.table_size_bytes == sum(size for _, size in expected_state.live.values())
    assert derived.num_deletion_vectors_opt == sum(dv is not None for dv, _ in expected_state.live.values())
    assert derived.file_size_histogram is not None
    assert sum(derived.file_size_histogram.file_counts) == derived.num_files
    assert sum(derived.file_size_histogram.total_bytes) == derived.table_size_bytes
    again = msgspec.json.decode(msgspec.json.encode(derived), type=VersionChecksum)
    assert compare_checksum(state, again) == []
