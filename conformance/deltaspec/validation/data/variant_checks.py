"""Looks at what variant columns of live data files hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.model.schema.data_types import Primitive, iter_leaf_types
from deltaspec.validation.data.data_run import describe_read_error
from deltaspec.views.data.variants import build_variant_column_rows, variant_columns, variant_uses
from deltaspec.wire.data.variant_reader import iter_variants
from deltaspec.wire.parquet.file_opener import UnreadableRows
from deltaspec.wire.storage.interface import StorageError

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run
    from deltaspec.validation.data.data_run import DataRun

_DEFAULT = "VAR004"
"""The rule of defaults of variants; some of them take an engine to evaluate."""


def check_variant_uses(run: Run) -> None:
    """Look at what variant columns are in the table, version by version."""
    rows = run.state.variant_uses
    run.findings.evaluate_rows(variant_uses, rows)
    for row in rows:
        if row["default"] is not None and row["default_is_null"] is None:
            run.findings.mark_rule_undecided(_DEFAULT, f"the default of {row['column']} is SQL, which needs Spark")
            break
    if run.replay_blocked_reason is not None:
        run.findings.mark_undecided((variant_uses,), run.replay_blocked_reason)


def check_variants(run: DataRun) -> None:
    """Read every variant of the live files; files of tables without variant columns are not read."""
    table = run.table
    if table is None or not run.findings.has_rules_for(variant_columns):
        return  # rows without a schema are told where rows are looked at
    if Primitive("variant") not in iter_leaf_types(table.schema):
        return
    for number, data_file in enumerate(run.files):
        if number % 100 == 0:
            run.progress("variants", number, len(run.files))
        size = data_file.actual_size
        try:
            if size is None:
                raise run.get_missing_file_error(data_file.path_key)
            with run.access.open_seekable(data_file.path_key) as source:
                variants = iter_variants(source, size, table.schema, table.mapping)
                rows, unclear = build_variant_column_rows(data_file.place, variants)
        except (StorageError, UnreadableRows) as fault:
            run.findings.mark_undecided((variant_columns,), describe_read_error(fault), data_file.path)
            continue
        for reason in sorted(unclear):
            run.findings.mark_undecided((variant_columns,), reason, data_file.path)
        run.findings.evaluate_rows(variant_columns, rows)
