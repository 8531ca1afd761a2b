"""What features of columns say: invariants, constraints, generated, default and identity columns.

Expressions are true of whatever rows statistics may tell of: `id` is above zero where one says so, and else they hold
for every value.
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
"""The generation expression that gives each row its `id` again; the other is constant."""
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
    """Texts of conditions that every row keeps; `positive`: whether every `id` is above zero."""
    return _CONDITIONS[positive]


def list_defaults(kind: str) -> tuple[str, ...]:
    """Texts that may be the default of a column of a type. A variant has no default but null."""
    if kind.startswith(_NUMBER_TYPES):
        return ("7", "NULL", "1 + 1")
    return _DEFAULTS.get(kind, ("NULL",))


def is_plain(column: Column) -> bool:
    """Whether a column is neither generated nor an identity column, so that it may have a default or become wider."""
    return not {GENERATED, START, INVARIANT} & {*column.metadata} and column.nullable


@st.composite
def special_columns(
    draw: st.DrawFn, columns: tuple[Column, ...], supported: Collection[str], positive: bool
) -> tuple[Column, ...]:
    """The columns with what the supported features may make of them, and columns of their own behind."""
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
