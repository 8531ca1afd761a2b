"""Views over tables that are compatible with Iceberg."""

import polars as pl

from deltaspec.views.base import LOCATION_COLUMNS, Column, View

_PLACE = LOCATION_COLUMNS | {
    "version": Column(pl.Int64, "version that wrote protocol or metadata"),
    "line": Column(pl.Int64, "line or Parquet row, counted from 1, of the last of these actions"),
}

iceberg = View(
    name="iceberg",
    grain="compatibility with Iceberg that is enabled, at each version that wrote protocol or metadata",
    key=(),
    columns={
        **_PLACE,
        "compatibility": Column(pl.String, "V1 or V2", shown=True),
        "column_mapping_mode": Column(pl.String, "id or name; null where column mapping is off"),
        "conflicts_with_deletion_vectors": Column(
            pl.Boolean, "deletion vectors are supported, of V1; or supported and enabled by property, of V2"
        ),
        "v1_also_enabled": Column(pl.Boolean, "of V2: V1 is enabled as well"),
        "forbidden_columns": Column(
            pl.List(pl.String), "`path: type` of what in the schema has a type that the compatibility lacks"
        ),
        "forbidden_type_changes": Column(
            pl.List(pl.String),
            "`path: type to type` of recorded changes that Iceberg does not know; null without type widening",
        ),
        "renamed_partition_columns": Column(
            pl.List(pl.String),
            "partition columns by whose names the partitioning of a compatible table differs from the one before, "
            "where both have some; null of the first such version, and where the commit takes over another state",
        ),
    },
)

nested_ids = View(
    name="nested_ids",
    grain="struct field around an array or a map, at each version that wrote protocol or metadata while V2 is enabled "
    "and columns are mapped",
    key=(),
    columns={
        **_PLACE,
        "column": Column(pl.String, "logical path of the field, segments joined by dots"),
        "missing_ids": Column(pl.List(pl.String), "names of elements, keys and values that have no id"),
        "ids_under_wrong_key": Column(
            pl.List(pl.String), "those whose ids stand under a key, or by a name of the field, that the text lacks"
        ),
        "ids_in_wrong_field": Column(pl.List(pl.String), "those whose ids stand in another field, or in no map"),
        "unresolved_names": Column(
            pl.List(pl.String), "names in the field's map that lead nowhere, where an id is missing"
        ),
        "out_of_range_ids": Column(pl.List(pl.String), "`name=id` of ids that are no integers of 32 bits"),
        "duplicate_ids": Column(pl.List(pl.String), "`name=id` of ids that a column, or another of them, has as well"),
    },
)
