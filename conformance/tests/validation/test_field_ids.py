"""Files without field ids under column mapping: a violation if the log shows that they are younger (PQT034)."""

import tempfile
from pathlib import Path

import pytest

import deltaspec
from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import TableFiles, commit_info_action, write_table
from planted_tables.bases.column_mapping import (
    COLUMN_IDS,
    PHYSICAL_NAMES,
    build_mapped_rows,
    build_mapped_table_with_data,
)


def findings(files: TableFiles) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        report = deltaspec.validate(str(Path(directory) / "table"), level="footers", history="all")
    return {each.rule: each.severity for each in report.findings}


@pytest.mark.parametrize("mode", ["id", "name"])
@pytest.mark.parametrize("operation", ["WRITE", "OPTIMIZE", "MERGE", "STREAMING UPDATE"])
def test_younger_file_without_field_ids(mode: str, operation: str) -> None:
    files = build_mapped_table_with_data(mode)
    rows = build_mapped_rows(20, PHYSICAL_NAMES, dict.fromkeys(COLUMN_IDS))
    files.commits[3] = [commit_info_action(3, operation=operation), add_data_file(files, "d.parquet", rows)]
    assert findings(files).get("PQT034") == "violation"


@pytest.mark.parametrize("mode", ["id", "name"])
def test_younger_file_with_field_ids(mode: str) -> None:
    assert findings(build_mapped_table_with_data(mode)) == {}
