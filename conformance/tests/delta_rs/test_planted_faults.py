"""Silence on tables of delta-rs is no blindness: a fault planted into one is found, by the rules of it alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from delta_rs.corpus import TABLES

from deltaspec.validation import validate_table

if TYPE_CHECKING:
    from collections.abc import Callable

    Actions = list[dict[str, Any]]
    Plant = Callable[[Path, Actions], None]

pytest.importorskip("deltalake", reason="the Python package deltalake (extra [deltalake]) is not installed")


def first_live(actions: Actions) -> dict[str, Any]:
    """The `add` of the newest commit that adds a file: no later one takes it away."""
    found: dict[str, Any] = next(action["add"] for action in reversed(actions) if "add" in action)
    return found


def statistics(edit: Callable[[dict[str, Any]], None]) -> Plant:
    """Edits the statistics of a live file."""

    def plant(_: Path, actions: Actions) -> None:
        add = first_live(actions)
        stats = json.loads(add["stats"])
        edit(stats)
        add["stats"] = json.dumps(stats)

    return plant


def set_entry(kind: str, column: str, value: object) -> Plant:
    return statistics(lambda stats: stats[kind].__setitem__(column, value))


def another_count(stats: dict[str, Any]) -> None:
    stats["numRecords"] += 1


def another_size(_: Path, actions: Actions) -> None:
    first_live(actions)["size"] += 1


def file_is_gone(table: Path, actions: Actions) -> None:
    (table / first_live(actions)["path"]).unlink()


def footer_is_damaged(table: Path, actions: Actions) -> None:
    file = table / first_live(actions)["path"]
    file.write_bytes(file.read_bytes()[:-4] + b"PAR2")


def column_is_another(_: Path, actions: Actions) -> None:
    """The table's schema says that a column of texts is one of booleans, which have no bounds."""
    metadata = next(action["metaData"] for action in actions if "metaData" in action)
    metadata["schemaString"] = metadata["schemaString"].replace(
        '"name":"text","type":"string"', '"name":"text","type":"boolean"'
    )


def change_file_is_dropped(_: Path, actions: Actions) -> None:
    """The last one, of a merge: a delete may go without (E39)."""
    actions.remove(next(action for action in reversed(actions) if "cdc" in action))


CASES: dict[str, tuple[str, Plant, set[str]]] = {
    "size": ("small_files", another_size, {"DAT002"}),
    "gone": ("small_files", file_is_gone, {"DAT001"}),
    "footer": ("small_files", footer_is_damaged, {"PQT001"}),
    "count": ("small_files", statistics(another_count), {"PQT002", "COM020"}),
    "type": ("small_files", column_is_another, {"PQT010", "STA009"}),
    "minimum": ("small_files", set_entry("minValues", "id", 10_000), {"STA001"}),
    "maximum": ("small_files", set_entry("maxValues", "id", 10_000), {"STA002"}),
    "nulls": ("small_files", set_entry("nullCount", "id", 1), {"STA005"}),
    "minimum of texts": ("small_files", set_entry("minValues", "text", "zz"), {"STA001"}),
    "changes": ("change_data_feed", change_file_is_dropped, {"CDF008"}),
}


@pytest.mark.parametrize("case", CASES)
def test_planted_fault_is_found(case: str, tmp_path: Path) -> None:
    name, plant, expected = CASES[case]
    table = tmp_path / name
    TABLES[name](str(table))
    files = sorted((table / "_delta_log").glob("*.json"))
    commits = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    assert not validate_table(str(table), level="rows", history="all").totals
    actions = [action for commit in commits for action in commit]
    plant(table, actions)
    kept = {id(action) for action in actions}
    for file, commit in zip(files, commits, strict=True):
        file.write_text("".join(f"{json.dumps(action)}\n" for action in commit if id(action) in kept))
    report = validate_table(str(table), level="rows", history="all")
    assert set(report.totals) == expected
