"""Small sound tables for situations that random tables rarely contain."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from deltaspec.protocol.log.file_names import commit_name
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row
from deltaspec_generators.small_tables import (
    FIELDS,
    add_data_file,
    build_rows,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import (
    LOG,
    TableFiles,
    commit_info_action,
    domain_action,
    metadata_action,
    protocol_action,
    txn_action,
)
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.written import describe_table

START_MS = 1_700_000_000_000
BOUND_CHARACTERS = 32
"""Characters of a string that Delta Spark keeps in a bound."""


def build_cut_bounds() -> ReadableTable:
    """Build a table whose string bounds are cut off; the maximum ends with a character that is larger than the rest.

    Source: Per-file Statistics (all revisions).
    """
    names = ["a" * 40, "b" * 40, "c" * BOUND_CHARACTERS + "d"]
    rows = pa.table({"name": pa.array(names, pa.string())})
    stats = {
        "numRecords": len(names),
        "minValues": {"name": min(names)[:BOUND_CHARACTERS]},
        "maxValues": {"name": max(names)[:BOUND_CHARACTERS] + "\x7f"},
        "nullCount": {"name": 0},
    }
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action([("name", "string")])]
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", rows, stats=json.dumps(stats))]
    return _finish(files, rows, "0: create the table", "1: append long strings, with cut bounds")


def _finish(files: TableFiles, rows: pa.Table, *history: str) -> ReadableTable:
    files.written_ms = {LOG + commit_name(version): START_MS + version for version in files.commits}
    return describe_table(files, rows, history)


def build_latest_actions() -> ReadableTable:
    """Build a table whose newest version has fewer properties, no domain and a lower transaction than the one before.

    Source: Change Metadata; Transaction Identifiers; Domain Metadata (all revisions).
    """
    files, rows = TableFiles(), build_rows()
    protocol = protocol_action(1, 7, None, ["domainMetadata"])
    files.commits[0] = [
        commit_info_action(0), protocol, metadata_action(FIELDS, configuration={"owner": "ana", "stage": "raw"})
    ]  # fmt: skip
    files.commits[1] = [
        commit_info_action(1), txn_action("loader", 7), domain_action("team"), add_data_file(files, "a.parquet", rows)
    ]  # fmt: skip
    files.commits[2] = [
        commit_info_action(2), txn_action("loader", 3), domain_action("team", removed=True),
        metadata_action(FIELDS, configuration={"owner": "ana"}),
    ]  # fmt: skip
    return _finish(files, rows, "0: create the table", "1: append", "2: unset a property, remove the domain")


def build_vectors_without_property() -> ReadableTable:
    """Build a table with deletion vectors whose property was set to false later.

    Source: Deletion Vectors, Reader Requirements (r3, current).
    """
    files = build_table_with_stored_vectors()
    configuration = {DELETION_VECTORS: "false"}
    files.commits[4] = [commit_info_action(4), metadata_action(FIELDS, configuration=configuration)]
    b, c = build_rows(10), build_rows(20)
    rows = pa.concat_tables([b.take([0, 2, *range(4, 10)]), c.take([0, 1, *range(3, 10)])])
    return _finish(files, rows, "3: delete rows by vectors", "4: disable deletion vectors")


def build_checkpoint(protocol: Row, **layout: Any) -> ReadableTable:
    """Build a table with a checkpoint of version 1 and without the commit before it; version 2 removes a file of it.

    Source: Checkpoints (all revisions). `layout` has fields of `CheckpointFiles`.
    """
    files = build_table_with_data(protocol=protocol)
    table = [line for line in files.commits[0] if isinstance(line, dict) and "commitInfo" not in line]
    adds = [
        {"add": {**line["add"], "dataChange": False}}
        for line in files.commits[1]
        if isinstance(line, dict) and "add" in line
    ]
    first = [{"checkpointMetadata": {"version": 1}}] if layout.get("v2") else []
    files.checkpoints = [CheckpointFiles(1, rows=[*first, *table, *adds], **layout)]
    del files.commits[0]
    rows = pa.concat_tables([build_rows(10), build_rows(20)])
    return _finish(files, rows, "1: append, then write a checkpoint and clean up the log", "2: replace a file")


def build_checkpoint_with_few_columns() -> ReadableTable:
    """Build a table whose checkpoint has no columns for actions that it does not have."""
    return build_checkpoint(protocol_action(1, 2), dropped_columns=frozenset({"txn", "remove", "domainMetadata"}))


def build_json_checkpoint() -> ReadableTable:
    """Build a table that only a JSON checkpoint describes."""
    protocol = protocol_action(3, 7, ["v2Checkpoint"], ["v2Checkpoint"])
    return build_checkpoint(protocol, naming="uuid-json", v2=True)


def build_default_column() -> ReadableTable:
    """Build a table with a file that is older than a column with a default.

    Source: Default Columns, Reader Requirements (r3, current).
    """
    files, rows = TableFiles(), build_rows()
    field = {"name": "stage", "type": "string", "nullable": True, "metadata": {"CURRENT_DEFAULT": "'raw'"}}
    protocol = protocol_action(1, 7, None, ["allowColumnDefaults"])
    files.commits[0] = [commit_info_action(0), protocol, metadata_action(FIELDS)]
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", rows)]
    files.commits[2] = [commit_info_action(2), metadata_action([*FIELDS, field])]
    expected = rows.append_column("stage", pa.nulls(rows.num_rows, pa.string()))
    return _finish(files, expected, "1: append", "2: add a column with a default")


def build_partition_columns_out_of_order() -> ReadableTable:
    """Build a table with two partition columns of strings that are not in the order of their names.

    Source: Partition Value Serialization (all revisions).
    """
    files, rows = TableFiles(), build_rows(count=2)
    fields = [*FIELDS, ("region", "string"), ("area", "string")]
    files.commits[0] = [
        commit_info_action(0), protocol_action(1, 2), metadata_action(fields, partition_columns=["region", "area"])
    ]  # fmt: skip
    texts = {"a.parquet": ("north", "x"), "b.parquet": ("south", "y")}
    files.commits[1] = [
        commit_info_action(1),
        *(
            add_data_file(files, path, rows, partitionValues={"region": region, "area": area})
            for path, (region, area) in texts.items()
        ),
    ]
    parts = [
        rows.append_column("region", pa.array([region] * 2, pa.string())).append_column(
            "area", pa.array([area] * 2, pa.string())
        )
        for region, area in texts.values()
    ]
    return _finish(files, pa.concat_tables(parts), "1: append to two partitions")


SOUND_TABLES: dict[str, Callable[[], ReadableTable]] = {
    "cut-bounds": build_cut_bounds,
    "latest-actions": build_latest_actions,
    "vectors-without-property": build_vectors_without_property,
    "checkpoint-with-few-columns": build_checkpoint_with_few_columns,
    "json-checkpoint": build_json_checkpoint,
    "default-column": build_default_column,
    "partition-columns-out-of-order": build_partition_columns_out_of_order,
}
"""All tables by name."""
