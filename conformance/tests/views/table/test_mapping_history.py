"""Column mapping along a history: changes of known columns, and names that statistics may use."""

from typing import Any

import pyarrow as pa
import pytest

from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.files.misnamed_statistics import find_misnamed_statistics
from deltaspec.views.table.mapping_history import MappingHistory, entry_names, logical_partition_names
from deltaspec_generators.table_files import schema_string
from planted_tables.bases.column_mapping import build_mapped_field

SETTINGS = {"delta.columnMapping.maxColumnId": "9"}


def schema(*fields: Any) -> Struct:
    return parse_schema(schema_string(fields))


def inner(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def last(*schemas: Struct | None, mapping: str = "name", column: str) -> list[Any]:
    """Return a column of `schema_fields` for the last of several schemas."""
    history = MappingHistory()
    rows: list[dict[str, Any]] = []
    for number, each in enumerate(schemas):
        _, rows = history.apply(each, SETTINGS, mapping, is_first=number == 0)
    return [row[column] for row in rows]


FIRST = schema(build_mapped_field("a", 1), build_mapped_field("s", 2, inner(build_mapped_field("x", 3))))


def test_first_schema_has_no_changes() -> None:
    for column in ("physical_name_before", "path_was_reused", "name_was_reused"):
        assert not any(last(FIRST, column=column))


def test_rename_is_not_a_physical_change() -> None:
    renamed = schema(build_mapped_field("z", 1), build_mapped_field("s", 2, inner(build_mapped_field("x", 3))))
    assert last(FIRST, renamed, column="physical_name_before") == [None, None, None]


def test_physical_name_is_compared_with_the_last_version_of_the_column() -> None:
    without = schema(build_mapped_field("s", 2, inner(build_mapped_field("x", 3))))
    back = schema(build_mapped_field("a", 1, physical="other"))
    assert last(FIRST, without, back, column="physical_name_before") == ["col-1"]


def test_field_of_a_changed_struct_keeps_its_physical_name() -> None:
    changed = schema(build_mapped_field("s", 2, inner(build_mapped_field("x", 3)), physical="other"))
    assert last(FIRST, changed, column="physical_name_before") == ["col-2", None]


def test_restored_column_does_not_reuse_a_path() -> None:
    without = schema(build_mapped_field("b", 4))
    assert last(FIRST, without, FIRST, column="path_was_reused") == [False, False, False]


def test_path_of_a_dropped_column_is_reused() -> None:
    without = schema(build_mapped_field("b", 4))
    reused = schema(build_mapped_field("c", 5, physical="col-1"))
    assert last(FIRST, without, reused, column="path_was_reused") == [True]


def test_name_in_another_struct_is_a_reused_name_but_not_a_path() -> None:
    reused = schema(
        build_mapped_field("s", 2, inner(build_mapped_field("x", 3), build_mapped_field("y", 5, physical="col-1")))
    )
    assert last(FIRST, reused, column="path_was_reused") == [False, False, False]
    assert last(FIRST, reused, column="name_was_reused") == [False, False, True]


def test_unparsable_schema_discards_the_history() -> None:
    changed = schema(build_mapped_field("a", 1, physical="other"))
    assert last(FIRST, None, changed, column="physical_name_before") == [None]


def test_disabling_column_mapping_discards_the_history() -> None:
    history = MappingHistory()
    history.apply(FIRST, SETTINGS, "name")
    history.apply(FIRST, {}, None)
    facts, rows = history.apply(schema(build_mapped_field("a", 1, physical="other")), {MAX: "1"}, "name")
    assert rows[0]["physical_name_before"] is None
    assert facts["max_column_id_before"] is None


MAX = "delta.columnMapping.maxColumnId"


def test_highest_earlier_max_column_id_is_reported() -> None:
    history = MappingHistory()
    for highest in ("5", "3"):
        history.apply(FIRST, {MAX: highest}, "id")
    facts, _ = history.apply(FIRST, {MAX: "4"}, "id")
    assert facts["max_column_id_before"] == 5


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        ((("x", "col-x"), ("y", "col-y")), False),
        ((("x", "same"), ("y", "same")), True),
        ((("x", "x"), ("x", "x")), False),
        ((("x", "x"), ("y", "x")), False),
    ],
)
def test_names_from_before_the_mapping_may_be_shared(names: Any, shared: bool) -> None:
    (first, one), (second, other) = names
    both = schema(
        build_mapped_field("s", 1, inner(build_mapped_field(first, 2, physical=one))),
        build_mapped_field("t", 3, inner(build_mapped_field(second, 4, physical=other))),
    )
    assert last(both, column="shares_physical_name")[1::2] == [shared, shared]


# statistics


def find_misnamed_entry(
    text: str, history: MappingHistory, columns: Struct, mapping: str | None = "name"
) -> str | None:
    found = find_misnamed_statistics(pa.array([None, text], pa.string()), entry_names(columns, {}, mapping, history))
    assert found[0] is None
    entry: str | None = found[1]
    return entry


