"""Rows of what footers say: of `data_files` its columns of level `footers`, and of `file_columns` all.

Files of one schema differ in nothing but their place, so each schema is judged once, and joined to its files.
"""

import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from deltaspec.model.rows import iceberg_files
from deltaspec.model.schema.column_mapping import physical_name
from deltaspec.model.schema.data_types import Field, Primitive, Struct, get_type_name
from deltaspec.model.schema.parquet_types import Node, is_shredded
from deltaspec.model.schema.stored_columns import StoredColumn, stored_columns
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.table.state import TableSchema

OF_FILE = ("version", "file", "line", "path", "kind", "remaining_rows", "written_under_v2", "written_without_shredding")
"""Columns of `file_columns` that each file has of its own."""
_OF_ICEBERG = ("iceberg_compatibility", "absent_partition_columns", "misplaced_partition_columns", "int96_timestamps")
_OF_NAMES = ("has_field_ids", "physical_names", "logical_names", "generated_names")
SCHEMA_COLUMNS = ("column_mapping_mode", *_OF_NAMES, *_OF_ICEBERG)
"""Columns of `data_files` that the schema decides."""
CHANGE_TYPE = "_change_type"
_ROW_TRACKING = {
    "delta.rowTracking.materializedRowIdColumnName": "row id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "row commit version",
}
_GENERATED_NAME = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass
class SchemaFacts:
    """What one schema of data files is to one schema of a table."""

    columns: list[dict[str, Any]]
    """Rows of `file_columns` without their place."""
    file: dict[str, Any]
    """Columns of `data_files` that the schema decides."""


def build_schema_facts(root: Node, table: TableSchema) -> SchemaFacts:
    """Judge the schema of data files; costs what the schemas are large, whatever number of files have it."""
    partitions = set(table.partition_columns)
    own = Struct(tuple(each for each in table.schema.fields if each.name not in partitions))
    has_ids, names = _has_ids(root), _names(root, own, table)
    common = {
        "column_mapping_mode": table.mapping,
        "file_has_ids": has_ids,
        "generated_names": names["generated_names"],
        "type_widening_supported": table.supports("typeWidening"),
        "shredding_supported": table.supports("variantShredding"),
        "void_storage_supported": table.supports("materializedVoidType"),
    }
    found = stored_columns(own, root, table.mapping)
    rows = [
        {**common, **_row(column), "widening_record_lost": (column.path, column.stored.narrower) in table.forgotten}
        for column in found
    ]
    for role, column in _hidden(root, table):
        rows.append({**common, **_row(column), "role": role, "column_mapping_mode": None})
    of_file = {"column_mapping_mode": table.mapping, "has_field_ids": has_ids, **names, **_iceberg(root, table)}
    return SchemaFacts(rows, of_file)


def _iceberg(root: Node, table: TableSchema) -> dict[str, Any]:
    """What compatibility with Iceberg looks at; nulls where none is enabled."""
    enabled = table.iceberg
    if not enabled:
        return dict.fromkeys(_OF_ICEBERG)
    partitioning = (table.schema, table.partition_columns, root, table.mapping)
    timestamps = iceberg_files.int96_timestamps(table.schema, root, table.mapping)
    return {
        "iceberg_compatibility": enabled[-1],
        "absent_partition_columns": iceberg_files.absent_partition_columns(*partitioning),
        "misplaced_partition_columns": iceberg_files.misplaced_partition_columns(*partitioning),
        "int96_timestamps": [".".join(path) for path in timestamps],
    }


def _row(column: StoredColumn) -> dict[str, Any]:
    node, other = column.node, column.node_with_other_id
    narrower = column.stored.narrower
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
        "narrower_type": get_type_name(narrower) if narrower is not None else None,
        "is_shredded": _is_shredded(column),
        "physical_name": column.physical_name,
        "name_is_generated": None if column.physical_name is None else _is_generated(column.physical_name),
        "column_id": column.id,
        "node_with_other_id": other is not None,
        "stored_id": other.field_id if other is not None else None,
        "node_with_other_name": column.node_with_other_name.name if column.node_with_other_name is not None else None,
    }


def _hidden(root: Node, table: TableSchema) -> list[tuple[str, StoredColumn]]:
    """Columns of the file that the text knows and no schema has, judged as the types that they are to be of."""
    known = {name: role for key, role in _ROW_TRACKING.items() if (name := table.configuration.get(key))}
    fields = [(role, Field(name, Primitive("long"), nullable=True)) for name, role in known.items()]
    fields.append(("change type", Field(CHANGE_TYPE, Primitive("string"), nullable=True)))
    own = {physical_name(each, table.mapping) for each in table.schema.fields}
    found = []
    for role, member in fields:
        if member.name not in own:
            column = stored_columns(Struct((member,)), root, None)[0]
            found += [(role, column)] if column.node is not None else []
    return found


def _has_ids(node: Node) -> bool:
    return any(child.field_id is not None or _has_ids(child) for child in node.children)


def _names(root: Node, own: Struct, table: TableSchema) -> dict[str, Any]:
    """Under column mapping, how many top-level columns the file has by either of their names."""
    if table.mapping is None:
        return {"physical_names": None, "logical_names": None, "generated_names": None}
    names = {child.name for child in root.children}
    physical = {each.name: physical_name(each, table.mapping) for each in own.fields}
    return {
        "physical_names": len(names & set(physical.values())),
        "logical_names": sum(logical in names for logical, name in physical.items() if logical != name),
        "generated_names": sum(map(_is_generated, names & set(physical.values()))),
    }


def _is_shredded(column: StoredColumn) -> bool | None:
    """Of a sound variant whether it is shredded; None for all else."""
    sound = column.node is not None and column.type == Primitive("variant") and column.stored.fault is None
    return is_shredded(column.node) if sound and column.node is not None else None


def _is_generated(name: str) -> bool:
    """Whether only column mapping gives such a name: no file from before the mapping, or of Iceberg, has it."""
    return _GENERATED_NAME.fullmatch(name) is not None


def build_data_file_rows(files: pl.DataFrame, facts: list[SchemaFacts]) -> pl.DataFrame:
    """Files as rows of `data_files` whose columns of level `footers` are filled, and those of level `files` are null.

    Args:
        files: place, `path_key`, `num_records`, `cardinality`, `footer_fault`, `row_count`, `row_group_rows`,
            `external_path`, `written_under_v2`, and in `_schema` the position of the file's schema in `facts`; null
            where its footer or the table's schema is not known.
        facts: of the schemas that the files have.
    """
    schemas = pl.DataFrame(
        [{"_schema": position, **each.file} for position, each in enumerate(facts)],
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

    Arguments are those of `build_data_file_rows`.
    """
    own = {name: column.dtype for name, column in file_columns.columns.items() if name not in OF_FILE}
    schemas = pl.DataFrame(
        [{"_schema": position, **row} for position, each in enumerate(facts) for row in each.columns],
        schema={"_schema": pl.Int64, **own},
    )
    left = pl.col("row_count") - pl.col("cardinality").fill_null(0)
    unknown = [pl.lit(None, pl.Boolean).alias(name) for name in OF_FILE[6:] if name not in files.columns]
    placed = files.with_columns(*unknown, remaining_rows=left).select("_schema", *OF_FILE)
    return placed.join(schemas, on="_schema").select(list(file_columns.columns))
