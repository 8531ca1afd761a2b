"""Mutations of what checkpoints hold: actions, statistics as JSON and as columns, typed partition values."""

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.builder import (
    TableFiles,
    add_action,
    domain_action,
    protocol_action,
    remove_action,
    txn_action,
)
from deltaspec_generators.checkpoint_bases import (
    AS_COLUMNS,
    NO_JSON,
    PARTITION_TYPES,
    change_adds,
    enforcing,
    partitioned,
    with_columns,
    with_partition_values,
    without_json,
)
from deltaspec_generators.checkpoint_files import CLASSIC_COLUMNS, CheckpointFiles
from deltaspec_generators.mutations import mutation, pick

DAY_MS = 86_400_000
REMOVED_MS = 1_700_000_000_000


def _without(files: TableFiles, kind: str) -> TableFiles:
    files.checkpoints[0].rows = [row for row in files.checkpoints[0].rows if kind not in row]
    return files


@mutation("checkpoint-contents.has-protocol")
def protocol_left_out(draw: st.DrawFn) -> TableFiles:
    return _without(bases.checkpointed(), "protocol")


@mutation("checkpoint-contents.has-metadata")
def metadata_left_out(draw: st.DrawFn) -> TableFiles:
    return _without(bases.checkpointed(), "metaData")


@mutation("checkpoint-contents.has-adds")
def every_file_left_out(draw: st.DrawFn) -> TableFiles:
    return _without(bases.checkpointed(), "add")


def tombstoned(configuration: dict[str, str] | None = None) -> TableFiles:
    """A table whose only checkpoint is of version 2, in which a file was removed; it lacks the tombstone."""
    files = bases.plain(configuration=configuration)
    rows = [files.commits[0][1], files.commits[0][2], files.commits[1][2], files.commits[2][1]]
    files.checkpoints.append(CheckpointFiles(2, rows=rows))
    return files


@mutation("checkpoint-contents.has-removes")
def tombstone_left_out(draw: st.DrawFn) -> TableFiles:
    files = tombstoned()
    files.clock_ms = REMOVED_MS + pick(draw, 0, 6 * DAY_MS, 7 * DAY_MS)
    return files


@mutation("checkpoint.tombstones-kept")
def tombstone_dropped_early(draw: st.DrawFn) -> TableFiles:
    days = draw(st.integers(8, 1000))
    files = tombstoned({"delta.deletedFileRetentionDuration": f"interval {days} days"})
    files.clock_ms = REMOVED_MS + days * DAY_MS
    return files


@mutation("checkpoint-contents.has-transactions")
def unexpired_transaction_left_out(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed(configuration={"delta.setTransactionRetentionDuration": "interval 2 weeks"})
    files.commits[1].append(txn_action("app", 5, lastUpdated=REMOVED_MS))
    files.clock_ms = REMOVED_MS + pick(draw, 0, 14 * DAY_MS)
    return files


@mutation("checkpoint-contents.has-domains")
def domain_left_out(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[1].append(domain_action("mine", "{}"))
    return files


@mutation("checkpoint-contents.no-domain-tombstones")
def tombstone_of_a_domain(draw: st.DrawFn) -> TableFiles:
    files = bases.checkpointed(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[0].append(domain_action("mine", "{}"))
    files.commits[1].append(domain_action("mine", "{}", removed=True))
    files.checkpoints[0].rows.append(domain_action("mine", "{}", removed=True))
    return files


# statistics and typed partition values


@mutation("checkpoint-contents.parsed-partition-values")
def parsed_partition_values_left_out(draw: st.DrawFn) -> TableFiles:
    files = partitioned(AS_COLUMNS)
    change_adds(files, with_columns)
    files.checkpoints[0].parsed = PARTITION_TYPES
    change_adds(files, with_partition_values, pick(draw, slice(0), slice(1)))
    return files


@mutation("checkpoint-contents.json-statistics")
def json_statistics_left_out(draw: st.DrawFn) -> TableFiles:
    settings = pick(draw, None, AS_COLUMNS, {"delta.checkpoint.writeStatsAsJson": "true"})
    files = enforcing(settings)
    if settings == AS_COLUMNS or pick(draw, True, False):
        change_adds(files, with_columns)
    change_adds(files, without_json, pick(draw, slice(None), slice(1)))
    return files


@mutation("checkpoint-contents.json-statistics-off")
def json_statistics_though_off(draw: st.DrawFn) -> TableFiles:
    return enforcing(NO_JSON)


@mutation("checkpoint-contents.struct-statistics")
def struct_statistics_left_out(draw: st.DrawFn) -> TableFiles:
    as_json = pick(draw, True, False)
    files = enforcing(AS_COLUMNS if as_json else {**AS_COLUMNS, **NO_JSON})
    change_adds(files, with_columns, pick(draw, slice(0), slice(1)))
    if not as_json:
        change_adds(files, without_json)
    return files


@mutation("checkpoint-contents.struct-statistics-off")
def struct_statistics_though_off(draw: st.DrawFn) -> TableFiles:
    files = enforcing({"delta.checkpoint.writeStatsAsStruct": "false"})
    change_adds(files, with_columns, pick(draw, slice(None), slice(1)))
    return files


@mutation("checkpoint-contents.remove-fields")
def tombstone_with_more_than_it_needs(draw: st.DrawFn) -> TableFiles:
    files = tombstoned()
    more: dict[str, Any] = pick(draw, {"stats": '{"numRecords":10}'}, {"tags": {"a": "b"}})
    gone = remove_action(add_action("a.parquet"), **more)
    files.checkpoints[0].rows.append(gone)
    fields = [CLASSIC_COLUMNS["remove"].field(place) for place in range(CLASSIC_COLUMNS["remove"].num_fields)]
    given = [("stats", pa.string()), ("tags", pa.map_(pa.string(), pa.string()))]
    files.checkpoints[0].types["remove"] = pa.struct([*fields, *given])
    return files
