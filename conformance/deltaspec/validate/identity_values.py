"""Looks at the values that live data files hold in identity columns, where users may not give values themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl
from pyroaring import BitMap64

from deltaspec.model.constraint_changes import makes_or_restores
from deltaspec.model.data_types import Field, Struct, walk
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.model.identity_columns import FEATURE, Identity, identity_of
from deltaspec.validate.data import why_unread
from deltaspec.views.identity_values import identity_value_row, identity_values
from deltaspec.wire.data_columns import UnresolvableColumns, file_columns
from deltaspec.wire.identity_rows import GeneratedValues, read_generated
from deltaspec.wire.row_batches import RowBatches, rows_left
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.storage import StorageError

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun
    from deltaspec.views.data_files import DataFile
    from deltaspec.views.state import TableSchema

_ROWS_AT_ONCE = 10_000


def look_at_identity_values(run: DataRun) -> None:
    """Read the identity columns of every live file whose values are all generated; other columns are not read."""
    table = run.table
    if table is None or not run.findings.wants(identity_values) or FEATURE not in table.features:
        return  # rows without a schema are told where rows are looked at
    for path, field in walk(table.schema):
        identity = identity_of(field.metadata)
        if identity is None or not identity.generates_all:
            continue
        if len(path) > 1:
            run.findings.doubt((identity_values,), f"{'.'.join(path)}: an identity column below another column")
        elif field.name in table.partition_columns:
            run.findings.doubt((identity_values,), f"{field.name}: an identity column that partitions the table")
        else:
            _Column(run, table, field, identity).look()


@dataclass
class _Column:
    run: DataRun
    table: TableSchema
    field: Field
    identity: Identity

    def look(self) -> None:
        rows, seen = [], BitMap64()
        for file in self.run.files:
            try:
                held = self._read(file)
            except (StorageError, UnreadableRows, UnresolvableColumns, DeletionVectorError) as fault:
                self.run.findings.doubt((identity_values,), why_unread(fault), file.path)
                continue
            if held is None:
                continue
            held.meet(seen)
            seen |= held.values
            rows.append(identity_value_row(file, self.field.name, self.identity, self._before(file), held))
            if len(rows) >= _ROWS_AT_ONCE:
                self.run.findings.look_at_rows(identity_values, rows)
                rows = []
        self.run.findings.look_at_rows(identity_values, rows)

    def _read(self, file: DataFile) -> GeneratedValues | None:
        """What a file holds in the column; None where it has it not."""
        if file.actual_size is None:
            raise self.run.fault_of(file.path_key)
        deleted = self.run.vector(file)
        with RowBatches(self.run.access, file.path_key) as source:
            (column,) = file_columns(source.schema, Struct((self.field,)), self.table.mapping)
            if column.place is None:
                return None
            left = None if deleted is None else rows_left(source.row_count, deleted)
            return read_generated(source, source.schema.names[column.place], left, self.identity)

    def _before(self, file: DataFile) -> Identity | None:
        """The column as the commit found it that generated every value of a file; None where none is known to have."""
        if file.version not in self._generating or file.path_key in self._added_again:
            return None
        return self.run.state.columns.identity_before(file.version, self.field, self.table.mapping)

    @cached_property
    def _generating(self) -> set[int]:
        """Versions whose commits only add files, all of them with new data."""
        moves = (pl.col("kind") == "remove") | ~pl.col("data_change").fill_null(False) | (pl.col("source") != "commit")
        versions = self.run.spanned.group_by("version").agg(moves=moves.any())
        found = versions.filter(~pl.col("moves"))["version"]
        return {version for version in found if not makes_or_restores(self.run.operations.get(version))}

    @cached_property
    def _added_again(self) -> set[str]:
        adds = self.run.spanned.filter(pl.col("kind") == "add")
        return set(adds.filter(adds["path_key"].is_duplicated())["path_key"])
