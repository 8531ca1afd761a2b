"""Tables with invariants, generated columns, default columns and identity columns."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only

DEFAULTS_PROTOCOL = protocol_action(1, 7, None, ["allowColumnDefaults"])
INVARIANT_JSON = json.dumps({"expression": {"expression": "id > 3"}})


def build_column(name: str = "id", kind: Any = "long", **metadata: Any) -> dict[str, Any]:
    """Build a column; `__` in the metadata keys is replaced by a dot."""
    json_metadata = {key.replace("__", "."): value for key, value in metadata.items()}
    return {"name": name, "type": kind, "nullable": True, "metadata": json_metadata}


def build_table_with_column_metadata(protocol: Any, **metadata: Any) -> TableFiles:
    """Build a table whose column `id` has this metadata."""
    return log_only.build_table(protocol=protocol, fields=[build_column(**metadata), ("name", "string")])


def build_identity_column(
    mark: int | None = None, *, start: int = 100, step: int = 2, explicit: bool = False, **more: Any
) -> dict[str, Any]:
    """Build an identity column `id`; `more` sets metadata by the last word of the key."""
    settings = {"start": start, "step": step, "highWaterMark": mark, "allowExplicitInsert": explicit, **more}
    metadata = {f"delta.identity.{name}": value for name, value in settings.items() if value is not None}
    return {"name": "id", "type": "long", "nullable": True, "metadata": metadata}


def build_table_with_column_history(*columns: dict[str, Any], adds: bool = True, writer: int = 6) -> TableFiles:
    """Build a table with one commit per column; `columns` is its identity column at each version.

    With `adds`, every version after the first adds a file.
    """
    files = TableFiles()
    for version, column in enumerate(columns):
        files.commits[version] = [commit_info_action(version), metadata_action([column, ("name", "string")])]
        if version == 0:
            files.commits[0].insert(1, protocol_action(1, writer))
        elif adds:
            files.commits[version].append(add_action(f"{version}.parquet", rows=2))
    return files


def build_identity_table(*writes: tuple[int | None, Sequence[int | None]], step: int = 2, **more: Any) -> TableFiles:
    """Build a table with one data file per write; a write is the mark after it and the values of its rows."""
    columns = [
        build_identity_column(step=step, **more),
        *(build_identity_column(mark, step=step, **more) for mark, _ in writes),
    ]
    files = build_table_with_column_history(*columns, adds=False)
    for version, (_, values) in enumerate(writes, 1):
        rows = pa.table({"id": pa.array(values, pa.int64()), "name": pa.array(["x"] * len(values))})
        files.commits[version].append(add_data_file(files, f"{version}.parquet", rows))
    return files


def get_first_add(files: TableFiles, version: int) -> dict[str, Any]:
    """Return the first add action of a commit."""
    return next(line for line in files.commits[version] if isinstance(line, dict) and "add" in line)
