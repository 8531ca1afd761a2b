"""Constraints and defaults come and go; the marks of identity columns move on."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from deltaspec_generators.log_draft import LogDraft, change
from deltaspec_generators.log_state import Body
from deltaspec_generators.special_columns import DEFAULT, MARK, START, conditions, defaults, plain
from deltaspec_generators.table_columns import Column

CONSTRAINT = "delta.constraints."


@change(lambda draft: "checkConstraints" in draft.features, weight=2)
def constrain(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """A constraint that all rows keep is added or dropped."""
    configuration = metadata["configuration"]
    named = sorted(name for name in configuration if name.startswith(CONSTRAINT))
    if bool(named) and draft.draw(st.booleans()):
        del configuration[draft.draw(st.sampled_from(named))]
        return
    name = draft.draw(st.sampled_from(("first", "second", "odd name")))
    configuration[CONSTRAINT + name] = draft.draw(st.sampled_from(conditions(draft.outline.positive)))


def _may_default(draft: LogDraft) -> bool:
    return "allowColumnDefaults" in draft.features and any(plain(each) for each in draft.columns)


@change(_may_default, weight=5)
def change_default(draft: LogDraft, metadata: Body, timestamp: int) -> None:
    """A column that was there gets a default, or another one, or loses its own."""
    places = [index for index, each in enumerate(draft.columns) if plain(each)]
    having = [index for index in places if DEFAULT in draft.columns[index].metadata]
    place = draft.draw(st.sampled_from(having + places))
    column = draft.columns[place]
    chosen = draft.draw(st.sampled_from((*defaults(column.kind), None)))
    if chosen is None:
        without = {name: each for name, each in column.metadata.items() if name != DEFAULT}
        column = replace(column, metadata=without)
    else:
        column = column.having({DEFAULT: chosen})
    draft.set_columns((*draft.columns[:place], column, *draft.columns[place + 1 :]), metadata)


def record_marks(draft: LogDraft) -> None:
    """The marks of identity columns, where the files of the commit moved them, in a metadata action."""

    def marked(column: Column) -> Column:
        mark = draft.marks.get(column.name) if START in column.metadata else None
        return column if mark is None else column.having({MARK: mark})

    columns = tuple(marked(each) for each in draft.columns)
    if columns != draft.columns:
        metadata = dict(draft.metadata)
        draft.set_columns(columns, metadata)
        draft.metadata = metadata
        draft.actions = [each for each in draft.actions if "metaData" not in each]
        draft.actions.append({"metaData": metadata})
