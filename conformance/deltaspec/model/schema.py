"""The schema string of a table, read and written. Source: Schema Serialization Format.

Readings: `decimal` alone is (10,0) (E24); a type object `{"type": "variant"}` stands for its name (E17); a field
without `metadata` is tolerated (S38).
"""

import json
import re
from typing import Any

from deltaspec.model.data_types import (
    MAX_PRECISION,
    PRIMITIVES,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Proposed,
    Struct,
    name_of,
)
from deltaspec.model.json_values import JsonError, Number, parse_lossless

_DECIMAL = re.compile(r"decimal\(\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*\)")
_PROPOSED = re.compile(
    r"(interval( .*)?|timestamp_nanos|timestamp_ntz_nanos|geometry(\(.*\))?|geography(\(.*\))?|string collate .*"
    r"|char\(\d+\)|varchar\(\d+\)|object)"
)
KINDS = ("not JSON", "not a struct", "malformed", "unknown type", "decimal out of range")


class SchemaError(ValueError):
    """A schema string that is not of the documented form."""

    def __init__(self, kind: str, pointer: str, what: str) -> None:
        super().__init__(f"{pointer or 'schema'}: {what}")
        self.kind = kind
        """One of `KINDS`."""
        self.pointer = pointer
        self.what = what


def parse_schema(schema_string: str) -> Struct:
    """The struct that a schema string describes.

    Raises:
        SchemaError: it is not JSON (also if nested more than 200 levels deep) or not a schema; names the first fault.
    """
    try:
        document = parse_lossless(schema_string).value
    except JsonError as fault:
        raise SchemaError("not JSON", "", str(fault)) from fault
    if not isinstance(document, dict) or document.get("type") != "struct":
        raise SchemaError("not a struct", "", "a schema is an object of type struct")
    return _struct(document, "")


def _struct(value: dict[str, Any], at: str) -> Struct:
    fields = _member(value, "fields", list, at)
    return Struct(tuple(_field(each, f"{at}/fields/{index}") for index, each in enumerate(fields)))


def _field(value: Any, at: str) -> Field:
    if not isinstance(value, dict):
        raise SchemaError("malformed", at, "a field is an object")
    metadata = value.get("metadata", {})
    if not isinstance(metadata, dict):
        raise SchemaError("malformed", f"{at}/metadata", "metadata is an object")
    name = _member(value, "name", str, at)
    kind = _type(_member(value, "type", (str, dict), at), f"{at}/type")
    return Field(name, kind, _member(value, "nullable", bool, at), metadata)


def _type(value: Any, at: str) -> DataType:
    if isinstance(value, Number):
        raise SchemaError("malformed", at, "a type is a name or an object")
    if isinstance(value, str):
        return _named(value, at)
    match value.get("type"):
        case "struct":
            return _struct(value, at)
        case "array":
            element = _type(_member(value, "elementType", (str, dict), at), f"{at}/elementType")
            return Array(element, _member(value, "containsNull", bool, at))
        case "map":
            key = _type(_member(value, "keyType", (str, dict), at), f"{at}/keyType")
            item = _type(_member(value, "valueType", (str, dict), at), f"{at}/valueType")
            return Map(key, item, _member(value, "valueContainsNull", bool, at))
        case str(name) if not isinstance(name, Number):
            return _named(name, f"{at}/type")
    raise SchemaError("malformed", at, "a type object has a type that is a name")


def _named(name: str, at: str) -> DataType:
    if name in PRIMITIVES:
        return Primitive(name)
    if name == "decimal":
        return Decimal(10, 0)
    if match := _DECIMAL.fullmatch(name):
        precision, scale = int(match[1]), int(match[2])
        if not (1 <= precision <= MAX_PRECISION and 0 <= scale <= precision):
            raise SchemaError("decimal out of range", at, f"{name} is not within 38 digits")
        return Decimal(precision, scale)
    if _PROPOSED.fullmatch(name):
        return Proposed(name)
    raise SchemaError("unknown type", at, f"{name[:80]!r} is no type")


def _member(value: dict[str, Any], key: str, kind: Any, at: str) -> Any:
    if key not in value:
        raise SchemaError("malformed", at, f"{key} is missing")
    member = value[key]
    if not isinstance(member, kind) or isinstance(member, Number):
        raise SchemaError("malformed", f"{at}/{key}", f"{key} has the wrong type")
    return member


def serialize(schema: Struct) -> str:
    """The schema string of a struct, without superfluous space."""
    return json.dumps(to_json(schema), separators=(",", ":"), ensure_ascii=False)


def to_json(kind: DataType) -> Any:
    """A type as JSON values."""
    match kind:
        case Struct(fields):
            return {
                "type": "struct",
                "fields": [
                    {"name": f.name, "type": to_json(f.type), "nullable": f.nullable, "metadata": _numbers(f.metadata)}
                    for f in fields
                ],
            }
        case Array(element, contains_null):
            return {"type": "array", "elementType": to_json(element), "containsNull": contains_null}
        case Map(key, value, value_contains_null):
            return {
                "type": "map",
                "keyType": to_json(key),
                "valueType": to_json(value),
                "valueContainsNull": value_contains_null,
            }
    return name_of(kind)


def _numbers(value: Any) -> Any:
    """Metadata with numbers as Python numbers again."""
    if isinstance(value, Number):
        return int(value) if value.is_integer else float(value)
    if isinstance(value, dict):
        return {key: _numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_numbers(member) for member in value]
    return value


def tree(schema: Struct) -> str:
    """The schema as an indented tree, one line a node. Source: Schema Serialization Format, Example."""
    return "\n".join(_tree_lines(schema, ""))


def _tree_lines(kind: DataType, indent: str) -> list[str]:
    lines: list[str] = []
    match kind:
        case Struct(fields):
            for member in fields:
                nullable = str(member.nullable).lower()
                lines.append(f"{indent}|-- {member.name}: {name_of(member.type)} (nullable = {nullable})")
                lines += _tree_lines(member.type, indent + "|    ")
        case Array(element, contains_null):
            lines.append(f"{indent}|-- element: {name_of(element)} (containsNull = {str(contains_null).lower()})")
            lines += _tree_lines(element, indent + "|    ")
        case Map(key, value, value_contains_null):
            lines.append(f"{indent}|-- key: {name_of(key)}")
            lines += _tree_lines(key, indent + "|    ")
            has_null = str(value_contains_null).lower()
            lines.append(f"{indent}|-- value: {name_of(value)} (valueContainsNull = {has_null})")
            lines += _tree_lines(value, indent + "|    ")
    return lines


def repeated_names(kind: DataType, path: tuple[str, ...] = ()) -> list[str]:
    """Paths of fields whose name equals that of an earlier sibling but for case (a MUST since current, S34)."""
    found: list[str] = []
    match kind:
        case Struct(fields):
            seen: set[str] = set()
            for member in fields:
                here = (*path, member.name)
                if member.name.lower() in seen:
                    found.append(".".join(here))
                seen.add(member.name.lower())
                found += repeated_names(member.type, here)
        case Array(element):
            found += repeated_names(element, (*path, "element"))
        case Map(key, value):
            found += repeated_names(key, (*path, "key")) + repeated_names(value, (*path, "value"))
    return found
