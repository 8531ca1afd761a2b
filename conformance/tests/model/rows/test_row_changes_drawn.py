"""Row changes of drawn tables: the sum of all changes."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from helpers.scenario import cdc, remove
from helpers.small_logs import small_log_settings
from hypothesis import given
from hypothesis import strategies as st
from model.change_feed_tables import NO_CHANGE, ONE_COLUMN_TABLE, PROTOCOL, add, id_rows

from deltaspec.model import compute_row_changes
from deltaspec.model.log.reconciliation import Snapshot, replay_log
from deltaspec.model.rows.row_changes import FileContents, read_rows
from deltaspec.protocol.actions import Action
from deltaspec.protocol.files.deletion_vectors import build_inline_descriptor


@dataclass
class Table:
    """A drawn table: the written commits, and the live rows of each version as counted by the test."""

    log: dict[int, list[Action]] = field(default_factory=dict)
    files: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    live: dict[str, set[int]] = field(default_factory=dict)
    """Path to the rows that a vector hides."""
    states: list[Counter[int]] = field(default_factory=list)

    def rows(self) -> Counter[int]:
        shown = (
            (path, at) for path, hidden in self.live.items() for at in range(len(self.files[path])) if at not in hidden
        )
        return Counter(self.files[path][at]["id"] for path, at in shown)

    def new_file(self, numbers: list[int]) -> str:
        path = f"f{len(self.files)}"
        self.files[path] = id_rows(*numbers)
        return path

    def with_vector(self, path: str) -> dict[str, Any]:
        return {"deletion_vector": build_inline_descriptor(self.live[path])} if self.live[path] else {}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    table = Table(log={0: [PROTOCOL, ONE_COLUMN_TABLE]}, states=[Counter()])
    for version in range(1, draw(st.integers(2, 6))):
        before = table.rows()
        actions = [
            action
            for path in [*table.live]
            for action in _something(
                draw, table, path, draw(st.sampled_from(["", "", "remove", "vector", "describe", "move"]))
            )
        ]
        for _ in range(draw(st.integers(0, 2))):
            path = table.new_file(draw(st.lists(st.integers(0, 3), max_size=3)))
            table.live[path] = set()
            actions.append(add(path))
        after = table.rows()
        if draw(st.booleans()):
            actions += _recorded(draw, table, before, after)
        table.log[version] = draw(st.permutations(actions))
        table.states.append(after)
    return table


def _something(draw: st.DrawFn, table: Table, path: str, what: str) -> list[Action]:
    """Apply one change to a live file in one commit."""
    old = table.with_vector(path)
    if what == "remove":
        del table.live[path]
        return [remove(path, **old)]
    if what == "vector" and table.files[path]:
        table.live[path] = draw(st.sets(st.integers(0, len(table.files[path]) - 1)))
        new = table.with_vector(path)
        return [add(path, **new)] if new == old else [remove(path, **old), add(path, **new)]
    if what == "describe":
        return [add(path, size=draw(st.integers(1, 9)), data_change=draw(st.booleans()), **old)]
    if what == "move":
        hidden = table.live.pop(path)
        kept = [row["id"] for at, row in enumerate(table.files[path]) if at not in hidden]
        target = table.new_file(draw(st.permutations(kept)))
        table.live[target] = set()
        return [remove(path, **old, **NO_CHANGE), add(target, **NO_CHANGE)]
    return []


def _recorded(draw: st.DrawFn, table: Table, before: Counter[int], after: Counter[int]) -> list[Action]:
    """The net change as change data, where anything changed: in pairs as updates, the rest as deletes and inserts."""
    removed_files, came = [*(before - after).elements()], [*(after - before).elements()]
    pairs = min(len(removed_files), len(came)) if draw(st.booleans()) else 0
    kinds = ["update_preimage"] * pairs + ["delete"] * (len(removed_files) - pairs)
    kinds += ["update_postimage"] * pairs + ["insert"] * (len(came) - pairs)
    if not kinds:
        return []
    path = f"_change_data/{len(table.files)}"
    table.files[path] = [
        {"id": number, "_change_type": kind} for number, kind in zip(removed_files + came, kinds, strict=True)
    ]
    return [cdc(path)]


@small_log_settings
@given(tables(), st.data())
def test_changes_turn_the_first_rows_into_the_last(table: Table, data: st.DataObject) -> None:
    last = len(table.states) - 1
    start = data.draw(st.integers(1, last))
    end = data.draw(st.integers(start, last))
    files = FileContents(table.files)
    base_at = data.draw(st.integers(-1, start - 1))
    base = replay_log(table.log, to=base_at) if base_at >= 0 else Snapshot()
    rest = {version: actions for version, actions in table.log.items() if version > base_at}
    balance = Counter(table.states[start - 1])
    for change in compute_row_changes(rest, start, end, files=files, base=base):
        balance[change.row["id"]] += 1 if change.change_type in ("insert", "update_postimage") else -1
    assert +balance == table.states[end]
    assert min(balance.values(), default=0) >= 0


@small_log_settings
@given(tables())
def test_rows_of_a_version_are_the_live_rows(table: Table) -> None:
    for version, state in enumerate(table.states):
        rows = read_rows(replay_log(table.log, to=version), FileContents(table.files))
        assert Counter(row["id"] for row in rows) == state
