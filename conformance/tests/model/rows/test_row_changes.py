"""Row changes: individual cases."""

from collections import Counter
from typing import Any

import pytest
from helpers.scenario import cdc, remove
from model.change_feed_tables import NO_CHANGE, ONE_COLUMN_TABLE, PROTOCOL, add, column, id_rows, table

from deltaspec.model import compute_row_changes
from deltaspec.model.rows.row_changes import (
    ChangeDataError,
    ChangesUnavailable,
    FileContents,
    RowChange,
    build_row_key,
    compute_net_effect,
)
from deltaspec.protocol.actions import Action
from deltaspec.protocol.files.deletion_vectors import build_inline_descriptor
from deltaspec.protocol.revisions import Revision


def compute_all_changes(
    commits: list[list[Action]], files: dict[str, list[dict[str, Any]]], start: int = 1, **more: Any
) -> list[RowChange]:
    """Changes of a log of these commits from `start` on; the first has the protocol as well."""
    log = {0: [PROTOCOL, *commits[0]], **dict(enumerate(commits[1:], 1))}
    return compute_row_changes(log, start, len(commits) - 1, files=FileContents(files), **more)


def to_tuples(found: list[RowChange]) -> list[tuple[int, str, dict[str, Any]]]:
    return [(each.commit_version, each.change_type, dict(each.row)) for each in found]


def test_rows_that_only_move_do_not_change() -> None:
    commits: list[list[Action]] = [
        [ONE_COLUMN_TABLE, add("a"), add("b")],
        [remove("a", **NO_CHANGE), remove("b", **NO_CHANGE), add("c", **NO_CHANGE)],
    ]
    assert compute_all_changes(commits, {"a": id_rows(1), "b": id_rows(2), "c": id_rows(2, 1)}) == []


@pytest.mark.parametrize("removal_moves", [True, False])
def test_commit_that_deletes_and_moves(removal_moves: bool) -> None:
    """Row 3 is deleted; 1 and 2 come from a file whose remove changes data, or from one that moves rows."""
    first = remove("a", data_change=not removal_moves)
    commits: list[list[Action]] = [[ONE_COLUMN_TABLE, add("a"), add("b")], [first, remove("b"), add("c", **NO_CHANGE)]]
    found = compute_all_changes(commits, {"a": id_rows(1, 2), "b": id_rows(3), "c": id_rows(2, 1)})
    assert to_tuples(found) == [(1, "delete", {"id": 3})]


def test_commit_that_inserts_and_moves() -> None:
    commits: list[list[Action]] = [[ONE_COLUMN_TABLE, add("a")], [remove("a", **NO_CHANGE), add("b")]]
    assert to_tuples(compute_all_changes(commits, {"a": id_rows(1, 1), "b": id_rows(1, 2, 1, 1)})) == [
        (1, "insert", {"id": 2}),
        (1, "insert", {"id": 1}),
    ]


def test_file_added_again_changes_no_row() -> None:
    commits: list[list[Action]] = [[ONE_COLUMN_TABLE, add("a")], [add("a", size=7)], [add("a", **NO_CHANGE)]]
    assert compute_all_changes(commits, {"a": id_rows(1)}) == []


def test_removal_of_an_unknown_file_changes_no_row() -> None:
    assert compute_all_changes([[ONE_COLUMN_TABLE], [remove("a")]], {"a": id_rows(1)}) == []


def test_path_in_another_spelling_is_the_same_file() -> None:
    commits: list[list[Action]] = [[ONE_COLUMN_TABLE, add("x%20y")], [remove("x y")]]
    assert to_tuples(compute_all_changes(commits, {"x y": id_rows(1)})) == [(1, "delete", {"id": 1})]


def test_path_escapes_are_decoded_once() -> None:
    change = {"id": 1, "_change_type": "insert"}
    files = {"p=x%20y/a": id_rows(1), "_change_data/p=x%20y/c": [change]}
    commits: list[list[Action]] = [
        [ONE_COLUMN_TABLE, add("p=x%2520y/a")],
        [remove("p=x%2520y/a")],
        [cdc("_change_data/p=x%2520y/c")],
    ]
    assert [each.change_type for each in compute_all_changes(commits, files)] == ["delete", "insert"]


def test_vectors_in_files_come_from_the_caller() -> None:
    vector = build_inline_descriptor([5])
    log: dict[int, list[Action]] = {
        0: [PROTOCOL, ONE_COLUMN_TABLE, add("a")],
        1: [remove("a"), add("a", deletion_vector=vector)],
    }
    files = FileContents({"a": id_rows(1, 2, 3)}, {vector.unique_id: [0, 2]})
    assert [each.row["id"] for each in compute_row_changes(log, 1, 1, files=files)] == [1, 3]
    with pytest.raises(KeyError):
        compute_row_changes(log, 1, 1, files=FileContents({}))


