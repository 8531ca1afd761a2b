"""Planted faults of Iceberg compatibility: features, types, nested ids, files."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, MAX_COLUMN_ID, TYPE_CHANGES, TYPE_WIDENING
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.iceberg import (
    NESTED_ID_KEYS,
    build_compatible_table,
    build_configuration,
    build_nested_data_table,
    build_nested_table,
    build_partitioned_rows,
    build_partitioned_table,
    build_protocol,
    build_timestamp_table,
)
from planted_tables.bases.nested_types import array_type, map_type
from planted_tables.faults.registry import draw_one, planted_fault


def _build_table_without_reader_mapping(draw: st.DrawFn, compatibility: str) -> TableFiles:
    """Build a table whose protocol requires column mapping only of writers."""
    reader, listed = draw_one(draw, (1, None), (3, []))
    writers = ["columnMapping", f"icebergCompat{compatibility}"]
    return log_only.build_table(protocol=protocol_action(reader, 7, listed, writers))


@planted_fault("iceberg-v1.readers")
def first_compatibility_that_readers_miss(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_reader_mapping(draw, "V1")


@planted_fault("iceberg-v2.readers")
def second_compatibility_that_readers_miss(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_reader_mapping(draw, "V2")


def _build_table_without_feature(draw: st.DrawFn, compatibility: str) -> TableFiles:
    files = build_compatible_table(compatibility)
    files.commits[0][1] = draw_one(draw, protocol_action(2, 5), protocol_action(2, 7, None, ["columnMapping"]))
    return files


@planted_fault("iceberg-v1.feature")
def first_compatibility_without_feature(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_feature(draw, "V1")


@planted_fault("iceberg-v2.feature")
def second_compatibility_without_feature(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_feature(draw, "V2")


def _build_unmapped_table(draw: st.DrawFn, compatibility: str) -> TableFiles:
    """Build a table that enables compatibility without column mapping, from its first commit or later."""
    properties = build_configuration(compatibility)
    del properties[COLUMN_MAPPING_MODE]
    properties |= draw_one(draw, {}, {COLUMN_MAPPING_MODE: "none"})
    files = log_only.build_table(protocol=build_protocol(compatibility))
    if draw_one(draw, True, False):
        files.commits[0][2] = metadata_action(log_only.FIELDS, configuration=properties)
    else:
        files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration=properties)]
    return files


@planted_fault("iceberg-v1.mapped")
def first_compatibility_without_mapping(draw: st.DrawFn) -> TableFiles:
    return _build_unmapped_table(draw, "V1")


@planted_fault("iceberg-v2.mapped")
def second_compatibility_without_mapping(draw: st.DrawFn) -> TableFiles:
    return _build_unmapped_table(draw, "V2")


@planted_fault("iceberg-v1.no-deletion-vectors")
def vectors_supported_beside_first_compatibility(draw: st.DrawFn) -> TableFiles:
    """Enabled or not, from the first commit or by a later protocol."""
    files = build_compatible_table("V1", **draw_one(draw, {}, {"enableDeletionVectors": "false"}))
    if draw_one(draw, True, False):
        files.commits[0][1] = build_protocol("V1", "deletionVectors")
    else:
        files.commits[3] = [commit_info_action(3), build_protocol("V1", "deletionVectors")]
    return files


@planted_fault("iceberg-v2.no-deletion-vectors")
def vectors_enabled_beside_second_compatibility(draw: st.DrawFn) -> TableFiles:
    return build_compatible_table("V2", "deletionVectors", enableDeletionVectors=draw_one(draw, "true", "TRUE"))


@planted_fault("iceberg-v2.not-with-first")
def both_compatibilities_enabled(draw: st.DrawFn) -> TableFiles:
    files = build_compatible_table(
        draw_one(draw, "V1", "V2"), enableIcebergCompatV1="true", enableIcebergCompatV2="true"
    )
    files.commits[0][1] = protocol_action(2, 7, None, ["columnMapping", "icebergCompatV1", "icebergCompatV2"])
    return files


# types


@planted_fault("iceberg-v1.types")
def nested_type_under_first_compatibility(draw: st.DrawFn) -> TableFiles:
    inner = {"type": "struct", "fields": [build_mapped_field("x", 4, array_type("long")), build_mapped_field("y", 5)]}
    kind = draw_one(draw, array_type("long"), map_type("string", "long"), "void", inner)
    return build_compatible_table("V1", fields=[build_mapped_field("id", 1), build_mapped_field("c", 3, kind)])


@planted_fault("iceberg-v2.types")
def void_under_second_compatibility(draw: st.DrawFn) -> TableFiles:
    inner = {"type": "struct", "fields": [build_mapped_field("x", 4, "void"), build_mapped_field("y", 5)]}
    return build_compatible_table(
        "V2", fields=[build_mapped_field("id", 1), build_mapped_field("c", 3, draw_one(draw, "void", inner))]
    )


@planted_fault("iceberg-v2.types", revisions=("current",))
def variant_under_second_compatibility(draw: st.DrawFn) -> TableFiles:
    return build_compatible_table(
        "V2", "variantType", fields=[build_mapped_field("id", 1), build_mapped_field("v", 3, "variant")]
    )


def _build_widened_table(draw: st.DrawFn, compatibility: str) -> TableFiles:
    """Build a table that was widened in a way that Iceberg does not support before it became compatible."""
    old, new = draw_one(
        draw,
        *(("byte", "double"), ("integer", "double"), ("short", "decimal(10,0)")),
        *(("decimal(6,2)", "decimal(10,4)"), ("long", "decimal(20,0)")),
    )
    widening = {
        COLUMN_MAPPING_MODE: "name",
        MAX_COLUMN_ID: "9",
        TYPE_WIDENING: "true",
    }
    before, after = build_mapped_field("c", 2, old), build_mapped_field("c", 2, new)
    after["metadata"][TYPE_CHANGES] = [{"fromType": old, "toType": new}]
    features = ["columnMapping", "typeWidening"]
    files = log_only.build_table(
        protocol=protocol_action(3, 7, features, features),
        configuration=widening,
        fields=[build_mapped_field("id", 1), before],
    )
    fields = [build_mapped_field("id", 1), after]
    files.commits[3] = [commit_info_action(3), metadata_action(fields, configuration=widening)]
    enabled = {**widening, **build_configuration(compatibility)}
    files.commits[4] = [
        commit_info_action(4),
        build_protocol(compatibility, "typeWidening"),
        metadata_action(fields, configuration=enabled),
    ]
    return files


@planted_fault("iceberg-v1.type-changes")
def widened_before_first_compatibility(draw: st.DrawFn) -> TableFiles:
    return _build_widened_table(draw, "V1")


@planted_fault("iceberg-v2.type-changes")
def widened_before_second_compatibility(draw: st.DrawFn) -> TableFiles:
    return _build_widened_table(draw, "V2")


# partition columns and statistics


def _build_repartitioned_table(draw: st.DrawFn, compatibility: str) -> TableFiles:
    """Replace a table by one with other, more or fewer partition columns."""
    fields = [
        build_mapped_field("id", 1),
        build_mapped_field("part_a", 2, "integer"),
        build_mapped_field("part_b", 3, "integer"),
    ]
    old_columns, columns = draw_one(
        draw,
        (["part_a"], ["part_b"]),
        (["part_a"], ["part_a", "part_b"]),
        (["part_a"], ["part_b", "id"]),
        (["part_a", "part_b"], ["part_b"]),
    )
    values = {"col-2": "1", "col-3": "2"} if len(old_columns) > 1 else {"col-2": "1"}
    files = build_compatible_table(compatibility, fields=fields, partition_columns=old_columns, partition=values)
    new_fields = [
        build_mapped_field(name, 10 + index, "integer") for index, name in enumerate(("id", "part_a", "part_b"))
    ]
    removed = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    files.commits[3] = [
        commit_info_action(3),
        metadata_action(new_fields, columns, build_configuration(compatibility)),
        *(remove_action(each) for each in removed),
    ]
    return files


@planted_fault("iceberg-v1.partitions-keep-names")
def first_compatible_table_partitioned_anew(draw: st.DrawFn) -> TableFiles:
    return _build_repartitioned_table(draw, "V1")


@planted_fault("iceberg-v2.partitions-keep-names")
def second_compatible_table_partitioned_anew(draw: st.DrawFn) -> TableFiles:
    return _build_repartitioned_table(draw, "V2")


def _build_table_without_row_count(draw: st.DrawFn, compatibility: str) -> TableFiles:
    files = build_compatible_table(compatibility)
    add = get_action(files, 2, "add")
    del add["stats"]
    add |= draw_one(draw, {}, {"stats": json.dumps({"nullCount": {"col-1": 0}})}, {"stats": "{}"})
    return files


@planted_fault("iceberg-v1.numbers-of-records")
def file_not_counted_under_first_compatibility(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_row_count(draw, "V1")


@planted_fault("iceberg-v2.numbers-of-records")
def file_not_counted_under_second_compatibility(draw: st.DrawFn) -> TableFiles:
    return _build_table_without_row_count(draw, "V2")


# ids of elements, keys and values


def _get_nested_ids(field: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the maps of nested ids of a field, one per key."""
    return [field["metadata"][key] for key in NESTED_ID_KEYS]


