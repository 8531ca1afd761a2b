"""Mutations of identity columns: what of them changes from version to version, and the values in data files."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, add_action, metadata_action, protocol_action, remove_action
from deltaspec_generators.data_bases import stored
from deltaspec_generators.mutations import mutation, pick


def identity(
    mark: int | None = None, *, start: int = 100, step: int = 2, explicit: bool = False, **more: Any
) -> dict[str, Any]:
    """An identity column `id`; `more` of its metadata by the last word of the key."""
    told = {"start": start, "step": step, "highWaterMark": mark, "allowExplicitInsert": explicit, **more}
    metadata = {f"delta.identity.{name}": value for name, value in told.items() if value is not None}
    return {"name": "id", "type": "long", "nullable": True, "metadata": metadata}


def life(*columns: dict[str, Any], adds: bool = True, writer: int = 6) -> TableFiles:
    """A table that gets a file at each version from the second on; `columns` is its identity column at each."""
    files = TableFiles()
    for version, column in enumerate(columns):
        files.commits[version] = [commit_info(version), metadata_action([column, ("name", "string")])]
        if version == 0:
            files.commits[0].insert(1, protocol_action(1, writer))
        elif adds:
            files.commits[version].append(add_action(f"{version}.parquet", rows=2))
    return files


@mutation("identity-columns.fixed")
def identity_begun_anew(draw: st.DrawFn) -> TableFiles:
    """The mark stays in the sequence all the same."""
    changed = pick(draw, {"start": 98}, {"step": 1}, {"explicit": True}, {"explicit": None}, {"start": None})
    return life(identity(), identity(102), identity(104, **changed))


@mutation("identity-columns.mark-updated")
def identity_mark_that_went_back(draw: st.DrawFn) -> TableFiles:
    step = pick(draw, 2, -2)
    marks = [100 + step * number for number in (3, 6)]
    after = pick(draw, marks[0], 100, None)
    return life(identity(step=step), identity(marks[1], step=step), identity(after, step=step))


def filled(*writes: tuple[int | None, Sequence[int | None]], step: int = 2, **more: Any) -> TableFiles:
    """A table with a file for each write from version 1 on: the mark after it, and the values of its rows."""
    columns = [identity(step=step, **more), *(identity(mark, step=step, **more) for mark, _ in writes)]
    files = life(*columns, adds=False)
    for version, (_, values) in enumerate(writes, 1):
        rows = pa.table({"id": pa.array(values, pa.int64()), "name": pa.array(["x"] * len(values))})
        files.commits[version].append(stored(files, f"{version}.parquet", rows))
    return files


@mutation("identity-columns.mark-is-extreme", "rows")
def identity_value_that_the_mark_forgets(draw: st.DrawFn) -> TableFiles:
    step = pick(draw, 2, -2)
    values = [100, 100 + step, 100 + 2 * step]
    mark = pick(draw, None, 100, 100 + step)
    return filled((mark, values[:2] if mark == 100 else values), step=step)


@mutation("identity-columns.sequence", "rows")
def identity_value_out_of_sequence(draw: st.DrawFn) -> TableFiles:
    """Between two values of the sequence, or before its start."""
    step = pick(draw, 2, -2)
    odd = draw(st.sampled_from([100 - step, 100 + step // 2, 100 + step + step // 2]))
    return filled((100 + 3 * step, [100, odd, None, 100 + 3 * step]), step=step)


@mutation("identity-columns.unique", "rows")
def identity_value_given_twice(draw: st.DrawFn) -> TableFiles:
    """Within a file; or by a commit that replaces a file, and generates a value that another has."""
    step = pick(draw, 1, -3)
    if draw(st.booleans()):
        return filled((100 + step, [100, 100 + step, 100]), step=step)
    first, last = 100 + step, 100 + 3 * step
    files = filled((first, [100, first]), (100 + 2 * step, [100 + 2 * step]), (last, [first, last]), step=step)
    files.commits[3].append(remove_action(_add(files, 2)))
    return files


@mutation("identity-columns.beyond-mark", "rows")
def identity_value_before_the_mark(draw: st.DrawFn) -> TableFiles:
    """A value that the sequence left out before, or that a row had which is deleted."""
    step = pick(draw, 1, -1)
    left_out = 100 + step * draw(st.integers(1, 8))
    marks = 100 + 9 * step, 100 + 10 * step
    return filled((marks[0], [100, marks[0]]), (marks[1], [left_out, marks[1]]), step=step)


def _add(files: TableFiles, version: int) -> dict[str, Any]:
    return next(line for line in files.commits[version] if isinstance(line, dict) and "add" in line)
