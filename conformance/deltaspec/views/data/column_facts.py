"""View over the statistics of a column compared with the values in its file."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import polars as pl

from deltaspec.protocol.files import bounds, ordering
from deltaspec.protocol.files.bounds import Bound
from deltaspec.protocol.files.statistics import (
    LeafColumn,
    Statistics,
    StatisticsError,
    get_entry,
    list_leaf_columns,
    parse_integer,
    parse_statistics,
)
from deltaspec.protocol.json_values import escape_lone_surrogates
from deltaspec.protocol.schema.data_types import DataType, Decimal, Primitive, Struct, get_type_name
from deltaspec.protocol.variants.values import Scalar
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.views.data import variant_bounds
from deltaspec.wire.data.leaf_values import LeafValues

Row = dict[str, Any]

_FRACTIONS = (Primitive("float"), Primitive("double"))
_COUNTED = (Primitive("date"), Primitive("timestamp"), Primitive("timestamp_ntz"))
"""Types whose values are numbers but whose string form is not a number."""

column_facts = View(
    name="column_facts",
    grain="leaf column of a live data file for which the statistics have an entry",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "logical column path, segments joined by dots"),
        "physical_column": Column(pl.String, "physical column path, segments joined by dots"),
        "type": Column(pl.String, "type of the column in the table schema"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "tight_bounds": Column(pl.Boolean, "stats.tightBounds; null if absent"),
        "has_deletion_vector": Column(pl.Boolean, "whether the file has a deletion vector"),
        "rows": Column(pl.Int64, "number of rows including deleted ones; null if the rows could not be read"),
        "valid_rows": Column(pl.Int64, "number of rows that the deletion vector does not delete"),
        "stats_null_count": Column(pl.Int64, "nullCount entry of the column"),
        "nulls": Column(pl.Int64, "number of rows whose value is null, including deleted rows"),
        "valid_nulls": Column(pl.Int64, "number of valid rows whose value is null"),
        "stats_min": Column(pl.String, "minValues entry of the column, as written"),
        "stats_max": Column(pl.String, "maxValues entry of the column, as written"),
        "actual_min": Column(pl.String, "smallest value of a valid row, without NaN"),
        "actual_max": Column(pl.String, "largest value of a valid row, without NaN"),
        "stats_min_order_key": Column(pl.Binary, "order key of stats_min; null for NaN and unreadable values"),
        "stats_max_order_key": Column(
            pl.Binary,
            "order key of the largest value that stats_max covers: for a timestamp in whole milliseconds the last "
            "microsecond of it, for a truncated string actual_max",
        ),
        "actual_min_order_key": Column(pl.Binary, "order key of actual_min"),
        "actual_max_order_key": Column(pl.Binary, "order key of actual_max"),
        "loose_bound": Column(
            pl.String,
            "first bound that is not tight although no string or timestamp truncation explains it, as "
            "`minimum 0, smallest value 1`; null if there is none, or the values are unknown",
        ),
        "max_is_truncated": Column(
            pl.Boolean,
            "for a string: whether stats_max is a prefix of actual_max without the increment that truncation needs",
        ),
        "has_nan": Column(pl.Boolean, "whether a valid row is NaN; null for types without NaN"),
        "has_nan_bound": Column(pl.Boolean, "whether a bound in the statistics is NaN; null for types without NaN"),
        "max_is_nan": Column(pl.Boolean, "whether stats_max is NaN; null for types without NaN"),
        "structure_fault": Column(
            pl.String, "how the structure of an entry differs from the schema; null if it does not"
        ),
        "bound_fault": Column(pl.String, "why a bound is not a valid value of the column type; null if it is"),
        "non_standard_bound": Column(
            pl.String, "bound in a format that the protocol does not define; null if there is none"
        ),
        "sub_millisecond_bound": Column(
            pl.String, "timestamp bound with a precision finer than milliseconds; null if there is none"
        ),
        "variant_bound_fault": Column(
            pl.String, "why a variant bound is not a variant object with normalized paths; null if it is"
        ),
        "ambiguous_variant_bound": Column(
            pl.String,
            "why a variant bound matches the example but not the description in the protocol; null if it matches both",
        ),
        "variant_type_change": Column(
            pl.String, "variant path whose two bounds have different types; null if there is none"
        ),
        "shredding_supported": Column(
            pl.Boolean, "for a variant with bounds: whether the table supports variantShredding; null if unknown"
        ),
    },
)


class FileWithStatistics(Protocol):
    """Facts of a data file from the log that statistics checks need."""

    @property
    def place(self) -> dict[str, Any]: ...
    @property
    def stats(self) -> str | None: ...
    @property
    def deletion_vector(self) -> object | None: ...


def build_column_fact_rows(
    data_file: FileWithStatistics,
    schema: Struct,
    mapping: str | None,
    partition_columns: list[str],
    leaves: Iterable[LeafValues],
    *,
    shredding_supported: bool | None = None,
) -> list[Row]:
    """Return the rows of `column_facts` for one data file; none if the statistics cannot be parsed.

    Entries of unknown columns, partition columns and void columns are skipped (S13).

    Args:
        data_file: a live file.
        schema: table schema at the validated version.
        mapping: column mapping mode: `id`, `name` or None.
        partition_columns: logical names.
        leaves: values read from the file; columns without an entry were not read.
        shredding_supported: whether the table supports `variantShredding`; None if unknown.
    """
    if not data_file.stats:
        return []
    try:
        statistics = parse_statistics(data_file.stats)
    except StatisticsError:  # rules of level `log` report it
        return []
    actual = {leaf.path: leaf for leaf in leaves}
    file_facts = {
        **data_file.place,
        "num_records": statistics.num_records,
        "tight_bounds": statistics.tight_bounds,
        "has_deletion_vector": data_file.deletion_vector is not None,
    }
    rows = []
    for column in list_leaf_columns(schema, mapping, partition_columns):
        entries = _statistics_entries(statistics, column)
        if entries:
            facts = {**file_facts, **_column_names(column), **_value_facts(actual.get(column.path), column.type)}
            rows.append(facts | _compare(entries, actual.get(column.path), column.type, shredding_supported))
    return rows


def _column_names(column: LeafColumn) -> Row:
    return {
        "column": ".".join(column.name),
        "physical_column": ".".join(column.path),
        "type": get_type_name(column.type),
    }


def _statistics_entries(statistics: Statistics, column: LeafColumn) -> dict[str, Any]:
    """Return the statistics entries of a column; `structure_fault` says how an entry differs from the schema."""
    members = {"min": statistics.min_values, "max": statistics.max_values, "nulls": statistics.null_count}
    found: dict[str, Any] = {}
    for name, values in members.items():
        try:
            value = get_entry(values, column)
        except StatisticsError as fault:
            found.setdefault("structure_fault", f"{_KEYS[name]}: {fault}")
            continue
        if value is not None:
            found[name] = value
    return found


_KEYS = {"min": "minValues", "max": "maxValues", "nulls": "nullCount"}


def _value_facts(leaf: LeafValues | None, data_type: DataType) -> Row:
    if leaf is None or not leaf.read:
        return {}
    return {
        "rows": leaf.rows,
        "valid_rows": leaf.valid_rows,
        "nulls": leaf.nulls,
        "valid_nulls": leaf.valid_nulls,
        "has_nan": leaf.has_nan if data_type in _FRACTIONS else None,
        "actual_min": _encode(leaf.minimum, leaf.type or data_type),
        "actual_max": _encode(leaf.maximum, leaf.type or data_type),
    }


def _encode(value: Any, data_type: DataType) -> str | None:
    if value is None:
        return None
    if type(value) is int and data_type.__class__ is Primitive and data_type not in _COUNTED:
        return str(value)
    try:
        return escape_lone_surrogates(ordering.format_lexeme(value, data_type))
    except ordering.LexemeError:
        return None


def _compare(entries: Mapping[str, Any], leaf: LeafValues | None, data_type: DataType, shredding: bool | None) -> Row:
    nulls = parse_integer(entries.get("nulls"))
    is_count = nulls is not None and 0 <= nulls < 2**63
    row: Row = {"structure_fault": entries.get("structure_fault"), "stats_null_count": nulls if is_count else None}
    if data_type == Primitive("variant"):
        return row | _variant_facts(entries, shredding)
    data_type = _comparison_type(leaf, data_type)
    stated = {end: bounds.read_bound(entries[end], data_type) for end in ("min", "max") if end in entries}
    row |= {f"stats_{end}": escape_lone_surrogates(bound.text) for end, bound in stated.items()}
    for name, candidates in (
        ("bound_fault", [bound.fault for bound in stated.values()]),
        ("non_standard_bound", [bound.warning and f"{bound.text[:80]}: {bound.warning}" for bound in stated.values()]),
        ("sub_millisecond_bound", [_sub_millisecond_text(bound, data_type) for bound in stated.values()]),
    ):
        row[name] = next((escape_lone_surrogates(each) for each in candidates if each), None)
    if data_type in _FRACTIONS:
        row["has_nan_bound"] = any(bound.is_nan for bound in stated.values())
        row["max_is_nan"] = stated["max"].is_nan if "max" in stated else None
    if leaf is not None and leaf.read:
        row |= _compare_minimum(stated.get("min"), _convert(leaf.minimum, leaf, data_type), data_type)
        row |= _compare_maximum(stated.get("max"), _convert(leaf.maximum, leaf, data_type), data_type, leaf.has_nan)
    return row


def _has_order(data_type: DataType) -> bool:
    return isinstance(data_type, Decimal) or (
        isinstance(data_type, Primitive) and data_type.name not in ("void", "variant")
    )


def _comparison_type(leaf: LeafValues | None, data_type: DataType) -> DataType:
    """Return the type to compare bounds in: a float that was widened to double has bounds with float precision."""
    if leaf is None or leaf.type is None:
        return data_type
    return leaf.type if leaf.type in _FRACTIONS and data_type in _FRACTIONS else data_type


def _sub_millisecond_text(bound: Bound, data_type: DataType) -> str | None:
    return bound.text if bounds.is_finer_than_milliseconds(bound, data_type) else None


def _convert(value: Any, leaf: LeafValues, data_type: DataType) -> Any:
    """Convert a stored value to the type of comparison; None if there is no value, or the type has no order."""
    if value is None or leaf.type is None:
        return value if _has_order(data_type) else None
    try:
        return ordering.parse_lexeme(ordering.format_lexeme(value, leaf.type), data_type)
    except ordering.LexemeError:
        return None


def _compare_minimum(stated: Bound | None, actual: Any, data_type: DataType) -> Row:
    row: Row = {"actual_min_order_key": None if actual is None else ordering.compute_order_key(actual, data_type)}
    if stated is None or stated.value is None or stated.is_nan:
        return row
    row["stats_min_order_key"] = ordering.compute_order_key(stated.value, data_type)
    if actual is not None and stated.value < actual and not bounds.is_tight_minimum(stated.value, actual, data_type):
        row["loose_bound"] = escape_lone_surrogates(
            f"minimum {stated.text[:80]}, smallest value {ordering.format_lexeme(actual, data_type)[:80]}"
        )
    return row


def _compare_maximum(stated: Bound | None, actual: Any, data_type: DataType, has_nan: bool) -> Row:
    """Return the facts of the maximum. NaN may be the largest value (S12), so data with NaN has no loose maximum."""
    row: Row = {"actual_max_order_key": None if actual is None else ordering.compute_order_key(actual, data_type)}
    if stated is None or stated.value is None or stated.is_nan:
        return row
    upper_limit = bounds.compute_upper_limit(stated.value, data_type)
    if actual is not None and data_type == Primitive("string"):
        row["max_is_truncated"] = bounds.is_truncated(stated.value, actual)
        upper_limit = actual if row["max_is_truncated"] else upper_limit
    row["stats_max_order_key"] = ordering.compute_order_key(upper_limit, data_type)
    is_above = actual is not None and stated.value > actual and not has_nan
    if is_above and not bounds.is_tight_maximum(stated.value, actual, data_type):
        row["loose_bound"] = escape_lone_surrogates(
            f"maximum {stated.text[:80]}, largest value {ordering.format_lexeme(actual, data_type)[:80]}"
        )
    return row


def _variant_facts(entries: Mapping[str, Any], shredding: bool | None) -> Row:
    """Return the facts of variant bounds that do not need the values."""
    ends = [end for end in ("min", "max") if end in entries]
    row: Row = {f"stats_{end}": escape_lone_surrogates(str(entries[end])) for end in ends}
    row["shredding_supported"] = shredding if ends else None
    read: dict[str, dict[str, Scalar]] = {}
    for end in ends:
        try:
            read[end] = variant_bounds.read_variant_bound(entries[end])
        except variant_bounds.AmbiguousVariantBound as fault:
            row.setdefault("ambiguous_variant_bound", f"{_KEYS[end]}: {fault}")
        except variant_bounds.VariantBoundError as fault:
            row.setdefault("variant_bound_fault", f"{_KEYS[end]}: {fault}")
    if len(read) == 2:
        row["variant_type_change"] = next(iter(variant_bounds.find_type_mismatches(read["min"], read["max"])), None)
    return row
