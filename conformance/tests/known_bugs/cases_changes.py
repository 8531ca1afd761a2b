"""Change data: the record of rows that a commit changes."""

from typing import Any

import pyarrow as pa
from known_bugs.registry import known_bug

from deltaspec_generators.small_tables import FIELDS, add_data_file, build_rows, encode_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only

CHANGE_FEED_ENABLED = {"delta.enableChangeDataFeed": "true"}


@known_bug("cdf-003", FIL007=1)
def null_partition_value_dropped_from_change_file(is_sound: bool) -> TableFiles:
    """An update sets the partition column to null, and the change file has no key for it: readers fail."""
    files = log_only.build_table(
        protocol=protocol_action(1, 4),
        configuration=CHANGE_FEED_ENABLED,
        fields=[("id", "long"), ("p", "string")],
        partition_columns=["p"],
        partition={"p": None},
    )
    values: dict[str, Any] = {"p": None} if is_sound else {}
    change = {
        "path": "_change_data/p=__HIVE_DEFAULT_PARTITION__/cdc-0.parquet",
        "partitionValues": values,
        "size": 10,
        "dataChange": False,
    }
    files.commits[2].append({"cdc": change})
    return files


@known_bug("cdf-004", level="rows", CDF006=1)
def overwrite_without_its_deletes(is_sound: bool) -> TableFiles:
    """An overwrite writes its new rows to the change feed but not the rows that it removes."""
    files, old = _build_one_file()
    new = build_rows(10, 5)
    changes = [_changes(new, "insert"), _changes(build_rows(), "delete")]
    files.commits[2] = [
        commit_info_action(2, operation="WRITE", operationParameters={"mode": "Overwrite"}),
        add_data_file(files, "b.parquet", new),
        remove_action(old),
        _cdc(files, pa.concat_tables(changes if is_sound else changes[:1])),
    ]
    return files


@known_bug("cdf-004", level="rows", CDF006=1)
def delete_with_missing_change_rows(is_sound: bool) -> TableFiles:
    """A delete of three rows writes two of them to the change feed."""
    files, old = _build_one_file()
    files.commits[2] = [
        commit_info_action(2, operation="DELETE"),
        add_data_file(files, "b.parquet", build_rows(0, 7)),
        remove_action(old),
        _cdc(files, _changes(build_rows(7, 3 if is_sound else 2), "delete")),
    ]
    return files


@known_bug("cdf-006", level="rows", CDF008=1)
def update_by_vector_without_change_data(is_sound: bool) -> TableFiles:
    """An update marks a row in a deletion vector and adds the new row in another file; consumers see two unrelated
    events."""
    protocol = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors", "changeDataFeed"])
    files, old = _build_one_file(protocol, {**CHANGE_FEED_ENABLED, "delta.enableDeletionVectors": "true"})
    marked = {"add": {**old["add"], "deletionVector": inline_vector_descriptor([3])}}
    before = build_rows(3, 1)
    after = before.set_column(1, "name", pa.array(["changed"], pa.string()))
    files.commits[2] = [
        commit_info_action(2, operation="UPDATE"),
        remove_action(old),
        marked,
        add_data_file(files, "b.parquet", after),
    ]
    if is_sound:
        images = [_changes(before, "update_preimage"), _changes(after, "update_postimage")]
        files.commits[2].append(_cdc(files, pa.concat_tables(images)))
    return files


@known_bug("vac-004", level="files", DAT004=1)
def change_file_vacuumed(is_sound: bool) -> TableFiles:
    """A vacuum without retention deletes change files that commits in the log still refer to."""
    files, old = _build_one_file()
    files.commits[2] = [
        commit_info_action(2, operation="DELETE"),
        add_data_file(files, "b.parquet", build_rows(0, 7)),
        remove_action(old),
        _cdc(files, _changes(build_rows(7, 3), "delete")),
    ]
    if not is_sound:
        files.missing = {"a.parquet", "_change_data/cdc-0.parquet"}
    return files


def _build_one_file(
    protocol: dict[str, Any] | None = None, configuration: dict[str, str] | None = None
) -> tuple[TableFiles, dict[str, Any]]:
    """A table with change data feed and one file of ten rows; also return the file's add."""
    files = TableFiles()
    metadata = metadata_action(FIELDS, configuration=configuration or CHANGE_FEED_ENABLED)
    files.commits[0] = [commit_info_action(0), protocol or protocol_action(1, 4), metadata]
    old = add_data_file(files, "a.parquet", build_rows())
    files.commits[1] = [commit_info_action(1), old]
    return files, old


def _changes(table: pa.Table, kind: str) -> pa.Table:
    return table.append_column("_change_type", pa.array([kind] * len(table), pa.string()))


def _cdc(files: TableFiles, table: pa.Table) -> dict[str, Any]:
    path, data = "_change_data/cdc-0.parquet", encode_data_file(table)
    files.data[path] = data
    return {"cdc": {"path": path, "partitionValues": {}, "size": len(data), "dataChange": False}}
