"""Data types of a table schema. Source: Schema Serialization Format, Primitive Types."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

PRIMITIVES = {
    "string": None,
    "long": None,
    "integer": None,
    "short": None,
    "byte": None,
    "float": None,
    "double": None,
    "boolean": None,
    "binary": None,
    "date": None,
    "timestamp": None,
    "timestamp_ntz": "timestampNtz",
    "void": None,
    "variant": "variantType",
}
"""Primitive type names to the table feature that a column of the type needs (E23: no revision lists `timestamp_ntz`).
"""

MAX_PRECISION = 38


class Primitive(msgspec.Struct, frozen=True):
    name: str


class Decimal(msgspec.Struct, frozen=True):
    precision: int
    scale: int


class UndefinedType(msgspec.Struct, frozen=True):
    """A type of a proposal or a vendor that the protocol does not define."""

    name: str
    stored: "DataType | None" = None
    """For a well-formed user-defined type: type of the stored values (`sqlType`)."""


class Array(msgspec.Struct, frozen=True):
    element: "DataType"
    contains_null: bool


class Map(msgspec.Struct, frozen=True):
    key: "DataType"
    value: "DataType"
    value_contains_null: bool


class Field(msgspec.Struct, frozen=True, eq=False):
    """A field of a struct. Its metadata does not count when fields are compared."""

    name: str
    type: "DataType"
    nullable: bool
    metadata: dict[str, Any] = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Field):
            return NotImplemented
        return (self.name, self.type, self.nullable) == (other.name, other.type, other.nullable)

    def __hash__(self) -> int:
        return hash((self.name, self.type, self.nullable))


class Struct(msgspec.Struct, frozen=True):
    fields: tuple[Field, ...]


DataType: TypeAlias = Primitive | Decimal | UndefinedType | Array | Map | Struct


def get_type_name(kind: DataType) -> str:
    """Return the name of a type as schemas spell it; `struct`, `array` or `map` for nested types."""
    match kind:
        case Primitive(name) | UndefinedType(name):
            return name
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
    return type(kind).__name__.lower()


def iter_fields(kind: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Yield every struct field at every depth with its path.

    Paths name array elements `element`, map keys `key` and map values `value`. Source: Column Mapping.
    """
    match kind:
        case Struct(fields):
            for member in fields:
                here = (*path, member.name)
                yield here, member
                yield from iter_fields(member.type, here)
        case Array(element):
            yield from iter_fields(element, (*path, "element"))
        case Map(key, value):
            yield from iter_fields(key, (*path, "key"))
            yield from iter_fields(value, (*path, "value"))


def descend(kind: DataType, steps: Iterable[str]) -> tuple[DataType, str | None]:
    """Follow steps such as `element`, `key` and `value` into arrays and maps.

    Returns:
        The last type that was reached, and the first step that it does not have; None if it has all.
    """
    for step in steps:
        match kind, step:
            case Array(element), "element":
                kind = element
            case Map(key, _), "key":
                kind = key
            case Map(_, value), "value":
                kind = value
            case _:
                return kind, step
    return kind, None


def iter_leaf_types(kind: DataType) -> Iterator[DataType]:
    """Yield every type that is not nested, at every depth."""
    match kind:
        case Struct(fields):
            for member in fields:
                yield from iter_leaf_types(member.type)
        case Array(element):
            yield from iter_leaf_types(element)
        case Map(key, value):
            yield from iter_leaf_types(key)
            yield from iter_leaf_types(value)
        case _:
            yield kind


INTEGER_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""Width of each integer type, the narrowest first."""
_WIDER_FRACTIONS = {("float", "double"), ("byte", "double"), ("short", "double"), ("integer", "double")}


def is_widening(before: DataType, after: DataType) -> bool:
    """Return whether type widening may change `before` to `after`; neither type is nested.

    Source: Type Widening, Supported Type Changes (current).
    """
    match before, after:
        case Primitive(old), Primitive(new) if old in INTEGER_BITS and new in INTEGER_BITS:
            return INTEGER_BITS[old] < INTEGER_BITS[new]
        case Primitive("date"), Primitive("timestamp_ntz"):
            return True
        case Primitive(old), Primitive(new):
            return (old, new) in _WIDER_FRACTIONS
        case Decimal(precision, scale), Decimal() if before != after:
            return after.precision - precision >= after.scale - scale >= 0
        case Primitive("byte" | "short" | "integer"), Decimal(precision, scale):
            return precision - 10 >= scale
        case Primitive("long"), Decimal(precision, scale):
            return precision - 20 >= scale
    return False
