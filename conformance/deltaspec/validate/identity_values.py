"""Looks at the values that live data files hold in identity columns, where users may not give values themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from pyroaring import BitMap64

from deltaspec.model.constraint_changes import makes_or_restores
from deltaspec.model.data_types import Field, Struct, walk
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.model.identity_columns import FEATURE, Identity, identity_of
from deltaspec.validate.data import why_unread
from deltaspec.views.identity_values import identity_value_row, identity_values
from deltaspec.wire.data_columns import UnresolvableColumns, file_columns
from deltaspec.wire.identity_rows import GeneratedValues, check_spread, read_generated
from deltaspec.wire.row_batches import RowBatches, rows_left
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.storage import StorageError

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run
    from deltaspec.validate.data import DataRun
    from deltaspec.views.data_files import DataFile
    from deltaspec.views.state import TableSchema

_ROWS_AT_ONCE = 10_000


def has_identity_columns(run: Run) -> bool:
    """Whether the table may have identity columns."""
    table = run.state.table_schema
    return table is not None and FEATURE in table.features


def look_at_identity_values(run: DataRun) -> None:
    """Read the identity columns of every live file whose values are all generated; other columns are not read."""
    table = run.table
    if table is None or not run.findings.wants(identity_values) or FEATURE not in table.features:
        return  # rows without a schema are told where rows are looked at
    columns = list(_columns(run, table))
    if not columns:
        return
    commits = _Commits(run)
    rows: list[dict[str, Any]] = []
    for file in run.files:
        try:
            for column, held in _read(run, table, file, columns):
                column.meet(held)
                before = commits.column_before(file, column.field, table.mapping)
                rows.append(identity_value_row(file, column.field.name, column.identity, before, held))
        except (StorageError, UnreadableRows, UnresolvableColumns, DeletionVectorError) as fault:
            run.findings.doubt((identity_values,), why_unread(fault), file.path)
        if len(rows) >= _ROWS_AT_ONCE:
            run.findings.look_at_rows(identity_values, rows)
            rows = []
    run.findings.look_at_rows(identity_values, rows)


@dataclass
class _Column:
    """An identity column, and what the files before hold in it."""

    field: Field
    identity: Identity
    seen: BitMap64 = dataclasses.field(default_factory=BitMap64)
    blocks: BitMap64 = dataclasses.field(default_factory=BitMap64)

    def meet(self, held: GeneratedValues) -> None:
        held.meet(self.seen)
        blocks = self.blocks | held.blocks
        check_spread(blocks)
        self.blocks = blocks
        self.seen |= held.values


def _columns(run: DataRun, table: TableSchema) -> Iterator[_Column]:
    """Those whose values users do not give, as far as they can be read."""
    for path, field in walk(table.schema):
        identity = identity_of(field.metadata)
        if identity is None or not identity.generates_all:
            continue
        if len(path) > 1:
            run.findings.doubt((identity_values,), f"{'.'.join(path)}: an identity column below another column")
        elif field.name in table.partition_columns:
            run.findings.doubt((identity_values,), f"{field.name}: an identity column that partitions the table")
        else:
            yield _Column(field, identity)


def _read(
    run: DataRun, table: TableSchema, file: DataFile, columns: list[_Column]
) -> Iterator[tuple[_Column, GeneratedValues]]:
    """What a file holds in those of the columns that it has."""
    if file.actual_size is None:
        raise run.fault_of(file.path_key)
    deleted = run.vector(file)
    with RowBatches(run.access, file.path_key) as source:
        schema = Struct(tuple(column.field for column in columns))
        left = None if deleted is None else rows_left(source.row_count, deleted)
        for column, stored in zip(columns, file_columns(source.schema, schema, table.mapping), strict=True):
            if stored.place is not None:
                yield column, read_generated(source, source.schema.names[stored.place], left, column.identity)


class _Commits:
    """Which commits generated every value of the files that they add, and what they found."""

    def __init__(self, run: DataRun) -> None:
        self._state = run.state
        moves = (pl.col("kind") == "remove") | ~pl.col("data_change").fill_null(False) | (pl.col("source") != "commit")
        versions = run.spanned.group_by("version").agg(moves=moves.any())
        found = versions.filter(~pl.col("moves"))["version"]
        self._generating = {version for version in found if not makes_or_restores(run.operations.get(version))}
        adds = run.spanned.filter(pl.col("kind") == "add")
        self._added_again = set(adds.filter(adds["path_key"].is_duplicated())["path_key"])

    def column_before(self, file: DataFile, field: Field, mapping: str | None) -> Identity | None:
        """The column as the commit found it that generated every value of a file; None where none is known to have."""
        if file.version not in self._generating or file.path_key in self._added_again:
            return None
        return self._state.columns.identity_before(file.version, field, mapping)
