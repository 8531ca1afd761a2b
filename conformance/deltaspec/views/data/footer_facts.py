"""Footer columns of `data_files`, and rows of `file_columns`.

Each distinct Parquet schema is validated once and joined to the files that have it.
"""

import re
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.protocol.features import materialized_partitions
from deltaspec.protocol.features.iceberg_compat import ROW_TRACKING_FIELD_IDS
from deltaspec.protocol.property_names import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import Field, Primitive, Struct, get_type_name
from deltaspec.protocol.schema.parquet_types import Node, is_shredded
from deltaspec.protocol.schema.proposed_types import find_storage_fault
from deltaspec.protocol.schema.stored_columns import StoredColumn, match_columns
from deltaspec.views.data import iceberg_files
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.views.table.type_locations import list_recorded_types

FILE_COLUMNS = (
    "version",
    "file",
    "line",
    "path",
    "kind",
    "remaining_rows",
    "written_under_v2",
    "written_under_v3",
    "written_without_shredding",
    "written_under_mapping",
)
"""Columns of `file_columns` that depend on the file, not on its schema."""
_ICEBERG_COLUMNS = (
    "iceberg_compatibility",
    "absent_partition_columns",
    "stored_partition_columns",
    "misplaced_partition_columns",
    "int96_timestamps",
)
_NAME_COLUMNS = ("has_field_ids", "physical_names", "logical_names", "generated_names")
SCHEMA_COLUMNS = ("column_mapping_mode", *_NAME_COLUMNS, *_ICEBERG_COLUMNS)
"""Columns of `data_files` that depend on the Parquet schema."""
CHANGE_TYPE = "_change_type"
PARTITION_COLUMN = "partition column"
_ROW_TRACKING = {
    ROW_ID_COLUMN: "row id",
    ROW_COMMIT_VERSION_COLUMN: "row commit version",
}
_GENERATED_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class SchemaFacts(msgspec.Struct):
    """Comparison of one Parquet schema with the table schema."""

    columns: list[dict[str, Any]]
    """Rows of `file_columns` without the columns in `FILE_COLUMNS`."""
    file: dict[str, Any]
    """Columns of `data_files` that depend on the Parquet schema."""


def build_schema_facts(root: Node, table: TableSchema) -> SchemaFacts:
    """Compare a Parquet schema with the table schema; the cost does not depend on the number of files."""
    partitions = set(table.partition_columns)
    data_schema = Struct(tuple(each for each in table.schema.fields if each.name not in partitions))
    has_ids, names = _has_ids(root), _names(root, data_schema, table)
    common = {
        "column_mapping_mode": table.mapping,
        "file_has_ids": has_ids,
        "generated_names": names["generated_names"],
        "type_widening_supported": table.supports("typeWidening"),
        "shredding_supported": table.supports("variantShredding"),
        "void_storage_supported": table.supports("materializedVoidType"),
    }
    widening = WideningFacts(table)
    rows = [
        {**common, **_row(column), **widening.of(column), "has_logical_name": _has_logical_name(column, table)}
        for column in match_columns(data_schema, root, table.mapping)
    ]
    for column in list_stored_partition_columns(root, table):
        row = {**common, **_row(column), **widening.of(column)}
        rows.append({**row, "role": PARTITION_COLUMN, "column_mapping_mode": None, "physical_name": None})
    for role, column in _special_columns(root, table):
        reserved = {"reserved_id": ROW_TRACKING_FIELD_IDS.get(role)}
        rows.append({**common, **_row(column), **reserved, "role": role, "column_mapping_mode": None})
    file_facts = {"column_mapping_mode": table.mapping, "has_field_ids": has_ids, **names, **_iceberg(root, table)}
    return SchemaFacts(rows, file_facts)


