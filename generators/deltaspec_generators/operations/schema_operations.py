"""Operations that change the columns of a table, and the fields inside them at every depth."""

from collections.abc import Iterator

from msgspec.structs import replace

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, TYPE_WIDENING
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Primitive, Struct
from deltaspec.protocol.schema.type_changes import (
    ICEBERG,
)
from deltaspec_generators.operations.registry import can_change_metadata, operation
from deltaspec_generators.schemas.changes import (
    assign_column_ids,
    list_widening_choices,
    widen_field,
)
from deltaspec_generators.schemas.column_features import is_special
from deltaspec_generators.schemas.drawing import draw_type
from deltaspec_generators.tables.builder import TableBuilder
from deltaspec_generators.tables.features import NTZ_FEATURES
from deltaspec_generators.values.plain_values import VOID

Path = tuple[str, ...]
"""Names of fields, and `element`, `key` and `value` in arrays and maps."""


def iter_structs(data_type: DataType, path: Path = ()) -> Iterator[tuple[Path, Struct]]:
    """Yield every struct in a type with its path; not inside map keys, whose values must stay different."""
    match data_type:
        case Struct(fields):
            yield path, data_type
            for each in fields:
                yield from iter_structs(each.type, (*path, each.name))
        case Array(element):
            yield from iter_structs(element, (*path, "element"))
        case Map(_, value):
            yield from iter_structs(value, (*path, "value"))


def _name_depth(path: Path) -> str:
    """Return the location of a struct: `column`, `struct`, `list` or `map`, by the outermost collection."""
    if not path:
        return "column"
    return "list" if "element" in path else "map" if "value" in path else "struct"


def _draw_struct(builder: TableBuilder, structs: list[Path]) -> Path:
    """Draw the table itself or, where that extra may be drawn, a struct inside a column."""
    inner = [path for path in structs if path]
    root = () in structs
    if inner and "nested" in builder.options.extras and (not root or builder.choices.chance(2, 3)):
        return builder.choices.pick(inner)
    return builder.choices.pick(structs if root else inner)


def draw_field(builder: TableBuilder, siblings: tuple[Field, ...]) -> Field:
    """Draw a new nullable field; it may have the name of a former column."""
    kind: DataType = Primitive(builder.choices.pick(("string", "long")))
    name = f"new{builder.next_number()}"
    if "nested" in builder.options.extras:
        taken = {each.name.lower() for each in siblings}
        former = sorted(each for each in builder.former_names if each.lower() not in taken)
        if former and builder.choices.chance(2, 3):
            name = builder.choices.pick(former)
            builder.record("column:name-reused")
        if builder.choices.chance(1, 2):
            names = [each for each in builder.options.names if each not in ("timestamp_ntz", "variant", "void")]
            collections = builder.iceberg_version != 1
            kind = draw_type(builder.choices, names=names, depth=1, in_collection=True, collections=collections)
    new = Field(name, kind, True)
    if not builder.mapping:
        return new
    numbered: Struct = assign_column_ids(
        Struct((new,)),
        builder.column_ids,
        own_names=True,
        nested=builder.spec.nested_ids,
        revision=builder.revision,
    )
    return numbered.fields[0]


@operation(can_change_metadata, log_weight=2)
def add_column(builder: TableBuilder) -> None:
    """Add a column; older files have null for it."""
    new = draw_field(builder, builder.schema.fields)
    builder.change_struct((), lambda fields: (*fields, new))


def _list_inner_structs(builder: TableBuilder) -> list[Path]:
    deep = "nested" in builder.options.extras
    return [path for path, _ in iter_structs(builder.schema) if path and (deep or len(path) == 1)]


@operation(lambda builder: can_change_metadata(builder) and bool(_list_inner_structs(builder)))
def add_field(builder: TableBuilder) -> None:
    """Add a field to a struct; older files have null for it."""
    path = builder.choices.pick(_list_inner_structs(builder))
    siblings = dict(iter_structs(builder.schema))[path].fields
    new = draw_field(builder, siblings)
    at = builder.choices.pick((len(siblings), 0)) if "nested" in builder.options.extras else len(siblings)
    builder.record(f"field-added:{_name_depth(path)}")
    builder.change_struct(path, lambda fields: (*fields[:at], new, *fields[at:]))


def _list_droppable_fields(builder: TableBuilder, path: Path, data_type: Struct) -> list[Field]:
    """List fields of a struct that can be dropped or renamed."""
    if not path:
        kept = {"id", *builder.partition_columns, *builder.clustering}
        return [each for each in data_type.fields if each.type != VOID and each.name not in kept]
    if path[0] in builder.clustering:
        return []
    stored = [each for each in data_type.fields if each.type != VOID]
    return stored if len(stored) > 1 else []


