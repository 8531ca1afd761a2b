"""The commits of a write spec of the Delta acceptance tests (`workload-generator` of delta-incubator/dat).

A write spec is `{"type": "write", "commits": [...]}`. The number of a commit is the version that it makes.
"""

from typing import Any, TypeAlias

import msgspec


class _Commit(msgspec.Struct, tag_field="operation", rename="camel", frozen=True, omit_defaults=True):
    """Base of all commits."""


class CreateTable(_Commit, tag="create_table", frozen=True):
    """Create an empty table."""

    schema: dict[str, Any]
    partition_columns: tuple[str, ...] = ()
    properties: dict[str, str] = {}


class ReplaceTable(_Commit, tag="replace_table", frozen=True):
    """Replace schema, partitioning, properties and all rows."""

    schema: dict[str, Any]
    partition_columns: tuple[str, ...] = ()
    properties: dict[str, str] = {}
    data_files: tuple[str, ...] = ()


class Insert(_Commit, tag="insert", frozen=True):
    """Append the rows of Parquet files, which have all columns of the table."""

    data_files: tuple[str, ...] = ()


class Delete(_Commit, tag="delete", frozen=True):
    """Delete the rows that match a SQL predicate."""

    predicate: str


class Update(_Commit, tag="update", frozen=True):
    """Set columns to SQL expressions in the rows that match a SQL predicate."""

    predicate: str
    set: dict[str, str]


class EvolveSchema(_Commit, tag="evolve_schema", frozen=True):
    """Add, rename or drop columns."""

    add_columns: dict[str, Any] | None = None
    """A struct type."""
    rename_columns: dict[str, str] = {}
    drop_columns: tuple[str, ...] = ()


class UpdateProperties(_Commit, tag="update_properties", frozen=True):
    """Set or remove table properties."""

    set: dict[str, str] = {}
    remove: tuple[str, ...] = ()


class AddedFile(msgspec.Struct, rename="camel", frozen=True):
    """A data file with logical rows, which the writer writes into the table."""

    data_file: str


class RemovedFiles(msgspec.Struct, rename="camel", frozen=True):
    """All data files that an earlier commit added."""

    added_at_commit: int


class Transaction(msgspec.Struct, rename="camel", frozen=True):
    """Identifier of an application's transaction."""

    app_id: str
    version: int


class Domain(msgspec.Struct, frozen=True):
    """Configuration of a metadata domain."""

    domain: str
    configuration: str


class LowLevelCommit(_Commit, tag="commit", frozen=True):
    """Commit actions; at least one of the fields is set."""

    schema: dict[str, Any] | None = None
    table_properties: dict[str, str] = {}
    txn: Transaction | None = None
    add_files: tuple[AddedFile, ...] = ()
    remove_files: tuple[RemovedFiles, ...] = ()
    add_domain_metadata: tuple[Domain, ...] = ()
    remove_domain_metadata: tuple[str, ...] = ()


Commit: TypeAlias = (
    CreateTable | ReplaceTable | Insert | Delete | Update | EvolveSchema | UpdateProperties | LowLevelCommit
)
