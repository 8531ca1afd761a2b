"""Spell the columns of written tables."""

from collections.abc import Sequence
from typing import Any

from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.table_files import schema_string


def array(element: Any, *, contains_null: bool = True) -> dict[str, Any]:
    """Return the type of an array."""
    return {"type": "array", "elementType": element, "containsNull": contains_null}


def map_of(key: Any, value: Any, *, contains_null: bool = True) -> dict[str, Any]:
    """Return the type of a map."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": contains_null}


def struct(*fields: Any) -> dict[str, Any]:
    """Return the type of a struct with fields as in `parse_columns`."""
    return {"type": "struct", "fields": [_build_field(each) for each in fields]}


def required(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    """Return a field that is not nullable."""
    return {"name": name, "type": kind, "nullable": False, "metadata": metadata}


def column(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    """Return a nullable field with metadata."""
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _build_field(field: Any) -> dict[str, Any]:
    return column(*field) if isinstance(field, tuple) else field


def parse_columns(columns: Sequence[Any]) -> Struct:
    """Build a schema from pairs of name and type, or fields as JSON objects. Types are spelled as in schemas."""
    return parse_schema(schema_string([_build_field(each) for each in columns]))


def rename_to_physical(value: Any, data_type: DataType, mapping: str | None) -> Any:
    """Rename the logical field names of a plain value to physical ones, at every depth."""
    if value is None:
        return None
    match data_type:
        case Struct(fields):
            return {
                column_mapping.physical_name(each, mapping): rename_to_physical(
                    value.get(each.name), each.type, mapping
                )
                for each in fields
            }
        case Array(element):
            return [rename_to_physical(each, element, mapping) for each in value]
        case Map(key, item):
            return [
                (rename_to_physical(left, key, mapping), rename_to_physical(right, item, mapping))
                for left, right in value
            ]
    return value
