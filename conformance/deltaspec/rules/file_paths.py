"""Rules over the paths of files. Source: chapters Add File and Remove File, Data Files, Change Data Files."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.file_actions import file_actions


@rule("FIL001", requires="add.path-encoding", view=file_actions)
def malformed_path() -> pl.Expr:
    """The path of a file is not a URI reference: empty, a broken escape, or a character that must be escaped.

    Readers decode it to different names, or fail.
    Fix: rewrite the file's entry with its name percent-encoded.

    Conforms::
        path_fault: null
    Violates::
        path_fault: "has a malformed percent escape"
    """
    return pl.col("path_fault").is_not_null()


@rule("FIL002", requires="add.path-encoding", view=file_actions)
def path_not_ascii() -> pl.Expr:
    """The path of a file holds characters beyond ASCII that are not percent-encoded.

    A URI has none (RFC 2396); readers that decode strictly fail, others guess the encoding.
    Fix: the writer must encode the octets of the name's UTF-8 form.

    Conforms::
        path_has_non_ascii: false
    Violates::
        path_has_non_ascii: true
    """
    return pl.col("path_has_non_ascii")


@rule("FIL003", requires="add.path", view=file_actions)
def path_escapes_table() -> pl.Expr:
    """A relative path climbs out of the table.

    It names a file of somebody else; readers that follow it may expose or delete it.
    Fix: find out what wrote it; an absolute path is the only way to refer to a file elsewhere.

    Conforms::
        path_escapes_table: false
    Violates::
        path_escapes_table: true
    """
    return pl.col("path_escapes_table")


@rule("FIL004", requires="data-files.location", view=file_actions)
def data_file_in_hidden_directory() -> pl.Expr:
    """A data file is in a directory whose name begins with an underscore.

    Such directories do not belong to the data: listings skip them, vacuum may pass over or empty them. (The directory
    of a partition column whose name begins so, such as `_day=1`, is known by its name to belong to the data.)
    Fix: rewrite the file into the table's root or another folder.

    Conforms::
        kind: add, hidden_directory: null
        kind: cdc, hidden_directory: "_change_data"
        kind: remove, hidden_directory: "_tmp"
        kind: add, hidden_directory: "_change_data"
        kind: add, hidden_directory: "_day=1"
    Violates::
        kind: add, hidden_directory: "_tmp"
    """
    directory = pl.col("hidden_directory")
    belongs = (directory == "_change_data") | directory.str.contains("=", literal=True)
    return (pl.col("kind") == "add") & directory.is_not_null() & ~belongs


@rule("FIL005", requires="cdc.location", view=file_actions)
def change_file_outside_change_data_directory() -> pl.Expr:
    """A change data file is not below `_change_data`.

    Vacuum and readers that list the folder miss it. (A cdc action may also name a data file that its commit adds.)
    Fix: the writer must put change data files below `_change_data` at the table's root.

    Conforms::
        kind: cdc, path: "_change_data/cdc-0.parquet", path_is_absolute: false, path_is_added: false
        kind: cdc, path: "part-0.parquet", path_is_absolute: false, path_is_added: true
        kind: add, path: "part-0.parquet", path_is_absolute: false, path_is_added: null
        kind: cdc, path: "s3://bucket/table/_change_data/cdc-0.parquet", path_is_absolute: true, path_is_added: false
    Violates::
        kind: cdc, path: "uI/cdc-0.parquet", path_is_absolute: false, path_is_added: false
    """
    elsewhere = ~pl.col("path").str.starts_with("_change_data/") & ~pl.col("path_is_absolute")
    return (pl.col("kind") == "cdc") & elsewhere & ~pl.col("path_is_added")


@rule("FIL050", requires="cdc.partition-directories", view=file_actions)
def change_file_outside_partition_directories() -> pl.Expr:
    """A change data file of a partitioned table lies in `_change_data` itself, in no directory below it.

    The text recommends a directory for each partition; tools that look at change data by partition find nothing.
    Fix: the writer should put change data files into `_change_data/column=value/` directories.

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


@rule("FIL006", requires="add.path-encoding", view=file_actions, divergence="S09")
def colon_in_first_segment() -> pl.Expr:
    """A relative path has an unencoded colon in its first segment.

    A URI reader takes what stands before the colon for a scheme: some engines fail, others find the file.
    Fix: the writer must encode the colon as %3A.

    Conforms::
        colon_in_first_segment: false
    Violates::
        colon_in_first_segment: true
    """
    return pl.col("colon_in_first_segment")
