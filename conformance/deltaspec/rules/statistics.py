"""Rules over statistics compared with rows. Source: Per-file Statistics, Statistics for Variant Columns."""

import polars as pl

from deltaspec.rules.file_fixes import (
    COMPARE_FILE_THEN_RECOMPUTE_STATISTICS,
    COMPARE_FILE_THEN_REWRITE_STATISTICS,
    COMPARE_FILE_THEN_TIGHTEN_BOUNDS,
    RECOMPUTE_STATISTICS,
)
from deltaspec.rules.registry import rule
from deltaspec.views.data.column_facts import column_facts
from deltaspec.views.data.variant_paths import variant_paths
from deltaspec.views.files.null_columns import null_columns


@rule(
    "STA001", requires="statistics.minimum-bounds-data", view=column_facts, fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS
)
def minimum_above_data() -> pl.Expr:
    """The value in `minValues` is larger than the smallest value in the file.

    Readers skip files by it: filtered queries silently lose rows. Either the statistics are wrong, or the file is not
    the one that was committed.

    Conforms::
        stats_min: "1", actual_min: "1", stats_min_order_key: b, actual_min_order_key: b
        stats_min: "0", actual_min: "1", stats_min_order_key: a, actual_min_order_key: b
        stats_min: null, actual_min: "1", stats_min_order_key: null, actual_min_order_key: b
    Violates::
        stats_min: "2", actual_min: "1", stats_min_order_key: c, actual_min_order_key: b
    """
    above = pl.col("stats_min_order_key") > pl.col("actual_min_order_key")
    return above & pl.col("stats_min").is_not_null() & pl.col("actual_min").is_not_null()


@rule(
    "STA002", requires="statistics.maximum-bounds-data", view=column_facts, fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS
)
def maximum_below_data() -> pl.Expr:
    """The value in `maxValues` is smaller than the largest value in the file.

    Readers skip files by it: filtered queries silently lose rows. (A timestamp may be less than a millisecond below,
    and a string may be a prefix.)

    Conforms::
        stats_max: "2", actual_max: "2", stats_max_order_key: c, actual_max_order_key: c
        stats_max: "3", actual_max: "2", stats_max_order_key: d, actual_max_order_key: c
        stats_max: "3", actual_max: null, stats_max_order_key: d, actual_max_order_key: null
    Violates::
        stats_max: "1", actual_max: "2", stats_max_order_key: b, actual_max_order_key: c
    """
    below = pl.col("stats_max_order_key") < pl.col("actual_max_order_key")
    return below & pl.col("stats_max").is_not_null() & pl.col("actual_max").is_not_null()


@rule("STA003", requires="statistics.tight-bounds", view=column_facts, fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS)
def tight_bound_not_in_data() -> pl.Expr:
    """A bound is marked as tight, but is not the smallest or largest valid value of the file.

    Readers that answer MIN and MAX from the log return a value that the table does not contain.

    Conforms::
        tight_bounds: true, loose_bound: null
        tight_bounds: false, loose_bound: "minimum 0, smallest value 1"
        tight_bounds: null, loose_bound: "minimum 0, smallest value 1"
    Violates::
        tight_bounds: true, loose_bound: "minimum 0, smallest value 1"
    """
    return pl.col("tight_bounds") & pl.col("loose_bound").is_not_null()


@rule("STA004", requires="statistics.tight-by-default", view=column_facts, fix=COMPARE_FILE_THEN_TIGHTEN_BOUNDS)
def bound_not_in_data_without_flag() -> pl.Expr:
    """A bound is not the smallest or largest value of the file, and `tightBounds` is missing.

    Without the flag, bounds count as tight. Readers that answer MIN and MAX from the log return a value that the table
    does not contain.

    Conforms::
        tight_bounds: null, loose_bound: null
        tight_bounds: false, loose_bound: "minimum 0, smallest value 1"
    Violates::
        tight_bounds: null, loose_bound: "minimum 0, smallest value 1"
    """
    return pl.col("tight_bounds").is_null() & pl.col("loose_bound").is_not_null()


def _null_count_differs() -> pl.Expr:
    """Compare the count with the nulls of all rows and, with a deletion vector, of the valid rows."""
    stated = pl.col("stats_null_count")
    return (stated != pl.col("nulls")) & (stated != pl.col("valid_nulls"))


