"""Planted faults of column mapping: modes, ids and names of a schema and their history."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import COLUMN_ID, COLUMN_MAPPING_MODE, MAX_COLUMN_ID, PHYSICAL_NAME
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import add_metadata_commit, build_mapped_field
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("column-mapping.modes")
def mode_of_no_kind(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(configuration={COLUMN_MAPPING_MODE: draw_one(draw, "names", "ID", "", "index")})


@planted_fault("column-mapping.reader-versions")
def mapping_that_readers_miss(draw: st.DrawFn) -> TableFiles:
    """The protocol requires column mapping only of writers."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    reader, listed = draw_one(draw, (1, None), (3, []))
    files.commits[0][1] = protocol_action(reader, 7, listed, ["columnMapping"])
    return files


@planted_fault("column-mapping.enabled-by-feature")
def feature_enabled_for_writers_alone(draw: st.DrawFn) -> TableFiles:
    """The commit that enables column mapping lists the feature only for writers."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    mapped = get_action(files, 0, "metaData")
    existing = mapped | {"schemaString": mapped["schemaString"].replace("col-1", "id")}  # as files store the column
    files.commits[0][1:] = [protocol_action(1, 2), metadata_action(log_only.FIELDS)]
    files.commits[3] = [
        commit_info_action(3),
        protocol_action(3, 7, [], ["columnMapping"]),
        {"metaData": existing},
    ]
    return files


@planted_fault("column-mapping.writer-versions")
def mode_without_writers_of_it(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    files.commits[0][1] = draw_one(draw, protocol_action(1, 2), protocol_action(2, 4), protocol_action(1, 7, None, []))
    return files


@planted_fault("column-mapping.new-columns-have-ids")
def added_column_without_id(draw: st.DrawFn) -> TableFiles:
    field = build_mapped_field("new", 5)
    del field["metadata"][COLUMN_ID]
    return add_metadata_commit(
        log_only.build_table_with_column_mapping(draw_one(draw, "id", "name")), lambda fields: fields.append(field)
    )


@planted_fault("column-mapping.ids-assigned")
def column_id_of_more_than_32_bits(draw: st.DrawFn) -> TableFiles:
    number = draw_one(draw, 1 << 31, 1 << 40)
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    return add_metadata_commit(files, lambda fields: fields.append(build_mapped_field("new", number)), highest=number)


# names over the history


@planted_fault("column-mapping.physical-name-stays")
def physical_name_replaced(draw: st.DrawFn) -> TableFiles:
    """Of a column, of a struct or of a field within it; with or without a rename."""

    def rename(fields: list[Any]) -> None:
        field = draw_one(draw, fields[0], fields[1], fields[1]["type"]["fields"][0])
        field["metadata"][PHYSICAL_NAME] = draw_one(draw, "col-9", "id", "s")
        field["name"] = draw_one(draw, field["name"], "other")

    return add_metadata_commit(log_only.build_table_with_column_mapping(draw_one(draw, "id", "name")), rename)


@planted_fault("column-mapping.max-column-id")
def max_column_id_lowered_below_an_id(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    return add_metadata_commit(files, lambda fields: None, highest=draw_one(draw, 0, 3))


@planted_fault("column-mapping.max-id-never-falls")
def max_column_id_lowered(draw: st.DrawFn) -> TableFiles:
    """With the removal of the column that has the highest id, or directly."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    if draw_one(draw, True, False):
        return add_metadata_commit(files, lambda fields: fields[1]["type"]["fields"].pop(), highest=3)
    add_metadata_commit(files, lambda fields: fields.append(build_mapped_field("new", 9)))
    return add_metadata_commit(files, lambda fields: None, highest=draw_one(draw, 4, 8), version=4)


