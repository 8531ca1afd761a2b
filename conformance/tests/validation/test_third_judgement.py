"""Faults of the third judgement, each in three further places of a table, with the verdict of the text."""

import json
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from helpers.cli import run

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Naming, SidecarFile
from deltaspec_generators.data_files.map_annotations import annotate_key_values
from deltaspec_generators.small_tables import FIELDS as SMALL_FIELDS
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_change_data,
    build_table_with_data,
    encode_data_file,
)
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    encode_table,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.clustering import CLUSTERING_PROTOCOL, build_clustered_table
from planted_tables.bases.column_mapping import (
    COLUMN_IDS,
    PHYSICAL_NAMES,
    build_mapped_field,
    build_mapped_rows,
    build_mapped_table_with_data,
)
from planted_tables.bases.row_ids import build_tracked_table
from planted_tables.bases.type_widening import (
    ENABLED,
    INTEGER_TO_LONG,
    build_column,
    build_table_with_column_versions,
)
from planted_tables.bases.typed_copies import build_facts, build_table_of_copies

SIDECAR = "00000000-0000-4000-8000-000000000001.parquet"


class Case(NamedTuple):
    """A table and its judgement."""

    name: str
    build: Callable[[], TableFiles]
    verdict: str
    rules: set[str]
    options: Mapping[str, Any] = MappingProxyType({})


def check(case: Case, directory: Path) -> None:
    write_table(case.build(), directory)
    options: dict[str, Any] = {"level": "log", "history": "all", **case.options}
    report = deltaspec.validate(str(directory), **options)
    assert (report.verdict, set(report.totals)) == (case.verdict, case.rules)


def parametrize(*cases: Case) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


def begin_with_checkpoint(files: TableFiles, naming: Naming = "classic", *, sidecar: bool = False) -> TableFiles:
    """Replace commit 0 and the actions of commit 1 by a checkpoint of version 1."""
    rows = deepcopy(log_only.build_state_rows(files))
    if not sidecar:
        parts = 2 if naming == "multipart" else 1
        files.checkpoints.append(CheckpointFiles(1, naming, rows=rows, parts=parts))
    else:
        body = rows[0]["protocol"]
        for name in ("readerFeatures", "writerFeatures"):
            body[name] = [*body.get(name, []), "v2Checkpoint"]
        body.update(minReaderVersion=3, minWriterVersion=7)
        adds = [row for row in rows if "add" in row]
        head: Any = {"checkpointMetadata": {"version": 1}}
        table = [row for row in rows if "add" not in row]
        sidecars = [SidecarFile(SIDECAR, rows=adds)]
        files.checkpoints.append(CheckpointFiles(1, "uuid-parquet", rows=[head, *table], sidecars=sidecars))
    files.commits = {version: lines for version, lines in files.commits.items() if version}
    files.commits[1] = [commit_info_action(1)]
    return files


def begin_with_sidecar(files: TableFiles) -> TableFiles:
    return begin_with_checkpoint(files, sidecar=True)


def edit_schema(files: TableFiles, edit: Callable[[str], str]) -> TableFiles:
    body = get_action(files, 0, "metaData")
    before, body["schemaString"] = body["schemaString"], edit(body["schemaString"])
    assert body["schemaString"] != before
    return files


# A1: a remove that ends no live file


def build_compaction(path: str, **more: Any) -> TableFiles:
    """Compact the files b and c, of 10 rows each; the remove of b has another path or other fields."""
    files = log_only.build_table()
    old = [{"add": dict(get_action(files, 1, "add", 1))}, {"add": get_action(files, 2, "add")}]
    old[0]["add"]["path"] = path
    removes = [remove_action(each, dataChange=False) for each in old]
    removes[0]["remove"].update(more)
    files.commits[3] = [commit_info_action(3), *removes, add_action("d.parquet", rows=20, dataChange=False)]
    return files


def build_compaction_without_vector() -> TableFiles:
    files = log_only.build_table_with_vector()
    c = get_action(files, 2, "add")
    c["stats"] = json.dumps({"numRecords": 10, "tightBounds": False})
    remove = remove_action({"add": c}, dataChange=False)
    del remove["remove"]["deletionVector"]
    files.commits[3] = [commit_info_action(3), remove, add_action("d.parquet", rows=8, dataChange=False)]
    return files