@pytest.mark.parametrize("revision", list(Revision))
def test_logical_files_of_one_path(revision: Revision) -> None:
    """Before `current` a path with two vectors is two files; now the newer replaces the older."""
    log: dict[int, list[Action]] = {
        0: [PROTOCOL, ONE_COLUMN_TABLE, add("a", deletion_vector=build_inline_descriptor([0]))],
        1: [add("a", deletion_vector=build_inline_descriptor([1]))],
    }
    found = compute_row_changes(log, 1, 1, files=FileContents({"a": id_rows(1, 2, 3)}), revision=revision)
    came = [(each.change_type, each.row["id"]) for each in found]
    if revision is Revision.CURRENT:
        assert came == [("delete", 2), ("insert", 1)]
    else:
        assert came == [("insert", 1), ("insert", 3)]


def test_change_data_files_take_precedence() -> None:
    commits: list[list[Action]] = [
        [ONE_COLUMN_TABLE, add("a")],
        [remove("a"), add("b"), cdc("_change_data/c"), cdc("_change_data/d")],
    ]
    files = {
        "a": id_rows(1),
        "b": id_rows(8, 9),
        "_change_data/c": [{"id": 1, "_change_type": "update_preimage"}],
        "_change_data/d": [{"id": 2, "_change_type": "update_postimage"}],
    }
    assert to_tuples(compute_all_changes(commits, files)) == [
        (1, "update_preimage", {"id": 1}),
        (1, "update_postimage", {"id": 2}),
    ]


def test_file_shared_by_add_and_cdc() -> None:
    commits: list[list[Action]] = [[ONE_COLUMN_TABLE], [add("a"), cdc("a")]]
    rows = [{"id": 1, "_change_type": "insert"}]
    assert to_tuples(compute_all_changes(commits, {"a": rows})) == [(1, "insert", {"id": 1})]
    assert to_tuples(compute_all_changes([[ONE_COLUMN_TABLE], [add("a")]], {"a": rows})) == [(1, "insert", {"id": 1})]


@pytest.mark.parametrize("kind", [{}, {"_change_type": None}, {"_change_type": "upsert"}])
def test_change_without_a_valid_type_is_refused(kind: dict[str, Any]) -> None:
    with pytest.raises(ChangeDataError, match="not a change type"):
        compute_all_changes([[ONE_COLUMN_TABLE], [cdc("_change_data/c")]], {"_change_data/c": [{"id": 1, **kind}]})


def test_partition_values_come_from_the_log() -> None:
    two = table(column("id"), column("day", "date"), by=("day",))
    commits: list[list[Action]] = [
        [two],
        [add("a", partition_values={"day": "1970-01-02"}), add("b", partition_values={"day": ""})],
        [cdc("_change_data/c", partition_values={"day": "1970-01-02"}), remove("a")],
        [remove("b")],
    ]
    stored = {"id": 1, "day": 99}
    files = {"a": [stored], "b": id_rows(2), "_change_data/c": [{**stored, "_change_type": "delete"}]}
    assert to_tuples(compute_all_changes(commits, files)) == [
        (1, "insert", {"id": 1, "day": 1}),
        (1, "insert", {"id": 2, "day": None}),
        (2, "delete", {"id": 1, "day": 1}),
        (3, "delete", {"id": 2, "day": None}),
    ]


def test_rows_are_read_in_the_last_schema() -> None:
    """One column is added, one renamed, one dropped and one widened."""
    before = table(
        column("id", "integer", "c1"), column("old", "string", "c2"), column("gone", "long", "c3"), mapped=True
    )
    after = table(column("id", "long", "c1"), column("new", "string", "c2"), column("more", "long", "c4"), mapped=True)
    commits: list[list[Action]] = [[before], [add("a")], [after], [add("b")]]
    files = {"a": [{"c1": 1, "c2": "x", "c3": 9}], "b": [{"c1": 2, "c2": "y", "c4": 7, "c3": None}]}
    assert to_tuples(compute_all_changes(commits, files)) == [
        (1, "insert", {"id": 1, "new": "x", "more": None}),
        (3, "insert", {"id": 2, "new": "y", "more": 7}),
    ]
    assert to_tuples(compute_all_changes(commits[:3], files)[:1]) == [
        (1, "insert", {"id": 1, "new": "x", "more": None})
    ]


def test_partition_columns_use_physical_names() -> None:
    mapped = table(column("id", "long", "c1"), column("p", "long", "c2"), by=("p",), mapped=True)
    renamed = table(column("id", "long", "c1"), column("q", "long", "c2"), by=("q",), mapped=True)
    commits: list[list[Action]] = [[mapped], [add("a", partition_values={"c2": "5"})], [renamed], [remove("a")]]
    assert to_tuples(compute_all_changes(commits, {"a": [{"c1": 1}]})) == [
        (1, "insert", {"id": 1, "q": 5}),
        (3, "delete", {"id": 1, "q": 5}),
    ]


