"""Looks at row ids along the judged history: what commits say of them, when they are enabled, who is given which."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.model import column_mapping, row_tracking
from deltaspec.model.actions import MetaData, Protocol, Wire
from deltaspec.model.file_names import commit_name
from deltaspec.model.proposal import schema_of
from deltaspec.model.protocol import features_are_known, supports
from deltaspec.model.row_id_changes import is_another_table
from deltaspec.views import table_state
from deltaspec.views.in_force import Since, in_force_since
from deltaspec.views.row_id_history import (
    commit_rows,
    new_row_ids,
    new_rows,
    rival_rows,
    row_id_commits,
    row_id_rivals,
    row_id_states,
    with_newness,
)
from deltaspec.views.row_ids import column_rows, row_id_columns, row_id_ranges, without_ids
from deltaspec.wire.storage import LOG

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run
    from deltaspec.validate.data import DataRun

_NO_PROPERTY = ""
_ENABLINGS_LOOKED_AT = 20
"""Versions that enable row ids whose files are all looked at."""
_ELSEWHERE = r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|/)"
"""Paths of files that lie below no table of their own, perhaps."""
_OF_FILES = (row_id_commits, new_row_ids, row_id_rivals)


def suspended_since(run: Run) -> Since:
    """From which version on row ids were supported, and from which on suspended."""
    return _since(run, row_tracking.suspended_by(run.revision) or _NO_PROPERTY)


def enabled_since(run: Run) -> Since:
    """From which version on row ids were supported, and from which on asked for."""
    return _since(run, row_tracking.enabled_by(run.revision))


def _since(run: Run, property_name: str) -> Since:
    rows = run.state.rows
    protocols, settings = rows[table_state.protocols.name], rows[table_state.configuration.name]
    return in_force_since(protocols, settings, row_tracking.feature_in(run.revision), property_name)


def look_at_row_id_history(run: Run, spanned: pl.DataFrame) -> None:
    """Look at every version of the judged history that supports row ids.

    Args:
        run: after its replay.
        spanned: its adds and removes, as `file_replay.spans` gives them.
    """
    enabled, suspended = enabled_since(run), suspended_since(run)
    if not any(supported for _, supported, _ in enabled):
        return
    for place, protocol, metadata in _metadata_in_force(run):
        _look_at_columns(run, place, protocol, metadata)
    run.findings.look_at_rows(row_id_states, _states(run, enabled, suspended))
    if run.files_in_doubt is not None:
        run.findings.doubt(_OF_FILES, run.files_in_doubt)
        return
    whole = history_is_whole(run)
    if run.findings.wants(row_id_commits, new_row_ids):
        changed = with_newness(spanned)
        files = {version: f"{LOG}/{commit_name(version)}" for version in run.row_id_claims}
        _, has_mark = run.state.high_water_mark
        commits = commit_rows(changed, run.row_id_claims, files, enabled=enabled, has_mark=has_mark, whole=whole)
        run.findings.look(row_id_commits, commits)
        run.findings.look(new_row_ids, new_rows(changed, suspended, whole=whole))
    if run.findings.wants(row_id_rivals):
        run.findings.look_at_rows(row_id_rivals, rival_rows(spanned, suspended, run.plan.version))
    if run.findings.wants(row_id_ranges):
        for version in _enabling(enabled)[:_ENABLINGS_LOOKED_AT]:
            run.findings.look(row_id_ranges, without_ids(spanned, version, run.plan.version))


def tables_begin(run: Run) -> list[int]:
    """Versions whose commit makes another table of it, whose files are none of those before."""
    rows = run.state.rows[table_state.metadata.name]
    return [row["version"] for before, row in pairwise(rows) if is_another_table(before["id"], row["id"])]


def inserted_paths(run: DataRun) -> frozenset[str]:
    """Keys of the paths whose rows were inserted: a commit added them, and took no row from any other file.

    Not of commits that create or replace the table, nor of files elsewhere: those may be taken over from another table
    with the ids that they had there. Where not all versions are judged a path may be older than it seems, unless its
    row commit version is that of the commit.
    """
    changed = with_newness(run.spanned)
    taking = changed.filter((pl.col("kind") == "remove") | ~pl.col("is_new"))["version"].unique()
    tables = [row["version"] for row in run.state.rows[table_state.metadata.name]]
    is_new = pl.lit(run.history_is_whole) | (pl.col("default_row_commit_version") == pl.col("version"))
    rows = changed.filter(
        is_new.fill_null(False)
        & pl.col("is_new")
        & (pl.col("version") > 0)
        & ~pl.col("version").is_in(taking.implode())
        & ~pl.col("version").is_in(tables)
        & ~pl.col("path_key").str.contains(_ELSEWHERE)
    )
    return frozenset(rows["path_key"])


def history_is_whole(run: Run) -> bool:
    """Whether every version of the table up to the judged one is judged."""
    return run.plan.base is None and bool(run.plan.commits) and run.plan.commits[0] == 0


def _enabling(enabled: Since) -> list[int]:
    """Versions in which row ids begin to be enabled; the first judged one if they are then."""
    both = [(version, supported and true) for version, supported, true in enabled]
    before = [False, *(is_enabled for _, is_enabled in both)]
    return [version for (version, is_enabled), was in zip(both, before, strict=False) if is_enabled and not was]


def _states(run: Run, enabled: Since, suspended: Since) -> list[dict[str, Any]]:
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
    actions: list[tuple[int, Wire]] = list(run.table_actions)
    if run.plan.base is not None:
        actions = [(run.plan.base.version, each) for each in run.base_actions] + actions
    protocol: Protocol | None = None
    metadata: MetaData | None = None
    changes: dict[int, list[Wire]] = {}
    for version, action in actions:
        if isinstance(action, Protocol | MetaData):
            changes.setdefault(version, []).append(action)
    place: dict[str, Any] | None = None
    gaps = sorted(run.plan.missing_after)
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
    if not known or not supports(protocol, row_tracking.feature_in(run.revision)):
        return
    mapping = column_mapping.mode(metadata.configuration, supported=supports(protocol, "columnMapping"))
    enabled = row_tracking.is_enabled(protocol, metadata, run.revision)
    rows = column_rows(place, metadata, schema_of(metadata), mapping, enabled=enabled, revision=run.revision)
    run.findings.look_at_rows(row_id_columns, rows)
