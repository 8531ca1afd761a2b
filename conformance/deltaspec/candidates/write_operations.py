"""Operations of `apply`: writes that a candidate is asked to perform (candidate protocol, version 1).

    {"kind": "append", "rows": "/tmp/rows.arrow"}
    {"kind": "delete", "where": {"sql": "`id` = 3", "tree": ["=", ["col", "id"], ["lit", "long", "3"]]}}

Rows are the path of an Arrow IPC file with logical column names. A column that the file does not have is null, or gets
its default, generated or identity value. Paths of columns and fields are lists of logical names.
"""

import re
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec

Version: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
ColumnPath: TypeAlias = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
"""Logical names from a column to one of its fields."""
Value: TypeAlias = tuple[Literal["lit"], str, str | None]
"""`["lit", type, text or null]`, as in predicates."""
CheckpointForm: TypeAlias = Literal["v1", "multipart", "v2", "v2-sidecars"]


def _name_kind(class_name: str) -> str:
    """Return the kind of a class: `AddColumn` is `add-column`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", class_name).lower()


class _Operation(msgspec.Struct, tag_field="kind", tag=_name_kind, frozen=True, omit_defaults=True):
    """Base of all operations."""


class Where(msgspec.Struct, frozen=True, omit_defaults=True):
    """Condition of an operation in both forms; a candidate uses either."""

    sql: str
    tree: list[Any] | None = None
    """The same condition, as in `scan`."""


class Create(_Operation, frozen=True):
    """Create a table in a directory that has none."""

    schema: str
    """Delta schema as JSON text, with logical names and the metadata of columns, such as generation expressions."""
    partition_by: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    """Table properties; they also enable features, such as `delta.feature.rowTracking = supported`."""
    rows: str | None = None


class Replace(_Operation, frozen=True):
    """Replace schema, partitioning, properties and content of a table."""

    schema: str
    partition_by: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    rows: str | None = None


class Convert(_Operation, frozen=True):
    """Make a table of the Parquet files in a directory that has no log, without writing them again.

    The values of partition columns are in the names of directories, as Hive writes them.
    """

    schema: str
    """Delta schema of the files and the partition columns, as JSON text; partition columns are last."""
    partition_by: tuple[str, ...] = ()


class Clone(_Operation, frozen=True):
    """Create a table in an empty directory that refers to the files of another table, without copying them."""

    source: str
    """Directory of the other table, whose newest version is cloned."""


class Append(_Operation, frozen=True):
    """Add rows."""

    rows: str


class AppendWithEvolution(_Operation, frozen=True):
    """Add rows, and add the columns of the rows that the table does not have."""

    rows: str


class Overwrite(_Operation, frozen=True):
    """Replace all rows, or those that match a condition."""

    rows: str
    where: Where | None = None
    """The new rows must match it too."""


class OverwritePartitions(_Operation, frozen=True):
    """Replace all rows of the partitions that the new rows have."""

    rows: str


class Delete(_Operation, frozen=True):
    """Delete all rows, or those that match a condition."""

    where: Where | None = None


class Update(_Operation, frozen=True):
    """Set columns of all rows, or of the rows that match a condition."""

    set: dict[str, Value]
    where: Where | None = None


class Merge(_Operation, frozen=True):
    """Merge rows into the table. The names in `on` identify a row; null matches nothing."""

    rows: str
    on: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    matched: Literal["update", "delete"] | None = None
    """Action on a row of the table that a new row matches; `update` sets all columns."""
    not_matched: Literal["insert"] | None = None
    """Action on a new row that matches no row of the table."""


class MergeWithEvolution(Merge, frozen=True):
    """Merge rows, and add the columns of the rows that the table does not have."""


class Optimize(_Operation, frozen=True):
    """Compact files without a change of rows."""


class Purge(_Operation, frozen=True):
    """Rewrite files without the rows that deletion vectors delete."""


class Restore(_Operation, frozen=True):
    """Restore the rows, schema and properties of an older version."""

    version: Version


class Vacuum(_Operation, frozen=True):
    """Delete files that no version within the retention period needs."""

    retention_hours: Annotated[int, msgspec.Meta(ge=0)]


class Checkpoint(_Operation, frozen=True):
    """Write a checkpoint of the newest version."""

    form: CheckpointForm | None = None
    """None for the form that the candidate chooses."""


class Checksum(_Operation, frozen=True):
    """Write the version checksum of the newest version."""


class CompactLog(_Operation, frozen=True):
    """Write a log compaction of the versions `start` to `end`, both inclusive."""

    start: Version
    end: Version


class CleanupLog(_Operation, frozen=True):
    """Delete expired files of the log."""


class Publish(_Operation, frozen=True):
    """Copy the ratified commits of a catalog-managed table to the names of published commits, in their order."""


class SetProperties(_Operation, frozen=True):
    """Set table properties; a property without a value is removed."""

    properties: dict[str, str | None]


class AddColumn(_Operation, frozen=True):
    """Add a column, or a field of a struct."""

    name: ColumnPath
    type: str
    """Delta type in SQL notation, such as `decimal(10,2)`."""
    nullable: bool = True
    after: ColumnPath | None = None
    """Column or field before it; None for the last place."""


class RenameColumn(_Operation, frozen=True):
    """Rename a column or field; both paths differ in the last name only."""

    from_: ColumnPath = msgspec.field(name="from")
    to: ColumnPath


class DropColumn(_Operation, frozen=True):
    """Drop a column or field."""

    name: ColumnPath


class WidenColumn(_Operation, frozen=True):
    """Change the type of a column or field to a wider one."""

    name: ColumnPath
    """Below arrays and maps, the path has `element`, `key` and `value`."""
    type: str


class SetDefault(_Operation, frozen=True):
    """Set or remove the default of a column."""

    name: ColumnPath
    sql: str | None = None
    """Literal in SQL; None removes the default."""


class ClusterBy(_Operation, frozen=True):
    """Change the columns by which new files are clustered."""

    columns: tuple[ColumnPath, ...] = ()
    """None for no clustering."""


class AddFeature(_Operation, frozen=True):
    """Add a table feature to the protocol."""

    feature: str


class DropFeature(_Operation, frozen=True):
    """Remove a table feature and its traces."""

    feature: str


class AddConstraint(_Operation, frozen=True):
    """Add a CHECK constraint."""

    name: str
    sql: str


class DropConstraint(_Operation, frozen=True):
    """Remove a CHECK constraint."""

    name: str


WriteOperation: TypeAlias = (
    Create
    | Convert
    | Clone
    | Replace
    | Append
    | AppendWithEvolution
    | Overwrite
    | OverwritePartitions
    | Delete
    | Update
    | Merge
    | MergeWithEvolution
    | Optimize
    | Purge
    | Restore
    | Vacuum
    | Checkpoint
    | Checksum
    | CompactLog
    | CleanupLog
    | Publish
    | SetProperties
    | AddColumn
    | RenameColumn
    | DropColumn
    | WidenColumn
    | SetDefault
    | ClusterBy
    | AddFeature
    | DropFeature
    | AddConstraint
    | DropConstraint
)
KINDS: tuple[str, ...] = tuple(str(each.__struct_config__.tag) for each in get_args(WriteOperation))
"""All kinds, for `Capabilities.kinds`."""


class Transaction(msgspec.Struct, frozen=True):
    """Identifier of an application's transaction."""

    app_id: str
    version: int


class CommitOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Contents of a commit besides its operation."""

    txn: Transaction | None = None
    domains: dict[str, str | None] | None = None
    """Domain -> configuration; None removes the domain."""
    user_metadata: str | None = None
    """Stored as `userMetadata` of the commit information."""
    hooks: bool = True
    """Whether work after the commit is allowed, such as a checkpoint or a checksum."""


def parse_operation(fields: dict[str, Any]) -> WriteOperation:
    """Return the operation of a JSON object.

    Raises:
        msgspec.ValidationError: The kind is unknown, or an argument is missing or has the wrong type.
    """
    operation: WriteOperation = msgspec.convert(fields, WriteOperation)
    return operation
