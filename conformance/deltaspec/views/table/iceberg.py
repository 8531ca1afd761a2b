"""Views over tables with Iceberg compatibility enabled. V3 is a proposal, so it has a separate view."""

import polars as pl

from deltaspec.views.base import STATE_COLUMNS, STATE_KINDS, Column, View

_COMMON_COLUMNS = {
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
}

iceberg = View(
    name="iceberg",
    decided_by=STATE_KINDS,
    grain="enabled Iceberg compatibility V1 or V2, at each version in which the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        "compatibility": Column(pl.String, "enabled compatibility: V1 or V2", shown=True),
        "column_mapping_mode": Column(pl.String, "column mapping mode: id or name; null if off"),
        **_COMMON_COLUMNS,
        "conflicts_with_deletion_vectors": Column(
            pl.Boolean, "whether deletion vectors are supported (for V1), or supported and enabled by property (for V2)"
        ),
        "v1_also_enabled": Column(pl.Boolean, "for V2: whether V1 is also enabled"),
    },
)

iceberg_v3 = View(
    name="iceberg_v3",
    decided_by=STATE_KINDS,
    grain="version in which Iceberg compatibility V3 (a proposal) is enabled, if the row changed",
    key=(),
    columns={
        **STATE_COLUMNS,
        **_COMMON_COLUMNS,
        "columns_are_mapped": Column(pl.Boolean, "whether column mapping is enabled"),
        "row_tracking_enabled": Column(pl.Boolean, "whether row tracking is enabled"),
        "other_compatibilities": Column(pl.List(pl.String), "other enabled compatibilities"),
        "computed_defaults": Column(
            pl.List(pl.String),
            "`path: default` of each default that is not a literal; null if it is unknown whether one is",
        ),
    },
)

nested_ids = View(
    name="nested_ids",
    decided_by=STATE_KINDS,
    grain="struct field with an array or map type, at each version in which the row changed while V2 or V3, and "
    "column mapping, are enabled",
    key=(),
    columns={
        **STATE_COLUMNS,
        "compatibility": Column(pl.String, "enabled compatibility: V2 or V3; V2 if both are"),
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
        "faulty_ids": Column(pl.List(pl.String), "all entries of the columns above"),
    },
)
