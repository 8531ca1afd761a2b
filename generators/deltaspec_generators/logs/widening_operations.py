"""Operations of type widening on columns, struct fields, elements, keys and values."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from deltaspec.model.commit.type_widening import ICEBERG
from deltaspec_generators.logs import revision_features
from deltaspec_generators.logs.builder import LogBuilder, change
from deltaspec_generators.logs.column_features import is_plain
from deltaspec_generators.logs.columns import Column
from deltaspec_generators.logs.value_strategies import parse_decimal_type
from deltaspec_generators.table_state import Body

ENABLED = "delta.enableTypeWidening"
CHANGES = "delta.typeChanges"
_NESTED = {"array of short": ("array of long", "element"), "map of short": ("map of long", "key")}
"""Nested types that can be widened, with the field path of the change."""
_INTEGERS = ("byte", "short", "integer", "long")


def list_wider_kinds(kind: str, *, iceberg: bool, ntz: bool) -> list[str]:
    """List the types that a type may be widened to; `ntz` allows timestamps without time zone."""
    if kind in _NESTED:
        return [_NESTED[kind][0]]
    found = [*_INTEGERS[_INTEGERS.index(kind) + 1 :]] if kind in _INTEGERS else []
    if kind == "float":
        found.append("double")
    if kind.startswith("decimal"):
        precision, scale = parse_decimal_type(kind)
        found += [f"decimal({precision + 2},{scale})"] if precision <= 36 else []
    if iceberg:
        return found
    if kind in _INTEGERS[:3]:
        found += ["double", "decimal(10,0)", "decimal(14,3)"]
    if kind == "long":
        found += ["decimal(20,0)"]
    if kind == "date" and ntz:
        found += ["timestamp_ntz"]
    if kind.startswith("decimal"):
        found += [f"decimal({precision + 2},{scale + 1})"] if precision <= 36 else []
    return found


def _list_choices(builder: LogBuilder, column: Column) -> list[str]:
    ntz = bool(builder.features & {*revision_features.NTZ_FEATURES})
    # supporting Iceberg compatibility is enough to restrict widening, even if it is not enabled
    found = list_wider_kinds(
        column.kind, iceberg=bool(builder.iceberg_version or builder.features & {*ICEBERG}), ntz=ntz
    )
    if column.name in builder.metadata["partitionColumns"]:
        # Serialized partition values keep the format of the old type, which a timestamp or double cannot parse.
        found = [kind for kind in found if kind in _INTEGERS or kind.startswith("decimal")]
    return found


def _list_widenable(builder: LogBuilder) -> list[tuple[int, int | None]]:
    """List index of column and struct field of everything that can be widened; `id` only if there is nothing else."""
    found: list[tuple[int, int | None]] = []
    for index, column in enumerate(builder.columns):
        if is_plain(column) and not (column.name == "id" and builder.spec.positive):
            found += [(index, None)] if _list_choices(builder, column) else []
            found += [(index, inner) for inner, each in enumerate(column.fields) if _list_choices(builder, each)]
    return [each for each in found if each != (0, None)] or found


def _can_widen(builder: LogBuilder) -> bool:
    return builder.has_feature("typeWidening") and builder.is_enabled(ENABLED) and bool(_list_widenable(builder))


@change(_can_widen, weight=10)
def widen(builder: LogBuilder, metadata: Body, timestamp: int) -> None:
    """Widen types in the schema and record the changes."""
    positions = builder.draw(st.lists(st.sampled_from(_list_widenable(builder)), min_size=1, max_size=3, unique=True))
    columns = list(builder.columns)
    for index, inner in positions:
        column = columns[index]
        if inner is None:
            columns[index] = _widen_column(builder, column)
        else:
            field = _widen_column(builder, column.fields[inner])
            columns[index] = replace(column, fields=(*column.fields[:inner], field, *column.fields[inner + 1 :]))
    builder.set_columns(tuple(columns), metadata)


def _widen_column(builder: LogBuilder, column: Column) -> Column:
    kind = builder.draw(st.sampled_from(_list_choices(builder, column)))
    entry = {"toType": kind, "fromType": column.kind}
    if column.kind in _NESTED:
        entry = {"toType": "long", "fromType": "short", "fieldPath": _NESTED[column.kind][1]}
    return replace(column.with_metadata({CHANGES: [*column.metadata.get(CHANGES, []), entry]}), kind=kind)
