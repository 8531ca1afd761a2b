"""Row ids and row commit versions of the files of a snapshot. Source: Row IDs (r1), Row Tracking, Row
Commit Versions (r2, r3, current).

A row has a fresh id, which its place gives it, and a stable one, which it keeps when it is copied to another file: then
the file holds it in a hidden column. The same goes, since r2, for the version that last wrote the row.
"""

from collections.abc import Collection, Iterable, Sequence

from deltaspec.model.actions import Action, Add, CommitInfo, MetaData, Protocol, RowIdHighWaterMark
from deltaspec.model.features.protocol import supports
from deltaspec.model.features.table_properties import is_property_true
from deltaspec.model.json_values import JsonError, Number, parse_lossless
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Struct

FEATURE = "rowTracking"
DOMAIN = "delta.rowTracking"
ENABLED = "delta.enableRowTracking"
SUSPENDED = "delta.rowTrackingSuspended"
ROW_ID_COLUMN = "delta.rowTracking.materializedRowIdColumnName"
ROW_COMMIT_VERSION_COLUMN = "delta.rowTracking.materializedRowCommitVersionColumnName"
COLUMN_PROPERTIES = (ROW_ID_COLUMN, ROW_COMMIT_VERSION_COLUMN)
"""Properties that name the hidden columns of materialized values."""
FIRST_FEATURE = "rowIds"
R1_ENABLED = "delta.enableRowIds"
FIRST_ROW_ID_COLUMN = "delta.rowIds.physicalColumnName"
"""Feature and properties of the oldest text."""
PRESERVED_TAG = "delta.rowTracking.preserved"


def get_feature_name(revision: Revision) -> str:
    """Name of the feature by which files have row ids."""
    return (
        FIRST_FEATURE if revision is Revision.R1 else FEATURE
    )  # [Changed in r2] another name, and commit versions too


def enabled_by(revision: Revision) -> str:
    """Name of the property that enables row ids."""
    return R1_ENABLED if revision is Revision.R1 else ENABLED  # [Changed in r2]


def get_suspension_property(revision: Revision) -> str | None:
    """Name of the property that suspends row tracking; None where the text has none."""
    return SUSPENDED if revision is Revision.CURRENT else None  # [Changed in current] nothing could be suspended before


def get_column_properties(revision: Revision) -> tuple[str, ...]:
    """Properties that name the hidden columns of materialized values: that of row ids first."""
    return (FIRST_ROW_ID_COLUMN,) if revision is Revision.R1 else COLUMN_PROPERTIES  # [Changed in r2]


def is_enabled(protocol: Protocol, metadata: MetaData, revision: Revision = Revision.CURRENT) -> bool:
    """Whether every row of the table has row ids to rely on."""
    return supports(protocol, get_feature_name(revision)) and is_property_true(
        metadata.configuration, enabled_by(revision)
    )


def is_suspended(metadata: MetaData, revision: Revision = Revision.CURRENT) -> bool:
    """Whether writers are not to assign row ids for the time being."""
    name = get_suspension_property(revision)
    return name is not None and is_property_true(metadata.configuration, name)


def assigns_row_ids(protocol: Protocol, metadata: MetaData, revision: Revision = Revision.CURRENT) -> bool:
    """Whether every add has to be committed with row ids: row tracking is supported, and not suspended."""
    return supports(protocol, get_feature_name(revision)) and not is_suspended(metadata, revision)


def read_preservation_statement(actions: Iterable[Action], revision: Revision = Revision.CURRENT) -> bool | None:
    """What a commit says of the rows that it updates or copies: they keep their ids, or not; None: nothing it says.

    Args:
        actions: of one commit.
        revision: the text, which says where that stands.
    """
    for action in actions:
        match action:
            case RowIdHighWaterMark(preserved_row_ids=claim) if revision is Revision.R1:
                return claim
            case CommitInfo(tags=dict() as tags) if revision is not Revision.R1:
                # [Changed in r2] from the action of the mark to the provenance of the commit
                return {"true": True, "false": False}.get(str(tags.get(PRESERVED_TAG)).lower())
    return None


def compute_default_row_ids(add: Add, num_records: int) -> range:
    """Ids of the rows of a file that has no materialized ones: its base id, and one more for each row after the first.

    Raises:
        ValueError: the file has no `baseRowId`.
    """
    if add.base_row_id is None:
        raise ValueError(f"{add.path} has no baseRowId")
    return range(add.base_row_id, add.base_row_id + num_records)


def compute_stable_row_ids(add: Add, materialized: Sequence[int | None]) -> list[int]:
    """The id that each row keeps: the materialized one, or where that is null the default one.

    Args:
        add: of the file.
        materialized: of every row of the file, deleted ones too, in their order.

    Raises:
        ValueError: the file has no `baseRowId`.
    """
    defaults = compute_default_row_ids(add, len(materialized))
    return [default if each is None else each for each, default in zip(materialized, defaults, strict=True)]


def compute_stable_row_commit_versions(add: Add, materialized: Sequence[int | None]) -> list[int | None]:
    """The version that last wrote each row: the materialized one, or where that is null the file's."""
    return [add.default_row_commit_version if each is None else each for each in materialized]


def find_repeated_row_ids(files: Sequence[tuple[Add, Sequence[int | None], Collection[int]]]) -> set[int]:
    """Stable ids that two rows of a snapshot have, or that are the fresh id of another row.

    Args:
        files: each with the materialized ids of its rows, and the indexes of those that are deleted. Deleted rows are
            no rows of the snapshot.
    """
    rows = [
        (stable, fresh)
        for add, materialized, deleted in files
        for index, (stable, fresh) in enumerate(
            zip(compute_stable_row_ids(add, materialized), compute_default_row_ids(add, len(materialized)), strict=True)
        )
        if index not in deleted
    ]
    repeated = set()
    for place, (stable, _) in enumerate(rows):
        for other, (stable_there, fresh_there) in enumerate(rows):
            if place != other and stable in (stable_there, fresh_there):
                repeated.add(stable)
    return repeated


def find_conflicting_column(name: str, schema: Struct, mapping: str | None) -> str | None:
    """The column of the table whose logical or physical name a hidden column has; None if it is free.

    Args:
        name: of the hidden column.
        schema: of the table.
        mapping: mode of column mapping; None where it is off.
    """
    for field in schema.fields:
        if name in (field.name, column_mapping.physical_name(field, mapping)):
            return field.name
    return None


def high_water_mark(snapshot: Snapshot) -> int | None:
    """The highest row id ever assigned, as the table's domain says; None without the domain or where it says none."""
    domain = snapshot.domains.get(DOMAIN)
    return None if domain is None else parse_high_water_mark(domain.configuration)


def parse_high_water_mark(configuration: str) -> int | None:
    """The mark that a configuration of the domain holds; None where it holds none, or none that is a long.

    The key is `rowIdHighWaterMark`; r3 prints `highWaterMark` (E27).
    """
    try:
        value = parse_lossless(configuration).value
    except JsonError:
        return None
    mark = value.get("rowIdHighWaterMark", value.get("highWaterMark")) if isinstance(value, dict) else None
    if not (isinstance(mark, Number) and mark.is_integer and len(mark) <= 20):
        return None
    return int(mark) if -(2**63) <= int(mark) < 2**63 else None
