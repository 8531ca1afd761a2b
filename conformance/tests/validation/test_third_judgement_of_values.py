"""Faults of the third judgement in values, names, properties and times, each in further places of a table."""

import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.judged_tables import (
    FILES,
    Case,
    begin_with_checkpoint,
    begin_with_sidecar,
    build_mapped_partitions,
    build_partitioned_table,
    change_configuration,
    forget_first_commit,
    judge,
    parametrize,
)

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Naming
from deltaspec_generators.small_tables import FIELDS as SMALL_FIELDS
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_change_data,
)
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
from planted_tables.bases.column_mapping import (
    build_mapped_field,
)

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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


# A12: names


def build_feature_in_checkpoint(name: str) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(3, 7, [name], [name]))
    return begin_with_checkpoint(files)


def build_domain(name: str) -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
    files.commits[0].append(domain_action(name))
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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


# A15: files that are empty or gone


def empty_the_hint(files: TableFiles) -> TableFiles:
    files.last_checkpoint = b""
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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
