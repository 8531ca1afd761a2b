"""Conditions of read specs, with the rows and the skippable files that follow from them.

A condition is `COLUMN SIGN LITERAL`, `COLUMN IS NULL` or `COLUMN IS NOT NULL` over a top-level column. Rows are
selected here with plain Python, and files with the bounds in their statistics, so that no code under test has a part
in the expected answers.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal as Exact
from typing import Any

import msgspec

from deltaspec.protocol.files.partition_values import serialize_partition_value
from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, Field, Primitive, get_type_name
from deltaspec.protocol.time_units import DAY_US
from deltaspec_generators.tables.readable import ExpectedVersion

_TYPED = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ"}
_COMPARED = (*INTEGER_BITS, "double", "string", "boolean", *_TYPED)
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
_PLAIN_NAME = re.compile("[a-z_][a-z0-9_]*")
_SPELLABLE_US = (-(10**15), 4 * 10**15)
"""Timestamps and dates that every SQL can spell, in microseconds: from 1938 to 2096."""
MOST_COLUMNS = 2


class Condition(msgspec.Struct, frozen=True):
    """A condition on one column."""

    column: str
    sign: str
    """`=`, `<`, `>`, `<=`, `>=`, `is null` or `is not null`."""
    literal: Any = None

    def selects(self, row: Mapping[str, Any]) -> bool:
        """Return whether the condition is true for a row."""
        value = row[self.column]
        if self.sign.startswith("is"):
            return (value is None) == (self.sign == "is null")
        return value is not None and _TESTS[self.sign](value, self.literal)


def list_conditions(version: ExpectedVersion) -> list[Condition]:
    """List conditions that follow from the rows: on two columns, the partition columns first.

    For each the smallest value, values above the middle one, and nulls.
    """
    found: list[Condition] = []
    columns = sorted(version.schema.fields, key=lambda each: each.name not in version.partition_columns)
    for field in [each for each in columns if _is_comparable(each, version)][:MOST_COLUMNS]:
        values = sorted({row[field.name] for row in version.plain_rows} - {None})
        found.append(Condition(field.name, "=", values[0]))
        if field.type != Primitive("boolean"):
            found.append(Condition(field.name, ">", values[len(values) // 2]))
        found.append(Condition(field.name, "is null"))
    return found


def _is_comparable(field: Field, version: ExpectedVersion) -> bool:
    """Return whether every engine gives the same order to the values of a column, and SQL can spell them."""
    name = get_type_name(field.type)
    if (name not in _COMPARED and not isinstance(field.type, Decimal)) or not _PLAIN_NAME.fullmatch(field.name):
        return False
    values = [row[field.name] for row in version.plain_rows if row[field.name] is not None]
    return bool(values) and all(_is_spellable(each, name) for each in values)


def _is_spellable(value: Any, name: str) -> bool:
    match name:
        case "double":
            return 1e-3 < abs(float(value)) < 1e6
        case "string":
            return bool(re.fullmatch("[A-Za-z0-9 _.,:/-]*", value))
        case "date":
            return bool(_SPELLABLE_US[0] < value * DAY_US < _SPELLABLE_US[1])
        case "timestamp" | "timestamp_ntz":
            return bool(_SPELLABLE_US[0] < value < _SPELLABLE_US[1])
    return True


def build_sql(condition: Condition, data_type: DataType) -> str:
    """Write a condition as SQL that the parsers of Spark, delta-kernel-rs and DataFusion understand."""
    if condition.sign.startswith("is"):
        return f"{condition.column} {condition.sign.upper()}"
    return f"{condition.column} {condition.sign} {_spell(condition.literal, data_type)}"


def _spell(value: Any, data_type: DataType) -> str:
    name = get_type_name(data_type)
    text = value if isinstance(value, str) else serialize_partition_value(value, data_type) or ""
    if name in _TYPED:
        return f"{_TYPED[name]} '{text}'"
    return f"'{text}'" if name == "string" else text.upper() if name == "boolean" else text


def count_skippable_files(condition: Condition, version: ExpectedVersion, physical_name: str) -> int:
    """Count the live files without a selected row, by partition values and by bounds of integers and strings."""
    kind = next(each.type for each in version.schema.fields if each.name == condition.column)
    is_partition = condition.column in version.partition_columns
    skipped = 0
    for add in version.state.live.values():
        if is_partition:
            values = _find_partition_value(add, physical_name, kind)
        else:
            values = _read_bounds(add.get("stats"), physical_name, kind)
        skipped += values is not None and not _may_select(condition, *values)
    return skipped


def _find_partition_value(add: Mapping[str, Any], name: str, data_type: DataType) -> tuple[Any, Any, bool, bool] | None:
    text = add["partitionValues"].get(name)
    if get_type_name(data_type) == "string" or not text:
        return text or None, text or None, not text, not text
    return (int(text), int(text), False, False) if get_type_name(data_type) in INTEGER_BITS else None


def _read_bounds(stats: str | None, name: str, data_type: DataType) -> tuple[Any, Any, bool, bool] | None:
    """Return minimum, maximum, whether there may be nulls, and whether all values are null; None if unknown."""
    try:
        found = json.loads(stats or "null", parse_float=Exact)
        low, high = found["minValues"].get(name), found["maxValues"].get(name)
        nulls, rows = found["nullCount"][name], found["numRecords"]
    except (ValueError, KeyError, TypeError):
        return None
    kinds = str if get_type_name(data_type) == "string" else int
    is_valid = all(isinstance(each, int) for each in (nulls, rows))
    is_valid &= all(each is None or isinstance(each, kinds) for each in (low, high))
    if get_type_name(data_type) not in (*INTEGER_BITS, "string") or not is_valid:
        return None
    return low, high, nulls > 0, nulls == rows


def _may_select(condition: Condition, low: Any, high: Any, has_null: bool, all_null: bool) -> bool:
    """Return whether a file with these bounds may have a selected row."""
    match condition.sign:
        case "is null":
            return has_null
        case "is not null":
            return not all_null
    if all_null:
        return False
    if low is None or high is None:
        return True
    literal = condition.literal
    # a maximum may be a prefix of the largest text
    is_below_high = bool(high >= literal) or (isinstance(high, str) and str(literal).startswith(high))
    match condition.sign:
        case "=":
            return bool(low <= literal) and is_below_high
        case "<":
            return bool(low < literal)
        case "<=":
            return bool(low <= literal)
        case ">":
            return is_below_high and (isinstance(high, str) or high != literal)
    return is_below_high


def iter_selected(condition: Condition, rows: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """Yield the positions of the selected rows."""
    return (index for index, row in enumerate(rows) if condition.selects(row))
