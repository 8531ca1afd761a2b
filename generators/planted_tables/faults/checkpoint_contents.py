"""Planted faults of checkpoint content: actions, statistics as JSON and as columns, typed partition values."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec.protocol.property_names import FILE_RETENTION, STATS_AS_JSON, STATS_AS_STRUCT, TRANSACTION_RETENTION
from deltaspec.protocol.time_units import DAY_MS
from deltaspec_generators.checkpoint_writer import CLASSIC_COLUMNS
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    domain_action,
    protocol_action,
    remove_action,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.checkpoints import (
    NO_JSON_STATISTICS,
    PARTITION_TYPES,
    STATISTICS_AS_STRUCT,
    add_partition_value_columns,
    add_statistics_columns,
    build_partitioned_checkpoint_table,
    build_table_with_checkpoint_properties,
    build_table_without_tombstone,
    edit_checkpoint_adds,
    remove_json_statistics,
)
from planted_tables.bases.retention import REMOVED_MS
from planted_tables.faults.registry import draw_one, planted_fault


def _drop_rows(files: TableFiles, kind: str) -> TableFiles:
    files.checkpoints[0].rows = [row for row in files.checkpoints[0].rows if kind not in row]
    return files


@planted_fault("checkpoint-contents.has-protocol")
def protocol_left_out(draw: st.DrawFn) -> TableFiles:
    return _drop_rows(log_only.build_checkpointed_table(), "protocol")


@planted_fault("checkpoint-contents.has-metadata")
def metadata_left_out(draw: st.DrawFn) -> TableFiles:
    return _drop_rows(log_only.build_checkpointed_table(), "metaData")


@planted_fault("checkpoint-contents.has-adds")
def every_file_left_out(draw: st.DrawFn) -> TableFiles:
    return _drop_rows(log_only.build_checkpointed_table(), "add")


@planted_fault("checkpoint-contents.has-removes")
def tombstone_left_out(draw: st.DrawFn) -> TableFiles:
    files = build_table_without_tombstone()
    files.clock_ms = REMOVED_MS + draw_one(draw, 0, 6 * DAY_MS, 7 * DAY_MS)
    return files


@planted_fault("checkpoint.tombstones-kept")
def tombstone_dropped_early(draw: st.DrawFn) -> TableFiles:
    days = draw(st.integers(8, 1000))
    files = build_table_without_tombstone({FILE_RETENTION: f"interval {days} days"})
    files.clock_ms = REMOVED_MS + days * DAY_MS
    return files


@planted_fault("checkpoint-contents.has-transactions")
def unexpired_transaction_left_out(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(configuration={TRANSACTION_RETENTION: "interval 2 weeks"})
    files.commits[1].append(txn_action("app", 5, lastUpdated=REMOVED_MS))
    files.clock_ms = REMOVED_MS + draw_one(draw, 0, 14 * DAY_MS)
    return files


@planted_fault("checkpoint-contents.has-domains")
def domain_left_out(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[1].append(domain_action("mine", "{}"))
    return files


@planted_fault("checkpoint-contents.no-domain-tombstones")
def tombstone_of_a_domain(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_checkpointed_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[0].append(domain_action("mine", "{}"))
    files.commits[1].append(domain_action("mine", "{}", removed=True))
    files.checkpoints[0].rows.append(domain_action("mine", "{}", removed=True))
    return files


# statistics and typed partition values


@planted_fault("checkpoint-contents.parsed-partition-values")
def parsed_partition_values_left_out(draw: st.DrawFn) -> TableFiles:
    files = build_partitioned_checkpoint_table(STATISTICS_AS_STRUCT)
    edit_checkpoint_adds(files, add_statistics_columns)
    files.checkpoints[0].parsed = PARTITION_TYPES
    edit_checkpoint_adds(files, add_partition_value_columns, draw_one(draw, slice(0), slice(1)))
    return files


@planted_fault("checkpoint-contents.json-statistics")
def json_statistics_left_out(draw: st.DrawFn) -> TableFiles:
    settings = draw_one(draw, None, STATISTICS_AS_STRUCT, {STATS_AS_JSON: "true"})
    files = build_table_with_checkpoint_properties(settings)
    if settings == STATISTICS_AS_STRUCT:
        edit_checkpoint_adds(files, add_statistics_columns)
    edit_checkpoint_adds(files, remove_json_statistics, draw_one(draw, slice(None), slice(1)))
    return files


@planted_fault("checkpoint-contents.json-statistics-off")
def json_statistics_though_off(draw: st.DrawFn) -> TableFiles:
    return build_table_with_checkpoint_properties(NO_JSON_STATISTICS)


@planted_fault("checkpoint-contents.struct-statistics")
def struct_statistics_left_out(draw: st.DrawFn) -> TableFiles:
    as_json = draw_one(draw, True, False)
    files = build_table_with_checkpoint_properties(
        STATISTICS_AS_STRUCT if as_json else {**STATISTICS_AS_STRUCT, **NO_JSON_STATISTICS}
    )
    edit_checkpoint_adds(files, add_statistics_columns, draw_one(draw, slice(0), slice(1)))
    if not as_json:
        edit_checkpoint_adds(files, remove_json_statistics)
    return files


@planted_fault("checkpoint-contents.struct-statistics-off")
def struct_statistics_though_not_requested(draw: st.DrawFn) -> TableFiles:
    """The property is not set; the text says that its default is false."""
    files = build_table_with_checkpoint_properties({})
    edit_checkpoint_adds(files, add_statistics_columns, draw_one(draw, slice(None), slice(1)))
    return files


@planted_fault("checkpoint-contents.struct-statistics-off")
def struct_statistics_though_off(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_checkpoint_properties({STATS_AS_STRUCT: "false"})
    edit_checkpoint_adds(files, add_statistics_columns, draw_one(draw, slice(None), slice(1)))
    return files


@planted_fault("checkpoint-contents.remove-fields")
def tombstone_with_more_than_it_needs(draw: st.DrawFn) -> TableFiles:
    files = build_table_without_tombstone()
    more: dict[str, Any] = draw_one(draw, {"stats": '{"numRecords":10}'}, {"tags": {"a": "b"}})
    tombstone = remove_action(add_action("a.parquet"), **more)
    for lines in files.commits.values():
        lines[:] = [tombstone if isinstance(line, dict) and "remove" in line else line for line in lines]
    files.checkpoints[0].rows.append(tombstone)
    fields = [CLASSIC_COLUMNS["remove"].field(index) for index in range(CLASSIC_COLUMNS["remove"].num_fields)]
    added = [("stats", pa.string()), ("tags", pa.map_(pa.string(), pa.string()))]
    files.checkpoints[0].types["remove"] = pa.struct([*fields, *added])
    return files
