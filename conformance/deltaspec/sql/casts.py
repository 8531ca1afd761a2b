"""Casts that neither fail nor lose anything, on the rows at hand."""

import polars as pl

from deltaspec.model.schema.data_types import DataType, Primitive, get_type_name
from deltaspec.sql.terms import (
    DOUBLE,
    MICROSECONDS_OF_DAY,
    STRING,
    TIMES,
    VOID,
    Guard,
    Guards,
    Term,
    Undecided,
    as_double,
    constant_term,
    fits,
    get_precision_and_scale,
    is_exact,
    is_integer,
    midnight,
    null_term,
    parse_type,
    rescale,
)
from deltaspec.sql.tree import Literal

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""Days since the epoch of 0001-01-01 and 9999-12-31: beyond, engines print and cut years in their own ways."""


def cast(term: Term, spelled: str, guards: Guards) -> Term:
    """A value as one of another type, named as a schema names it. Raises `Undecided`."""
    kind = parse_type(spelled)
    if term.type == kind:
        return term
    if term.type == VOID:
        return null_term(kind)
    if is_exact(term.type) and is_exact(kind):
        return _exact(term, kind, guards)
    return _other(term, kind, guards)


def _other(term: Term, kind: DataType, guards: Guards) -> Term:
    match get_type_name(term.type), get_type_name(kind):
        case _, "double":
            return Term(as_double(term), DOUBLE)
        case (("byte" | "short"), "float"):
            return Term(term.values.cast(pl.Float32), kind)
        case "boolean", ("byte" | "short" | "integer" | "long"):
            return Term(term.values.cast(pl.Int64), kind)
        case "string", ("date" | "timestamp" | "timestamp_ntz" as name) if isinstance(term.constant, str):
            return constant_term(Literal(term.constant, name))
        case "date", "timestamp_ntz":
            return midnight(term)
        case "timestamp_ntz", "date":
            return day_of(term)
        case "boolean", "string":
            texts = pl.when(term.values).then(pl.lit("true")).otherwise(pl.lit("false"))
            return Term(pl.when(term.values.is_not_null()).then(texts), STRING)
        case (("byte" | "short" | "integer" | "long"), "string"):
            return Term(term.values.cast(pl.String), STRING)
        case "date", "string":
            return Term(as_date(term, guards).dt.strftime("%Y-%m-%d"), STRING)
    raise Undecided(f"{get_type_name(term.type)} is cast to {get_type_name(kind)}")


def _exact(term: Term, kind: DataType, guards: Guards) -> Term:
    own_scale, (precision, scale) = get_precision_and_scale(term.type)[1], get_precision_and_scale(kind)
    if scale >= own_scale:
        values = rescale(term, scale)
    else:
        factor = 10 ** (own_scale - scale)
        wide = rescale(term, own_scale)
        values = wide // factor
        guards.append(Guard(values * factor == wide, f"a value is cut off as {get_type_name(kind)}"))
    if is_integer(kind):
        guards.append(Guard(fits(values, kind), f"a value is beyond {get_type_name(kind)}"))
        return Term(values.cast(pl.Int64, strict=False), kind)
    low, high = (pl.lit(each, dtype=pl.Int128) for each in (-(10**precision), 10**precision))
    guards.append(Guard((low < values) & (values < high), f"a value is beyond {get_type_name(kind)}"))
    return Term(values, kind)


def day_of(term: Term) -> Term:
    """The day of a time without zone."""
    return Term(term.values // MICROSECONDS_OF_DAY, Primitive("date"))


def as_date(term: Term, guards: Guards) -> pl.Expr:
    """The day of a date, or of a time without zone, as Polars' own. Raises `Undecided`."""
    match get_type_name(term.type):
        case "date":
            days = term.values
        case "timestamp_ntz":
            days = day_of(term).values
        case name:
            raise Undecided(f"the day of a {name}" if name in TIMES else f"a {name} becomes a date")
    within = (days >= FIRST_DAY) & (days <= LAST_DAY)
    guards.append(Guard(within, "a date is beyond the years 1 to 9999"))
    return pl.when(within).then(days).cast(pl.Int32).cast(pl.Date)
