"""Which deletion vectors are new where the table does not ask for them."""

from typing import Any

import polars as pl
import pytest

from deltaspec.views.files.added_vectors import build_added_vector_rows
from deltaspec.views.files.file_replay import build_empty_replay_frame
from deltaspec.views.table.enablement import EnablementHistory

OFF: EnablementHistory = [(0, True, False)]


def action(version: int, kind: str, path: str, vector: str | None, source: str = "commit") -> dict[str, Any]:
    return {"version": version, "kind": kind, "path_key": path, "deletion_vector_id": vector, "source": source}


def rows(
    *actions: dict[str, Any],
    enabled: EnablementHistory = OFF,
    operations: dict[int, str | None] | None = None,
    begins_with_checkpoint: bool = False,
) -> list[tuple[Any, ...]]:
    """Version, path, vector and whether it may be older, of each row of the view."""
    schema = build_empty_replay_frame().schema
    chain = pl.DataFrame([{name: each.get(name) for name in schema} for each in actions], schema=schema)
    told = {each["version"]: "WRITE" for each in actions} | (operations or {})
    found = build_added_vector_rows(chain, enabled, told, begins_with_checkpoint=begins_with_checkpoint)
    return sorted(found.select("version", "path", "deletion_vector_id", "may_predate_commit").rows())


def test_a_vector_is_new_once() -> None:
    actions = [action(1, "add", "a", "u1"), action(2, "add", "a", "u1"), action(3, "add", "a", "u2")]
    assert rows(*actions) == [(1, "a", "u1", False), (3, "a", "u2", False)]


def test_files_without_a_vector_and_removes_are_no_rows() -> None:
    assert rows(action(1, "add", "a", None), action(2, "remove", "b", "u1")) == []


@pytest.mark.parametrize("source", ["checkpoint", "sidecar"])
def test_what_a_checkpoint_holds_is_not_new(source: str) -> None:
    base = action(4, "add", "a", "u1", source)
    assert rows(base, action(5, "add", "a", "u1"), begins_with_checkpoint=True) == []


def test_a_vector_that_was_removed_before_is_not_new() -> None:
    assert rows(action(1, "remove", "a", "u1"), action(2, "add", "a", "u1")) == []


def test_the_same_vector_of_another_file_is_new() -> None:
    enabled: EnablementHistory = [(0, True, True), (2, True, False)]
    actions = [action(1, "add", "a", "u1"), action(2, "add", "b", "u1")]
    assert rows(*actions, enabled=enabled) == [(2, "b", "u1", False)]


@pytest.mark.parametrize(
    "enabled", [[], [(0, True, True)], [(0, False, False)], [(2, True, False)], [(0, True, False), (1, True, True)]]
)
def test_where_they_are_enabled_or_not_supported_nothing_is_said(enabled: EnablementHistory) -> None:
    assert rows(action(1, "add", "a", "u1"), enabled=enabled) == []


@pytest.mark.parametrize("operation", ["RESTORE", "CLONE", "Shallow Clone", "CONVERT"])
def test_operations_that_take_over_files_may_bring_older_ones(operation: str) -> None:
    assert rows(action(1, "add", "a", "u1"), operations={1: operation}) == [(1, "a", "u1", True)]


@pytest.mark.parametrize(
    ("version", "begins_with_checkpoint", "older"), [(0, False, True), (1, False, False), (7, True, True)]
)
def test_an_unsaid_operation_may_be_a_clone_or_a_restore(
    version: int, begins_with_checkpoint: bool, older: bool
) -> None:
    found = rows(
        action(version, "add", "a", "u1"), operations={version: None}, begins_with_checkpoint=begins_with_checkpoint
    )
    assert found == [(version, "a", "u1", older)]
