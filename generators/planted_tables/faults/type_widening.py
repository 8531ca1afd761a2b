"""Planted faults of type widening: unsupported changes, and missing or wrong records."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.property_names import TYPE_WIDENING
from deltaspec_generators import small_tables
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.nested_types import array_type, map_type, struct_type
from planted_tables.bases.type_widening import (
    ENABLED,
    FEATURES,
    build_column,
    build_table_with_column_versions,
    build_type_change,
    build_widening_data_table,
)
from planted_tables.faults.registry import draw_one, planted_fault

# recorded type changes


@planted_fault("type-widening.feature")
def type_changes_without_the_feature(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(1, 2), protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"]))
    return log_only.build_table(
        protocol=protocol, fields=[("id", "long"), build_column("long", [build_type_change("integer", "long")])]
    )


@planted_fault("type-widening.changes-are-list")
def type_changes_of_another_form(draw: st.DrawFn) -> TableFiles:
    change = build_type_change("integer", "long")
    record = draw_one(draw, change, 1, True, "long", json.dumps(change), [change, "long"], [[]])
    return build_table_with_column_versions(build_column("long", record))


@planted_fault("type-widening.changes-are-list")
def type_changes_in_a_text(draw: st.DrawFn) -> TableFiles:
    return build_table_with_column_versions(
        build_column("long", draw_one(draw, json.dumps([build_type_change("integer", "long")]), "[]"))
    )


@planted_fault("type-widening.changes-name-types")
def type_change_of_unnamed_types(draw: st.DrawFn) -> TableFiles:
    wrong = draw_one(
        draw, {"fromType": "integer"}, {"toType": "long"}, build_type_change("int", "long"), {"from": "x", "to": "y"}
    )
    return build_table_with_column_versions(build_column("long", [wrong]))


@planted_fault("type-widening.changes-name-place")
def type_change_of_an_unnamed_place(draw: st.DrawFn) -> TableFiles:
    kind, path = draw_one(
        draw,
        (array_type("long"), None),
        (array_type("long"), "items"),
        (map_type("string", "long"), "element"),
        (map_type("string", array_type("long")), "value"),
        ("long", "element"),
    )
    return build_table_with_column_versions(build_column(kind, [build_type_change("integer", "long", path)]))


@planted_fault("type-widening.changes-in-metadata")
def type_change_noted_further_out(draw: st.DrawFn) -> TableFiles:
    """Recorded on the column instead of the field in its struct."""
    inner = struct_type(build_column("long", name="x"))
    kind, path = draw_one(
        draw, (inner, None), (inner, "x"), (array_type(inner), "element"), (map_type("string", inner), "value")
    )
    return build_table_with_column_versions(build_column(kind, [build_type_change("integer", "long", path)]))


@planted_fault("type-widening.supported-changes")
def unlisted_type_change_recorded(draw: st.DrawFn) -> TableFiles:
    before, after = draw_one(draw, *_UNLISTED)
    return build_table_with_column_versions(build_column(after, [build_type_change(before, after)]))


@planted_fault("type-widening.recorded")
def type_changes_that_lack_one(draw: st.DrawFn) -> TableFiles:
    record = draw_one(
        draw,
        [build_type_change("byte", "short"), build_type_change("integer", "long")],
        [build_type_change("byte", "short")],
        [build_type_change("short", "integer")],
    )
    return build_table_with_column_versions(build_column("long", record))


# type changes by commits

_UNLISTED = (
    ("long", "integer"),
    ("long", "double"),
    ("double", "float"),
    ("integer", "string"),
    ("timestamp_ntz", "date"),
    ("decimal(10,2)", "decimal(10,4)"),
    ("decimal(10,2)", "decimal(12,1)"),
    ("long", "decimal(19,0)"),
    ("integer", "decimal(10,1)"),
    ("float", "decimal(38,10)"),
    ("string", "binary"),
)


@planted_fault("type-widening.supported-changes")
def type_changed_in_an_unlisted_way(draw: st.DrawFn) -> TableFiles:
    before, after = draw_one(draw, *_UNLISTED)
    form = draw_one(draw, lambda kind: kind, array_type, lambda kind: map_type("string", kind))
    return build_table_with_column_versions(build_column(form(before)), build_column(form(after)))


@planted_fault("type-widening.supported-changes")
def nested_type_changed(draw: st.DrawFn) -> TableFiles:
    kinds = (
        "integer",
        array_type("integer"),
        struct_type(build_column("integer", name="x")),
        map_type("string", "integer"),
    )
    before, after = draw_one(draw, *((old, new) for old in kinds for new in kinds if old != new))
    return build_table_with_column_versions(build_column(before), build_column(after))


@planted_fault("type-widening.only-when-enabled")
def widened_while_not_enabled(draw: st.DrawFn) -> TableFiles:
    settings = draw_one(draw, {}, {TYPE_WIDENING: "false"})
    return build_table_with_column_versions(
        build_column("integer"), build_column("long", [build_type_change("integer", "long")]), settings=settings
    )


@planted_fault("type-widening.changes-for-iceberg")
def widened_in_a_way_iceberg_does_not_know(draw: st.DrawFn) -> TableFiles:
    before, after = draw_one(
        draw,
        ("byte", "double"),
        ("integer", "double"),
        ("date", "timestamp_ntz"),
        ("decimal(10,2)", "decimal(12,3)"),
        ("short", "decimal(10,0)"),
        ("long", "decimal(20,0)"),
    )
    # the feature alone restricts widening, even if its property is not set
    files = build_table_with_column_versions(
        build_column(before), build_column(after, [build_type_change(before, after)])
    )
    version = draw_one(draw, "V1", "V2")
    readers = [*FEATURES, "columnMapping"]
    files.commits[0][1] = protocol_action(3, 7, readers, [*readers, f"icebergCompat{version}"])
    return files


@planted_fault("type-widening.recorded")
def widened_without_a_record(draw: st.DrawFn) -> TableFiles:
    first, then = draw_one(
        draw,
        (build_column("integer"), build_column("long")),
        (build_column(array_type("byte")), build_column(array_type("short"))),
        (
            build_column(struct_type(build_column("float", name="x"))),
            build_column(struct_type(build_column("double", name="x"))),
        ),
        (
            build_column(map_type("short", "short")),
            build_column(map_type("integer", "integer"), [build_type_change("short", "integer", "key")]),
        ),
    )
    return build_table_with_column_versions(first, then)


@planted_fault("type-widening.kept", "footers")
def type_changes_forgotten(draw: st.DrawFn) -> TableFiles:
    first, second = build_type_change("byte", "integer"), build_type_change("integer", "long")
    remaining = draw_one(draw, None, [], [second], [build_type_change("byte", "long")])
    rows = small_tables.build_rows(0).append_column("c", pa.array(range(10), pa.int8()))
    files = build_widening_data_table((rows, rows, rows), "byte")
    steps = (build_column("integer", [first]), build_column("long", [first, second]), build_column("long", remaining))
    for version, step in enumerate(steps, start=3):
        fields: list[Any] = [*small_tables.FIELDS, step]
        files.commits[version] = [commit_info_action(version), metadata_action(fields, configuration=ENABLED)]
    return files


@planted_fault("type-widening.recorded", "footers")
def files_widened_without_a_record(draw: st.DrawFn) -> TableFiles:
    """The commit and the files that it makes narrower than their column are one defect."""
    kind, stored, wider = draw_one(
        draw, ("integer", pa.int32(), "long"), ("float", pa.float32(), "double"), ("integer", pa.int32(), "double")
    )
    rows = small_tables.build_rows(0)
    rows = rows.append_column("c", pa.nulls(len(rows), stored))
    files = build_widening_data_table((rows, rows, rows), kind)
    fields: list[Any] = [*small_tables.FIELDS, build_column(wider)]
    files.commits[3] = [commit_info_action(3), metadata_action(fields, configuration=ENABLED)]
    return files


@planted_fault("type-widening.recorded", "footers")
def narrower_file_without_a_record(draw: st.DrawFn) -> TableFiles:
    """The column never had the type, or only another location has a record."""
    kind, stored, record = draw_one(
        draw,
        ("long", pa.int32(), None),
        ("long", pa.int8(), []),
        ("double", pa.float32(), None),
        ("double", pa.float32(), [build_type_change("integer", "double")]),
        ("decimal(12,2)", pa.decimal128(5, 2), [build_type_change("decimal(6,2)", "decimal(12,2)")]),
        (array_type("long"), pa.list_(pa.int32()), None),
        (map_type("string", "long"), pa.map_(pa.string(), pa.int16()), None),
        (map_type("long", "long"), pa.map_(pa.int32(), pa.int32()), [build_type_change("integer", "long", "key")]),
        (struct_type(build_column("long", name="x")), pa.struct([("x", pa.int32())]), None),
    )
    rows = small_tables.build_rows(0)
    rows = rows.append_column("c", pa.nulls(len(rows), stored))
    files = build_widening_data_table((rows, rows, rows))
    fields: list[Any] = [*small_tables.FIELDS, build_column(kind, record)]
    files.commits[0][2] = metadata_action(fields, configuration=ENABLED)
    return files


@planted_fault("type-widening.gone-with-feature")
def traces_left_by_a_dropped_feature(draw: st.DrawFn) -> TableFiles:
    """The record, the property, or both remain."""
    record = [build_type_change("integer", "long")]
    files = build_table_with_column_versions(build_column("integer"), build_column("long", record))
    remaining, settings = draw_one(draw, (record, ENABLED), (record, {}), (None, ENABLED))
    later = metadata_action([("id", "long"), build_column("long", remaining)], configuration=settings)
    removes = [remove_action(row) for row in (files.commits[1][2], files.commits[2][1]) if isinstance(row, dict)]
    files.commits[4] = [
        commit_info_action(4),
        later,
        protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"]),
        *removes,
    ]
    return files
