"""Draw the schema of a new table: columns of every type at every depth, without column ids."""

from collections.abc import Sequence

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec_generators.choices import Choices
from deltaspec_generators.values.arrow_values import DECIMALS, PRIMITIVES
from deltaspec_generators.values.plain_values import VOID

PARTITION_TYPES = tuple(name for name in PRIMITIVES if name != "variant")
_NAMES = ("c", "é", "C")


def draw_type(
    choices: Choices,
    *,
    names: Sequence[str] = PRIMITIVES,
    depth: int = 2,
    nesting: int = 1,
    decimals: bool = True,
    in_collection: bool = False,
    required: bool = True,
    collections: bool = True,
    decimal_types: Sequence[Decimal] = DECIMALS,
) -> DataType:
    """Draw the type of a column.

    Args:
        choices: source of choices.
        names: primitive types that may occur; `void` only as a field of a struct with other fields.
        depth: maximum nesting depth of structs, arrays and maps; 0 for none.
        nesting: weight of nested types.
        decimals: whether decimals may occur.
        in_collection: whether the type is inside an array or a map, where fields are nullable and not void.
        required: whether fields that are not nullable may occur.
        collections: whether arrays and maps may occur.
        decimal_types: decimals that may occur.
    """

    def draw_inner(in_collection: bool = True) -> DataType:
        return draw_type(
            choices,
            names=names,
            depth=depth - 1,
            nesting=nesting,
            decimals=decimals,
            in_collection=in_collection,
            required=required,
            collections=collections,
            decimal_types=decimal_types,
        )

    nested = (("struct", "array", "map") if collections else ("struct",)) + ("struct",) * in_collection
    shape = choices.pick(("primitive",) * 4 + (nested * nesting if depth else ()))
    match shape:
        case "struct":
            fields = []
            for index in choices.repeat(1, 3):
                nullable = in_collection or not required or not choices.chance(1, 6)
                fields.append(Field(f"f{index}", draw_inner(in_collection), nullable))
            if "void" in names and not in_collection and choices.chance(1, 2):
                fields.insert(choices.integer(0, len(fields)), Field("nothing", VOID, True))
            return Struct(tuple(fields))
        case "array":
            return Array(draw_inner(), choices.chance(1, 2))
        case "map":
            return Map(
                _draw_key_type(choices, names, decimal_types if decimals else ()), draw_inner(), choices.chance(1, 2)
            )
    stored = [name for name in names if name != "void"]
    return choices.pick(decimal_types) if decimals and choices.chance(1, 6) else Primitive(choices.pick(stored))


def _draw_key_type(choices: Choices, names: Sequence[str], decimal_types: Sequence[Decimal]) -> DataType:
    kinds: list[DataType] = [Primitive(name) for name in names if name not in ("variant", "void")]
    kinds.sort(key=lambda kind: kind != Primitive("string"))
    if decimal_types:
        kinds.append(choices.pick(decimal_types))
    return choices.pick(kinds or [Primitive("string")])


def draw_schema(
    choices: Choices,
    *,
    names: Sequence[str] = PRIMITIVES,
    depth: int = 2,
    nesting: int = 1,
    partitioned: bool = True,
    max_columns: int = 3,
    required: bool = True,
    collections: bool = True,
    decimal_types: Sequence[Decimal] = DECIMALS,
) -> tuple[Struct, tuple[str, ...]]:
    """Draw a schema without column ids, with its partition columns; a column `id` of type long always exists.

    Args:
        choices: source of choices.
        names: primitive types that may occur; `void` allows columns without values.
        depth: maximum nesting depth of structs, arrays and maps.
        nesting: weight of nested types.
        partitioned: whether to draw partition columns.
        max_columns: maximum number of columns besides `id`, void and partition columns.
        required: whether columns and fields that are not nullable may occur.
        collections: whether arrays and maps may occur.
        decimal_types: decimals that may occur.
    """
    stored_names = [name for name in names if name != "void"]
    fields = [Field("id", Primitive("long"), True)]
    for index in choices.repeat(0, max_columns):
        start = len(choices.sequence) - 1  # of the choice to continue
        kind = draw_type(
            choices,
            names=names,
            depth=depth,
            nesting=nesting,
            required=required,
            collections=collections,
            decimal_types=decimal_types,
        )
        fields.append(Field(f"{choices.pick(_NAMES)}{index}", kind, not (required and choices.chance(1, 4))))
        choices.joint_spans.setdefault(f"column {fields[-1].name}", []).append((start, len(choices.sequence)))
    if "void" in names and choices.chance(1, 4):
        fields.append(Field("nothing", VOID, True))
    kinds: list[DataType] = [Primitive(name) for name in stored_names if name in PARTITION_TYPES]
    count = choices.pick((0, 0, 1, 2)) if partitioned else 0
    partition = tuple(f"p{index}" for index in range(count))
    for name in partition:
        kind = choices.pick([*kinds, choices.pick(decimal_types)])
        fields.insert(choices.integer(0, len(fields)), Field(name, kind, True))
    return Struct(tuple(fields)), partition
