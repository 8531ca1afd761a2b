"""A key that occurs twice in JSON: in strings of actions, in files, in every place of a table (S19)."""

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import deltaspec
from deltaspec.protocol.json_values import find_repeated_key
from deltaspec.views.files.repeated_keys import find_repeated_keys
from deltaspec_generators.table_files import TableFiles, get_action, write_table
from planted_tables.bases import log_only
from planted_tables.bases.clustering import build_clustered_table
from planted_tables.bases.row_ids import build_tracked_table


def totals(files: TableFiles, **options: Any) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        report = deltaspec.validate(str(Path(directory) / "table"), level="log", history="all", **options)
    return dict(report.totals)


SCHEMAS = {
    "nullable": '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"nullable":true,'
    '"metadata":{}}]}',
    "nested": '{"type":"struct","fields":[{"name":"s","type":{"type":"struct","fields":[{"name":"x","name":"x",'
    '"type":"long","nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}}]}',
    "column metadata": '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,'
    '"metadata":{"a":1,"a":1}}]}',
    "invariant": '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":'
    '{"delta.invariants":"{\\"expression\\":{\\"expression\\":\\"id > 0\\",\\"expression\\":\\"id > 0\\"}}"}}]}',
}


@pytest.mark.parametrize("where", sorted(SCHEMAS))
def test_schema(where: str) -> None:
    files = log_only.build_table(protocol={"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
    files.commits = {0: files.commits[0]}
    get_action(files, 0, "metaData")["schemaString"] = SCHEMAS[where]
    assert totals(files) == {"MET012": 1}


def test_comment_that_is_json_is_no_json_of_the_table() -> None:
    files = log_only.build_table(fields=[{"name": "id", "type": "long", "nullable": True, "metadata": {}}])
    schema = json.loads(get_action(files, 0, "metaData")["schemaString"])
    schema["fields"][0]["metadata"] = {"comment": '{"a":1,"a":2}'}
    get_action(files, 0, "metaData")["schemaString"] = json.dumps(schema)
    assert totals(files) == {}


STATISTICS = [
    '{"numRecords":10,"numRecords":10}',
    '{"numRecords":10,"minValues":{"id":1,"id":1}}',
    '{"numRecords":10,"nullCount":{"id":0,"name":0,"id":0}}',
    '{"numRecords":10,"minValues":{"name":"a\\"b","id":1,"id":2}}',
    '{"numRecords":10,"maxValues":{"name":"12:30"},"maxValues":{}}',
]


@pytest.mark.parametrize("text", STATISTICS)
@pytest.mark.parametrize("base", ["commit", "checkpoint", "compaction"])
def test_statistics(base: str, text: str) -> None:
    if base == "checkpoint":
        files = log_only.build_checkpointed_table()
        files.commits = {version: files.commits[version] for version in (1, 2)}
        files.checkpoints[0].rows = [dict(row) for row in files.checkpoints[0].rows if isinstance(row, dict)]
        (add, *_) = (row for row in files.checkpoints[0].rows if "add" in row)
        add["add"] = {**add["add"], "stats": text}
    elif base == "compaction":
        files = log_only.build_table_with_compaction()
        files.compactions[1, 2] = [json.loads(json.dumps(line)) for line in files.compactions[1, 2]]
        next(line for line in files.compactions[1, 2] if "add" in line)["add"]["stats"] = text
    else:
        files = log_only.build_table()
        get_action(files, 2, "add")["stats"] = text
    assert totals(files, select=["FIL054"]) == {"FIL054": 1}


@pytest.mark.parametrize("texts", [STATISTICS, [*STATISTICS] * 500])
def test_statistics_of_many_files(texts: list[str]) -> None:
    sound = [
        '{"numRecords":1,"minValues":{"x:5":1,"x":1}}',
        '{"numRecords":1,"minValues":{"a:":"1","b":"1"}}',
        '{"numRecords":1,"minValues":{"s":{"x":1},"x":1}}',
        '{"numRecords":1,"minValues":{"name":"\\"a\\":1,\\"a\\":1"}}',
        "not JSON",
        None,
    ]
    wrong = ['{"numRecords":1,"minValues":{"x:5":1,"x:5":1}}', '{"numRecords" : 1, "numRecords" : 1}']
    column = pl.Series([*sound, *texts, *wrong], dtype=pl.String)
    expected = [row for row, text in enumerate(column) if text is not None and find_repeated_key(text) is not None]
    assert list(range(len(sound), len(column))) == expected
    assert sorted(find_repeated_keys(column)) == expected


@pytest.mark.parametrize(
    "text", ['{"clusteringColumns":[],"clusteringColumns":["id"]}', '{"a":{"b":1,"b":1},"clusteringColumns":["id"]}']
)
def test_clustering_domain(text: str) -> None:
    files = build_clustered_table()
    get_action(files, 0, "domainMetadata")["configuration"] = text
    assert totals(files) == {"DOM014": 1}


def test_row_tracking_domain() -> None:
    files = build_tracked_table(enabled=False)
    get_action(files, 2, "domainMetadata")["configuration"] = '{"rowIdHighWaterMark":1,"rowIdHighWaterMark":29}'
    assert totals(files) == {"DOM014": 1}


@pytest.mark.parametrize(
    "member", ['"numFiles": 2', '"minReaderVersion": 1', '"path": "b.parquet"', '"numProtocol": 1']
)
def test_checksum(member: str) -> None:
    files = log_only.build_table_with_checksum()
    text = json.dumps(files.checksums[2])
    assert member in text
    files.checksums[2] = text.replace(member, f"{member}, {member}", 1)
    assert totals(files) == {"CRC017": 1}
