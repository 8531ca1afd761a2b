"""Compare the rows of an answer with the expected rows.

Rows are a bag: their order has no meaning. An answer may use another Arrow type if it represents exactly the same
values (`normalize`); everything else is a difference. NaN equals NaN, -0.0 differs from 0.0, and maps are sets of
entries.
Source: candidate protocol, version 1, "Comparing rows".
"""

import itertools
import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.protocol.variants import encoding, values

Value: TypeAlias = Any
"""A hashable value: two are equal if and only if the protocol's values are equal."""
SHOWN_ROWS = 5
MOST_SURPLUS_ROWS, MOST_SURPLUS_BYTES = 10_000, 16 * 1024 * 1024
"""An answer that is larger than expected by more than this is not compared: rows become Python objects."""
_DIFFERS, _MOVED = "  differs: ", "values in other rows"
NULL_FOR_VALUE, VALUE_FOR_NULL, OTHER_VALUE = "null for a value", "value for null", "other value"
_UTC = ("UTC", "Etc/UTC", "Z", "+00:00", "GMT", "Etc/GMT", "Zulu", "UCT", "Etc/UCT")


class WrongType(ValueError):
    """A column of an answer cannot represent the values of its Delta type.

    Args:
        text: what differs, with the names of columns.
        kind: the same in words without names of columns.
    """

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


class RowDifference(msgspec.Struct, frozen=True):
    """Rows that differ between answer and expectation."""

    columns: tuple[str, ...]
    missing: tuple[str, ...]
    """Expected rows that are missing from the answer, as text; at most `SHOWN_ROWS`."""
    extra: tuple[str, ...]
    """Rows of the answer that are not expected."""
    kinds: tuple[str, ...]
    """How the rows differ, in words without names, values and numbers."""
    missing_count: int
    extra_count: int
    expected_count: int
    actual_count: int
    is_compared: bool = True
    """False if the answer is too large to compare."""
    schema: pa.Schema | None = None
    """Columns of the rows that differ, if they were compared."""
    missing_rows: Counter[Value] = msgspec.field(default_factory=Counter)
    """All missing rows, as `list_rows` represents them."""
    extra_rows: Counter[Value] = msgspec.field(default_factory=Counter)

    def __str__(self) -> str:
        head = f"expected {self.expected_count:,}, got {self.actual_count:,}"
        if not self.is_compared:
            return f"{head}: too large to compare"
        lines = [
            f"{head}: {self.missing_count:,} missing, {self.extra_count:,} not expected",
            _DIFFERS + ", ".join(self.kinds),
            f"  columns: {', '.join(self.columns) or 'none'}",
        ]
        for sign, rows, total in (("-", self.missing, self.missing_count), ("+", self.extra, self.extra_count)):
            lines += [f"  {sign} {row}" for row in rows]
            lines += [f"  {sign} … {total - len(rows):,} more"] if total > len(rows) else []
        return "\n".join(lines)


def find_row_difference(
    expected: pa.Table, actual: pa.Table, *, optional: pa.Table | None = None
) -> RowDifference | None:
    """Return the difference of two bags of rows; None if they are equal.

    Args:
        expected: rows that the answer must have.
        actual: rows of the answer.
        optional: rows with the columns of `expected` that the answer may have, too.

    Raises:
        WrongType: The columns of the answer are not the expected ones, or have other types.
    """
    actual = normalize(actual, expected.schema)
    tables = [expected] if optional is None else [expected, optional]
    size, rows = sum(each.nbytes for each in tables), sum(each.num_rows for each in tables)
    columns = tuple(expected.column_names)
    # not `nbytes`: it reads offsets that an empty list or map need not have
    surplus_bytes = actual.get_total_buffer_size() - size
    if actual.num_rows > rows + MOST_SURPLUS_ROWS or surplus_bytes > MOST_SURPLUS_BYTES:
        return RowDifference(columns, (), (), (), 0, 0, expected.num_rows, actual.num_rows, is_compared=False)
    wanted, found = Counter(list_rows(expected)), Counter(list_rows(actual))
    allowed: Counter[Value] = Counter() if optional is None else Counter(list_rows(optional))
    missing, extra = wanted - found, found - wanted - allowed
    if not missing and not extra:
        return None
    return RowDifference(
        columns,
        _describe_rows(columns, missing),
        _describe_rows(columns, extra),
        list_kinds(expected.schema, missing, extra),
        missing.total(),
        extra.total(),
        expected.num_rows,
        actual.num_rows,
        schema=expected.schema,
        missing_rows=missing,
        extra_rows=extra,
    )


