"""Sound tables with types and features of proposals: the twins of `faults.proposed_types`."""

from deltaspec_generators.table_files import TableFiles, get_action
from planted_tables.bases.proposed_types import (
    MONTHS,
    SECONDS,
    build_partitioned_table,
    build_typed_table,
    build_writer_compatible_table,
)
from planted_tables.permissions.registry import permission


@permission("interval-types.defined")
def interval_of_months() -> TableFiles:
    return build_typed_table(MONTHS, {"nullCount": {"x": 0}})


@permission("interval-types.defined")
def intervals_in_arrays() -> TableFiles:
    files = build_typed_table(SECONDS)
    body = get_action(files, 0, "metaData")
    array = '{"type":"array","elementType":"interval day to second","containsNull":true}'
    body["schemaString"] = body["schemaString"].replace('"interval day to second"', array)
    return files


@permission("interval-types.defined")
def partition_of_months() -> TableFiles:
    return build_partitioned_table(MONTHS, "INTERVAL '1-0' YEAR TO MONTH")


@permission("interval-types.defined")
def partition_of_seconds() -> TableFiles:
    return build_partitioned_table(SECONDS, "INTERVAL '7 12:34:56.123456' DAY TO SECOND")


@permission("iceberg-writer-compat.enabled")
def writer_compatibility() -> TableFiles:
    return build_writer_compatible_table()


@permission("iceberg-writer-compat.enabled")
def writer_compatibility_with_unused_features() -> TableFiles:
    return build_writer_compatible_table("invariants", "changeDataFeed", "identityColumns")


@permission("iceberg-writer-compat.enabled")
def writer_compatibility_that_is_off() -> TableFiles:
    files = build_writer_compatible_table("allowColumnDefaults")
    get_action(files, 0, "metaData")["configuration"]["delta.enableIcebergWriterCompatV1"] = "false"
    return files
