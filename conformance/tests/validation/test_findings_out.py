"""`findings_out` writes every finding to a file; the report contains only samples of each rule."""

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from helpers.cli import run

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.validation.findings_table import FINDING_SCHEMA

VERSIONS = 6


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write six commits, each of which adds a file with a negative size."""
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    schema = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    first = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "11111111-2222-4333-8444-555555555555",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]
    for version in range(VERSIONS):
        add = {
            "path": f"{version}.parquet",
            "partitionValues": {},
            "size": -1,
            "modificationTime": 0,
            "dataChange": True,
        }
        lines = [*(first if version == 0 else ()), {"add": add}]
        (log / f"{version:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "table"


def test_file_has_every_finding(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    report = deltaspec.validate(str(table), level="log", samples=2, findings_out=str(path))
    found = pl.DataFrame(pl.from_arrow(pq.read_table(path)))
    assert dict(found.schema) == FINDING_SCHEMA
    assert dict(found.group_by("rule").len().iter_rows()) == report.totals
    negative = found.filter(pl.col("rule") == "FIL011").sort("version")
    assert negative["version"].to_list() == list(range(VERSIONS))
    assert json.loads(negative["evidence"][0])["size"] == -1
    assert [each.version for each in report.findings if each.rule == "FIL011"] == [0, 1]


def test_refused_table_has_only_findings_of_its_refusal(table: Path, tmp_path: Path) -> None:
    log = table / "_delta_log" / f"{VERSIONS:020}.json"
    names = ["variantType"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    log.write_text(json.dumps({"protocol": protocol}) + "\n")
    path = tmp_path / "found.parquet"
    report = deltaspec.validate(str(table), level="log", revision="r1", findings_out=str(path))
    assert report.verdict == "refused"
    rules = set(pq.read_table(path).column("rule").to_pylist())
    assert rules == set(report.totals)
    assert "FIL011" not in rules


def test_path_in_the_table_is_refused(table: Path) -> None:
    with pytest.raises(InvalidUsage, match="is in a table"):
        deltaspec.validate(str(table), findings_out=str(table / "found.parquet"))
    assert not (table / "found.parquet").exists()


def test_unwritable_path_is_an_error(table: Path, tmp_path: Path) -> None:
    done = run("validate", str(table), "--findings-out", str(tmp_path / "absent" / "found.parquet"))
    assert done.exit_code == 2
    assert "cannot be written" in done.output
