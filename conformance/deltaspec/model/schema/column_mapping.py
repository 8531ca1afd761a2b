"""Column mapping: how logical columns are named in files and statistics. Source: chapter Column Mapping."""

from collections.abc import Iterator
from typing import Any

from deltaspec.model.json_values import Number
from deltaspec.model.schema.data_types import Array, DataType, Field, Map, Struct, iter_fields

MODE = "delta.columnMapping.mode"
MAX_COLUMN_ID = "delta.columnMapping.maxColumnId"
ID = "delta.columnMapping.id"
PHYSICAL_NAME = "delta.columnMapping.physicalName"
NESTED_IDS = "delta.columnMapping.nested.ids"
# [Changed in current] the key of nested ids in r3, where their names also begin with the logical name.
NESTED_IDS_R3 = "parquet.field.nested.ids"


def get_mapping_mode(configuration: dict[str, str], *, supported: bool) -> str | None:
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
    return _integer(field.metadata.get(ID))


def _integer(value: Any) -> int | None:
    if isinstance(value, Number):
        number = int(value) if value.is_integer and len(value) <= 20 else None
    else:
        number = value if type(value) is int else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def max_column_id(schema: Struct) -> int | None:
    """The highest id of a column, nested ones included; None if no column has one. See `nested_ids` for the rest."""
    ids = [column_id(field) for _, field in iter_fields(schema)]
    return max((each for each in ids if each is not None), default=None)


def nested_ids(field: Field, key: str = NESTED_IDS) -> dict[str, int | None]:
    """Ids of array elements, map keys and map values below a field, up to the next struct field; None where one is bad.

    Args:
        field: the nearest struct field above them.
        key: under which its metadata has them.

    Source: Writer Requirements for IcebergCompatV2.
    """
    ids = field.metadata.get(key)
    return {name: _integer(value) for name, value in ids.items()} if isinstance(ids, dict) else {}


def build_nested_names(field: Field, root: str) -> list[str]:
    """The names that `nested_ids` of a field has to have, parents first.

    Args:
        field: a struct field.
        root: what they begin with: its physical name. [Changed in current] its logical name in r3.
    """
    return [".".join(path) for path in _containers(field.type, (root,))]


def _containers(kind: DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match kind:
        case Array(element):
            yield (*path, "element")
            yield from _containers(element, (*path, "element"))
        case Map(key, value):
            yield (*path, "key")
            yield from _containers(key, (*path, "key"))
            yield (*path, "value")
            yield from _containers(value, (*path, "value"))


def list_physical_paths(
    kind: DataType, mapping: str | None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Every struct field with its physical path, in the order of `data_types.walk`."""
    match kind:
        case Struct(fields):
            for member in fields:
                here = (*path, physical_name(member, mapping))
                yield here, member
                yield from list_physical_paths(member.type, mapping, here)
        case Array(element):
            yield from list_physical_paths(element, mapping, (*path, "element"))
        case Map(key, value):
            yield from list_physical_paths(key, mapping, (*path, "key"))
            yield from list_physical_paths(value, mapping, (*path, "value"))


def partition_types(schema: Struct, partition_columns: list[str], mapping: str | None) -> dict[str, DataType]:
    """Physical name to type of the partition columns that the schema has.

    `partitionColumns` holds logical names, the keys of `partitionValues` are physical ones (S14).
    """
    by_name = {field.name: field for field in schema.fields}
    return {physical_name(by_name[name], mapping): by_name[name].type for name in partition_columns if name in by_name}


def physical_partition_columns(schema: Struct, partition_columns: list[str], mapping: str | None) -> list[str]:
    """The keys of `partitionValues`, in the order of `partitionColumns`; a column the schema lacks keeps its name."""
    by_name = {field.name: field for field in schema.fields}
    return [physical_name(by_name[name], mapping) if name in by_name else name for name in partition_columns]
