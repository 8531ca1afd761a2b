"""Level `footers` on complete tables: violations, files that are not checked, and sound tables."""

import json
import math
import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation.data import footer_checks
from deltaspec.wire.parquet.footer_reader import MAX_FOOTER_BYTES
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators import small_tables
from deltaspec_generators.small_tables import add_data_file, build_rows, build_table_with_data, encode_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    write_table,
)
from planted_tables.bases.column_mapping import build_mapped_rows, build_mapped_table_with_data

PQT = {code for code in RULES if code.startswith("PQT")}


def write_and_validate(files: TableFiles, directory: Path, **options: Any) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), level="footers", **options)


def count_footer_findings(report: Report) -> Counter[str]:
    return Counter({code: number for code, number in report.totals.items() if code in PQT})


def collect_footer_reasons(report: Report) -> set[str]:
    """Return the reasons why footer rules are not checked."""
    return {each.reason for each in report.checked.not_checked if each.rule in PQT}


def test_sound_table_conforms(tmp_path: Path) -> None:
    report = write_and_validate(build_table_with_data(), tmp_path)
    assert report.verdict == "conforms"
    assert not collect_footer_reasons(report)
    assert {"PQT001", "PQT002", "PQT010"} <= set(report.checked.run)


@pytest.mark.parametrize("mode", ["id", "name"])
def test_sound_table_with_column_mapping_conforms(tmp_path: Path, mode: str) -> None:
    report = write_and_validate(build_mapped_table_with_data(mode), tmp_path)
    assert report.verdict == "conforms"


