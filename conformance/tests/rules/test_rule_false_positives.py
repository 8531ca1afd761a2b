"""Known false positives: legal tables that resemble violations and must have no findings."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.catalog import list_unchecked

import deltaspec

Action = dict[str, Any]
SCHEMA = '{"type":"struct","fields":[{"name":"_day","type":"date","nullable":true,"metadata":{}}]}'


def protocol(reader: int = 1, writer: int = 2, **lists: list[str]) -> Action:
    return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer, **lists}}


def metadata(schema: str = SCHEMA, partitioned_by: tuple[str, ...] = (), **configuration: str) -> Action:
    return {
        "metaData": {
            "id": "0d5c5a6f-6f43-4c4c-9f3a-3f0d3b8f7d10",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": list(partitioned_by),
            "configuration": {name.replace("__", "."): value for name, value in configuration.items()},
        }
    }


def add(path: str = "a.parquet", **more: Any) -> Action:
    return {"add": {"path": path, "partitionValues": {}, "size": 10, "modificationTime": 0, "dataChange": True, **more}}


def remove(path: str = "a.parquet", **more: Any) -> Action:
    return {"remove": {"path": path, "deletionTimestamp": 0, "dataChange": True, **more}}


def cdc(path: str, **more: Any) -> Action:
    return {"cdc": {"path": path, "partitionValues": {}, "size": 10, "dataChange": False, **more}}


class Log:
    """Writer for the log of a table, one commit at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root / "table"
        self.folder = self.root / "_delta_log"
        self.folder.mkdir(parents=True)
        self.next_version = 0

    def commit(self, *actions: Action) -> None:
        self.text("".join(json.dumps(action) + "\n" for action in actions))

    def text(self, lines: str) -> None:
        (self.folder / f"{self.next_version:020}.json").write_bytes(lines.encode())
        self.next_version += 1

    def file(self, name: str, content: str = "") -> None:
        (self.folder / name).write_bytes(content.encode())

    def findings(self) -> dict[str, int]:
        """Return the number of findings by rule; fail if anything was not checked."""
        report = deltaspec.validate(str(self.root), level="log", history="all")
        assert list_unchecked(report) == []
        return report.totals


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_small_table_has_no_finding(log: Log) -> None:
    log.commit(protocol(), metadata(), add())
    log.commit(remove(), add("b.parquet"))
    assert log.findings() == {}


def test_cdc_may_name_a_file_that_its_commit_adds(log: Log) -> None:
    log.commit(protocol(1, 4), metadata(delta__enableChangeDataFeed="true"))
    log.commit(add("a.parquet"), cdc("a.parquet"))
    assert log.findings() == {}


def test_cdc_outside_change_data_directory_is_reported(log: Log) -> None:
    log.commit(protocol(1, 4), metadata(delta__enableChangeDataFeed="true"), add("a.parquet"))
    log.commit(add("b.parquet"), cdc("a.parquet"))
    assert log.findings() == {"FIL005": 1}


def test_partition_column_may_begin_with_an_underscore(log: Log) -> None:
    log.commit(protocol(), metadata(partitioned_by=("_day",)))
    log.commit(add("_day=2024-01-01/a.parquet", partitionValues={"_day": "2024-01-01"}))
    assert log.findings() == {}


