"""Check the values of identity columns whose values are always generated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from deltaspec.protocol.features.identity_columns import FEATURE, Identity, read_identity
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.log.operations import creates_or_restores_table
from deltaspec.protocol.schema.data_types import Field, Struct, iter_fields
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.value_comparison import FileValues
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.data.identity_values import build_identity_value_row, identity_values
from deltaspec.wire.data.column_resolution import UnresolvableColumns, resolve_columns
from deltaspec.wire.data.identity_value_scan import IdentityValues, read_identity_values
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.parquet.row_batches import RowBatches, compute_remaining_rows
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.views.table.table_schema import TableSchema


def has_identity_columns(facts: LogFacts) -> bool:
    """Return whether the table may have identity columns."""
    table = facts.state.table_schema
    return table is not None and FEATURE in table.features


def check_identity_values(data: DataBucket) -> None:
    """Check the identity columns of every live file whose values are all generated. Other columns are not read."""
    table = data.table
    if table is None or not data.findings.has_rules_for(identity_values) or FEATURE not in table.features:
        return  # an unknown schema is reported by `check_row_values`
    columns = list(_columns(data, table))
    if not columns or data.values is None:
        return
    commits = _Commits(data)
    borders = {column.field.name: _choose_borders(data.values, column.identity) for column in columns}
    for file in data.files:
        try:
            for column, held in _read(data, table, file, columns):
                name = column.field.name
                before = commits.column_before(file, column.field, table.mapping)
                row = build_identity_value_row(file, name, column.identity, before, held)
                data.values.add_row(identity_values, file, f"column {name}", row)
                sets = {"values": held.values, "blocks": held.blocks}
                data.values.add_sets(file, f"column {name}", borders[name], sets)
        except (StorageError, UnreadableRows, UnresolvableColumns, DeletionVectorError) as fault:
            data.findings.mark_undecided((identity_values,), describe_read_error(fault), file.path)


def _choose_borders(values: FileValues, identity: Identity) -> list[int]:
    """Return the borders of ranges in which values are compared: most values are between start and high-water mark."""
    ends = sorted([identity.start or 0, identity.high_water_mark or 0])
    return values.choose_borders(ends[0], ends[1])


class _Column(msgspec.Struct):
    """An identity column."""

    field: Field
    identity: Identity


def _columns(data: DataBucket, table: TableSchema) -> Iterator[_Column]:
    """Yield the identity columns that users cannot insert into, as far as they can be read."""
    for path, field in iter_fields(table.schema):
        identity = read_identity(field.metadata)
        if identity is None or not identity.is_always_generated:
            continue
        if len(path) > 1:
            data.findings.mark_undecided(
                (identity_values,), f"{'.'.join(path)}: an identity column below another column"
            )
        elif field.name in table.partition_columns:
            data.findings.mark_undecided(
                (identity_values,), f"{field.name}: an identity column that partitions the table"
            )
        else:
            yield _Column(field, identity)


def _read(
    data: DataBucket, table: TableSchema, file: DataFile, columns: list[_Column]
) -> Iterator[tuple[_Column, IdentityValues]]:
    """Read the columns that a file has."""
    if file.actual_size is None:
        raise data.get_missing_file_error(file.path_key)
    deleted = data.vector(file)
    with RowBatches(data.access, file.path_key) as source:
        schema = Struct(tuple(column.field for column in columns))
        left = None if deleted is None else compute_remaining_rows(source.row_count, deleted)
        for column, stored in zip(columns, resolve_columns(source.schema, schema, table.mapping), strict=True):
            if stored.place is not None:
                yield column, read_identity_values(source, source.schema.names[stored.place], left, column.identity)


class _Commits:
    """The commits that generated every value of the files that they add, and the state before them."""

    def __init__(self, data: DataBucket) -> None:
        self._state = data.facts.state
        found = data.intervals.filter(~pl.col("version").is_in(sorted(data.table_commits.moving)))["version"].unique()
        self._generating = {
            version for version in found if not creates_or_restores_table(data.facts.operations.get(version))
        }
        adds = data.intervals.filter(pl.col("kind") == "add")
        self._added_again = set(adds.filter(adds["path_key"].is_duplicated())["path_key"])

    def column_before(self, file: DataFile, field: Field, mapping: str | None) -> Identity | None:
        """Return the column before the commit that generated every value of a file; None if there is no such commit."""
        if file.version not in self._generating or file.path_key in self._added_again:
            return None
        return self._state.columns.find_identity_before(file.version, field, mapping)
