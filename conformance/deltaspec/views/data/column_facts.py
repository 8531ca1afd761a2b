"""What statistics claim of a column, beside what the rows of its file hold."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import polars as pl

from deltaspec.model.rows import bounds, ordering, variant_bounds
from deltaspec.model.rows.bounds import Bound
from deltaspec.model.rows.statistics import (
    LeafColumn,
    Statistics,
    StatisticsError,
    get_entry,
    list_leaf_columns,
    parse_integer,
    parse_statistics,
)
from deltaspec.model.schema.data_types import DataType, Decimal, Primitive, Struct, get_type_name
from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View
from deltaspec.wire.data.leaf_values import LeafValues

Row = dict[str, Any]

_FRACTIONS = (Primitive("float"), Primitive("double"))
_COUNTED = (Primitive("date"), Primitive("timestamp"), Primitive("timestamp_ntz"))
"""Types whose values are numbers and whose texts are not."""

column_facts = View(
    name="column_facts",
    grain="leaf column of a live data file whose statistics have an entry for it",
    key=(),
    level="rows",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "column": Column(pl.String, "logical name, nested ones with dots"),
        "physical_column": Column(pl.String, "physical name, nested ones with dots"),
        "type": Column(pl.String, "type of the column in the table's schema"),
        "num_records": Column(pl.Int64, "stats.numRecords"),
        "tight_bounds": Column(pl.Boolean, "stats.tightBounds; null where the statistics have none"),
        "has_deletion_vector": Column(pl.Boolean, "the file has a deletion vector"),
        "rows": Column(pl.Int64, "rows of the file, deleted ones included; null where its rows could not be read"),
        "valid_rows": Column(pl.Int64, "rows that the deletion vector leaves"),
        "stats_null_count": Column(pl.Int64, "nullCount of the column"),
        "nulls": Column(pl.Int64, "rows whose value is null, deleted ones included"),
        "valid_nulls": Column(pl.Int64, "valid rows whose value is null"),
        "stats_min": Column(pl.String, "minValues of the column, as written"),
        "stats_max": Column(pl.String, "maxValues of the column, as written"),
        "actual_min": Column(pl.String, "smallest value of a valid row, NaN left out"),
        "actual_max": Column(pl.String, "largest value of a valid row, NaN left out"),
        "stats_min_order_key": Column(pl.Binary, "order key of the claimed minimum; null for NaN and what is not read"),
        "stats_max_order_key": Column(
            pl.Binary,
            "order key of the largest value that the claimed maximum bounds: of a timestamp of whole milliseconds the "
            "last microsecond of it, of a string that is cut from the largest value that value",
        ),
        "actual_min_order_key": Column(pl.Binary, "order key of the smallest value"),
        "actual_max_order_key": Column(pl.Binary, "order key of the largest value"),
        "loose_bound": Column(
            pl.String,
            "a claimed bound that is beyond the smallest or largest value, and not what a cut of strings or timestamps "
            "makes of it, as `minimum 0 for 1`; null where bounds of the data are not known",
        ),
        "max_is_truncated": Column(
            pl.Boolean, "the claimed maximum is a prefix of the largest value, a string, with nothing behind"
        ),
        "has_nan": Column(pl.Boolean, "a valid row holds NaN"),
        "has_nan_bound": Column(pl.Boolean, "a claimed bound is NaN"),
        "max_is_nan": Column(pl.Boolean, "the claimed maximum is NaN"),
        "structure_fault": Column(pl.String, "how an entry does not mirror the schema"),
        "bound_fault": Column(pl.String, "why a bound is no value of the column's type"),
        "non_standard_bound": Column(pl.String, "a bound in a form that the text does not give"),
        "sub_millisecond_bound": Column(pl.String, "a timestamp bound with digits beyond milliseconds"),
        "variant_bound_fault": Column(pl.String, "why a bound of a variant is no variant object of normalized paths"),
        "ambiguous_variant_bound": Column(
            pl.String, "why a bound of a variant is not of the described form, if of the shown"
        ),
        "variant_type_change": Column(pl.String, "a path of a variant whose two bounds are of different types"),
        "shredding_supported": Column(
            pl.Boolean, "for a variant with bounds: the table supports variantShredding; null where that is not known"
        ),
    },
)


class JudgedFile(Protocol):
    """What is known of a data file from the log."""

    @property
    def place(self) -> dict[str, Any]: ...
    @property
    def stats(self) -> str | None: ...
    @property
    def deletion_vector(self) -> object | None: ...


def build_column_fact_rows(
    data_file: JudgedFile,
    schema: Struct,
    mapping: str | None,
    partition_columns: list[str],
    leaves: Iterable[LeafValues],
    *,
    shredding_supported: bool | None = None,
) -> list[Row]:
    """The rows of `column_facts` of one data file; none for statistics that cannot be read.

    Entries of columns that the schema lacks, of partition columns and of void ones are passed over (S13).

    Args:
        data_file: a live file.
        schema: of the table, at the judged version.
        mapping: column mapping in force: `id`, `name` or None.
        partition_columns: logical names.
        leaves: what the file holds, by physical path; a column that is not among them was not read.
        shredding_supported: whether the table supports `variantShredding`; None if that is not known.
    """
    if not data_file.stats:
        return []
    try:
        statistics = parse_statistics(data_file.stats)
    except StatisticsError:  # what rules of level `log` find
        return []
    held = {leaf.path: leaf for leaf in leaves}
    of_file = {
        **data_file.place,
        "num_records": statistics.num_records,
        "tight_bounds": statistics.tight_bounds,
        "has_deletion_vector": data_file.deletion_vector is not None,
    }
    rows = []
    for column in list_leaf_columns(schema, mapping, partition_columns):
        claims = _claims(statistics, column)
        if claims:
            facts = {**of_file, **_column(column), **_held(held.get(column.path), column.type)}
            rows.append(facts | _compared(claims, held.get(column.path), column.type, shredding_supported))
    return rows


def _column(column: LeafColumn) -> Row:
    return {
        "column": ".".join(column.name),
        "physical_column": ".".join(column.path),
        "type": get_type_name(column.type),
    }


def _claims(statistics: Statistics, column: LeafColumn) -> dict[str, Any]:
    """The entries that statistics have for a column; under `misplaced` how one does not mirror the schema."""
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


def _held(leaf: LeafValues | None, kind: DataType) -> Row:
    if leaf is None or not leaf.read:
        return {}
    return {
        "rows": leaf.rows,
        "valid_rows": leaf.valid_rows,
        "nulls": leaf.nulls,
        "valid_nulls": leaf.valid_nulls,
        "has_nan": leaf.has_nan if kind in _FRACTIONS else None,
        "actual_min": _text(leaf.minimum, leaf.type or kind),
        "actual_max": _text(leaf.maximum, leaf.type or kind),
    }


def _text(value: Any, kind: DataType) -> str | None:
    if value is None:
        return None
    if type(value) is int and kind.__class__ is Primitive and kind not in _COUNTED:
        return str(value)
    try:
        return _valid_utf8(ordering.encode(value, kind))
    except ordering.LexemeError:
        return None


def _valid_utf8(text: str) -> str:
    """Half of a surrogate pair is no text that a frame can hold."""
    return text.encode("utf-8", "backslashreplace").decode()


def _compared(claims: Mapping[str, Any], leaf: LeafValues | None, kind: DataType, shredding: bool | None) -> Row:
    nulls = parse_integer(claims.get("nulls"))
    is_count = nulls is not None and 0 <= nulls < 2**63
    row: Row = {"structure_fault": claims.get("structure_fault"), "stats_null_count": nulls if is_count else None}
    if kind == Primitive("variant"):
        return row | _variant(claims, shredding)
    kind = _type_of_comparison(leaf, kind)
    claimed = {end: bounds.read_bound(claims[end], kind) for end in ("min", "max") if end in claims}
    row |= {f"stats_{end}": _valid_utf8(bound.text) for end, bound in claimed.items()}
    for name, told in (
        ("bound_fault", [bound.fault for bound in claimed.values()]),
        ("non_standard_bound", [bound.warning and f"{bound.text[:80]}: {bound.warning}" for bound in claimed.values()]),
        ("sub_millisecond_bound", [_finer(bound, kind) for bound in claimed.values()]),
    ):
        row[name] = next((_valid_utf8(each) for each in told if each), None)
    if kind in _FRACTIONS:
        row["has_nan_bound"] = any(bound.is_nan for bound in claimed.values())
        row["max_is_nan"] = claimed["max"].is_nan if "max" in claimed else None
    if leaf is not None and leaf.read:
        row |= _minimum(claimed.get("min"), _value(leaf.minimum, leaf, kind), kind)
        row |= _maximum(claimed.get("max"), _value(leaf.maximum, leaf, kind), kind, leaf.has_nan)
    return row


def _has_order(kind: DataType) -> bool:
    return isinstance(kind, Decimal) or (isinstance(kind, Primitive) and kind.name not in ("void", "variant"))


def _type_of_comparison(leaf: LeafValues | None, kind: DataType) -> DataType:
    """Floats that became doubles were floats when their bounds were written, in as many digits as a float needs."""
    if leaf is None or leaf.type is None:
        return kind
    return leaf.type if leaf.type in _FRACTIONS and kind in _FRACTIONS else kind


def _finer(bound: Bound, kind: DataType) -> str | None:
    return bound.text if bounds.is_finer_than_milliseconds(bound, kind) else None


def _value(value: Any, leaf: LeafValues, kind: DataType) -> Any:
    """A value as one of the table's type; None where there is none, or none that has an order."""
    if value is None or leaf.type is None:
        return value if _has_order(kind) else None
    try:
        return ordering.decode(ordering.encode(value, leaf.type), kind)
    except ordering.LexemeError:
        return None


