"""Valid rows of invariants and generated columns."""

from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec_generators.table_files import TableFiles
from planted_tables.bases.expressions import (
    GENERATED_COLUMNS_PROTOCOL,
    INVARIANTS_PROTOCOL,
    build_constrained_table,
    build_fields,
    build_invariant_metadata,
    replace_last_row,
    rewrite_data_file,
)
from planted_tables.permissions.registry import permission


@permission("column-invariants.key", "rows")
def rows_that_keep_an_invariant() -> TableFiles:
    described = build_fields(
        id=build_invariant_metadata("id > 0 AND year(day) = year"), name=build_invariant_metadata("name IS NOT NULL")
    )
    return build_constrained_table(INVARIANTS_PROTOCOL, described)


@permission("column-invariants.in-force", "rows")
def rows_that_an_invariant_came_after() -> TableFiles:
    """The rows satisfy the invariant, although it was added after them."""
    files = build_constrained_table(
        INVARIANTS_PROTOCOL, build_fields(id=build_invariant_metadata("`ID` <=> id AND id < 4")), later=True
    )
    return rewrite_data_file(files, replace_last_row(id=-4))


@permission("generated-columns.key", "rows")
def values_that_their_expressions_give() -> TableFiles:
    described = build_fields(year={GENERATION_EXPRESSION: "YEAR(day)"}, price={GENERATION_EXPRESSION: "price"})
    return build_constrained_table(GENERATED_COLUMNS_PROTOCOL, described, table=replace_last_row(day=None, year=None))