def read_kinds(message: str) -> frozenset[str]:
    """Return how rows differ, from a message with the text of a `RowDifference`; empty if it has none.

    Values that only moved to other rows are not a kind: without some of the rows they look like any other kind.
    """
    lines = [line for line in message.split("\n") if line.startswith(_DIFFERS)]
    return frozenset(kind for line in lines for kind in line.removeprefix(_DIFFERS).split(", ")) - {_MOVED}


def list_kinds(schema: pa.Schema, missing: Counter[Value], extra: Counter[Value]) -> tuple[str, ...]:
    """List every way in which a column of these rows may differ; some of the rows mostly differ in no other way."""
    surplus = extra.total() - missing.total()
    found = {"surplus rows"} if surplus > 0 else {"missing rows"} if surplus < 0 else set()
    for number, field in enumerate(schema):
        wanted, given = (_count_column(rows, number) for rows in (missing, extra))
        lost, new = set(wanted - given), set(given - wanted)
        ways = {
            NULL_FOR_VALUE: lost - {None} and None in new,
            VALUE_FOR_NULL: None in lost and new - {None},
            OTHER_VALUE: lost - {None} and new - {None},
        }
        found |= {f"{way} of type {name_type(field.type)}" for way, is_possible in ways.items() if is_possible}
    return tuple(sorted(found)) or (_MOVED,)


def name_type(kind: pa.DataType) -> str:
    """Return the name of an Arrow type without its parameters."""
    return re.split("[<[(]", str(kind))[0]


def describe_change(expected: Value, actual: Value) -> str:
    """Return in which way two different values differ."""
    return NULL_FOR_VALUE if actual is None else VALUE_FOR_NULL if expected is None else OTHER_VALUE


def _count_column(rows: Counter[Value], number: int) -> Counter[Value]:
    counts: Counter[Value] = Counter()
    for row, count in rows.items():
        counts[row[number]] += count
    return counts


def _describe_rows(columns: Sequence[str], rows: Counter[Value]) -> tuple[str, ...]:
    return tuple(_describe(columns, row) for row in itertools.islice(rows.elements(), SHOWN_ROWS))


def _describe(columns: Sequence[str], row: Sequence[Value]) -> str:
    texts = (f"{name}={show_value(value)}" for name, value in zip(columns, row, strict=True))
    return "(" + ", ".join(texts) + ")"


def show_value(value: Value, limit: int = 60) -> str:
    """Return a value of `list_rows` as short text."""
    match value:
        case ("float", bits):
            text = repr(struct.unpack(">d", bits)[0])
        case ("struct", *members):
            text = "{" + ", ".join(show_value(each, limit) for each in members) + "}"
        case ("list", *elements):
            text = "[" + ", ".join(show_value(each, limit) for each in elements) + "]"
        case ("map", entries):
            pairs = sorted(f"{show_value(key, limit)}: {show_value(each, limit)}" for key, each in entries)
            text = "{" + ", ".join(pairs) + "}"
        case None:
            text = "null"
        case _:
            text = str(value) if isinstance(value, int) else repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def list_rows(table: pa.Table) -> list[tuple[Value, ...]]:
    """Return the rows of a table as hashable values, so that equal rows are equal tuples."""
    if not table.num_columns:
        return [()] * table.num_rows
    columns = [list_values(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type))
               for column in table.columns]  # fmt: skip
    return list(zip(*columns, strict=True))


