"""Faults in comparing values that are equal and differ in their bits or texts, or the other way round."""

import json
import math
import struct
import unicodedata
from collections.abc import Mapping
from decimal import Decimal as Exact
from typing import Any

import msgspec

from deltaspec.candidates.reference.engine import Engine
from deltaspec.candidates.reference.log_reader import LoadedTable
from deltaspec.model.rows.predicates import Compare, In, NullSafeEqual, Operator, Predicate, get_value
from deltaspec.protocol.actions import Add
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Decimal
from deltaspec.selftest.mutants import Method, mutant
from deltaspec.selftest.readers.statistics import SKIPPING, Body, change_leaves, skip_with
from deltaspec.suites.predicates import order_zeros

Row = Mapping[str, Any]


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def zeros_ordered_in_bounds(original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable) -> bool:
    """Skips a file whose bounds are -0.0 for 0.0, which equals it."""

    def order(stats: Body) -> None:
        stats |= {side: change_leaves(stats[side], order_zeros) for side in ("minValues", "maxValues") if side in stats}

    return skip_with(original, engine, order_zeros(condition), add, state, order)


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def zeros_ordered_in_partition_values(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Skips a partition of -0.0 for 0.0, which equals it."""
    if not isinstance(condition, Compare | NullSafeEqual | In) or condition.column[0] not in state.partition_columns:
        return bool(original(engine, condition, add, state))
    smallest = repr(order_zeros(-0.0))
    values = {name: smallest if text == "-0.0" else text for name, text in (add.partition_values or {}).items()}
    changed = msgspec.structs.replace(add, partition_values=values)
    return bool(original(engine, order_zeros(condition), changed, state))


@mutant(Engine.skips, SKIPPING, suites=("predicates",))
def bounds_of_decimals_need_all_digits(
    original: Method, engine: Engine, condition: Any, add: Add, state: LoadedTable
) -> bool:
    """Takes the digits of a decimal bound for its unscaled value, so that `1.5` with two places is read as 0.15."""
    scales = {
        physical_name(each, state.mapping): each.type.scale
        for each in state.schema.fields
        if isinstance(each.type, Decimal)
    }
    exact = json.loads(add.stats or "{}", parse_float=Exact)

    def misread(stats: Body) -> None:
        for side in ("minValues", "maxValues"):
            for name, scale in scales.items():
                value = (exact.get(side) or {}).get(name)
                if isinstance(value, int | Exact):
                    digits = -int(Exact(value).as_tuple().exponent)
                    stats[side][name] = float(Exact(value).scaleb(min(digits - scale, 0)))

    return skip_with(original, engine, condition, add, state, misread)


@mutant(Engine.matches, SKIPPING, suites=("predicates",))
def lists_compared_bit_by_bit(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Looks up the bytes of a number in the list of IN, so that -0.0 is not found in a list with 0.0."""
    if isinstance(condition, In):
        value = get_value(row, condition.column)
        if isinstance(value, float):
            return _pack(value) in {_pack(each) for each in condition.literals if each is not None}
    return bool(original(engine, condition, row))


def _pack(number: float) -> bytes:
    return struct.pack("<d", number)


@mutant(Engine.matches, SKIPPING, suites=("predicates",))
def null_safe_comparison_bit_by_bit(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Compares numbers bit by bit for null-safe equality."""
    if isinstance(condition, NullSafeEqual) and isinstance(condition.literal, float):
        value = get_value(row, condition.column)
        return isinstance(value, float) and _pack(value) == _pack(condition.literal)
    return bool(original(engine, condition, row))


@mutant(Engine.matches, SKIPPING, suites=("predicates",))
def negative_nan_taken_for_smallest(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Orders numbers by their bits, so that a NaN with a sign is less than every number."""
    if isinstance(condition, Compare) and condition.operator in (Operator.LESS, Operator.AT_MOST):
        value = get_value(row, condition.column)
        if isinstance(value, float) and math.isnan(value) and math.copysign(1, value) < 0:
            return condition.literal is not None
    return bool(original(engine, condition, row))


@mutant(Engine.matches, SKIPPING, suites=("predicates",))
def normal_forms_equal(original: Method, engine: Engine, condition: Predicate, row: Row) -> bool:
    """Compares strings in their composed form."""
    if isinstance(condition, Compare) and condition.operator is Operator.EQUAL and isinstance(condition.literal, str):
        value = get_value(row, condition.column)
        if isinstance(value, str):
            return unicodedata.normalize("NFC", value) == unicodedata.normalize("NFC", condition.literal)
    return bool(original(engine, condition, row))
