"""Planted faults of types that only proposals define, and of features that need more than a list of names."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, get_action, inline_vector_descriptor
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import add_metadata_commit, build_mapped_field
from planted_tables.bases.proposed_types import (
    GEOGRAPHY,
    GEOMETRY,
    LOCAL_NANOS,
    MONTHS,
    NANOS,
    SECONDS,
    VECTOR,
    build_adaptive_table,
    build_collated_table,
    build_partitioned_table,
    build_protocol,
    build_stored_table,
    build_typed_table,
    build_versioned_table,
    build_writer_compatible_table,
)
from planted_tables.faults.registry import draw_one, planted_fault


def _build_bounds(value: Any) -> dict[str, Any]:
    return {"minValues": {"x": value}, "maxValues": {"x": value}}


# interval types


@planted_fault("interval-types.feature")
def interval_without_feature(draw: st.DrawFn) -> TableFiles:
    kind = draw_one(draw, MONTHS, SECONDS, {"type": "array", "elementType": MONTHS, "containsNull": True})
    return log_only.build_table(fields=[("id", "long"), ("x", kind)])


@planted_fault("interval-types.names")
def interval_named_by_a_range(draw: st.DrawFn) -> TableFiles:
    kind = draw_one(draw, "interval year", "interval month", "interval day to minute", "interval hour to second")
    return log_only.build_table(protocol=build_protocol("intervalTypes"), fields=[("id", "long"), ("x", kind)])


@planted_fault("interval-types.no-bounds")
def interval_with_bounds(draw: st.DrawFn) -> TableFiles:
    kind, value = draw_one(draw, (MONTHS, 12), (SECONDS, "INTERVAL '7 12:34:56.123456' DAY TO SECOND"))
    key = draw_one(draw, "minValues", "maxValues")
    return build_typed_table(kind, {key: {"x": value}})


@planted_fault("interval-types.partition-values")
def interval_partition_value_of_another_form(draw: st.DrawFn) -> TableFiles:
    kind, value = draw_one(
        draw, (MONTHS, "12"), (MONTHS, "1-0"), (SECONDS, "INTERVAL '1-0' YEAR TO MONTH"), (SECONDS, "86401000000")
    )
    return build_partitioned_table(kind, value)


@planted_fault("interval-types.storage", "footers")
def interval_stored_in_another_width(draw: st.DrawFn) -> TableFiles:
    kind, stored = draw_one(
        draw, (MONTHS, pa.int64()), (SECONDS, pa.int32()), (MONTHS, pa.string()), (SECONDS, pa.float64())
    )
    return build_stored_table(kind, pa.nulls(10, stored))


# user-defined types


@planted_fault("schema.primitive-types", revisions=("current",))
def user_defined_type(draw: st.DrawFn) -> TableFiles:
    return build_typed_table(draw_one(draw, VECTOR, {"type": "array", "elementType": VECTOR, "containsNull": True}))


@planted_fault("user-defined-types.form")
def user_defined_type_malformed(draw: st.DrawFn) -> TableFiles:
    members = draw_one(draw, {"class": "org.example.Vector"}, {**VECTOR, "class": 1}, {**VECTOR, "more": {"a": "b"}})
    return build_typed_table({**members, "type": "udt"})


@planted_fault("user-defined-types.stored-type")
def user_defined_type_around_a_feature(draw: st.DrawFn) -> TableFiles:
    return build_typed_table({**VECTOR, "sqlType": draw_one(draw, "timestamp_ntz", "variant")})


@planted_fault("user-defined-types.no-bounds")
def user_defined_type_with_bounds(draw: st.DrawFn) -> TableFiles:
    return build_typed_table(VECTOR, _build_bounds(draw_one(draw, "a", 1)))


@planted_fault("user-defined-types.not-a-key")
def partitioned_by_user_defined_type(draw: st.DrawFn) -> TableFiles:
    return build_typed_table(VECTOR, partition_columns=["x"], partition={"x": "a"})


@planted_fault("user-defined-types.not-in-iceberg")
def user_defined_type_under_first_compatibility(draw: st.DrawFn) -> TableFiles:
    files = build_writer_compatible_table(fields=[build_mapped_field("id", 1), build_mapped_field("x", 2, VECTOR)])
    get_action(files, 0, "metaData")["configuration"]["delta.enableIcebergWriterCompatV1"] = "false"
    return files


@planted_fault("user-defined-types.storage", "footers")
def user_defined_type_stored_as_another(draw: st.DrawFn) -> TableFiles:
    return build_stored_table(VECTOR, pa.nulls(10, draw_one(draw, pa.int64(), pa.list_(pa.string()))))


# nanosecond timestamps


@planted_fault("timestamp-nanos.partition-values")
def nanosecond_partition_value_of_another_form(draw: st.DrawFn) -> TableFiles:
    kind, value = draw_one(
        draw,
        (NANOS, "1970-01-01 00:00:00.123456789"),
        (NANOS, "1970-01-01T00:00:00.123456789"),
        (LOCAL_NANOS, "1970-01-01T00:00:00.123456789Z"),
        (LOCAL_NANOS, "1970-01-01T00:00:00.123456"),
    )
    return build_partitioned_table(kind, value)


@planted_fault("timestamp-nanos.storage", "footers")
def nanoseconds_stored_in_another_unit(draw: st.DrawFn) -> TableFiles:
    kind, stored = draw_one(
        draw,
        (NANOS, pa.timestamp("us", "UTC")),
        (NANOS, pa.timestamp("ns")),
        (LOCAL_NANOS, pa.timestamp("ns", "UTC")),
        (LOCAL_NANOS, pa.int64()),
    )
    return build_stored_table(kind, pa.nulls(10, stored))


# geospatial types


@planted_fault("geospatial.type-names")
def geospatial_type_misspelled(draw: st.DrawFn) -> TableFiles:
    kind = draw_one(draw, "geometry(4326)", "geometry", "geography(OGC:CRS84)", "geography(OGC:CRS84, flat)")
    return log_only.build_table(protocol=build_protocol("geospatial"), fields=[("id", "long"), ("x", kind)])


@planted_fault("geospatial.bounds")
def geospatial_bound_of_another_form(draw: st.DrawFn) -> TableFiles:
    value = draw_one(draw, "POINT(1)", "LINESTRING(0 0, 1 1)", "POINT(1 nan)", 1, "AQEAAAA=")
    return build_typed_table(draw_one(draw, GEOMETRY, GEOGRAPHY), _build_bounds(value))


@planted_fault("geospatial.storage", "footers")
def geometry_stored_as_another(draw: st.DrawFn) -> TableFiles:
    return build_stored_table(
        draw_one(draw, GEOMETRY, GEOGRAPHY), pa.nulls(10, draw_one(draw, pa.int64(), pa.float64()))
    )


# collations


@planted_fault("collations.statistics-form")
def collated_statistics_malformed(draw: st.DrawFn) -> TableFiles:
    bounds = {"minValues": {"x": "a"}}
    return build_collated_table(
        draw_one(
            draw,
            [],
            {"ICU.de_DE": bounds},
            {"ICU..72": bounds},
            {"ICU.de_DE.72": {"min": {"x": "a"}}},
            {"ICU.de_DE.72": {"minValues": {"id": 1}}},
            {"ICU.de_DE.72": {"maxValues": "a"}},
        )
    )


@planted_fault("collations.versions")
def collation_versions_malformed(draw: st.DrawFn) -> TableFiles:
    value = draw_one(draw, [], {"ICU.de_DE": "72"}, {"ICU": ["72"]}, {"ICU.de_DE": [72]}, {"ICU.de_DE.72": ["72"]})
    return build_versioned_table(json.dumps({"writeVersions": value}))


# Iceberg writer compatibility


@planted_fault("iceberg-writer-compat.base-enabled")
def writer_compatibility_without_base(draw: st.DrawFn) -> TableFiles:
    files = build_writer_compatible_table()
    properties = get_action(files, 0, "metaData")["configuration"]
    del properties["delta.enableIcebergCompatV2"]
    properties |= draw_one(draw, {}, {"delta.enableIcebergCompatV2": "false"})
    return files


@planted_fault("iceberg-writer-compat.id-mode")
def writer_compatibility_by_name(draw: st.DrawFn) -> TableFiles:
    files = build_writer_compatible_table()
    get_action(files, 0, "metaData")["configuration"]["delta.columnMapping.mode"] = "name"
    return files


@planted_fault("iceberg-writer-compat.column-names")
def writer_compatible_column_of_another_name(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "name", "col-3", "col-02")
    return build_writer_compatible_table(
        fields=[build_mapped_field("id", 1), build_mapped_field("name", 2, "string", name)]
    )


@planted_fault("iceberg-writer-compat.types")
def small_integer_under_writer_compatibility(draw: st.DrawFn) -> TableFiles:
    kind = draw_one(draw, "byte", "short")
    return build_writer_compatible_table(fields=[build_mapped_field("id", 1), build_mapped_field("x", 2, kind)])


@planted_fault("iceberg-writer-compat.map-keys")
def map_key_changed_under_writer_compatibility(draw: st.DrawFn) -> TableFiles:
    key = {"type": "struct", "fields": [build_mapped_field("a", 2)]}
    field = build_mapped_field("m", 1, {"type": "map", "keyType": key, "valueType": "long", "valueContainsNull": True})
    field["metadata"]["delta.columnMapping.nested.ids"] = {"col-1.key": 11, "col-1.value": 12}

    def add_field(fields: list[Any]) -> None:
        fields[0]["type"]["keyType"]["fields"].append(build_mapped_field("b", 3))

    files = build_writer_compatible_table(fields=[field])
    get_action(files, 0, "metaData")["configuration"]["delta.columnMapping.maxColumnId"] = "20"
    return add_metadata_commit(files, add_field, 20)


@planted_fault("iceberg-writer-compat.features")
def feature_outside_the_allow_list(draw: st.DrawFn) -> TableFiles:
    return build_writer_compatible_table(draw_one(draw, "allowColumnDefaults", "materializePartitionColumns"))


@planted_fault("iceberg-writer-compat.inactive")
def change_data_feed_under_writer_compatibility(draw: st.DrawFn) -> TableFiles:
    feature, name, value = draw_one(
        draw,
        ("changeDataFeed", "delta.enableChangeDataFeed", "true"),
        ("checkConstraints", "delta.constraints.c", "id > 0"),
    )
    files = build_writer_compatible_table(feature)
    get_action(files, 0, "metaData")["configuration"][name] = value
    return files


@planted_fault("iceberg-writer-compat.property")
def writer_compatibility_unreadable(draw: st.DrawFn) -> TableFiles:
    files = build_writer_compatible_table()
    value = draw_one(draw, "maybe", "1", "")
    get_action(files, 0, "metaData")["configuration"]["delta.enableIcebergWriterCompatV1"] = value
    return files


# adaptive metadata


@planted_fault("adaptive-metadata.enabled-features")
def adaptive_metadata_without_row_tracking(draw: st.DrawFn) -> TableFiles:
    files = build_adaptive_table()
    del get_action(files, 0, "metaData")["configuration"]["delta.enableRowTracking"]
    return files


@planted_fault("adaptive-metadata.excluded-features")
def adaptive_metadata_with_v2_checkpoints(draw: st.DrawFn) -> TableFiles:
    files = build_adaptive_table()
    for name in ("readerFeatures", "writerFeatures"):
        get_action(files, 0, "protocol")[name].append("v2Checkpoint")
    return files


@planted_fault("adaptive-metadata.removes")
def remove_without_fields_of_adaptive_metadata(draw: st.DrawFn) -> TableFiles:
    files = build_adaptive_table()
    remove = get_action(files, 2, "remove")
    change = draw_one(draw, "deletionTimestamp", "stats")
    if change == "stats":
        del remove["stats"]
    else:
        remove["deletionTimestamp"] = 1_700_000_000_000
    return files


@planted_fault("adaptive-metadata.no-inline-vectors")
def vector_inline_under_adaptive_metadata(draw: st.DrawFn) -> TableFiles:
    files = build_adaptive_table()
    body = get_action(files, 2, "add")
    body["deletionVector"] = inline_vector_descriptor(draw_one(draw, [0], [1, 5]))
    body["stats"] = json.dumps({"numRecords": 10, "tightBounds": False})
    get_action(files, 0, "metaData")["configuration"]["delta.enableDeletionVectors"] = "true"
    return files
