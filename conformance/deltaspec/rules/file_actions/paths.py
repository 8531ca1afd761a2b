"""Rules over the paths of files. Source: chapters Add File and Remove File, Data Files, Change Data Files."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_actions


@rule("FIL001", requires="add.path-encoding", view=file_actions)
def malformed_path() -> pl.Expr:
    """The path of a file is not a valid URI reference.

    Readers decode it to different file names, or fail. (It is empty, has an invalid escape, or has a character that
    must be percent-encoded.)
    Fix (rewrite): Do not rename the file. If your engine reads it, rewrite its rows; otherwise run `RESTORE TABLE t
    TO VERSION AS OF n` with a version before it and write them again.

    Conforms::
        path_fault: null
    Violates::
        path_fault: "has a malformed percent escape"
    """
    return pl.col("path_fault").is_not_null()


@rule("FIL002", requires="add.path-encoding", view=file_actions, divergence="S09")
def path_not_ascii() -> pl.Expr:
    """The path of a file contains non-ASCII characters that are not percent-encoded.

    A URI has only ASCII characters (RFC 2396), but Delta Spark writes others and the known engines read them. Strict
    URI parsers fail.
    Fix (none): No repair is needed if your readers find the file; do not rename it. The writer should
    percent-encode the UTF-8 bytes of the name.

    Conforms::
        path_has_non_ascii: false
    Violates::
        path_has_non_ascii: true
    """
    return pl.col("path_has_non_ascii")


@rule("FIL003", requires="add.path", view=file_actions)
def path_escapes_table() -> pl.Expr:
    """A relative path leaves the directory of the table.

    It names a file that belongs to something else. Readers may expose it, and `VACUUM` may delete it.
    Fix (restore): Do not run `VACUUM`. Find the writer, then run `RESTORE TABLE t TO VERSION AS OF n` with a
    version before the commit. Files elsewhere need an absolute path.

    Conforms::
        path_escapes_table: false
    Violates::
        path_escapes_table: true
    """
    return pl.col("path_escapes_table")


@rule("FIL004", requires="data-files.location", view=file_actions)
def data_file_in_hidden_directory() -> pl.Expr:
    """A data file is in a directory whose name begins with an underscore.

    Such directories are hidden. Listings skip them, and `VACUUM` ignores them or deletes their files. (Directories of
    partition columns, such as `_day=1`, are not hidden.)
    Fix (rewrite): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). Do not run `VACUUM` before that, and do not move the file.

    Conforms::
        kind: add, hidden_directory: null
        kind: cdc, hidden_directory: "_tmp"
        kind: remove, hidden_directory: "_tmp"
    Violates::
        kind: add, hidden_directory: "_tmp"
    """
    return (pl.col("kind") == "add") & pl.col("hidden_directory").is_not_null()


@rule("FIL005", requires="cdc.location", view=file_actions)
def change_file_outside_change_data_directory() -> pl.Expr:
    """A change data file is not in `_change_data`.

    `VACUUM` and readers that list the directory miss the file. (A cdc action may also name a data file that its commit
    adds.)
    Fix (none): No repair is needed for the committed version; do not move the file. Fix the writer so that it
    writes change data below `_change_data`.

    Conforms::
        kind: cdc, path: "_change_data/cdc-0.parquet", path_is_absolute: false, path_is_added: false
        kind: cdc, path: "part-0.parquet", path_is_absolute: false, path_is_added: true
        kind: add, path: "part-0.parquet", path_is_absolute: false, path_is_added: null
        kind: cdc, path: "s3://bucket/table/_change_data/cdc-0.parquet", path_is_absolute: true, path_is_added: false
        kind: add, path: "part-0.parquet", path_is_absolute: false, path_is_added: false
    Violates::
        kind: cdc, path: "uI/cdc-0.parquet", path_is_absolute: false, path_is_added: false
    """
    elsewhere = ~pl.col("path").str.starts_with("_change_data/") & ~pl.col("path_is_absolute")
    return (pl.col("kind") == "cdc") & elsewhere & ~pl.col("path_is_added")


@rule("FIL050", requires="cdc.partition-directories", view=file_actions)
def change_file_outside_partition_directories() -> pl.Expr:
    """A change data file of a partitioned table is not in a partition directory of `_change_data`.

    The protocol recommends a directory for each partition. Tools that read change data by partition directory find
    nothing.
    Fix (none): No repair is needed; do not move the file. The writer should use directories such as
    `_change_data/column=value/`.

    Conforms::
        kind: cdc, path: "_change_data/p=x/cdc-0.parquet", table_is_partitioned: true
        kind: cdc, path: "_change_data/uI/cdc-0.parquet", table_is_partitioned: true
        kind: cdc, path: "_change_data/cdc-0.parquet", table_is_partitioned: false
        kind: add, path: "_change_data/cdc-0.parquet", table_is_partitioned: true
    Violates::
        kind: cdc, path: "_change_data/cdc-0.parquet", table_is_partitioned: true
    """
    flat = pl.col("path").str.contains(r"^_change_data/[^/]*$")
    return (pl.col("kind") == "cdc") & pl.col("table_is_partitioned") & flat


@rule("FIL006", requires="add.path-encoding", view=file_actions)
def colon_in_first_segment() -> pl.Expr:
    """A relative path has an unencoded colon in its first segment.

    URI parsers treat the part before the colon as a scheme (RFC 2396 excludes it from relative paths). Delta Spark
    cannot read the table.
    Fix (rewrite): Rewrite the file's rows with a conforming writer, for example by overwriting its partition
    (`replaceWhere` in Delta Spark). The writer must encode the colon as %3A. Do not rename the file.

    Conforms::
        colon_in_first_segment: false
    Violates::
        colon_in_first_segment: true
    """
    return pl.col("colon_in_first_segment")
