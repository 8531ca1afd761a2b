"""View over the columns of data files: Parquet schema compared with the table schema."""

import polars as pl

from deltaspec.views.base import ROW_REQUIREMENT_COLUMNS, Column, View

file_columns = View(
    name="file_columns",
    grain="table column, at any depth, in a data file; partition columns only if the file stores them",
    key=(),
    level="footers",
    columns={
        **ROW_REQUIREMENT_COLUMNS,
        "kind": Column(pl.String, "kind of action: add or cdc"),
        "remaining_rows": Column(pl.Int64, "number of rows in the footer minus the cardinality of the deletion vector"),
        "column": Column(
            pl.String, "logical path, segments joined by dots; `element` for array elements, `key` and `value` for maps"
        ),
        "role": Column(
            pl.String,
            "change type, row id or row commit version for columns outside the table schema; partition column; null "
            "for other table columns",
        ),
        "type": Column(pl.String, "Delta type; struct, array or map for nested types"),
        "is_required": Column(pl.Boolean, "whether neither the column nor an enclosing struct may be null"),
        "stored_type": Column(pl.String, "Parquet type of the node that readers resolve; null if they find none"),
        "stored_name": Column(pl.String, "name of the node that readers resolve"),
        "matching_nodes": Column(pl.Int64, "number of nodes with the name of the column, or in id mode with its id"),
        "type_fault": Column(pl.String, "why readers of the Delta type cannot read the stored type; null if they can"),
        "type_warning": Column(
            pl.String, "unusual property of the stored type that readers may accept; null if there is none"
        ),
        "fault_by_proposal": Column(
            pl.String,
            "how the stored type differs from the one that the proposal of the Delta type defines; null if it does not",
        ),
        "narrower_type": Column(
            pl.String, "stored Delta type that needs type widening to be read; null if it does not"
        ),
        "type_widening_supported": Column(pl.Boolean, "whether the table supports typeWidening or a preview of it"),
        "widening_recorded": Column(
            pl.Boolean,
            "whether the schema records a change from narrower_type; null without such a type, or if the record has "
            "faults",
        ),
        "widening_unrecorded_at": Column(
            pl.Int64,
            "version of the commit that changed narrower_type to another type without recording it; null if there is "
            "none",
        ),
        "widening_record_lost": Column(
            pl.Boolean,
            "whether an earlier schema recorded a change from narrower_type that the current schema does not record",
        ),
        "is_shredded": Column(pl.Boolean, "for a variant: whether it is shredded; null for other types"),
        "shredding_supported": Column(pl.Boolean, "whether the table supports variantShredding or a preview of it"),
        "written_without_shredding": Column(
            pl.Boolean, "whether the file was certainly written while shredding was not enabled; null without variants"
        ),
        "void_storage_supported": Column(pl.Boolean, "whether the table supports materializedVoidType (a proposal)"),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off"),
        "physical_name": Column(
            pl.String, "name that the column must have in the file; null for elements, keys and values"
        ),
        "name_is_generated": Column(
            pl.Boolean,
            "whether column mapping generated the physical name (`col-` and a UUID); null without a physical name",
        ),
        "generated_names": Column(
            pl.Int64, "number of top-level columns of the file with generated names; null without column mapping"
        ),
        "column_id": Column(pl.Int64, "field id that the node must have; null if none is required"),
        "node_with_other_id": Column(
            pl.Boolean, "whether a node has the physical name but a different field id or none"
        ),
        "stored_id": Column(pl.Int64, "field id of that node; null if it has none"),
        "node_id": Column(pl.Int64, "field id of the node that readers resolve"),
        "reserved_id": Column(
            pl.Int64, "for row ids and row commit versions: field id that Iceberg reserves; null for other columns"
        ),
        "written_under_v2": Column(
            pl.Boolean,
            "whether the file was certainly written while Iceberg compatibility V2 was enabled",
        ),
        "written_under_v3": Column(
            pl.Boolean,
            "whether the file was certainly written while Iceberg compatibility V3 was enabled",
        ),
        "node_with_other_name": Column(
            pl.String, "name of a node with the id of the column, if no node has the physical name"
        ),
        "has_logical_name": Column(
            pl.Boolean,
            "whether no node has the physical name, and a node without field id has the logical name, which no column "
            "has or had in files; null if columns are not mapped by name",
        ),
        "written_under_mapping": Column(
            pl.Boolean, "whether the file was certainly written while columns were mapped; null if they are not"
        ),
        "file_has_ids": Column(pl.Boolean, "whether a node of the file has a field id"),
    },
)
