"""Columns of one data file that expressions refer to: resolved by the table's schema and loaded batch by batch.

A partition column has the value in the log; a column that the file does not have is null.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.model.schema.column_mapping import get_partition_types, physical_name
from deltaspec.model.schema.data_types import DataType, Decimal, Field, Struct, get_type_name
from deltaspec.model.schema.partition_values import PartitionValueError, has_zone, parse_partition_value
from deltaspec.sql.parser import list_columns
from deltaspec.sql.terms import (
    EXACT_CONTEXT,
    INTEGER_BITS,
    Guard,
    Term,
    Undecided,
    is_comparable,
    null_term,
    polars_type,
)
from deltaspec.sql.tree import Expression
from deltaspec.wire.data.column_aggregates import unwrap_array
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, is_text, resolve_columns

_COLLATIONS, _CHAR_VARCHAR = "__COLLATIONS", "__CHAR_VARCHAR_TYPE_STRING"
_CHAR = re.compile(r"\bchar(acter)?\s*\(", re.IGNORECASE)
"""In the declared type of a field; for a struct, array or map it covers the nested types."""
_EMPTY: dict[str, str | bytes] = {"string": "", "binary": b""}
_MAX_SHOWN_CHARACTERS = 40


def resolve_column(parts: tuple[str, ...], schema: Struct) -> tuple[int, ...]:
    """Return the position of a column among the fields of each level. Raises `Undecided`.

    Names match in lower case. Members with such a match also conflict with names that differ from it only in upper
    case, as `ſ` and `s` do.
    """
    positions: list[int] = []
    kind: DataType = schema
    name = ".".join(parts)
    for part in parts:
        if not isinstance(kind, Struct):
            raise Undecided(f"{name} is inside the type {get_type_name(kind)}")
        found = [position for position, each in enumerate(kind.fields) if each.name.lower() == part.lower()]
        if positions and found:
            found = [position for position, each in enumerate(kind.fields) if each.name.casefold() == part.casefold()]
        if len(found) != 1:
            raise Undecided(f"the schema has {len(found)} columns {name}")
        positions += found
        kind = kind.fields[found[0]].type
    return tuple(positions)


def has_custom_order(field: Field) -> bool:
    """Return whether strings of a field do not compare by their bytes: they have a collation, or are padded `char`."""
    return _COLLATIONS in field.metadata or _CHAR.search(str(field.metadata.get(_CHAR_VARCHAR, ""))) is not None


@dataclass
class ExpressionColumns:
    """Columns of one data file; calling it with the parts of a name returns the column as a term."""

    schema: Struct
    mapping: str | None
    partition_columns: Sequence[str]
    partition_values: Mapping[str, str | None]
    """From the log, by physical name."""
    file_schema: pa.Schema
    first_unambiguous: Mapping[str, int]
    """As `legacy_calendar.find_first_unambiguous_values` returns it."""
    guards: list[Guard] = field(default_factory=list)
    read_as_empty: frozenset[str] = frozenset()
    """Partition columns without a value, by physical name, that are read as empty instead of null."""
    _loaded: dict[tuple[int, ...], tuple[FileColumn, str, str]] = field(default_factory=dict)
    """By position in the schema: the column in the file, its name in frames, and its name in the expression."""

    def __post_init__(self) -> None:
        self._partitions = get_partition_types(self.schema, list(self.partition_columns), self.mapping)
        try:
            self._columns = resolve_columns(self.file_schema, self.schema, self.mapping)
        except UnresolvableColumns as error:
            raise Undecided(str(error)) from error

    def __call__(self, parts: tuple[str, ...]) -> Term:
        """Return a column and load it from now on. Raises `Undecided`."""
        positions = resolve_column(parts, self.schema)
        fields, column = self.resolve_in_file(positions)
        kind, name = fields[-1].type, ".".join(parts)
        if any(map(has_custom_order, fields)):
            raise Undecided(f"{name} has a collation or a fixed length")
        partition = self.get_partition_name(fields[0])
        if partition is not None:
            return self._partition_term(partition, kind)
        if column is None:
            return Term(null_term(kind).values, kind)
        _, frame_column, _ = self._loaded.setdefault(positions, (column, f"c{len(self._loaded)}", name))
        if get_type_name(kind) == "date" and (first := self.first_unambiguous.get("date")) is not None:
            self.guards.append(Guard(pl.col(frame_column) >= first, f"{name} has dates in the calendar of Spark 2"))
        return Term(pl.col(frame_column), kind)

    def list_null_or_empty(self, tree: Expression) -> list[str]:
        """Return the partition columns of an expression, by physical name, for which the log's null may mean empty.

        Raises `Undecided`.
        """
        fields = [self.schema.fields[resolve_column(parts, self.schema)[0]] for parts in list_columns(tree)]
        names = [physical_name(each, self.mapping) for each in fields if get_type_name(each.type) in _EMPTY]
        return [
            name
            for name in dict.fromkeys(names)
            if name in self._partitions and name in self.partition_values and not self.partition_values[name]
        ]

    def get_partition_name(self, field: Field) -> str | None:
        """Return the physical name of a partition column; None for any other field."""
        name = physical_name(field, self.mapping)
        return name if name in self._partitions else None

    def resolve_in_file(self, positions: tuple[int, ...]) -> tuple[list[Field], FileColumn | None]:
        """Return the fields from the top to a column, and the file's column; None if the file does not have it."""
        fields: list[Field] = []
        kind: DataType = self.schema
        column: FileColumn | None = None
        members = self._columns
        is_missing = False
        for position in positions:
            assert isinstance(kind, Struct)
            fields.append(kind.fields[position])
            kind = kind.fields[position].type
            column = members[position]
            is_missing = is_missing or column.place is None
            members = column.members
        return fields, None if is_missing else column

    def _partition_term(self, name: str, kind: DataType) -> Term:
        """Return the value of a partition column. It is not a constant of the expression."""
        value: Any = _EMPTY[get_type_name(kind)] if name in self.read_as_empty else self.get_partition_value(name, kind)
        if value is not None and not is_comparable(kind):
            value = True
        elif value is not None and isinstance(kind, Decimal):
            value = int(value.scaleb(kind.scale, EXACT_CONTEXT))
        return Term(pl.lit(value, dtype=polars_type(kind)), kind)

    def get_partition_value(self, name: str, kind: DataType) -> Any:
        """Return the file's partition value as `parse_partition_value` parses it. Raises `Undecided`."""
        if name not in self.partition_values:
            raise Undecided(f"the log has no value for the partition column {name}")
        text = self.partition_values[name]
        if text and (get_type_name(kind) == "binary" or (get_type_name(kind) == "timestamp" and not has_zone(text))):
            raise Undecided(f"the value of the partition column {name} depends on its writer")
        try:
            return parse_partition_value(text, kind)
        except PartitionValueError as error:
            raise Undecided(f"the partition column {name}: {error}") from error

    @property
    def file_columns(self) -> list[str]:
        """Top-level columns to read from the file."""
        return sorted({name for positions in self._loaded if (name := self.get_file_column(positions)) is not None})

    def get_file_column(self, positions: tuple[int, ...]) -> str | None:
        """Return the top-level column of the file that contains a column of the table; None if it has none."""
        position = self._columns[positions[0]].place
        return None if position is None else str(self.file_schema.names[position])

    def build_frame(self, batch_columns: Mapping[str, pa.Array], rows: int) -> pl.DataFrame:
        """Return the loaded columns of a batch and `row`, the index in the batch. Raises `Undecided`."""
        found = {"row": pl.int_range(rows, dtype=pl.Int64, eager=True)}
        for positions, (column, name, _) in self._loaded.items():
            found[name] = _load(self.extract_values(batch_columns, positions), column.kind)
        return pl.DataFrame(found)

    def extract_values(self, batch_columns: Mapping[str, pa.Array], positions: tuple[int, ...]) -> pa.Array:
        """Return the values of a column that the file has, from its top-level column. Raises `Undecided`."""
        top = self._columns[positions[0]]
        assert top.place is not None
        array, members = unwrap_array(batch_columns[self.file_schema.names[top.place]]), top.members
        for position in positions[1:]:
            column = members[position]
            if not pa.types.is_struct(array.type) or column.place is None:
                raise Undecided(f"the file stores {array.type} for a struct")
            array, members = unwrap_array(array.flatten()[column.place]), column.members
        return array

    def format_row(self, batch_columns: Mapping[str, pa.Array], row: int) -> str:
        """Return the loaded values of one row as a finding shows them."""
        found = []
        for positions, (_, _, name) in self._loaded.items():
            value = self.extract_values(batch_columns, positions)[row]
            found.append(f"{name}: {_format_value(value)[:_MAX_SHOWN_CHARACTERS]}")
        return ", ".join(found)