@planted_fault("iceberg-v2.nested-ids")
def part_without_id(draw: st.DrawFn) -> TableFiles:
    which, part = draw_one(draw, (1, "element"), (2, "key"), (2, "value"), (2, "value.element"), (3, "element"))

    def drop(fields: list[Any]) -> None:
        for ids in _get_nested_ids(fields[which]):
            ids.pop(next(name for name in ids if name.partition(".")[2] == part))

    return build_nested_table(drop)


@planted_fault("iceberg-v2.nested-ids")
def no_nested_ids_at_all(draw: st.DrawFn) -> TableFiles:
    def drop(fields: list[Any]) -> None:
        inner = fields[3]["type"]["elementType"]["fields"][0]
        for field in (*fields[1:], inner):
            for key in NESTED_ID_KEYS:
                field["metadata"].pop(key)

    return build_nested_table(drop)


@planted_fault("iceberg-v2.nested-ids")
def nested_id_not_its_own(draw: st.DrawFn) -> TableFiles:
    """The id of a column, of another part, or one of more than 32 bits."""
    number = draw_one(draw, 1, 4, 5, 10, 15, 2**31, 2**40, -(2**31) - 1)

    def change(fields: list[Any]) -> None:
        for ids in _get_nested_ids(fields[2]):
            ids.update({name: number for name in ids if name.endswith(".key")})

    return build_nested_table(change)