@parametrize(
    Case("leading slash", lambda: build_compaction("/b.parquet"), "violations", {"COM020", "FIL053"}),
    Case(
        "after a checkpoint",
        lambda: begin_with_checkpoint(build_compaction("unknown.parquet")),
        "violations",
        {"COM020", "FIL053"},
    ),
    Case(
        "after a sidecar, stated count",
        lambda: begin_with_sidecar(build_compaction("unknown.parquet", stats='{"numRecords":10}')),
        "violations",
        {"COM020", "FIL053"},
    ),
    Case("sound twin", lambda: begin_with_sidecar(build_compaction("b.parquet")), "conforms", set()),
)
def test_remove_that_ends_no_file(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_remove_without_the_vector_of_its_file(tmp_path: Path) -> None:
    write_table(build_compaction_without_vector(), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert report.verdict == "violations"
    assert "COM020" in report.totals


# A2: repeated keys


def repeat_name(text: str) -> str:
    return text.replace('"name":"id"', '"name":"id","name":"id"', 1)


def build_statistics_of_a_remove() -> TableFiles:
    files = log_only.build_table()
    get_action(files, 2, "remove")["stats"] = '{"numRecords":10,"numRecords":10}'
    return files


def build_repeated_statistics() -> TableFiles:
    files = log_only.build_table()
    get_action(files, 1, "add", 1)["stats"] = '{"numRecords":10,"nullCount":{"id":0,"id":0}}'
    return files


def build_repeated_domain() -> TableFiles:
    files = build_clustered_table()
    get_action(files, 0, "domainMetadata")["configuration"] = '{"clusteringColumns":["id"],"clusteringColumns":["id"]}'
    return files


def repeat_key_in_checksum(text: str) -> TableFiles:
    """Repeat the first key of a string in a version checksum, given as the file spells it."""
    files = log_only.build_table_with_checksum()
    before = json.dumps(files.checksums[2])
    key = text.partition(":")[0]
    assert text in before
    files.checksums[2] = before.replace(text, f"{text},{key}:{text.partition(':')[2]}", 1)
    return files


def build_checksum_of_repeated_domain() -> TableFiles:
    files = build_repeated_domain()
    files.checksums[0] = {
        "tableSizeBytes": 0,
        "numFiles": 0,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": get_action(files, 0, "metaData"),
        "protocol": get_action(files, 0, "protocol"),
        "domainMetadata": [get_action(files, 0, "domainMetadata")],
    }
    return files


@parametrize(
    Case("schema", lambda: repeat_key_in_checksum('\\"name\\":\\"id\\"'), "conforms", {"CRC017"}),
    Case("statistics", lambda: repeat_key_in_checksum('\\"numRecords\\": 10'), "conforms", {"CRC017"}),
    Case("domain", build_checksum_of_repeated_domain, "conforms", {"CRC017", "DOM014"}),
)
def test_repeated_keys_in_strings_of_a_checksum(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@parametrize(
    Case(
        "schema in a checkpoint",
        lambda: begin_with_checkpoint(edit_schema(log_only.build_table(), repeat_name)),
        "conforms",
        {"MET012"},
    ),
    Case("statistics in a sidecar", lambda: begin_with_sidecar(build_repeated_statistics()), "conforms", {"FIL054"}),
    Case("statistics of a remove", build_statistics_of_a_remove, "conforms", {"FIL054"}),
    Case("domain in a checkpoint", lambda: begin_with_checkpoint(build_repeated_domain()), "conforms", {"DOM014"}),
)
def test_repeated_keys(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A3: typed columns of a narrower type


def build_narrow_copies(member: str, layout: str, kind: str, narrow: pa.DataType) -> TableFiles:
    """Build copies whose typed column has a narrower type; typeWidening is listed, and no type ever changed."""
    facts = build_facts((kind,))
    files = build_table_of_copies(facts, (kind,), layout=layout)
    checkpoint = files.checkpoints[0]
    (row,) = (each for each in checkpoint.rows if isinstance(each, dict) and "protocol" in each)
    features = ["typeWidening", *(["v2Checkpoint"] if checkpoint.v2 else [])]
    row["protocol"] = protocol_action(3, 7, features, features)["protocol"]
    parsed = checkpoint.parsed[member]
    if member == "partitionValues_parsed":
        checkpoint.parsed[member] = pa.struct([(each.name, narrow) for each in parsed])
        return files
    column = parsed.field("minValues").type.field(0).name
    bounds = pa.struct([(column, narrow), ("s", pa.struct([(column, narrow)]))])
    members = [(each.name, bounds if each.name.endswith("Values") else each.type) for each in parsed]
    checkpoint.parsed[member] = pa.struct(members)
    return files


@parametrize(
    Case(
        "bounds in a sidecar",
        lambda: build_narrow_copies("stats_parsed", "sidecar", "double", pa.float32()),
        "violations",
        {"CKP062"},
    ),
    Case(
        "values in several parts",
        lambda: build_narrow_copies("partitionValues_parsed", "multipart", "double", pa.float32()),
        "violations",
        {"CKP061"},
    ),
    Case(
        "values in a V2 checkpoint",
        lambda: build_narrow_copies("partitionValues_parsed", "v2", "double", pa.float32()),
        "violations",
        {"CKP061"},
    ),
)
def test_narrower_typed_columns(case: Case, tmp_path: Path) -> None:
    write_table(case.build(), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert report.verdict == case.verdict
    assert case.rules <= set(report.totals)


INTEGER_STATISTICS = '{"numRecords":10,"minValues":{"c":1},"maxValues":{"c":2}}'


def build_widened_checkpoint(version: int, kind: pa.DataType) -> TableFiles:
    """Build a checkpoint before or after version 3, which widens `c` from integer to long; it stores `kind`."""
    settings = {**ENABLED, "delta.checkpoint.writeStatsAsStruct": "true"}
    columns = (build_column("integer"), build_column("long", INTEGER_TO_LONG))
    files = build_table_with_column_versions(*columns, settings=settings)
    files.commits[4] = [commit_info_action(4)]
    live = [get_action(files, 1, "add", 1), get_action(files, 2, "add")]
    typed = {"numRecords": 10, "minValues": {"c": 1}, "maxValues": {"c": 2}}
    for body in live:
        body["stats"] = INTEGER_STATISTICS
    metadata = {"metaData": get_action(files, 3 if version >= 3 else 0, "metaData")}
    tombstone = {"remove": get_action(files, 2, "remove")}
    table: list[Any] = [{"protocol": get_action(files, 0, "protocol")}, metadata, tombstone]
    rows = [*table, *({"add": {**body, "stats_parsed": typed}} for body in live)]
    bounds = pa.struct([("c", kind)])
    members = [("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds)]
    files.checkpoints.append(CheckpointFiles(version, rows=rows, parsed={"stats_parsed": pa.struct(members)}))
    return files


@parametrize(
    Case("narrow after the change", lambda: build_widened_checkpoint(4, pa.int32()), "violations", {"CKP062"}),
    Case("wide before the change", lambda: build_widened_checkpoint(2, pa.int64()), "violations", {"CKP062"}),
    Case("narrow before the change", lambda: build_widened_checkpoint(2, pa.int32()), "conforms", set()),
    Case("wide after the change", lambda: build_widened_checkpoint(4, pa.int64()), "conforms", set()),
)
def test_checkpoint_stores_the_types_of_its_version(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A4: files without field ids


def build_file_without_ids(mode: str, *, ids: dict[str, int | None]) -> TableFiles:
    files = build_mapped_table_with_data(mode)
    rows = build_mapped_rows(30, PHYSICAL_NAMES, ids)
    files.commits[3] = [commit_info_action(3), add_data_file(files, "d.parquet", rows)]
    return files


def begin_with_state_of_version_2(files: TableFiles) -> TableFiles:
    """Replace commits 0 and 1 by a checkpoint of version 2."""
    adds = [{"add": get_action(files, 1, "add", 1)}, {"add": get_action(files, 2, "add")}]
    files.checkpoints.append(CheckpointFiles(2, rows=deepcopy([*files.commits[0][1:], *adds])))
    files.commits = {2: [commit_info_action(2)], 3: files.commits[3]}
    return files


WITHOUT_IDS: dict[str, int | None] = dict.fromkeys(COLUMN_IDS)
FOOTERS = {"level": "footers"}


@parametrize(
    Case(
        "after a checkpoint, in name mode",
        lambda: begin_with_state_of_version_2(build_file_without_ids("name", ids=WITHOUT_IDS)),
        "violations",
        {"PQT034"},
        FOOTERS,
    ),
    Case(
        "after a checkpoint, in id mode",
        lambda: begin_with_state_of_version_2(build_file_without_ids("id", ids=WITHOUT_IDS)),
        "violations",
        {"PQT034"},
        FOOTERS,
    ),
    Case(
        "sound twin",
        lambda: begin_with_state_of_version_2(build_file_without_ids("id", ids=dict(COLUMN_IDS))),
        "conforms",
        set(),
        FOOTERS,
    ),
)
def test_files_without_field_ids(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize("mode", ["id", "name"])
def test_one_column_without_a_field_id(mode: str, tmp_path: Path) -> None:
    write_table(build_file_without_ids(mode, ids={**COLUMN_IDS, "price": None}), tmp_path)
    assert deltaspec.validate(str(tmp_path), level="footers", history="all").totals == {"PQT030": 1}


def build_change_file_without_ids(mode: str) -> TableFiles:
    files = build_mapped_table_with_data(mode)
    get_action(files, 0, "metaData")["configuration"]["delta.enableChangeDataFeed"] = "true"
    rows = build_mapped_rows(10, PHYSICAL_NAMES, WITHOUT_IDS)
    data = encode_data_file(rows.append_column("_change_type", pa.array(["delete"] * 10)))
    files.data["_change_data/c.parquet"] = data
    cdc = {"path": "_change_data/c.parquet", "partitionValues": {}, "size": len(data), "dataChange": False}
    old = {"add": get_action(files, 1, "add", 1)}
    files.commits[3] = [commit_info_action(3, operation="DELETE"), remove_action(old), {"cdc": cdc}]
    return files


def build_nested_column(mode: str, number: int | None) -> TableFiles:
    """Build a table with a member of a struct that its file stores with a field id, or with none."""
    names = [f"col-00000000-0000-4000-8000-00000000000{each}" for each in range(3)]
    inner = {"type": "struct", "fields": [build_mapped_field("x", 2, "long", names[2])]}
    settings = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "2"}
    files = TableFiles()
    metadata = metadata_action([build_mapped_field("s", 1, inner, names[1])], (), settings)
    files.commits[0] = [commit_info_action(0), protocol_action(2, 5), metadata]
    ids = {} if number is None else {"PARQUET:field_id": str(number)}
    kind = pa.struct([pa.field(names[2], pa.int64(), metadata=ids)])
    schema = pa.schema([pa.field(names[1], kind, metadata={"PARQUET:field_id": "1"})])
    table = pa.table([pa.array([{names[2]: 7}], kind)], schema=schema)
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", table, stats='{"numRecords":1}')]
    return files


@pytest.mark.parametrize("mode", ["id", "name"])
def test_other_places_without_field_ids(mode: str, tmp_path: Path) -> None:
    changes = Case("", lambda: build_change_file_without_ids(mode), "violations", {"PQT034"}, FOOTERS)
    check(changes, tmp_path / "changes")
    check(Case("", lambda: build_nested_column(mode, None), "violations", {"PQT030"}, FOOTERS), tmp_path / "nested")
    check(Case("", lambda: build_nested_column(mode, 2), "conforms", set(), FOOTERS), tmp_path / "sound")


# A6: partition columns that change under live files


def drop_partition_columns(files: TableFiles, **more: Any) -> TableFiles:
    body = {**get_action(files, 0, "metaData"), "partitionColumns": []}
    files.commits[3] = [commit_info_action(3), {"metaData": {**body, **more}}]
    return files


def build_partitioned_table() -> TableFiles:
    return log_only.build_table(fields=(("id", "long"), ("p", "string")), partition_columns=["p"], partition={"p": "1"})


def build_mapped_partitions() -> TableFiles:
    return log_only.build_table(
        protocol=protocol_action(2, 5),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
        fields=[build_mapped_field("id", 1), build_mapped_field("p", 2, "string")],
        partition_columns=["p"],
        partition={"col-2": "1"},
    )


@parametrize(
    Case("mapped", lambda: drop_partition_columns(build_mapped_partitions()), "violations", {"FIL073"}),
    Case(
        "after a sidecar",
        lambda: begin_with_sidecar(drop_partition_columns(build_partitioned_table())),
        "violations",
        {"FIL073"},
    ),
    Case("r3", lambda: drop_partition_columns(build_partitioned_table()), "violations", {"FIL073"}, {"revision": "r3"}),
)
def test_dropped_partition_columns(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A7: clustering


def build_checkpoint_of_clustered_table(domain: Any, columns: tuple[str, ...] = ()) -> TableFiles:
    files = TableFiles()
    rows = [CLUSTERING_PROTOCOL, metadata_action((("id", "long"), ("p", "string")), columns), *domain]
    files.checkpoints.append(CheckpointFiles(1, rows=rows))
    files.commits[1] = [commit_info_action(1)]
    return files


UNCLUSTERED = domain_action("delta.clustering", '{"clusteringColumns":[]}')


def remove_clustering() -> TableFiles:
    files = build_clustered_table()
    files.commits[3] = [
        commit_info_action(3),
        domain_action("delta.clustering", '{"clusteringColumns": ["id"]}', removed=True),
    ]
    return files


@parametrize(
    Case("no domain in a checkpoint", lambda: build_checkpoint_of_clustered_table([]), "conforms", {"CLU004"}),
    Case(
        "partitioned checkpoint",
        lambda: build_checkpoint_of_clustered_table([UNCLUSTERED], ("p",)),
        "violations",
        {"DOM004"},
    ),
    Case("empty list", lambda: build_checkpoint_of_clustered_table([UNCLUSTERED]), "conforms", set()),
    Case("removed after a checkpoint", lambda: begin_with_checkpoint(remove_clustering()), "conforms", {"CLU004"}),
)
def test_clustering(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A8: keys of delta.rowTracking


def build_mark(configuration: str) -> TableFiles:
    files = build_tracked_table(enabled=False)
    for version in (1, 2):
        files.commits[version] = [each for each in files.commits[version] if "rowIdHighWaterMark" not in each]
    get_action(files, 2, "domainMetadata")["configuration"] = configuration
    return files


OLD_KEY, BOTH_KEYS = '{"highWaterMark":29}', '{"highWaterMark":29,"rowIdHighWaterMark":29}'


def build_mark_in_checkpoint(configuration: str, *, sidecar: bool = False) -> TableFiles:
    """Build a log that begins with a checkpoint with this mark."""
    files = build_tracked_table(enabled=False)
    files.commits[1] = [each for each in files.commits[1] if "rowIdHighWaterMark" not in each]
    files.commits[2] = [commit_info_action(2)]
    get_action(files, 1, "domainMetadata")["configuration"] = configuration
    return begin_with_checkpoint(files, sidecar=sidecar)


@parametrize(
    Case("sound", lambda: build_mark('{"rowIdHighWaterMark":29}'), "conforms", set()),
    Case("key of r3", lambda: build_mark(OLD_KEY), "violations", {"DOM003"}),
    Case("no integer", lambda: build_mark('{"rowIdHighWaterMark":"29"}'), "violations", {"DOM003"}),
    Case("sound checkpoint", lambda: build_mark_in_checkpoint('{"rowIdHighWaterMark":19}'), "conforms", set()),
    Case("key of r3 in a checkpoint", lambda: build_mark_in_checkpoint(OLD_KEY), "violations", {"DOM003"}),
    Case("next to a sidecar", lambda: build_mark_in_checkpoint(OLD_KEY, sidecar=True), "violations", {"DOM003"}),
)
def test_keys_of_row_tracking(case: Case, tmp_path: Path) -> None:
    write_table(case.build(), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert report.verdict == case.verdict
    assert case.rules <= set(report.totals)


@pytest.mark.parametrize("build", [build_mark, build_mark_in_checkpoint])
def test_both_keys_of_row_tracking(build: Callable[[str], TableFiles], tmp_path: Path) -> None:
    write_table(build(BOTH_KEYS), tmp_path)
    assert deltaspec.validate(str(tmp_path), level="log", history="all").totals != {}


# A9: statistics


def change_statistics(files: TableFiles, stats: Any) -> TableFiles:
    get_action(files, 1, "add", 1)["stats"] = json.dumps(stats)
    return files


def build_compacted_statistics() -> TableFiles:
    files = log_only.build_table_with_compaction()
    stats = json.dumps({"numRecords": 10, "minVals": {"id": 1}})
    get_action(files, 1, "add", 1)["stats"] = stats
    return files


def build_parsed_partition_statistics() -> TableFiles:
    """Build a checkpoint whose only statistics are typed, with a bound that the partition value exceeds."""
    settings = {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "true"}
    fields = (("id", "long"), ("p", "string"))
    stats = {"numRecords": 10, "minValues": {"p": "a"}, "maxValues": {"p": "b"}, "nullCount": {"p": 0}}
    add = add_action("a.parquet", partition={"p": "z"}, stats_parsed=stats, partitionValues_parsed={"p": "z"})
    files = TableFiles()
    rows = [protocol_action(1, 3), metadata_action(fields, ["p"], settings), add]
    files.checkpoints.append(CheckpointFiles(1, rows=rows))
    files.commits[1] = [commit_info_action(1)]
    return files


@parametrize(
    Case("also in a compaction", build_compacted_statistics, "conforms", {"FIL025"}),
    Case(
        "mapped",
        lambda: change_statistics(log_only.build_table_with_column_mapping("id"), {"numrecords": 10}),
        "conforms",
        {"FIL025"},
    ),
    Case(
        "sidecar, nested in a string",
        lambda: begin_with_sidecar(change_statistics(log_only.build_table(), json.dumps({"numRecords": 10}))),
        "violations",
        {"FIL016"},
    ),
    Case(
        "r1",
        lambda: change_statistics(log_only.build_table(), {"num_records": 10}),
        "conforms",
        {"FIL025"},
        {"revision": "r1"},
    ),
    Case(
        "partition value after its null count",
        lambda: begin_with_sidecar(
            change_statistics(build_partitioned_table(), {"numRecords": 10, "nullCount": {"p": 10}})
        ),
        "conforms",
        {"FIL026"},
    ),
    Case(
        "mapped partition value outside its bounds",
        lambda: change_statistics(build_mapped_partitions(), {"numRecords": 10, "maxValues": {"col-2": "0"}}),
        "conforms",
        {"FIL026"},
    ),
)
def test_statistics(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_typed_statistics_of_a_partition_column(tmp_path: Path) -> None:
    write_table(build_parsed_partition_statistics(), tmp_path)
    assert "FIL026" in deltaspec.validate(str(tmp_path), level="log", history="all").totals


# A10: forms of timestamps in partition values


def build_timestamps(text: str, *, is_mapped: bool = False) -> TableFiles:
    partition = {"col-2" if is_mapped else "p": text}
    files = log_only.build_table(
        protocol=protocol_action(2, 5) if is_mapped else None,
        configuration={"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "2"} if is_mapped else {},
        fields=[build_mapped_field("id", 1), build_mapped_field("p", 2, "timestamp")]
        if is_mapped
        else [("id", "long"), ("p", "timestamp")],
        partition_columns=["p"],
        partition={**partition},
    )
    files.commits = {0: files.commits[0], 1: files.commits[1][:2]}
    return files


@parametrize(
    Case(
        "mapped, T without Z",
        lambda: build_timestamps("2024-03-01T10:00:00", is_mapped=True),
        "violations",
        {"FIL064"},
    ),
    Case(
        "sidecar, nanoseconds",
        lambda: begin_with_sidecar(build_timestamps("2024-03-01 10:00:00.123456789")),
        "violations",
        {"FIL064"},
    ),
    Case(
        "r3, offset",
        lambda: build_timestamps("2024-03-01 10:00:00-08:00"),
        "violations",
        {"FIL064"},
        {"revision": "r3"},
    ),
    Case("mapped twin", lambda: build_timestamps("2024-03-01T10:00:00.123456Z", is_mapped=True), "conforms", set()),
    Case("sidecar twin", lambda: begin_with_sidecar(build_timestamps("2024-03-01T10:00:00Z")), "conforms", set()),
)
def test_forms_of_timestamps(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A11: a leading slash


def build_files_with_a_slash(path: str) -> TableFiles:
    """Build a table whose file is in the table, and whose path has a leading slash."""
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action(SMALL_FIELDS)]
    add = add_data_file(files, path, build_rows())
    add["add"]["path"] = f"/{path}"
    files.commits[1] = [commit_info_action(1), add]
    files.commits[2] = [commit_info_action(2)]
    return files


FILES = {"level": "files"}


@parametrize(
    Case(
        "checkpoint",
        lambda: begin_with_checkpoint(build_files_with_a_slash("b.parquet")),
        "violations",
        {"DAT001"},
        FILES,
    ),
    Case(
        "sidecar",
        lambda: begin_with_sidecar(build_files_with_a_slash("x/b.parquet")),
        "violations",
        {"DAT001"},
        FILES,
    ),
    Case(
        "older revision",
        lambda: build_files_with_a_slash("x/y/b.parquet"),
        "violations",
        {"DAT001"},
        {"level": "files", "revision": "r2"},
    ),
)
def test_leading_slash(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A12: names


def build_feature_in_checkpoint(name: str) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))
    return begin_with_checkpoint(files)


def build_domain(name: str) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[0].append(domain_action(name))
    return files


def change_configuration(files: TableFiles, **configuration: str) -> TableFiles:
    body = get_action(files, 0, "metaData")
    files.commits[3] = [commit_info_action(3), {"metaData": {**body, "configuration": configuration}}]
    return files


@parametrize(
    Case(
        "feature in a checkpoint",
        lambda: build_feature_in_checkpoint("timestampWithoutTimezone"),
        "incomplete",
        {"FEA006"},
    ),
    Case("domain in a checkpoint", lambda: begin_with_checkpoint(build_domain("delta.liquid")), "conforms", {"DOM002"}),
    Case("domain in a sidecar table", lambda: begin_with_sidecar(build_domain("delta.Liquid")), "conforms", {"DOM002"}),
    Case(
        "constraint added after a checkpoint",
        lambda: begin_with_checkpoint(
            change_configuration(
                log_only.build_table(protocol=protocol_action(1, 3), configuration={"delta.constraints.c": "id > 0"}),
                **{"delta.constraints.c": "id > 0", "delta.constraints.C": "id > 1"},
            )
        ),
        "conforms",
        {"CFG006"},
    ),
)
def test_names(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A13: silent points


def build_two_timestamps() -> TableFiles:
    files = log_only.build_table_with_timestamps()
    files.commits[2].append(commit_info_action(2, inCommitTimestamp=1_700_000_000_777))
    return begin_with_checkpoint_of_timestamps(files)


def begin_with_checkpoint_of_timestamps(files: TableFiles) -> TableFiles:
    first = files.commits[1][0]
    begin_with_checkpoint(files)
    files.commits[1] = [first]
    return files


def switch_mode_after_a_checkpoint() -> TableFiles:
    files = log_only.build_table_with_column_mapping("id")
    settings = {**get_action(files, 0, "metaData")["configuration"], "delta.columnMapping.mode": "name"}
    return begin_with_checkpoint(change_configuration(files, **settings))


def build_void_in_a_map() -> TableFiles:
    void = {"name": "v", "type": "void", "nullable": False, "metadata": {}}
    value = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}, void]}
    kind = {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}
    files = log_only.build_table(fields=[("id", "long"), ("m", kind)])
    files.commits = {0: files.commits[0], 1: [commit_info_action(1)]}
    return begin_with_checkpoint(files)


def build_binary_partition() -> TableFiles:
    files = log_only.build_table(
        fields=(("id", "long"), ("p", "binary")), partition_columns=["p"], partition={"p": "\u0090"}
    )
    files.commits = {0: files.commits[0], 1: files.commits[1][:2]}
    return begin_with_sidecar(files)


@parametrize(
    Case("timestamps after a checkpoint", build_two_timestamps, "conforms", {"COM023"}),
    Case("mode after a checkpoint", switch_mode_after_a_checkpoint, "conforms", {"CMP033"}),
    Case("void in a map of a checkpoint", build_void_in_a_map, "conforms", {"SCH005"}),
    Case("bytes in a sidecar", build_binary_partition, "conforms", {"FIL066"}),
    Case(
        "request in a later commit",
        lambda: begin_with_sidecar(
            change_configuration(log_only.build_table(), **{"delta.feature.rowTracking": "supported"})
        ),
        "conforms",
        {"CFG007"},
    ),
)
def test_silent_points(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A14: properties of checkpoints


def build_requested_codec(naming: Naming, **options: Any) -> TableFiles:
    files = log_only.build_table(configuration={"delta.parquet.compression.codec": "gzip"})
    begin_with_checkpoint(files, naming)
    files.checkpoints[0].parquet_options = options
    return files


def build_unset_struct(naming: Naming) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 3))
    begin_with_checkpoint(files, naming)
    for row in files.checkpoints[0].rows:
        if isinstance(row, dict) and "add" in row:
            row["add"]["stats_parsed"] = {"numRecords": 10}
    return files


@parametrize(
    Case(
        "multipart",
        lambda: build_requested_codec("multipart", compression="zstd"),
        "conforms",
        {"CKP070", "CKP084"},
    ),
    Case("classic", lambda: build_requested_codec("classic", compression="none"), "conforms", {"CKP084"}),
    Case("sound twin", lambda: build_requested_codec("classic", compression="gzip"), "conforms", set()),
    Case("struct in parts", lambda: build_unset_struct("multipart"), "conforms", {"CKP070", "CKP083"}),
)
def test_properties_of_checkpoints(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A15: files that are empty or gone


def empty_the_hint(files: TableFiles) -> TableFiles:
    files.last_checkpoint = b""
    return files


def forget_first_commit(files: TableFiles) -> TableFiles:
    del files.commits[1]
    return files


def build_missing_change_file() -> TableFiles:
    files = build_table_with_change_data()
    files.missing.add("_change_data/cdc-0.parquet")
    return files


@parametrize(
    Case(
        "empty hint next to a sidecar",
        lambda: empty_the_hint(begin_with_sidecar(log_only.build_table())),
        "conforms",
        {"LCP014"},
    ),
    Case(
        "no commit of a sidecar table",
        lambda: forget_first_commit(begin_with_sidecar(log_only.build_table())),
        "conforms",
        {"LOG024"},
    ),
    Case(
        "no commit of a multipart checkpoint",
        lambda: forget_first_commit(begin_with_checkpoint(log_only.build_table(), "multipart")),
        "conforms",
        {"LOG024", "CKP070"},
    ),
    Case("no change file", build_missing_change_file, "conforms", {"DAT004"}, {"level": "files"}),
)
def test_files_that_are_empty_or_gone(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# A16: size in the hint, and keys in several parts


def state_size(files: TableFiles, size: int, **more: Any) -> TableFiles:
    files.last_checkpoint = {"version": 1, "size": size, **more}
    return files


def build_key_in_two_parts() -> TableFiles:
    """Build a multipart checkpoint that has the action of one file in both of its parts."""
    files = log_only.build_checkpointed_table("multipart")
    checkpoint = files.checkpoints[0]
    checkpoint.rows.append(deepcopy(checkpoint.rows[-1]))
    checkpoint.parts, checkpoint.part_numbers = 2, [1, 1, 2, 1, 2]
    return files


@parametrize(
    Case(
        "bytes, V2 without sidecars",
        lambda: state_size(log_only.build_v2_checkpointed_table("uuid-json", sidecars=False), 5_000),
        "violations",
        {"LCP013"},
    ),
    Case(
        "adds, V2 without sidecars",
        lambda: state_size(log_only.build_v2_checkpointed_table(sidecars=False), 2),
        "violations",
        {"LCP013"},
    ),
    Case(
        "actions, V2 without sidecars",
        lambda: state_size(log_only.build_v2_checkpointed_table(sidecars=False), 5),
        "conforms",
        set(),
    ),
)
def test_size_in_the_hint(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def test_key_in_two_parts(tmp_path: Path) -> None:
    write_table(build_key_in_two_parts(), tmp_path)
    assert deltaspec.validate(str(tmp_path), level="log", history="all").verdict == "violations"


# A17: file times out of order


@pytest.mark.parametrize(
    ("minutes", "at", "expected"),
    [
        ([0, 5, 3, 9], 4, 0),
        ([0, 5, 3, 9], 5, 2),
        ([0, 5, 3, 9], 8, 2),
        ([0, 1, 0, 0], 1, 3),
        ([0, 9, 3, 4], 8, 0),
    ],
)
def test_time_travel_by_file_times_that_run_backwards(
    minutes: list[int], at: int, expected: int, tmp_path: Path
) -> None:
    start = 1_700_000_000_000
    files = TableFiles()
    for version, minute in enumerate(minutes):
        table = [] if version else [protocol_action(1, 2), metadata_action(SMALL_FIELDS)]
        files.commits[version] = [commit_info_action(version), *table]
        files.written_ms[f"_delta_log/{version:020}.json"] = start + minute * 60_000
    write_table(files, tmp_path)
    moment = datetime.fromtimestamp(start / 1000 + at * 60, UTC)
    assert deltaspec.validate(str(tmp_path), level="log", at=moment.isoformat()).version == expected


# A5: files that replace commits since an earlier report


def write_and_report(files: TableFiles, directory: Path, name: str, *options: object) -> dict[str, Any]:
    write_table(files, directory / "table")
    output = directory / name
    run("validate", directory / "table", "--level", "files", "--output", output, "--format", "json", *options)
    found: dict[str, Any] = json.loads(output.read_bytes())
    return found


def build_base(naming: Naming, *, sidecar: bool = False) -> TableFiles:
    files = begin_with_checkpoint(build_table_with_data(), naming, sidecar=sidecar)
    if naming == "uuid-json":
        files.checkpoints[0].naming = naming
    return files


@pytest.mark.parametrize(
    ("naming", "sidecar", "pattern"),
    [
        ("multipart", False, "*.checkpoint.0000000002.*.parquet"),
        ("uuid-json", True, "*.checkpoint.*.json"),
        ("uuid-json", True, "_sidecars/*.parquet"),
    ],
)
def test_changed_file_in_place_of_commits(naming: Naming, sidecar: bool, pattern: str, tmp_path: Path) -> None:
    files = build_base(naming, sidecar=sidecar)
    write_and_report(files, tmp_path, "first.json")
    second = write_and_report(TableFiles(), tmp_path, "second.json", "--since", tmp_path / "first.json")
    assert (second["since"]["reason"], second["since"]["skipped_files"]) == (None, 2)
    (changed,) = (tmp_path / "table" / "_delta_log").glob(pattern)
    os.utime(changed, (1, 1))
    third = write_and_report(TableFiles(), tmp_path, "third.json", "--since", tmp_path / "second.json")
    assert changed.name in third["since"]["reason"]
    assert third["since"]["skipped_files"] == 0


# B1: unrecognized keys next to an action


def add_key(line: Any) -> Any:
    line["futureField"] = {"a": 1}
    return line


def build_key_in_json_checkpoint() -> TableFiles:
    files = begin_with_sidecar(log_only.build_table())
    checkpoint = files.checkpoints[0]
    checkpoint.naming = "uuid-json"
    add_key(checkpoint.rows[1])
    return files


def build_key_in_compaction() -> TableFiles:
    files = log_only.build_table_with_compaction()
    files.compactions[1, 2] = deepcopy(files.compactions[1, 2])
    add_key(files.compactions[1, 2][0])
    return files


def build_key_in_commit(which: int) -> TableFiles:
    files = log_only.build_table()
    files.commits[2] = deepcopy(files.commits[2])
    add_key(files.commits[2][which])
    return files


@parametrize(
    Case("protocol of a checkpoint", build_key_in_json_checkpoint, "conforms", {"LIN009"}),
    Case("add of a compaction", build_key_in_compaction, "conforms", {"LIN009"}),
    Case("remove", lambda: build_key_in_commit(2), "conforms", {"LIN009"}),
    Case("commitInfo", lambda: build_key_in_commit(0), "conforms", {"LIN009"}),
)
def test_unrecognized_keys(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
    assert run("show", tmp_path).exit_code == 0


# B2: append-only


def build_replaced_table(features: bool, *, later: bool = False, vector: bool = False) -> TableFiles:
    """Build a table whose commit 3 sets delta.appendOnly and replaces a file; with `later`, commit 4 replaces it."""
    reader = ["deletionVectors"] if vector else []
    protocol = protocol_action(3, 7, reader, [*reader, "appendOnly"]) if features else protocol_action(1, 2)
    configuration = {"delta.enableDeletionVectors": "true"} if vector else {}
    files = log_only.build_table(protocol=protocol, configuration=configuration, last_remove=False)
    change_configuration(files, **configuration, **{"delta.appendOnly": "true"})
    old = {"add": get_action(files, 1, "add")}
    new = {"add": {**old["add"], "deletionVector": inline_vector_descriptor()}} if vector else add_action("d", rows=9)
    version = 4 if later else 3
    files.commits.setdefault(version, [commit_info_action(version)]).extend([remove_action(old), new])
    if vector:
        new["add"]["stats"] = json.dumps({"numRecords": 10, "tightBounds": False})
    return files


@parametrize(
    Case("after a sidecar", lambda: begin_with_sidecar(build_replaced_table(True)), "conforms", {"COM030"}),
    Case("deletion vector", lambda: build_replaced_table(True, vector=True), "conforms", {"COM030"}),
    Case("r1", lambda: build_replaced_table(False), "conforms", {"COM030"}, {"revision": "r1"}),
    Case(
        "later commit after a sidecar",
        lambda: begin_with_sidecar(build_replaced_table(True, later=True)),
        "violations",
        {"COM010"},
    ),
    Case(
        "later deletion vector",
        lambda: build_replaced_table(True, later=True, vector=True),
        "violations",
        {"COM010"},
    ),
)
def test_append_only(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# B3: decimals that Spark rounds

LONG_DECIMAL = Decimal("12345678901234567890123456789012345678")
ROUNDED = Decimal("-12345678901234567890123456789012350000")
ROWS = {"level": "rows"}


def build_decimals(constraint: str, *, is_invariant: bool = False, is_nested: bool = False) -> TableFiles:
    """Build a table with one row of two decimals; `g` is what Spark computes for `-x`."""
    kind = pa.decimal128(38, 0)
    row = {"x": pa.array([LONG_DECIMAL], kind), "g": pa.array([ROUNDED], kind)}
    stated = json.dumps({"expression": {"expression": constraint}})
    metadata = {"delta.invariants": stated} if is_invariant else {}
    fields: list[Any] = [
        {"name": name, "type": "decimal(38,0)", "nullable": True, "metadata": metadata if name == "g" else {}}
        for name in row
    ]
    table = pa.table(row)
    if is_nested:
        fields = [{"name": "s", "type": {"type": "struct", "fields": fields}, "nullable": True, "metadata": {}}]
        table = pa.table({"s": pa.StructArray.from_arrays(list(row.values()), list(row))})
    files = TableFiles()
    configuration = {} if is_invariant else {"delta.constraints.c": constraint}
    files.commits[0] = [commit_info_action(0), protocol_action(1, 3), metadata_action(fields, (), configuration)]
    files.commits[1] = [commit_info_action(1), add_data_file(files, "a.parquet", table, stats='{"numRecords":1}')]
    return files


@parametrize(
    Case("invariant", lambda: build_decimals("g = -x", is_invariant=True), "incomplete", set(), ROWS),
    Case("nested", lambda: build_decimals("s.g = -s.x", is_nested=True), "incomplete", set(), ROWS),
    Case("in a disjunction", lambda: build_decimals("x < 0 OR g = -x"), "incomplete", set(), ROWS),
    Case("without minus", lambda: build_decimals("x < 0"), "violations", {"ROW040"}, ROWS),
)
def test_rounded_decimals(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# B4: dates before 1582 in files of Databricks

FOOTER = {"org.apache.spark.sql.parquet.row.metadata": "{}"}
OLD_DAY = date(1500, 1, 1)


def build_old_values(kind: Any, values: pa.Array, stats: dict[str, Any]) -> TableFiles:
    """Build a table with one file that only says that Spark wrote it, not which version."""
    table = pa.table({"x": values}).replace_schema_metadata(FOOTER)
    files = TableFiles()
    protocol = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"])
    files.commits[0] = [commit_info_action(0), protocol, metadata_action([("x", kind)])]
    options = {"store_schema": True}
    stated = json.dumps({"numRecords": len(values), **stats})
    add = add_data_file(files, "a.parquet", table, parquet_options=options, stats=stated)
    files.commits[1] = [commit_info_action(1), add]
    return files


NESTED = {"type": "struct", "fields": [{"name": "day", "type": "date", "nullable": True, "metadata": {}}]}
SHIFTED = {"minValues": {"x": {"day": "1500-01-11"}}, "maxValues": {"x": {"day": "1500-01-11"}}}
OLD_NTZ = pa.array([OLD_DAY]).cast(pa.timestamp("us"))
NTZ_BOUNDS = {"minValues": {"x": "1500-01-01T00:00:00"}, "maxValues": {"x": "1500-01-01T00:00:00"}}
WRONG_BOUNDS = {"minValues": {"x": "1500-01-02T00:00:00"}}


@parametrize(
    Case(
        "nested date",
        lambda: build_old_values(NESTED, pa.array([{"day": OLD_DAY}]), SHIFTED),
        "incomplete",
        set(),
        ROWS,
    ),
    Case("date without zone", lambda: build_old_values("timestamp_ntz", OLD_NTZ, NTZ_BOUNDS), "conforms", set(), ROWS),
    Case(
        "wrong date without zone",
        lambda: build_old_values("timestamp_ntz", OLD_NTZ, WRONG_BOUNDS),
        "violations",
        {"STA001"},
        ROWS,
    ),
)
def test_old_dates(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# B5: annotations that Arrow rejects


def annotate_logs(files: TableFiles) -> TableFiles:
    for path, data in encode_table(files).items():
        if path.endswith(".parquet") and "_delta_log" in path:
            files.extra[path] = annotate_key_values(data)
    return files


@pytest.mark.parametrize("naming", ["classic", "multipart"])
def test_annotated_checkpoint_is_the_only_copy(naming: Naming, tmp_path: Path) -> None:
    files = annotate_logs(forget_first_commit(begin_with_checkpoint(log_only.build_table(), naming)))
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert (report.verdict, set(report.totals) - {"CKP070"}) == ("conforms", {"LOG024"})


# B6: tombstones that leave out fields


def build_tombstone(naming: Naming, **changed: Any) -> TableFiles:
    """Build a log that begins with a checkpoint of version 2, whose tombstone has other fields."""
    files = log_only.build_table()
    tombstone = {**get_action(files, 2, "remove"), **changed}
    for name in ("size", "partitionValues"):
        tombstone.pop(name, None)
    live = [files.commits[1][2], files.commits[2][1]]
    rows = deepcopy([*files.commits[0][1:], *live, {"remove": tombstone}])
    files.checkpoints.append(CheckpointFiles(2, naming, rows=rows))
    files.commits = {2: files.commits[2]}
    return files


@parametrize(
    Case("commit kept", lambda: build_tombstone("classic", extendedFileMetadata=False), "conforms", {"CKP067"}),
    Case(
        "r1", lambda: build_tombstone("classic", extendedFileMetadata=False), "conforms", {"CKP067"}, {"revision": "r1"}
    ),
)
def test_tombstones(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# B7: checksums of the older form

COUNTS: dict[str, Any] = {"tableSizeBytes": 2000, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}


def add_checksum(files: TableFiles, version: int = 2, **changed: Any) -> TableFiles:
    files.checksums[version] = {**COUNTS, **changed}
    return files


@parametrize(
    Case("sidecar", lambda: add_checksum(begin_with_sidecar(log_only.build_table())), "conforms", {"CRC016"}),
    Case("mapped", lambda: add_checksum(log_only.build_table_with_column_mapping()), "conforms", {"CRC016"}),
    Case(
        "version 0",
        lambda: add_checksum(log_only.build_table(), 0, tableSizeBytes=0, numFiles=0),
        "conforms",
        {"CRC016"},
    ),
    Case(
        "wrong count after a sidecar",
        lambda: add_checksum(begin_with_sidecar(log_only.build_table()), numFiles=3),
        "violations",
        {"CRC003", "CRC016"},
    ),
)
def test_older_checksums(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


# B8: deep JSON

DEEP = "[" * 5000 + "]" * 5000


def build_deep_mark() -> TableFiles:
    files = build_tracked_table(enabled=False)
    body = get_action(files, 2, "domainMetadata")
    body["configuration"] = f'{{"rowIdHighWaterMark":29,"x":{DEEP}}}'
    return files


def nest_metadata(text: str) -> str:
    return text.replace('"metadata":{}', f'"metadata":{{"x":{DEEP}}}', 1)


def build_deep_statistics() -> TableFiles:
    files = log_only.build_table()
    get_action(files, 1, "add", 1)["stats"] = f'{{"numRecords":10,"x":{DEEP}}}'
    return files


@pytest.mark.parametrize(
    "build",
    [
        build_deep_mark,
        lambda: begin_with_sidecar(build_deep_statistics()),
        lambda: edit_schema(
            log_only.build_table(), lambda text: text.replace('"metadata":{}', f'"metadata":{{"x":{DEEP}}}', 1)
        ),
    ],
)
def test_deep_json_is_no_violation(build: Callable[[], TableFiles], tmp_path: Path) -> None:
    write_table(build(), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", history="all")
    assert report.verdict == "incomplete"


# B9: tables that were cleaned up, and messages


@parametrize(
    Case("rows", lambda: begin_with_checkpoint(build_table_with_data()), "conforms", set(), ROWS),
    Case("rows of a sidecar table", lambda: begin_with_sidecar(build_table_with_data()), "conforms", set(), ROWS),
    Case("parts", lambda: begin_with_checkpoint(build_table_with_data(), "multipart"), "conforms", {"CKP070"}, ROWS),
)
def test_sound_table_after_cleanup_is_complete(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.appendOnly", "yes"),
        ("delta.deletedFileRetentionDuration", "a week"),
        ("delta.checkpoint.writeStatsAsJson", "1"),
    ],
)
def test_undefined_value_is_named(name: str, value: str, tmp_path: Path) -> None:
    write_table(begin_with_checkpoint(log_only.build_table(configuration={name: value})), tmp_path)
    (finding,) = deltaspec.validate(str(tmp_path), level="log", history="all").findings
    assert finding.rule == "CFG005"
    assert (finding.evidence["property"], finding.evidence["value"]) == (name, value)
