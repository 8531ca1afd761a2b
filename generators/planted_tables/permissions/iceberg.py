"""Valid tables with Iceberg compatibility, including near misses: renamed, older or replaced columns and files."""

from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import (
    CHANGE_DATA_FEED,
    COLUMN_MAPPING_MODE,
    ICEBERG_COMPAT_V1,
    ICEBERG_COMPAT_V2,
    MAX_COLUMN_ID,
)
from deltaspec_generators.small_tables import add_data_file
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
    build_compatible_table,
    build_configuration,
    build_nested_data_table,
    build_nested_table,
    build_partitioned_rows,
    build_partitioned_table,
    build_protocol,
    build_timestamp_table,
)
from planted_tables.permissions.registry import permission


@permission("iceberg-v2.enabled")
def nested_columns_with_ids_for_both_texts() -> TableFiles:
    return build_nested_table()


@permission("iceberg-v2.enabled")
def names_of_parts_that_nothing_has_any_more() -> TableFiles:
    """Nested ids remain of a field that was an array and of a map value that was an array."""

    def change(fields: list[Any]) -> None:
        fields[1]["type"] = "string"
        fields[2]["type"]["valueType"] = "long"

    return build_nested_table(change)


@permission("iceberg-v2.enabled")
def vectors_supported_and_not_enabled() -> TableFiles:
    return build_compatible_table("V2", "deletionVectors", enableDeletionVectors="false")


@permission("iceberg-v1.enabled")
def nothing_is_asked_while_disabled() -> TableFiles:
    """The feature is supported together with what it forbids, but its property is false."""
    array = {"type": "array", "elementType": "long", "containsNull": True}
    files = build_compatible_table(
        "V1", "deletionVectors", fields=[build_mapped_field("id", 1), build_mapped_field("l", 2, array)]
    )
    get_action(files, 0, "metaData")["configuration"][ICEBERG_COMPAT_V1] = "false"
    del get_action(files, 2, "add")["stats"]
    return files


@permission("iceberg-v1.enabled")
def older_files_are_not_counted() -> TableFiles:
    """Compatibility is enabled when files without statistics exist."""
    files = build_compatible_table("V1")
    mapping = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "30"}
    fields = [build_mapped_field("id", 1), build_mapped_field("name", 2, "string")]
    files.commits[0][2] = metadata_action(fields, configuration=mapping)
    del get_action(files, 1, "add")["stats"]
    files.commits[3] = [commit_info_action(3), metadata_action(fields, configuration=build_configuration("V1"))]
    return files


@permission("iceberg-v2.enabled")
def older_file_that_comes_again_is_not_counted() -> TableFiles:
    """V2 requires statistics of new files; here an older file is added again with tags."""
    files = build_compatible_table("V2")
    mapping = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "30"}
    fields = [build_mapped_field("id", 1), build_mapped_field("name", 2, "string")]
    files.commits[0][2] = metadata_action(fields, configuration=mapping)
    del get_action(files, 2, "add")["stats"]
    files.commits[3] = [commit_info_action(3), metadata_action(fields, configuration=build_configuration("V2"))]
    files.commits[4] = [
        commit_info_action(4),
        {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"a": "b"}}},
    ]
    return files


def _build_partition_fields(*names: str) -> list[dict[str, Any]]:
    return [
        build_mapped_field("id", 1),
        *(build_mapped_field(name, 2 + index, "integer") for index, name in enumerate(names)),
    ]


@permission("iceberg-v1.enabled")
def partition_column_renamed() -> TableFiles:
    files = build_compatible_table(
        "V1", fields=_build_partition_fields("a"), partition_columns=["a"], partition={"col-2": "1"}
    )
    files.commits[3] = [
        commit_info_action(3),
        metadata_action(_build_partition_fields("b"), ["b"], build_configuration("V1")),
    ]
    return files


@permission("iceberg-v2.enabled")
def partition_column_of_another_type() -> TableFiles:
    """The table is replaced; the partition column keeps its name, as the protocol requires."""
    files = build_compatible_table(
        "V2", fields=_build_partition_fields("part_a"), partition_columns=["part_a"], partition={"col-2": "1"}
    )
    new_fields = [build_mapped_field("id", 10), build_mapped_field("part_a", 11)]
    live = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    replaced = metadata_action(new_fields, ["part_a"], build_configuration("V2"))
    files.commits[3] = [commit_info_action(3), replaced, *(remove_action(each) for each in live)]
    return files


@permission("iceberg-v2.enabled")
def partition_columns_in_another_order() -> TableFiles:
    """Then the table becomes unpartitioned, which leaves no partition column with another name."""
    values = {"col-2": "1", "col-3": "2"}
    files = build_compatible_table(
        "V2", fields=_build_partition_fields("a", "b"), partition_columns=["a", "b"], partition=values
    )
    live = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    reordered = metadata_action(_build_partition_fields("a", "b"), ["b", "a"], build_configuration("V2"))
    files.commits[3] = [commit_info_action(3), reordered, *(remove_action(each) for each in live)]
    files.commits[4] = [
        commit_info_action(4),
        metadata_action(_build_partition_fields("a", "b"), [], build_configuration("V2")),
    ]
    return files