def _list_droppable_structs(builder: TableBuilder) -> list[Path]:
    deep = "nested" in builder.options.extras
    return [
        path
        for path, kind in iter_structs(builder.schema)
        if (deep or not path) and _list_droppable_fields(builder, path, kind)
    ]


def _can_drop(builder: TableBuilder) -> bool:
    return can_change_metadata(builder) and builder.mapping is not None and bool(_list_droppable_structs(builder))


def _draw_droppable(builder: TableBuilder) -> tuple[Path, Field]:
    path = _draw_struct(builder, _list_droppable_structs(builder))
    kind = dict(iter_structs(builder.schema))[path]
    return path, builder.choices.pick(_list_droppable_fields(builder, path, kind))


@operation(_can_drop)
def drop_column(builder: TableBuilder) -> None:
    """Drop a column or a field; older files still contain it."""
    path, dropped = _draw_droppable(builder)
    builder.record(f"field-dropped:{_name_depth(path)}")
    builder.former_names |= set() if path else {dropped.name}
    builder.change_struct(path, lambda fields: (each for each in fields if each.name != dropped.name))


@operation(_can_drop, weight=2)
def rename_column(builder: TableBuilder) -> None:
    """Rename a column or a field; files keep its physical name."""
    path, old = _draw_droppable(builder)
    name = f"re named.{builder.next_number()}"
    builder.record(f"field-renamed:{_name_depth(path)}")
    builder.former_names |= set() if path else {old.name}
    builder.change_struct(
        path, lambda fields: (replace(each, name=name) if each.name == old.name else each for each in fields)
    )


@operation(can_change_metadata, extra="nested")
def reorder_columns(builder: TableBuilder) -> None:
    """Change the order of the columns, or of the fields of a struct."""
    path = _draw_struct(builder, [path for path, _ in iter_structs(builder.schema)])
    builder.record(f"field-reordered:{_name_depth(path)}")
    builder.change_struct(path, builder.choices.shuffle)


def _is_free(builder: TableBuilder, path: Path, field: Field) -> bool:
    """Return whether nothing depends on the values of a field."""
    return not is_special(field) and (bool(path) or field.name != "id" or not builder.spec.positive)


def _list_widenable_fields(builder: TableBuilder) -> list[tuple[Path, str, Path, DataType]]:
    """List struct, field, steps into its collections and the type there, of everything that can be widened."""
    ntz = not builder.features.isdisjoint(NTZ_FEATURES)
    # Supporting Iceberg compatibility is enough to restrict widening, even if it is not enabled.
    iceberg = bool(builder.iceberg_version) or not builder.features.isdisjoint(ICEBERG)
    deep = "nested" in builder.options.extras
    found = []
    for path, kind in iter_structs(builder.schema):
        if not deep and (len(path) > 1):
            continue
        for each in kind.fields:
            is_partition = not path and each.name in builder.partition_columns
            for steps, inner in list_widening_choices(each, ntz=ntz, iceberg=iceberg):
                allowed = builder.writer.can_widen_partition(inner) if is_partition else _is_free(builder, path, each)
                if allowed and (deep or steps in ((), ("element",))):
                    found.append((path, each.name, steps, inner))
    return found


@operation(
    lambda builder: (
        can_change_metadata(builder) and builder.is_enabled(TYPE_WIDENING) and bool(_list_widenable_fields(builder))
    ),
    weight=3,
    log_weight=20,
)
def widen(builder: TableBuilder) -> None:
    """Widen a column, a field, elements, keys or values; older files keep the narrower type."""
    options = _list_widenable_fields(builder)
    # One position first, so that positions with many wider types are not drawn more often.
    path, name, steps = builder.choices.pick(list(dict.fromkeys(each[:3] for each in options)))
    after = builder.choices.pick([each[3] for each in options if each[:3] == (path, name, steps)])
    builder.record(f"widened:{steps[-1] if steps else 'field' if path else 'column'}")
    builder.change_struct(
        path,
        lambda fields: (widen_field(each, steps, after) if each.name == name else each for each in fields),
    )


def _can_enable_mapping(builder: TableBuilder) -> bool:
    return can_change_metadata(builder) and "columnMapping" in builder.features and builder.mapping is None


@operation(_can_enable_mapping)
def enable_mapping(builder: TableBuilder) -> None:
    """Enable column mapping on an existing table; older files have the names but no field ids."""
    builder.schema = assign_column_ids(builder.schema, builder.column_ids, own_names=False, nested=False)
    builder.write_properties({COLUMN_MAPPING_MODE: "name"})