@rule(
    "STA005",
    requires=("statistics.tight-null-count", "statistics.variant-null-count"),
    view=column_facts,
    fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS,
)
def null_count_differs() -> pl.Expr:
    """A tight `nullCount` differs from the number of nulls in the column.

    Readers skip files by it: queries with `IS NULL` and `IS NOT NULL` lose rows, and counts are wrong.

    Conforms::
        tight_bounds: true, has_deletion_vector: false, stats_null_count: 2, nulls: 2, valid_nulls: 2
        tight_bounds: true, has_deletion_vector: true, stats_null_count: 2, nulls: 2, valid_nulls: 1
        tight_bounds: true, has_deletion_vector: true, stats_null_count: 1, nulls: 2, valid_nulls: 1
        tight_bounds: false, has_deletion_vector: true, stats_null_count: 5, nulls: 2, valid_nulls: 1
        tight_bounds: null, has_deletion_vector: true, stats_null_count: 5, nulls: 2, valid_nulls: 1
    Violates::
        tight_bounds: null, has_deletion_vector: false, stats_null_count: 3, nulls: 2, valid_nulls: 2
        tight_bounds: true, has_deletion_vector: true, stats_null_count: 0, nulls: 2, valid_nulls: 1
    """
    is_tight = pl.coalesce(pl.col("tight_bounds"), ~pl.col("has_deletion_vector"))
    return is_tight & _null_count_differs()


@rule("STA018", requires="statistics.tight-by-default", view=column_facts, fix=COMPARE_FILE_THEN_REWRITE_STATISTICS)
def null_count_differs_without_flag() -> pl.Expr:
    """A `nullCount` of a file with a deletion vector is wrong, and `tightBounds` is missing.

    Without the flag, null counts count as exact. Readers that skip files by them lose rows.

    Conforms::
        tight_bounds: null, has_deletion_vector: true, stats_null_count: 2, nulls: 2, valid_nulls: 1
        tight_bounds: null, has_deletion_vector: true, stats_null_count: 1, nulls: 2, valid_nulls: 1
        tight_bounds: null, has_deletion_vector: false, stats_null_count: 3, nulls: 2, valid_nulls: 2
        tight_bounds: false, has_deletion_vector: true, stats_null_count: 3, nulls: 2, valid_nulls: 1
    Violates::
        tight_bounds: null, has_deletion_vector: true, stats_null_count: 3, nulls: 2, valid_nulls: 1
    """
    return pl.col("tight_bounds").is_null() & pl.col("has_deletion_vector") & _null_count_differs()


@rule("STA006", requires="statistics.wide-null-count", view=column_facts, fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS)
def wide_null_count_wrong() -> pl.Expr:
    """A wide `nullCount` says that all or no valid rows are null, which is wrong.

    Readers skip files even by a wide count of 0 or of all records: filtered queries lose rows.

    Conforms::
        tight_bounds: false, stats_null_count: 0, num_records: 4, valid_rows: 4, valid_nulls: 0
        tight_bounds: false, stats_null_count: 4, num_records: 4, valid_rows: 3, valid_nulls: 3
        tight_bounds: false, stats_null_count: 1, num_records: 4, valid_rows: 3, valid_nulls: 3
    Violates::
        tight_bounds: false, stats_null_count: 0, num_records: 4, valid_rows: 4, valid_nulls: 1
        tight_bounds: false, stats_null_count: 4, num_records: 4, valid_rows: 4, valid_nulls: 3
    """
    says_none = (pl.col("stats_null_count") == 0) & (pl.col("valid_nulls") > 0)
    says_all = (pl.col("stats_null_count") > 0) & (pl.col("stats_null_count") == pl.col("num_records"))
    return ~pl.col("tight_bounds") & (says_none | (says_all & (pl.col("valid_nulls") < pl.col("valid_rows"))))


@rule("STA007", requires="statistics.mirrors-schema", view=column_facts, fix=RECOMPUTE_STATISTICS)
def statistics_structure_differs_from_schema() -> pl.Expr:
    """The structure of statistics differs from the schema.

    A struct has a single value, or a column without fields has several. Readers with a schema for statistics fail or
    ignore them.

    Conforms::
        structure_fault: null
    Violates::
        structure_fault: "nullCount: s is a struct, but its entry is not an object"
    """
    return pl.col("structure_fault").is_not_null()


@rule("STA008", requires="statistics.mirrors-schema", view=column_facts, fix=RECOMPUTE_STATISTICS)
def bound_type_differs() -> pl.Expr:
    """A bound is not a value of its column's type.

    Readers with a schema for statistics fail on the file or ignore its statistics.

    Conforms::
        type: long, bound_fault: null
    Violates::
        type: long, bound_fault: "'x' is not a number"
        type: string, bound_fault: "1 is not a string"
    """
    return pl.col("bound_fault").is_not_null() & pl.col("type").is_not_null()


