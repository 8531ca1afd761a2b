"""Folders of tables, such as `connectors/golden-tables` of delta-io/delta and the golden tables of delta-kernel-rs.

<case>/_delta_log/                       a table without an answer: the reference reader gives the expected rows
<case>/{delta/_delta_log/, expected/*.parquet}     a table with its rows
"""

from pathlib import Path

from deltaspec.golden.importing.folder import ImportFolder
from deltaspec.golden.importing.questions import ImportedCase, ReadRows

LOG = "_delta_log"


def is_case(folder: ImportFolder, directory: Path) -> bool:
    """Return whether a directory is a table, or has a table and its rows."""
    return folder.has(directory / LOG) or folder.has(directory / "delta" / LOG)


def read_case(folder: ImportFolder, directory: Path, identity: str) -> ImportedCase:
    """Read a case. Raises `InvalidUsage`."""
    if folder.has(directory / LOG):
        return ImportedCase(identity, "tables", directory, (ReadRows("latest"),))
    rows = folder.list_rows(directory / "expected")
    return ImportedCase(identity, "tables", directory / "delta", (ReadRows("latest", rows=rows or None),))
