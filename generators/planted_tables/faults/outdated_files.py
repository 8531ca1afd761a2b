"""Planted faults of protocol and metadata that contradict files which stay live."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import iceberg, log_only
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.retention import build_table_cleaned_up_at_2
from planted_tables.faults.registry import draw_one, planted_fault


def _append_commit(files: TableFiles, *actions: dict[str, Any]) -> TableFiles:
    version = len(files.commits)
    files.commits[version] = [commit_info_action(version), *actions]
    return files


@planted_fault("deletion-vectors.needs-feature", drops_feature=True)
def vector_outlives_its_feature(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_vector()
    protocol = draw_one(
        draw,
        protocol_action(1, 2),
        protocol_action(1, 7, None, []),
        protocol_action(3, 7, [], []),
        protocol_action(3, 7, ["vacuumProtocolCheck"], ["vacuumProtocolCheck"]),
    )
    return _append_commit(files, protocol, metadata_action(log_only.FIELDS))


@planted_fault("add.partition-values")
def partition_column_without_values_in_older_files(draw: st.DrawFn) -> TableFiles:
    """The first or another partition column is new, or one replaces another."""
    before, after = draw_one(draw, ((), ("name",)), (("id",), ("id", "name")), (("id",), ("name",)))
    files = log_only.build_table(partition_columns=before, partition=dict.fromkeys(before, "1"))
    return _append_commit(files, metadata_action(log_only.FIELDS, after))


@planted_fault("add.partition-values")
def partition_column_dropped_under_live_files(draw: st.DrawFn) -> TableFiles:
    """The column stays a column or is dropped; it is the only partition column or one of two."""
    before, after = draw_one(draw, (("name",), ()), (("id", "name"), ("id",)), (("id", "name"), ("name",)))
    files = log_only.build_table(partition_columns=before, partition=dict.fromkeys(before, "1"))
    fields = [field for field in log_only.FIELDS if field[0] in after or draw_one(draw, True, False)]
    return _append_commit(files, metadata_action(fields or log_only.FIELDS, after))


@planted_fault("partition-values.serialization", revisions=("r1", "r2", "r3"))
def partition_column_of_a_type_that_older_values_do_not_have(draw: st.DrawFn) -> TableFiles:
    """In the current revision, the type change itself is illegal as well."""
    value, before, after = draw_one(
        draw,
        ("a", "string", "integer"),
        ("1.5", "double", "long"),
        ("128", "short", "byte"),
        ("true", "boolean", "date"),
    )
    files = log_only.build_table(
        fields=[("id", "long"), ("p", before)], partition_columns=["p"], partition={"p": value}
    )
    return _append_commit(files, metadata_action([("id", "long"), ("p", after)], ["p"]))


def _build_mapping_commit(columns: list[dict[str, Any]], partition_columns: list[str]) -> dict[str, Any]:
    configuration = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "2"}
    return metadata_action(columns, partition_columns, configuration)


@planted_fault("column-mapping.partition-keys-physical")
def partition_column_mapped_to_a_name_that_older_files_lack(_: st.DrawFn) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(2, 5), partition_columns=["name"], partition={"name": "a"})
    columns = [build_mapped_field("id", 1, physical="id"), build_mapped_field("name", 2, "string")]
    return _append_commit(files, _build_mapping_commit(columns, ["name"]))


@planted_fault("column-mapping.physical-names-in-files")
def column_mapped_to_a_name_that_older_files_lack(draw: st.DrawFn) -> TableFiles:
    """A column gets another physical name when the mapping is turned on, or the mapping is turned off."""
    columns = [build_mapped_field("id", 1), build_mapped_field("name", 2, "string", physical="name")]
    mapped = _build_mapping_commit(columns, [])
    if draw(st.booleans()):
        return _append_commit(log_only.build_table(protocol=protocol_action(2, 5)), mapped)
    files = log_only.build_table(protocol=protocol_action(2, 5))
    get_action(files, 0, "metaData").update(mapped["metaData"])
    off = json.loads(json.dumps(mapped))
    off["metaData"]["configuration"] = draw_one(draw, {}, {COLUMN_MAPPING_MODE: "none"})
    return _append_commit(files, off)


@planted_fault("iceberg-v1.numbers-of-records")
def first_compatibility_over_a_file_that_is_not_counted(draw: st.DrawFn) -> TableFiles:
    files = iceberg.build_compatible_table("V1")
    enabling = {"metaData": dict(get_action(files, 0, "metaData"))}
    settings = enabling["metaData"]["configuration"]
    off = {name: value for name, value in settings.items() if "Iceberg" not in name}
    get_action(files, 0, "metaData")["configuration"] = off
    get_action(files, 1, "add", 1).update(draw_one(draw, {"stats": None}, {"stats": "{}"}))
    return _append_commit(files, enabling)


@planted_fault("iceberg-v1.numbers-of-records")
def first_compatibility_of_a_base_with_a_file_that_is_not_counted(draw: st.DrawFn) -> TableFiles:
    """The history begins with a checkpoint, which has the file and the compatibility."""
    files = iceberg.build_compatible_table("V1", last_remove=False)
    get_action(files, 1, "add", 1).update(draw_one(draw, {"stats": None}, {"stats": "{}"}))
    return build_table_cleaned_up_at_2(files)