@rule("STA009", requires="statistics.bound-form", view=column_facts, divergence="S12")
def non_standard_bound_format() -> pl.Expr:
    """A bound has a format that the protocol does not define and that readers parse differently.

    Examples are timestamps with a missing or unexpected zone, binary values, and numbers as strings. Some readers fail,
    others parse another value and skip rows.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must use ISO 8601 for dates and timestamps, and omit bounds
    of binary columns.

    Conforms::
        type: timestamp, non_standard_bound: null
    Violates::
        type: timestamp_ntz, non_standard_bound: "2024-01-02T03:04:05.123Z: a timestamp without time zone has a zone"
        type: binary, non_standard_bound: "abc: the text gives no form for binary"
    """
    return pl.col("non_standard_bound").is_not_null() & pl.col("type").is_not_null()


@rule("STA010", requires="statistics.bounds-of-nan", view=column_facts, divergence="S12")
def bound_is_nan() -> pl.Expr:
    """A bound is NaN.

    The protocol defines neither a format nor an order for NaN. Readers fail, ignore it, or treat it as the largest
    value.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must omit the bounds of columns that contain NaN.

    Conforms::
        has_nan_bound: false
        has_nan_bound: null
    Violates::
        has_nan_bound: true
    """
    return pl.col("has_nan_bound")


@rule("STA011", requires="statistics.bounds-of-nan", view=column_facts, divergence="S12")
def maximum_ignores_nan() -> pl.Expr:
    """A column that contains NaN has a maximum that is not NaN.

    Readers that treat NaN as the largest value, such as Spark, skip rows with NaN in filtered queries.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must omit the maximum of columns that contain NaN. Read the
    rows without a filter on the column.

    Conforms::
        has_nan: true, max_is_nan: null, stats_max: null
        has_nan: true, max_is_nan: true, stats_max: "NaN"
        has_nan: false, max_is_nan: false, stats_max: "1.0"
    Violates::
        has_nan: true, max_is_nan: false, stats_max: "1.0"
    """
    return pl.col("has_nan") & ~pl.col("max_is_nan") & pl.col("stats_max").is_not_null()


@rule("STA012", requires="statistics.string-prefix", view=column_facts, divergence="E50")
def truncated_string_maximum() -> pl.Expr:
    """The maximum of a string column is a truncated prefix of the largest value.

    A footnote permits truncation, but the prefix is smaller than the value. Readers that trust it skip the file.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must append a larger character to a truncated maximum, or
    omit it. Read the rows without a filter on the column.

    Conforms::
        max_is_truncated: false, stats_max: "aa\\u007f", actual_max: "aab"
        max_is_truncated: null, stats_max: null, actual_max: "aab"
        max_is_truncated: true, stats_max: null, actual_max: "aab"
        max_is_truncated: true, stats_max: "aa", actual_max: null
    Violates::
        max_is_truncated: true, stats_max: "aa", actual_max: "aab"
    """
    return pl.col("max_is_truncated") & pl.col("stats_max").is_not_null() & pl.col("actual_max").is_not_null()


@rule("STA013", requires="statistics.timestamp-milliseconds", view=column_facts, divergence="E50")
def timestamp_bound_finer_than_milliseconds() -> pl.Expr:
    """A bound of a timestamp column has more than millisecond precision.

    A footnote requires truncation to milliseconds, but a tight bound must be a value of the file. Readers that support
    only milliseconds parse `.298677` as 298 seconds.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer should truncate bounds of timestamps to milliseconds.

    Conforms::
        sub_millisecond_bound: null
    Violates::
        sub_millisecond_bound: "2024-01-02T03:04:05.298677Z"
    """
    return pl.col("sub_millisecond_bound").is_not_null()


@rule(
    "STA014",
    requires=("statistics.variant-bounds-need-shredding", "variant.bounds-need-shredding"),
    view=column_facts,
    fix=RECOMPUTE_STATISTICS,
)
def variant_bounds_without_feature() -> pl.Expr:
    """A variant column has bounds although the protocol does not support `variantShredding`.

    Readers without the feature interpret the bounds as another type and fail.

    Conforms::
        type: variant, shredding_supported: true
        type: variant, shredding_supported: null
    Violates::
        type: variant, shredding_supported: false
    """
    return ~pl.col("shredding_supported") & (pl.col("type") == "variant")


