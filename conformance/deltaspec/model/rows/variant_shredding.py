"""Shredded variants: parts in separate columns. Source: Variant Shredding (current), and Parquet's shredding of
variants that it refers to.

A value and each part is a pair of an encoded `value` and a `typed_value`; their contents do not overlap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from deltaspec.model.rows.variant_bounds import VariantBoundError
from deltaspec.model.rows.variant_encoding import FieldNames, VariantError, check_value, read_members
from deltaspec.model.rows.variant_values import Step, find_type_at

FEATURE = "variantShredding"
ENABLED = "delta.enableVariantShredding"


@dataclass(frozen=True)
class Pair:
    """A value of a row, or a part of one."""

    value: bytes | None
    typed: "Typed"


Typed: TypeAlias = str | dict[str, Pair] | list[Pair] | None
"""Content of `typed_value`: nothing; a scalar, by its type; fields of an object; elements of an array."""


def find_encoding_faults(pair: Pair, names: FieldNames) -> Iterator[str]:
    """Yield the errors in the encoded values of a row.

    Raises:
        VariantUndecided: A value may have a newer encoding.
    """
    for each in _pairs(pair):
        if each.value is not None:
            try:
                check_value(each.value, names)
            except VariantError as fault:
                yield str(fault)


def find_values_stored_twice(pair: Pair, names: FieldNames) -> Iterator[str]:
    """Yield the values of a row stored in both a typed column and an encoded value; encoded values must be valid.

    If fields of an object have their own columns, `value` holds an object with its other fields.
    """
    for each in _pairs(pair):
        if each.value is None or each.typed is None:
            continue
        others = read_members(each.value, names)
        if not isinstance(each.typed, dict) or others is None:
            yield "a value"
            continue
        yield from (f"field {name}" for name in sorted(others & each.typed.keys()))


def find_shredded_type(metadata: bytes, pair: Pair, wanted: tuple[Step, ...]) -> str | None:
    """Return the type at a path as `variant_values.find_type_at` names it; None if missing or null.

    Raises:
        VariantBoundError: Metadata or a value is invalid.
    """
    for depth, step in enumerate(wanted):
        part = _part(pair, step)
        if part is None:
            return None if pair.value is None else find_type_at(metadata, pair.value, wanted[depth:])
        pair = part
    match pair.typed:
        case None:
            return None if pair.value is None else find_type_at(metadata, pair.value, ())
        case dict():
            return "object"
        case list():
            return "array"
        case str(kind):
            return kind
    raise VariantBoundError("has an unknown form")


def _part(pair: Pair, step: Step) -> Pair | None:
    """Return the part of a value with its own columns; None if it is missing or in the encoded value."""
    if isinstance(pair.typed, dict) and isinstance(step, str):
        return pair.typed.get(step)
    if isinstance(pair.typed, list) and isinstance(step, int) and step < len(pair.typed):
        return pair.typed[step]
    return None


def _pairs(pair: Pair) -> Iterator[Pair]:
    """Yield a value and all its parts."""
    waiting = [pair]
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each.typed, dict):
            waiting += each.typed.values()
        elif isinstance(each.typed, list):
            waiting += each.typed
