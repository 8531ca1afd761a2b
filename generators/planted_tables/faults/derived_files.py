"""Planted faults of compactions and version checksums."""

from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import IN_COMMIT_TIMESTAMPS
from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, get_action, txn_action
from planted_tables.bases import log_only
from planted_tables.faults.registry import PLANTED_FAULTS, PlantedFault, draw_one, planted_fault


@planted_fault("compaction.equals-replay")
def action_absent_from_compaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    del files.compactions[(1, 2)][draw(st.integers(0, 2))]
    return files


@planted_fault("compaction.equals-replay")
def action_of_nobody_in_compaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    files.compactions[(1, 2)].append(draw_one(draw, add_action("never.parquet", rows=1), txn_action("app", 1)))
    return files


@planted_fault("compaction.equals-replay")
def action_changed_in_compaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    first = files.compactions[(1, 2)][0]
    assert isinstance(first, dict)
    change = draw_one(draw, {"size": 7}, {"stats": None}, {"tags": {"lost": "no"}})
    files.compactions[(1, 2)][0] = {"add": {**first["add"], **change}}
    return files


@planted_fault("compaction.equals-replay")
def action_twice_in_compaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    for version in (1, 2):
        files.commits[version].append(txn_action("app", version))
    both = [txn_action("app", 1), txn_action("app", 2)]
    files.compactions[(1, 2)] += draw_one(draw, both, both[::-1], [both[1], both[1]])
    return files


@planted_fault("compaction.removes-kept")
def removal_absent_from_compaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    del files.compactions[(1, 2)][2]
    return files


@planted_fault("compaction.equals-replay")
def action_of_one_commit_in_compaction(draw: st.DrawFn) -> TableFiles:
    change = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": 1, "dataChange": False}
    files = log_only.build_table_with_compaction()
    files.compactions[(1, 2)].append({"cdc": change})
    return files


@planted_fault("compaction.one-action-a-line")
def two_actions_in_a_line_of_compaction(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    first, second, removed = files.compactions[(1, 2)]
    assert isinstance(second, dict)
    assert isinstance(removed, dict)
    files.compactions[(1, 2)] = [first, {**second, **removed}]
    return files


def _build_compaction_with_commit_info(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_compaction()
    files.compactions[(1, 2)].insert(0, commit_info_action(draw_one(draw, 1, 2)))
    return files


@planted_fault("compaction.commit-info-dropped")
def commit_info_in_compaction(draw: st.DrawFn) -> TableFiles:
    return _build_compaction_with_commit_info(draw)


@planted_fault("compaction.example-without-commit-info", revisions=("r3",))
def commit_info_kept_against_the_example(draw: st.DrawFn) -> TableFiles:
    return _build_compaction_with_commit_info(draw)


@planted_fault("compaction.example-without-commit-info", revisions=("current",))
def commit_info_kept_against_example_and_text(draw: st.DrawFn) -> TableFiles:
    return _build_compaction_with_commit_info(draw)


def _build_table_with_changed_checksum(change: dict[str, Any]) -> TableFiles:
    files = log_only.build_table_with_checksum()
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {name: value for name, value in {**body, **change}.items() if value is not ...}
    return files


_ONE_FILE_TOO_FEW = {"sortedBinBoundaries": [0], "fileCounts": [1], "totalBytes": [2000]}
_CHECKSUMS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "checksum_malformed": ("form", ({"numFiles": ...}, {"numFiles": "2"}, {"protocol": None}, {"metadata": {}})),
    "checksum_of_older_form": ("form", ({"protocol": None, "metadata": ...}, {"protocol": ..., "metadata": ...})),
    "checksum_table_size": ("table-size", ({"tableSizeBytes": 1999}, {"tableSizeBytes": 0})),
    "checksum_file_count": ("num-files", ({"numFiles": 1}, {"numFiles": 3})),
    "checksum_counts_of_one": ("one-metadata-one-protocol", ({"numMetadata": 0}, {"numProtocol": 2})),
    "checksum_timestamp": ("in-commit-timestamp", ({"inCommitTimestampOpt": 7},)),
    "checksum_vectors": ("deletion-vectors", ({"numDeletedRecordsOpt": 1}, {"numDeletionVectorsOpt": 1})),
    "checksum_all_files": ("all-files", ({"allFiles": []},)),
    "checksum_transactions_of_nobody": (
        "transactions-and-domains",
        (
            {"domainMetadata": [{"domain": "a", "configuration": "", "removed": True}]},
            {"domainMetadata": [{"domain": "a", "configuration": "", "removed": False}]},
        ),
    ),
    "checksum_histogram_form": (
        "histogram-form",
        (
            {"fileSizeHistogram": {"sortedBinBoundaries": [1, 1024], "fileCounts": [2, 0], "totalBytes": [2000, 0]}},
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [2], "totalBytes": [2000, 0]}},
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [2, 0], "totalBytes": [2000]}},
            {
                "fileSizeHistogram": {
                    "sortedBinBoundaries": [0, 9, 5],
                    "fileCounts": [0, 0, 2],
                    "totalBytes": [0, 0, 2000],
                }
            },
            {"fileSizeHistogram": {"sortedBinBoundaries": [], "fileCounts": [], "totalBytes": []}},
        ),
    ),
    "checksum_deleted_rows_form": (
        "deleted-rows-form",
        (
            {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2]}},
            {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2, *[0] * 10]}},
        ),
    ),
    "checksum_histogram_values": (
        "histogram-values",
        (
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [1, 1], "totalBytes": [2000, 0]}},
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [2, 0], "totalBytes": [1999, 0]}},
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1000], "fileCounts": [2, 0], "totalBytes": [2000, 0]}},
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 10], "fileCounts": [2, 0], "totalBytes": [2000, 0]}},
        ),
    ),
    "checksum_size_histogram": ("file-size-histogram", ({"fileSizeHistogram": _ONE_FILE_TOO_FEW},)),
    "checksum_deleted_rows_values": (
        "deleted-rows-values",
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]}},),
    ),
    "checksum_deleted_rows_histogram": (
        "deleted-rows-histogram",
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0] * 10}},),
    ),
    "checksum_inaccurate": ("accurate", ({"tableSizeBytes": 2001},)),
    "checksum_protocol": ("protocol-and-metadata", ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}},)),
    "checksum_transactions": ("transactions-and-domains", ({"setTransactions": [txn_action("app", 1)["txn"]]},)),
}
"""Requirement and changes of a valid checksum by name; `...` removes a field."""


