"""Shredded variants: parts in separate columns. Source: Variant Shredding (current), and Parquet's shredding of
variants that it refers to.

A value and each part is a pair of an encoded `value` and a `typed_value`; their contents do not overlap.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from deltaspec.protocol.variants.encoding import (
    FieldNames,
    VariantError,
    check_value,
    is_array,
    is_object,
    read_members,
    read_value,
)
from deltaspec.protocol.variants.values import STRING, Scalar, Value

FEATURE = "variantShredding"


class Shape(msgspec.Struct, frozen=True):
    """What the `typed_value` of a column can store."""

    form: Literal["nothing", "scalar", "object", "array"] = "nothing"
    names: frozenset[str] = frozenset()
    """Fields of an object that have their own columns."""


UNTYPED = Shape()


class Pair(msgspec.Struct, frozen=True):
    """A value of a row, or a part of one."""

    value: bytes | None
    typed: "Typed"
    shape: Shape = UNTYPED

    @property
    def is_missing(self) -> bool:
        """Whether neither half is set."""
        return self.value is None and self.typed is None


Typed: TypeAlias = Scalar | dict[str, Pair] | list[Pair] | None
"""Content of `typed_value`: nothing; a scalar; the fields of an object, which may be missing; elements of an array."""


class Part(msgspec.Struct, frozen=True):
    """A pair, and what it is in its row."""

    pair: Pair
    name: str
    """As in messages: `the value`, `field a` or `an element`."""
    is_field: bool
    """Whether it is a field of an object, which may be missing."""


def find_encoding_faults(pair: Pair, names: FieldNames) -> Iterator[str]:
    """Yield the errors in the encoded values and the strings of a row.

    Raises:
        VariantUndecided: A value may have a newer encoding.
    """
    for each in _iter_parts(pair):
        if each.pair.value is not None:
            try:
                check_value(each.pair.value, names)
            except VariantError as fault:
                yield str(fault)
        match each.pair.typed:
            case Scalar(kind, bytes(text)) if kind == STRING and not _is_utf8(text):
                yield "a string in a typed column is not UTF-8"


def _find_values_stored_twice(part: Part, names: FieldNames) -> Iterator[str]:
    """If fields of an object have their own columns, `value` holds an object with its other fields."""
    pair = part.pair
    if pair.value is None or pair.typed is None:
        return
    others = read_members(pair.value, names)
    if not isinstance(pair.typed, dict) or others is None:
        yield part.name
        return
    yield from (f"field {name}" for name in sorted(others & (pair.shape.names | pair.typed.keys())))


def _find_encoded_objects(part: Part, _: FieldNames) -> Iterator[str]:
    pair = part.pair
    if pair.shape.form == "object" and pair.typed is None and pair.value is not None and is_object(pair.value):
        yield f"{part.name} is an object, and typed_value is null"


def _find_encoded_arrays(part: Part, _: FieldNames) -> Iterator[str]:
    pair = part.pair
    if pair.shape.form == "array" and pair.typed is None and pair.value is not None and is_array(pair.value):
        yield f"{part.name} is an array, and typed_value is null"


def _find_missing_values(part: Part, _: FieldNames) -> Iterator[str]:
    if part.pair.is_missing and not part.is_field:
        yield f"value and typed_value of {part.name} are null"


def _find_unnamed_fields(part: Part, names: FieldNames) -> Iterator[str]:
    if isinstance(part.pair.typed, dict):
        for name, field in part.pair.typed.items():
            if not field.is_missing and name not in names.known:
                yield f"field {name} is not in the metadata"


Check: TypeAlias = Callable[[Part, FieldNames], Iterator[str]]
STORED_ONCE = "variant-shredding.stored-once"
CHECKS: Mapping[str, Check] = {
    STORED_ONCE: _find_values_stored_twice,
    "variant-shredding.objects-typed": _find_encoded_objects,
    "variant-shredding.arrays-typed": _find_encoded_arrays,
    "variant-shredding.present": _find_missing_values,
    "variant-shredding.names-in-metadata": _find_unnamed_fields,
}
"""What rows can break, by requirement."""


def find_shredding_faults(pair: Pair, names: FieldNames) -> Iterator[tuple[str, str]]:
    """Yield the requirement and a description of each fault in a row whose encoded values are valid."""
    for part in _iter_parts(pair):
        for requirement, check in CHECKS.items():
            for fault in check(part, names):
                yield requirement, fault


def read_shredded_value(pair: Pair, names: FieldNames) -> Value | None:
    """Return the value that the columns of a row store together; None if it is missing.

    Raises:
        VariantError: The columns contradict each other.
        VariantUndecided: The value is nested too deeply.
    """
    encoded = None if pair.value is None else read_value(pair.value, names)
    match pair.typed:
        case None:
            return encoded
        case dict() if encoded is None or isinstance(encoded, dict):
            fields = {name: read_shredded_value(each, names) for name, each in pair.typed.items()}
            others = encoded or {}
            if not others.keys().isdisjoint(pair.shape.names | fields.keys()):
                raise VariantError("a field is stored in a column and in the encoded value")
            return others | {name: each for name, each in fields.items() if each is not None}
        case list() if encoded is None:
            elements = [read_shredded_value(each, names) for each in pair.typed]
            if None in elements:
                raise VariantError("an element is missing")
            return [each for each in elements if each is not None]
        case Scalar() if encoded is None:
            return pair.typed
    raise VariantError("value and typed_value are both set")


def _iter_parts(pair: Pair) -> Iterator[Part]:
    """Yield a value and all its parts."""
    waiting = [Part(pair, "the value", is_field=False)]
    while waiting:
        each = waiting.pop()
        yield each
        match each.pair.typed:
            case dict(fields):
                waiting += [Part(field, f"field {name}", is_field=True) for name, field in fields.items()]
            case list(elements):
                waiting += [Part(element, "an element", is_field=False) for element in elements]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
