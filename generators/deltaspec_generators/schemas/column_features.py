"""Column features: invariants, constraints, generated columns, default columns and identity columns.

Expressions are true for all rows that logs describe: either `id` is positive in the whole table, or the expression
holds for every value.
"""

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.property_names import GENERATION_EXPRESSION, IDENTITY_PREFIX, INVARIANTS
from deltaspec.protocol.schema.data_types import DataType, Decimal, Field, Primitive, Struct
from deltaspec_generators.action_lines import encode_json
from deltaspec_generators.choices import Choices

START, STEP, HIGH_WATER_MARK = f"{IDENTITY_PREFIX}start", f"{IDENTITY_PREFIX}step", f"{IDENTITY_PREFIX}highWaterMark"
EXPLICIT_INSERT = f"{IDENTITY_PREFIX}allowExplicitInsert"
DEFAULT = "CURRENT_DEFAULT"
TEXT_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
COPY = "id"
"""Generation expression that copies `id`; the other one is constant."""
CONSTANT = "'X'"
_STEPS = ((1, 1), (100, -7), (-3, 5), (0, -1))
_CONDITIONS = {
    True: ("id > 0", "id IS NOT NULL AND (`id` >= 1 OR id = 0)"),
    False: ("id IS NULL OR id = id", "id <=> id"),
}
_NUMBERS = ("7", "NULL", "1 + 1")
_DEFAULTS = {
    "string": ("'it''s'", "''", "CAST(NULL AS STRING)"),
    "boolean": ("true",),
    "binary": ("X'00FF'",),
    "date": ("DATE'2024-02-29'", "current_date()"),
    "timestamp": ("current_timestamp()", "TIMESTAMP'2024-01-02 03:04:05'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'2024-01-02 03:04:05'",),
    **dict.fromkeys(("long", "integer", "short", "byte", "double", "float"), _NUMBERS),
}


def list_conditions(positive: bool) -> tuple[str, ...]:
    """List conditions that every row satisfies; `positive` if every `id` is positive."""
    return _CONDITIONS[positive]


def list_defaults(data_type: DataType) -> tuple[str, ...]:
    """List default expressions of a type; only NULL for variants and nested types."""
    match data_type:
        case Primitive(name):
            return _DEFAULTS.get(name, ("NULL",))
        case Decimal(precision, scale) if precision > scale:
            return _NUMBERS
    return ("NULL",)


def is_special(field: Field) -> bool:
    """Return whether the values of a column follow from a feature or must satisfy one."""
    return not {GENERATION_EXPRESSION, START, INVARIANTS}.isdisjoint(field.metadata)


def can_have_default(field: Field) -> bool:
    """Return whether a column may get a default expression, which may be NULL."""
    return field.nullable and not is_special(field)


def with_metadata(field: Field, metadata: dict[str, Any]) -> Field:
    """Return the field with additional metadata."""
    return replace(field, metadata=field.metadata | metadata)


def draw_special_columns(choices: Choices, schema: Struct, supported: Collection[str], *, positive: bool) -> Struct:
    """Draw columns with supported column features; generated and identity columns are appended."""
    found = [
        with_metadata(each, {TEXT_TYPE: choices.pick(("char(5)", "varchar(10)"))})
        if each.type == Primitive("string") and choices.chance(2, 3)
        else each
        for each in schema.fields
    ]
    at = [each.name for each in found].index("id")
    if positive and "invariants" in supported:
        condition = choices.pick((None, *list_conditions(positive)))
        if condition is None:
            found[at] = replace(found[at], nullable=False)
        else:
            found[at] = with_metadata(found[at], {INVARIANTS: encode_json({"expression": {"expression": condition}})})
    if "allowColumnDefaults" in supported and choices.chance(1, 2):
        index = choices.choose(len(found))
        if can_have_default(found[index]):
            found[index] = with_metadata(found[index], {DEFAULT: choices.pick(list_defaults(found[index].type))})
    if "generatedColumns" in supported and choices.chance(1, 2):
        expression = choices.pick((COPY, CONSTANT))
        kind = Primitive("long" if expression == COPY else "string")
        found.append(Field("made", kind, True, {GENERATION_EXPRESSION: expression}))
    if "identityColumns" in supported and choices.chance(1, 2):
        start, step = choices.pick(_STEPS)
        metadata = {START: start, STEP: step, EXPLICIT_INSERT: choices.chance(1, 2)}
        found.append(Field("number", Primitive("long"), True, metadata))
    return Struct(tuple(found))
