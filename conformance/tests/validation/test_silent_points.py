"""Spellings, types and modes that the protocol does not define are reported, wherever a table has them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.checkpoint_writer import CheckpointFiles, SidecarFile
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    write_table,
)
from planted_tables.bases import log_only


def write_and_validate(files: TableFiles, directory: Path, revision: str = "current") -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="log", history="all", revision=revision)


def move_into_checkpoint(files: TableFiles) -> TableFiles:
    """Replace the commits of `build_table()` up to version 1 by a checkpoint and the commit at its version."""
    files.checkpoints.append(CheckpointFiles(1, "classic", rows=log_only.build_state_rows(files)))
    del files.commits[0]
    return files


def build_table(**configuration: str) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(1, 3), configuration=configuration)


@pytest.mark.parametrize(
    ("name", "intended"),
    [
        ("inCommitTimestamps", "inCommitTimestamp"),
        ("timestampWithoutTimezone", "timestampNtz"),
        ("deletionVector", "deletionVectors"),
        ("deletion-vectors", "deletionVectors"),
        ("row_tracking", "rowTracking"),
        ("v2Checkpoints", "v2Checkpoint"),
        ("delta.feature.appendOnly", "appendOnly"),
        ("Iceberg_Compat_V2", "icebergCompatV2"),
    ],
)
def test_misspelled_feature_is_found(name: str, intended: str, tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))
    report = write_and_validate(files, tmp_path)
    assert [each.evidence["intended_name"] for each in report.findings if each.rule == "FEA006"] == [intended]


@pytest.mark.parametrize(
    "name", ["mine", "icebergCompatV4", "catalogOwned", "timestampNanos", "collations", "variantType-preview"]
)
def test_other_features_are_not_misspelled(name: str, tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))
    assert "FEA006" not in write_and_validate(files, tmp_path).totals


@pytest.mark.parametrize("domain", ["delta.liquid", "delta.Clustering", "delta.rowtracking", "delta.row_tracking"])
def test_misspelled_system_domain_is_found(domain: str, tmp_path: Path) -> None:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[1].append(domain_action(domain))
    assert write_and_validate(files, tmp_path).totals == {"DOM002": 1}


@pytest.mark.parametrize(
    ("configuration", "intended"),
    [
        ({"DELTA.CONSTRAINTS.c": "id < 0"}, ["delta.constraints.c"]),
        ({"delta.Constraints.C": "id < 0"}, ["delta.constraints.C"]),
        (
            {"delta.constraints.c": "id > 0", "delta.constraints.C": "id > 1"},
            ["delta.constraints.c", "delta.constraints.C"],
        ),
        ({"delta.AppendOnly": "true"}, ["delta.appendOnly"]),
        ({"delta.checkpoint.WriteStatsAsJson": "false"}, ["delta.checkpoint.writeStatsAsJson"]),
        ({"DELTA.PARQUET.COMPRESSION.CODEC": "gzip"}, ["delta.parquet.compression.codec"]),
        ({"delta.mine": "1", "delta.Mine": "2"}, ["delta.mine", "delta.Mine"]),
    ],
)
@pytest.mark.parametrize("place", [lambda files: files, move_into_checkpoint])
def test_property_in_another_case_is_found(
    configuration: dict[str, str], intended: list[str], place: Callable[[TableFiles], TableFiles], tmp_path: Path
) -> None:
    report = write_and_validate(place(build_table(**configuration)), tmp_path)
    assert report.totals == {"CFG006": len(intended)}
    assert sorted(each.evidence["name_in_other_case"] for each in report.findings) == sorted(intended)


@pytest.mark.parametrize(
    "configuration",
    [
        {"Mine": "1", "mine": "2"},
        {"delta.constraints.c": "id > 0", "delta.constraints.d": "id > 1"},
        {"delta.mine": "1"},
    ],
)
def test_other_properties_conform(configuration: dict[str, str], tmp_path: Path) -> None:
    assert write_and_validate(build_table(**configuration), tmp_path).totals == {}


@pytest.mark.parametrize("name", ["delta.feature.deletionVectors", "delta.feature.mine", "delta.feature.appendOnly"])
@pytest.mark.parametrize("place", [lambda files: files, move_into_checkpoint])
def test_stored_request_for_a_feature_is_found(
    name: str, place: Callable[[TableFiles], TableFiles], tmp_path: Path
) -> None:
    files = place(build_table(**{name: "supported"}))
    assert write_and_validate(files, tmp_path).totals == {"CFG007": 1}


@pytest.mark.parametrize(
    ("modes", "changes"),
    [
        (["id", "name"], 1),
        (["name", "id"], 1),
        (["id", "name", "id"], 2),
        (["name", "name"], 0),
        (["id", "id"], 0),
    ],
)
def test_change_of_mapping_mode_is_found(modes: list[str], changes: int, tmp_path: Path) -> None:
    files = log_only.build_table_with_column_mapping(modes[0])
    metadata = get_action(files, 0, "metaData")
    for version, mode in enumerate(modes[1:], 3):
        configuration = {**metadata["configuration"], "delta.columnMapping.mode": mode}
        files.commits[version] = [
            commit_info_action(version),
            {"metaData": {**metadata, "configuration": configuration}},
        ]
    assert write_and_validate(files, tmp_path).totals == ({"CMP033": changes} if changes else {})


VOID = {"name": "v", "type": "void", "nullable": False, "metadata": {}}


def build_struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}, *fields]}


@pytest.mark.parametrize(
    ("field", "rules"),
    [
        (VOID, {"SCH005": 1}),
        ({**VOID, "nullable": True}, {}),
        (("s", build_struct(VOID)), {"SCH005": 1}),
        (("a", {"type": "array", "elementType": build_struct(VOID), "containsNull": True}), {"SCH005": 1}),
        (("a", {"type": "array", "elementType": "void", "containsNull": False}), {"SCH005": 1}),
        (("m", {"type": "map", "keyType": "void", "valueType": "long", "valueContainsNull": True}), {"SCH005": 1}),
        (("m", {"type": "map", "keyType": "long", "valueType": "void", "valueContainsNull": True}), {}),
    ],
)
@pytest.mark.parametrize("is_added_later", [False, True])
def test_void_that_cannot_be_null_is_found(
    field: Any, rules: dict[str, int], is_added_later: bool, tmp_path: Path
) -> None:
    files = log_only.build_table(fields=[("id", "long")] if is_added_later else [("id", "long"), field])
    files.commits = {0: files.commits[0]}
    if is_added_later:
        files.commits[1] = [commit_info_action(1), metadata_action([("id", "long"), field])]
    assert write_and_validate(files, tmp_path).totals == rules


@pytest.mark.parametrize("columns", [["v"], ["id", "v"]])
def test_void_partition_column_is_found(columns: list[str], tmp_path: Path) -> None:
    files = log_only.build_table(fields=[("id", "long"), ("v", "void"), ("x", "long")], partition_columns=columns)
    files.commits = {0: files.commits[0]}
    assert write_and_validate(files, tmp_path).totals == {"MET011": 1}


@pytest.mark.parametrize(
    ("times", "is_found"),
    [
        ([1_700_000_000_001, 1_700_000_000_007], True),
        ([1_700_000_000_001, None], True),
        ([1_700_000_000_001, 1_700_000_000_001, 1_700_000_000_002], True),
        ([1_700_000_000_001, 1_700_000_000_001], False),
    ],
)
def test_different_timestamps_in_one_commit_are_found(times: list[int | None], is_found: bool, tmp_path: Path) -> None:
    files = log_only.build_table_with_timestamps()
    infos = [commit_info_action(1, **({} if time is None else {"inCommitTimestamp": time})) for time in times]
    files.commits[1][:1] = infos
    assert write_and_validate(files, tmp_path).totals == ({"COM023": 1} if is_found else {})


def test_timestamps_differ_in_vain_while_they_are_not_enabled(tmp_path: Path) -> None:
    files = log_only.build_table()
    files.commits[1][:1] = [commit_info_action(1, inCommitTimestamp=time) for time in (1, 2)]
    assert write_and_validate(files, tmp_path).totals == {}


NTZ = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"])
DAY, TIME = "2024-03-01", "10:00:00"


def build_partitioned_table(kind: str, text: str) -> TableFiles:
    """Build a table whose last file has a partition value; the column is a column of its files elsewhere."""
    protocol = NTZ if kind == "timestamp_ntz" else None
    files = log_only.build_table(fields=[("p", kind), ("x", "long")], partition_columns=["p"], protocol=protocol)
    files.commits = {0: files.commits[0], 1: [commit_info_action(1), add_action("p.parquet", partition={"p": text})]}
    return files


def put_into_commit(files: TableFiles) -> None:
    """Leave the add in its commit."""


def put_into_checkpoint(files: TableFiles) -> None:
    files.checkpoints.append(CheckpointFiles(1, "classic", rows=log_only.build_state_rows(files)))
    del files.commits[0]
    files.commits[1] = [commit_info_action(1)]


def put_into_cdc(files: TableFiles) -> None:
    cdc = {**get_action(files, 1, "add"), "path": "_change_data/p=0/p.parquet", "dataChange": False}
    del cdc["modificationTime"]
    features = ["timestampNtz", "changeDataFeed"]
    files.commits[0][1] = protocol_action(3, 7, features[:1], features)
    get_action(files, 0, "metaData")["configuration"] = {"delta.enableChangeDataFeed": "true"}
    files.commits[1] = [commit_info_action(1), {"cdc": cdc}]


PLACES = pytest.mark.parametrize("put", [put_into_commit, put_into_checkpoint, put_into_cdc])


@pytest.mark.parametrize(
    ("kind", "text", "rule"),
    [
        *[("timestamp", f"{DAY}{rest}", "FIL064") for rest in ("", f" {TIME}Z", f"T{TIME}", f" {TIME}+02:00")],
        *[
            ("timestamp", f"{DAY}{rest}", "FIL064")
            for rest in (f"T{TIME}+0530", f"T{TIME}.1234567Z", f" {TIME}.123456789")
        ],
        *[("timestamp_ntz", f"{DAY}{rest}", "FIL064") for rest in ("", f"T{TIME}", f"T{TIME}Z", f" {TIME}.1234567")],
        ("timestamp", f"{DAY}T{TIME}.5+00:00", "FIL065"),
        ("timestamp_ntz", f"2024-3-1 {TIME}", "FIL065"),
        ("date", "2024-3-1", "FIL065"),
        ("binary", "\u0080", "FIL066"),
        ("binary", "\u00ff", "FIL066"),
        ("binary", "a\u20ac", "FIL066"),
        ("binary", "\u0001\u007f", None),
        ("string", "\u00ff", None),
        ("timestamp", f"{DAY}T{TIME}Z", None),
        ("timestamp_ntz", f"{DAY} {TIME}.123456", None),
        ("date", DAY, None),
    ],
)
@PLACES
def test_form_of_a_partition_value(
    kind: str, text: str, rule: str | None, put: Callable[[TableFiles], None], tmp_path: Path
) -> None:
    files = build_partitioned_table(kind, text)
    put(files)
    assert write_and_validate(files, tmp_path).totals == ({} if rule is None else {rule: 1})


def test_removes_may_have_any_form(tmp_path: Path) -> None:
    files = build_partitioned_table("timestamp", f"{DAY} {TIME}Z")
    files.commits[2] = [commit_info_action(2), log_only.remove_action({"add": get_action(files, 1, "add")})]
    assert write_and_validate(files, tmp_path).totals == {"FIL064": 1}


def test_timestamps_that_were_dates_may_stay_dates(tmp_path: Path) -> None:
    files = build_partitioned_table("date", DAY)
    features = ["timestampNtz", "typeWidening"]
    files.commits[0][1] = protocol_action(3, 7, features, features)
    change = [{"fromType": "date", "toType": "timestamp_ntz"}]
    widened = {"name": "p", "type": "timestamp_ntz", "nullable": True, "metadata": {"delta.typeChanges": change}}
    enabled = {"delta.enableTypeWidening": "true"}
    files.commits[2] = [commit_info_action(2), metadata_action([widened, ("x", "long")], ["p"], enabled)]
    put_later = add_action("q.parquet", partition={"p": DAY})
    files.commits[3] = [commit_info_action(3), put_later]
    assert write_and_validate(files, tmp_path).totals == {}


def put_into_sidecar(files: TableFiles) -> None:
    """Move the add of version 1 into a sidecar of a V2 checkpoint."""
    rows = log_only.build_state_rows(files)
    files.commits[0][1] = rows[0] = protocol_action(3, 7, ["v2Checkpoint"], ["v2Checkpoint"])
    sidecar = SidecarFile("00000000-0000-4000-8000-000000000001.parquet", rows=rows[2:])
    head: Any = {"checkpointMetadata": {"version": 1}}
    files.checkpoints.append(CheckpointFiles(1, "uuid-parquet", rows=[head, *rows[:2]], sidecars=[sidecar]))
    del files.commits[0]
    files.commits[1] = [commit_info_action(1)]


def put_into_remove(files: TableFiles) -> None:
    """Remove the file in version 2, with its statistics, and add it without them."""
    add = get_action(files, 1, "add")
    files.commits[2] = [commit_info_action(2), log_only.remove_action({"add": add}, stats=add.pop("stats"))]


STATISTICS_PLACES = pytest.mark.parametrize(
    "put", [put_into_commit, put_into_checkpoint, put_into_sidecar, put_into_remove]
)


def build_table_with_statistics(stats: Any, kind: str = "long", value: str | None = "7") -> TableFiles:
    files = build_partitioned_table(kind, value or "")
    get_action(files, 1, "add")["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
    return files


@pytest.mark.parametrize(
    ("stats", "rules"),
    [
        ({"num_records": 3, "min_values": {"x": 1}}, {"FIL025": 1}),
        ({"numRecords": 3, "minVals": {"x": 1}, "maxVals": {"x": 2}}, {"FIL025": 1}),
        ({"NUMRECORDS": 3}, {"FIL025": 1}),
        ({"numRecords": 3, "null_count": {"x": 0}}, {"FIL025": 1}),
        ({"numRecords": 3, "extension": {"deep": [[[1]]]}}, {"FIL025": 1}),
        ('{"num\\u0052ecord": 3}', {"FIL025": 1}),
        (json.dumps(json.dumps({"numRecords": 3})), {"FIL016": 1}),
        ({"numRecords": 3, "minValues": json.dumps({"x": 1})}, {"FIL016": 1}),
        ({"numRecords": 3, "maxValues": [1]}, {"FIL016": 1}),
        ({"numRecords": 3, "minValues": None, "maxValues": {}, "tightBounds": False}, {}),
        ({"numRecords": 3, "statsWithCollation": {}}, {}),
        ({"numRecords": 3, "expressionStats": {}}, {}),
        ('{"num\\u0052ecords": 3}', {}),
        ({}, {}),
    ],
)
@STATISTICS_PLACES
def test_keys_of_statistics(
    stats: Any, rules: dict[str, int], put: Callable[[TableFiles], None], tmp_path: Path
) -> None:
    files = build_table_with_statistics(stats)
    put(files)
    assert write_and_validate(files, tmp_path).totals == rules


@pytest.mark.parametrize(
    ("kind", "value", "stats", "fault"),
    [
        ("string", "a", {"minValues": {"p": "zz"}}, "p: minimum zz, value a"),
        ("string", "m", {"maxValues": {"p": "a"}, "tightBounds": False}, "p: maximum a, value m"),
        ("long", "7", {"minValues": {"p": 8}, "maxValues": {"p": 9}}, "p: minimum 8, value 7"),
        ("long", "7", {"minValues": {"p": 1}, "maxValues": {"p": 9}}, "p: minimum 1, value 7"),
        ("decimal(5,2)", "1.50", {"maxValues": {"p": 1.4}, "tightBounds": False}, "p: maximum 1.4, value 1.50"),
        ("date", "2024-01-02", {"minValues": {"p": "2024-01-03"}}, "p: minimum 2024-01-03, value 2024-01-02"),
        (
            "timestamp",
            f"{DAY}T{TIME}Z",
            {"maxValues": {"p": f"{DAY}T09:00:00Z"}},
            f"p: maximum {DAY}T09:00:00Z, value {DAY}T{TIME}Z",
        ),
        ("long", None, {"nullCount": {"p": 0}}, "p: null count 0 of 3, value null"),
        ("long", "7", {"nullCount": {"p": 3}}, "p: null count 3 of 3, value not null"),
        ("long", "7", {"nullCount": {"p": 1}, "tightBounds": False}, None),
        ("long", "7", {"minValues": {"p": 1}, "maxValues": {"p": 9}, "tightBounds": False}, None),
        ("long", "7", {"minValues": {"p": 7}, "maxValues": {"p": 7}, "nullCount": {"p": 0}}, None),
        ("long", None, {"minValues": {"p": 7}, "nullCount": {"p": 3}}, None),
        ("string", "prefix-and-more", {"minValues": {"p": "prefix"}, "maxValues": {"p": "prefix\x7f"}}, None),
        ("timestamp", f"{DAY} {TIME}", {"minValues": {"p": f"{DAY}T{TIME}.000-05:00"}}, None),
        ("long", "7", {"minValues": {"p": 9}, "numRecords": 0}, None),
        ("long", "7", {"minValues": {"x": 9}}, None),
    ],
)
@STATISTICS_PLACES
def test_statistics_of_partition_columns(
    kind: str,
    value: str | None,
    stats: dict[str, Any],
    fault: str | None,
    put: Callable[[TableFiles], None],
    tmp_path: Path,
) -> None:
    files = build_table_with_statistics({"numRecords": 3, **stats}, kind, value)
    put(files)
    report = write_and_validate(files, tmp_path)
    found = [each.evidence["partition_statistics_fault"] for each in report.findings if each.rule == "FIL026"]
    assert found == ([] if fault is None else [fault])
    assert set(report.totals) <= {"FIL026", "FIL061"}


def test_statistics_of_mapped_partition_columns(tmp_path: Path) -> None:
    """Statistics and partition values use the physical name."""
    files = log_only.build_table_with_column_mapping()
    get_action(files, 0, "metaData")["partitionColumns"] = ["id"]
    stats = {"numRecords": 3, "minValues": {"col-1": 8}}
    add = add_action("p.parquet", partition={"col-1": "7"}, stats=json.dumps(stats))
    files.commits = {0: files.commits[0], 1: [commit_info_action(1), add]}
    assert write_and_validate(files, tmp_path).totals == {"FIL026": 1}


@pytest.mark.parametrize("content", [b"", b"\n", b" \t\r\n"])
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_empty_hint_is_a_divergence(content: bytes, has_checkpoint: bool, tmp_path: Path) -> None:
    files = log_only.build_checkpointed_table() if has_checkpoint else log_only.build_table()
    files.extra["_delta_log/_last_checkpoint"] = content
    report = write_and_validate(files, tmp_path)
    assert (report.verdict, report.totals) == ("conforms", {"LCP014": 1})


@pytest.mark.parametrize(
    ("naming", "size", "rules"),
    [
        ("classic", 4, {}),
        ("classic", 2, {"LCP013": 1}),  # the number of adds
        ("classic", 20_000, {"LCP013": 1}),  # bytes
        ("multipart", 5, {"CKP070": 1, "LCP013": 1}),
        ("multipart", 4, {"CKP070": 1}),
    ],
)
def test_size_in_the_hint_has_one_meaning_without_sidecars(
    naming: str, size: int, rules: dict[str, int], tmp_path: Path
) -> None:
    files = log_only.build_checkpointed_table(naming)
    parts = {"parts": 2} if naming == "multipart" else {}
    files.checkpoints[0].parts = parts.get("parts", 1)
    files.last_checkpoint = {"version": 1, "size": size, **parts}
    assert write_and_validate(files, tmp_path).totals == rules


@pytest.mark.parametrize(("size", "rules"), [(4, {}), (6, {}), (5, {}), (3, {"LCP006": 1}), (7, {"LCP006": 1})])
@pytest.mark.parametrize("naming", ["uuid-parquet", "uuid-json"])
def test_size_in_the_hint_may_count_sidecars(naming: str, size: int, rules: dict[str, int], tmp_path: Path) -> None:
    """The checkpoint has checkpointMetadata, protocol, metaData and a sidecar action, and two adds in the sidecar."""
    files = log_only.build_v2_checkpointed_table(naming)
    files.last_checkpoint = {"version": 1, "size": size}
    assert write_and_validate(files, tmp_path).totals == rules


CODEC, PAGES = "delta.parquet.compression.codec", "delta.parquet.format.version"


def build_table_with_checkpoint_options(configuration: dict[str, str], naming: str, **options: Any) -> TableFiles:
    """Build a table with these properties whose checkpoint is written with these options; its sidecars with snappy."""
    if naming == "uuid-parquet":
        files = log_only.build_v2_checkpointed_table()
        get_action(files, 0, "metaData")["configuration"].update(configuration)
        files.checkpoints[0].rows[2]["metaData"]["configuration"].update(configuration)  # type: ignore[index]
    else:
        files = log_only.build_checkpointed_table(naming, configuration=configuration)
        files.checkpoints[0].parts = 2 if naming == "multipart" else 1
    files.checkpoints[0].parquet_options = options
    return files


@pytest.mark.parametrize("naming", ["classic", "multipart", "uuid-parquet"])
@pytest.mark.parametrize("is_base", [False, True])
@pytest.mark.parametrize(
    ("configuration", "options", "rule"),
    [
        ({CODEC: "zstd"}, {"compression": "snappy"}, "CKP084"),
        ({CODEC: "snappy"}, {"compression": "gzip"}, "CKP084"),
        ({CODEC: "NONE"}, {"compression": "zstd"}, "CKP084"),
        ({PAGES: "1.0.0"}, {"data_page_version": "2.0"}, "CKP085"),
        ({PAGES: "2.12.0"}, {"data_page_version": "1.0"}, "CKP085"),
        ({CODEC: "zstd", PAGES: "2.0.0"}, {"compression": "zstd", "data_page_version": "2.0"}, None),
        ({CODEC: "brotli"}, {"compression": "gzip"}, None),  # a codec that the text does not list
        ({}, {"compression": "gzip", "data_page_version": "2.0"}, None),
    ],
)
def test_checkpoints_are_written_as_properties_request(
    configuration: dict[str, str],
    options: dict[str, str],
    rule: str | None,
    naming: str,
    is_base: bool,
    tmp_path: Path,
) -> None:
    files = build_table_with_checkpoint_options(configuration, naming, **options)
    if is_base:
        del files.commits[0]
    found = write_and_validate(files, tmp_path).totals
    found.pop("CKP070", None)  # multipart checkpoints are deprecated
    assert found == ({} if rule is None else {rule: 2 if naming == "multipart" else 1})


def test_older_revisions_have_no_such_properties(tmp_path: Path) -> None:
    files = build_table_with_checkpoint_options({CODEC: "zstd"}, "classic", compression="gzip")
    assert write_and_validate(files, tmp_path, "r3").totals == {}


@pytest.mark.parametrize(
    ("writer", "configuration", "rule"),
    [
        (3, {}, "CKP083"),
        (5, {}, "CKP083"),
        (3, {"delta.checkpoint.writeStatsAsStruct": "true"}, None),
        (3, {"delta.checkpoint.writeStatsAsStruct": "false"}, "CKP057"),
        (2, {}, None),  # from version 3, writers enforce the property
    ],
)
@pytest.mark.parametrize("is_in_sidecar", [False, True])
def test_struct_statistics_without_the_property(
    writer: int, configuration: dict[str, str], rule: str | None, is_in_sidecar: bool, tmp_path: Path
) -> None:
    files = log_only.build_checkpointed_table(protocol=protocol_action(1, writer), configuration=configuration)
    checkpoint = files.checkpoints[0]
    for row in checkpoint.rows:
        if isinstance(row, dict) and "add" in row:
            row["add"] = {**row["add"], "stats_parsed": {"numRecords": 10}}
    if is_in_sidecar and writer > 2:
        features = ["v2Checkpoint"]
        files.commits[0][1] = checkpoint.rows[0] = protocol_action(3, 7, features, features)
        sidecar = SidecarFile("00000000-0000-4000-8000-000000000001.parquet", rows=checkpoint.rows[2:])
        head: Any = {"checkpointMetadata": {"version": 1}}
        files.checkpoints = [CheckpointFiles(1, "uuid-parquet", rows=[head, *checkpoint.rows[:2]], sidecars=[sidecar])]
    assert write_and_validate(files, tmp_path).totals == ({} if rule is None else {rule: 1})


@pytest.mark.parametrize(("size", "rules"), [(4, {}), (5, {}), (6, {"LCP013": 1})])
def test_size_in_the_hint_may_count_unknown_actions(size: int, rules: dict[str, int], tmp_path: Path) -> None:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].rows.append({"futureAction": {"a": 1}})
    files.last_checkpoint = {"version": 1, "size": size}
    assert write_and_validate(files, tmp_path).totals == rules


def test_names_of_users_may_differ_in_case_only(tmp_path: Path) -> None:
    names = {"delta.constraints.c": "id > 0", "delta.constraints.d": "id > 1", "Mine": "1", "mine": "2"}
    report = write_and_validate(build_table(**names), tmp_path)
    assert [(each.rule, each.evidence) for each in report.findings] == []