def test_nested_columns_are_read_by_physical_names() -> None:
    inner = {"type": "struct", "fields": [column("x", "long", "c2")]}
    many = {"type": "array", "elementType": inner, "containsNull": True}
    named = {"type": "map", "keyType": "string", "valueType": inner, "valueContainsNull": True}
    mapped = table(column("s", inner, "c1"), column("many", many, "c3"), column("named", named, "c4"), mapped=True)
    rows = [
        {"c1": {"c2": 1, "c9": 2}, "c3": [{"c2": 3}, None], "c4": {"k": {"c2": 4}}},
        {"c1": None, "c3": None, "c4": [("k", None)]},
    ]
    found = compute_all_changes([[mapped], [add("a")]], {"a": rows})
    assert [each.row for each in found] == [
        {"s": {"x": 1}, "many": [{"x": 3}, None], "named": [("k", {"x": 4})]},
        {"s": None, "many": None, "named": [("k", None)]},
    ]


def test_table_repartitioned_by_an_overwrite() -> None:
    flat, parted = table(column("id"), column("p")), table(column("id"), column("p"), by=("p",))
    commits: list[list[Action]] = [
        [flat, add("a")],
        [parted, remove("a"), add("b", partition_values={"p": "7"})],
    ]
    assert to_tuples(compute_all_changes(commits, {"a": [{"id": 1, "p": 5}], "b": [{"id": 1}]})) == [
        (1, "delete", {"id": 1, "p": 5}),
        (1, "insert", {"id": 1, "p": 7}),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("long", "string"),
        ("long", "integer"),
        ("long", "void"),
        ({"type": "struct", "fields": [column("x", "string")]}, {"type": "struct", "fields": [column("x", "long")]}),
        (
            {"type": "array", "elementType": "string", "containsNull": True},
            {"type": "array", "elementType": "long", "containsNull": True},
        ),
        (
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
            {"type": "map", "keyType": "string", "valueType": "date", "valueContainsNull": True},
        ),
    ],
)
def test_column_of_another_type_makes_changes_unavailable(before: Any, after: Any) -> None:
    commits: list[list[Action]] = [
        [table(column("id", before)), add("a")],
        [add("b")],
        [table(column("id", after)), remove("a"), remove("b")],
    ]
    with pytest.raises(ChangesUnavailable) as refused:
        compute_all_changes(commits, {"a": [], "b": []})
    assert (refused.value.reason, refused.value.versions) == ("schema", (1,))


@pytest.mark.parametrize("after", ["string", "integer", {"type": "struct", "fields": [column("x")]}])
def test_row_deleted_by_the_first_commit_uses_the_previous_schema(after: Any) -> None:
    commits: list[list[Action]] = [[ONE_COLUMN_TABLE, add("a")], [table(column("id", after)), remove("a")]]
    with pytest.raises(ChangesUnavailable) as refused:
        compute_all_changes(commits, {"a": id_rows(1)})
    assert (refused.value.reason, refused.value.versions) == ("schema", (0,))


def test_partition_value_deleted_by_the_first_commit_uses_the_previous_schema() -> None:
    parted = [table(column("id"), column("p", kind), by=("p",)) for kind in ("string", "integer")]
    commits: list[list[Action]] = [[parted[0], add("a", partition_values={"p": "abc"})], [parted[1], remove("a")]]
    with pytest.raises(ChangesUnavailable, match="schema: version 0"):
        compute_all_changes(commits, {"a": id_rows(1)})


def test_previous_schema_is_not_checked_without_deleted_rows() -> None:
    commits: list[list[Action]] = [
        [table(column("id", "string")), add("a")],
        [ONE_COLUMN_TABLE, remove("a")],
        [add("b")],
    ]
    assert to_tuples(compute_all_changes(commits, {"a": id_rows(), "b": id_rows(1)})) == [(2, "insert", {"id": 1})]


@pytest.mark.parametrize("kind", ["integer", "string", {"type": "struct", "fields": [column("x")]}])
def test_void_may_change_to_any_type(kind: Any) -> None:
    before, after = table(column("id"), column("v", "void")), table(column("id"), column("v", kind))
    found = compute_all_changes([[before, add("a")], [after], [remove("a")]], {"a": id_rows(1)}, start=0)
    row = {"id": 1, "v": None}
    assert to_tuples(found) == [(0, "insert", row), (2, "delete", row)]


def test_empty_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="after version"):
        compute_all_changes([[ONE_COLUMN_TABLE]], {}, start=1)


def test_table_with_unknown_feed_has_none() -> None:
    with pytest.raises(ChangesUnavailable, match="feed not enabled: version 0"):
        compute_row_changes({0: [add("a")]}, 0, 0, files=FileContents())


def test_rows_are_equal_by_their_values() -> None:
    nan = float("nan")
    assert build_row_key({"a": nan, "b": [1, None]}) == build_row_key({"b": [1, None], "a": float("nan")})
    assert len({build_row_key({"a": value}) for value in (0.0, -0.0, 0, False, None, "0", [0])}) == 7


def test_net_effect_omits_unchanged_counts() -> None:
    def change(kind: str, number: int) -> RowChange:
        return RowChange(kind, {"id": number}, 1, None)

    found = [change("delete", 1), change("insert", 1), change("update_preimage", 2), change("update_postimage", 3)]
    assert compute_net_effect([*found, change("insert", 3)]) == Counter(
        {build_row_key({"id": 2}): -1, build_row_key({"id": 3}): 2}
    )
