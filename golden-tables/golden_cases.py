"""The golden cases: the content of each table and its expected result.

Expected rows are written out here; nothing computes them from the table.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.log import paths
from deltaspec.model.rows import deletion_vectors
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.checkpoint_writer import encode_parquet
from deltaspec_generators.table_files import (
    LOG,
    CheckpointFiles,
    Row,
    SidecarFile,
    TableFiles,
    add_action,
    encode_table,
    metadata_action,
    protocol_action,
    remove_action,
    txn_action,
)

START_MS = 1_767_225_600_000
"""2026-01-01 00:00:00 UTC."""
SALES = [("id", "long"), ("item", "string")]
SALES_ROWS = pa.schema([("id", pa.int64()), ("item", pa.string())])


@dataclass
class GoldenTable:
    """A table being built. Data files are written first, because the log contains their sizes."""

    present: Mapping[str, bytes]
    """Files of an earlier build by path in the table, reused if they have the same rows."""
    files: TableFiles = field(default_factory=TableFiles)

    def write_data_file(self, name: str, rows: pa.Table, *, version: int, **more: Any) -> Row:
        """Write a data file and return its `add` action with path, size and statistics."""
        written = encode_parquet(rows, self.present.get(name))
        self.files.data[name] = written
        body = {"size": len(written), "modificationTime": timestamp_ms(version), "stats": compute_statistics(rows)}
        return add_action(paths.encode(name), **{**body, **more})

    def commit(self, *actions: Row) -> None:
        """Add the next commit with a commitInfo and these actions."""
        version = max(self.files.commits, default=-1) + 1
        info = {"timestamp": timestamp_ms(version), "operation": "MANUAL", "engineInfo": "deltaspec golden tables"}
        self.files.commits[version] = [{"commitInfo": info}, *actions]


@dataclass(frozen=True)
class Case:
    """A golden case: how its table is built, and the expected result."""

    id: str
    title: str
    build: Callable[[GoldenTable], None]
    requirements: tuple[str, ...]
    sections: tuple[str, ...]
    """Sections of the protocol that the case covers."""
    rows: pa.Table | None
    """Rows of the newest version; None if the table is broken."""
    reader_features: tuple[str, ...] = ()
    writer_features: tuple[str, ...] = ()
    since: str = "r1"
    """First protocol revision that defines everything in the table."""
    twin: str | None = None
    defect: str | None = None
    """Difference between a broken table and its valid twin."""
    codes: tuple[str, ...] = ()
    """Error codes with which a reader must refuse the table; empty if it may read it."""

    @property
    def chapter(self) -> str:
        """Chapter folder of the case."""
        return self.id.partition(".")[0]


def timestamp_ms(version: int) -> int:
    """Return the timestamp of a version in milliseconds; versions are one minute apart."""
    return START_MS + version * 60_000


def compute_statistics(rows: pa.Table) -> str:
    """Compute statistics of longs and strings as in the log."""
    found: dict[str, Any] = {"numRecords": rows.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    for name in rows.column_names:
        column = rows.column(name)
        found["nullCount"][name] = column.null_count
        if column.null_count < len(column):
            bounds = pc.min_max(column).as_py()
            found["minValues"][name], found["maxValues"][name] = bounds["min"], bounds["max"]
    return encode_json(found)


def build_sales_rows(ids: list[int], items: list[str | None]) -> pa.Table:
    """Build rows of the table that most cases use."""
    return pa.table({"id": ids, "item": items}, schema=SALES_ROWS)


def build_append_and_remove(table: GoldenTable) -> None:
    first = table.write_data_file("part-0.parquet", build_sales_rows([1, 2, 3], ["apple", "pear", None]), version=1)
    second = table.write_data_file("part 1.parquet", build_sales_rows([4], ["fig"]), version=2)
    table.commit(protocol_action(1, 2), metadata_action(SALES, createdTime=timestamp_ms(0)))
    table.commit(first)
    table.commit(second, txn_action("loader", 7, lastUpdated=timestamp_ms(2)))
    table.commit(remove_action(first, timestamp_ms(3)))


def build_commit_gap(table: GoldenTable) -> None:
    build_append_and_remove(table)
    del table.files.commits[1]


def build_added_twice(table: GoldenTable) -> None:
    build_append_and_remove(table)
    table.files.commits[2].append(table.files.commits[2][1])


def build_partitioned(table: GoldenTable) -> None:
    fields = [("id", "long"), ("day", "date"), ("place", "string")]
    file_schema = pa.schema([("id", pa.int64())])
    table.commit(protocol_action(1, 2), metadata_action(fields, ["day", "place"], createdTime=timestamp_ms(0)))
    stored_files: list[tuple[str, list[int], dict[str, str | None]]] = [
        ("day=2026-01-31/place=Z%C3%BCrich/a.parquet", [1, 2], {"day": "2026-01-31", "place": "Zürich"}),
        ("day=__HIVE_DEFAULT_PARTITION__/b.parquet", [3], {"day": None, "place": ""}),
        ("c.parquet", [4], {"day": "0001-01-01", "place": "a b/c"}),
    ]
    adds = []
    for name, ids, values in stored_files:
        adds.append(
            table.write_data_file(name, pa.table({"id": ids}, schema=file_schema), version=1, partitionValues=values)
        )
    table.commit(*adds)


def build_partition_key_missing(table: GoldenTable) -> None:
    build_partitioned(table)
    add = json.loads(encode_json(table.files.commits[1][2]))
    del add["add"]["partitionValues"]["place"]
    table.files.commits[1][2] = add


def build_with_vectors(table: GoldenTable) -> None:
    feature = ["deletionVectors"]
    configuration = {"delta.enableDeletionVectors": "true"}
    metadata = metadata_action(SALES, configuration=configuration, createdTime=timestamp_ms(0))
    table.commit(protocol_action(3, 7, feature, feature), metadata)
    names = [f"f{number}" for number in range(6)]
    inline = table.write_data_file("inline.parquet", build_sales_rows(list(range(6)), names), version=1)
    stored = table.write_data_file("stored.parquet", build_sales_rows(list(range(10, 16)), names), version=1)
    table.commit(inline, stored)
    bitmaps = [deletion_vectors.encode_bitmap([0]), deletion_vectors.encode_bitmap([1, 5])]
    data, offsets = deletion_vectors.build_file(bitmaps)
    uuid = "d2c639aa-8816-431a-aaf6-d3fe2512ff61"
    table.files.extra[f"ab/deletion_vector_{uuid}.bin"] = data
    descriptor = {
        "storageType": "u",
        "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
        "offset": offsets[1],
        "sizeInBytes": len(bitmaps[1]),
        "cardinality": 2,
    }
    table.commit(*_build_delete_actions(stored, 2, descriptor))
    # The protocol's inline example is printed in another encoding, so this vector of rows 3 and 4 is our own.
    inline_vector = deletion_vectors.build_inline_descriptor([3, 4])
    table.commit(
        *_build_delete_actions(
            inline,
            3,
            {
                "storageType": "i",
                "pathOrInlineDv": inline_vector.path_or_inline_dv,
                "sizeInBytes": inline_vector.size_in_bytes,
                "cardinality": 2,
            },
        )
    )


def _build_delete_actions(add: Row, version: int, descriptor: Row) -> tuple[Row, Row]:
    wide = {**json.loads(add["add"]["stats"]), "tightBounds": False}
    changed = {**add["add"], "deletionVector": descriptor, "stats": encode_json(wide)}
    return remove_action(add, timestamp_ms(version)), {"add": changed}


def build_cleaned_up(table: GoldenTable) -> None:
    build_append_and_remove(table)
    third = table.write_data_file("part-2.parquet", build_sales_rows([5, 6], ["kiwi", "lime"]), version=4)
    commits = table.files.commits
    actions = [line for lines in commits.values() for line in lines[1:]]
    protocol, metadata, first, second, txn, removed = actions
    tombstone = {name: value for name, value in removed["remove"].items() if name != "tags"}
    checkpoint = CheckpointFiles(3, rows=[protocol, metadata, txn, second, {"remove": tombstone}])
    assert first["add"]["path"] == tombstone["path"]
    table.files.checkpoints.append(checkpoint)
    for version in (0, 1, 2):
        del commits[version]
    table.commit(third)
    table.files.last_checkpoint = {"version": 3, "size": 5, "numOfAddFiles": 1}


def build_v2_with_sidecars(table: GoldenTable) -> None:
    feature = ["v2Checkpoint"]
    configuration = {"delta.checkpointPolicy": "v2"}
    protocol = protocol_action(3, 7, feature, feature)
    metadata = metadata_action(SALES, configuration=configuration, createdTime=timestamp_ms(0))
    adds = [
        table.write_data_file(f"part-{number}.parquet", build_sales_rows([number], [f"item {number}"]), version=1)
        for number in range(3)
    ]
    table.commit(protocol, metadata)
    table.commit(*adds)
    table.commit(remove_action(adds[0], timestamp_ms(2)))
    sidecars = [
        SidecarFile("3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet", [adds[1]], modification_time=timestamp_ms(2)),
        SidecarFile(
            "016ae953-37a9-438e-8683-9a9a4a79a395.parquet",
            [adds[2], remove_action(adds[0], timestamp_ms(2))],
            modification_time=timestamp_ms(2),
        ),
    ]
    table.files.checkpoints.append(
        CheckpointFiles(
            2,
            "uuid-json",
            v2=True,
            rows=[{"checkpointMetadata": {"version": 2}}, protocol, metadata],
            uuid="80a083e8-7026-4e79-81be-64bd76c43a11",
            sidecars=sidecars,
        )
    )
    table.commit(table.write_data_file("part-3.parquet", build_sales_rows([3], ["item 3"]), version=3))


def build_compacted(table: GoldenTable) -> None:
    build_append_and_remove(table)
    commits = table.files.commits
    (first,), (second, txn), (removed,) = (commits[version][1:] for version in (1, 2, 3))
    table.files.compactions[1, 3] = [second, removed, txn]
    protocol, metadata = commits[0][1:]
    sizes = {1: [first], 2: [first, second], 3: [second]}
    for version, live in sizes.items():
        table.files.checksums[version] = {
            "tableSizeBytes": sum(add["add"]["size"] for add in live),
            "numFiles": len(live),
            "numMetadata": 1,
            "numProtocol": 1,
            "setTransactions": [txn["txn"]] if version > 1 else [],
            "domainMetadata": [],
            "metadata": metadata["metaData"],
            "protocol": protocol["protocol"],
            "allFiles": [add["add"] for add in live],
        }


DAYS = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("place", pa.string())])
PARTITIONED_ROWS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "day": pa.array([20484, 20484, None, -719162], pa.int32()).cast(pa.date32()),
        "place": ["Zürich", "Zürich", None, "a b/c"],
    },
    schema=DAYS,
)

CASES = (
    Case(
        "log.append-remove",
        "Two files are appended, the first is removed; one path has an escape.",
        build_append_and_remove,
        ("reconciliation.live-and-dead-disjoint", "add.path-encoding"),
        ("Action Reconciliation", "Add File and Remove File"),
        build_sales_rows([4], ["fig"]),
    ),
    Case(
        "log.commit-gap",
        "A commit between others is missing, and no checkpoint stands in for it.",
        build_commit_gap,
        ("log.versions-contiguous",),
        ("Delta Log Entries",),
        None,
        twin="log.append-remove",
        defect="commit 1 is missing",
        codes=("invalid_log",),
    ),
    Case(
        "reconciliation.added-twice",
        "A commit adds one path twice.",
        build_added_twice,
        ("reconciliation.no-repeated-actions",),
        ("Requirements for Writers, Delta Log Entries",),
        None,
        twin="log.append-remove",
        defect="the add of commit 2 stands there twice",
    ),
    Case(
        "partition-values.null",
        "Partition values of a date and a string: plain, beyond ASCII, null and the empty string, which is null too.",
        build_partitioned,
        ("partition-values.serialization", "partition-values.names"),
        ("Partition Value Serialization",),
        PARTITIONED_ROWS,
    ),
    Case(
        "partition-values.key-missing",
        "An add of a partitioned table lacks the value of one partition column.",
        build_partition_key_missing,
        ("partition-values.names",),
        ("Add File and Remove File", "Requirements for Writers, Consistency Between Table Metadata and Data Files"),
        None,
        twin="partition-values.null",
        defect="the second add has no value for `place`",
    ),
    Case(
        "deletion-vectors.inline-and-stored",
        "Rows deleted by an inline vector, and by the second vector of a file whose name has a prefix.",
        build_with_vectors,
        ("deletion-vectors.bitmap-format", "deletion-vectors.cardinality", "deletion-vectors.path"),
        ("Deletion Vectors", "Deletion Vector Format"),
        build_sales_rows([0, 1, 2, 5, 10, 12, 13, 14], ["f0", "f1", "f2", "f5", "f0", "f2", "f3", "f4"]),
        reader_features=("deletionVectors",),
        writer_features=("deletionVectors",),
    ),
    Case(
        "checkpoints.classic-cleaned-up",
        "A classic checkpoint, everything before it cleaned up, and one commit after it.",
        build_cleaned_up,
        ("checkpoint.equals-replay", "last-checkpoint.version"),
        ("Checkpoints", "Metadata Cleanup"),
        build_sales_rows([4, 5, 6], ["fig", "kiwi", "lime"]),
    ),
    Case(
        "checkpoints.v2-sidecars",
        "A checkpoint with V2 content as JSON, whose file actions are in two sidecars.",
        build_v2_with_sidecars,
        ("checkpoint.v2-has-metadata", "sidecar.files-only"),
        ("V2 Spec", "Sidecar Files"),
        build_sales_rows([1, 2, 3], ["item 1", "item 2", "item 3"]),
        reader_features=("v2Checkpoint",),
        writer_features=("v2Checkpoint",),
        since="r3",
    ),
    Case(
        "compactions.with-checksums",
        "A log compaction stands beside its commits, and each of them has a version checksum.",
        build_compacted,
        ("compaction.equals-replay", "checksum.table-size", "checksum.num-files"),
        ("Log Compaction Files", "Version Checksum File"),
        build_sales_rows([4], ["fig"]),
        since="current",
    ),
)


def build_table(case: Case, present: Mapping[str, bytes]) -> tuple[TableFiles, dict[str, bytes]]:
    """Build the table of a case; return the builder value and the encoded files."""
    table = GoldenTable(present)
    case.build(table)
    return table.files, encode_table(table.files, present)


def get_latest_action(files: TableFiles, kind: str) -> Row:
    """Return the newest body of an action kind in the commits, or else in the checkpoints."""
    lines = [line for checkpoint in files.checkpoints for line in checkpoint.rows]
    for version in sorted(files.commits):
        lines += files.commits[version]
    found: Row = [line[kind] for line in lines if isinstance(line, dict) and kind in line][-1]
    return found


__all__ = ["CASES", "LOG", "Case", "GoldenTable", "build_table", "get_latest_action"]