def _minimum(claimed: Bound | None, held: Any, kind: DataType) -> Row:
    row: Row = {"actual_min_order_key": None if held is None else ordering.compute_order_key(held, kind)}
    if claimed is None or claimed.value is None or claimed.is_nan:
        return row
    row["stats_min_order_key"] = ordering.compute_order_key(claimed.value, kind)
    if held is not None and claimed.value < held and not bounds.is_tight_minimum(claimed.value, held, kind):
        row["loose_bound"] = _valid_utf8(f"minimum {claimed.text[:80]} for {ordering.encode(held, kind)[:80]}")
    return row


def _maximum(claimed: Bound | None, held: Any, kind: DataType, has_nan: bool) -> Row:
    """NaN may be the largest value (S12): where the data have it, no other value is held to be that."""
    row: Row = {"actual_max_order_key": None if held is None else ordering.compute_order_key(held, kind)}
    if claimed is None or claimed.value is None or claimed.is_nan:
        return row
    meant = bounds.compute_upper_limit(claimed.value, kind)
    if held is not None and kind == Primitive("string"):
        row["max_is_truncated"] = bounds.is_truncated(claimed.value, held)
        meant = held if row["max_is_truncated"] else meant
    row["stats_max_order_key"] = ordering.compute_order_key(meant, kind)
    is_above = held is not None and claimed.value > held and not has_nan
    if is_above and not bounds.is_tight_maximum(claimed.value, held, kind):
        row["loose_bound"] = _valid_utf8(f"maximum {claimed.text[:80]} for {ordering.encode(held, kind)[:80]}")
    return row


def _variant(claims: Mapping[str, Any], shredding: bool | None) -> Row:
    """What can be said of a variant's bounds without its values."""
    ends = [end for end in ("min", "max") if end in claims]
    row: Row = {f"stats_{end}": _valid_utf8(str(claims[end])) for end in ends}
    row["shredding_supported"] = shredding if ends else None
    read: dict[str, dict[str, str]] = {}
    for end in ends:
        try:
            read[end] = variant_bounds.read_variant_bound(claims[end])
        except variant_bounds.AmbiguousVariantBound as fault:
            row.setdefault("ambiguous_variant_bound", f"{_KEYS[end]}: {fault}")
        except variant_bounds.VariantBoundError as fault:
            row.setdefault("variant_bound_fault", f"{_KEYS[end]} {fault}")
    if len(read) == 2:
        row["variant_type_change"] = next(iter(variant_bounds.find_type_mismatches(read["min"], read["max"])), None)
    return row
