"""Data files: existence, size, and their columns in Parquet."""

from typing import Any

import pyarrow as pa
from known_bugs.registry import known_bug, no_finding
from known_bugs.single_file_tables import build_feature_protocol, build_single_file_table

from deltaspec_generators.checkpoint_writer import encode_checkpoint
from deltaspec_generators.small_tables import build_table_with_data, encode_data_file
from deltaspec_generators.table_files import TableFiles, get_action
from planted_tables.bases import log_only


@known_bug("log-013", level="files", DAT002=1)
def size_recorded_as_zero(is_sound: bool) -> TableFiles:
    """A writer records size 0, and readers that locate the footer by the size fail."""
    files = build_table_with_data()
    if not is_sound:
        get_action(files, 2, "add")["size"] = 0
    return files


@known_bug("path-003", level="files", DAT001=1)
def path_encoded_twice(is_sound: bool) -> TableFiles:
    """The path is percent-encoded twice; decoded once, it names a file that does not exist."""
    table = pa.table({"id": pa.array([1], pa.int64())})
    files = build_single_file_table(
        table, [("id", "long"), ("p", "string")], partition={"p": "a b"}, path="p=a b/a.parquet"
    )
    get_action(files, 1, "add")["path"] = "p=a%20b/a.parquet" if is_sound else "p=a%2520b/a.parquet"
    return files


@known_bug("part-006", level="rows", ROW005=1)
def partition_value_before_1970_rounded_up(is_sound: bool) -> TableFiles:
    """Microseconds before 1970 are truncated toward zero. Here the file also stores the column, with the true value."""
    table = pa.table({"id": pa.array([1], pa.int64()), "p": pa.array([-2_342_342_342], pa.timestamp("us"))})
    text = "1969-12-31 23:20:57.657658" if is_sound else "1969-12-31 23:20:58.657658"
    fields = [("id", "long"), ("p", "timestamp_ntz")]
    return build_single_file_table(
        table, fields, protocol=build_feature_protocol("timestampNtz"), partition={"p": text}
    )


@known_bug("part-002", FIL063=1)
def null_in_a_non_nullable_partition_column(is_sound: bool) -> TableFiles:
    """A writer accepts a null for a non-nullable partition column."""
    table = pa.table({"id": pa.array([1], pa.int64())})
    day = {"name": "day", "type": "date", "nullable": False, "metadata": {}}
    return build_single_file_table(table, [("id", "long"), day], partition={"day": "2024-02-29" if is_sound else None})


@known_bug("cm-003", level="footers", PQT039=1)
def logical_names_in_files_of_a_mapped_table(is_sound: bool) -> TableFiles:
    """A writer that ignores column mapping writes display names: every column reads as null."""
    field = {"name": "id", "type": "long", "nullable": True, "metadata": _mapping(1, "col-1")}
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    name, metadata = ("col-1", {"PARQUET:field_id": "1"}) if is_sound else ("id", None)
    column = pa.field(name, pa.int64(), metadata=metadata)
    table = pa.table([pa.array([1], pa.int64())], schema=pa.schema([column]))
    return build_single_file_table(
        table, [field], protocol=build_feature_protocol("columnMapping"), configuration=configuration
    )


@known_bug("cm-007", level="footers", PQT033=2)
def nested_fields_with_other_names_in_id_mode(is_sound: bool) -> TableFiles:
    """In id mode, fields below an array have other names in the file, and readers that match by name return nulls."""
    inner = {"name": "x", "type": "long", "nullable": True, "metadata": _mapping(2, "col-2")}
    element = {"type": "array", "elementType": {"type": "struct", "fields": [inner]}, "containsNull": True}
    field = {"name": "list", "type": element, "nullable": True, "metadata": _mapping(1, "col-1")}
    configuration = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "2"}
    outer, nested = ("col-1", "col-2") if is_sound else ("also-of-the-file", "of-the-file")
    struct = pa.struct([pa.field(nested, pa.int64(), metadata={"PARQUET:field_id": "2"})])
    kind = pa.list_(struct)
    schema = pa.schema([pa.field(outer, kind, metadata={"PARQUET:field_id": "1"})])
    table = pa.table([pa.array([[{nested: 1}]], kind)], schema=schema)
    return build_single_file_table(
        table, [field], protocol=build_feature_protocol("columnMapping"), configuration=configuration
    )


@no_finding("cm-016", "a variant group needs both fields, in any order", level="rows")
def fields_of_a_variant_in_either_order() -> TableFiles:
    """Files store variants as value and metadata or in the opposite order, and readers rely on the order."""
    pair = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}
    kind = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
    table = pa.table({"v": pa.array([pair], kind)})
    return build_single_file_table(table, [("v", "variant")], protocol=build_feature_protocol("variantType"))


@no_finding(
    "cm-017", "older files use other names for the group of a map, and readers match it by position", level="rows"
)
def map_entries_under_another_name() -> TableFiles:
    """The group of a map's entries has another name than key_value, and readers that match by name reject the file."""
    kind: dict[str, Any] = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    table = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})
    files = build_single_file_table(table, [("m", kind)])
    files.data["a.parquet"] = encode_data_file(table).replace(b"key_value", b"map_entry")
    return files


@no_finding("cm-017", "older files use other names for the group of a map, and readers match it by position")
def checkpoint_maps_under_another_name() -> TableFiles:
    """The same in a checkpoint, whose partition values and configuration are maps."""
    fields = [("id", "long"), ("p", "string")]
    files = log_only.build_checkpointed_table(fields=fields, partition_columns=["p"], partition={"p": "x"})
    (checkpoint,) = files.checkpoints
    ((name, data),) = encode_checkpoint(checkpoint).items()
    files.extra[f"_delta_log/{name}"] = data.replace(b"key_value", b"map_entry")
    return files


def _mapping(number: int, name: str) -> dict[str, Any]:
    return {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}
