"""Column mapping: how logical columns are named in files and statistics. Source: chapter Column Mapping."""

from collections.abc import Iterator

from deltaspec.model.data_types import Array, DataType, Field, Map, Struct
from deltaspec.model.json_values import Number

MODE = "delta.columnMapping.mode"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"


def mode(configuration: dict[str, str], *, supported: bool) -> str | None:
    """`id` or `name` where column mapping is in force, else None.

    Args:
        configuration: of the table's metadata.
        supported: the protocol supports the feature `columnMapping`.
    """
    value = configuration.get(MODE, "none")
    return value if supported and value in ("id", "name") else None


def physical_name(field: Field, mapping: str | None) -> str:
    """The name of a field in data files: its logical name where column mapping is off or gives none."""
    name = field.metadata.get(PHYSICAL_NAME)
    return name if mapping and isinstance(name, str) else field.name


def column_id(field: Field) -> int | None:
    """The id of a field; None if it has none or one that is no 64-bit integer."""
    value = field.metadata.get(ID)
    number = int(value) if isinstance(value, Number) and value.is_integer and len(value) < 20 else None
    return number if number is not None and abs(number) < 2**63 else None


def physical_paths(
    kind: DataType, mapping: str | None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Every struct field with its physical path, in the order of `data_types.walk`."""
    match kind:
        case Struct(fields):
            for member in fields:
                here = (*path, physical_name(member, mapping))
                yield here, member
                yield from physical_paths(member.type, mapping, here)
        case Array(element):
            yield from physical_paths(element, mapping, (*path, "element"))
        case Map(key, value):
            yield from physical_paths(key, mapping, (*path, "key"))
            yield from physical_paths(value, mapping, (*path, "value"))


def partition_types(schema: Struct, partition_columns: list[str], mapping: str | None) -> dict[str, DataType]:
    """Physical name to type of the partition columns that the schema has.

    `partitionColumns` holds logical names, the keys of `partitionValues` are physical ones (S14).
    """
    by_name = {field.name: field for field in schema.fields}
    return {
        physical_name(by_name[name], mapping): by_name[name].type for name in partition_columns if name in by_name
    }
