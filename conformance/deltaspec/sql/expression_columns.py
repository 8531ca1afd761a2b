"""The columns that expressions speak of, in one data file of a table: found by the schema, loaded batch by batch.

Partition columns have the value that the log gives the file, columns that it lacks are null.
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

from deltaspec.model.schema.column_mapping import partition_types, physical_name
from deltaspec.model.schema.data_types import DataType, Decimal, Field, Primitive, Struct, get_type_name
from deltaspec.model.schema.partition_values import PartitionValueError, has_zone
from deltaspec.model.schema.partition_values import parse_partition_value as parse_value
from deltaspec.sql.parser import columns
from deltaspec.sql.terms import (
    INTEGER_BITS,
    MICROSECONDS_OF_DAY,
    WIDE,
    Guard,
    Term,
    Undecided,
    null_term,
    polars_type,
)
from deltaspec.sql.tree import Expression
from deltaspec.wire.data.column_aggregates import unwrap_array
from deltaspec.wire.data.column_resolution import FileColumn, UnresolvableColumns, is_bytes, is_text, resolve_columns

_COLLATIONS, _CHAR_VARCHAR = "__COLLATIONS", "__CHAR_VARCHAR_TYPE_STRING"
_CHAR = re.compile(r"\bchar(acter)?\s*\(", re.IGNORECASE)
"""In the type that a field had before its strings lost their length; of a struct, array or map it names those below."""
_EMPTY: dict[str, str | bytes] = {"string": "", "binary": b""}
_VALUE_SHOWN = 40


def resolve_column(parts: tuple[str, ...], schema: Struct) -> tuple[int, ...]:
    """Where a schema has a column: its place among the fields, of each level. Raises `Undecided`.

    Spark takes columns for the same by their lower case; members also by their upper case, which `ſ` and `s` share.
    """
    places: list[int] = []
    kind: DataType = schema
    for name in parts:
        if not isinstance(kind, Struct):
            raise Undecided(f"{'.'.join(parts)} is within a {get_type_name(kind)}")
        found = [place for place, each in enumerate(kind.fields) if each.name.lower() == name.lower()]
        if places and found:
            found = [place for place, each in enumerate(kind.fields) if each.name.casefold() == name.casefold()]
        if len(found) != 1:
            raise Undecided(f"the schema has {len(found)} columns {'.'.join(parts)}")
        places += found
        kind = kind.fields[found[0]].type
    return tuple(places)


def has_custom_order(field: Field) -> bool:
    """Whether strings of a field are compared otherwise than by their bytes: by a collation, or padded as `char`."""
    return _COLLATIONS in field.metadata or _CHAR.search(str(field.metadata.get(_CHAR_VARCHAR, ""))) is not None


@dataclass
class ExpressionColumns:
    """Columns of one data file, as an expression asks for them."""

    schema: Struct
    mapping: str | None
    partition_columns: Sequence[str]
    partition_values: Mapping[str, str | None]
    """By physical name, as the log has them."""
    file_schema: pa.Schema
    first_unambiguous: Mapping[str, int]
    """As `legacy_calendar.find_first_unambiguous_values` gives it."""
    guards: list[Guard] = field(default_factory=list)
    emptied: frozenset[str] = frozenset()
    """Partition columns without a value, by physical name, that are taken for empty ones instead of null."""
    _loaded: dict[tuple[int, ...], tuple[FileColumn, str, str]] = field(default_factory=dict)
    """By place in the schema: where the file has it, its column in frames, and its name."""

    def __post_init__(self) -> None:
        self._partitions = partition_types(self.schema, list(self.partition_columns), self.mapping)
        try:
            self._columns = resolve_columns(self.file_schema, self.schema, self.mapping)
        except UnresolvableColumns as fault:
            raise Undecided(str(fault)) from fault

    def __call__(self, parts: tuple[str, ...]) -> Term:
        """The column of a name. Raises `Undecided`."""
        places = resolve_column(parts, self.schema)
        fields, column = self.follow(places)
        kind = fields[-1].type
        if any(map(has_custom_order, fields)):
            raise Undecided(f"how {'.'.join(parts)} is compared is left to Spark")
        partition = self.partition_of(fields[0])
        if partition is not None:
            return self._partition(partition, kind)
        if column is None:
            return Term(null_term(kind).values, kind)
        _, name, _ = self._loaded.setdefault(places, (column, f"c{len(self._loaded)}", ".".join(parts)))
        first = self.first_unambiguous.get(get_type_name(kind))
        if first is not None:
            old = f"{'.'.join(parts)} holds days or times in the calendar of Spark 2"
            self.guards.append(Guard(pl.col(name) >= first, old))
        return Term(pl.col(name), kind)

    def null_or_empty(self, tree: Expression) -> list[str]:
        """Partition columns of an expression that rows may have been written to as empty: the log has null for both.

        By physical name. Raises `Undecided`.
        """
        fields = [self.schema.fields[resolve_column(parts, self.schema)[0]] for parts in columns(tree)]
        names = [physical_name(each, self.mapping) for each in fields if get_type_name(each.type) in _EMPTY]
        return [
            name
            for name in dict.fromkeys(names)
            if name in self._partitions and name in self.partition_values and not self.partition_values[name]
        ]

    def partition_of(self, field: Field) -> str | None:
        """The physical name of a field that is a partition column; None where it is none."""
        name = physical_name(field, self.mapping)
        return name if name in self._partitions else None

    def follow(self, places: tuple[int, ...]) -> tuple[list[Field], FileColumn | None]:
        """The fields from the top to a column, and where the file has it; None where it lacks it, or a struct above."""
        fields: list[Field] = []
        kind: DataType = self.schema
        column: FileColumn | None = None
        members = self._columns
        absent = False
        for place in places:
            assert isinstance(kind, Struct)
            fields.append(kind.fields[place])
            kind = kind.fields[place].type
            column = members[place]
            absent = absent or column.place is None
            members = column.members
        return fields, None if absent else column

    def _partition(self, name: str, kind: DataType) -> Term:
        """The value of a partition column: the same in every row, but no constant of the expression."""
        value = self.partition_value(name, kind)
        if name in self.emptied:
            value = _EMPTY[get_type_name(kind)]
        if value is not None and isinstance(kind, Decimal):
            value = int(value.scaleb(kind.scale, WIDE))
        return Term(pl.lit(value, dtype=polars_type(kind)), kind)

    def partition_value(self, name: str, kind: DataType) -> Any:
        """What the log gives the file, as `partition_values.parse` has it. Raises `Undecided`."""
        if name not in self.partition_values:
            raise Undecided(f"the log gives no value for the partition column {name}")
        text = self.partition_values[name]
        if text and (get_type_name(kind) == "binary" or (get_type_name(kind) == "timestamp" and not has_zone(text))):
            raise Undecided(f"the value of the partition column {name} depends on its writer")
        try:
            return parse_value(text, kind)
        except PartitionValueError as fault:
            raise Undecided(f"the partition column {name}: {fault}") from fault

    @property
    def names(self) -> list[str]:
        """Top-level columns of the file that are read."""
        return sorted({name for places in self._loaded if (name := self.name_in_file(places)) is not None})

    def name_in_file(self, places: tuple[int, ...]) -> str | None:
        """The top-level column of the file that holds a column of the table; None where it has none."""
        place = self._top(places).place
        return None if place is None else str(self.file_schema.names[place])

    def _top(self, places: tuple[int, ...]) -> FileColumn:
        return self._columns[places[0]]

    def frame(self, columns: Mapping[str, pa.Array], rows: int) -> pl.DataFrame:
        """What expressions are evaluated on, of a batch with so many rows. Raises `Undecided`."""
        found = {"row": pl.int_range(rows, dtype=pl.Int64, eager=True)}
        for places, (column, name, _) in self._loaded.items():
            found[name] = _load(self.leaf(columns, places), column.kind)
        return pl.DataFrame(found)

    def leaf(self, columns: Mapping[str, pa.Array], places: tuple[int, ...]) -> pa.Array:
        """The values of a column that the file has, of a batch that holds its top-level column. Raises `Undecided`."""
        top = self._top(places)
        assert top.place is not None
        array, members = unwrap_array(columns[self.file_schema.names[top.place]]), top.members
        for place in places[1:]:
            column = members[place]
            if not pa.types.is_struct(array.type) or column.place is None:
                raise Undecided(f"the file holds {array.type} for a struct")
            array, members = unwrap_array(array.flatten()[column.place]), column.members
        return array

    def shown(self, columns: Mapping[str, pa.Array], row: int) -> str:
        """The values of one row, as a finding shows them."""
        found = []
        for places, (_, _, name) in self._loaded.items():
            found.append(f"{name}: {_text_of(self.leaf(columns, places)[row])[:_VALUE_SHOWN]}")
        return ", ".join(found)


def _text_of(value: pa.Scalar) -> str:
    """A value for people to read: Python has no dates after the year 9999, and text need not be UTF-8."""
    if not value.is_valid:
        return "null"
    with suppress(ValueError, OverflowError, pa.ArrowException):
        return str(value)
    with suppress(ValueError, OverflowError, pa.ArrowException):
        return str(pc.cast(value, pa.string()))
    return "(no text)"


def _load(array: pa.Array, kind: DataType) -> pl.Series:
    try:
        return _loaded(array, kind)
    except (pa.ArrowException, pl.exceptions.PolarsError) as fault:
        raise Undecided(f"values of {array.type} are no {get_type_name(kind)}: {fault}"[:200]) from fault


def _loaded(array: pa.Array, kind: DataType) -> pl.Series:
    """An array as the column that `sql_terms` describes."""
    stored, name = array.type, get_type_name(kind)
    if isinstance(kind, Decimal):
        return _decimals(array, kind)
    if not isinstance(kind, Primitive) or name in ("variant", "void"):
        flags = _series(array.is_valid())
        return pl.select(pl.when(flags).then(True)).to_series()
    match name:
        case _ if name in INTEGER_BITS and pa.types.is_signed_integer(stored):
            return _series(array.cast(pa.int64()))
        case "float" if pa.types.is_float32(stored):
            return _series(array)
        case "double" if pa.types.is_float32(stored) or pa.types.is_float64(stored) or _is_small(stored):
            return _series(array.cast(pa.float64()))
        case "string" if is_text(stored):
            array.validate(full=True)
            return _series(array.cast(pa.large_string()))
        case "binary" if is_bytes(stored):
            return _series(array.cast(pa.large_binary()))
        case "boolean" if pa.types.is_boolean(stored):
            return _series(array)
        case "date" if pa.types.is_date32(stored):
            return _series(array.cast(pa.int32()).cast(pa.int64()))
        case "timestamp_ntz" if pa.types.is_date32(stored):
            return _series(pc.multiply_checked(array.cast(pa.int32()).cast(pa.int64()), MICROSECONDS_OF_DAY))
        case "timestamp" | "timestamp_ntz" if pa.types.is_timestamp(stored):
            if name == "timestamp_ntz" and stored.tz is not None:
                raise Undecided("the file says that times without zone are in UTC")
            return _series(array.cast(pa.timestamp("us", stored.tz)).cast(pa.int64()))
    raise Undecided(f"the file holds {stored} for {name}")


def _is_small(stored: pa.DataType) -> bool:
    """Whether every value is exact as a double."""
    return bool(pa.types.is_signed_integer(stored) and stored.bit_width <= 32)


def _decimals(array: pa.Array, kind: Decimal) -> pl.Series:
    stored = array.type
    if pa.types.is_signed_integer(stored):
        own, values = 0, _series(array.cast(pa.int64())).cast(pl.Int128)
    elif pa.types.is_decimal(stored) and stored.bit_width <= 128 and 0 <= stored.scale <= kind.scale:
        own, values = stored.scale, _series(array.cast(pa.decimal128(38, stored.scale))).to_physical().cast(pl.Int128)
    else:
        raise Undecided(f"the file holds {stored} for {get_type_name(kind)}")
    return values if own == kind.scale else values * pl.Series([10 ** (kind.scale - own)], dtype=pl.Int128)


def _series(array: pa.Array) -> pl.Series:
    found: Any = pl.from_arrow(array)
    assert isinstance(found, pl.Series)
    return found
