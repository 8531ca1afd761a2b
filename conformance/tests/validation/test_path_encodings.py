"""Paths in all encodings of RFC 2396: their findings, and which encodings are one file."""

from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from helpers.path_encodings import add_file_under_another_encoding

import deltaspec
from deltaspec.candidates.adapters.duckdb import open_database
from deltaspec.requirements import REVISIONS
from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, remove_action, write_table
from planted_tables.bases import log_only

VALID_PATHS = (
    "a%20b.parquet",
    "p=%C3%A9/%E6%97%A5.parquet",
    "p=x%3Ay/a.parquet",
    "a/./b.parquet",
    "a/../z.parquet",
    "100%25.parquet",
    "x;y,z@&=+$-_.!~*'().parquet",
    "/elsewhere/z.parquet",
    "file:/elsewhere/a.parquet",
    "S3://bucket/a%23b.parquet",
    "abfss://container@account.dfs.core.windows.net/a.parquet",
)
INVALID_PATHS = {
    "a b.parquet": "FIL001",
    "100%.parquet": "FIL001",
    "a%FF.parquet": "FIL001",
    "a#b.parquet": "FIL001",
    "a?b.parquet": "FIL001",
    "é.parquet": "FIL002",
    "../a.parquet": "FIL003",
    "a/%2E%2E/../b.parquet": "FIL003",
    "a:b.parquet": "FIL006",
}
"""Path to the rule that reports it."""


def build_table_with_path(path: str) -> TableFiles:
    files = log_only.build_table()
    added = add_action(path, rows=1)
    files.commits[3] = [commit_info_action(3), added]
    files.commits[4] = [commit_info_action(4), remove_action(added)]
    return files


def count_findings(files: TableFiles, directory: Path, revision: str = "current") -> dict[str, int]:
    write_table(files, directory)
    report = deltaspec.validate(str(directory), level="log", history="all", revision=revision)
    assert not report.checked.not_checked
    return dict(report.totals)


@pytest.mark.parametrize("revision", REVISIONS)
def test_valid_paths_have_no_finding(revision: str, tmp_path: Path) -> None:
    files = log_only.build_table()
    files.commits[3] = [commit_info_action(3), *(add_action(path, rows=1) for path in VALID_PATHS)]
    assert count_findings(files, tmp_path, revision) == {}


@pytest.mark.parametrize(("path", "rule"), INVALID_PATHS.items())
def test_invalid_path_is_found_in_add_and_remove(path: str, rule: str, tmp_path: Path) -> None:
    assert count_findings(build_table_with_path(path), tmp_path) == {rule: 2}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x.parquet", "./x.parquet"),
        ("x.parquet", "a/../x.parquet"),
        ("a%20x.parquet", "%61%20x.parquet"),
        ("s3://b/x.parquet", "S3://b/x.parquet"),
        ("file:///t/x.parquet", "/t/x.parquet"),
    ],
)
def test_file_removed_by_another_encoding_is_removed(one: str, other: str, tmp_path: Path) -> None:
    files = log_only.build_table_with_checksum()
    checksum = files.checksums.pop(2)
    files.commits[3] = [commit_info_action(3), add_action(one, rows=1)]
    files.commits[4] = [commit_info_action(4), remove_action(add_action(other, rows=1))]
    files.checksums[4] = checksum
    assert count_findings(files, tmp_path) == {"FIL035": 1}


@pytest.mark.parametrize("kind", ["add", "remove"])
def test_engines_that_the_rule_names_return_rows_of_two_encodings_twice(tmp_path: Path, kind: str) -> None:
    """FIL035 says what happens to rows; `spark/test_path_encodings_on_spark.py` asks Delta Spark."""
    add_file_under_another_encoding(tmp_path / "t", kind)
    (finding,) = deltaspec.validate(str(tmp_path / "t"), level="log").findings
    assert finding.rule == "FIL035"
    assert "they return every row of it twice" in deltaspec.validate(str(tmp_path / "t")).rules["FIL035"].why
    found = open_database().execute(f"SELECT count(*) FROM delta_scan('{tmp_path}/t')").fetchall()
    counts = [DeltaTable(tmp_path / "t").to_pyarrow_table().num_rows, pl.scan_delta(tmp_path / "t").collect().height]
    assert [*counts, found[0][0]] == ([8, 8, 8] if kind == "add" else [4, 4, 4])
