"""Rows that keep what the metadata of their columns says of them in SQL."""

from deltaspec_generators.builder import TableFiles
from deltaspec_generators.expression_bases import (
    GENERATED,
    INVARIANTS,
    YEAR,
    fields,
    held_to,
    invariant,
    moved,
    with_values,
)
from deltaspec_generators.permissions import permission


@permission("column-invariants.key", "rows")
def rows_that_keep_an_invariant() -> TableFiles:
    described = fields(id=invariant("id > 0 AND year(day) = year"), name=invariant("name IS NOT NULL"))
    return held_to(INVARIANTS, described)


@permission("column-invariants.in-force", "rows")
def rows_that_an_invariant_came_after() -> TableFiles:
    """They keep it, though nothing holds them to it."""
    files = held_to(INVARIANTS, fields(id=invariant("`ID` <=> id AND id < 4")), later=True)
    return moved(files, with_values(id=-4))


@permission("generated-columns.key", "rows")
def values_that_their_expressions_give() -> TableFiles:
    described = fields(year={YEAR: "YEAR(day)"}, price={YEAR: "if(id = 1, 0.5D, price)"})
    return held_to(GENERATED, described, table=with_values(day=None, year=None))
