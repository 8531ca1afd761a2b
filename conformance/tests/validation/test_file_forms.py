"""What properties ask of new files is asked of no others."""

from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import data_files
from deltaspec_generators.bases.data_files import add_data_file, build_table_with_data, encode_data_file
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.table_files import TableFiles, metadata_action, remove_action, write_table

CODEC = {"delta.parquet.compression.codec": "zstd"}


def write_and_validate(files: TableFiles, directory: Path) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="footers")


def set_later(configuration: dict[str, str]) -> TableFiles:
    """A table of snappy files, whose properties are set in version 3."""
    files = build_table_with_data()
    files.commits[3] = [commit_info_action(3), metadata_action(data_files.FIELDS, configuration=configuration)]
    return files


def test_files_from_before_the_property_are_as_they_were(tmp_path: Path) -> None:
    assert write_and_validate(set_later(CODEC), tmp_path).totals == {}


def test_a_file_of_a_later_commit_is_asked(tmp_path: Path) -> None:
    files = set_later(CODEC)
    files.commits[4] = [commit_info_action(4), add_data_file(files, "d.parquet", data_files.build_rows(30))]
    report = write_and_validate(files, tmp_path)
    assert report.totals == {"PQT050": 1}
    assert report.verdict == "conforms"
    assert [(each.path, each.severity) for each in report.findings] == [("d.parquet", "warning")]


def test_a_file_that_is_committed_again_is_not_new(tmp_path: Path) -> None:
    files = set_later(CODEC)
    again = {"add": {**get_action(files, 2, "add"), "dataChange": False, "tags": {"note": "again"}}}
    files.commits[4] = [commit_info_action(4), again]
    assert write_and_validate(files, tmp_path).totals == {}


def test_a_restored_file_is_not_new(tmp_path: Path) -> None:
    files = set_later(CODEC)
    body = {"add": get_action(files, 2, "add")}
    files.commits[4] = [commit_info_action(4), remove_action(body)]
    files.commits[5] = [commit_info_action(5), body]
    assert write_and_validate(files, tmp_path).totals == {}


def test_a_file_without_rows_has_no_codec(tmp_path: Path) -> None:
    files = set_later({**CODEC, "delta.parquet.format.version": "2.0.0"})
    files.commits[4] = [commit_info_action(4), add_data_file(files, "d.parquet", data_files.build_rows(30).slice(0, 0))]
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize("value", ["brotli", "fast", ""])
def test_codecs_that_the_text_does_not_name_are_not_judged(value: str, tmp_path: Path) -> None:
    files = build_table_with_data(configuration={"delta.parquet.compression.codec": value})
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize(
    ("value", "compression"), [("LZ4", "lz4"), ("lz4_raw", "lz4"), ("None", "none"), ("UNCOMPRESSED", "none")]
)
def test_names_of_codecs_stand_for_what_parquet_has(value: str, compression: str, tmp_path: Path) -> None:
    configuration = {"delta.parquet.compression.codec": value}
    files = build_table_with_data(configuration=configuration, parquet_options={"compression": compression})
    assert write_and_validate(files, tmp_path).totals == {}


def test_without_the_property_nothing_is_asked(tmp_path: Path) -> None:
    assert (
        write_and_validate(build_table_with_data(parquet_options={"data_page_version": "2.0"}), tmp_path).totals == {}
    )


def test_a_footer_that_is_none_is_one_finding(tmp_path: Path) -> None:
    files: Any = build_table_with_data(configuration=CODEC, parquet_options={"compression": "zstd"})
    files.data["c.parquet"] = encode_data_file(data_files.build_rows(20))[:-1] + b"X"
    get_action(files, 2, "add")["size"] = len(files.data["c.parquet"])
    assert write_and_validate(files, tmp_path).totals == {"PQT001": 1}
