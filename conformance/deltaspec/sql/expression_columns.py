"""Load the columns of a data file that expressions refer to, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import INTEGER_BITS, DataType, Decimal, get_type_name
from deltaspec.sql.file_columns import FileColumns, has_custom_order, resolve_column
from deltaspec.sql.parser import list_columns
from deltaspec.sql.terms import (
    EXACT_CONTEXT,
    Guard,
    Term,
    Undecided,
    is_comparable,
    null_term,
    polars_type,
)
from deltaspec.sql.tree import Expression
from deltaspec.wire.data.column_resolution import FileColumn, is_text

_EMPTY: dict[str, str | bytes] = {"string": "", "binary": b""}
_MAX_SHOWN_CHARACTERS = 40


@dataclass
class ExpressionColumns(FileColumns):
    """Columns of one data file; calling it with the parts of a name returns the column as a term."""

    guards: list[Guard] = field(default_factory=list)
    read_as_empty: frozenset[str] = frozenset()
    """Partition columns without a value, by physical name, that are read as empty instead of null."""
    _loaded: dict[tuple[int, ...], tuple[FileColumn, str, str]] = field(default_factory=dict)
    """By position in the schema: the column in the file, its name in frames, and its name in the expression."""

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
            self.guards.append(
                Guard(pl.col(frame_column) >= first, f"{name} may have dates in the calendar of Spark 2")
            )
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

    def _partition_term(self, name: str, data_type: DataType) -> Term:
        """Return the value of a partition column. It is not a constant of the expression."""
        value: Any = (
            _EMPTY[get_type_name(data_type)]
            if name in self.read_as_empty
            else self.get_partition_value(name, data_type)
        )
        if value is not None and not is_comparable(data_type):
            value = True
        elif value is not None and isinstance(data_type, Decimal):
            value = int(value.scaleb(data_type.scale, EXACT_CONTEXT))
        return Term(pl.lit(value, dtype=polars_type(data_type)), data_type)

    @property
    def file_columns(self) -> list[str]:
        """Top-level columns to read from the file."""
        return sorted({name for positions in self._loaded if (name := self.get_file_column(positions)) is not None})

    def build_frame(self, batch_columns: Mapping[str, pa.Array], rows: int) -> pl.DataFrame:
        """Return the loaded columns of a batch and `row`, the index in the batch. Raises `Undecided`."""
        found = {"row": pl.int_range(rows, dtype=pl.Int64, eager=True)}
        for positions, (column, name, _) in self._loaded.items():
            found[name] = _load(self.extract_values(batch_columns, positions), column.kind)
        return pl.DataFrame(found)

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


def _load(array: pa.Array, data_type: DataType) -> pl.Series:
    try:
        return _to_series(array, data_type)
    except (pa.ArrowException, pl.exceptions.PolarsError) as error:
        raise Undecided(f"cannot read {array.type} as {get_type_name(data_type)}: {error}"[:200]) from error


def _to_series(array: pa.Array, data_type: DataType) -> pl.Series:
    """Return an array as the column that `terms` describes for a type."""
    stored, name = array.type, get_type_name(data_type)
    if not is_comparable(data_type):
        flags = _from_arrow(array.is_valid())
        return pl.select(pl.when(flags).then(True)).to_series()
    if isinstance(data_type, Decimal):
        return _to_decimals(array, data_type)
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


def _to_decimals(array: pa.Array, data_type: Decimal) -> pl.Series:
    stored = array.type
    if pa.types.is_signed_integer(stored):
        own_scale, values = 0, _from_arrow(array.cast(pa.int64())).cast(pl.Int128)
    elif pa.types.is_decimal(stored) and stored.bit_width <= 128 and 0 <= stored.scale <= data_type.scale:
        own_scale = stored.scale
        values = _from_arrow(array.cast(pa.decimal128(38, own_scale))).to_physical().cast(pl.Int128)
    else:
        raise Undecided(f"the file stores {stored} for {get_type_name(data_type)}")
    unit = 10 ** (data_type.scale - own_scale)
    return values if unit == 1 else values * pl.Series([unit], dtype=pl.Int128)


def _from_arrow(array: pa.Array) -> pl.Series:
    series: Any = pl.from_arrow(array)
    assert isinstance(series, pl.Series)
    return series
