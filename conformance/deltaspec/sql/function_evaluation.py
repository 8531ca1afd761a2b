"""Functions of Spark whose values are beyond doubt, by name."""

from collections.abc import Callable
from functools import partial

import polars as pl

from deltaspec.model.schema.data_types import Primitive, get_type_name
from deltaspec.sql.casts import as_date, cast
from deltaspec.sql.terms import (
    BOOLEAN,
    INTEGER_BITS,
    MICROSECONDS_OF_DAY,
    STRING,
    VOID,
    ZERO,
    Guard,
    Guards,
    Term,
    Undecided,
    find_common_type,
    fits,
    is_exact,
    is_floating,
    is_integer,
    make_comparable,
    null_term,
    rescale,
)

Function = Callable[[list[Term], Guards], Term]
_MOST_CONCATENATED = 10
_INTEGER, _DATE = Primitive("integer"), Primitive("date")


def _text(term: Term) -> pl.Expr:
    """A string; NULL of no type is one."""
    if term.type == VOID:
        return null_term(STRING).values
    if term.type != STRING:
        raise Undecided(f"a {get_type_name(term.type)} becomes a string")
    return term.values


def _truth(term: Term) -> pl.Expr:
    if term.type not in (BOOLEAN, VOID):
        raise Undecided(f"a condition is of type {get_type_name(term.type)}")
    return (null_term(BOOLEAN) if term.type == VOID else term).values


def _integer_of(term: Term) -> pl.Expr:
    if not is_integer(term.type) or get_type_name(term.type) == "long":
        raise Undecided(f"a {get_type_name(term.type)} becomes an integer")
    return term.values


def _constant_integer(term: Term) -> int:
    if not is_integer(term.type) or not isinstance(term.constant, int):
        raise Undecided("a place in a string is not constant")
    return term.constant


# choices


def _coalesce(terms: list[Term], _: Guards) -> Term:
    kind, values = find_common_type(terms)
    return Term(pl.coalesce(values), kind)


def _if(terms: list[Term], _: Guards) -> Term:
    kind, (first, second) = find_common_type(terms[1:])
    return Term(pl.when(_truth(terms[0]).fill_null(False)).then(first).otherwise(second), kind)


def _nvl2(terms: list[Term], _: Guards) -> Term:
    kind, (first, second) = find_common_type(terms[1:])
    return Term(pl.when(terms[0].values.is_not_null()).then(first).otherwise(second), kind)


def _nullif(terms: list[Term], _: Guards) -> Term:
    one, other = make_comparable(*terms)
    return Term(pl.when((one == other).fill_null(False)).then(None).otherwise(terms[0].values), terms[0].type)


def _extreme(terms: list[Term], _: Guards, *, greatest: bool) -> Term:
    kind, values = find_common_type(terms)
    if not is_exact(kind) and kind != _DATE:
        raise Undecided(f"the {'greatest' if greatest else 'least'} of {get_type_name(kind)}")
    return Term(pl.max_horizontal(values) if greatest else pl.min_horizontal(values), kind)


def _is_null(terms: list[Term], _: Guards, *, negated: bool = False) -> Term:
    values = terms[0].values
    return Term(values.is_not_null() if negated else values.is_null(), BOOLEAN)


def _is_nan(terms: list[Term], _: Guards) -> Term:
    if not is_floating(terms[0].type):
        raise Undecided(f"isnan of {get_type_name(terms[0].type)}")
    return Term(terms[0].values.is_nan().fill_null(False), BOOLEAN)


def _equal_null(terms: list[Term], _: Guards) -> Term:
    one, other = make_comparable(*terms)
    return Term(one.eq_missing(other), BOOLEAN)


def _not(terms: list[Term], _: Guards) -> Term:
    return Term(~_truth(terms[0]), BOOLEAN)


# strings


def _length(terms: list[Term], _: Guards) -> Term:
    if terms[0].type == Primitive("binary"):
        return Term(terms[0].values.bin.size().cast(pl.Int64), _INTEGER)
    return Term(_text(terms[0]).str.len_chars().cast(pl.Int64), _INTEGER)


