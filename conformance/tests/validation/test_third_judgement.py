"""Faults of the third judgement in derived files, keys, types and columns, each in further places of a table."""

import json
import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.cli import run
from helpers.judged_tables import (
    FOOTERS,
    Case,
    begin_with_checkpoint,
    begin_with_sidecar,
    build_mapped_partitions,
    build_partitioned_table,
    build_repeated_domain,
    edit_schema,
    judge,
    parametrize,
)

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Naming
from deltaspec_generators.small_tables import (
    add_data_file,
    build_table_with_data,
    encode_data_file,
)
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(changes, tmp_path / "changes") == changes.judgement
    nested = Case("", lambda: build_nested_column(mode, None), "violations", {"PQT030"}, FOOTERS)
    assert judge(nested, tmp_path / "nested") == nested.judgement
    sound = Case("", lambda: build_nested_column(mode, 2), "conforms", set(), FOOTERS)
    assert judge(sound, tmp_path / "sound") == sound.judgement


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


# A6: partition columns that change under live files


def drop_partition_columns(files: TableFiles, **more: Any) -> TableFiles:
    body = {**get_action(files, 0, "metaData"), "partitionColumns": []}
    files.commits[3] = [commit_info_action(3), {"metaData": {**body, **more}}]
    return files


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
