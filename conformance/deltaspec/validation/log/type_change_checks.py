"""Check changes of column types along the validated history, and the files that are older than a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.table.type_widening import (
    collect_type_changes,
    count_older_files,
    find_undated_changes,
    recorded_type_changes,
    type_changes,
)

if TYPE_CHECKING:
    import polars as pl


def check_type_changes(facts: LogFacts, findings: Findings, aggregates: Aggregates) -> None:
    """Check the type changes that schemas record, and the type changes between schemas.

    Args:
        facts: of the log.
        findings: receives what is found.
        aggregates: of all buckets.
    """
    history = facts.state.widening
    findings.evaluate_rows(recorded_type_changes, history.records.rows)
    if facts.replay_blocked_reason is not None:
        findings.mark_undecided((type_changes,), facts.replay_blocked_reason, facts.replay_blocked_file)
    elif findings.has_rules_for(type_changes):
        changes = collect_type_changes(history, facts.operations)
        files = aggregates.older_files or [0] * len(changes)
        rows = [{**row, "older_files": number} for (row, _), number in zip(changes, files, strict=True)]
        findings.evaluate_rows(type_changes, rows)
        if facts.options.level in ("log", "files"):  # the footers of these files are validated against the schema
            for version in sorted(aggregates.undated_type_changes):
                reason = f"the types in files of the first checkpoint, which version {version} changes, are not known"
                findings.mark_undecided((type_changes,), reason, read_columns=frozenset({"is_legal"}))


def find_files_before_type_changes(
    facts: LogFacts, findings: Findings, intervals: pl.DataFrame, aggregates: Aggregates
) -> None:
    """Find, for each type change, the live files that were added while the column had the earlier type.

    Args:
        facts: of the log.
        findings: has the rules of the run.
        intervals: adds and removes of a bucket, from `build_intervals`.
        aggregates: receives the number of files.
    """
    changes = collect_type_changes(facts.state.widening, facts.operations)
    if not changes or not findings.has_rules_for(type_changes):
        return
    aggregates.older_files = count_older_files(changes, intervals)
    aggregates.undated_type_changes = find_undated_changes(changes, intervals)
