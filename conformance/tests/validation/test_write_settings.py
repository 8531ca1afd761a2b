"""Table properties for writing Parquet apply only to files written while they are set."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators import small_tables
from deltaspec_generators.small_tables import add_data_file, build_table_with_data, encode_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    remove_action,
    write_table,
)

CODEC = {"delta.parquet.compression.codec": "zstd"}


def write_and_validate(files: TableFiles, directory: Path) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="footers")


def build_table_with_later_properties(configuration: dict[str, str]) -> TableFiles:
    """Build a table of Snappy files whose properties are set in version 3."""
    files = build_table_with_data()
    files.commits[3] = [commit_info_action(3), metadata_action(small_tables.FIELDS, configuration=configuration)]
    return files


def test_files_older_than_the_property_are_not_checked(tmp_path: Path) -> None:
    assert write_and_validate(build_table_with_later_properties(CODEC), tmp_path).totals == {}


def test_new_file_must_use_the_codec(tmp_path: Path) -> None:
    files = build_table_with_later_properties(CODEC)
    files.commits[4] = [commit_info_action(4), add_data_file(files, "d.parquet", small_tables.build_rows(30))]
    report = write_and_validate(files, tmp_path)
    assert report.totals == {"PQT050": 1}
    assert report.verdict == "conforms"
    assert [(each.path, each.severity) for each in report.findings] == [("d.parquet", "warning")]


def test_readded_file_is_not_new(tmp_path: Path) -> None:
    files = build_table_with_later_properties(CODEC)
    readded = {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"note": "again"}}}
    files.commits[4] = [commit_info_action(4), readded]
    assert write_and_validate(files, tmp_path).totals == {}


def test_restored_file_is_not_new(tmp_path: Path) -> None:
    files = build_table_with_later_properties(CODEC)
    body = {"add": get_action(files, 2, "add")}
    files.commits[4] = [commit_info_action(4), remove_action(body)]
    files.commits[5] = [commit_info_action(5), body]
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_without_rows_has_no_codec(tmp_path: Path) -> None:
    files = build_table_with_later_properties({**CODEC, "delta.parquet.format.version": "2.0.0"})
    files.commits[4] = [
        commit_info_action(4),
        add_data_file(files, "d.parquet", small_tables.build_rows(30).slice(0, 0)),
    ]
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize("value", ["brotli", "fast", ""])
def test_codecs_unknown_to_the_specification_are_not_checked(value: str, tmp_path: Path) -> None:
    files = build_table_with_data(configuration={"delta.parquet.compression.codec": value})
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize(
    ("value", "compression"), [("LZ4", "lz4"), ("lz4_raw", "lz4"), ("None", "none"), ("UNCOMPRESSED", "none")]
)
def test_codec_names_match_parquet_codecs(value: str, compression: str, tmp_path: Path) -> None:
    configuration = {"delta.parquet.compression.codec": value}
    files = build_table_with_data(configuration=configuration, parquet_options={"compression": compression})
    assert write_and_validate(files, tmp_path).totals == {}


def test_files_are_not_checked_without_the_property(tmp_path: Path) -> None:
    assert (
        write_and_validate(build_table_with_data(parquet_options={"data_page_version": "2.0"}), tmp_path).totals == {}
    )


def test_invalid_footer_is_one_finding(tmp_path: Path) -> None:
    files: Any = build_table_with_data(configuration=CODEC, parquet_options={"compression": "zstd"})
    files.data["c.parquet"] = encode_data_file(small_tables.build_rows(20))[:-1] + b"X"
    get_action(files, 2, "add")["size"] = len(files.data["c.parquet"])
    assert write_and_validate(files, tmp_path).totals == {"PQT001": 1}
