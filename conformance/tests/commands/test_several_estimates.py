"""`deltaspec validate --estimate` with several tables."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.cli import run, single_error_line

from deltaspec.report.estimate import Amount, Estimate, LevelReads, Reads, exact_amount
from deltaspec.report.estimates_summary import compute_totals
from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table

LEVELS = ["log", "files", "footers", "rows"]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with tables of 1, 2 and 3 commits."""
    for number, name in enumerate(("a/orders", "b/items", "b/orders"), 1):
        files = TableFiles()
        files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
        for version in range(1, number):
            rows = pa.table({"id": pa.array([version], pa.int64())})
            files.commits[version] = [add_data_file(files, f"{version}.parquet", rows)]
        write_table(files, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def estimate(*arguments: object) -> Any:
    result = run("validate", *arguments, "--estimate", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def add_up(tables: list[Any], number: int, name: str) -> int:
    reads = [reads[name] for table in tables for level in table["levels"][: number + 1] for reads in level["reads"]]
    return sum(each["at_least"] for each in reads)


@pytest.mark.parametrize("named", [["**"], ["a/orders", "b/*"], ["--tables-from", "list", "a/orders"]])
def test_totals_are_the_sums_of_the_tables(named: list[str], lake: Path) -> None:
    Path("list").write_text("b/items\nb/orders\n")
    found = estimate(*named)
    assert (found["estimates_version"], found["exit_code"], found["not_estimated"]) == (1, 0, [])
    names = ["a/orders", "b/items", "b/orders"]
    assert sorted(each["table"].removeprefix("./") for each in found["tables"]) == names
    alone = {name: estimate(name) for name in names}
    for each in found["tables"]:
        assert add_up([each], 3, "bytes") == add_up([alone[each["table"].removeprefix("./")]], 3, "bytes")
    assert [each["level"] for each in found["totals"]] == LEVELS
    for number, total in enumerate(found["totals"]):
        for name in ("requests", "bytes"):
            assert total[name]["at_least"] == add_up(found["tables"], number, name) > 0
    assert found["totals"][0]["bytes"]["at_most"] == found["totals"][0]["bytes"]["at_least"]


def test_text_has_a_line_for_each_table_and_for_each_level(lake: Path) -> None:
    result = run("validate", "a/*", "b/*", "gone", "--estimate")
    assert result.exit_code == 2
    title, header, *lines = result.stdout.splitlines()
    assert (title, header.split()) == ("bytes up to each level", ["live", "files", *LEVELS, "table"])
    assert [line.split()[-1] for line in lines[:3]] == ["a/orders", "b/items", "b/orders"]
    assert lines[3:5] == ["gone: no such file or directory", ""]
    assert lines[5].split() == ["requests", "bytes", "time"]
    assert [line.split()[:3] for line in lines[6:10]] == [["up", "to", each] for each in LEVELS]
    assert lines[10:] == ["4 tables, 1 without an estimate · exit 2"]


def test_output_and_configuration_of_each_table(lake: Path) -> None:
    Path("deltaspec.toml").write_text('[tables."*/b/*"]\nhistory = "all"')
    result = run("validate", "*/orders", "--estimate", "--format", "json", "--output", "estimates.json")
    assert (result.exit_code, result.stdout) == (0, "")
    found = json.loads((lake / "estimates.json").read_bytes())
    assert [each["history"] for each in found["tables"]] == ["latest", "all"]
    text = run("validate", "*/orders", "--estimate", "--output", "estimates.txt")
    assert (text.exit_code, text.stdout) == (0, "")
    assert (lake / "estimates.txt").read_text("utf-8").endswith("2 tables · exit 0\n")


def test_tables_without_an_estimate_are_listed_with_the_reason(lake: Path) -> None:
    (lake / "empty").mkdir()
    result = run("validate", "empty", "a/orders", "x*", "--estimate", "--format", "json", "--at", "7")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["exit_code"], found["tables"], found["totals"]) == (2, 2, [], [])
    reasons = {each["table"]: each["reason"] for each in found["not_estimated"]}
    assert reasons.keys() == {"empty", "a/orders", "x*"}
    assert reasons["x*"] == "no table matches"
    assert reasons["empty"].startswith("has no _delta_log directory")
    assert single_error_line(run("validate", "x*", "--estimate")) == "deltaspec: x*: no table matches"


def test_unknown_amounts_and_times_make_the_total_unknown() -> None:
    def build(seconds: float | None, amount: Amount) -> Estimate:
        reads = Reads(what="x", files=amount, requests=amount, bytes=amount, source="", seconds=seconds)
        return Estimate(
            estimate_version=1,
            deltaspec="",
            table="t",
            version=0,
            history="latest",
            revision="current",
            live_files=amount,
            live_bytes=amount,
            live_source="",
            levels=[LevelReads(level="log", reads=[reads], not_known=[])],
        )

    known, unknown = build(1.5, exact_amount(3)), build(None, Amount(None, 2))
    (total,) = compute_totals([known, known])
    assert (total.requests, total.bytes, total.seconds) == (exact_amount(6), exact_amount(6), 3.0)
    (total,) = compute_totals([known, unknown])
    assert (total.requests, total.bytes, total.seconds) == (Amount(None, 5), Amount(None, 5), None)
