"""Valid tables of column mapping and its schema changes."""

from typing import Any

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from deltaspec_generators.table_files import TableFiles, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import add_metadata_commit, build_mapped_field
from planted_tables.permissions.registry import permission

_CONFIGURATION = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "9"}


def _build_table_with_containers(mode: str = "name") -> TableFiles:
    """Build structs in array elements, map keys and map values whose fields have the same physical name."""

    def inner(first: int) -> dict[str, Any]:
        return {"type": "struct", "fields": [build_mapped_field("d", first, physical="col-d")]}

    array = {"type": "array", "elementType": inner(4), "containsNull": True}
    mapping = {"type": "map", "keyType": inner(5), "valueType": inner(6), "valueContainsNull": True}
    fields = [build_mapped_field("id", 1), build_mapped_field("e", 2, array), build_mapped_field("m", 3, mapping)]
    configuration = {**_CONFIGURATION, COLUMN_MAPPING_MODE: mode}
    return log_only.build_table(protocol=protocol_action(2, 5), configuration=configuration, fields=fields)


@permission("column-mapping.field-paths")
def same_name_below_elements_keys_and_values() -> TableFiles:
    return _build_table_with_containers("id")


@permission("column-mapping.physical-field-paths")
def renamed_dropped_and_added_anew() -> TableFiles:
    """A column is renamed, dropped, added again with another id and physical name, and finally restored."""
    files = _build_table_with_containers()
    add_metadata_commit(files, lambda fields: fields[0].update(name="renamed"))
    add_metadata_commit(files, lambda fields: fields.pop(0), version=4)
    add_metadata_commit(
        files, lambda fields: fields.__setitem__(0, build_mapped_field("id", 10)), highest=10, version=5
    )
    add_metadata_commit(files, lambda fields: None, highest=10, version=6)
    return files