def _iceberg(root: Node, table: TableSchema) -> dict[str, Any]:
    """Return the columns about Iceberg compatibility and stored partition columns; None if nothing needs them."""
    enabled = table.iceberg
    partitioning = (table.schema, table.partition_columns, root, table.mapping)
    if not enabled:
        has_preference = materialized_partitions.PROPERTY in table.configuration
        is_needed = has_preference or table.supports(materialized_partitions.FEATURE)
        absent = iceberg_files.find_missing_partition_columns(*partitioning) if is_needed else []
        stored = iceberg_files.find_stored_partition_columns(*partitioning) if has_preference else None
        found = {"absent_partition_columns": absent, "stored_partition_columns": stored}
        return dict.fromkeys(_ICEBERG_COLUMNS) | (found if table.partition_columns and is_needed else {})
    timestamps = iceberg_files.find_int96_timestamps(table.schema, root, table.mapping)
    return {
        "iceberg_compatibility": enabled[-1],
        "absent_partition_columns": iceberg_files.find_missing_partition_columns(*partitioning),
        "misplaced_partition_columns": iceberg_files.find_misplaced_partition_columns(*partitioning),
        "int96_timestamps": [".".join(path) for path in timestamps],
    }


def _row(column: StoredColumn) -> dict[str, Any]:
    node, other = column.node, column.node_with_other_id
    narrower = column.stored.narrower_type
    return {
        "column": ".".join(column.path),
        "type": get_type_name(column.type),
        "is_required": column.is_required,
        "stored_type": str(node) if node is not None else None,
        "stored_name": node.name if node is not None else None,
        "node_id": node.field_id if node is not None else None,
        "matching_nodes": column.matching_nodes,
        "type_fault": column.stored.fault,
        "type_warning": column.stored.warning,
        "fault_by_proposal": find_storage_fault(column.type, node) if node is not None else None,
        "narrower_type": get_type_name(narrower) if narrower is not None else None,
        "is_shredded": _is_shredded(column),
        "physical_name": column.physical_name,
        "name_is_generated": None if column.physical_name is None else _is_generated(column.physical_name),
        "column_id": column.id,
        "node_with_other_id": other is not None,
        "stored_id": other.field_id if other is not None else None,
        "node_with_other_name": column.node_with_other_name.name if column.node_with_other_name is not None else None,
    }


def _has_logical_name(column: StoredColumn, table: TableSchema) -> bool | None:
    """Return whether the file stores the column under its logical name; None if unknown, or not mapped by name.

    A name that any column had in files may belong to a dropped column.
    """
    node = column.node_with_logical_name
    if node is None:
        return False if table.mapping == "name" else None
    return None if table.names_in_files is None else node.name not in table.names_in_files


class WideningFacts:
    """Columns about narrower types, for the schema of a table."""

    def __init__(self, table: TableSchema) -> None:
        self._table = table
        self._recorded = list_recorded_types(table.schema)

    def of(self, column: StoredColumn) -> dict[str, Any]:
        """Return the columns for one column of a file."""
        narrower = column.stored.narrower_type
        if narrower is None:
            return {}
        recorded = self._recorded.get(column.path, frozenset())
        return {
            "widening_recorded": None if recorded is None else narrower in recorded,
            "widening_unrecorded_at": self._table.unrecorded.get((".".join(column.path), get_type_name(narrower))),
            "widening_record_lost": (column.path, narrower) in self._table.forgotten,
        }


def list_stored_partition_columns(root: Node, table: TableSchema) -> list[StoredColumn]:
    """Return the partition columns that the file stores under their physical names, by their logical ones."""
    names = {child.name for child in root.children}
    found = []
    for each in table.schema.fields:
        name = physical_name(each, table.mapping)
        if each.name in table.partition_columns and name in names:
            (column,) = match_columns(Struct((Field(name, each.type, nullable=True),)), root, None)[:1]
            found += [replace(column, path=(each.name,))] if column.node is not None else []
    return found


