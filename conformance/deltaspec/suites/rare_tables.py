"""Sound tables for faults of readers that neither drawn tables nor golden cases show."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from deltaspec.protocol.files.paths import encode
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
    ROW_TRACKING,
    TYPE_CHANGES,
    TYPE_WIDENING,
)
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows, build_table_with_stored_vectors
from deltaspec_generators.table_files import (
    LOG,
    CheckpointFiles,
    TableFiles,
    commit_info_action,
    domain_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    txn_action,
)
from deltaspec_generators.table_history.written_table import WrittenTable
from deltaspec_generators.table_uris import ELSEWHERE_URI_OF_HADOOP
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.written import describe_table
from deltaspec_generators.values.variant_encoder import build_variant_column

START_MS = 1_700_000_000_000


def _build_table(
    fields: list[Any], table: pa.Table, *, features: tuple[list[str] | None, list[str]] | None = None, **add: Any
) -> TableFiles:
    """Build a table with one file; `features` are supported by readers and writers, `add` sets fields of the add."""
    readers, writers = features or (None, None)
    protocol = protocol_action(3 if readers else 1, 7 if writers else 2, readers, writers)
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol, metadata_action(fields)]
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", table, **add)]
    return files


def _describe(files: TableFiles, rows: pa.Table, *history: str, step_ms: int = 60_000) -> ReadableTable:
    files.written_ms = {LOG + commit_name(version): START_MS + version * step_ms for version in files.commits}
    return describe_table(files, rows, history)


def build_same_names_at_two_depths() -> ReadableTable:
    """Build a table with a column and a field of a struct that have the same name and different values.

    Source: Per-file Statistics (all revisions).
    """
    small, large = pa.array([1, 2, 3], pa.int64()), pa.array([100, 200, 300], pa.int64())
    rows = pa.table({"size": small, "box": pa.StructArray.from_arrays([large], ["size"])})
    box = {"type": "struct", "fields": [{"name": "size", "type": "long", "nullable": True, "metadata": {}}]}
    stats = {
        "numRecords": 3,
        "minValues": {"size": 1, "box": {"size": 100}},
        "maxValues": {"size": 3, "box": {"size": 300}},
        "nullCount": {"size": 0, "box": {"size": 0}},
    }
    files = _build_table([("size", "long"), ("box", box)], rows, stats=json.dumps(stats))
    return _describe(files, rows, "1: append")


def build_strings_with_nul() -> ReadableTable:
    """Build a table with strings that contain the character U+0000.

    Source: Schema Serialization Format, Primitive Types (all revisions).
    """
    rows = pa.table({"name": pa.array(["a\0b", "\0", "a"], pa.string())})
    files = _build_table([("name", "string")], rows, stats=json.dumps({"numRecords": 3}))
    return _describe(files, rows, "1: append")


def build_variant_with_metadata_first() -> ReadableTable:
    """Build a table with a variant whose group has the member `metadata` before `value`.

    Source: Variant Data in Parquet (r3, current).
    """
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "data": build_variant_column([1, "text"])})
    assert [each.name for each in rows.schema.field("data").type] == ["metadata", "value"]
    features = (["variantType"], ["appendOnly", "invariants", "variantType"])
    fields = [("id", "long"), ("data", "variant")]
    files = _build_table(fields, rows, features=features, stats=json.dumps({"numRecords": 2}))
    return _describe(files, rows, "1: append variants")


def build_nulls_next_to_deleted_rows() -> ReadableTable:
    """Build a table whose vectors delete as many rows as a column has nulls, none of which is deleted.

    Source: Per-file Statistics (all revisions); Deletion Vectors (r2, r3, current).
    """
    files = build_table_with_stored_vectors(((1, 3), (2, 3)))
    b, c = build_rows(10), build_rows(20)
    rows = pa.concat_tables([b.take([0, 2, *range(4, 10)]), c.take([0, 1, *range(4, 10)])])
    return _describe(files, rows, "3: delete two rows of each file by vectors; two other rows have nulls")


def build_partition_date_widened() -> ReadableTable:
    """Build a table whose partition column was a date when the file was written, and is a timestamp now.

    Source: Type Widening (r3, current).
    """
    rows = build_rows(count=2)
    names = ["appendOnly", "invariants", "timestampNtz", "typeWidening"]
    protocol = protocol_action(3, 7, ["timestampNtz", "typeWidening"], names)
    change = {"fromType": "date", "toType": "timestamp_ntz"}
    configuration = {TYPE_WIDENING: "true"}
    day = {"name": "day", "type": "date", "nullable": True, "metadata": {}}
    moment = {**day, "type": "timestamp_ntz", "metadata": {TYPE_CHANGES: [change]}}
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0), protocol, metadata_action([*FIELDS, day], ["day"], configuration)
    ]  # fmt: skip
    add = add_data_file(files, "a.parquet", rows, partitionValues={"day": "2024-02-29"})
    files.commits[1] = [commit_info_action(1), add]
    files.commits[2] = [commit_info_action(2), metadata_action([*FIELDS, moment], ["day"], configuration)]
    moments = pa.array([1_709_164_800_000_000] * 2, pa.timestamp("us"))
    return _describe(files, rows.append_column("day", moments), "1: append", "2: widen the partition column")


def build_stated_timestamp_not_enabled() -> ReadableTable:
    """Build a table whose commits have in-commit timestamps of other years, although the property is not set.

    Source: In-Commit Timestamps, Recommendations for Readers of Tables with In-Commit Timestamps (r3, current).
    """
    rows = build_rows(count=2)
    writers = ["appendOnly", "inCommitTimestamp", "invariants"]
    files = _build_table(list(FIELDS), rows, features=(None, writers))
    for version, lines in files.commits.items():
        (info,) = [line["commitInfo"] for line in lines if isinstance(line, dict) and "commitInfo" in line]
        info["inCommitTimestamp"] = START_MS * 2 + version
    return _describe(files, rows, "1: append")


def build_commits_within_a_second() -> ReadableTable:
    """Build a table with two commits in the same second.

    Source: Action Reconciliation; Change Data Files (all revisions).
    """
    rows = build_rows(count=2)
    files = _build_table(list(FIELDS), rows)
    newest = _describe(files, rows, "1: append, 100 ms later", step_ms=100)
    first = TableFiles(commits={0: files.commits[0]}, written_ms=files.written_ms)
    created = describe_table(first, rows.slice(0, 0))
    return replace(newest, versions=(*created.versions, *newest.versions))


def build_row_ids_assigned_later() -> ReadableTable:
    """Build a table whose live file is added again with row ids when row tracking is enabled.

    Source: Row Tracking, Writer Requirements for Row Tracking (current).
    """
    rows = build_rows(count=3)
    files = _build_table(list(FIELDS), rows)
    (added,) = [line["add"] for line in files.commits[1] if isinstance(line, dict) and "add" in line]
    columns = {
        f"delta.rowTracking.materializedRow{name}ColumnName": f"_{name}" for name in ("Id", "CommitVersion")
    }  # fmt: skip
    files.commits[2] = [
        commit_info_action(2),
        protocol_action(1, 7, None, ["appendOnly", "domainMetadata", "invariants", "rowTracking"]),
        metadata_action(FIELDS, configuration={ROW_TRACKING: "true", **columns}),
        domain_action("delta.rowTracking", '{"rowIdHighWaterMark":2}'),
        {"add": {**added, "dataChange": False, "baseRowId": 0, "defaultRowCommitVersion": 2}},
    ]
    table = _describe(files, rows, "1: append", "2: enable row tracking and add the file again with row ids")
    (newest,) = table.versions
    return replace(table, versions=(replace(newest, row_ids=[0, 1, 2], row_commit_versions=[2, 2, 2]),))


def build_cut_timestamps() -> ReadableTable:
    """Build a table whose bounds of timestamps have milliseconds although the values have microseconds.

    Source: Per-file Statistics (all revisions).
    """
    moments = pa.array([(START_MS - 1000) * 1000 + 1, START_MS * 1000 + 999], pa.timestamp("us", "UTC"))
    rows = pa.table({"moment": moments})
    low, high = {"moment": "2023-11-14T22:13:19.000Z"}, {"moment": "2023-11-14T22:13:20.000Z"}
    stats = {"numRecords": 2, "minValues": low, "maxValues": high, "nullCount": {"moment": 0}}
    files = _build_table([("moment", "timestamp")], rows, stats=json.dumps(stats))
    return _describe(files, rows, "1: append timestamps, with cut bounds")


def build_zeros_of_one_sign() -> ReadableTable:
    """Build a table whose files have zeros of one sign, in bounds, partition values and dictionaries.

    Source: Per-file Statistics; Partition Value Serialization (all revisions).
    """
    files, parts = TableFiles(), []
    fields = [("id", "long"), ("double", "double"), ("single", "float"), ("part", "double")]
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action(fields, ["part"])]
    files.commits[1] = [commit_info_action(1)]
    for number, zero in enumerate((-0.0, 0.0)):
        rows = pa.table({
            "id": pa.array([number], pa.int64()),
            "double": pa.array([zero], pa.float64()),
            "single": pa.array([zero], pa.float32()),
        })  # fmt: skip
        bounds = {"id": number, "double": zero, "single": zero}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds, "nullCount": dict.fromkeys(bounds, 0)}
        path, values = f"{number}.parquet", {"part": str(zero)}
        add = add_data_file(files, path, rows, stats=json.dumps(stats), partitionValues=values)
        files.commits[1].append(add)
        parts.append(rows.append_column("part", pa.array([zero], pa.float64())))
    return _describe(files, pa.concat_tables(parts), "1: append a file with -0.0 and a file with 0.0")


def build_mapping_property_not_supported() -> ReadableTable:
    """Build a table with the property and the physical names of column mapping, whose protocol does not support it.

    Source: Column Mapping (all revisions).
    """
    rows = build_rows(count=2)
    fields = [
        {"name": name, "type": kind, "nullable": True,
         "metadata": {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}}
        for number, (name, kind) in enumerate(FIELDS, 1)
    ]  # fmt: skip
    files = TableFiles()
    configuration = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: str(len(fields))}
    files.commits[0] = [
        commit_info_action(0), protocol_action(1, 2), metadata_action(fields, configuration=configuration)
    ]  # fmt: skip
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", rows)]
    return _describe(files, rows, "1: append files with display names")


def build_file_times_out_of_order() -> ReadableTable:
    """Build a table whose version 1 has an older file time than version 0, as after a copy.

    A version counts as old as the newest file up to it. Version 0 is not asked for: engines differ in whether version 1
    is as old or a millisecond younger.
    Source: In-Commit Timestamps (r3, current).
    """
    rows = build_rows(count=2)
    files = _build_table(list(FIELDS), rows)
    files.commits[2] = [commit_info_action(2), add_data_file(files, "b.parquet", rows)]
    newest = describe_table(files, pa.concat_tables([rows, rows]), ("1: append", "2: append again"))
    middle = describe_table(TableFiles(commits={version: files.commits[version] for version in (0, 1)}), rows)
    minute = 60_000
    times = (START_MS + minute, START_MS, START_MS + 2 * minute)
    files.written_ms = {LOG + commit_name(version): time for version, time in enumerate(times)}
    versions = (
        replace(middle.versions[0], timestamp_ms=START_MS + minute + 1000),
        replace(newest.versions[0], timestamp_ms=times[2]),
    )
    return replace(newest, versions=versions)


def build_shallow_clone() -> ReadableTable:
    """Build a clone whose first files are in another directory, with a checkpoint, a vector and a file of its own.

    Source: Add File and Remove File; Deletion Vectors; Checkpoints (current).
    """
    protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors"])
    metadata = metadata_action(FIELDS, configuration={DELETION_VECTORS: "true"})
    files, first, second, own = TableFiles(), build_rows(count=4), build_rows(10, 3), build_rows(20, 2)
    cloned = []
    for name, rows in (("a b.parquet", first), ("day=1/c.parquet", second)):
        add = add_data_file(files, name, rows)
        encoded = files.data.pop(name)
        assert isinstance(encoded, bytes)
        files.elsewhere[name] = encoded
        cloned.append({"add": {**add["add"], "path": ELSEWHERE_URI_OF_HADOOP + encode(name)}})
    vector = {"add": {**cloned[0]["add"], "deletionVector": inline_vector_descriptor((1, 3))}}
    files.commits[0] = [commit_info_action(0, operation="CLONE"), protocol, metadata, *cloned]
    files.commits[1] = [commit_info_action(1), remove_action(cloned[0]), vector]
    files.commits[2] = [commit_info_action(2), add_data_file(files, "own.parquet", own)]
    files.checkpoints = [CheckpointFiles(1, rows=[protocol, metadata, vector, cloned[1], remove_action(cloned[0])])]
    rows = pa.concat_tables([first.take([0, 2]), second, own])
    return _describe(files, rows, "0: clone", "1: delete rows by a vector", "2: append")


def build_equal_forms() -> ReadableTable:
    """Build a table with decimal bounds without zeros at the end, and with NaN whose sign is set.

    Source: Per-file Statistics (all revisions).
    """
    rows = pa.table({
        "price": pa.array([Decimal("1.50"), Decimal("20.00"), None], pa.decimal128(6, 2)),
        "number": pa.array([0.0, math.copysign(math.nan, -1.0), 5.0], pa.float64()),
    })  # fmt: skip
    stats = {
        "numRecords": 3,
        "minValues": {"price": 1.5},
        "maxValues": {"price": 20},
        "nullCount": {"price": 1, "number": 0},
    }
    files = _build_table([("price", "decimal(6,2)"), ("number", "double")], rows, stats=json.dumps(stats))
    return _describe(files, rows, "1: append")


def build_transaction_of_a_removal() -> ReadableTable:
    """Build a table whose newest commit has a transaction and removes a file, and adds none.

    Source: Transaction Identifiers (all revisions).
    """
    rows = build_rows(count=2)
    files = _build_table(list(FIELDS), rows)
    (added,) = [line for line in files.commits[1] if isinstance(line, dict) and "add" in line]
    files.commits[1].append(txn_action("app", 1))
    files.commits[2] = [commit_info_action(2), txn_action("app", 2), remove_action(added)]
    return _describe(files, rows.slice(0, 0), "1: append", "2: delete everything")


def build_hint_of_a_removed_checkpoint() -> ReadableTable:
    """Build a table whose hint names a checkpoint that was cleaned up; there is a newer one.

    Source: Last Checkpoint File (all revisions).
    """
    rows = build_rows(count=2)
    files = _build_table(list(FIELDS), rows)
    files.commits[2] = [commit_info_action(2), add_data_file(files, "b.parquet", rows)]
    table = [line for lines in files.commits.values() for line in lines if isinstance(line, dict)]
    files.checkpoints = [CheckpointFiles(2, rows=[line for line in table if "commitInfo" not in line])]
    files.last_checkpoint = {"version": 1, "size": 3}
    return _describe(files, pa.concat_tables([rows, rows]), "1: append", "2: append")


def build_restored_row_ids() -> ReadableTable:
    """Build a table with row tracking, in which a removed file is restored with its row ids.

    Source: Row Tracking, Reader Requirements for Row Tracking (current).
    """
    table = WrittenTable([("id", "long")], features=("rowTracking",))
    (first,) = table.append([(1,), (2,)])
    table.append([(3,)])
    table.remove(first.add["path"])
    table.append([(4,)])
    table.add_again(first.add["path"])
    return table.describe()


RARE_TABLES: dict[str, Callable[[], ReadableTable]] = {
    "same-names-at-two-depths": build_same_names_at_two_depths,
    "strings-with-nul": build_strings_with_nul,
    "variant-with-metadata-first": build_variant_with_metadata_first,
    "nulls-next-to-deleted-rows": build_nulls_next_to_deleted_rows,
    "partition-date-widened": build_partition_date_widened,
    "stated-timestamp-not-enabled": build_stated_timestamp_not_enabled,
    "commits-within-a-second": build_commits_within_a_second,
    "row-ids-assigned-later": build_row_ids_assigned_later,
    "cut-timestamps": build_cut_timestamps,
    "shallow-clone": build_shallow_clone,
    "zeros-of-one-sign": build_zeros_of_one_sign,
    "equal-forms": build_equal_forms,
    "transaction-of-a-removal": build_transaction_of_a_removal,
    "hint-of-a-removed-checkpoint": build_hint_of_a_removed_checkpoint,
    "restored-row-ids": build_restored_row_ids,
    "mapping-property-not-supported": build_mapping_property_not_supported,
    "file-times-out-of-order": build_file_times_out_of_order,
}
"""All tables by name."""