@rule(
    "STA015",
    requires=("statistics.variant-bounds", "statistics.variant-leaves"),
    view=column_facts,
    fix=RECOMPUTE_STATISTICS,
)
def variant_bound_malformed() -> pl.Expr:
    """A bound of a variant column is not a variant object with normalized JSON paths as keys.

    Readers cannot decode it. They fail on the file or ignore its statistics.

    Conforms::
        variant_bound_fault: null
    Violates::
        variant_bound_fault: "minValues: is not an object but string"
    """
    return pl.col("variant_bound_fault").is_not_null()


@rule("STA016", requires="statistics.variant-bound-encoding", view=column_facts, divergence="E18")
def variant_bound_encoding_differs() -> pl.Expr:
    """A bound of a variant column is not metadata followed by value in Z85.

    The example of the protocol does not follow this either: its order is reversed and its length is not valid Z85.
    Fix (rewrite): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must store metadata, then value, padded with zeros to a
    multiple of four bytes.

    Conforms::
        ambiguous_variant_bound: null
    Violates::
        ambiguous_variant_bound: "minValues: length 53 is not a multiple of 5 characters"
    """
    return pl.col("ambiguous_variant_bound").is_not_null()


@rule("STA017", requires="statistics.variant-types", view=column_facts)
def variant_bound_types_differ() -> pl.Expr:
    """A path of a variant column has a minimum and a maximum of different types.

    Readers that compare with one of them skip files that contain the value.
    Fix (repair): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must omit bounds of paths whose type differs between rows.

    Conforms::
        variant_type_change: null
    Violates::
        variant_type_change: "$['a'] is string and double"
    """
    return pl.col("variant_type_change").is_not_null()


@rule("STA030", requires="statistics.variant-same-type-in-rows", view=variant_paths)
def variant_bound_of_mixed_types() -> pl.Expr:
    """A path of a variant column has a bound although its type differs between rows.

    Values of different types have no order. Readers that skip files by the bound lose rows of the other type.
    Fix (repair): Recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS` (Databricks), or rewrite
    the file's rows with a conforming writer. The writer must omit bounds of such paths. Read the rows without a
    filter on the column.

    Conforms::
        types: ["exact number"]
        types: []
    Violates::
        types: ["exact number", "string"]
    """
    return pl.col("types").list.len() > 1


@rule(
    "STA031",
    requires="statistics.variant-paths-on-their-own",
    view=variant_paths,
    fix=COMPARE_FILE_THEN_RECOMPUTE_STATISTICS,
)
def variant_bound_excludes_value() -> pl.Expr:
    """A bound for a path of a variant column excludes a value that the file contains at this path.

    Readers skip files by it: filtered queries silently lose rows. Either the statistics are wrong, or the file is not
    the one that was committed.

    Conforms::
        contradiction: null
    Violates::
        contradiction: "minimum 5, smallest value 3"
    """
    return pl.col("contradiction").is_not_null()


@rule("STA032", requires="statistics.variant-paths-on-their-own", view=variant_paths, fix=RECOMPUTE_STATISTICS)
def tight_variant_bound_not_in_data() -> pl.Expr:
    """A bound for a path of a variant is marked as tight, but is not the smallest or largest valid value of the file.

    Readers that answer MIN and MAX from the log return a value that the table does not contain.

    Conforms::
        tight_bounds: true, loose_bound: null, contradiction: null
        tight_bounds: false, loose_bound: "minimum 0, smallest value 1", contradiction: null
        tight_bounds: true, loose_bound: "minimum 5, smallest value 3", contradiction: "minimum 5, smallest value 3"
    Violates::
        tight_bounds: true, loose_bound: "minimum 0, smallest value 1", contradiction: null
    """
    return pl.col("tight_bounds") & pl.col("loose_bound").is_not_null() & pl.col("contradiction").is_null()


@rule("STA019", requires="data-files.required-columns", view=null_columns)
def null_counted_in_required_column() -> pl.Expr:
    """The statistics of a file count nulls in a column that is not nullable.

    Engines rely on the schema: they skip null checks, count such rows, or fail. Either a row is null, or the statistics
    are wrong. (Counts that may only include deleted rows are not checked, and wide counts only if they cover all rows.)
    Fix (decide): Run `SELECT count(*) FROM t WHERE column IS NULL` with data skipping disabled. If rows are null,
    correct them with `UPDATE t SET column = value WHERE column IS NULL`, or allow null with `ALTER TABLE t ALTER
    COLUMN column DROP NOT NULL`. Otherwise recompute the statistics with `ANALYZE TABLE t COMPUTE DELTA STATISTICS`
    (Databricks).

    Conforms::
        source: partition value
    Violates::
        source: null count
    """
    return pl.col("source") == "null count"
