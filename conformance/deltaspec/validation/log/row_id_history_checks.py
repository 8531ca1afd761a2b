"""Looks at row ids along the judged history: what commits say of them, when they are enabled, who is given which."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.model.actions import MetaData, Protocol, WireStruct
from deltaspec.model.commit.row_id_changes import is_replaced_table
from deltaspec.model.features.protocol import features_are_known, supports
from deltaspec.model.log.file_names import commit_name
from deltaspec.model.log.proposed_commit import read_schema
from deltaspec.model.rows import row_tracking
from deltaspec.model.schema import column_mapping
from deltaspec.views.files.row_id_history import (
    build_new_row_id_rows,
    build_row_id_commit_rows,
    build_row_id_conflict_rows,
    flag_new_paths,
    new_row_ids,
    row_id_commits,
    row_id_conflicts,
    row_id_states,
)
from deltaspec.views.files.row_ids import column_rows, find_files_without_ids, row_id_columns, row_id_ranges
from deltaspec.views.table import table_actions as table_state
from deltaspec.views.table.enablement import EnablementHistory, build_enablement_history
from deltaspec.wire.storage.interface import LOG_DIRECTORY

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run
    from deltaspec.validation.data.data_run import DataRun

_NO_PROPERTY = ""
_ENABLINGS_LOOKED_AT = 20
"""Versions that enable row ids whose files are all looked at."""
_ELSEWHERE = r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|/)"
"""Paths of files that lie below no table of their own, perhaps."""
_OF_FILES = (row_id_commits, new_row_ids, row_id_conflicts)


def build_suspension_history(run: Run) -> EnablementHistory:
    """From which version on row ids were supported, and from which on suspended."""
    return _since(run, row_tracking.get_suspension_property(run.revision) or _NO_PROPERTY)


def enabled_since(run: Run) -> EnablementHistory:
    """From which version on row ids were supported, and from which on asked for."""
    return _since(run, row_tracking.enabled_by(run.revision))


def _since(run: Run, property_name: str) -> EnablementHistory:
    rows = run.state.rows
    protocols, settings = rows[table_state.protocols.name], rows[table_state.configuration.name]
    return build_enablement_history(protocols, settings, row_tracking.get_feature_name(run.revision), property_name)


def check_row_id_history(run: Run, intervals: pl.DataFrame) -> None:
    """Look at every version of the judged history that supports row ids.

    Args:
        run: after its replay.
        spanned: its adds and removes, as `file_replay.spans` gives them.
    """
    enabled, suspended = enabled_since(run), build_suspension_history(run)
    if not any(supported for _, supported, _ in enabled):
        return
    for place, protocol, metadata in _metadata_in_force(run):
        _look_at_columns(run, place, protocol, metadata)
    run.findings.evaluate_rows(row_id_states, _states(run, enabled, suspended))
    if run.replay_blocked_reason is not None:
        run.findings.mark_undecided(_OF_FILES, run.replay_blocked_reason)
        return
    whole = history_is_complete(run)
    if run.findings.has_rules_for(row_id_commits, new_row_ids):
        changed = flag_new_paths(intervals)
        files = {version: f"{LOG_DIRECTORY}/{commit_name(version)}" for version in run.stated_row_ids}
        _, has_high_water_mark = run.state.high_water_mark
        commits = build_row_id_commit_rows(
            changed, run.stated_row_ids, files, enabled=enabled, has_high_water_mark=has_high_water_mark, history_is_complete=whole
        )
        run.findings.evaluate(row_id_commits, commits)
        run.findings.evaluate(new_row_ids, build_new_row_id_rows(changed, suspended, history_is_complete=whole))
    if run.findings.has_rules_for(row_id_conflicts):
        run.findings.evaluate_rows(row_id_conflicts, build_row_id_conflict_rows(intervals, suspended, run.plan.version))
    if run.findings.has_rules_for(row_id_ranges):
        for version in _enabling(enabled)[:_ENABLINGS_LOOKED_AT]:
            run.findings.evaluate(row_id_ranges, find_files_without_ids(intervals, version, run.plan.version))


def find_table_replacements(run: Run) -> list[int]:
    """Versions whose commit makes another table of it, whose files are none of those before."""
    rows = run.state.rows[table_state.metadata.name]
    return [row["version"] for before, row in pairwise(rows) if is_replaced_table(before["id"], row["id"])]


def find_inserted_paths(run: DataRun) -> frozenset[str]:
    """Keys of the paths whose rows were inserted: a commit added them, and took no row from any other file.

    Not of commits that create or replace the table, nor of files elsewhere: those may be taken over from another table
    with the ids that they had there. Where not all versions are judged a path may be older than it seems, unless its
    row commit version is that of the commit.
    """
    changed = flag_new_paths(run.intervals)
    taking = changed.filter((pl.col("kind") == "remove") | ~pl.col("is_new"))["version"].unique()
    tables = [row["version"] for row in run.state.rows[table_state.metadata.name]]
    is_new = pl.lit(run.history_is_complete) | (pl.col("default_row_commit_version") == pl.col("version"))
    rows = changed.filter(
        is_new.fill_null(False)
        & pl.col("is_new")
        & (pl.col("version") > 0)
        & ~pl.col("version").is_in(taking.implode())
        & ~pl.col("version").is_in(tables)
        & ~pl.col("path_key").str.contains(_ELSEWHERE)
    )
    return frozenset(rows["path_key"])


def history_is_complete(run: Run) -> bool:
    """Whether every version of the table up to the judged one is judged."""
    return run.plan.base is None and bool(run.plan.commits) and run.plan.commits[0] == 0


def _enabling(enabled: EnablementHistory) -> list[int]:
    """Versions in which row ids begin to be enabled; the first judged one if they are then."""
    both = [(version, supported and true) for version, supported, true in enabled]
    before = [False, *(is_enabled for _, is_enabled in both)]
    return [version for (version, is_enabled), was in zip(both, before, strict=False) if is_enabled and not was]


def _states(run: Run, enabled: EnablementHistory, suspended: EnablementHistory) -> list[dict[str, Any]]:
    """Rows of `row_id_states`."""
    rows = [*run.state.rows[table_state.protocols.name], *run.state.rows[table_state.configuration.name]]
    files = {row["version"]: row["file"] for row in rows}
    found = []
    for version in sorted({version for version, _, _ in (*enabled, *suspended)}):
        row: dict[str, Any] = {"version": version, "file": files[version]}
        for name, since in (("enabled", enabled), ("suspended", suspended)):
            held = [supported and true for start, supported, true in since if start <= version]
            row[name] = held[-1] if held else False
        found.append(row)
    return found


def _metadata_in_force(run: Run) -> Iterator[tuple[dict[str, Any], Protocol, MetaData]]:
    """Protocol and metadata at each version that changes one of them, with the place of the metadata."""
    places = {row["version"]: row for row in run.state.rows[table_state.metadata.name]}
    actions: list[tuple[int, WireStruct]] = list(run.table_actions)
    if run.plan.base is not None:
        actions = [(run.plan.base.version, each) for each in run.base_actions] + actions
    protocol: Protocol | None = None
    metadata: MetaData | None = None
    changes: dict[int, list[WireStruct]] = {}
    for version, action in actions:
        if isinstance(action, Protocol | MetaData):
            changes.setdefault(version, []).append(action)
    place: dict[str, Any] | None = None
    gaps = sorted(run.plan.commits_after_gaps)
    for version, changed in changes.items():
        if gaps and version >= gaps[0]:
            protocol, metadata = None, None
            gaps = [each for each in gaps if each > version]
        for action in changed:
            protocol = action if isinstance(action, Protocol) else protocol
            metadata = action if isinstance(action, MetaData) else metadata
        place = places.get(version, place)
        if protocol is not None and metadata is not None and place is not None:
            yield {name: place[name] for name in ("version", "file", "line")}, protocol, metadata


def _look_at_columns(run: Run, place: dict[str, Any], protocol: Protocol, metadata: MetaData) -> None:
    known = features_are_known(protocol)
    if not known or not supports(protocol, row_tracking.get_feature_name(run.revision)):
        return
    mapping = column_mapping.get_mapping_mode(metadata.configuration, supported=supports(protocol, "columnMapping"))
    enabled = row_tracking.is_enabled(protocol, metadata, run.revision)
    rows = column_rows(place, metadata, read_schema(metadata), mapping, enabled=enabled, revision=run.revision)
    run.findings.evaluate_rows(row_id_columns, rows)
