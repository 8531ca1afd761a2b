"""Operations on constraints, defaults and identity marks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from deltaspec_generators.logs.builder import LogBuilder, change
from deltaspec_generators.logs.column_features import (
    DEFAULT,
    HIGH_WATER_MARK,
    START,
    is_plain,
    list_conditions,
    list_defaults,
)
from deltaspec_generators.logs.columns import Column
from deltaspec_generators.table_state import Body

CONSTRAINT = "delta.constraints."


@change(lambda builder: "checkConstraints" in builder.features, weight=2)
def change_constraint(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Add or drop a constraint that all rows satisfy."""
    configuration = metadata["configuration"]
    named = sorted(name for name in configuration if name.startswith(CONSTRAINT))
    if bool(named) and builder.draw(st.booleans()):
        del configuration[builder.draw(st.sampled_from(named))]
        return
    name = builder.draw(st.sampled_from(("first", "second", "odd name")))
    configuration[CONSTRAINT + name] = builder.draw(st.sampled_from(list_conditions(builder.spec.positive)))


def _can_change_default(builder: LogBuilder) -> bool:
    return "allowColumnDefaults" in builder.features and any(is_plain(each) for each in builder.columns)


@change(_can_change_default, weight=5)
def change_default(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Add, change or drop the default of an existing column."""
    indexes = [index for index, each in enumerate(builder.columns) if is_plain(each)]
    with_metadata = [index for index in indexes if DEFAULT in builder.columns[index].metadata]
    chosen_index = builder.draw(st.sampled_from(with_metadata + indexes))
    column = builder.columns[chosen_index]
    chosen = builder.draw(st.sampled_from((*list_defaults(column.kind), None)))
    if chosen is None:
        without = {name: each for name, each in column.metadata.items() if name != DEFAULT}
        column = replace(column, metadata=without)
    else:
        column = column.with_metadata({DEFAULT: chosen})
    builder.set_columns((*builder.columns[:chosen_index], column, *builder.columns[chosen_index + 1 :]), metadata)


def record_identity_marks(builder: LogBuilder) -> None:
    """Add a metaData action with the identity marks if the files of the commit advanced them."""

    def with_mark(column: Column) -> Column:
        mark = builder.identity_marks.get(column.name) if START in column.metadata else None
        return column if mark is None else column.with_metadata({HIGH_WATER_MARK: mark})

    columns = tuple(with_mark(each) for each in builder.columns)
    if columns != builder.columns:
        metadata = dict(builder.metadata)
        builder.set_columns(columns, metadata)
        builder.metadata = metadata
        builder.actions = [each for each in builder.actions if "metaData" not in each]
        builder.actions.append({"metaData": metadata})