def test_level_files_opens_no_footer(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.data["c.parquet"] = bytes(get_action(files, 2, "add")["size"])
    write_table(files, tmp_path / "table")
    report = deltaspec.validate(str(tmp_path / "table"), level="files")
    assert report.verdict == "conforms"
    assert not PQT & set(report.checked.run)


def test_finding_names_file_and_column(tmp_path: Path) -> None:
    files = build_table_with_data(fields=[*small_tables.FIELDS, ("c", "long")])
    data = encode_data_file(build_rows(20).append_column("c", pa.nulls(10, pa.string())))
    files.data["c.parquet"] = data
    get_action(files, 2, "add")["size"] = len(data)
    [finding] = [each for each in write_and_validate(files, tmp_path).findings if each.rule in PQT]
    assert (finding.rule, finding.path, finding.column, finding.version) == ("PQT010", "c.parquet", "c", 2)
    assert finding.file == "_delta_log/00000000000000000002.json"
    assert finding.evidence == {
        "role": None,
        "type": "long",
        "type_fault": "the file stores BYTE_ARRAY STRING; the schema says long",
    }


@pytest.mark.parametrize("is_slow", [True, False])
def test_footers_are_read_in_threads_only_from_slow_storage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    readers = set()
    read_range = LocalStore.read_range

    def read(self: LocalStore, path: str, start: int, length: int) -> bytes:
        readers.add(threading.get_ident())
        time.sleep(0.003 if is_slow else 0)
        return read_range(self, path, start, length)

    monkeypatch.setattr(LocalStore, "read_range", read)
    monkeypatch.setattr(footer_checks, "FILES_AT_ONCE", 1)
    if not is_slow:
        monkeypatch.setattr(footer_checks, "SLOW_SECONDS", math.inf)
    files = build_table_with_data()
    files.data["c.parquet"] = bytes(get_action(files, 2, "add")["size"])
    report = write_and_validate(files, tmp_path)
    assert count_footer_findings(report) == {"PQT001": 1}
    assert (len(readers) > 1) == is_slow


def test_only_live_files_are_opened(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.data["a.parquet"] = b"removed, and garbage since"
    assert not count_footer_findings(write_and_validate(files, tmp_path))


# legal, but unlike current writers


def build_table_with_file(table: pa.Table, fields: Any = small_tables.FIELDS, **options: Any) -> TableFiles:
    """Build a table whose file c contains this data."""
    files = build_table_with_data(fields=fields, **options)
    add = add_data_file(files, "c.parquet", table)["add"]
    get_action(files, 2, "add").update(size=add["size"], stats=json.dumps({"numRecords": table.num_rows}))
    return files


@pytest.mark.parametrize(
    "table",
    [
        build_rows(20).drop_columns(["name"]),
        build_rows(20).select(["price", "id", "name"]),
        build_rows(20).append_column("more", pa.nulls(10, pa.time64("us"))),
        build_rows(20).append_column("_change_type", pa.nulls(10, pa.string())),
        build_rows(20, 0),
        pa.table({"other": [1, 2]}),
    ],
    ids=["missing column", "other order", "extra column", "change type", "no rows", "none of its columns"],
)
def test_legal_file_conforms(tmp_path: Path, table: pa.Table) -> None:
    assert write_and_validate(build_table_with_file(table), tmp_path).verdict == "conforms"


@pytest.mark.parametrize(("stored", "rules"), [(pa.int32(), []), (pa.string(), ["PQT010"]), (pa.int16(), [])])
def test_partition_column_in_a_file_has_its_type(tmp_path: Path, stored: pa.DataType, rules: list[str]) -> None:
    files = TableFiles()
    base = build_table_with_data(fields=[*small_tables.FIELDS, ("p", "integer")])
    files.commits[0] = base.commits[0]
    get_action(files, 0, "metaData")["partitionColumns"] = ["p"]
    table = build_rows(0).append_column("p", pa.array([1] * 10).cast(stored))
    files.commits[1] = [base.commits[1][0], add_data_file(files, "a.parquet", table, partition={"p": "1"})]
    assert sorted(count_footer_findings(write_and_validate(files, tmp_path))) == rules


@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview"])
def test_file_from_before_type_widening_conforms(tmp_path: Path, feature: str) -> None:
    old = build_rows(20).set_column(0, "id", pa.array(range(20, 30), pa.int16()))
    files = build_table_with_file(old, protocol=protocol_action(3, 7, [feature], [feature]))
    changes = {"delta.typeChanges": [{"fromType": "short", "toType": "long"}]}
    column = {"name": "id", "type": "long", "nullable": True, "metadata": changes}
    files.commits[3] = [commit_info_action(3), metadata_action([column, *small_tables.FIELDS[1:]])]
    assert write_and_validate(files, tmp_path).verdict == "conforms"


def test_int96_timestamps_conform(tmp_path: Path) -> None:
    files = build_table_with_data(
        fields=[("t", "timestamp")], tables=[pa.table({"t": pa.nulls(3, pa.timestamp("us", "UTC"))})] * 3
    )
    for version, index, name in ((1, 0, "a"), (1, 1, "b"), (2, 0, "c")):
        data = encode_data_file(pa.table({"t": pa.nulls(3, pa.timestamp("us"))}), use_deprecated_int96_timestamps=True)
        files.data[f"{name}.parquet"] = data
        get_action(files, version, "add", index)["size"] = len(data)
    get_action(files, 2, "remove")["size"] = len(files.data["a.parquet"])
    assert write_and_validate(files, tmp_path).verdict == "conforms"


def test_files_from_before_column_mapping_conform(tmp_path: Path) -> None:
    """Such files have no field ids. Physical names are the names before the upgrade; columns may be renamed since."""
    fields = []
    for number, (name, kind) in enumerate(small_tables.FIELDS, 1):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}
        logical = "label" if name == "name" else name
        fields.append({"name": logical, "type": kind, "nullable": True, "metadata": metadata})
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    files = build_table_with_data()
    mapped = {**get_action(files, 0, "metaData"), "configuration": configuration}
    mapped["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    files.commits[max(files.commits) + 1] = [commit_info_action(3), protocol_action(2, 5), {"metaData": mapped}]
    assert write_and_validate(files, tmp_path).verdict == "conforms"


@pytest.mark.parametrize(
    ("mode", "ids", "codes"),
    [
        ("id", {"id": 1, "name": 7, "price": 3}, {"PQT031": 1}),
        ("name", {"id": 1, "name": 2, "price": 9}, {"PQT031": 1, "PQT033": 1}),
    ],
)
def test_conflicting_field_ids_of_older_files_are_found(
    tmp_path: Path, mode: str, ids: dict[str, int], codes: dict[str, int]
) -> None:
    """Iceberg leaves such files after a column of that name was dropped; some writers number all nodes."""
    files = build_mapped_table_with_data(mode)
    fields = json.loads(get_action(files, 0, "metaData")["schemaString"])
    for each in fields["fields"]:
        each["metadata"]["delta.columnMapping.physicalName"] = each["name"]
    late = {"delta.columnMapping.id": 9, "delta.columnMapping.physicalName": f"col-{uuid4()}"}
    fields["fields"].append({"name": "late", "type": "long", "nullable": True, "metadata": late})
    get_action(files, 0, "metaData")["schemaString"] = json.dumps(fields)
    get_action(files, 0, "metaData")["configuration"]["delta.columnMapping.maxColumnId"] = "9"
    names = {each: each for each in ids}
    for path, first, version, index in (("b.parquet", 10, 1, 1), ("c.parquet", 20, 2, 0)):
        table = build_mapped_rows(first, names, ids if path == "c.parquet" else {"id": 1, "name": 2, "price": 3})
        files.data[path] = encode_data_file(table)
        get_action(files, version, "add", index).update(size=len(files.data[path]), stats="{}")
    assert count_footer_findings(write_and_validate(files, tmp_path)) == codes


def build_table_with_reused_names() -> TableFiles:
    """Build a table whose files contain dropped columns, the names of which are now logical names of other columns."""
    names = {"id": "id", "name": "name", "price": "price"}
    files = build_mapped_table_with_data("name")
    metadata = get_action(files, 0, "metaData")
    fields = json.loads(metadata["schemaString"])["fields"]
    for each in fields:
        each["metadata"]["delta.columnMapping.physicalName"] = each["name"]
    metadata["schemaString"] = json.dumps({"type": "struct", "fields": fields})
    for name, first in (("b", 10), ("c", 20)):
        data = encode_data_file(build_mapped_rows(first, names, dict.fromkeys(names)))
        files.data[f"{name}.parquet"] = data
        version, index = (1, 1) if name == "b" else (2, 0)
        get_action(files, version, "add", index).update(size=len(data), stats=json.dumps({"numRecords": 10}))
    for each in fields[1:]:
        number = each["metadata"]["delta.columnMapping.id"] + 2
        name = f"col-00000000-0000-4000-8000-00000000000{number}"
        each["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name}
    schema = json.dumps({"type": "struct", "fields": fields})
    settings = {**metadata["configuration"], "delta.columnMapping.maxColumnId": "5"}
    files.commits[3] = [{"metaData": {**metadata, "schemaString": schema, "configuration": settings}}]
    return files


def test_dropped_column_with_the_logical_name_of_another_column_conforms(tmp_path: Path) -> None:
    report = write_and_validate(build_table_with_reused_names(), tmp_path)
    assert set(report.totals) == {"PQT034"}  # its files have no field ids


def test_dropped_columns_of_an_unknown_version_are_undecided(tmp_path: Path) -> None:
    files = build_table_with_reused_names()
    broken = {"metaData": {**get_action(files, 0, "metaData"), "schemaString": "{"}}
    files.commits |= {3: [broken], 4: files.commits[3]}
    report = write_and_validate(files, tmp_path)
    assert "PQT039" not in report.totals
    assert "PQT039" in {each.rule for each in report.checked.not_checked}


def test_shredded_variant_conforms_with_the_feature(tmp_path: Path) -> None:
    features = ["variantType", "variantShredding"]
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    table = build_rows(20).append_column("v", pa.nulls(10, kind))
    files = build_table_with_file(
        table, [*small_tables.FIELDS, ("v", "variant")], protocol=protocol_action(3, 7, features, features)
    )
    assert not count_footer_findings(write_and_validate(files, tmp_path))


# change data files


def build_table_with_change_file(data: bytes) -> TableFiles:
    files = build_table_with_data(
        protocol=protocol_action(1, 7, None, ["changeDataFeed"]), configuration={"delta.enableChangeDataFeed": "true"}
    )
    files.data["_change_data/x.parquet"] = data
    body = {"path": "_change_data/x.parquet", "partitionValues": {}, "size": len(data), "dataChange": False}
    files.commits[2].append({"cdc": body})
    return files


def test_change_data_files_are_opened(tmp_path: Path) -> None:
    report = write_and_validate(build_table_with_change_file(b"no Parquet at all"), tmp_path)
    assert count_footer_findings(report) == {"PQT001": 1}


def test_columns_of_change_data_files_are_checked(tmp_path: Path) -> None:
    table = build_rows(0).set_column(0, "id", pa.array(["x"] * 10)).append_column("_change_type", pa.array(range(10)))
    report = write_and_validate(build_table_with_change_file(encode_data_file(table)), tmp_path)
    assert {each.column for each in report.findings if each.rule == "PQT010"} == {"_change_type", "id"}


# not checked


def test_encrypted_footer_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    data = files.data["c.parquet"]
    assert isinstance(data, bytes)
    files.data["c.parquet"] = b"PARE" + data[4:-4] + b"PARE"
    report = write_and_validate(files, tmp_path)
    assert report.verdict == "incomplete"
    assert collect_footer_reasons(report) == {"its footer is encrypted"}


def test_footer_above_the_limit_leaves_every_footer_rule_undecided(tmp_path: Path) -> None:
    files = build_table_with_data()
    table = build_rows(20).replace_schema_metadata({"padding": "x" * MAX_FOOTER_BYTES})
    add = add_data_file(files, "c.parquet", table, parquet_options={"store_schema": True})["add"]
    get_action(files, 2, "add").update(size=add["size"], stats=json.dumps({"numRecords": table.num_rows + 1}))
    report = write_and_validate(files, tmp_path)
    [reason] = collect_footer_reasons(report)
    assert re.fullmatch(r"its footer has \d+ bytes, more than the limit of 33554432 bytes", reason)
    not_checked = {each.rule for each in report.checked.not_checked if each.reason == reason}
    assert not count_footer_findings(report)
    assert {"PQT001", "PQT002", "PQT004", "PQT010"} <= not_checked
    assert report.verdict == "incomplete"


def test_few_missing_files_of_all_parts_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(footer_checks, "MAX_MISSING_OPENED", 3)
    monkeypatch.setattr(footer_checks, "FILES_PER_BATCH", 10)
    opened: list[str] = []
    read = LocalStore.read_range
    monkeypatch.setattr(
        LocalStore, "read_range", lambda store, path, *rest: opened.append(path) or read(store, path, *rest)
    )
    files = build_table_with_data()
    sound = get_action(files, 2, "add")
    files.commits[2] += [{"add": {**sound, "path": f"gone-{number}.parquet"}} for number in range(50)]
    report = write_and_validate(files, tmp_path)
    assert report.totals["DAT001"] == 50
    assert len([path for path in opened if path.startswith("gone-")]) == 3


@pytest.mark.parametrize("folder", ["", "x/../"], ids=["plain paths", "odd paths"])
@pytest.mark.parametrize("most_opened", [0, 3, 100])
def test_each_of_many_missing_files_is_reported_and_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, most_opened: int
) -> None:
    monkeypatch.setattr(footer_checks, "MAX_MISSING_OPENED", most_opened)
    files = build_table_with_data()
    sound = get_action(files, 2, "add")
    files.commits[2] += [{"add": {**sound, "path": f"{folder}gone-{number}.parquet"}} for number in range(30)]
    report = write_and_validate(files, tmp_path)
    assert report.totals["DAT001"] == 30
    entries = [each for each in report.checked.not_checked if each.rule == "PQT001"]
    named = {each.file: each.reason for each in entries if each.file is not None}
    paths = sorted(f"{folder}gone-{number}.parquet" for number in range(30))
    assert list(named) == paths[: len(named)]
    assert {key: reason for key, reason in named.items() if not reason.endswith(".parquet: does not exist")} == {}
    (more,) = (each.reason for each in entries if each.reason.startswith("and "))
    assert int(more.split()[1]) + len(named) == 30


def test_missing_file_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    del files.data["c.parquet"]
    report = write_and_validate(files, tmp_path)
    assert not count_footer_findings(report)
    assert any("c.parquet" in each for each in collect_footer_reasons(report)), collect_footer_reasons(report)


def test_directory_in_place_of_a_file_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    del files.data["c.parquet"]
    files.extra["c.parquet/x"] = b"x"
    report = write_and_validate(files, tmp_path)
    assert not count_footer_findings(report)
    assert collect_footer_reasons(report)


def test_table_of_another_format_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    get_action(files, 0, "metaData")["format"] = {"provider": "orc", "options": {}}
    report = write_and_validate(files, tmp_path)
    assert not count_footer_findings(report)
    assert collect_footer_reasons(report) == {"data files are of the format orc (S39)"}


def test_row_counts_are_checked_without_a_schema(tmp_path: Path) -> None:
    files = build_table_with_data()
    get_action(files, 0, "metaData")["schemaString"] = "{"
    get_action(files, 2, "add")["stats"] = '{"numRecords": 11}'
    report = write_and_validate(files, tmp_path)
    assert count_footer_findings(report) == {"PQT002": 1}
    assert collect_footer_reasons(report)


def test_files_are_checked_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaspec.validation.data.footer_checks.FILES_PER_BATCH", 7)
    monkeypatch.setattr("deltaspec.validation.data.footer_checks.COLUMNS_PER_BATCH", 3)
    files = build_table_with_data()
    for number in range(40):
        name = f"x{number % 5}"
        table = pa.table({"id": pa.array(range(number), pa.int64()), name: pa.nulls(number, pa.int64())})
        add = add_data_file(
            files, f"{number}.parquet", table, stats=json.dumps({"numRecords": number + (number == 33)})
        )
        files.commits[2].append(add)
    report = write_and_validate(files, tmp_path)
    assert count_footer_findings(report) == {"PQT002": 1}
    [finding] = [each for each in report.findings if each.rule == "PQT002"]
    assert finding.path == "33.parquet"
    assert finding.evidence == {"num_records": 34, "row_count": 33}
