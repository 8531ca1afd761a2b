"""Mutations of identity columns: what of them changes from version to version, and the values in data files."""

from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, add_action, metadata_action, protocol_action
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