def test_files_with_former_partition_columns_may_be_removed(log: Log) -> None:
    fields = [{"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("p", "q")]
    log.commit(protocol(), metadata(json.dumps({"type": "struct", "fields": fields}), ("p",)))
    log.commit(add("p=y/a.parquet", partitionValues={"p": "y"}), add("p=z/b.parquet", partitionValues={"p": "z"}))
    fields[0]["type"] = "integer"
    log.commit(
        metadata(json.dumps({"type": "struct", "fields": fields}), ("p",)),
        remove("p=y/a.parquet", partitionValues={"p": "y"}, size=10, extendedFileMetadata=True),
        remove("p=z/b.parquet", partitionValues={"p": "z"}, size=10, extendedFileMetadata=True),
    )
    log.commit(metadata(json.dumps({"type": "struct", "fields": fields}), ("q",)))
    assert log.findings() == {}


def test_upgrade_of_a_legacy_protocol_may_omit_unused_features(log: Log) -> None:
    log.commit(protocol(1, 2), metadata())
    log.commit(protocol(1, 7, writerFeatures=["domainMetadata"]))
    assert log.findings() == {}


def test_dropped_feature_is_reported_as_divergence(log: Log) -> None:
    log.commit(protocol(1, 7, writerFeatures=["domainMetadata", "appendOnly"]), metadata())
    log.commit(protocol(1, 7, writerFeatures=["domainMetadata"]))
    assert log.findings() == {"PRO006": 1}


def test_lower_version_without_checkpoint_protection_is_not_reported(log: Log) -> None:
    """The proposal defines how to remove the feature, and with it the version that its list needs."""
    protected = {"delta__requireCheckpointProtectionBeforeVersion": "0"}
    log.commit(protocol(1, 7, writerFeatures=["checkpointProtection"]), metadata(**protected))
    log.commit(protocol(1, 2))
    assert log.findings() == {}


def test_file_with_a_vector_may_be_removed_when_the_feature_is_dropped(log: Log) -> None:
    vector = {"storageType": "p", "pathOrInlineDv": "s3://b/dv.bin", "offset": 1, "sizeInBytes": 40, "cardinality": 2}
    features = ["deletionVectors"]
    enabled = metadata(delta__enableDeletionVectors="true")
    log.commit(protocol(3, 7, readerFeatures=features, writerFeatures=features), enabled)
    log.commit(add(deletionVector=vector, stats='{"numRecords":9}'))
    log.commit(protocol(1, 2), metadata(), remove(deletionVector=vector), add("b.parquet"))
    assert set(log.findings()) == {"PRO006"}


def test_column_mapping_at_reader_version_2_needs_no_reader_features(log: Log) -> None:
    log.commit(protocol(2, 7, writerFeatures=["columnMapping"]), metadata())
    assert log.findings() == {}


def test_column_mapping_at_reader_version_1_is_reported(log: Log) -> None:
    log.commit(protocol(1, 7, writerFeatures=["columnMapping"]), metadata())
    assert log.findings() == {"FEA003": 1}


@pytest.mark.parametrize("feature", ["geospatial", "typeWidening-preview", "madeUp"])
def test_unknown_features_are_not_reported(log: Log, feature: str) -> None:
    log.commit(protocol(3, 7, readerFeatures=[feature], writerFeatures=[feature]), metadata())
    report = deltaspec.validate(str(log.root), level="log", history="all")
    assert report.totals == {}
    assert report.verdict != "violations"


def test_unrelated_files_in_the_log_directory_are_not_reported(log: Log) -> None:
    log.commit(protocol(), metadata())
    (log.folder / "_staged_commits").mkdir()
    (log.folder / "_commits").mkdir()
    for name in ("_last_vacuum_info", "._00000000000000000000.json", ".00000000000000000000.json.crc", "notes.txt"):
        log.file(name, "x")
    assert log.findings() == {}


def test_empty_hint_is_reported_as_divergence(log: Log) -> None:
    log.commit(protocol(), metadata())
    log.file("_last_checkpoint")
    assert set(log.findings()) == {"LCP014"}


def test_explicit_nulls_and_unknown_fields_are_not_reported(log: Log) -> None:
    log.commit(protocol(readerFeatures=None), metadata(), {"madeUp": {"path": 1}}, add(tags=None, stats=None, odd=[1]))
    assert log.findings() == {}


def test_keys_of_other_actions_may_be_null(log: Log) -> None:
    log.commit({**protocol(), "add": None}, {"txn": None, **metadata()})
    assert log.findings() == {}


def test_blank_lines_are_reported_as_divergence(log: Log) -> None:
    log.commit(protocol(), metadata())
    log.text(f"\n{json.dumps(add())}\n\n")
    assert set(log.findings()) == {"LIN005"}


def test_transaction_version_may_decrease(log: Log) -> None:
    log.commit(protocol(), metadata(), {"txn": {"appId": "a", "version": 5}})
    log.commit({"txn": {"appId": "a", "version": 4}})
    assert log.findings() == {}


def test_remove_of_a_file_that_was_never_added_is_a_divergence(log: Log) -> None:
    log.commit(protocol(), metadata())
    log.commit(remove("old.parquet"))
    assert log.findings() == {"FIL053": 1}


def test_files_of_deletion_vectors_may_be_removed(log: Log) -> None:
    log.commit(protocol(), metadata())
    name = "deletion_vector_fa9e5a1c-6f0c-4a7a-9b49-0f1f8f0f6d11.bin"
    log.commit(remove(name), remove(f"ab/{name}", dataChange=False))
    assert log.findings() == {}


def test_logical_file_may_be_committed_again(log: Log) -> None:
    log.commit(protocol(), metadata(), add())
    log.commit(add(dataChange=False, stats='{"numRecords":1}'))
    assert log.findings() == {}


def test_append_only_table_may_rearrange_files(log: Log) -> None:
    log.commit(protocol(), metadata(delta__appendOnly="true"), add())
    log.commit(remove(dataChange=False), add("b.parquet", dataChange=False))
    assert log.findings() == {}


def test_files_of_a_shallow_clone_have_absolute_paths(log: Log) -> None:
    log.commit(protocol(), metadata(), add("file:///data/source/part%201.parquet"), add("s3://bucket/table/b.parquet"))
    assert log.findings() == {}


@pytest.mark.parametrize("managed", [True, False])
def test_checksum_of_an_unpublished_commit_is_legal_on_catalog_managed_tables(log: Log, managed: bool) -> None:
    features = ["catalogManaged", "inCommitTimestamp"] if managed else ["vacuumProtocolCheck"]
    info = {"commitInfo": {"inCommitTimestamp": 5, "txnId": "t"}}
    readers = [name for name in features if name != "inCommitTimestamp"]
    log.commit(info, protocol(3, 7, readerFeatures=readers, writerFeatures=features), metadata())
    log.file(f"{1:020}.crc", "{}")
    assert ("LOG005" in log.findings()) is not managed


@pytest.mark.parametrize("extra", ["madeUp", None])
def test_rows_of_unknown_actions_in_a_checkpoint_are_not_reported(log: Log, extra: str | None) -> None:
    log.commit(protocol(), metadata(), add())
    rows: list[Action] = [protocol(), metadata(), add(dataChange=False), {}]
    rows[1]["metaData"]["configuration"] = None
    write_checkpoint(log, rows, extra)
    found = log.findings()
    assert ("CKP009" in found) is (extra is None)


def write_checkpoint(log: Log, rows: list[Action], extra: str | None) -> None:
    """Write a checkpoint of version 0 whose last row has an unknown action, or none."""
    text = pa.string()
    texts = pa.map_(text, text)
    types = {
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
        "metaData": pa.struct(
            {
                "id": text,
                "format": pa.struct({"provider": text, "options": texts}),
                "schemaString": text,
                "partitionColumns": pa.list_(text),
                "configuration": texts,
            }
        ),
        "add": pa.struct(
            {
                "path": text,
                "partitionValues": texts,
                "size": pa.int64(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
            }
        ),
    }
    columns = {}
    for name, kind in types.items():
        values = [row.get(name) for row in rows]
        for value in values:
            for field in ("partitionValues", "configuration"):
                if value is not None and field in value:
                    value[field] = []
            if value is not None and "format" in value:
                value["format"]["options"] = []
        columns[name] = pa.array(values, kind)
    if extra is not None:
        columns[extra] = pa.array([None] * (len(rows) - 1) + [{"x": 1}], pa.struct({"x": pa.int64()}))
    pq.write_table(pa.table(columns), log.folder / f"{0:020}.checkpoint.parquet")
