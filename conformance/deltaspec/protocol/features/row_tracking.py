"""Row tracking: names by revision, and the form of its tag, domain and hidden columns.

Source: Row IDs (r1), Row Tracking (r2, r3, current).
"""

from collections.abc import Iterable, Mapping

from deltaspec.protocol.actions import Action, CommitInfo, MetaData, Protocol, RowIdHighWaterMark
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.json_values import JsonError, Number, parse_lossless, prune_deep_values
from deltaspec.protocol.property_names import (
    R1_ROW_ID_COLUMN,
    R1_ROW_IDS,
    ROW_COMMIT_VERSION_COLUMN,
    ROW_ID_COLUMN,
    ROW_TRACKING,
    ROW_TRACKING_SUSPENDED,
    ROWS_PRESERVED_TAG,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Struct

FEATURE = "rowTracking"
DOMAIN = "delta.rowTracking"
MARK_KEY, R3_MARK_KEY = "rowIdHighWaterMark", "highWaterMark"
"""Keys of the high-water mark in the domain: of the current revision, and as r3 prints it (E27)."""
COLUMN_PROPERTIES = (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN)
"""Properties with the names of the hidden columns of materialized values."""
R1_FEATURE = "rowIds"


def get_feature_name(revision: Revision) -> str:
    """Return the name of the feature that gives files row ids."""
    return R1_FEATURE if revision is Revision.R1 else FEATURE  # [Changed in r2] another name, and commit versions too


def get_enablement_property(revision: Revision) -> str:
    """Return the name of the property that enables row ids."""
    return R1_ROW_IDS if revision is Revision.R1 else ROW_TRACKING  # [Changed in r2]


def get_suspension_property(revision: Revision) -> str | None:
    """Return the name of the property that suspends row tracking, or None."""
    return ROW_TRACKING_SUSPENDED if revision is Revision.CURRENT else None  # [Changed in current] suspension is new


def get_column_properties(revision: Revision) -> tuple[str, ...]:
    """Return the properties with the names of the hidden columns, row ids first."""
    return (R1_ROW_ID_COLUMN,) if revision is Revision.R1 else COLUMN_PROPERTIES  # [Changed in r2]


def is_enabled(protocol: Protocol, metadata: MetaData, revision: Revision = Revision.CURRENT) -> bool:
    """Return whether every row of the table has reliable row ids."""
    return supports(protocol, get_feature_name(revision)) and is_property_true(
        metadata.configuration, get_enablement_property(revision)
    )


def is_suspended(metadata: MetaData, revision: Revision = Revision.CURRENT) -> bool:
    """Return whether writers currently must not assign row ids."""
    name = get_suspension_property(revision)
    return name is not None and is_property_true(metadata.configuration, name)


def assigns_row_ids(protocol: Protocol, metadata: MetaData, revision: Revision = Revision.CURRENT) -> bool:
    """Return whether every add must have row ids: row tracking is supported and not suspended."""
    return supports(protocol, get_feature_name(revision)) and not is_suspended(metadata, revision)


def read_preservation_statement(actions: Iterable[Action], revision: Revision = Revision.CURRENT) -> bool | None:
    """Return whether a commit states that rows it updates or copies keep their ids; None without a statement.

    Args:
        actions: Actions of one commit.
        revision: Protocol revision, which defines where the statement is.
    """
    for action in actions:
        match action:
            case RowIdHighWaterMark(preserved_row_ids=preserved) if revision is Revision.R1:
                return preserved
            case CommitInfo(tags=dict() as tags) if revision is not Revision.R1:
                # [Changed in r2] a tag of commitInfo replaces the field of the rowIdHighWaterMark action
                return {"true": True, "false": False}.get(str(tags.get(ROWS_PRESERVED_TAG)).lower())
    return None


def find_conflicting_column(name: str, schema: Struct, mapping: str | None) -> str | None:
    """Return the table column whose logical or physical name equals the name of a hidden column, or None.

    Args:
        name: Name of the hidden column.
        schema: Schema of the table.
        mapping: Column mapping mode; None if it is off.
    """
    for field in schema.fields:
        if name in (field.name, column_mapping.physical_name(field, mapping)):
            return field.name
    return None


def find_conflict(
    name: str,
    configuration: Mapping[str, str],
    schema: Struct | None,
    mapping: str | None,
    revision: Revision = Revision.CURRENT,
) -> str | None:
    """Return the table column, or the other property, with the name of a hidden column; None if the name is unique.

    Args:
        name: Property with the name of the hidden column.
        configuration: Configuration of the table.
        schema: Schema of the table; None if unknown.
        mapping: Column mapping mode; None if it is off.
        revision: Protocol revision.
    """
    column = configuration.get(name)
    if column is None:
        return None
    others = (each for each in get_column_properties(revision) if each != name and configuration.get(each) == column)
    conflict = None if schema is None else find_conflicting_column(column, schema, mapping)
    return conflict or next(others, None)


def get_column_names(metadata: MetaData, revision: Revision = Revision.CURRENT) -> dict[str, str]:
    """Return the properties with the names of hidden columns by column, of a table that supports row ids."""
    found = ((metadata.configuration.get(name), name) for name in get_column_properties(revision))
    return {column: name for column, name in found if column is not None}


def parse_high_water_mark(configuration: str) -> int | None:
    """Return the mark in a configuration of the domain; None if it is missing or not a long.

    The key is `rowIdHighWaterMark`; r3 prints `highWaterMark` (E27).
    """
    try:
        value = parse_lossless(prune_deep_values(configuration)).value
    except JsonError:
        return None
    mark = value.get(MARK_KEY, value.get(R3_MARK_KEY)) if isinstance(value, dict) else None
    if not (isinstance(mark, Number) and mark.is_integer and len(mark) <= 20):
        return None
    return int(mark) if -(2**63) <= int(mark) < 2**63 else None
