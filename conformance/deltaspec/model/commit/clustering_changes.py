"""Checks of commits on clustered tables. Source: Writer Requirements for Clustered Table."""

from collections.abc import Iterator

from deltaspec.model.decisions import Refused
from deltaspec.model.features import clustering_columns
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    read_mapping_mode,
    read_schema,
    refuse_illegal_files,
    refuse_illegal_state,
)
from deltaspec.protocol.actions import Add
from deltaspec.protocol.features import clustering
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import list_physical_paths


def _is_clustered(table: TableVersion) -> bool:
    """Return whether a version is a clustered table: one that supports the feature."""
    return table.revision.since(Revision.R3) and table.supports(clustering.FEATURE)  # [Changed in r3]


def _columns(table: TableVersion) -> tuple[clustering.Path, ...]:
    """Return the clustering columns of a version; empty if clustering is not supported."""
    if not _is_clustered(table):
        return ()
    return clustering.read_clustering_columns(table.snapshot.domains.get(clustering.DOMAIN))


def check_columns(table: TableVersion) -> Iterator[Refused]:
    """Require clustering columns to be columns of the table, by physical name, and the table to be unpartitioned."""
    schema, metadata, named = table.schema, table.metadata, _columns(table)
    if not _is_clustered(table) or schema is None or metadata is None:
        return
    if metadata.partition_columns:
        yield Refused("clustering.not-partitioned", ", ".join(metadata.partition_columns))
    for name in clustering_columns.find_unknown_columns(named, schema, table.mapping, table.revision):
        yield Refused("clustering.columns-by-physical-name", name)


def check_statistics(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require statistics of the clustering columns in added files, and of new clustering columns in all files.

    A file that is older than a column needs no statistics of it.
    """
    old, new = _resolve_columns(proposal.version_before), _resolve_columns(proposal.version_after)
    for add in proposal.actions_of_type(Add):
        for name in (
            clustering_columns.find_columns_without_statistics(add.stats, _columns_of_file(proposal, add, new)) or ()
        ):
            yield Refused("clustering.statistics", f"{add.path} has no statistics of {name}")
    named = tuple(each for each in new if each not in old)
    for add in proposal.remaining_files if named else ():
        for name in (
            clustering_columns.find_columns_without_statistics(add.stats, _columns_of_file(proposal, add, named)) or ()
        ):
            yield Refused("clustering.statistics-of-new-columns", f"{add.path} stays live without statistics of {name}")


def _resolve_columns(table: TableVersion) -> tuple[clustering.Path, ...]:
    return clustering_columns.resolve_columns(_columns(table), table.schema, table.mapping)


def _columns_of_file(
    proposal: ProposedCommit, add: Add, columns: tuple[clustering.Path, ...]
) -> tuple[clustering.Path, ...]:
    """Return the columns that the table had in every known version in which the file was live."""
    for snapshot in proposal.snapshots_with(add):
        schema = read_schema(snapshot.metadata)
        if schema is not None:
            existing = {path for path, _ in list_physical_paths(schema, read_mapping_mode(snapshot))}
            columns = tuple(each for each in columns if each in existing)
    return columns


def check_provider(table: TableVersion, add: Add) -> Iterator[Refused]:
    """Require a clustering provider that is not blank."""
    # [Changed in r3] the field is new
    if table.revision.since(Revision.R3) and clustering.has_blank_provider(add.clustering_provider):
        yield Refused("clustering.provider", add.path)


CHECKS: tuple[CommitCheck, ...] = (
    refuse_illegal_state(check_columns),
    check_statistics,
    refuse_illegal_files(check_provider),
)
"""In the order in which `validation.check_commit` evaluates them."""