def _octets(terms: list[Term], _: Guards) -> Term:
    return Term(_text(terms[0]).str.len_bytes().cast(pl.Int64), _INTEGER)


def _letters(terms: list[Term], guards: Guards, *, upper: bool) -> Term:
    text = _text(terms[0])
    guards.append(Guard(text.str.len_bytes() == text.str.len_chars(), "letters beyond ASCII change case"))
    return Term(text.str.to_uppercase() if upper else text.str.to_lowercase(), STRING)


def _trimmed(terms: list[Term], _: Guards, *, side: str) -> Term:
    if len(terms) != 1:
        raise Undecided("other characters than spaces are trimmed")
    text = _text(terms[0]).str
    ways = {"both": text.strip_chars, "left": text.strip_chars_start, "right": text.strip_chars_end}
    return Term(ways[side](" "), STRING)


def concatenate(terms: list[Term]) -> Term:
    """Strings one after the other; null where one is."""
    return Term(pl.concat_str([_text(each) for each in terms], ignore_nulls=False), STRING)


def _concat(terms: list[Term], guards: Guards) -> Term:
    if len(terms) > _MOST_CONCATENATED:
        raise Undecided(f"concat of more than {_MOST_CONCATENATED} strings")
    there = (_text(each).is_not_null() for each in terms)
    guards.append(Guard(pl.all_horizontal(there), "concat has a null, which engines take differently"))
    return concatenate(terms)


def _substring(terms: list[Term], _: Guards) -> Term:
    start = _constant_integer(terms[1])
    length = _constant_integer(terms[2]) if len(terms) > 2 else None
    if start < 1 or (length is not None and length < 0):
        raise Undecided("a substring is counted from its end")
    return Term(_text(terms[0]).str.slice(start - 1, length), STRING)


def _left(terms: list[Term], _: Guards) -> Term:
    length = _constant_integer(terms[1])
    if length < 0:
        raise Undecided("a substring has a negative length")
    return Term(_text(terms[0]).str.slice(0, length), STRING)


def _holds(terms: list[Term], _: Guards, *, place: str) -> Term:
    text, part = _text(terms[0]).str, terms[1].constant
    if terms[1].type != STRING or not isinstance(part, str):
        raise Undecided("a string is looked for that is not constant")
    match place:
        case "start":
            return Term(text.starts_with(part), BOOLEAN)
        case "end":
            return Term(text.ends_with(part), BOOLEAN)
    return Term(text.contains(part, literal=True), BOOLEAN)


# numbers


def _abs(terms: list[Term], guards: Guards) -> Term:
    kind = terms[0].type
    if is_floating(kind):
        return Term(terms[0].values.abs(), kind)
    if not is_exact(kind):
        raise Undecided(f"abs of {get_type_name(kind)}")
    if not is_integer(kind):
        return Term(terms[0].values.abs(), kind)
    values = rescale(terms[0], 0).abs()
    guards.append(Guard(fits(values, kind), f"a result is beyond {get_type_name(kind)}"))
    return Term(values.cast(pl.Int64, strict=False), kind)


