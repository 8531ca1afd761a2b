"""Valid tables whose types were widened, or whose record of it was dropped, as the protocol permits."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import COLUMN_ID, COLUMN_MAPPING_MODE, MAX_COLUMN_ID, PHYSICAL_NAME
from deltaspec_generators import small_tables
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.nested_types import array_type, map_type, struct_type
from planted_tables.bases.type_widening import (
    ENABLED,
    FEATURES,
    INTEGER_TO_LONG,
    build_column,
    build_table_with_column_versions,
    build_type_change,
    build_widened_files_table,
    build_widening_data_table,
    recompute_statistics,
)
from planted_tables.permissions.registry import permission


@permission("type-widening.integers")
def places_below_columns_widened() -> TableFiles:
    """Elements, keys, values and nested struct fields; previews also recorded table versions."""
    inner = struct_type(build_column("short", name="x"))
    wider = struct_type(
        build_column("integer", [{**build_type_change("short", "integer"), "tableVersion": 3}], name="x")
    )
    record = [build_type_change("byte", "short", "key"), build_type_change("integer", "long", "value.element")]
    return build_table_with_column_versions(
        _build_struct_column(
            build_column(map_type("byte", array_type("integer")), name="m"), build_column(array_type(inner), name="a")
        ),
        _build_struct_column(
            build_column(map_type("short", array_type("long")), record, name="m"),
            build_column(array_type(wider), name="a"),
        ),
    )


def _build_struct_column(*fields: dict[str, object]) -> dict[str, object]:
    return build_column(struct_type(*fields))


@permission("type-widening.integers", "rows")
def files_from_before_a_column_was_widened() -> TableFiles:
    return build_widened_files_table(rewritten=False)


@permission("type-widening.may-be-dropped", "rows")
def record_dropped_once_files_are_rewritten() -> TableFiles:
    return build_widened_files_table(rewritten=True)


@permission("type-widening.may-be-dropped", "rows")
def feature_dropped_without_a_trace() -> TableFiles:
    files = build_widened_files_table(rewritten=True)
    files.commits[6] = [commit_info_action(6), metadata_action([*small_tables.FIELDS, build_column("long")])]
    files.commits[6].append(protocol_action(3, 7, [], []))
    return files


@permission("type-widening.integers")
def version_from_before_a_change_restored() -> TableFiles:
    """The restore removes files added after the change and brings the old column type back."""
    files = build_table_with_column_versions(build_column("integer"), build_column("long", INTEGER_TO_LONG))
    added = {**get_action(files, 2, "add"), "path": "d.parquet"}
    files.commits[4] = [commit_info_action(4), {"add": added}]
    before = metadata_action([("id", "long"), build_column("integer")], configuration=ENABLED)
    files.commits[5] = [commit_info_action(5), before, remove_action({"add": added})]
    return files


@permission("type-widening.integers")
def table_replaced_by_one_of_other_types() -> TableFiles:
    files = build_table_with_column_versions(build_column("integer"))
    removes = [remove_action(row) for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    other = metadata_action([("id", "string"), build_column("date")], configuration=ENABLED)
    files.commits[3] = [commit_info_action(3), other, *removes]
    return files


@permission("type-widening.integers")
def column_dropped_and_added_with_another_type() -> TableFiles:
    """With column mapping, the new column has the same name but another id."""

    def mapped(number: int, kind: str) -> dict[str, object]:
        names = {COLUMN_ID: number, PHYSICAL_NAME: f"col-{number}"}
        return {"name": "c", "type": kind, "nullable": True, "metadata": names}

    files = log_only.build_table_with_features(
        *("typeWidening", "columnMapping"),
        configuration={**ENABLED, COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "2"},
        fields=[mapped(1, "string")],
    )
    settings = get_action(files, 0, "metaData")["configuration"]
    files.commits[3] = [commit_info_action(3), metadata_action([mapped(2, "date")], configuration=settings)]
    return files


def _widen_and_drop_record(files: TableFiles, partition_columns: Sequence[str] = ()) -> TableFiles:
    """Widen the column to long, then drop the record; files stay."""
    other = [each for each in _read_schema_fields(files) if each["name"] != "c"]
    version = max(files.commits) + 1
    for number, record in enumerate((INTEGER_TO_LONG, None), start=version):
        metadata = metadata_action([*other, build_column("long", record)], partition_columns, ENABLED)
        files.commits[number] = [commit_info_action(number), metadata]
    return files


def _read_schema_fields(files: TableFiles) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(get_action(files, 0, "metaData")["schemaString"])["fields"]
    return found


@permission("type-widening.may-be-dropped", "rows")
def record_of_a_partition_column_dropped() -> TableFiles:
    """Data files do not contain partition columns."""
    files = build_widening_data_table([small_tables.build_rows(0)] * 3)
    fields: list[Any] = [*small_tables.FIELDS, build_column("integer")]
    files.commits[0][2] = metadata_action(fields, ["c"], ENABLED)
    for version, kind, which in ((1, "add", 0), (1, "add", 1), (2, "add", 0), (2, "remove", 0)):
        get_action(files, version, kind, which)["partitionValues"] = {"c": "1"}
    return _widen_and_drop_record(files, ["c"])


@permission("type-widening.may-be-dropped", "rows")
def record_dropped_where_files_lack_the_column() -> TableFiles:
    """The files were written while the column was void."""
    files = build_widening_data_table([small_tables.build_rows(0)] * 3)
    files.commits[0][2] = metadata_action([*small_tables.FIELDS, build_column("void")], (), ENABLED)
    files.commits[3] = [
        commit_info_action(3),
        metadata_action([*small_tables.FIELDS, build_column("integer")], (), ENABLED),
    ]
    return _widen_and_drop_record(files)


@permission("type-widening.may-be-dropped", "rows")
def record_dropped_where_files_have_no_rows() -> TableFiles:
    empty = small_tables.build_rows(0, 0).append_column("c", pa.array([], pa.int32()))
    return _widen_and_drop_record(build_widening_data_table([empty] * 3))


@permission("type-widening.integers")
def version_from_before_a_change_restored_after_statistics() -> TableFiles:
    """Adding a file again does not make it newer."""
    files = recompute_statistics(
        build_table_with_column_versions(build_column("integer"), build_column("long", INTEGER_TO_LONG)), 4
    )
    before = metadata_action([("id", "long"), build_column("integer")], configuration=ENABLED)
    files.commits[5] = [commit_info_action(5, operation="RESTORE"), before]
    return files


@permission("type-widening.dates")
def file_of_a_widened_partition_column_added_again() -> TableFiles:
    """The add repeats the partition value that was written for the earlier type."""
    layout: dict[str, Any] = {"partition_columns": ["p"], "configuration": ENABLED}
    wider = build_column("timestamp_ntz", [build_type_change("date", "timestamp_ntz")], name="p")
    files = log_only.build_table_with_features(
        *FEATURES, fields=[("id", "long"), ("p", "date")], partition={"p": "2026-01-01"}, **layout
    )
    files.commits[3] = [commit_info_action(3), metadata_action([("id", "long"), wider], **layout)]
    again = {**get_action(files, 2, "add"), "dataChange": False, "tags": {"checked": "yes"}}
    files.commits[4] = [commit_info_action(4), {"add": again}]
    return files