@permission("iceberg-v2.enabled")
def partitioning_restored() -> TableFiles:
    """A restore brings the partitioning back; it changed only while compatibility was disabled."""
    files = build_compatible_table("V2", fields=_build_partition_fields("a", "b"), partition_columns=["a"])
    del files.commits[2], files.commits[1]
    off = {**build_configuration("V2"), ICEBERG_COMPAT_V2: "false"}
    for version, (columns, properties) in enumerate(
        [(["a"], off), (["b"], off), (["b"], build_configuration("V2")), (["a"], build_configuration("V2"))], 1
    ):
        files.commits[version] = [
            commit_info_action(version, operation="RESTORE" if version == 4 else "REPLACE TABLE"),
            metadata_action(_build_partition_fields("a", "b"), columns, properties),
        ]
    return files


@permission("iceberg-v2.enabled")
def enabled_by_a_table_that_is_replaced() -> TableFiles:
    """The replaced table had another partition column and no compatibility."""
    files = log_only.build_table(
        fields=[("id", "long"), ("day", "date")], partition_columns=["day"], partition={"day": "2024-01-01"}
    )
    live = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    replaced = metadata_action(_build_partition_fields("month"), ["month"], build_configuration("V2"))
    listed = ["appendOnly", "invariants", "columnMapping", "icebergCompatV2"]
    files.commits[3] = [
        commit_info_action(3),
        protocol_action(2, 7, None, listed),
        replaced,
        *(remove_action(each) for each in live),
    ]
    return files


# data files


ALL_COLUMNS = ("col-1", "col-2", "col-3")


@permission("iceberg-v1.enabled", "footers")
def partition_columns_behind_the_others() -> TableFiles:
    return build_partitioned_table(
        "V1", build_partitioned_rows(*ALL_COLUMNS), build_partitioned_rows("col-2", "col-1", "col-3")
    )


@permission("iceberg-v1.enabled", "footers")
def change_files_without_partition_columns() -> TableFiles:
    """The requirement applies to data files, not to change data files."""
    files = build_partitioned_table("V1", build_partitioned_rows(*ALL_COLUMNS), build_partitioned_rows(*ALL_COLUMNS))
    listed = ["columnMapping", "icebergCompatV1", "changeDataFeed"]
    files.commits[0][1] = protocol_action(3, 7, ["columnMapping"], listed)
    get_action(files, 0, "metaData")["configuration"][CHANGE_DATA_FEED] = "true"
    for number, columns in enumerate((("col-1", "col-2"), ("col-3", "col-1", "col-2"))):
        table = build_partitioned_rows(*columns).append_column("_change_type", pa.array(["insert"] * 10, pa.string()))
        name = f"_change_data/day=x/{number}.parquet"
        body = add_data_file(files, name, table)["add"]
        cdc = {"path": name, "partitionValues": {"col-3": "x"}, "size": body["size"], "dataChange": False}
        files.commits[number + 1].append({"cdc": cdc})
    return files


@permission("iceberg-v2.enabled", "footers")
def partition_columns_anywhere() -> TableFiles:
    return build_partitioned_table(
        "V2", build_partitioned_rows("col-3", "col-1", "col-2"), build_partitioned_rows(*ALL_COLUMNS)
    )


@permission("iceberg-v2.enabled", "footers")
def files_from_before_the_compatibility() -> TableFiles:
    """They do not contain the partition column; both come back while compatibility is enabled."""
    files = build_partitioned_table(
        "V2", build_partitioned_rows("col-1", "col-2"), build_partitioned_rows("col-1", "col-2")
    )
    body = get_action(files, 0, "metaData")
    files.commits[3] = [commit_info_action(3), {"metaData": dict(body)}]
    body["configuration"] = {key: value for key, value in body["configuration"].items() if "Iceberg" not in key}
    first, second = ({"add": get_action(files, version, "add")} for version in (1, 2))
    files.commits[4] = [commit_info_action(4), remove_action(first), remove_action(second)]
    files.commits[5] = [commit_info_action(5, operation="RESTORE"), first]
    files.commits[6] = [commit_info_action(6), second]
    return files


@permission("iceberg-v2.enabled", "footers")
def files_of_a_clone() -> TableFiles:
    files = build_partitioned_table(
        "V2", build_partitioned_rows(*ALL_COLUMNS), build_partitioned_rows("col-1", "col-2")
    )
    files.commits[2][0] = commit_info_action(2, operation="CLONE")
    return files


@permission("iceberg-v2.enabled", "footers")
def timestamps_of_64_bits() -> TableFiles:
    return build_timestamp_table("timestamp", int96=False)


@permission("iceberg-v1.enabled", "footers")
def timestamps_of_96_bits_under_the_first() -> TableFiles:
    """V1 does not restrict the physical type of timestamps."""
    files = build_timestamp_table("timestamp", int96=True)
    files.commits[0][1] = build_protocol("V1")
    get_action(files, 0, "metaData")["configuration"] = build_configuration("V1")
    return files


@permission("iceberg-v2.enabled", "footers")
def parts_stored_with_their_ids() -> TableFiles:
    return build_nested_data_table(10, 11, 12)
