"""Planted faults of identity columns: changes of their properties, and values in data files."""

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, remove_action
from planted_tables.bases.column_features import (
    build_identity_column,
    build_identity_table,
    build_table_with_column_history,
    get_first_add,
)
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("identity-columns.fixed")
def identity_begun_anew(draw: st.DrawFn) -> TableFiles:
    """The mark stays in the sequence."""
    changed = draw_one(draw, {"start": 98}, {"step": 1}, {"explicit": True}, {"explicit": None}, {"start": None})
    return build_table_with_column_history(
        build_identity_column(), build_identity_column(102), build_identity_column(104, **changed)
    )


@planted_fault("identity-columns.mark-updated")
def identity_mark_that_went_back(draw: st.DrawFn) -> TableFiles:
    step = draw_one(draw, 2, -2)
    marks = [100 + step * number for number in (3, 6)]
    after = draw_one(draw, marks[0], 100, None)
    return build_table_with_column_history(
        build_identity_column(step=step),
        build_identity_column(marks[1], step=step),
        build_identity_column(after, step=step),
    )


@planted_fault("identity-columns.mark-is-extreme", "rows")
def identity_value_that_the_mark_forgets(draw: st.DrawFn) -> TableFiles:
    step = draw_one(draw, 2, -2)
    values = [100, 100 + step, 100 + 2 * step]
    mark = draw_one(draw, None, 100, 100 + step)
    return build_identity_table((mark, values[:2] if mark == 100 else values), step=step)


@planted_fault("identity-columns.sequence", "rows")
def identity_value_out_of_sequence(draw: st.DrawFn) -> TableFiles:
    """Between two values of the sequence, or before its start."""
    step = draw_one(draw, 2, -2)
    invalid = draw(st.sampled_from([100 - step, 100 + step // 2, 100 + step + step // 2]))
    return build_identity_table((100 + 3 * step, [100, invalid, None, 100 + 3 * step]), step=step)


@planted_fault("identity-columns.unique", "rows")
def identity_value_given_twice(draw: st.DrawFn) -> TableFiles:
    """Within a file, or by a commit that generates a value of another file."""
    step = draw_one(draw, 1, -3)
    if draw(st.booleans()):
        return build_identity_table((100 + step, [100, 100 + step, 100]), step=step)
    first, last = 100 + step, 100 + 3 * step
    files = build_identity_table(
        (first, [100, first]), (100 + 2 * step, [100 + 2 * step]), (last, [first, last]), step=step
    )
    files.commits[3].append(remove_action(get_first_add(files, 2)))
    return files


@planted_fault("identity-columns.beyond-mark", "rows")
def identity_value_before_the_mark(draw: st.DrawFn) -> TableFiles:
    """A value before the mark that the sequence skipped."""
    step = draw_one(draw, 1, -1)
    left_out = 100 + step * draw(st.integers(1, 8))
    marks = 100 + 9 * step, 100 + 10 * step
    return build_identity_table((marks[0], [100, marks[0]]), (marks[1], [left_out, marks[1]]), step=step)
