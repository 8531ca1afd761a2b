"""Columns that have a default too early."""

import json
from typing import Any

import pytest

from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.known_columns import collect_columns, find_illegal_defaults, merge_columns


def column(name: str, default: Any = None, number: int | None = None, kind: Any = "long") -> dict[str, Any]:
    optional_metadata = {"CURRENT_DEFAULT": default, "delta.columnMapping.id": number}
    metadata = {key: value for key, value in optional_metadata.items() if value is not None}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*columns: dict[str, Any]) -> Struct:
    return parse_schema(json.dumps({"type": "struct", "fields": list(columns)}))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ([column("a")], [column("a", "7")], []),
        ([column("a", "7")], [column("a", "8")], []),
        ([column("a")], [column("a"), column("b")], []),
        ([column("a")], [column("a"), column("b", "7")], [("b",)]),
        ([column("a", "7")], [column("b", "7")], [("b",)]),
    ],
)
def test_new_column_with_a_default_is_illegal(
    before: list[Any], after: list[Any], found: list[tuple[str, ...]]
) -> None:
    assert find_illegal_defaults(collect_columns(struct(*before), None), struct(*after), None) == found


def test_new_struct_field_with_a_default_is_illegal() -> None:
    def nested(*columns: dict[str, Any]) -> Struct:
        element = {"type": "struct", "fields": list(columns)}
        return struct(column("l", kind={"type": "array", "elementType": element, "containsNull": True}))

    known = collect_columns(nested(column("x")), None)
    assert find_illegal_defaults(known, nested(column("x", "1"), column("y", "2")), None) == [("l", "element", "y")]


def test_mapped_column_is_identified_by_id() -> None:
    known = collect_columns(struct(column("a", number=1), column("b", number=2)), "name")
    renamed = struct(column("a", number=1), column("c", "7", number=2))
    replaced = struct(column("a", number=1), column("b", "7", number=3))
    assert find_illegal_defaults(known, renamed, "name") == []
    assert find_illegal_defaults(known, replaced, "name") == [("b",)]


def test_columns_are_identified_by_name_when_mapping_changes() -> None:
    plain, mapped = struct(column("a")), struct(column("a", "7", number=1))
    assert find_illegal_defaults(collect_columns(plain, None), mapped, "name") == []
    assert find_illegal_defaults(collect_columns(mapped, "name"), mapped, None) == []


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 3)], ids=["ids that were given before", "other ids"])
def test_ids_of_an_earlier_mapping_are_ignored(first: int, second: int) -> None:
    """Mapping was on, then off while a column was added and got its default, then on again."""
    known = collect_columns(struct(column("a", number=1)), "name")
    known = merge_columns(known, collect_columns(struct(column("a"), column("d")), None))
    known = merge_columns(known, collect_columns(struct(column("a"), column("d", "1")), None))
    again = struct(column("a", number=first), column("d", "1", number=second))
    assert find_illegal_defaults(known, again, "name") == []
    assert find_illegal_defaults(known, struct(column("e", "1", number=1)), "name") == [("e",)]
    later = merge_columns(known, collect_columns(again, "name"))
    assert find_illegal_defaults(
        later, struct(column("b", "1", number=second), column("e", "1", number=9)), "name"
    ) == [("e",)]


def test_restored_column_is_not_new() -> None:
    first, second = struct(column("a"), column("b")), struct(column("a"))
    known = merge_columns(merge_columns(None, collect_columns(first, None)), collect_columns(second, None))
    assert find_illegal_defaults(known, struct(column("a"), column("b", "7")), None) == []
    assert find_illegal_defaults(collect_columns(second, None), struct(column("a"), column("b", "7")), None) == [("b",)]