def list_values(array: pa.Array) -> list[Value]:
    """Return the values of an array as hashable values, so that equal values are equal."""
    kind = array.type
    if _is_variant(kind):
        return [None if each is None else _read_variant(each) for each in array.to_pylist()]
    if pa.types.is_struct(kind):
        members = [list_values(each) for each in array.flatten()]
        rows = zip(*members, strict=True) if members else ([()] * len(array))
        return _mask(array, (("struct", *row) for row in rows))
    if pa.types.is_map(kind):
        keys, values = list_values(array.keys), list_values(array.items)
        entries = list(zip(keys, values, strict=True))
        return _mask(array, (("map", _entry_set(entries[start:end])) for start, end in _spans(array)))
    if pa.types.is_list(kind):
        elements = list_values(array.values)
        return _mask(array, (("list", *elements[start:end]) for start, end in _spans(array)))
    if pa.types.is_floating(kind):
        return [None if each is None else ("float", _float_bits(each)) for each in array.to_pylist()]
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return list(array.cast(pa.int64()).to_pylist())
    if pa.types.is_date32(kind):
        return list(array.cast(pa.int32()).to_pylist())
    return list(array.to_pylist())


def _is_variant(kind: pa.StructType) -> bool:
    """Return whether a type is the Arrow image of a variant."""
    fields = {each.name: each.type for each in kind} if pa.types.is_struct(kind) else {}
    return fields == {"metadata": pa.binary(), "value": pa.binary()}


def _read_variant(binaries: Mapping[str, bytes | None]) -> Value:
    """Return a variant by value: encodings may differ in widths of numbers and in the dictionary of field names.

    Binaries that are not a variant are returned as they are.
    """
    metadata, value = binaries["metadata"], binaries["value"]
    try:
        names = encoding.read_metadata(metadata or b"")
        encoding.check_value(value or b"", names)
        return freeze_variant(encoding.read_value(value or b"", names))
    except (encoding.VariantError, encoding.VariantUndecided):
        return "struct", metadata, value


def freeze_variant(value: values.Value) -> Value:
    """Return a decoded variant as a hashable value."""
    return "variant", _freeze(value)


def _freeze(value: values.Value) -> Value:
    match value:
        case dict():
            return "map", frozenset((name, _freeze(each)) for name, each in value.items())
        case list():
            return "list", *map(_freeze, value)
    return value.kind, ("float", _float_bits(value.value)) if value.kind in values.FRACTIONS else value.value


def _mask(array: pa.Array, values: Iterator[Value]) -> list[Value]:
    valid = array.is_valid().to_pylist()
    return [each if is_valid else None for each, is_valid in zip(values, valid, strict=True)]


def _spans(array: pa.Array) -> Iterator[tuple[int, int]]:
    return itertools.pairwise(array.offsets.to_pylist())


def _entry_set(entries: list[Value]) -> frozenset[Value]:
    """Entries of a map; a repeated entry counts, so that a map with one entry twice is not the map with one."""
    return frozenset(Counter(entries).items()) if len(set(entries)) < len(entries) else frozenset(entries)


def _float_bits(value: float) -> bytes:
    return struct.pack(">d", math.nan if math.isnan(value) else value)


def check_columns(names: Sequence[str], expected: Sequence[str]) -> None:
    """Raise `WrongType` if a column is missing, unexpected or repeated; their order has no meaning."""
    if sorted(names) == sorted(expected):
        return
    missing = [name for name in expected if name not in names]
    extra = [name for name in names if name not in expected]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    parts = [("missing", missing), ("not expected", extra), ("repeated", repeated)]
    text = "; ".join(f"{what}: {', '.join(each)}" for what, each in parts if each)
    raise WrongType(f"columns: {text}", " or ".join(f"columns are {what}" for what, each in parts if each))


def normalize(table: pa.Table, expected: pa.Schema) -> pa.Table:
    """Convert an answer to the expected columns and types without changing a value.

    Raises:
        WrongType: A column is missing, unexpected or repeated, or has a type that cannot represent the same values.
    """
    names = table.column_names
    check_columns(names, expected.names)
    columns = []
    for field in expected:
        column = table.column(names.index(field.name))
        try:
            chunks = [_convert(chunk, field.type, field.name) for chunk in column.chunks]
        except pa.ArrowException as error:
            text = f"column {field.name}: {column.type} cannot be read as {field.type}: {error}"
            raise WrongType(text, _describe_types(column.type, field.type)) from None
        columns.append(pa.chunked_array(chunks, field.type))
    return pa.table(columns, schema=expected) if columns else table


