"""Tables with change data, rearranged rows and legacy row id marks."""

from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import CHANGE_DATA_FEED, DELETION_VECTORS
from deltaspec_generators.checkpoint_writer import Row
from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows, encode_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only

DOMAIN_METADATA_PROTOCOL = protocol_action(1, 7, None, ["domainMetadata"])
CHANGE_FEED_ENABLED = {CHANGE_DATA_FEED: "true"}
CHANGE_FILE_PATH = "_change_data/cdc-0.parquet"


def build_change_rows(table: pa.Table, kinds: list[str | None]) -> pa.Table:
    """Append the column `_change_type` to the rows of a change data file."""
    return table.append_column("_change_type", pa.array(kinds, pa.string()))


def add_change_file(files: TableFiles, path: str, table: pa.Table, **more: Any) -> Row:
    """Add a change data file to a table and return its `cdc` action."""
    data = encode_data_file(table)
    files.data[path] = data
    return {"cdc": {"path": path, "partitionValues": {}, "size": len(data), "dataChange": False, **more}}


def build_updated_table() -> tuple[TableFiles, pa.Table]:
    """Build a table whose last commit updates row 3 and deletes row 4 of ten; also return its change rows."""
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 4),
        metadata_action(FIELDS, configuration=CHANGE_FEED_ENABLED),
    ]
    before = build_rows()
    add = add_data_file(files, "a.parquet", before)
    files.commits[1] = [commit_info_action(1), add]
    changed = before.slice(3, 1).set_column(1, "name", pa.array(["changed"], pa.string()))
    rewritten_rows = pa.concat_tables([before.slice(0, 3), changed, before.slice(5)])
    table = build_change_rows(
        pa.concat_tables([before.slice(3, 1), changed, before.slice(4, 1)]),
        ["update_preimage", "update_postimage", "delete"],
    )
    files.commits[2] = [
        commit_info_action(2, operation="MERGE"),
        add_data_file(files, "b.parquet", rewritten_rows),
        remove_action(add),
        add_change_file(files, CHANGE_FILE_PATH, table),
    ]
    return files, table


def build_table_updated_by_vector(operation: str | None) -> TableFiles:
    """Build a table with change data feed whose last commit replaces row 3 without a change data file.

    Args:
        operation: operation in the commitInfo; None for none.
    """
    files = TableFiles()
    features = ["deletionVectors"]
    protocol = protocol_action(3, 7, features, [*features, "changeDataFeed"])
    configuration = {**CHANGE_FEED_ENABLED, DELETION_VECTORS: "true"}
    files.commits[0] = [commit_info_action(0), protocol, metadata_action(FIELDS, configuration=configuration)]
    add = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), add]
    changed = build_rows(3, 1).set_column(1, "name", pa.array(["changed"], pa.string()))
    files.commits[2] = [
        commit_info_action(2, operation=operation),
        {"add": {**add["add"], "deletionVector": inline_vector_descriptor([3])}},
        remove_action(add),
        add_data_file(files, "b.parquet", changed),
    ]
    return files


def build_updated_table_with_changes(table: pa.Table) -> TableFiles:
    """Build the updated table with other rows in its change data file."""
    files, _ = build_updated_table()
    files.commits[2][-1] = add_change_file(files, CHANGE_FILE_PATH, table)
    return files


def build_partitioned_change_table(path: str) -> TableFiles:
    """Build a partitioned table whose last commit has a `cdc` action for this path."""
    files = log_only.build_table(
        fields=(("id", "long"), ("p", "string")), partition_columns=["p"], partition={"p": "x"}, last_remove=False
    )
    body = {"path": path, "partitionValues": {"p": "x"}, "size": 1000, "dataChange": False}
    files.commits[2].append({"cdc": body})
    return files


def build_rearranged_table(removed: list[int], added: list[int], *, stated_by_removes: bool = True) -> TableFiles:
    """Build a table whose last commit states that it only rearranges rows.

    Args:
        removed: row counts of the removed files.
        added: row counts of the added files.
        stated_by_removes: whether the removes have `dataChange: false`; otherwise the adds have it.
    """
    files = log_only.build_table(last_remove=False)
    old = [add_action(f"old-{number}.parquet", rows=count) for number, count in enumerate(removed)]
    files.commits[1] += old
    unchanged: dict[str, Any] = {"dataChange": False}
    removes = [remove_action(each, **(unchanged if stated_by_removes else {})) for each in old]
    adds = [
        add_action(f"new-{number}.parquet", rows=count, **({} if stated_by_removes else unchanged))
        for number, count in enumerate(added)
    ]
    files.commits[3] = [commit_info_action(3, operation="OPTIMIZE"), *removes, *adds]
    return files


def legacy_row_id_mark_action(highest: int, **more: Any) -> dict[str, object]:
    """Build the action that stores the row id high-water mark in r1 and r2; later revisions ignore it."""
    return {"rowIdHighWaterMark": {"highWaterMark": highest, **more}}