def _make_breaker(changes: tuple[dict[str, Any], ...]) -> Any:
    return lambda draw: _build_table_with_changed_checksum(draw_one(draw, *changes))


for _name, (_requirement, _changes) in _CHECKSUMS.items():
    PLANTED_FAULTS[_name] = PlantedFault(_name, f"checksum.{_requirement}", _make_breaker(_changes))


@planted_fault("checksum.all-files")
def checksum_of_changed_files(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_checksum()
    body = files.checksums[2]
    assert isinstance(body, dict)
    first, second = body["allFiles"]
    changes = ({"size": 999}, {"path": "z.parquet"}, {"baseRowId": 7}, {"modificationTime": 7}, {"tags": {"a": "b"}})
    change = draw_one(draw, *changes, {"stats": None})
    changed = draw_one(draw, [{**first, **change}, second], [first, second, second])
    files.checksums[2] = {**body, "allFiles": changed}
    return files


@planted_fault("checksum.transactions-and-domains")
def checksum_with_application_twice(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_checksum()
    files.commits[1].append(txn_action("app", 1))
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {**body, "setTransactions": [txn_action("app", 1)["txn"]] * 2}
    return files


@planted_fault("checksum.in-commit-timestamp")
def checksum_of_another_time(draw: st.DrawFn) -> TableFiles:
    """In-commit timestamps are enabled, but the checksum has another timestamp or none."""
    files = log_only.build_table_with_timestamps()
    other_table = log_only.build_table_with_checksum(
        protocol={"protocol": get_action(files, 0, "protocol")},
        configuration={IN_COMMIT_TIMESTAMPS: "true"},
    )
    body = other_table.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {**body, **draw_one(draw, {}, {"inCommitTimestampOpt": 1_700_000_000_001})}
    return files


@planted_fault("checksum.each-commit")
def checksum_skipped(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_checksum()
    body = files.checksums[2]
    assert isinstance(body, dict)
    counts = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
    files.checksums[0] = {**counts, "metadata": body["metadata"], "protocol": body["protocol"]}
    return files


@planted_fault("checksum.transaction-id")
def checksum_of_another_attempt(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_transaction_checksum(draw_one(draw, "2b", "1a"))


@planted_fault("checksum.transaction-id")
def checksum_of_another_attempt_without_catalog(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table_with_transaction_checksum(draw_one(draw, "2b", "1a"), catalog_managed=False)