def _remainder(terms: list[Term], guards: Guards, *, positive: bool) -> Term:
    if not all(is_integer(each.type) for each in terms):
        raise Undecided("the remainder of something else than integers")
    one, other = rescale(terms[0], 0), rescale(terms[1], 0)
    reason = "a divisor is not positive" if positive else "a divisor is zero"
    sound = other > 0 if positive else other != 0
    guards.append(Guard(sound, reason))
    divisor = pl.when(sound).then(other.abs())
    rest = one.abs() - (one.abs() // divisor) * divisor
    signed = pl.when(one < 0).then(ZERO - rest).otherwise(rest)
    if positive:
        signed = pl.when(signed < 0).then(signed + divisor).otherwise(signed)
    kind = max((each.type for each in terms), key=lambda each: INTEGER_BITS[get_type_name(each)])
    return Term(signed.cast(pl.Int64), kind)


# days and times


def _of_day(terms: list[Term], guards: Guards, *, part: Callable[[pl.Expr], pl.Expr]) -> Term:
    return Term(part(as_date(terms[0], guards)).cast(pl.Int64), _INTEGER)


def _of_clock(terms: list[Term], _: Guards, *, unit: int, most: int) -> Term:
    if terms[0].type != Primitive("timestamp_ntz"):
        raise Undecided(f"the time of a {get_type_name(terms[0].type)}")
    return Term((terms[0].values % MICROSECONDS_OF_DAY) // unit % most, _INTEGER)


def _days_added(terms: list[Term], guards: Guards, *, sign: int) -> Term:
    if terms[0].type != _DATE:
        raise Undecided(f"days are added to a {get_type_name(terms[0].type)}")
    days = terms[0].values + sign * _integer_of(terms[1])
    guards.append(Guard(fits(days, _INTEGER), "a date is beyond its type"))
    return Term(days, _DATE)


def _days_between(terms: list[Term], guards: Guards) -> Term:
    if any(each.type != _DATE for each in terms):
        raise Undecided("the days between something else than dates")
    days = terms[0].values - terms[1].values
    guards.append(Guard(fits(days, _INTEGER), "a result is beyond integer"))
    return Term(days, _INTEGER)


def _to_date(terms: list[Term], guards: Guards) -> Term:
    if len(terms) != 1:
        raise Undecided("a date is read by a pattern")
    return cast(terms[0], "date", guards)


def _unix_date(terms: list[Term], _: Guards) -> Term:
    if terms[0].type != _DATE:
        raise Undecided(f"the day of a {get_type_name(terms[0].type)}")
    return Term(terms[0].values, _INTEGER)


FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys(("coalesce", "nvl", "ifnull"), _coalesce),
    "if": _if,
    "nvl2": _nvl2,
    "nullif": _nullif,
    "greatest": partial(_extreme, greatest=True),
    "least": partial(_extreme, greatest=False),
    "isnull": _is_null,
    "isnotnull": partial(_is_null, negated=True),
    "isnan": _is_nan,
    "equal_null": _equal_null,
    "not": _not,
    **dict.fromkeys(("length", "len", "char_length", "character_length"), _length),
    "octet_length": _octets,
    **dict.fromkeys(("upper", "ucase"), partial(_letters, upper=True)),
    **dict.fromkeys(("lower", "lcase"), partial(_letters, upper=False)),
    "trim": partial(_trimmed, side="both"),
    "ltrim": partial(_trimmed, side="left"),
    "rtrim": partial(_trimmed, side="right"),
    "concat": _concat,
    **dict.fromkeys(("substring", "substr"), _substring),
    "left": _left,
    "startswith": partial(_holds, place="start"),
    "endswith": partial(_holds, place="end"),
    "contains": partial(_holds, place="anywhere"),
    "abs": _abs,
    "mod": partial(_remainder, positive=False),
    "pmod": partial(_remainder, positive=True),
    "year": partial(_of_day, part=lambda day: day.dt.year()),
    "quarter": partial(_of_day, part=lambda day: day.dt.quarter()),
    "month": partial(_of_day, part=lambda day: day.dt.month()),
    **dict.fromkeys(("day", "dayofmonth"), partial(_of_day, part=lambda day: day.dt.day())),
    "dayofyear": partial(_of_day, part=lambda day: day.dt.ordinal_day()),
    "dayofweek": partial(_of_day, part=lambda day: day.dt.weekday() % 7 + 1),
    "weekday": partial(_of_day, part=lambda day: day.dt.weekday() - 1),
    "hour": partial(_of_clock, unit=3_600_000_000, most=24),
    "minute": partial(_of_clock, unit=60_000_000, most=60),
    "second": partial(_of_clock, unit=1_000_000, most=60),
    "date_add": partial(_days_added, sign=1),
    "date_sub": partial(_days_added, sign=-1),
    **dict.fromkeys(("datediff", "date_diff"), _days_between),
    "to_date": _to_date,
    "unix_date": _unix_date,
}