def build_history(*, is_complete: bool) -> MappingHistory:
    """Build a history of `FIRST` that starts with the table or later."""
    history = MappingHistory()
    history.apply(FIRST, SETTINGS, "name", is_first=is_complete)
    return history


@pytest.mark.parametrize("member", ["minValues", "maxValues", "nullCount"])
def test_logical_name_is_misnamed_under_mapping(member: str) -> None:
    assert find_misnamed_entry(f'{{"{member}":{{"a":1}}}}', build_history(is_complete=True), FIRST) == f"{member}.a"


def test_nested_logical_name_is_misnamed() -> None:
    text = '{"minValues":{"col-1":1,"col-2":{"x":1}}}'
    assert find_misnamed_entry(text, build_history(is_complete=True), FIRST) == "minValues.col-2.x"


@pytest.mark.parametrize("text", ['{"minValues":{"col-1":1,"a":1}}', '{"minValues":{"a":1}}'])
def test_incomplete_history_allows_names_of_dropped_columns(text: str) -> None:
    assert find_misnamed_entry(text, build_history(is_complete=False), FIRST) is None
    assert find_misnamed_entry(text, build_history(is_complete=True), FIRST) == "minValues.a"


def test_logical_name_of_a_column_dropped_before_the_mapping_is_allowed() -> None:
    history = MappingHistory()
    history.apply(schema(("x", "long"), ("y", "long")), {}, None, is_first=True)
    history.apply(schema(("y", "long")), {}, None)
    history.apply(schema(build_mapped_field("y", 1, physical="y")), SETTINGS, "name")
    again = schema(build_mapped_field("y", 1, physical="y"), build_mapped_field("x", 2))
    history.apply(again, SETTINGS, "name")
    assert find_misnamed_entry('{"minValues":{"x":1,"y":1}}', history, again) is None


def test_shared_name_from_before_the_mapping_survives_renames() -> None:
    def both(first: str, second: str) -> Struct:
        one, other = build_mapped_field(first, 2, physical="x"), build_mapped_field(second, 4, physical="x")
        return schema(build_mapped_field("s", 1, inner(one)), build_mapped_field("t", 3, inner(other)))

    assert last(both("x", "x"), both("y", "z"), column="shares_physical_name")[1::2] == [False, False]


def test_physical_name_of_a_dropped_column_is_allowed() -> None:
    """`b` is older than the mapping and is dropped; `a`, with the physical name `a`, is then renamed to `b`."""
    before = schema(("a", "long"), ("b", "long"))
    mapped = schema(build_mapped_field("a", 1, physical="a"), build_mapped_field("b", 2, physical="b"))
    renamed = schema(build_mapped_field("b", 1, physical="a"))
    history = MappingHistory()
    for each, mapping in ((before, None), (mapped, "name"), (renamed, "name")):
        history.apply(each, SETTINGS if mapping else {}, mapping, is_first=each is before)
    assert find_misnamed_entry('{"nullCount":{"b":0}}', history, renamed) is None


@pytest.mark.parametrize("text", ['{"minValues":{"col-1":"a"}}', '{"a":1}', "[]", "x", '{"minValues":["a"]}', '"a"'])
def test_name_outside_statistics_entries_is_no_finding(text: str) -> None:
    assert find_misnamed_entry(text, build_history(is_complete=True), FIRST) is None


def test_physical_name_is_misnamed_without_mapping() -> None:
    history = MappingHistory()
    history.apply(FIRST, {}, None)
    assert find_misnamed_entry('{"minValues":{"col-1":1}}', history, FIRST, None) == "minValues.col-1"
    assert find_misnamed_entry('{"minValues":{"a":1,"s":{"x":1}}}', history, FIRST, None) is None


def test_unsupported_mode_disables_the_name_check() -> None:
    history = MappingHistory()
    history.apply(FIRST, {}, None)
    assert entry_names(FIRST, {"delta.columnMapping.mode": "none"}, None, history) is not None
    assert entry_names(FIRST, {"delta.columnMapping.mode": "name"}, None, history) is None


def test_identical_names_disable_the_name_check() -> None:
    same = schema(build_mapped_field("a", 1, physical="a"), ("b", "long"))
    history = MappingHistory()
    history.apply(same, SETTINGS, "name")
    assert entry_names(same, {}, "name", history) is None
    assert entry_names(same, {}, None, history) is None


def test_escaped_names_are_found() -> None:
    columns = schema(build_mapped_field("é", 1))
    history = MappingHistory()
    history.apply(columns, SETTINGS, "name", is_first=True)
    assert find_misnamed_entry('{"minValues":{"é":1}}', history, columns) == "minValues.é"
    assert find_misnamed_entry('{"minValues":{"\\u00e9":1}}', history, columns) == "minValues.é"


def test_logical_partition_name_used_by_another_column_is_excluded() -> None:
    swapped = schema(
        build_mapped_field("p", 1, physical="q"), build_mapped_field("q", 2, physical="p"), build_mapped_field("r", 3)
    )
    assert logical_partition_names(swapped, ["p", "q", "r"], "name") == {"r": "col-3"}
    assert logical_partition_names(swapped, ["p", "q", "r"], None) == {}
