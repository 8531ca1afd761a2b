"""Planted faults of Parquet footers: schema, types, names and field ids."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from deltaspec.protocol.property_names import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    MAX_COLUMN_ID,
    NESTED_IDS,
    PHYSICAL_NAME,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
)
from deltaspec_generators import small_tables
from deltaspec_generators.small_tables import build_table_with_data, encode_data_file
from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.bases.column_mapping import (
    COLUMN_IDS,
    PHYSICAL_NAMES,
    build_mapped_field,
    build_mapped_rows,
    build_mapped_table_with_data,
    field_id_metadata,
)
from planted_tables.bases.single_file import build_single_file_table
from planted_tables.faults.registry import draw_one, planted_fault


def _replace_last_file(files: TableFiles, data: bytes, rows: int = 10) -> TableFiles:
    """Replace the bytes of file c; its add action gets the true size and this row count."""
    files.data["c.parquet"] = data
    get_action(files, 2, "add").update(size=len(data), stats=json.dumps({"numRecords": rows}))
    return files


def _build_table_with_stored_type(
    kind: Any, stored: pa.DataType, *, features: Sequence[str] = (), **options: Any
) -> TableFiles:
    """Build a table with a column `c` that file c stores as this Arrow type, all null."""
    protocol = protocol_action(3, 7, list(features), list(features)) if features else None
    files = build_table_with_data(fields=[*small_tables.FIELDS, ("c", kind)], protocol=protocol)
    table = small_tables.build_rows(20).append_column("c", pa.nulls(10, stored))
    return _replace_last_file(files, encode_data_file(table, **options))


@planted_fault("parquet.format", "footers")
def file_is_garbage(draw: st.DrawFn) -> TableFiles:
    intact = encode_data_file(small_tables.build_rows(20))
    footer = int.from_bytes(intact[-8:-4], "little")
    broken = {
        "text": b"id,name\n1,one\n2,two\n",
        "empty": b"",
        "cut": intact[: draw(st.integers(12, len(intact) - 1))],
        "length": intact[:-8] + (len(intact) * 2).to_bytes(4, "little") + b"PAR1",
        "zeros": intact[: -footer - 8] + bytes(footer) + intact[-8:],
    }
    return _replace_last_file(build_table_with_data(), broken[draw_one(draw, *broken)])


@planted_fault("statistics.num-records", "footers")
def row_count_of_another_file(draw: st.DrawFn) -> TableFiles:
    return _replace_last_file(
        build_table_with_data(), encode_data_file(small_tables.build_rows(20)), rows=draw_one(draw, 0, 9, 11, 2**40)
    )


@planted_fault("parquet.listed-encodings", "footers")
def columns_in_another_file(draw: st.DrawFn) -> TableFiles:
    intact = encode_data_file(small_tables.build_rows(20))
    metadata = pq.read_metadata(io.BytesIO(intact))
    metadata.set_file_path(draw_one(draw, "b.parquet", "x/y.parquet", "/b.parquet"))
    footer = io.BytesIO()
    metadata.write_metadata_file(footer)
    pages = intact[: -int.from_bytes(intact[-8:-4], "little") - 8]
    return _replace_last_file(build_table_with_data(), pages + footer.getvalue()[4:])


@planted_fault("parquet.format", "footers")
def row_groups_miscounted(draw: st.DrawFn) -> TableFiles:
    intact = encode_data_file(small_tables.build_rows(20), row_group_size=draw_one(draw, 10, 3))
    before_rows, counts = b"\x16\x14\x19", (9, 11, 20)  # field 3 of the footer, 10 rows as zigzag, the row groups
    assert intact.count(before_rows) == 1
    count = draw_one(draw, *counts)
    return _replace_last_file(
        build_table_with_data(), intact.replace(before_rows, bytes([0x16, count * 2, 0x19])), rows=count
    )


@planted_fault("parquet.column-types", "footers")
def column_of_another_type(draw: st.DrawFn) -> TableFiles:
    kind, stored = draw_one(
        draw,
        ("long", pa.string()),
        ("long", pa.uint64()),
        ("long", pa.float64()),
        ("integer", pa.int64()),
        ("short", pa.uint8()),
        ("byte", pa.uint8()),
        ("float", pa.float64()),
        ("double", pa.int64()),
        ("boolean", pa.int32()),
        ("date", pa.int32()),
        ("date", pa.timestamp("us")),
        ("string", pa.int64()),
        ("string", pa.struct([("x", pa.string())])),
        ("binary", pa.int32()),
        ("decimal(10,2)", pa.decimal128(10, 3)),
        ("decimal(10,2)", pa.decimal128(12, 2)),
        ("decimal(10,2)", pa.float64()),
        ("long", pa.list_(pa.int64())),
        ("long", pa.time64("us")),
    )
    return _build_table_with_stored_type(kind, stored)


@planted_fault("parquet.column-types", "footers")
def element_of_another_type(draw: st.DrawFn) -> TableFiles:
    array = {"type": "array", "elementType": "long", "containsNull": True}
    kind, stored = draw_one(
        draw,
        (array, pa.list_(pa.string())),
        ({"type": "array", "elementType": array, "containsNull": True}, pa.list_(pa.list_(pa.float32()))),
        (
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
            pa.map_(pa.string(), pa.string()),
        ),
        (
            {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]},
            pa.struct([("x", pa.bool_())]),
        ),
    )
    return _build_table_with_stored_type(kind, stored)


@planted_fault("parquet.timestamps", "footers")
def timestamp_of_another_zone(draw: st.DrawFn) -> TableFiles:
    kind, stored = draw_one(
        draw,
        ("timestamp", pa.timestamp("us")),
        ("timestamp", pa.int64()),
        ("timestamp", pa.string()),
        ("timestamp_ntz", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.int64()),
    )
    return _build_table_with_stored_type(kind, stored, features=["timestampNtz"] if kind == "timestamp_ntz" else [])


@planted_fault("parquet.nested-types", "footers")
def nested_as_something_else(draw: st.DrawFn) -> TableFiles:
    element = {"type": "array", "elementType": "long", "containsNull": True}
    entries = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    struct = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]}
    kind, stored = draw_one(
        draw,
        (element, pa.int64()),
        (element, pa.struct([("element", pa.int64())])),
        (element, pa.map_(pa.string(), pa.int64())),
        (entries, pa.list_(pa.struct([("key", pa.string()), ("value", pa.int64())]))),
        (entries, pa.string()),
        (struct, pa.string()),
        (struct, pa.list_(pa.struct([("x", pa.int64())]))),
    )
    return _build_table_with_stored_type(kind, stored)


_METADATA, _VALUE = ("metadata", pa.binary()), ("value", pa.binary())


@planted_fault("variant.unshredded-form", "footers")
def variant_in_pieces(draw: st.DrawFn) -> TableFiles:
    stored = draw_one(
        draw,
        pa.struct([_VALUE]),
        pa.struct([_METADATA, ("value", pa.string())]),
        pa.struct([_METADATA, _VALUE, ("more", pa.binary())]),
        pa.string(),
    )
    return _build_table_with_stored_type("variant", stored, features=["variantType"])


@planted_fault("variant.shredding-needs-feature", "footers")
def variant_shredded(draw: st.DrawFn) -> TableFiles:
    typed = ("typed_value", draw_one(draw, pa.int64(), pa.string(), pa.list_(pa.struct([_VALUE]))))
    parts = draw_one(draw, [_METADATA, _VALUE, typed], [typed, _METADATA], [_METADATA])
    return _build_table_with_stored_type("variant", pa.struct(parts), features=["variantType"])


@planted_fault("type-widening.narrower-files", "footers")
def column_of_a_narrower_type(draw: st.DrawFn) -> TableFiles:
    kind, stored = draw_one(
        draw,
        ("long", pa.int32()),
        ("long", pa.int8()),
        ("double", pa.float32()),
        ("double", pa.int16()),
        ("decimal(10,2)", pa.decimal128(8, 2)),
        ("decimal(12,2)", pa.int32()),
        ("decimal(22,2)", pa.int64()),
    )
    return _build_table_with_stored_type(kind, stored)


@planted_fault("parquet.column-types", "footers")
def partition_column_of_another_type(draw: st.DrawFn) -> TableFiles:
    kind, stored, text = draw_one(
        draw,
        ("integer", pa.array(["5"]), "5"),
        ("string", pa.array([5], pa.int64()), "5"),
        ("date", pa.array([0], pa.timestamp("us")), "1970-01-01"),
        ("long", pa.array([5.0]), "5"),
        ("boolean", pa.array([1], pa.int32()), "true"),
    )
    table = pa.table({"id": pa.array([1], pa.int64()), "p": stored})
    return build_single_file_table(table, [("id", "long"), ("p", kind)], partition={"p": text})


@planted_fault("parquet.void-omitted", "footers")
def void_column_stored(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_stored_type("void", draw_one(draw, pa.null(), pa.int32(), pa.string()))


@planted_fault("parquet.listed-encodings", "footers")
def encoding_not_listed(draw: st.DrawFn) -> TableFiles:
    kind, stored = draw_one(
        draw,
        ("timestamp", pa.timestamp("ns", "UTC")),
        ("timestamp", pa.timestamp("ms", "UTC")),
        ("byte", pa.int16()),
        ("short", pa.int32()),
        ("string", pa.binary()),
        ("binary", pa.string()),
        ("binary", pa.binary(4)),
    )
    return _build_table_with_stored_type(kind, stored)


@planted_fault("parquet.required-columns", "footers")
def required_column_absent(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "id", "price")
    fields = [
        {"name": each, "type": kind, "nullable": each != name, "metadata": {}} for each, kind in small_tables.FIELDS
    ]
    return _replace_last_file(
        build_table_with_data(fields=fields), encode_data_file(small_tables.build_rows(20).drop_columns([name]))
    )


@planted_fault("parquet.column-types", "footers")
def column_stored_twice(draw: st.DrawFn) -> TableFiles:
    rows = small_tables.build_rows(20)
    name = draw_one(draw, "id", "name")
    return _replace_last_file(build_table_with_data(), encode_data_file(rows.append_column(name, rows[name])))


@planted_fault("parquet.names", "footers")
def column_in_another_case(draw: st.DrawFn) -> TableFiles:
    names = draw_one(draw, ["ID", "name", "price"], ["id", "Name", "PRICE"])
    return _replace_last_file(
        build_table_with_data(), encode_data_file(small_tables.build_rows(20).rename_columns(names))
    )


@planted_fault("parquet.row-tracking-columns", "footers")
def row_ids_of_another_type(draw: st.DrawFn) -> TableFiles:
    key, name = draw_one(
        draw,
        (ROW_ID_COLUMN, "_row-id-col-1"),
        (ROW_COMMIT_VERSION_COLUMN, "_row-commit-version-col-1"),
    )
    files = build_table_with_data(configuration={key: name})
    stored = draw_one(draw, pa.int16(), pa.int32(), pa.uint64())
    return _replace_last_file(
        files, encode_data_file(small_tables.build_rows(20).append_column(name, pa.nulls(10, stored)))
    )


# column mapping


def _build_mapped_table(
    mode: str, *, names: Mapping[str, str] | None = None, ids: Mapping[str, int | None] | None = None
) -> TableFiles:
    """Build the mapped table with some names or field ids of file c replaced, by logical name."""
    table = build_mapped_rows(20, {**PHYSICAL_NAMES, **(names or {})}, {**COLUMN_IDS, **(ids or {})})
    return _replace_last_file(build_mapped_table_with_data(mode), encode_data_file(table))


@planted_fault("column-mapping.field-ids-in-files", "footers")
def field_ids_wrong(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table(
        "id", ids=draw_one(draw, {"id": 7}, {"id": None}, {"id": 2, "name": 1}, {"price": 1, "id": 30})
    )


@planted_fault("column-mapping.field-ids-in-files", "footers")
def field_ids_wrong_by_name(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table("name", ids=draw_one(draw, {"id": 7}, {"id": 2, "name": 1}))


@planted_fault("column-mapping.field-ids-in-files", "footers")
def field_id_absent_by_name(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table("name", ids={draw_one(draw, *COLUMN_IDS): None})


@planted_fault("column-mapping.physical-names-in-files", "footers")
def logical_name_with_its_id(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table(
        "name", names=draw_one(draw, {"id": "id"}, {"name": "name", "price": "price"}, {"price": "other"})
    )


@planted_fault("column-mapping.physical-names-in-files", "footers")
def other_name_by_id(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table("id", names=draw_one(draw, {"id": "id"}, {"name": "other"}))


@planted_fault("column-mapping.field-ids-in-files", "footers")
def field_ids_absent(draw: st.DrawFn) -> TableFiles:
    return _build_mapped_table(draw_one(draw, "id", "name"), ids=dict.fromkeys(COLUMN_IDS))


@planted_fault("column-mapping.field-ids-in-files", "footers")
def field_ids_absent_from_a_file_of_unknown_age(draw: st.DrawFn) -> TableFiles:
    fields = [build_mapped_field(name, COLUMN_IDS[name], kind, name) for name, kind in small_tables.FIELDS]
    files = build_table_with_data(
        protocol=protocol_action(2, 5),
        configuration={COLUMN_MAPPING_MODE: "id", MAX_COLUMN_ID: "3"},
        fields=fields,
    )
    for version in (1, 2):
        get_action(files, version, "commitInfo")["operation"] = draw_one(draw, "RESTORE", "CLONE")
    return files


@planted_fault("column-mapping.physical-names-in-files", "footers")
def mapping_not_known_to_the_writer(draw: st.DrawFn) -> TableFiles:
    """All columns of a file, or one, have logical names and no ids."""
    if draw(st.booleans()):
        return _replace_last_file(build_mapped_table_with_data("name"), encode_data_file(small_tables.build_rows(20)))
    name = draw_one(draw, *COLUMN_IDS)
    return _build_mapped_table("name", names={name: name}, ids={name: None})


@planted_fault("column-mapping.physical-names-in-files", "footers")
def logical_names_in_a_file_of_unknown_age(draw: st.DrawFn) -> TableFiles:
    files = build_mapped_table_with_data("name")
    for version in (1, 2):
        get_action(files, version, "commitInfo")["operation"] = draw_one(draw, "RESTORE", "CLONE")
    return _replace_last_file(files, encode_data_file(small_tables.build_rows(20)))


@planted_fault("column-mapping.nested-ids-in-files", "footers")
def nested_ids_wrong(draw: st.DrawFn) -> TableFiles:
    name = "col-00000000-0000-4000-8000-000000000001"
    array = {"type": "array", "elementType": "long", "containsNull": True}
    entries = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    part, kind = draw_one(draw, ("element", array), ("value", entries))

    def table(number: int) -> pa.Table:
        inner = pa.field(part, pa.int64(), metadata=field_id_metadata(number))
        stored = pa.list_(inner) if part == "element" else pa.map_(pa.string(), inner)
        return pa.table(
            [pa.nulls(10, stored)], schema=pa.schema([pa.field(name, stored, metadata=field_id_metadata(1))])
        )

    metadata = {
        COLUMN_ID: 1,
        PHYSICAL_NAME: name,
        NESTED_IDS: {f"{name}.{part}": 2},
    }
    files = build_table_with_data(
        protocol=protocol_action(2, 5),
        configuration={COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "2"},
        fields=[{"name": "c", "type": kind, "nullable": True, "metadata": metadata}],
        tables=[table(2)] * 3,
    )
    return _replace_last_file(files, encode_data_file(table(draw(st.integers(3, 2**31 - 1)))))
