"""Tables with Iceberg compatibility V1 or V2."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, NESTED_IDS
from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import build_mapped_field, field_id_metadata
from planted_tables.bases.nested_types import array_type, map_type

NESTED_ID_KEYS = (NESTED_IDS, "parquet.field.nested.ids")
"""Metadata keys of nested ids: of the current protocol, and of r3."""


def build_configuration(compatibility: str, mode: str = "name", **more: str) -> dict[str, str]:
    """Build the table properties; `more` sets others by name without `delta.`, with `__` for a dot."""
    return {
        COLUMN_MAPPING_MODE: mode,
        MAX_COLUMN_ID: "30",
        f"delta.enableIcebergCompat{compatibility}": "true",
        **{f"delta.{name.replace('__', '.')}": value for name, value in more.items()},
    }


def build_protocol(compatibility: str, *features: str) -> dict[str, Any]:
    """Build the protocol; `features` are further reader-writer features."""
    writers = ["columnMapping", f"icebergCompat{compatibility}", *features]
    return protocol_action(3, 7, ["columnMapping", *features], writers)


def build_compatible_table(
    compatibility: str,
    *features: str,
    fields: Sequence[Any] | None = None,
    partition_columns: Sequence[str] = (),
    partition: Mapping[str, str | None] | None = None,
    last_remove: bool = True,
    **more: str,
) -> TableFiles:
    """Build a table with compatibility V1 or V2 from its first commit; `more` as in `build_configuration`."""
    return log_only.build_table(
        protocol=build_protocol(compatibility, *features),
        configuration=build_configuration(compatibility, **more),
        fields=fields or [build_mapped_field("id", 1), build_mapped_field("name", 2, "string")],
        partition_columns=partition_columns,
        partition=partition,
        last_remove=last_remove,
    )


# nested columns


def build_field_with_nested_ids(name: str, number: int, kind: Any, parts: Mapping[str, int]) -> dict[str, Any]:
    """Build a field with nested ids under both keys, each with the names of its revision."""
    field = build_mapped_field(name, number, kind)
    for key, root in zip(NESTED_ID_KEYS, (f"col-{number}", name), strict=True):
        field["metadata"][key] = {f"{root}.{part}": part_id for part, part_id in parts.items()}
    return field


def build_nested_fields() -> list[dict[str, Any]]:
    """Build an array, a map whose values are arrays, and an array of structs that contain an array."""
    inner = {"type": "struct", "fields": [build_field_with_nested_ids("x", 5, array_type("long"), {"element": 15})]}
    return [
        build_mapped_field("id", 1),
        build_field_with_nested_ids("tags", 2, array_type("string"), {"element": 10}),
        build_field_with_nested_ids(
            "m", 3, map_type("string", array_type("long")), {"key": 11, "value": 12, "value.element": 13}
        ),
        build_field_with_nested_ids("s", 4, array_type(inner), {"element": 14}),
    ]


def build_nested_table(change: Callable[[list[Any]], object] = lambda fields: None) -> TableFiles:
    """Build a V2 table with the fields of `build_nested_fields` after a change."""
    files = build_compatible_table("V2", fields=build_nested_fields())
    body = get_action(files, 0, "metaData")
    schema = json.loads(body["schemaString"])
    change(schema["fields"])
    body["schemaString"] = json.dumps(schema)
    return files


# data files


def _build_rows(columns: Mapping[str, pa.Array], ids: Mapping[str, int]) -> pa.Table:
    fields = [pa.field(name, each.type, metadata=field_id_metadata(ids[name])) for name, each in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def build_partitioned_rows(*names: str) -> pa.Table:
    """Build ten rows with some of the columns `col-1`, `col-2` and the partition column `col-3`, in this order."""
    columns = {
        "col-1": pa.array(range(10), pa.int64()),
        "col-2": pa.array([f"name {each}" for each in range(10)], pa.string()),
        "col-3": pa.array(["x"] * 10, pa.string()),
    }
    return _build_rows({name: columns[name] for name in names}, {"col-1": 1, "col-2": 2, "col-3": 3})


def build_partitioned_table(compatibility: str, *files: pa.Table) -> TableFiles:
    """Build a table partitioned by `day`; the first data file is added in version 1, the others in version 2."""
    fields = [
        build_mapped_field("id", 1),
        build_mapped_field("name", 2, "string"),
        build_mapped_field("day", 3, "string"),
    ]
    return _build_table_with_data(compatibility, fields, files, ["day"], {"col-3": "x"})


def _build_table_with_data(
    compatibility: str,
    fields: Sequence[Any],
    tables: Sequence[pa.Table],
    partition_columns: Sequence[str] = (),
    partition: Mapping[str, str] | None = None,
    **options: Any,
) -> TableFiles:
    files = TableFiles()
    metadata = metadata_action(fields, partition_columns, build_configuration(compatibility))
    files.commits[0] = [commit_info_action(0), build_protocol(compatibility), metadata]
    for number, table in enumerate(tables):
        version = min(number + 1, 2)
        stats = json.dumps({"numRecords": table.num_rows})
        row = add_data_file(
            files,
            f"{number}.parquet",
            table,
            stats=stats,
            partitionValues=dict(partition or {}),
            parquet_options=options,
        )
        files.commits.setdefault(version, [commit_info_action(version)]).append(row)
    return files


def build_timestamp_table(kind: str, *, int96: bool) -> TableFiles:
    """Build a V2 table with a `timestamp` or `timestamp_ntz` column, stored as INT64 or INT96."""
    zone = "UTC" if kind == "timestamp" else None
    column = pa.array(range(10), pa.timestamp("us", zone))
    table = _build_rows({"col-1": pa.array(range(10), pa.int64()), "col-2": column}, {"col-1": 1, "col-2": 2})
    fields = [build_mapped_field("id", 1), build_mapped_field("at", 2, kind)]
    files = _build_table_with_data("V2", fields, [table, table], use_deprecated_int96_timestamps=int96)
    if kind == "timestamp_ntz":
        files.commits[0][1] = build_protocol("V2", "timestampNtz")
    return files


def build_nested_data_table(element: int | None, key: int | None, value: int | None) -> TableFiles:
    """Build a V2 table with an array and a map of longs; files have these field ids for their parts."""
    fields = [
        build_field_with_nested_ids("l", 1, array_type("long"), {"element": 10}),
        build_field_with_nested_ids("m", 2, map_type("string", "long"), {"key": 11, "value": 12}),
    ]
    items = pa.list_(pa.field("element", pa.int64(), metadata=field_id_metadata(element)))
    entries = pa.map_(
        pa.field("key", pa.string(), nullable=False, metadata=field_id_metadata(key)),
        pa.field("value", pa.int64(), metadata=field_id_metadata(value)),
    )
    columns = {"col-1": pa.nulls(10, items), "col-2": pa.nulls(10, entries)}
    table = _build_rows(columns, {"col-1": 1, "col-2": 2})
    return _build_table_with_data("V2", fields, [table, table])
