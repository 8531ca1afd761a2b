"""Views over tables with Iceberg compatibility enabled."""

import polars as pl

from deltaspec.views.base import STATE_COLUMNS, Column, View

iceberg = View(
    name="iceberg",
    grain="enabled Iceberg compatibility, at each version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "compatibility": Column(pl.String, "enabled compatibility: V1 or V2", shown=True),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off"),
        "conflicts_with_deletion_vectors": Column(
            pl.Boolean, "whether deletion vectors are supported (for V1), or supported and enabled by property (for V2)"
        ),
        "v1_also_enabled": Column(pl.Boolean, "for V2: whether V1 is also enabled"),
        "forbidden_columns": Column(
            pl.List(pl.String), "`path: type` of each schema element whose type the compatibility does not allow"
        ),
        "forbidden_type_changes": Column(
            pl.List(pl.String),
            "`path: type to type` of each recorded change that Iceberg does not allow; null without type widening",
        ),
        "renamed_partition_columns": Column(
            pl.List(pl.String),
            "partition columns whose names differ from the preceding partitioning of the compatible table, if both are "
            "partitioned; null for the first such version, and if the commit reuses existing files",
        ),
    },
)

nested_ids = View(
    name="nested_ids",
    grain="struct field with an array or map type, at each version in which the row changed while V2 and column "
    "mapping are enabled",
    key=(),
    columns={
        **STATE_COLUMNS,
        "column": Column(pl.String, "logical column path, segments joined by dots"),
        "missing_ids": Column(pl.List(pl.String), "names of elements, keys and values without an id"),
        "ids_under_wrong_key": Column(
            pl.List(pl.String), "names whose ids are stored under a key or field name that the protocol does not define"
        ),
        "ids_in_wrong_field": Column(
            pl.List(pl.String), "names whose ids are stored in another field, or not in a map"
        ),
        "unresolved_names": Column(
            pl.List(pl.String), "names in the map of the field that match no element, key or value, if an id is missing"
        ),
        "out_of_range_ids": Column(pl.List(pl.String), "`name=id` of each id that is not a 32-bit integer"),
        "duplicate_ids": Column(
            pl.List(pl.String), "`name=id` of each id that a column or another nested name also has"
        ),
    },
)
