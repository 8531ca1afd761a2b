"""Rows of `added_vectors`: new deletion vectors in tables that do not enable them."""

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
    """Return version, path, vector and `may_predate_commit` of each row of the view."""
    schema = build_empty_replay_frame().schema
    chain = pl.DataFrame([{name: each.get(name) for name in schema} for each in actions], schema=schema)
    all_operations = {each["version"]: "WRITE" for each in actions} | (operations or {})
    found = build_added_vector_rows(chain, enabled, all_operations, begins_with_checkpoint=begins_with_checkpoint)
    return sorted(found.select("version", "path", "deletion_vector_id", "may_predate_commit").rows())


def test_added_vector_has_one_row() -> None:
    actions = [action(1, "add", "a", "u1"), action(2, "add", "a", "u1"), action(3, "add", "a", "u2")]
    assert rows(*actions) == [(1, "a", "u1", False), (3, "a", "u2", False)]


def test_adds_without_vector_and_removes_have_no_row() -> None:
    assert rows(action(1, "add", "a", None), action(2, "remove", "b", "u1")) == []


@pytest.mark.parametrize("source", ["checkpoint", "sidecar"])
def test_vector_in_base_checkpoint_is_not_new(source: str) -> None:
    base = action(4, "add", "a", "u1", source)
    assert rows(base, action(5, "add", "a", "u1"), begins_with_checkpoint=True) == []


def test_vector_removed_earlier_is_not_new() -> None:
    assert rows(action(1, "remove", "a", "u1"), action(2, "add", "a", "u1")) == []


def test_same_vector_of_another_path_is_new() -> None:
    enabled: EnablementHistory = [(0, True, True), (2, True, False)]
    actions = [action(1, "add", "a", "u1"), action(2, "add", "b", "u1")]
    assert rows(*actions, enabled=enabled) == [(2, "b", "u1", False)]


@pytest.mark.parametrize(
    "enabled", [[], [(0, True, True)], [(0, False, False)], [(2, True, False)], [(0, True, False), (1, True, True)]]
)
def test_enabled_or_unsupported_vectors_have_no_row(enabled: EnablementHistory) -> None:
    assert rows(action(1, "add", "a", "u1"), enabled=enabled) == []


@pytest.mark.parametrize("operation", ["RESTORE", "CLONE", "Shallow Clone", "CONVERT"])
def test_vectors_of_file_reusing_operations_may_predate_the_commit(operation: str) -> None:
    assert rows(action(1, "add", "a", "u1"), operations={1: operation}) == [(1, "a", "u1", True)]


@pytest.mark.parametrize(
    ("version", "begins_with_checkpoint", "older"), [(0, False, True), (1, False, False), (7, True, True)]
)
def test_vector_may_predate_a_commit_without_operation(version: int, begins_with_checkpoint: bool, older: bool) -> None:
    found = rows(
        action(version, "add", "a", "u1"), operations={version: None}, begins_with_checkpoint=begins_with_checkpoint
    )
    assert found == [(version, "a", "u1", older)]
