"""JSON nested very deeply in statistics, domains, checksums and the hint: not checked, and no violation."""

import json
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.protocol.json_values import MAX_DEPTH, parse_lossless, prune_deep_values
from deltaspec.report.report_types import Report
from deltaspec_generators.table_files import LOG, TableFiles, get_action, write_table
from planted_tables.bases import log_only
from planted_tables.bases.clustering import build_clustered_table

DEPTHS = [MAX_DEPTH + 1, 5000]
DECODED_DEPTH = 900
"""Depth up to which statistics are decoded completely."""


def nest(depth: int) -> str:
    return "[" * depth + '{"a":1}' + "]" * depth


def validate(files: TableFiles, root: Path, **options: Any) -> Report:
    write_table(files, root)
    return deltaspec.validate(str(root), level="log", history="all", **options)


def collect_unchecked(report: Report) -> set[str]:
    return {each.rule for each in report.checked.not_checked if "levels deep" in each.reason}


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_statistics_are_read_without_their_deepest_values(tmp_path: Path, depth: int) -> None:
    files = log_only.build_table()
    add = get_action(files, 1, "add")
    add["stats"] = add["stats"][:-1] + f',"x":{nest(depth)}}}'
    report = validate(files, tmp_path / "sound")
    unread = {"FIL016"} if depth > DECODED_DEPTH else set()
    assert (report.totals, collect_unchecked(report)) == ({"FIL025": 1}, unread)  # no text defines the key x
    assert report.verdict == ("incomplete" if unread else "conforms")
    add["stats"] = f'{{"numRecords":"1","x":{nest(depth)}}}'
    assert validate(files, tmp_path / "faulty").totals == {"FIL016": 1}
    add["stats"] = f'{{"numRecords":1,"x":{nest(depth)}'
    assert validate(files, tmp_path / "cut").totals == {"FIL016": 1}


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_statistics_in_a_checkpoint(tmp_path: Path, depth: int) -> None:
    files = log_only.build_checkpointed_table()
    row = get_action(files, 1, "add")  # the checkpoint has the same object
    row["stats"] = row["stats"][:-1] + f',"x":{nest(depth)}}}'
    report = validate(files, tmp_path)
    unread = {"FIL016"} if depth > DECODED_DEPTH else set()
    assert (report.totals, collect_unchecked(report)) == ({"FIL025": 2}, unread)


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_configuration_of_a_system_domain(tmp_path: Path, depth: int) -> None:
    files = build_clustered_table()
    version = next(number for number, lines in files.commits.items() if any("domainMetadata" in str(x) for x in lines))
    body = get_action(files, version, "domainMetadata")
    body["configuration"] = body["configuration"][:-1] + f',"x":{nest(depth)}}}'
    report = validate(files, tmp_path / "sound")
    assert (report.totals, collect_unchecked(report)) == ({}, {"DOM003"})
    body["configuration"] = f'{{"x":{nest(depth)}'
    assert "DOM003" in validate(files, tmp_path / "cut").totals


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", [f"{2:020}.crc", "_last_checkpoint"])
def test_deep_derived_files(tmp_path: Path, depth: int, name: str) -> None:
    files = log_only.build_table_with_checksum() if name.endswith("crc") else log_only.build_checkpointed_table()
    body = json.dumps(files.checksums.pop(2)) if name.endswith("crc") else '{"version":1,"size":4}'
    files.extra[f"{LOG}/{name}"] = (body[:-1] + f',"x":{nest(depth)}}}').encode()
    report = validate(files, tmp_path)
    assert report.totals == {}
    assert {rule[:3] for rule in collect_unchecked(report)} >= {"CRC" if name.endswith("crc") else "LCP"}


@pytest.mark.parametrize("depth", [0, 1, MAX_DEPTH - 1, MAX_DEPTH, 5000])
def test_only_deeper_values_are_pruned(depth: int) -> None:
    text = '{"a":' + "[" * depth + "1" + "]" * depth + ',"b":"[["}'
    pruned = prune_deep_values(text)
    assert (pruned == text) is (depth < MAX_DEPTH)
    assert parse_lossless(pruned).value["b"] == "[["
    assert prune_deep_values(text[:-1]) == text[:-1]
