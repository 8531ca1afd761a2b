"""Looks at what variant columns of live data files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model.data_types import Primitive, leaves
from deltaspec.validate.data import why_unread
from deltaspec.views.variants import variant_column_rows, variant_columns, variant_uses
from deltaspec.wire.row_files import UnreadableRows
from deltaspec.wire.storage import StorageError
from deltaspec.wire.variant_rows import variant_rows

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run
    from deltaspec.validate.data import DataRun

_DEFAULT = "VAR004"
"""The rule of defaults of variants; some of them take an engine to evaluate."""


def look_at_variant_uses(run: Run) -> None:
    """Look at what variant columns are in the table, version by version."""
    rows = run.state.variant_uses
    run.findings.look_at_rows(variant_uses, rows)
    for row in rows:
        if row["default"] is not None and row["default_is_null"] is None:
            run.findings.doubt_rule(_DEFAULT, f"the default of {row['column']} is SQL, which needs Spark")
            break
    if run.files_in_doubt is not None:
        run.findings.doubt((variant_uses,), run.files_in_doubt)


def look_at_variants(run: DataRun) -> None:
    """Read every variant of the live files; files of tables without variant columns are not read."""
    table = run.table
    if table is None or not run.findings.wants(variant_columns):
        return  # rows without a schema are told where rows are looked at
    if Primitive("variant") not in leaves(table.schema):
        return
    for number, data_file in enumerate(run.files):
        if number % 100 == 0:
            run.progress("variants", number, len(run.files))
        size = data_file.actual_size
        try:
            if size is None:
                raise run.fault_of(data_file.path_key)
            with run.access.open_random(data_file.path_key) as source:
                variants = variant_rows(source, size, table.schema, table.mapping)
                rows, unclear = variant_column_rows(data_file.place, variants)
        except (StorageError, UnreadableRows) as fault:
            run.findings.doubt((variant_columns,), why_unread(fault), data_file.path)
            continue
        for reason in sorted(unclear):
            run.findings.doubt((variant_columns,), reason, data_file.path)
        run.findings.look_at_rows(variant_columns, rows)
