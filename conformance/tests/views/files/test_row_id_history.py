"""Views over row ids along the history equal a plain Python count over the same files."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.revisions import Revision
from deltaspec.rules import RULES
from deltaspec.views.files.file_replay import build_empty_replay_frame, build_intervals
from deltaspec.views.files.row_id_history import (
    Conflicts,
    StatedRowIds,
    build_conflict,
    build_new_row_id_rows,
    build_row_id_commit_rows,
    build_row_id_conflict_rows,
    count_commit_actions,
    find_conflict_candidates,
    find_overlaps,
    flag_new_paths,
    row_id_conflicts,
    select_assigned_files,
)


@pytest.mark.parametrize(
    ("older", "newer", "is_live"),
    [
        ([(1, 4)], [(3, 6)], True),
        ([(1, 3)], [(3, 6)], False),
        ([(1, 2), (6, 8)], [(3, 6)], False),  # the older file lives again after the newer one
        ([(1, 2), (5, 8)], [(3, 6)], True),
    ],
)
def test_files_conflict_while_both_are_live(
    older: list[tuple[int, int]], newer: list[tuple[int, int]], is_live: bool
) -> None:
    place = {"source": "commit", "file": "f", "line": 1, "path": None, "base_row_id": 0, "last_row_id": 1}
    one, two = ({**place, "path_key": key, "version": spans[0][0]} for key, spans in (("a", older), ("b", newer)))
    for pair in ((one, two), (two, one)):
        row = build_conflict(*pair, {("a", 0): older, ("b", 0): newer}, 5)
        assert (row["path"], row["other_path"], row["other_is_live"]) == ("b", "a", is_live), f"{pair=}"


ALWAYS = [(0, True, False)]
_PATHS = st.sampled_from(["a", "b", "c", "d"])
_Action = tuple[int, str, str, int]
"""Version, kind, path, and the base row id of the path; every file has two rows."""


@st.composite
def histories(draw: st.DrawFn) -> list[_Action]:
    """Draw file actions of five versions: each path at most once per version, always with the same base row id."""
    bases = {path: draw(st.integers(0, 5)) for path in "abcd"}
    found: list[_Action] = []
    for version in range(1, 6):
        for path in sorted(draw(st.sets(_PATHS, max_size=2))):
            kind = draw(st.sampled_from(["add", "add", "remove"]))
            found.append((version, kind, path, bases[path]))
    return found


def _intervals(actions: list[_Action], source: str = "commit") -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "source": source,
            "file": f"{version}",
            "version": version,
            "line": line,
            "kind": kind,
            "path_key": path,
            "base_row_id": base,
            "num_records": 2 if kind == "add" else None,
            "default_row_commit_version": version,
        }
        for line, (version, kind, path, base) in enumerate(actions, 1)
    ]
    return build_intervals(
        pl.concat([build_empty_replay_frame(), pl.DataFrame(rows)], how="diagonal")
        if rows
        else build_empty_replay_frame()
    )


def _live(actions: list[_Action], version: int) -> dict[str, int]:
    """Return the live paths of a version with their base row ids."""
    live: dict[str, int] = {}
    for at, kind, path, base in actions:
        if at <= version:
            live.pop(path, None)
            if kind == "add":
                live[path] = base
    return live


def _build_conflict_rows(actions: list[_Action], borders: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Return the rows of `row_id_conflicts`, found in ranges of row ids that begin at some borders."""
    assigned = select_assigned_files(_intervals(actions), ALWAYS)
    ranges = pl.Series(borders, dtype=pl.Int64).search_sorted(assigned["base_row_id"], side="right")
    parts = [assigned.filter(ranges == number) for number in range(len(borders) + 1)]
    conflicts, highest = Conflicts(), dict[int, int]()
    for part in parts:
        conflicts.merge(find_conflict_candidates(part, highest))
        highest = {period: max([*highest.values(), *part["last_row_id"]]) for period in part["period"]} or highest
    for part in parts:
        conflicts.merge(find_overlaps(part, conflicts.candidates))
    return build_row_id_conflict_rows(conflicts, ALWAYS, 5)


def _shared(live: dict[str, int]) -> set[frozenset[str]]:
    """Return pairs of paths whose rows share an id."""
    return {frozenset((one, two)) for one in live for two in live if one < two and abs(live[one] - live[two]) < 2}


