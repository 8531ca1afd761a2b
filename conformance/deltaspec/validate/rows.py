"""Looks at the rows of live data files: what statistics claim of them, and what the schema holds them to.

Files are read in threads and looked at in batches, in their order, so that memory depends on neither.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.validate.data import why_unread
from deltaspec.validate.parsed_statistics import ParsedStatistics
from deltaspec.validate.read_ahead import read_ahead
from deltaspec.views.column_facts import column_fact_rows, column_facts
from deltaspec.views.row_checks import row_check_rows, row_checks
from deltaspec.wire.data_rows import FileRows, read_rows
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.storage import StorageError

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun
    from deltaspec.views.data_files import DataFile
    from deltaspec.views.state import TableSchema

_ROWS_AT_ONCE = 20_000
"""Rows of a view that are looked at together."""
_VIEWS = (column_facts, row_checks)


def look_at_rows(run: DataRun) -> None:
    """Read every live data file and look at `column_facts` and `row_checks`."""
    if not run.findings.wants(*_VIEWS):
        return
    table = run.table
    if table is None:
        run.findings.doubt(_VIEWS, "the schema that the rows are judged against is not known")
        return
    pending = _Pending(run)
    statistics = ParsedStatistics(run, table)
    for number, (data_file, held) in enumerate(read_ahead(run, run.files, partial(_read, run, table))):
        if number % 100 == 0:
            run.progress("rows", number, len(run.files))
        if isinstance(held, FileRows):
            pending.add(table, statistics.completed(data_file), held)
        else:
            run.findings.doubt(_VIEWS, held, data_file.path)
    pending.flush()
    run.progress("rows", len(run.files), len(run.files))


def _read(run: DataRun, table: TableSchema, data_file: DataFile) -> FileRows | str:
    size = data_file.actual_size
    if size is None:
        return str(run.fault_of(data_file.path_key))
    try:
        deleted = run.vector(data_file)
        with run.access.open_random(data_file.path_key) as source:
            held = read_rows(
                source,
                size,
                table.schema,
                table.mapping,
                table.partition_columns,
                data_file.partition_values,
                deleted,
            )
        if held.corrupt and run.access.size(data_file.path_key) != size:
            return f"{data_file.path_key}: changed while it was read"
    except (StorageError, UnreadableRows, DeletionVectorError) as fault:
        return why_unread(fault)
    return held


class _Pending:
    """Rows of the two views, not looked at yet."""

    def __init__(self, run: DataRun) -> None:
        self._run = run
        self._facts: list[dict[str, Any]] = []
        self._checks: list[dict[str, Any]] = []

    def add(self, table: TableSchema, data_file: DataFile, held: FileRows) -> None:
        """Take the rows of one file; look at what is there if it is many."""
        for reason in held.unread:
            self._run.findings.doubt(_VIEWS, reason, data_file.path)
        for reason in held.uncertain if data_file.stats else ():
            self._run.findings.doubt((column_facts,), reason, data_file.path)
        if self._run.findings.wants(column_facts):
            self._facts += column_fact_rows(
                data_file,
                table.schema,
                table.mapping,
                table.partition_columns,
                held.leaves,
                shredding_supported=table.supports("variantShredding"),
            )
        if self._run.findings.wants(row_checks):
            self._checks += row_check_rows(data_file, held)
        if len(self._facts) + len(self._checks) > _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Look at them."""
        self._run.findings.look_at_rows(column_facts, self._facts)
        self._run.findings.look_at_rows(row_checks, self._checks)
        self._facts, self._checks = [], []
