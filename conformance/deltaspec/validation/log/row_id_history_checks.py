"""Check row ids along the validated history: what commits state, when ids are enabled, and which files get them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.protocol.features import row_tracking
from deltaspec.protocol.log.file_names import commit_name
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.views.files.row_id_history import (
    build_new_row_id_rows,
    build_row_id_commit_rows,
    count_commit_actions,
    flag_new_paths,
    new_row_ids,
    row_id_commits,
    row_id_conflicts,
    row_id_states,
)
from deltaspec.views.files.row_id_marks import (
    StatedMark,
    build_row_id_mark_rows,
    collect_marks,
    find_files_above_marks,
    row_id_marks,
)
from deltaspec.views.files.row_ids import find_files_without_required_ids, row_id_columns, row_id_files, row_id_ranges
from deltaspec.views.table import table_actions as table_state
from deltaspec.views.table.enablement import EnablementHistory, build_enablement_history
from deltaspec.wire.storage.interface import LOG_DIRECTORY

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

_NO_PROPERTY = ""
_ABSOLUTE_PATH = r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|/)"
"""Absolute paths, which may belong to another table."""
_FILE_VIEWS = (row_id_commits, new_row_ids, row_id_conflicts, row_id_marks, row_id_ranges)


def build_suspension_history(facts: LogFacts) -> EnablementHistory:
    """Return from which versions on row ids were supported, and from which on suspended."""
    return _build_history(facts, row_tracking.get_suspension_property(facts.options.revision) or _NO_PROPERTY)


def build_row_id_enablement(facts: LogFacts) -> EnablementHistory:
    """Return from which versions on row ids were supported, and from which on enabled."""
    return _build_history(facts, row_tracking.get_enablement_property(facts.options.revision))


def _build_history(facts: LogFacts, property_name: str) -> EnablementHistory:
    rows = facts.state.rows
    protocols, settings = rows[table_state.protocols.name], rows[table_state.configuration.name]
    return build_enablement_history(
        protocols, settings, row_tracking.get_feature_name(facts.options.revision), property_name
    )


def check_row_id_history_of_paths(
    facts: LogFacts, findings: Findings, intervals: pl.DataFrame, aggregates: Aggregates
) -> None:
    """Check the row ids of paths in every version, and add what a check of all paths needs to the aggregates.

    Args:
        facts: of the log, which can be replayed.
        findings: receives what is found.
        intervals: adds and removes of some paths, from `build_intervals`.
        aggregates: of these paths.
    """
    enabled, suspended = build_row_id_enablement(facts), build_suspension_history(facts)
    whole = facts.plan.history_is_complete
    if findings.has_rules_for(row_id_commits, new_row_ids, row_id_files):
        changed = flag_new_paths(intervals)
        aggregates.commit_actions = count_commit_actions(changed)
        findings.evaluate(new_row_ids, build_new_row_id_rows(changed, suspended, history_is_complete=whole))
    if findings.has_rules_for(row_id_ranges):
        enabling = {each: f"{LOG_DIRECTORY}/{commit_name(each)}" for each in _find_enabling_versions(enabled)}
        without_ids = find_files_without_required_ids(
            intervals, enabled, suspended, enabling, facts.options.revision, history_is_complete=whole
        )
        findings.evaluate(row_id_ranges, without_ids)
    if findings.has_rules_for(row_id_marks):
        aggregates.files_above_marks = find_files_above_marks(intervals, collect_marks_of_log(facts, suspended)[0])


def check_row_id_history(facts: LogFacts, findings: Findings, aggregates: Aggregates) -> None:
    """Check every version of the validated history that supports row ids, after all paths were checked.

    Args:
        facts: of the log.
        findings: receives what is found.
        aggregates: of all paths.
    """
    enabled, suspended = build_row_id_enablement(facts), build_suspension_history(facts)
    if not any(supported for _, supported, _ in enabled):
        return
    findings.evaluate_rows(row_id_columns, facts.state.row_id_columns.rows)
    findings.evaluate_rows(row_id_states, _build_state_rows(facts, enabled, suspended))
    if facts.replay_blocked_reason is not None:
        findings.mark_undecided(_FILE_VIEWS, facts.replay_blocked_reason, facts.replay_blocked_file)
        return
    if aggregates.commit_actions is not None:
        files = {version: f"{LOG_DIRECTORY}/{commit_name(version)}" for version in facts.stated_row_ids}
        _, has_high_water_mark = facts.state.high_water_mark
        commits = build_row_id_commit_rows(
            aggregates.commit_actions,
            facts.stated_row_ids,
            files,
            enabled=enabled,
            has_high_water_mark=has_high_water_mark,
            history_is_complete=facts.plan.history_is_complete,
        )
        findings.evaluate(row_id_commits, commits)
    _check_marks(facts, findings, aggregates, suspended)


def _check_marks(facts: LogFacts, findings: Findings, aggregates: Aggregates, supported: EnablementHistory) -> None:
    """Check the high-water marks that later commits replaced."""
    if not findings.has_rules_for(row_id_marks):
        return
    marks, _, is_readable = collect_marks_of_log(facts, supported)
    if not (is_readable and facts.state.domains_known and facts.state.row_id_mark_known):
        findings.mark_undecided((row_id_marks,), "an action that may contain the high-water mark cannot be decoded")
        return
    findings.evaluate_rows(row_id_marks, build_row_id_mark_rows(aggregates.files_above_marks, marks))


def collect_marks_of_log(
    facts: LogFacts, supported: EnablementHistory
) -> tuple[list[tuple[StatedMark, int, int]], StatedMark, bool]:
    """Return the high-water marks that the validated history states, as `collect_marks` does."""
    actions = [(version, f"{LOG_DIRECTORY}/{commit_name(version)}", action) for version, action in facts.table_actions]
    base = facts.plan.base
    if base is not None:
        file = f"{LOG_DIRECTORY}/{base.files[0]}"
        actions = [(base.version, file, action) for action in facts.base_actions] + actions
    return collect_marks(actions, supported, facts.options.revision)


def find_mark_at(facts: LogFacts, version: int) -> int | None:
    """Return the high-water mark that applied at a version; None if there was none, or if it is not known."""
    replaced, last, is_readable = collect_marks_of_log(facts, build_suspension_history(facts))
    marks = [mark for mark in (*(mark for mark, _, _ in replaced), last) if mark.version <= version]
    return marks[-1].mark if marks and is_readable else None


def find_table_replacements(facts: LogFacts) -> list[int]:
    """Return the versions whose commit changes the metadata id: a new table, in which no earlier file remains."""
    rows = facts.state.rows[table_state.metadata.name]
    return [row["version"] for before, row in pairwise(rows) if before["id"] != row["id"]]


def find_inserted_paths(data: DataBucket) -> frozenset[str]:
    """Return the path keys of files with inserted rows: a commit added them, and removed or re-added no other file.

    Excluded are commits that create or replace the table, and absolute paths, because such files may keep row ids from
    another table. If the history is incomplete, a path counts only if its row commit version is the version of the
    commit.
    """
    changed = flag_new_paths(data.intervals)
    tables = [row["version"] for row in data.facts.state.rows[table_state.metadata.name]]
    is_new = pl.lit(data.facts.plan.history_is_complete) | (pl.col("default_row_commit_version") == pl.col("version"))
    rows = changed.filter(
        is_new.fill_null(False)
        & pl.col("is_new")
        & (pl.col("version") > 0)
        & ~pl.col("version").is_in(sorted(data.table_commits.reusing))
        & ~pl.col("version").is_in(tables)
        & ~pl.col("path_key").str.contains(_ABSOLUTE_PATH)
    )
    return frozenset(rows["path_key"])


def _find_enabling_versions(enabled: EnablementHistory) -> list[int]:
    """Return the versions at which row ids become enabled, including the first validated one."""
    both = [(version, supported and true) for version, supported, true in enabled]
    before = [False, *(is_enabled for _, is_enabled in both)]
    return [version for (version, is_enabled), was in zip(both, before, strict=False) if is_enabled and not was]


def _build_state_rows(
    facts: LogFacts, enabled: EnablementHistory, suspended: EnablementHistory
) -> list[dict[str, Any]]:
    """Build the rows of `row_id_states`."""
    rows = [*facts.state.rows[table_state.protocols.name], *facts.state.rows[table_state.configuration.name]]
    files = {row["version"]: row["file"] for row in rows}
    found: list[dict[str, Any]] = []
    for version in sorted({version for version, _, _ in (*enabled, *suspended)}):
        row: dict[str, Any] = {}
        for name, since in (("enabled", enabled), ("suspended", suspended)):
            states = [supported and enabled_now for start, supported, enabled_now in since if start <= version]
            row[name] = states[-1] if states else False
        if found and all(found[-1][name] == value for name, value in row.items()):
            continue
        found.append({"version": version, "file": files[version], **row})
    return found
