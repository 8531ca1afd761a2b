"""False alarms of the third judgement: none in further places of a table, and their twins are found."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.cli import run
from helpers.judged_tables import (
    ROWS,
    Case,
    begin_with_checkpoint,
    begin_with_sidecar,
    change_configuration,
    edit_schema,
    forget_first_commit,
    judge,
    parametrize,
)

import deltaspec
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Naming
from deltaspec_generators.data_files.legacy_nesting import store_as
from deltaspec_generators.small_tables import (
    add_data_file,
    build_table_with_data,
)
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    encode_table,
    get_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.row_ids import build_tracked_table

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
    assert judge(case, tmp_path) == case.judgement
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
    assert judge(case, tmp_path) == case.judgement


# B3: decimals that Spark rounds

LONG_DECIMAL = Decimal("12345678901234567890123456789012345678")
ROUNDED = Decimal("-12345678901234567890123456789012350000")


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


# B5: annotations that Arrow rejects


def annotate_logs(files: TableFiles) -> TableFiles:
    for path, data in encode_table(files).items():
        if path.endswith(".parquet") and "_delta_log" in path:
            files.extra[path] = store_as(data, "unknown-maps")
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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
    assert judge(case, tmp_path) == case.judgement


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