def _special_columns(root: Node, table: TableSchema) -> list[tuple[str, StoredColumn]]:
    """Return the columns of the file that the protocol defines outside the table schema, with their roles."""
    known = {name: role for key, role in _ROW_TRACKING.items() if (name := table.configuration.get(key))}
    fields = [(role, Field(name, Primitive("long"), nullable=True)) for name, role in known.items()]
    fields.append(("change type", Field(CHANGE_TYPE, Primitive("string"), nullable=True)))
    table_names = {physical_name(each, table.mapping) for each in table.schema.fields}
    found = []
    for role, member in fields:
        if member.name not in table_names:
            column = match_columns(Struct((member,)), root, None)[0]
            found += [(role, column)] if column.node is not None else []
    return found


def _has_ids(node: Node) -> bool:
    return any(child.field_id is not None or _has_ids(child) for child in node.children)


def _names(root: Node, data_schema: Struct, table: TableSchema) -> dict[str, Any]:
    """Return how many top-level columns the file has under each kind of name; all None without column mapping."""
    if table.mapping is None:
        return {"physical_names": None, "logical_names": None, "generated_names": None}
    names = {child.name for child in root.children}
    physical = {each.name: physical_name(each, table.mapping) for each in data_schema.fields}
    return {
        "physical_names": len(names & set(physical.values())),
        "logical_names": sum(logical in names for logical, name in physical.items() if logical != name),
        "generated_names": sum(map(_is_generated, names & set(physical.values()))),
    }


def _is_shredded(column: StoredColumn) -> bool | None:
    """Return whether a valid variant column is shredded; None for other columns."""
    sound = column.node is not None and column.type == Primitive("variant") and column.stored.fault is None
    return is_shredded(column.node) if sound and column.node is not None else None


def _is_generated(name: str) -> bool:
    """Return whether column mapping generated the name; other writers do not use such names."""
    return _GENERATED_NAME.fullmatch(name) is not None


def build_data_file_rows(files: pl.DataFrame, facts: list[SchemaFacts]) -> pl.DataFrame:
    """Return the rows of `data_files` with the columns of level `footers`; columns of level `files` are null.

    Args:
        files: location columns, `path_key`, `num_records`, `cardinality`, `footer_fault`, `row_count`,
            `row_group_rows`, `external_path`, `written_under_v2`, `written_under_v3`, and `_schema`: the index of the
            file's schema in `facts`, null if the footer or the table schema is unknown.
        facts: facts of the distinct schemas.
    """
    schemas = pl.DataFrame(
        [{"_schema": index, **each.file} for index, each in enumerate(facts)],
        schema={"_schema": pl.Int64, **{name: data_files.columns[name].dtype for name in SCHEMA_COLUMNS}},
    )
    known = files.join(schemas, on="_schema", how="left", maintain_order="left")
    nulls = [
        pl.lit(None, column.dtype).alias(name)
        for name, column in data_files.columns.items()
        if name not in known.columns
    ]
    return known.with_columns(nulls).select(list(data_files.columns))


def column_rows(files: pl.DataFrame, facts: list[SchemaFacts]) -> pl.DataFrame:
    """Return the rows of `file_columns`: every column of every file with a known schema.

    Takes the arguments of `build_data_file_rows`.
    """
    schema_dtypes = {name: column.dtype for name, column in file_columns.columns.items() if name not in FILE_COLUMNS}
    schemas = pl.DataFrame(
        [{"_schema": index, **row} for index, each in enumerate(facts) for row in each.columns],
        schema={"_schema": pl.Int64, **schema_dtypes},
    )
    remaining = pl.col("row_count") - pl.col("cardinality").fill_null(0)
    unknown = [pl.lit(None, pl.Boolean).alias(name) for name in FILE_COLUMNS[6:] if name not in files.columns]
    located = files.with_columns(*unknown, remaining_rows=remaining).select("_schema", *FILE_COLUMNS)
    return located.join(schemas, on="_schema", maintain_order="left").select(list(file_columns.columns))
