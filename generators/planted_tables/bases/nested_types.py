"""Nested types as in a schema string."""

from typing import Any


def array_type(element: Any) -> dict[str, Any]:
    """Build an array type whose elements are nullable."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_type(key: Any, value: Any) -> dict[str, Any]:
    """Build a map type whose values are nullable."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct_type(*fields: tuple[str, Any] | dict[str, Any]) -> dict[str, Any]:
    """Build a struct type as in a schema string; fields without a dict are nullable."""
    named = [
        each if isinstance(each, dict) else {"name": each[0], "type": each[1], "nullable": True, "metadata": {}}
        for each in fields
    ]
    return {"type": "struct", "fields": named}
