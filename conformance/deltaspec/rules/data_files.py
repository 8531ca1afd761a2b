"""Rules over data files and change data files: are they there, and as long as the log says?"""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.data_files import data_files


@rule("DAT001", requires="add.file-exists", view=data_files)
def data_file_missing() -> pl.Expr:
    """A live data file is not there.

    Every query that needs it fails, and its rows are lost. (Where a later commit has removed the file it may be gone:
    then the run is told to be incomplete.)
    Fix: restore the file from a copy; without one, remove its entry, and the rows with it.

    Conforms::
        kind: add, exists: true, removed_since: null
        kind: add, exists: false, removed_since: true
        kind: cdc, exists: false, removed_since: null
    Violates::
        kind: add, exists: false, removed_since: false
    """
    return (pl.col("kind") == "add") & ~pl.col("exists") & ~pl.col("removed_since")


@rule("DAT002", requires="add.size", view=data_files)
def data_file_size_differs() -> pl.Expr:
    """A live data file is not as long as its entry says.

    Readers that look for the footer where the size puts it fail; the file may be cut, or another one of that name.
    Fix: find out whether the file was overwritten; commit it again with its true size.

    Conforms::
        kind: add, size: 1000, actual_size: 1000
        kind: add, size: 1000, actual_size: null
        kind: cdc, size: 1000, actual_size: 7
    Violates::
        kind: add, size: 1000, actual_size: 999
    """
    return (pl.col("kind") == "add") & (pl.col("size") != pl.col("actual_size"))


@rule("DAT003", requires="cdc.size", view=data_files)
def change_file_size_differs() -> pl.Expr:
    """A change data file is not as long as its entry says.

    Readers of the change feed that look for the footer where the size puts it fail.
    Fix: find out whether the file was overwritten; nothing but a new commit can mend the entry.

    Conforms::
        kind: cdc, size: 1000, actual_size: 1000
        kind: add, size: 1000, actual_size: 7
    Violates::
        kind: cdc, size: 1000, actual_size: 999
    """
    return (pl.col("kind") == "cdc") & (pl.col("size") != pl.col("actual_size"))


@rule("DAT004", requires="cdc.file-exists", view=data_files, divergence="S25")
def change_file_missing() -> pl.Expr:
    """A change data file that a commit of the log names is not there.

    Readers of the change feed fail at that version. No text says how long the files have to stay: clean-up takes them
    with the removed data files, while the commits that name them may remain.
    Fix: read the change feed from a later version on.

    Conforms::
        kind: cdc, exists: true
        kind: add, exists: false
    Violates::
        kind: cdc, exists: false
    """
    return (pl.col("kind") == "cdc") & ~pl.col("exists")