@planted_fault("iceberg-v2.nested-ids-place")
def nested_ids_in_the_outer_field(draw: st.DrawFn) -> TableFiles:
    def move(fields: list[Any]) -> None:
        inner = fields[3]["type"]["elementType"]["fields"][0]
        for key in NESTED_ID_KEYS:
            ids = inner["metadata"].pop(key)
            (fields[3] if outer else fields[0])["metadata"].setdefault(key, {}).update(ids)

    outer = draw_one(draw, True, False)
    return build_nested_table(move)


@planted_fault("iceberg-v2.nested-ids-place")
def nested_ids_in_no_map(draw: st.DrawFn) -> TableFiles:
    def change(fields: list[Any]) -> None:
        for key in NESTED_ID_KEYS:
            ids = fields[2]["metadata"][key]
            as_list = [{"name": name, "id": number} for name, number in ids.items()]
            fields[2]["metadata"][key] = as_list if listed else json.dumps(ids)

    listed = draw_one(draw, True, False)
    return build_nested_table(change)


@planted_fault("iceberg-v2.nested-ids-path")
def nested_ids_by_other_paths(draw: st.DrawFn) -> TableFiles:
    which, old, new = draw_one(
        draw,
        (1, "element", "list.element"),
        (1, "element", "array"),
        (2, "key", "key_value.key"),
        (2, "value.element", "element"),
        (2, "value.element", "value-element"),
        (3, "element", "element.x"),
    )

    def rename(fields: list[Any]) -> None:
        for ids in _get_nested_ids(fields[which]):
            name = next(each for each in ids if each.partition(".")[2] == old)
            ids[f"{name.partition('.')[0]}.{new}"] = ids.pop(name)

    return build_nested_table(rename)


