"""Column mapping: the names of logical columns in data files and statistics. Source: chapter Column Mapping."""

from collections.abc import Iterator
from typing import Any

from deltaspec.protocol.json_values import Number
from deltaspec.protocol.property_names import COLUMN_ID, COLUMN_MAPPING_MODE, NESTED_IDS, PHYSICAL_NAME
from deltaspec.protocol.schema.data_types import Array, DataType, Field, Map, Struct, iter_fields

# [Changed in current] In r3, nested ids have this key, and their names begin with the logical name.
NESTED_IDS_R3 = "parquet.field.nested.ids"


def get_mapping_mode(configuration: dict[str, str], *, supported: bool) -> str | None:
    """Return the mode, `id` or `name`, or None if column mapping is off.

    Args:
        configuration: `configuration` of the table's metadata.
        supported: Whether the protocol supports the feature `columnMapping`.
    """
    value = configuration.get(COLUMN_MAPPING_MODE, "none")
    return value if supported and value in ("id", "name") else None


def physical_name(field: Field, mapping: str | None) -> str:
    """Return the name of a field in data files: the logical name if column mapping is off or assigns none."""
    name = field.metadata.get(PHYSICAL_NAME)
    return name if mapping and isinstance(name, str) else field.name


def column_id(field: Field) -> int | None:
    """Return the id of a field, or None if it has no id that is a 64-bit integer."""
    return _integer(field.metadata.get(COLUMN_ID))


def _integer(value: Any) -> int | None:
    if isinstance(value, Number):
        number = int(value) if value.is_integer and len(value) <= 20 else None
    else:
        number = value if type(value) is int else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def find_max_column_id(schema: Struct) -> int | None:
    """Return the highest column id of struct fields at any depth, or None; see `read_nested_ids` for other ids."""
    ids = [column_id(field) for _, field in iter_fields(schema)]
    return max((each for each in ids if each is not None), default=None)


def read_nested_ids(field: Field, key: str = NESTED_IDS) -> dict[str, int | None]:
    """Return the ids of array elements, map keys and map values below a field; None for an invalid id.

    Ids below the next struct field belong to that field.

    Args:
        field: The nearest struct field above them.
        key: Metadata key that holds the ids.

    Source: Writer Requirements for IcebergCompatV2.
    """
    ids = field.metadata.get(key)
    return {name: _integer(value) for name, value in ids.items()} if isinstance(ids, dict) else {}


def build_nested_names(field: Field, root: str) -> list[str]:
    """Return the names that the nested ids of a field must have, parents first.

    Args:
        field: A struct field.
        root: First part of each name: the physical name. [Changed in current] In r3, the logical name.
    """
    return [".".join(path) for path in _containers(field.type, (root,))]


def _containers(data_type: DataType, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match data_type:
        case Array(element):
            yield (*path, "element")
            yield from _containers(element, (*path, "element"))
        case Map(key, value):
            yield (*path, "key")
            yield from _containers(key, (*path, "key"))
            yield (*path, "value")
            yield from _containers(value, (*path, "value"))


def list_physical_paths(
    data_type: DataType, mapping: str | None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Yield every struct field with its physical path, in the order of `data_types.iter_fields`."""
    match data_type:
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


def get_partition_types(schema: Struct, partition_columns: list[str], mapping: str | None) -> dict[str, DataType]:
    """Return the types of the partition columns that the schema has, by physical name.

    `partitionColumns` lists logical names; the keys of `partitionValues` are physical names (S14).
    """
    by_name = {field.name: field for field in schema.fields}
    return {physical_name(by_name[name], mapping): by_name[name].type for name in partition_columns if name in by_name}


def list_physical_partition_columns(schema: Struct, partition_columns: list[str], mapping: str | None) -> list[str]:
    """Return the keys of `partitionValues` in the order of `partitionColumns`.

    A column that is missing from the schema keeps its name.
    """
    by_name = {field.name: field for field in schema.fields}
    return [physical_name(by_name[name], mapping) if name in by_name else name for name in partition_columns]
