"""The view over the columns of data files: the physical schema of a footer beside the schema of the table."""

import polars as pl

from deltaspec.views.base import DATA_FILE_LOCATION_COLUMNS, Column, View

file_columns = View(
    name="file_columns",
    grain="column of the table, at any depth, in a data file; not partition columns, which no reader looks for",
    key=(),
    level="footers",
    columns={
        **DATA_FILE_LOCATION_COLUMNS,
        "kind": Column(pl.String, "add or cdc"),
        "remaining_rows": Column(pl.Int64, "rows that footer and deletion vector leave"),
        "column": Column(
            pl.String, "logical path joined by dots; elements are `element`, map keys `key`, map values `value`"
        ),
        "role": Column(
            pl.String,
            "change type, row id or row commit version, which no schema has; null for the table's own columns",
        ),
        "type": Column(pl.String, "name of the Delta type; struct, array or map for nested ones"),
        "is_required": Column(pl.Boolean, "neither the column nor a struct that it is nested in may be null"),
        "stored_type": Column(pl.String, "form of the Parquet node that readers find; null if they find none"),
        "stored_name": Column(pl.String, "name of the node that readers find"),
        "matching_nodes": Column(pl.Int64, "nodes that answer to the column's name, or in id mode to its id"),
        "type_fault": Column(pl.String, "why a reader of the type cannot take what is stored"),
        "type_warning": Column(pl.String, "what is unusual about the form, which readers may still take"),
        "narrower_type": Column(pl.String, "type of the values, where they need type widening to be read"),
        "type_widening_supported": Column(pl.Boolean, "the table supports typeWidening, or a preview of it"),
        "widening_record_lost": Column(
            pl.Boolean, "a schema before recorded a change from that narrower type, and this one records it no more"
        ),
        "is_shredded": Column(pl.Boolean, "for a variant: it has values in columns of their own; null for other types"),
        "shredding_supported": Column(pl.Boolean, "the table supports variantShredding, or a preview of it"),
        "written_without_shredding": Column(
            pl.Boolean, "beyond doubt the file was written while shredding was not enabled; null without variants"
        ),
        "void_storage_supported": Column(pl.Boolean, "the table supports materializedVoidType, a proposal"),
        "column_mapping_mode": Column(pl.String, "id, name, or null where column mapping is off"),
        "physical_name": Column(pl.String, "name that the file has to have for it; null for elements, keys and values"),
        "name_is_generated": Column(
            pl.Boolean, "the physical name is one that only column mapping gives, `col-` and a UUID; null without one"
        ),
        "generated_names": Column(
            pl.Int64, "top-level columns that the file has under such names; null where column mapping is off"
        ),
        "column_id": Column(pl.Int64, "field id that its node has to have; null if there is none to have"),
        "node_with_other_id": Column(pl.Boolean, "a node has the physical name, and another field id or none"),
        "stored_id": Column(pl.Int64, "field id of that node"),
        "node_id": Column(pl.Int64, "field id of the node that readers find"),
        "written_under_v2": Column(
            pl.Boolean,
            "beyond doubt the file was written while Iceberg compatibility V2 was enabled, as it is at the judged "
            "version",
        ),
        "node_with_other_name": Column(pl.String, "name of a node that has the id, where none has the physical name"),
        "file_has_ids": Column(pl.Boolean, "a node of the file has a field id"),
    },
)
