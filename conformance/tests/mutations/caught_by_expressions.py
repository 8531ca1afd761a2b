"""Mutations of what is said in SQL of rows."""

CAUGHT_BY: dict[str, str] = {
    "constraint_of_a_column_that_is_not_there": "CON030",
    "row_that_breaks_a_constraint": "ROW040",
    "generated_value_of_another_row": "ROW041",
    "value_of_rows_before_their_expression": "ROW042",
    "row_that_breaks_an_invariant": "ROW043",
    "row_that_an_invariant_came_after": "ROW044",
}