def _swap_nested_ids(key: str, *, drop: str, renamed: str | None) -> TableFiles:
    """Drop the nested ids under `drop`; if `renamed`, move them to `key`, where other names are required."""

    def change(fields: list[Any]) -> None:
        inner = fields[3]["type"]["elementType"]["fields"][0]
        for field in (*fields[1:], inner):
            metadata = field["metadata"]
            other = metadata.pop(drop)
            if renamed:
                metadata[key] = other

    return build_nested_table(change)


@planted_fault("iceberg-v2.nested-ids-key")
def nested_ids_under_the_key_of_r3(draw: st.DrawFn) -> TableFiles:
    newest, before = NESTED_ID_KEYS
    if draw_one(draw, True, False):
        return _swap_nested_ids(before, drop=newest, renamed=None)
    return _swap_nested_ids(newest, drop=before, renamed="by displayed names")


@planted_fault("iceberg-v2.nested-ids-key-by-name")
def nested_ids_under_the_key_of_the_newest_text(draw: st.DrawFn) -> TableFiles:
    newest, before = NESTED_ID_KEYS
    if draw_one(draw, True, False):
        return _swap_nested_ids(newest, drop=before, renamed=None)
    return _swap_nested_ids(before, drop=newest, renamed="by physical names")


# data files


@planted_fault("iceberg-v1.partition-columns-stored", "footers")
def partition_column_left_out_of_file(draw: st.DrawFn) -> TableFiles:
    """In the first file, the second file, or both."""
    complete, cut = build_partitioned_rows("col-1", "col-2", "col-3"), build_partitioned_rows("col-1", "col-2")
    return build_partitioned_table("V1", *draw_one(draw, [cut, complete], [complete, cut], [cut, cut]))


@planted_fault("iceberg-v1.partition-columns-stored", "footers")
def partition_column_in_front(draw: st.DrawFn) -> TableFiles:
    complete = build_partitioned_rows("col-1", "col-2", "col-3")
    other = draw_one(
        draw, build_partitioned_rows("col-3", "col-1", "col-2"), build_partitioned_rows("col-1", "col-3", "col-2")
    )
    return build_partitioned_table("V1", complete, other)


@planted_fault("iceberg-v2.partition-columns-stored", "footers")
def partition_column_left_out_of_new_file(draw: st.DrawFn) -> TableFiles:
    complete, cut = build_partitioned_rows("col-1", "col-2", "col-3"), build_partitioned_rows("col-1", "col-2")
    return build_partitioned_table("V2", *draw_one(draw, [complete, cut], [cut, complete], [complete, cut, complete]))


@planted_fault("iceberg-v2.timestamps", "footers")
def timestamp_of_96_bits(draw: st.DrawFn) -> TableFiles:
    return build_timestamp_table(draw_one(draw, "timestamp", "timestamp_ntz"), int96=True)


@planted_fault("iceberg-v2.nested-ids-in-files", "footers")
def parts_stored_without_their_ids(draw: st.DrawFn) -> TableFiles:
    ids = draw_one(draw, (None, 11, 12), (10, None, 12), (10, 11, None), (None, None, None), (10, 12, 11), (7, 11, 12))
    return build_nested_data_table(*ids)
