"""Changes of a schema over time: column ids and physical names, and type widening."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from deltaspec.protocol.property_names import COLUMN_ID, NESTED_IDS, PHYSICAL_NAME, TYPE_CHANGES
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping, schema_string
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, descend
from deltaspec_generators.names import build_physical_name
from deltaspec_generators.values.plain_values import VOID

_WIDER_INTEGERS = {"byte": ("short", "integer", "long"), "short": ("integer", "long"), "integer": ("long",)}


def drop_void_columns(kind: Any) -> Any:
    """Remove void columns and fields, which data files do not contain, at every depth."""
    match kind:
        case Struct(fields):
            return Struct(
                tuple(replace(each, type=drop_void_columns(each.type)) for each in fields if each.type != VOID)
            )
        case Array(element):
            return replace(kind, element=drop_void_columns(element))
        case Map(key, value):
            return replace(kind, key=drop_void_columns(key), value=drop_void_columns(value))
    return kind


def drop_columns(data_type: Struct, names: Sequence[str]) -> Struct:
    """Remove these columns."""
    return Struct(tuple(each for each in data_type.fields if each.name not in names))


def replace_struct(kind: Any, path: Sequence[str], change: Callable[[Struct], Struct]) -> Any:
    """Replace the struct at a path of field names, elements, keys and values."""
    if not path:
        return change(kind)
    if isinstance(kind, Struct):
        fields = [
            replace(each, type=replace_struct(each.type, path[1:], change)) if each.name == path[0] else each
            for each in kind.fields
        ]
        return Struct(tuple(fields))
    return replace(kind, **{path[0]: replace_struct(getattr(kind, path[0]), path[1:], change)})


class ColumnIdSequence:
    """Sequence of column ids."""

    def __init__(self, last: int = 0) -> None:
        self.last = last

    def next(self) -> int:
        self.last += 1
        return self.last


def assign_column_ids(
    kind: Any,
    numbers: ColumnIdSequence,
    *,
    own_names: bool,
    nested: bool,
    revision: Revision = Revision.CURRENT,
) -> Any:
    """Assign an id and a physical name to all fields of a type, at every depth.

    Args:
        kind: a type without ids.
        numbers: sequence of ids.
        own_names: whether to create physical names; otherwise the logical names are kept, as in an upgraded table.
        nested: whether elements, keys and values get ids too.
        revision: protocol revision; the current one renamed the map of nested ids and its keys.
    """
    current = revision is Revision.CURRENT  # [Changed in current]

    def assign(kind: Any) -> Any:
        match kind:
            case Struct(fields):
                return Struct(tuple(map(assign_field, fields)))
            case Array(element):
                return replace(kind, element=assign(element))
            case Map(key, value):
                return replace(kind, key=assign(key), value=assign(value))
        return kind

    def assign_field(field: Field) -> Field:
        number = numbers.next()
        name = build_physical_name(number) if own_names else field.name
        metadata = {**field.metadata, COLUMN_ID: number, PHYSICAL_NAME: name}
        kind = assign(field.type)
        if nested:
            names = column_mapping.build_nested_names(replace(field, type=kind), name if current else field.name)
            if names:
                key = NESTED_IDS if current else column_mapping.NESTED_IDS_R3
                metadata[key] = {each: numbers.next() for each in names}
        return replace(field, type=kind, metadata=metadata)

    return assign(kind)


# type widening


def list_wider_types(data_type: DataType, *, ntz: bool, iceberg: bool = False) -> list[DataType]:
    """List the types that a type may be widened to.

    Args:
        data_type: type before.
        ntz: whether timestamps without time zone are allowed.
        iceberg: whether only changes that Iceberg knows are allowed.
    """
    found = _list_wider_types(data_type, ntz=ntz)
    return [each for each in found if _is_known_to_iceberg(data_type, each)] if iceberg else found


def _is_known_to_iceberg(before: DataType, after: DataType) -> bool:
    match before, after:
        case Decimal(_, old), Decimal(_, new):
            return old == new
        case Primitive("float"), _:
            return True
    return isinstance(after, Primitive) and after.name in _WIDER_INTEGERS["byte"]


def _list_wider_types(data_type: DataType, *, ntz: bool) -> list[DataType]:
    match data_type:
        case Primitive("byte" | "short" | "integer" as name):
            integers = [Primitive(each) for each in _WIDER_INTEGERS[name]]
            return [*integers, Primitive("double"), Decimal(10, 0), Decimal(14, 3)]
        case Primitive("long"):
            return [Decimal(20, 0), Decimal(38, 18)]
        case Primitive("float"):
            return [Primitive("double")]
        case Primitive("date"):
            return [Primitive("timestamp_ntz")] if ntz else []
        case Decimal(precision, scale) if precision <= 36:
            return [Decimal(precision + 2, scale), Decimal(precision + 2, scale + 1)]
    return []


def widen_field(field: Field, steps: Sequence[str], after: DataType) -> Field:
    """Widen the type of a field, or of the part of its arrays and maps with these steps; record it in its metadata."""
    before = descend(field.type, steps)[0]
    change = {"fromType": schema_string.to_json(before), "toType": schema_string.to_json(after)}
    if steps:
        change["fieldPath"] = ".".join(steps)
    changes = [*field.metadata.get(TYPE_CHANGES, []), change]
    kind = _replace_part(field.type, steps, after)
    return replace(field, type=kind, metadata={**field.metadata, TYPE_CHANGES: changes})


def _replace_part(kind: Any, steps: Sequence[str], after: DataType) -> Any:
    return replace(kind, **{steps[0]: _replace_part(getattr(kind, steps[0]), steps[1:], after)}) if steps else after


def list_widening_choices(field: Field, *, ntz: bool, iceberg: bool = False) -> list[tuple[tuple[str, ...], DataType]]:
    """List the arguments that `widen_field` accepts for a field."""

    def list_parts(data_type: DataType, steps: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], DataType]]:
        match data_type:
            case Array(element):
                yield from list_parts(element, (*steps, "element"))
            case Map(key, value):
                yield from list_parts(key, (*steps, "key"))
                yield from list_parts(value, (*steps, "value"))
            case _:
                yield from ((steps, after) for after in list_wider_types(data_type, ntz=ntz, iceberg=iceberg))

    return list(list_parts(field.type, ()))
