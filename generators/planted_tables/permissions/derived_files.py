"""Valid tables of compactions, version checksums, the hint and reconciliation."""

from typing import Any

from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.permissions.registry import permission


@permission("compaction.any-range")
def compactions_that_overlap() -> TableFiles:
    """Compactions of versions 0-1, 1-2 and 0-2; the checkpoint of version 1 is within them."""
    files = log_only.build_checkpointed_table()
    first, second = ({"add": get_action(files, 1, "add", which)} for which in (0, 1))
    third, removed = files.commits[2][1:]
    table = files.commits[0][1:]
    files.compactions[0, 1] = [*table, first, second]
    files.compactions[1, 2] = [second, third, removed]
    files.compactions[0, 2] = [*table, second, third, removed]
    return files


@permission("compaction.example-without-commit-info")
def compaction_of_the_example() -> TableFiles:
    """The three commits and the compaction of the protocol's example."""
    f1, f2, f3, f4 = (add_action(f"f{number}", rows=1) for number in (1, 2, 3, 4))
    app = "3ae45b72-24e1-865a-a211-34987ae02f2a"
    removed, again = remove_action(f1), remove_action(f3)
    first, second = ({"txn": {"appId": app, "version": version}} for version in (4389, 4390))
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), f1]
    files.commits[4] = [commit_info_action(4), f2, removed]
    files.commits[5] = [commit_info_action(5), f3, f4, first]
    files.commits[6] = [commit_info_action(6), again, second]
    files.compactions[4, 6] = [f2, f4, removed, again, second]
    return files


@permission("last-checkpoint.optional-fields")
def hint_without_any_option() -> TableFiles:
    files = log_only.build_table_with_hint()
    files.last_checkpoint = {"version": 1, "size": 4}
    return files


@permission("last-checkpoint.tags")
def hint_with_tags() -> TableFiles:
    files = log_only.build_table_with_hint()
    files.last_checkpoint = {"version": 1, "size": 4, "tags": {"engine": "any"}, "v2Checkpoint": {"path": "x"}}
    return files


@permission("checksum.optional")
def checksum_of_one_version() -> TableFiles:
    return log_only.build_table_with_checksum()


@permission("checksum.transaction-id")
def checksum_of_the_same_transaction() -> TableFiles:
    return log_only.build_table_with_transaction_checksum("2a", catalog_managed=False)


def _build_table_with_histogram(boundaries: list[int], counts: list[int], total_bytes: list[int]) -> TableFiles:
    files = log_only.build_table_with_checksum()
    body = files.checksums[2]
    assert isinstance(body, dict)
    histogram = {"sortedBinBoundaries": boundaries, "fileCounts": counts, "totalBytes": total_bytes}
    files.checksums[2] = {**body, "fileSizeHistogram": histogram}
    return files


@permission("checksum.file-size-histogram")
def histogram_of_one_bin() -> TableFiles:
    return _build_table_with_histogram([0], [2], [2000])


@permission("checksum.file-size-histogram")
def files_at_the_edge_of_a_bin() -> TableFiles:
    """Both files have 1000 bytes and belong to the bin that starts there; the bin before is empty."""
    return _build_table_with_histogram([0, 1000, 1000, 1001], [0, 0, 2, 0], [0, 0, 2000, 0])


@permission("checksum.deleted-rows-histogram")
def rows_deleted_in_every_decade() -> TableFiles:
    """Deleted row counts on both sides of each bin edge: 0, 1, 9, 10, 99, 100, and so on up to the largest int."""
    edges = [0, 1, *(10**n - 1 + more for n in range(1, 8) for more in (0, 1)), 2**31 - 2, 2**31 - 1]
    files = log_only.build_table_with_features(
        "deletionVectors", configuration={DELETION_VECTORS: "true"}, last_remove=False
    )
    files.commits = {0: files.commits[0], 1: [commit_info_action(1)]}
    vector: dict[str, Any] = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 40}
    for number, count in enumerate(edges):
        add = add_action(f"f{number}.parquet", rows=2**40)
        if count:
            add["add"]["deletionVector"] = {**vector, "offset": 1 + 60 * number, "cardinality": count}
        files.commits[1].append(add)
    metadata, protocol = get_action(files, 0, "metaData"), get_action(files, 0, "protocol")
    files.checksums[1] = {
        "tableSizeBytes": 1000 * len(edges),
        "numFiles": len(edges),
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": metadata,
        "protocol": protocol,
        "numDeletedRecordsOpt": sum(edges),
        "numDeletionVectorsOpt": len(edges) - 1,
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 2, 2, 2, 2, 2, 2, 2, 2, 1]},
    }
    return files


@permission("reconciliation.file-under-several-vectors")
def file_live_under_its_third_vector() -> TableFiles:
    """Two vectors of the path are tombstones, a third is live; the checkpoint contains all three."""
    files = log_only.build_table_with_vector()
    path = get_action(files, 2, "add")
    rows = [*files.commits[0][1:], {"add": get_action(files, 1, "add", 1)}]
    before = path
    for version, deleted in ((3, (2,)), (4, (2, 4))):
        now = {**path, "deletionVector": inline_vector_descriptor(deleted)}
        removed = {"remove": {**remove_action({"add": before})["remove"], "deletionVector": before["deletionVector"]}}
        files.commits[version] = [commit_info_action(version), removed, {"add": now}]
        rows.append(removed)
        before = now
    rows += [{"add": before}, {"remove": get_action(files, 2, "remove")}]
    files.checkpoints.append(CheckpointFiles(4, "classic", rows=rows))
    return files