def _convert(array: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    stored = array.type
    if isinstance(array, pa.ExtensionArray):
        return _convert(array.storage, kind, name)
    if pa.types.is_dictionary(stored):
        return _convert(array.dictionary_decode(), kind, name)
    if pa.types.is_null(kind) and array.null_count == len(array):
        return pa.nulls(len(array))
    if pa.types.is_struct(kind) and pa.types.is_struct(stored):
        return _convert_struct(array, kind, name)
    if pa.types.is_map(kind):
        return _convert_map(array, kind, name)
    if pa.types.is_list(kind) and _is_any_list(stored):
        lists = _to_plain_list(array)
        values = _convert(lists.values, kind.value_type, f"{name}.element")
        return pa.ListArray.from_arrays(pc.add(lists.offsets, 0), values, kind, mask=_null_mask(lists))
    if stored == kind or _is_same_value_type(stored, kind):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid as error:
            text = f"column {name}: {stored} holds a value that {kind} cannot represent: {error}"
            raise WrongType(text, _describe_types(stored, kind)) from None
    raise WrongType(f"column {name} has type {stored}, expected {kind}", _describe_types(stored, kind))


def _describe_types(stored: pa.DataType, kind: pa.DataType) -> str:
    return f"a column of type {name_type(kind)} has type {name_type(stored)}"


def _is_any_list(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_list_view, pa.types.is_large_list_view)
    return any(test(kind) for test in (*tests, pa.types.is_fixed_size_list))


def _to_plain_list(array: pa.Array) -> pa.ListArray:
    """Convert large, fixed-size and view lists; elements stay as they are."""
    return array if pa.types.is_list(array.type) else array.cast(pa.list_(array.type.value_type))


def _null_mask(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _convert_struct(array: pa.StructArray, kind: pa.StructType, name: str) -> pa.Array:
    stored = [array.type.field(position).name for position in range(array.type.num_fields)]
    wanted = [kind.field(position).name for position in range(kind.num_fields)]
    if sorted(stored) != sorted(wanted):
        text = f"column {name} has the fields {', '.join(stored)}, expected {', '.join(wanted)}"
        raise WrongType(text, "a struct has other fields")
    members = array.flatten()
    converted = [
        _convert(members[stored.index(field)], kind.field(position).type, f"{name}.{field}")
        for position, field in enumerate(wanted)
    ]
    if not wanted:
        return array
    return pa.StructArray.from_arrays(converted, fields=list(kind), mask=_null_mask(array))


def _convert_map(array: pa.Array, kind: pa.MapType, name: str) -> pa.Array:
    """Convert a map, or a list of entries, which engines without a map type return."""
    if pa.types.is_map(array.type):
        keys, items, offsets = array.keys, array.items, array.offsets
    elif (
        _is_any_list(array.type) and pa.types.is_struct(array.type.value_type) and array.type.value_type.num_fields == 2
    ):
        lists = _to_plain_list(array)
        (keys, items), offsets = lists.values.flatten(), lists.offsets
        array = lists
    else:
        raise WrongType(f"column {name} has type {array.type}, expected {kind}", _describe_types(array.type, kind))
    key = _convert(keys, kind.key_type, f"{name}.key")
    value = _convert(items, kind.item_type, f"{name}.value")
    return pa.MapArray.from_arrays(pc.add(offsets, 0), key, value, kind, mask=_null_mask(array))


def _is_same_value_type(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether a cast changes no value, or fails."""
    types = pa.types
    if types.is_string(kind):
        return any(test(stored) for test in (types.is_large_string, types.is_string_view))
    if types.is_binary(kind):
        return any(test(stored) for test in (types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary))
    if types.is_timestamp(kind):
        return bool(types.is_timestamp(stored)) and (stored.tz is None if kind.tz is None else stored.tz in _UTC)
    if types.is_date32(kind):
        return bool(types.is_date64(stored))
    return bool(types.is_decimal(kind) and types.is_decimal(stored) and stored.scale == kind.scale)
