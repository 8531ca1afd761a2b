"""Check the rows of live data files against their statistics and the schema.

Threads read the files ahead. Rows are checked in batches and in file order, which bounds memory.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.validation.data.data_bucket import describe_read_error
from deltaspec.validation.data.read_ahead import read_ahead
from deltaspec.validation.data.row_confirmation import FileRows, Rows, evaluate_file_rows
from deltaspec.validation.log.null_column_checks import find_reported_sources
from deltaspec.views.data.column_facts import build_column_fact_rows, column_facts
from deltaspec.views.data.constraint_checks import constraint_checks
from deltaspec.views.data.identity_values import identity_values
from deltaspec.views.data.row_checks import build_row_check_rows, row_checks
from deltaspec.views.data.variant_paths import variant_paths
from deltaspec.views.data.variants import variant_columns
from deltaspec.wire.data.row_reader import DataFileRows, read_rows
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.base import View
    from deltaspec.views.data.data_files import DataFile
    from deltaspec.views.table.table_schema import TableSchema

ROWS_AT_ONCE = 20_000
"""Rows of a view that are evaluated together."""
_VIEWS = (column_facts, row_checks)
_VIEWS_WITH_SCHEMA = (*_VIEWS, constraint_checks, identity_values, variant_columns, variant_paths)
"""Views over rows that need the schema of the table. Without it, the checks of the last four do not run."""


def check_row_values(data: DataBucket) -> None:
    """Read every live data file, and evaluate the rules over `column_facts` and `row_checks`."""
    table = data.table
    if table is None:
        data.findings.mark_undecided(_VIEWS_WITH_SCHEMA, "the schema of the rows is not known")
        return
    if not data.findings.has_rules_for(*_VIEWS):
        return
    data.findings.mark_files_undecided(*data.missing_files, views=_VIEWS)
    pending = _Pending(data, table)
    unread: dict[str, str] = {}
    for number, (data_file, held) in enumerate(
        read_ahead(data.access.store, data.present_files, partial(read_data_file, data, table))
    ):
        data.progress("rows", number, len(data.present_files))
        if isinstance(held, DataFileRows):
            pending.add(data_file, held)
        else:
            unread[data_file.path] = held
        if len(unread) >= ROWS_AT_ONCE:
            data.findings.mark_files_undecided(unread, views=_VIEWS)
            unread = {}
    data.findings.mark_files_undecided(unread, views=_VIEWS)
    pending.flush()
    data.progress("rows", len(data.present_files), len(data.present_files))


def read_data_file(data: DataBucket, table: TableSchema, data_file: DataFile) -> DataFileRows | str:
    """Read the values of a file that the rules need, or return why they cannot be read."""
    size = data_file.actual_size or 0
    try:
        deleted = data.vector(data_file)
        with data.access.open_seekable(data_file.path_key) as source:
            held = read_rows(
                source,
                size,
                table.schema,
                table.mapping,
                table.partition_columns,
                data_file.partition_values,
                deleted,
            )
        if held.corrupt and data.access.size(data_file.path_key) != size:
            return f"{data_file.path_key}: changed while it was read"
    except (StorageError, UnreadableRows, DeletionVectorError) as fault:
        return describe_read_error(fault)
    return held


class _Pending:
    """Rows of the two views that are not evaluated yet."""

    def __init__(self, data: DataBucket, table: TableSchema) -> None:
        self._data, self._table = data, table
        self._reported_sources = find_reported_sources(data.findings)
        self._facts: list[FileRows] = []
        self._checks: list[FileRows] = []
        self._size = 0

    def add(self, data_file: DataFile, held: DataFileRows) -> None:
        """Add the rows of one file, and evaluate all rows if there are many."""
        for reason in held.unread:
            self._data.findings.mark_undecided(_VIEWS, reason, data_file.path)
        for reason in held.uncertain if data_file.stats else ():
            self._data.findings.mark_undecided((column_facts,), reason, data_file.path)
        for view, pending in ((column_facts, self._facts), (row_checks, self._checks)):
            if self._data.findings.has_rules_for(view):
                pending.append(self._build(view, data_file, held))
                self._size += len(pending[-1].rows)
        if self._size > ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Evaluate the collected rows."""
        for view, reads in ((column_facts, self._facts), (row_checks, self._checks)):
            evaluate_file_rows(self._data, view, reads, partial(self._read_again, view))
        self._facts, self._checks, self._size = [], [], 0

    def _build(self, view: View, data_file: DataFile, held: DataFileRows) -> FileRows:
        build = self._build_facts if view is column_facts else self._build_checks
        return FileRows(data_file, build(data_file, held), frozenset((*held.unread, *held.uncertain)))

    def _build_facts(self, data_file: DataFile, held: DataFileRows) -> Rows:
        table = self._table
        return build_column_fact_rows(
            data_file,
            table.schema,
            table.mapping,
            table.partition_columns,
            held.leaves,
            shredding_supported=table.supports("variantShredding"),
        )

    def _build_checks(self, data_file: DataFile, held: DataFileRows) -> Rows:
        return build_row_check_rows(data_file, held, self._data.facts.state.row_requirements, self._reported_sources)

    def _read_again(self, view: View, data_file: DataFile) -> FileRows | str:
        held = read_data_file(self._data, self._table, data_file)
        return held if isinstance(held, str) else self._build(view, data_file, held)
