"""Checks of commits on clustered tables. Source: Writer Requirements for Clustered Table."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import msgspec

from deltaspec.model.decisions import Refused
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
from deltaspec.protocol.features.clustering import Path
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import list_physical_paths
from deltaspec.protocol.schema.data_types import Struct


def _is_clustered(table: TableVersion) -> bool:
    """Return whether a version is a clustered table: one that supports the feature."""
    return table.revision.since(Revision.R3) and table.supports(clustering.FEATURE)  # [Changed in r3]


def _columns(table: TableVersion) -> tuple[Path, ...]:
    """Return the clustering columns of a version; empty if clustering is not supported."""
    if not _is_clustered(table):
        return ()
    return clustering.read_clustering_columns(table.snapshot.domains.get(clustering.DOMAIN))


def _find_column(column: Path, paths: Sequence[Path], mapping: str | None) -> Path | None:
    """Return the path of a schema that a clustering column names, as the schema spells it; None if there is none.

    An exact match takes precedence over a path joined by dots (E15). Without column mapping, both match in any case.
    """
    joined = [(".".join(path),) for path in paths]
    for fold in (str,) if mapping else (str, str.lower):
        name = [fold(part) for part in column]
        for spelling in (paths, joined):
            for path, spelled in zip(paths, spelling, strict=True):
                if [fold(part) for part in spelled] == name:
                    return path
    return None


def _list_paths(schema: Struct, mapping: str | None) -> list[Path]:
    return [path for path, _ in list_physical_paths(schema, mapping)]


def check_columns(table: TableVersion) -> Iterator[Refused]:
    """Require clustering columns to be columns of the table, by physical name, and the table to be unpartitioned."""
    schema, metadata = table.schema, table.metadata
    if not _is_clustered(table) or schema is None or metadata is None:
        return
    if metadata.partition_columns:
        yield Refused("clustering.not-partitioned", ", ".join(metadata.partition_columns))
    # [Changed in current] a physical path is a MUST; before, it is a SHOULD
    modes = {table.mapping} if table.revision is Revision.CURRENT else {table.mapping, None}
    for column in _columns(table):
        if all(_find_column(column, _list_paths(schema, mode), mode) is None for mode in modes):
            yield Refused("clustering.columns-by-physical-name", ".".join(column))


def check_statistics(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require statistics of the clustering columns in added files, and of new clustering columns in all files.

    A file that is older than a column needs no statistics of it.
    """
    old, new = resolve_columns(proposal.version_before), resolve_columns(proposal.version_after)
    for add in proposal.actions_of_type(Add):
        for name in _list_without_statistics(add.stats, _columns_of_file(proposal, add, new)):
            yield Refused("clustering.statistics", f"{add.path} has no statistics of {name}")
    named = tuple(each for each in new if each not in old)
    for add in proposal.remaining_files if named else ():
        for name in _list_without_statistics(add.stats, _columns_of_file(proposal, add, named)):
            yield Refused("clustering.statistics-of-new-columns", f"{add.path} stays live without statistics of {name}")


def _list_without_statistics(stats: str | None, columns: tuple[Path, ...]) -> list[str]:
    """Return the columns of which a file with records has neither a null count nor a bound; none if `stats` is
    malformed.
    """
    try:
        stated = msgspec.json.decode("{}" if stats is None else stats, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return []
    if stated.get("numRecords") == 0:
        return []
    sources = [stated.get(name) for name in ("nullCount", "minValues", "maxValues")]
    return [".".join(path) for path in columns if all(reduce(_get, path, each) is None for each in sources)]


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def resolve_columns(table: TableVersion) -> tuple[Path, ...]:
    """Return the clustering columns of a version that are in its schema, as the schema spells them."""
    if table.schema is None:
        return ()
    paths = _list_paths(table.schema, table.mapping)
    found = (_find_column(each, paths, table.mapping) for each in _columns(table))
    return tuple(dict.fromkeys(path for path in found if path is not None))


def _columns_of_file(proposal: ProposedCommit, add: Add, columns: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the columns that the table had in every known version in which the file was live."""
    for snapshot in proposal.snapshots_with(add):
        schema = read_schema(snapshot.metadata)
        if schema is not None:
            existing = _list_paths(schema, read_mapping_mode(snapshot))
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
