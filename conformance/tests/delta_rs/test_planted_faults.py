"""A fault planted in a delta-rs table is found by exactly the expected rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from delta_rs.corpus import TABLES

import deltaspec

if TYPE_CHECKING:
    from collections.abc import Callable

    Actions = list[dict[str, Any]]
    Plant = Callable[[Path, Actions], None]

pytest.importorskip("deltalake", reason="the Python package deltalake (extra [deltalake]) is not installed")


def find_newest_add(actions: Actions) -> dict[str, Any]:
    """Return the add of the newest commit that adds a file; no later commit removes it."""
    found: dict[str, Any] = next(action["add"] for action in reversed(actions) if "add" in action)
    return found


def edit_statistics(edit: Callable[[dict[str, Any]], None]) -> Plant:
    """Return a function that edits the statistics of a live file."""

    def plant(_: Path, actions: Actions) -> None:
        add = find_newest_add(actions)
        stats = json.loads(add["stats"])
        edit(stats)
        add["stats"] = json.dumps(stats)

    return plant


def set_entry(kind: str, column: str, value: object) -> Plant:
    return edit_statistics(lambda stats: stats[kind].__setitem__(column, value))


def change_row_count(stats: dict[str, Any]) -> None:
    stats["numRecords"] += 1


def change_size(_: Path, actions: Actions) -> None:
    find_newest_add(actions)["size"] += 1


def delete_file(table: Path, actions: Actions) -> None:
    (table / find_newest_add(actions)["path"]).unlink()


def damage_footer(table: Path, actions: Actions) -> None:
    file = table / find_newest_add(actions)["path"]
    file.write_bytes(file.read_bytes()[:-4] + b"PAR2")


def change_column_type(_: Path, actions: Actions) -> None:
    """Declare a string column as boolean, a type without bounds."""
    metadata = next(action["metaData"] for action in actions if "metaData" in action)
    metadata["schemaString"] = metadata["schemaString"].replace(
        '"name":"text","type":"string"', '"name":"text","type":"boolean"'
    )


def drop_change_file(_: Path, actions: Actions) -> None:
    """Drop the last change file, of a merge; a delete needs none (E39)."""
    actions.remove(next(action for action in reversed(actions) if "cdc" in action))


CASES: dict[str, tuple[str, Plant, set[str]]] = {
    "size": ("small_files", change_size, {"DAT002"}),
    "gone": ("small_files", delete_file, {"DAT001"}),
    "footer": ("small_files", damage_footer, {"PQT001"}),
    "count": ("small_files", edit_statistics(change_row_count), {"PQT002", "COM020"}),
    "type": ("small_files", change_column_type, {"PQT010", "STA009"}),
    "minimum": ("small_files", set_entry("minValues", "id", 10_000), {"STA001"}),
    "maximum": ("small_files", set_entry("maxValues", "id", 10_000), {"STA002"}),
    "nulls": ("small_files", set_entry("nullCount", "id", 1), {"STA005"}),
    "minimum of strings": ("small_files", set_entry("minValues", "text", "zz"), {"STA001"}),
    "changes": ("change_data_feed", drop_change_file, {"CDF008"}),
}


@pytest.mark.parametrize("case", CASES)
def test_planted_fault_is_found(case: str, tmp_path: Path) -> None:
    name, plant, expected = CASES[case]
    table = tmp_path / name
    TABLES[name](str(table))
    files = sorted((table / "_delta_log").glob("*.json"))
    commits = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    assert not deltaspec.validate(str(table), level="rows", history="all").totals
    actions = [action for commit in commits for action in commit]
    plant(table, actions)
    remaining = {id(action) for action in actions}
    for file, commit in zip(files, commits, strict=True):
        file.write_text("".join(f"{json.dumps(action)}\n" for action in commit if id(action) in remaining))
    report = deltaspec.validate(str(table), level="rows", history="all")
    assert set(report.totals) == expected
