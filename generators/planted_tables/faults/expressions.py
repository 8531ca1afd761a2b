"""Planted faults of SQL expressions: rows that violate them, and expressions on unknown columns."""

from datetime import date

from hypothesis import strategies as st

from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec_generators.table_files import TableFiles, commit_info_action, metadata_action
from planted_tables.bases import log_only
from planted_tables.bases.expressions import (
    CONSTRAINTS_PROTOCOL,
    GENERATED_COLUMNS_PROTOCOL,
    INVARIANTS_PROTOCOL,
    build_constrained_table,
    build_fields,
    build_invariant_metadata,
    replace_last_row,
    rewrite_data_file,
)
from planted_tables.faults.registry import draw_one, planted_fault

YEAR_METADATA = {GENERATION_EXPRESSION: "YEAR(day)"}


@planted_fault("check-constraints.columns")
def constraint_of_a_column_that_is_not_there(draw: st.DrawFn) -> TableFiles:
    unknown = draw_one(draw, "total > 0", "id > 0 AND `id ` < 9", "name.first IS NOT NULL", "`id.x` = 1 OR id > 0")
    return log_only.build_table(protocol=CONSTRAINTS_PROTOCOL, configuration={"delta.constraints.positive": unknown})


@planted_fault("generated-columns.key")
def generated_from_a_column_that_is_not_there(draw: st.DrawFn) -> TableFiles:
    """From the first commit, or since a commit that drops the column."""
    generated = {"name": "g", "type": "long", "nullable": True, "metadata": {GENERATION_EXPRESSION: "total + 1"}}
    before = draw_one(draw, [generated], [("total", "long"), generated])
    files = log_only.build_table(protocol=GENERATED_COLUMNS_PROTOCOL, fields=[("id", "long"), *before])
    if len(before) > 1:
        files.commits[3] = [commit_info_action(3), metadata_action([("id", "long"), generated])]
    return files


@planted_fault("column-invariants.form")
def invariant_of_a_column_that_is_not_there(draw: st.DrawFn) -> TableFiles:
    metadata = build_invariant_metadata(draw_one(draw, "total > 0", "id < 9 OR name.first = 'x'"))
    field = {"name": "id", "type": "long", "nullable": True, "metadata": metadata}
    return log_only.build_table(protocol=INVARIANTS_PROTOCOL, fields=[field, ("name", "string")])


@planted_fault("check-constraints.rows", "rows")
def row_that_breaks_a_constraint(draw: st.DrawFn) -> TableFiles:
    """The expression is false or null, on one column or several."""
    expression, table = draw_one(
        draw,
        ("id > 0", replace_last_row(id=0)),
        ("id > 0", replace_last_row(id=None)),
        ("`ID` BETWEEN 1 AND 3 OR name = 'x'", replace_last_row(id=4)),
        ("name NOT LIKE 'Straße_%' AND NOT name = 'b'", replace_last_row(name="Straßen")),
        ("day > '1900-01-01'", replace_last_row(day=date(1899, 12, 31))),
        ("price <= 0.5 OR price > 1e300", replace_last_row(price=0.6)),
        ("id % 4 IN (1, 2, 3)", replace_last_row(id=8)),
        ("name IS NULL OR name <> 'gone'", replace_last_row(name="gone")),
    )
    later = draw(st.booleans())  # the constraint also applies to rows that existed before it
    return build_constrained_table(
        CONSTRAINTS_PROTOCOL, build_fields(), {"delta.constraints.c": expression}, table, later=later
    )


@planted_fault("generated-columns.values", "rows")
def generated_value_of_another_row(draw: st.DrawFn) -> TableFiles:
    described, table = draw_one(
        draw,
        (build_fields(year=YEAR_METADATA), replace_last_row(year=1970)),
        (build_fields(year=YEAR_METADATA), replace_last_row(year=None)),
        (build_fields(year=YEAR_METADATA), replace_last_row(day=None)),
        (build_fields(year={GENERATION_EXPRESSION: "CAST(id AS INT) + 1967 - 1"}), replace_last_row(year=1968)),
        (build_fields(year={GENERATION_EXPRESSION: "YEAR(day) * 2 DIV 2"}), replace_last_row(year=1968)),
    )
    return build_constrained_table(GENERATED_COLUMNS_PROTOCOL, described, table=table)


@planted_fault("generated-columns.values", "rows")
def value_of_rows_before_their_expression(draw: st.DrawFn) -> TableFiles:
    """The rows are older than the expression, or they were rewritten after it."""
    files = build_constrained_table(
        GENERATED_COLUMNS_PROTOCOL, build_fields(year=YEAR_METADATA), table=replace_last_row(year=5), later=True
    )
    return rewrite_data_file(files, replace_last_row(year=5)) if draw(st.booleans()) else files


@planted_fault("column-invariants.rows-refused", "rows")
def row_that_breaks_an_invariant(draw: st.DrawFn) -> TableFiles:
    described, table = draw_one(
        draw,
        (build_fields(id=build_invariant_metadata("id > 0")), replace_last_row(id=-5)),
        (build_fields(id=build_invariant_metadata("id > 0")), replace_last_row(id=None)),
        (build_fields(name=build_invariant_metadata("name IS NOT NULL")), replace_last_row(name=None)),
        (build_fields(id=build_invariant_metadata("price = price")), replace_last_row(price=None)),
    )
    return build_constrained_table(INVARIANTS_PROTOCOL, described, table=table)


@planted_fault("column-invariants.rows-refused", "rows")
def row_that_an_invariant_came_after(draw: st.DrawFn) -> TableFiles:
    broken = replace_last_row(id=draw_one(draw, 0, None))
    return build_constrained_table(
        INVARIANTS_PROTOCOL, build_fields(id=build_invariant_metadata("id > 0")), table=broken, later=True
    )