@example_settings(100)
@given(histories())
def test_conflicting_files_that_were_live_together_are_found(actions: list[_Action]) -> None:
    rows = row_id_conflicts.frame(_build_conflict_rows(actions))
    past = {pair for version in range(1, 6) for pair in _shared(_live(actions, version))}
    found = rows.filter(RULES["RID022"].expression())
    if not _shared(_live(actions, 5)):
        assert found.is_empty() is not bool(past)


@example_settings(100)
@given(histories())
def test_conflicts_name_earlier_paths_with_the_same_ids(actions: list[_Action]) -> None:
    rows = _build_conflict_rows(actions)
    bases = {path: base for _, kind, path, base in actions if kind == "add"}
    named = {frozenset((row["path"], row["other_path"])) for row in rows}
    assert named <= _shared(bases)
    assert bool(named) is bool(_shared(bases))


@example_settings(60)
@given(histories(), st.lists(st.integers(0, 12), max_size=4, unique=True).map(sorted))
def test_conflicts_do_not_depend_on_ranges(actions: list[_Action], borders: list[int]) -> None:
    """A file at the begin of a range overlaps the last one of the range before."""
    assert _build_conflict_rows(actions, borders) == _build_conflict_rows(actions)


@example_settings(60)
@given(histories())
def test_new_paths_have_no_earlier_action(actions: list[_Action]) -> None:
    changed = flag_new_paths(_intervals(actions))
    found = {(row["version"], row["path_key"]) for row in changed.to_dicts() if row["is_new"]}
    expected = {
        (version, path)
        for version, kind, path, _ in actions
        if kind == "add" and not any(at < version and other == path for at, _, other, _ in actions)
    }
    assert found == expected


def test_path_in_base_checkpoint_is_not_new() -> None:
    base = _intervals([(0, "add", "a", 0)], "checkpoint")
    commits = _intervals([(1, "add", "a", 0), (1, "add", "b", 2)])
    changed = flag_new_paths(pl.concat([base, commits]))
    assert {row["path_key"]: row["is_new"] for row in changed.to_dicts()} == {"a": False, "b": True}


def test_commit_may_copy_rows_if_it_adds_new_files_and_changes_others() -> None:
    actions: list[_Action] = [
        (1, "add", "a", 0),
        (2, "add", "b", 2),
        (3, "remove", "a", 0),
        (4, "add", "c", 4),
        (4, "remove", "b", 2),
        (5, "add", "c", 4),
        (5, "add", "d", 6),
    ]
    statements = {version: StatedRowIds(0, True, None) for version in range(7)}
    files = {version: str(version) for version in statements}
    enabled = [(0, False, False), (1, True, False), (3, True, True)]
    changed = flag_new_paths(_intervals(actions))
    rows = build_row_id_commit_rows(
        count_commit_actions(changed),
        statements,
        files,
        enabled=enabled,
        has_high_water_mark=True,
        history_is_complete=True,
    ).to_dicts()
    seen = {
        row["version"]: (row["enabled"], row["file_actions"], row["new_files"], row["may_copy_rows"]) for row in rows
    }
    assert seen == {
        1: (False, 1, 1, False),
        2: (False, 1, 1, False),
        3: (True, 1, 0, False),
        4: (True, 2, 1, True),
        5: (True, 2, 1, True),
        6: (True, 0, 0, False),
    }
    incomplete = build_row_id_commit_rows(
        count_commit_actions(changed),
        statements,
        files,
        enabled=enabled,
        has_high_water_mark=True,
        history_is_complete=False,
    )
    assert incomplete["new_files"].null_count() == 6


def test_new_files_are_reported_while_row_ids_are_supported() -> None:
    actions: list[_Action] = [(1, "add", "a", 0), (2, "add", "b", 2), (3, "add", "c", 4)]
    suspended = [(0, False, False), (2, True, False), (3, True, True)]
    rows = build_new_row_id_rows(flag_new_paths(_intervals(actions)), suspended, history_is_complete=True).to_dicts()
    assert [(row["version"], row["path"], row["suspended"]) for row in rows] == [(2, "b", False), (3, "c", True)]


def test_undecoded_statements_are_unknown() -> None:
    assert StatedRowIds.from_actions([], {"commitInfo"}, Revision.CURRENT) == StatedRowIds(None, None, None)
    assert StatedRowIds.from_actions([], {"add"}, Revision.CURRENT) == StatedRowIds(0, False, None)
