"""Rows that break what the metadata of their table says of them in SQL; and SQL that speaks of columns of no schema."""

from datetime import date

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.expression_bases import (
    CONSTRAINTS,
    GENERATED,
    INVARIANTS,
    YEAR,
    fields,
    held_to,
    invariant,
    moved,
    with_values,
)
from deltaspec_generators.mutations import mutation, pick

OF_YEAR = {YEAR: "YEAR(day)"}


@mutation("check-constraints.columns")
def constraint_of_a_column_that_is_not_there(draw: st.DrawFn) -> TableFiles:
    unknown = pick(draw, "total > 0", "id > 0 AND `id ` < 9", "name.first IS NOT NULL", "`id.x` = 1 OR id > 0")
    return bases.plain(protocol=CONSTRAINTS, configuration={"delta.constraints.positive": unknown})


@mutation("check-constraints.rows", "rows")
def row_that_breaks_a_constraint(draw: st.DrawFn) -> TableFiles:
    """False, or null; of one column, or of several."""
    expression, table = pick(
        draw,
        ("id > 0", with_values(id=0)),
        ("id > 0", with_values(id=None)),
        ("`ID` BETWEEN 1 AND 3 OR name = 'x'", with_values(id=4)),
        ("length(name) < 7 AND NOT name = 'b'", with_values(name="Straßen")),
        ("day > '1900-01-01'", with_values(day=date(1899, 12, 31))),
        ("price <= 0.5 OR price > 1e300", with_values(price=0.6)),
        ("id % 4 IN (1, 2, 3)", with_values(id=8)),
        ("coalesce(name, '') <> 'gone'", with_values(name="gone")),
    )
    later = draw(st.booleans())  # then too, every row of the table is held to it
    return held_to(CONSTRAINTS, fields(), {"delta.constraints.c": expression}, table, later=later)


@mutation("generated-columns.values", "rows")
def generated_value_of_another_row(draw: st.DrawFn) -> TableFiles:
    described, table = pick(
        draw,
        (fields(year=OF_YEAR), with_values(year=1970)),
        (fields(year=OF_YEAR), with_values(year=None)),
        (fields(year=OF_YEAR), with_values(day=None)),
        (fields(year={YEAR: "CAST(id AS INT) + 1967 - 1"}), with_values(year=1968)),
        (fields(name={YEAR: "CASE WHEN id = 1 THEN 'a' WHEN id = 2 THEN 'Straße' ELSE '' END"}), with_values(name="b")),
    )
    return held_to(GENERATED, described, table=table)


@mutation("generated-columns.values", "rows")
def value_of_rows_before_their_expression(draw: st.DrawFn) -> TableFiles:
    """The rows came before the expression, or it cannot be told: they were written again since."""
    files = held_to(GENERATED, fields(year=OF_YEAR), table=with_values(year=5), later=True)
    return moved(files, with_values(year=5)) if draw(st.booleans()) else files


@mutation("column-invariants.rows-refused", "rows")
def row_that_breaks_an_invariant(draw: st.DrawFn) -> TableFiles:
    described, table = pick(
        draw,
        (fields(id=invariant("id > 0")), with_values(id=-5)),
        (fields(id=invariant("id > 0")), with_values(id=None)),
        (fields(name=invariant("name IS NOT NULL")), with_values(name=None)),
        (fields(id=invariant("price = price")), with_values(price=None)),
    )
    return held_to(INVARIANTS, described, table=table)


@mutation("column-invariants.rows-refused", "rows")
def row_that_an_invariant_came_after(draw: st.DrawFn) -> TableFiles:
    broken = with_values(id=pick(draw, 0, None))
    return held_to(INVARIANTS, fields(id=invariant("id > 0")), table=broken, later=True)
