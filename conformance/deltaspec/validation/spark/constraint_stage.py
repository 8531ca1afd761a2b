"""The stage that evaluates SQL constraints where the rows are, as far as that needs no Spark SQL."""

from __future__ import annotations

from typing import Any

import polars as pl

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.buckets import RowsByTag, StageOutput
from deltaspec.validation.data.data_stages import LIVE_FILES
from deltaspec.validation.data.read_ahead import read_ahead
from deltaspec.validation.data.row_constraint_checks import ConstraintRecorder
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.spark.constraint_tasks import ConstraintContext
from deltaspec.views.data.constraint_checks import constraint_checks
from deltaspec.views.data.data_files import DataFiles
from deltaspec.wire.storage.data_access import DataAccess

OPEN_FILES = "files with open constraints"
"""Tag of live files with an expression that only Spark SQL may decide."""
_ROWS_AT_ONCE = 10_000


def evaluate_constraints(facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
    """Evaluate every supported expression on the rows of live files. A `Stage`.

    A file with an expression that is left undecided becomes a row of `OPEN_FILES`, and nothing is recorded for it.
    """
    table = facts.state.table_schema
    if table is None or LIVE_FILES not in rows:
        return Aggregates()
    recorder = ConstraintRecorder(
        table, facts.state, facts.operations, findings, evaluates_on_spark=True, records_unsupported=False
    )
    if not recorder.supported:
        return Aggregates()
    access = DataAccess(facts.store, allow_outside=facts.options.allow_outside)
    reader = ConstraintContext(access, table, tuple(recorder.supported)).build_reader()
    files = DataFiles(rows[LIVE_FILES])
    open_places: list[int] = []
    found: list[dict[str, Any]] = []
    for number, (data_file, results) in enumerate(read_ahead(facts.store, files, reader.read)):
        output.report_progress("constraints", number, len(files))
        if isinstance(results, str):
            recorder.mark_file_undecided(data_file, results)
        elif any(each.undecided is not None for each in results):
            open_places.append(number)
        else:
            conditions = (condition for condition, _ in recorder.supported)
            found += [recorder.row(data_file, *each) for each in zip(conditions, results, strict=True)]
        if len(found) >= _ROWS_AT_ONCE:
            findings.evaluate_rows(constraint_checks, found)
            found = []
    findings.evaluate_rows(constraint_checks, found)
    output.put(OPEN_FILES, files.rows[pl.Series(open_places, dtype=pl.UInt32)])
    return Aggregates()
