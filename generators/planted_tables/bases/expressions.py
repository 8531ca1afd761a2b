"""Tables with data files and SQL expressions: CHECK constraints, invariants, generated columns."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import INVARIANTS
from deltaspec_generators.checkpoint_writer import Row
from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    remove_action,
)

CONSTRAINTS_PROTOCOL, INVARIANTS_PROTOCOL, GENERATED_COLUMNS_PROTOCOL = (
    protocol_action(1, 3),
    protocol_action(1, 2),
    protocol_action(1, 4),
)
"""Oldest protocols that support each feature."""
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "name": pa.array(["a", "Straße", ""], pa.string()),
        "day": pa.array([date(2024, 2, 29), date(1970, 1, 1), date(1969, 12, 31)], pa.date32()),
        "year": pa.array([2024, 1970, 1969], pa.int32()),
        "price": pa.array([0.5, float("nan"), -0.0], pa.float64()),
    }
)
FIELDS = (("id", "long"), ("name", "string"), ("day", "date"), ("year", "integer"), ("price", "double"))


def build_invariant_metadata(expression: str) -> dict[str, str]:
    """Build the column metadata of an invariant."""
    return {INVARIANTS: json.dumps({"expression": {"expression": expression}})}


def build_fields(**metadata: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Build `FIELDS` with the given column metadata."""
    return [
        {"name": name, "type": kind, "nullable": True, "metadata": dict(metadata.get(name, {}))}
        for name, kind in FIELDS
    ]


def replace_last_row(**values: Any) -> pa.Table:
    """Return `ROWS` with other values in the last row."""
    changed = ROWS
    for name, value in values.items():
        column = pa.array([*ROWS[name].to_pylist()[:-1], value], ROWS.schema.field(name).type)
        changed = changed.set_column(changed.schema.get_field_index(name), name, column)
    return changed


def build_constrained_table(
    protocol: Row,
    described: Sequence[Any],
    configuration: Mapping[str, str] | None = None,
    table: pa.Table = ROWS,
    *,
    later: bool = False,
) -> TableFiles:
    """Build a table of one file; the expressions apply from version 0 or, if `later`, from version 2."""
    files = TableFiles()
    metadata = metadata_action(described, (), configuration)
    files.commits[0] = [commit_info_action(0), protocol, metadata_action(build_fields()) if later else metadata]
    files.commits[1] = [
        commit_info_action(1),
        add_data_file(files, "a.parquet", table, stats=json.dumps({"numRecords": len(table)})),
    ]
    if later:
        files.commits[2] = [commit_info_action(2), metadata]
    return files


def rewrite_data_file(files: TableFiles, table: pa.Table) -> TableFiles:
    """Add a commit that replaces the data file with these rows."""
    version = max(files.commits) + 1
    added = files.commits[1][1]
    assert isinstance(added, dict)
    after = add_data_file(files, "b.parquet", table, stats=json.dumps({"numRecords": table.num_rows}))
    files.commits[version] = [commit_info_action(version), remove_action(added), after]
    return files