def _replace_first_column(draw: st.DrawFn, new: dict[str, Any], *, nested: bool = False) -> TableFiles:
    """Drop the first column, in the same commit or one before, and add another column."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))

    def replace(fields: list[Any]) -> None:
        del fields[0]
        (fields[0]["type"]["fields"] if nested else fields).append(new)

    if draw_one(draw, True, False):
        add_metadata_commit(files, lambda fields: fields.pop(0))
        return add_metadata_commit(files, replace, version=4)
    return add_metadata_commit(files, replace)


@planted_fault("column-mapping.new-columns-have-new-paths")
def new_column_in_the_place_of_a_dropped_one(draw: st.DrawFn) -> TableFiles:
    return _replace_first_column(draw, build_mapped_field(draw_one(draw, "id", "other"), 5, physical="col-1"))


@planted_fault("column-mapping.new-columns-named-anew")
def new_column_by_the_name_of_a_dropped_one(draw: st.DrawFn) -> TableFiles:
    return _replace_first_column(
        draw, build_mapped_field(draw_one(draw, "id", "other"), 5, physical="col-1"), nested=draw_one(draw, True, False)
    )


# names in the log


@planted_fault("column-mapping.partition-keys-physical")
def partition_value_by_display_name(draw: st.DrawFn) -> TableFiles:
    fields = [build_mapped_field("id", 1), build_mapped_field("day", 2, "string"), build_mapped_field("hour", 3)]
    files = log_only.build_table(
        protocol=protocol_action(2, 5),
        configuration=_draw_configuration(draw),
        fields=fields,
        partition_columns=["day", "hour"],
        partition={"col-2": "x", "col-3": "1"},
    )
    wrong = draw_one(
        draw, {"day": "x", "hour": "1"}, {"day": "x", "col-3": "1"}, {"day": "x", "col-2": "x", "col-3": "1"}
    )
    get_action(files, 2, "add")["partitionValues"] = wrong
    return files


def _draw_configuration(draw: st.DrawFn) -> dict[str, str]:
    return {COLUMN_MAPPING_MODE: draw_one(draw, "id", "name"), MAX_COLUMN_ID: "4"}


@planted_fault("column-mapping.statistics-physical")
def statistics_by_display_name(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    entry = draw_one(draw, {"id": 1}, {"id": 1, "s": {"x": 1}}, {"col-1": 1, "col-2": {"x": 1}})
    return _replace_statistics(files, {draw_one(draw, "minValues", "maxValues", "nullCount"): entry})


@planted_fault("column-mapping.statistics-physical")
def statistics_of_both_names(draw: st.DrawFn) -> TableFiles:
    """The complete history is available, so the name cannot belong to a dropped column."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    return _replace_statistics(files, {"nullCount": {"col-1": 1, "id": 1}})


@planted_fault("column-mapping.enabled-by-property")
def mapped_without_a_mode(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping()
    configuration = get_action(files, 0, "metaData")["configuration"]
    del configuration[COLUMN_MAPPING_MODE]
    configuration |= draw_one(draw, {}, {COLUMN_MAPPING_MODE: "none"})
    return _replace_statistics(files, {"minValues": draw_one(draw, {"col-1": 1}, {"col-1": 1, "col-2": {"col-3": 1}})})


def _replace_statistics(files: TableFiles, statistics: dict[str, Any]) -> TableFiles:
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": 10, **statistics})
    return files


# names within a version


@planted_fault("column-mapping.physical-names-unique")
def physical_name_of_another_parent(draw: st.DrawFn) -> TableFiles:
    """The physical name of a column equals the physical name of a field in a struct."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    body = get_action(files, 0, "metaData")
    body["schemaString"] = body["schemaString"].replace("col-1", "col-3")
    return files


@planted_fault("column-mapping.physical-names-unique")
def physical_name_of_a_neighbour(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    body = get_action(files, 0, "metaData")
    body["schemaString"] = (
        body["schemaString"].replace("col-1", "col-2").replace("col-4", draw_one(draw, "col-4", "col-3"))
    )
    return files


@planted_fault("column-mapping.clustering-physical")
def clustered_by_logical_name(draw: st.DrawFn) -> TableFiles:
    """Statistics use the physical name, so only the domain is wrong."""
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    listed = ["columnMapping", "domainMetadata", "clustering"]
    files.commits[0][1] = protocol_action(2, 7, None, listed)
    column = draw_one(draw, ["id"], ["s", "x"], ["s", "col-3"], ["col-2", "x"])
    files.commits[0].append(domain_action("delta.clustering", json.dumps({"clusteringColumns": [column]})))
    return files
