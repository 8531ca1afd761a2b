"""Cases of the Delta acceptance tests (DAT), version 0.0.3.

<case>/test_case_info.json               name and description
<case>/delta/                            the table
<case>/expected/{latest,v<N>}/           for the newest version, and for earlier ones:
    table_version_metadata.json          version, properties and protocol versions
    table_content/*.parquet              rows
"""

import re
from pathlib import Path

import msgspec

from deltaspec.golden.importing.folder import ImportFolder
from deltaspec.golden.importing.questions import ImportedCase, LoadSnapshot, Question, ReadRows

INFO, METADATA, CONTENT = "test_case_info.json", "table_version_metadata.json", "table_content"
_VERSION_FOLDER = re.compile(r"latest|v(0|[1-9]\d{0,17})")


class CaseInfo(msgspec.Struct, frozen=True):
    """Content of `test_case_info.json`."""

    name: str
    description: str = ""


class VersionMetadata(msgspec.Struct, frozen=True):
    """Content of `table_version_metadata.json`."""

    version: int
    properties: dict[str, str]
    min_reader_version: int
    min_writer_version: int


def is_case(folder: ImportFolder, directory: Path) -> bool:
    """Return whether a directory is a case of DAT."""
    return INFO in folder.list_names(directory) and folder.has(directory / "expected")


def read_case(folder: ImportFolder, directory: Path, identity: str) -> ImportedCase:
    """Read a case. Raises `InvalidUsage`."""
    info = folder.read_document(directory / INFO, CaseInfo)
    questions: list[Question] = []
    for each in folder.directories:
        number = _VERSION_FOLDER.fullmatch(each.name)
        if each.parent == directory / "expected" and number and METADATA in folder.list_names(each):
            questions += _read_version(folder, each, None if number[1] is None else int(number[1]))
    return ImportedCase(identity, "dat", directory / "delta", tuple(questions), info.description)


def _read_version(folder: ImportFolder, directory: Path, version: int | None) -> list[Question]:
    name = directory.name
    expected = folder.read_document(directory / METADATA, VersionMetadata)
    snapshot = LoadSnapshot(
        f"{name}-snapshot",
        version,
        expected.version,
        {"minReaderVersion": expected.min_reader_version, "minWriterVersion": expected.min_writer_version},
        {"configuration": expected.properties},
    )
    rows = folder.list_rows(directory / CONTENT)
    return [snapshot, *([ReadRows(name, version, rows=rows)] if rows else [])]