def _format_value(value: pa.Scalar) -> str:
    """Return a value as text, even if it is a date after the year 9999 or not UTF-8."""
    if not value.is_valid:
        return "null"
    with suppress(ValueError, OverflowError, pa.ArrowException):
        return str(value)
    with suppress(ValueError, OverflowError, pa.ArrowException):
        return str(pc.cast(value, pa.string()))
    return "(no text)"


def _load(array: pa.Array, kind: DataType) -> pl.Series:
    try:
        return _to_series(array, kind)
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise Undecided(f"cannot read {array.type} as {get_type_name(kind)}: {error}"[:200]) from error


def _to_series(array: pa.Array, kind: DataType) -> pl.Series:
    """Return an array as the column that `terms` describes for a type."""
    stored, name = array.type, get_type_name(kind)
    if not is_comparable(kind):
        flags = _from_arrow(array.is_valid())
        return pl.select(pl.when(flags).then(True)).to_series()
    if isinstance(kind, Decimal):
        return _to_decimals(array, kind)
    match name:
        case _ if name in INTEGER_BITS and pa.types.is_signed_integer(stored):
            return _from_arrow(array.cast(pa.int64()))
        case "double" if pa.types.is_float32(stored) or pa.types.is_float64(stored) or _is_exact_as_double(stored):
            return _from_arrow(array.cast(pa.float64()))
        case "string" if is_text(stored):
            array.validate(full=True)
            return _from_arrow(array.cast(pa.large_string()))
        case "boolean" if pa.types.is_boolean(stored):
            return _from_arrow(array)
        case "date" if pa.types.is_date32(stored):
            return _from_arrow(array.cast(pa.int32()).cast(pa.int64()))
    raise Undecided(f"the file stores {stored} for {name}")


def _is_exact_as_double(stored: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(stored) and stored.bit_width <= 32)


def _to_decimals(array: pa.Array, kind: Decimal) -> pl.Series:
    stored = array.type
    if pa.types.is_signed_integer(stored):
        own_scale, values = 0, _from_arrow(array.cast(pa.int64())).cast(pl.Int128)
    elif pa.types.is_decimal(stored) and stored.bit_width <= 128 and 0 <= stored.scale <= kind.scale:
        own_scale = stored.scale
        values = _from_arrow(array.cast(pa.decimal128(38, own_scale))).to_physical().cast(pl.Int128)
    else:
        raise Undecided(f"the file stores {stored} for {get_type_name(kind)}")
    unit = 10 ** (kind.scale - own_scale)
    return values if unit == 1 else values * pl.Series([unit], dtype=pl.Int128)


def _from_arrow(array: pa.Array) -> pl.Series:
    series: Any = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series
