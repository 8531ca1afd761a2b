"""Mutations of compactions, version checksums and the checkpoint hint."""

from typing import Any

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles, add_action, txn_action
from deltaspec_generators.mutations import MUTATIONS, Mutation, mutation, pick


@mutation("compaction.equals-replay")
def action_absent_from_compaction(draw: st.DrawFn) -> TableFiles:
    files = bases.compacted()
    del files.compactions[(1, 2)][draw(st.integers(0, 2))]
    return files


@mutation("compaction.equals-replay")
def action_of_nobody_in_compaction(draw: st.DrawFn) -> TableFiles:
    files = bases.compacted()
    files.compactions[(1, 2)].append(pick(draw, add_action("never.parquet", rows=1), txn_action("app", 1)))
    return files


@mutation("compaction.equals-replay")
def action_changed_in_compaction(draw: st.DrawFn) -> TableFiles:
    files = bases.compacted()
    first = files.compactions[(1, 2)][0]
    assert isinstance(first, dict)
    files.compactions[(1, 2)][0] = {"add": {**first["add"], "size": 7}}
    return files


def _checksum(change: dict[str, Any]) -> TableFiles:
    files = bases.checksummed()
    body = files.checksums[2]
    assert isinstance(body, dict)
    files.checksums[2] = {name: value for name, value in {**body, **change}.items() if value is not ...}
    return files


_CHECKSUMS: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "checksum_malformed": ("form", ({"numFiles": ...}, {"numFiles": "2"}, {"protocol": None}, {"metadata": {}})),
    "checksum_table_size": ("table-size", ({"tableSizeBytes": 1999}, {"tableSizeBytes": 0})),
    "checksum_file_count": ("num-files", ({"numFiles": 1}, {"numFiles": 3})),
    "checksum_counts_of_one": ("one-metadata-one-protocol", ({"numMetadata": 0}, {"numProtocol": 2})),
    "checksum_timestamp": ("in-commit-timestamp", ({"inCommitTimestampOpt": 7},)),
    "checksum_vectors": ("deletion-vectors", ({"numDeletedRecordsOpt": 1}, {"numDeletionVectorsOpt": 1})),
    "checksum_all_files": ("all-files", ({"allFiles": []},)),
    "checksum_histogram_form": (
        "histogram-form",
        (
            {"fileSizeHistogram": {"sortedBinBoundaries": [1, 1024], "fileCounts": [2, 0], "totalBytes": [2000, 0]}},
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [2], "totalBytes": [2000, 0]}},
            {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2]}},
        ),
    ),
    "checksum_histogram_values": (
        "histogram-values",
        (
            {"fileSizeHistogram": {"sortedBinBoundaries": [0, 1024], "fileCounts": [1, 1], "totalBytes": [2000, 0]}},
            {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]}},
        ),
    ),
    "checksum_protocol": ("protocol-and-metadata", ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}},)),
    "checksum_transactions": ("transactions-and-domains", ({"setTransactions": [txn_action("app", 1)["txn"]]},)),
}
"""Name to requirement and the changes of a sound checksum, `...` for a field taken away."""


def _breaks_checksum(changes: tuple[dict[str, Any], ...]) -> Any:
    return lambda draw: _checksum(pick(draw, *changes))


for _name, (_requirement, _changes) in _CHECKSUMS.items():
    MUTATIONS[_name] = Mutation(_name, f"checksum.{_requirement}", _breaks_checksum(_changes))


def _hint(**changes: Any) -> TableFiles:
    files = bases.hinted()
    assert isinstance(files.last_checkpoint, dict)
    files.last_checkpoint.update(changes)
    return files


@mutation("last-checkpoint.form")
def hint_malformed(draw: st.DrawFn) -> TableFiles:
    files = bases.hinted()
    files.last_checkpoint = pick(draw, "[]", "{", '{"version":1}', '{"version":"1","size":4}', b"\xff")
    return files


@mutation("last-checkpoint.no-repeated-keys")
def hint_key_twice(draw: st.DrawFn) -> TableFiles:
    files = bases.hinted()
    files.last_checkpoint = '{"version":1,"size":4,"version":1}'
    return files


@mutation("last-checkpoint.checksum")
def hint_checksum_wrong(draw: st.DrawFn) -> TableFiles:
    return _hint(checksum=pick(draw, "0" * 32, "x"))


@mutation("last-checkpoint.version")
def hint_ahead(draw: st.DrawFn) -> TableFiles:
    return _hint(version=draw(st.integers(2, 2**62)))


@mutation("last-checkpoint.parts")
def hint_parts_wrong(draw: st.DrawFn) -> TableFiles:
    return _hint(parts=draw(st.integers(2, 9)))


@mutation("last-checkpoint.size")
def hint_size_wrong(draw: st.DrawFn) -> TableFiles:
    return _hint(size=pick(draw, 0, 3, 5))


@mutation("last-checkpoint.size-in-bytes")
def hint_bytes_wrong(draw: st.DrawFn) -> TableFiles:
    return _hint(sizeInBytes=pick(draw, 0, 1))


@mutation("last-checkpoint.add-files")
def hint_add_files_wrong(draw: st.DrawFn) -> TableFiles:
    return _hint(numOfAddFiles=pick(draw, 0, 1, 3))
