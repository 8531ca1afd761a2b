"""Schemas under column mapping and their history; mutations and permissions edit them."""

import json
from collections.abc import Callable
from typing import Any

from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.table_files import TableFiles


def build_mapped_field(name: str, number: int, kind: Any = "long", physical: str | None = None) -> dict[str, Any]:
    """A field of a schema with its id and its physical name, `col-` and the id if none is given."""
    metadata = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical or f"col-{number}",
    }
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def add_metadata_commit(
    files: TableFiles, change: Callable[[list[Any]], object], highest: int = 9, version: int = 3
) -> TableFiles:
    """One commit more: the metaData of version 0 with other fields and `maxColumnId`."""
    body = dict(get_action(files, 0, "metaData"))
    schema = json.loads(body["schemaString"])
    change(schema["fields"])
    body["schemaString"] = json.dumps(schema)
    body["configuration"] = {**body["configuration"], "delta.columnMapping.maxColumnId": str(highest)}
    files.commits[version] = [commit_info_action(version), {"metaData": body}]
    return files
