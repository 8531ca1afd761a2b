"""Tables with column mapping, their schema history and their data files."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import COLUMN_ID, COLUMN_MAPPING_MODE, MAX_COLUMN_ID, PHYSICAL_NAME
from deltaspec_generators import small_tables
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action, protocol_action


def build_mapped_field(name: str, number: int, kind: Any = "long", physical: str | None = None) -> dict[str, Any]:
    """Build a mapped field; the physical name is `col-` and the id if none is given."""
    metadata = {
        COLUMN_ID: number,
        PHYSICAL_NAME: physical or f"col-{number}",
    }
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def add_metadata_commit(
    files: TableFiles, change: Callable[[list[Any]], object], highest: int = 9, version: int = 3
) -> TableFiles:
    """Add a commit with the metaData of version 0 after a change of its fields and `maxColumnId`."""
    body = dict(get_action(files, 0, "metaData"))
    schema = json.loads(body["schemaString"])
    change(schema["fields"])
    body["schemaString"] = json.dumps(schema)
    body["configuration"] = {**body["configuration"], MAX_COLUMN_ID: str(highest)}
    files.commits[version] = [commit_info_action(version), {"metaData": body}]
    return files


PHYSICAL_NAMES = {
    "id": "col-00000000-0000-4000-8000-000000000001",
    "name": "col-00000000-0000-4000-8000-000000000002",
    "price": "col-00000000-0000-4000-8000-000000000003",
}


COLUMN_IDS = {"id": 1, "name": 2, "price": 3}


def field_id_metadata(number: int | None) -> dict[str, str]:
    return {} if number is None else {"PARQUET:field_id": str(number)}


def build_mapped_rows(first: int, names: Mapping[str, str], ids: Mapping[str, int | None]) -> pa.Table:
    """Build rows whose columns have these names and field ids, given by logical name."""
    rows = small_tables.build_rows(first)
    fields = [pa.field(names[each.name], each.type, metadata=field_id_metadata(ids[each.name])) for each in rows.schema]
    return pa.table(rows.columns, schema=pa.schema(fields))


def build_mapped_table_with_data(mode: str) -> TableFiles:
    """Build a valid table with column mapping whose files have physical names and field ids."""
    fields = []
    for name, kind in small_tables.FIELDS:
        metadata = {
            COLUMN_ID: COLUMN_IDS[name],
            PHYSICAL_NAME: PHYSICAL_NAMES[name],
        }
        fields.append({"name": name, "type": kind, "nullable": True, "metadata": metadata})
    return build_table_with_data(
        protocol=protocol_action(2, 5),
        configuration={COLUMN_MAPPING_MODE: mode, MAX_COLUMN_ID: "3"},
        fields=fields,
        tables=[build_mapped_rows(first, PHYSICAL_NAMES, COLUMN_IDS) for first in (0, 10, 20)],
    )
