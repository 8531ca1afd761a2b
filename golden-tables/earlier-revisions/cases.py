"""Tables in forms that only earlier revisions of the protocol define.

Domains whose configuration is a map (r1, r2) have no case, because a reader of the current revision may refuse them.
Tests of rules draw such logs.
"""

from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec.protocol.property_names import (
    R1_ROW_ID_COLUMN,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROWS_PRESERVED_TAG,
)
from deltaspec_generators.table_files import CheckpointFiles
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("earlier-revisions")
SALES = [("id", "long"), ("item", "string")]


def build_with_row_ids(feature: str, properties: dict[str, str], mark: dict[str, Any], **info: Any) -> WrittenTable:
    """Build a table with row ids, whose high-water mark is an action; `info` has fields of commitInfo."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature, "domainMetadata"]}
    table = WrittenTable(SALES, protocol=protocol, properties=properties)
    with table.commit("append", first=[{"rowIdHighWaterMark": {"highWaterMark": 1, **mark}}], **info):
        table.append([(1, "apple"), (2, None)], add={"baseRowId": 0, "defaultRowCommitVersion": 1})
    with table.commit("append", first=[{"rowIdHighWaterMark": {"highWaterMark": 2, **mark}}], **info):
        table.append([(3, "fig")], add={"baseRowId": 2, "defaultRowCommitVersion": 2})
    return table


@chapter.case(
    "r1.row-ids",
    "Row ids with the feature rowIds; the high-water mark is an action.",
    "action.unknown-ignored",
    since="r1",
    until="r1",
)
def build_r1_row_ids() -> WrittenTable:
    return build_with_row_ids(
        "rowIds", {"delta.enableRowIds": "true", R1_ROW_ID_COLUMN: "_row_id"}, {"preservedRowIds": True}
    )


@chapter.case(
    "r2.row-tracking",
    "Row tracking, whose high-water mark is an action.",
    "action.unknown-ignored",
    since="r2",
    until="r2",
)
def build_r2_row_tracking() -> WrittenTable:
    return build_with_row_ids(
        "rowTracking",
        {"delta.enableRowTracking": "true", ROW_ID_COLUMN: "_row_id", ROW_COMMIT_VERSION_COLUMN: "_row_version"},
        {},
        tags={ROWS_PRESERVED_TAG: "true"},
    )


def add_commit_info(checkpoint: CheckpointFiles) -> None:
    checkpoint.rows.append({"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "MANUAL"}})


@chapter.case(
    "r1.commit-info-in-checkpoint",
    "A checkpoint has a commitInfo, which later revisions forbid.",
    "checkpoint.equals-replay",
    since="r1",
    until="r2",
)
def build_commit_info_in_checkpoint() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    table.append([(2, "pear")])
    table.checkpoint(1, change=add_commit_info)
    return table


@chapter.case(
    "r1.timestamps-without-zone",
    "Partition values of timestamps have no zone.",
    "partition-values.serialization",
    since="r1",
)
def build_timestamps_without_zone() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("at", "timestamp")], partition_by=["at"])
    table.append([(1, 1_767_225_600_000_000)], texts={"at": "2026-01-01 00:00:00"})
    return table
