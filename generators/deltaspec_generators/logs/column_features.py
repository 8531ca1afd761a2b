"""Column features: invariants, constraints, generated columns, default columns and identity columns.

Expressions are true for all rows that the drawn statistics allow: either `id` is positive in the whole table, or the
expression holds for every value.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from hypothesis import strategies as st

from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.logs.columns import Column

IDENTITY = "delta.identity."
START, STEP, HIGH_WATER_MARK = f"{IDENTITY}start", f"{IDENTITY}step", f"{IDENTITY}highWaterMark"
EXPLICIT_INSERT = f"{IDENTITY}allowExplicitInsert"
GENERATED = "delta.generationExpression"
INVARIANT = "delta.invariants"
DEFAULT = "CURRENT_DEFAULT"
COPY = "id"
"""Generation expression that copies `id`; the other one is constant."""
CONSTANT = "'X'"
_STEPS = ((1, 1), (100, -7), (-3, 5), (0, -1))
_CONDITIONS = {
    True: ("id > 0", "id IS NOT NULL AND (`id` >= 1 OR id = 0)"),
    False: ("id IS NULL OR id = id", "id <=> id"),
}
_DEFAULTS = {
    "string": ("'it''s'", "''", "CAST(NULL AS STRING)"),
    "boolean": ("true",),
    "binary": ("X'00FF'",),
    "date": ("DATE'2024-02-29'", "current_date()"),
    "timestamp": ("current_timestamp()", "TIMESTAMP'2024-01-02 03:04:05'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'2024-01-02 03:04:05'",),
}
_NUMBER_TYPES = ("long", "integer", "short", "byte", "double", "float", "decimal")


def list_conditions(positive: bool) -> tuple[str, ...]:
    """List conditions that every row satisfies; `positive` if every `id` is positive."""
    return _CONDITIONS[positive]


def list_defaults(kind: str) -> tuple[str, ...]:
    """List default expressions of a type; only NULL for a variant."""
    if kind.startswith(_NUMBER_TYPES):
        return ("7", "NULL", "1 + 1")
    return _DEFAULTS.get(kind, ("NULL",))


def is_plain(column: Column) -> bool:
    """Return whether a column may get a default or a wider type: it has no other column feature and is nullable."""
    return not {GENERATED, START, INVARIANT} & {*column.metadata} and column.nullable


@st.composite
def special_columns(
    draw: st.DrawFn, columns: tuple[Column, ...], supported: Collection[str], positive: bool
) -> tuple[Column, ...]:
    """Draw columns with supported column features; generated and identity columns are appended."""
    found = list(columns)
    if positive and "invariants" in supported:
        condition = draw(st.sampled_from((None, *list_conditions(positive))))
        if condition is None:
            found[0] = replace(found[0], nullable=False)
        else:
            found[0] = found[0].with_metadata({INVARIANT: encode_json({"expression": {"expression": condition}})})
    if "allowColumnDefaults" in supported and draw(st.booleans()):
        index = draw(st.integers(0, len(found) - 1))
        if is_plain(found[index]):
            found[index] = found[index].with_metadata(
                {DEFAULT: draw(st.sampled_from(list_defaults(found[index].kind)))}
            )
    if "generatedColumns" in supported and draw(st.booleans()):
        expression = draw(st.sampled_from((COPY, CONSTANT)))
        kind = "long" if expression == COPY else "string"
        found.append(Column("made", kind, "made", metadata={GENERATED: expression}))
    if "identityColumns" in supported and draw(st.booleans()):
        start, step = draw(st.sampled_from(_STEPS))
        metadata = {START: start, STEP: step, EXPLICIT_INSERT: draw(st.booleans())}
        found.append(Column("number", "long", "number", metadata=metadata))
    return tuple(found)
