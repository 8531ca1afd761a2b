"""Level `files`: existing and missing files, paths outside the table, and unreferenced files."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.raw_logs import compute_fingerprint

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.wire.storage.interface import Entry, StorageError
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import (
    VECTOR_FILE_UUID,
    add_data_file,
    build_rows,
    build_table_with_change_data,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action, remove_action, write_table

VECTORS = f"deletion_vector_{VECTOR_FILE_UUID}.bin"


def write_and_validate(files: TableFiles, root: Path, **options: Any) -> Report:
    """Validate a table, and assert that its files did not change."""
    write_table(files, root)
    before = compute_fingerprint(root)
    report = deltaspec.validate(str(root), **options)
    assert compute_fingerprint(root) == before
    return report


def collect_reasons(report: Report) -> set[str]:
    return {entry.reason for entry in report.checked.not_checked}


def test_sound_tables_conform(tmp_path: Path) -> None:
    for number, files in enumerate((build_table_with_data(), build_table_with_stored_vectors())):
        report = write_and_validate(files, tmp_path / str(number))
        assert (report.verdict, report.level, report.totals) == ("conforms", "files", {}), f"{number=}"


def test_removed_file_may_be_missing(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("a.parquet")
    assert write_and_validate(files, tmp_path, history="all").verdict == "conforms"


def test_missing_file_removed_by_later_version_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("a.parquet")
    report = write_and_validate(files, tmp_path, at=1)
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert collect_reasons(report) == {"a.parquet: is missing; a later commit removed it"}


def test_missing_file_without_later_remove_is_found_at_older_version(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("b.parquet")
    report = write_and_validate(files, tmp_path, at=1)
    assert (report.verdict, report.totals) == ("violations", {"DAT001": 1})


@pytest.mark.parametrize("later", [b"no JSON\n", None], ids=["unreadable", "absent"])
def test_missing_file_is_not_checked_if_later_commits_are_unreadable(tmp_path: Path, later: bytes | None) -> None:
    files = build_table_with_data()
    files.missing.add("b.parquet")
    files.commits[3] = [commit_info_action(3)]
    name = f"_delta_log/{2:020}.json"
    if later is None:
        files.missing.add(name)
    else:
        files.extra[name] = later
    report = write_and_validate(files, tmp_path, at=1)
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert collect_reasons(report) == {"b.parquet: is missing; a later commit may have removed it"}


def test_missing_vector_file_unused_by_later_version_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors()
    files.commits[4] = [commit_info_action(4), *(remove_action(line) for line in _get_adds(files, 3))]
    files.missing.add(VECTORS)
    assert write_and_validate(files, tmp_path / "now").verdict == "conforms"
    report = write_and_validate(files, tmp_path / "then", at=3)
    assert (report.verdict, report.totals) == ("incomplete", {})


def _get_adds(files: TableFiles, version: int) -> list[dict[str, Any]]:
    return [line for line in files.commits[version] if isinstance(line, dict) and "add" in line]


@pytest.mark.parametrize("path_format", ["{root}/b.parquet", "file:{root}/b.parquet", "file://{root}/b.parquet"])
def test_absolute_path_into_the_table_is_checked(tmp_path: Path, path_format: str) -> None:
    files = build_table_with_data()
    get_action(files, 1, "add", 1)["path"] = path_format.format(root=tmp_path)
    assert write_and_validate(files, tmp_path).verdict == "conforms"
    (tmp_path / "b.parquet").unlink()
    assert deltaspec.validate(str(tmp_path)).totals == {"DAT001": 1}


def _build_clone(root: Path) -> TableFiles:
    """Build a table that refers to a file of another table."""
    source = build_table_with_data()
    write_table(source, root / "source")
    files = build_table_with_data()
    get_action(files, 1, "add", 1)["path"] = f"file:{root}/source/b.parquet"
    files.missing.add("b.parquet")
    return files


def test_file_outside_the_table_is_not_checked(tmp_path: Path) -> None:
    report = write_and_validate(_build_clone(tmp_path), tmp_path / "clone")
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert collect_reasons(report) == {
        f"{tmp_path}/source/b.parquet: leads out of the table; --allow-outside allows reading it"
    }


def test_file_outside_the_table_is_checked_with_allow_outside(tmp_path: Path) -> None:
    report = write_and_validate(_build_clone(tmp_path), tmp_path / "clone", allow_outside=True)
    assert (report.verdict, report.totals) == ("conforms", {})
    (tmp_path / "source" / "b.parquet").unlink()
    assert deltaspec.validate(str(tmp_path / "clone"), allow_outside=True).totals == {"DAT001": 1}


@pytest.mark.parametrize("allow_outside", [False, True])
@pytest.mark.parametrize("place", ["file:///old/lake/orders", "/old/lake/orders", "file:/old/lake/orders"])
def test_copied_table_with_absolute_paths_is_recognized(place: str, allow_outside: bool, tmp_path: Path) -> None:
    files = build_table_with_data()
    for name in ("b.parquet", "day=1/d.parquet"):
        files.commits[1].append(add_data_file(files, name, build_rows(3)))
    get_action(files, 1, "add", 1)["path"] = f"{place}/b.parquet"
    get_action(files, 1, "add", -1)["path"] = f"{place}/day=1/d.parquet"
    report = write_and_validate(files, tmp_path, allow_outside=allow_outside)
    assert (report.verdict, report.totals) == (("violations", {"DAT001": 2}) if allow_outside else ("incomplete", {}))
    assert [(each.location, each.file) for each in report.copied_from] == [("/old/lake/orders", "b.parquet")]


@pytest.mark.parametrize("place", ["s3://[bad", "http://[::1", "file:///x/%2E%2E/../../etc", "/old/\0", "/old//x"])
@pytest.mark.parametrize("allow_outside", [False, True])
def test_odd_location_is_not_taken_for_an_earlier_place(place: str, allow_outside: bool, tmp_path: Path) -> None:
    files = build_table_with_data()
    get_action(files, 1, "add", 1)["path"] = f"{place}/b.parquet"
    report = write_and_validate(files, tmp_path, allow_outside=allow_outside)
    assert report.verdict in ("incomplete", "violations")
    assert report.copied_from == []


def test_clone_is_not_taken_for_a_copy(tmp_path: Path) -> None:
    assert write_and_validate(_build_clone(tmp_path), tmp_path / "clone").copied_from == []


def test_relative_path_out_of_the_table_is_never_followed(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("b.parquet")
    get_action(files, 1, "add", 1)["path"] = "../b.parquet"
    report = write_and_validate(files, tmp_path / "table", allow_outside=True)
    assert report.totals == {"FIL003": 1}
    assert any("climbs out" in reason for reason in collect_reasons(report)), collect_reasons(report)


@pytest.mark.parametrize("path", ["./b.parquet", "x/../b.parquet", ".//b.parquet", "%62.parquet"])
def test_equivalent_paths_find_the_file(tmp_path: Path, path: str) -> None:
    files = build_table_with_data()
    get_action(files, 1, "add", 1)["path"] = path
    assert "DAT001" not in write_and_validate(files, tmp_path).totals


@pytest.mark.parametrize("level", ["files", "footers", "rows"])
def test_missing_change_file_is_reported_once(tmp_path: Path, level: str) -> None:
    files = build_table_with_change_data()
    files.missing.add(get_action(files, 3, "cdc")["path"])
    report = write_and_validate(files, tmp_path, level=level)
    assert (report.verdict, report.totals) == ("conforms", {"DAT004": 1})


def test_file_with_only_deleted_rows_needs_no_required_column(tmp_path: Path) -> None:
    required = {"name": "need", "type": "long", "nullable": False, "metadata": {}}
    files = build_table_with_stored_vectors((range(10), range(10)))
    metadata = get_action(files, 0, "metaData")
    schema = json.loads(metadata["schemaString"])
    metadata["schemaString"] = json.dumps({**schema, "fields": [*schema["fields"], required]})
    assert write_and_validate(files, tmp_path, level="rows").totals == {}
    files = build_table_with_stored_vectors((range(10), range(9)))
    get_action(files, 0, "metaData")["schemaString"] = metadata["schemaString"]
    assert write_and_validate(files, tmp_path / "other", level="rows").totals == {"PQT018": 1}


def test_directory_in_place_of_a_file_is_a_missing_file(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.missing.add("b.parquet")
    files.extra["b.parquet/inner"] = b""
    assert write_and_validate(files, tmp_path).totals == {"DAT001": 1}


def test_file_in_unlisted_directory_is_not_reported_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_listing(_: LocalStore) -> Iterator[Entry | StorageError]:
        yield Entry("b.parquet", os.stat(tmp_path / "b.parquet").st_size, 0)
        yield StorageError("x: cannot be listed: Permission denied")

    write_table(build_table_with_data(), tmp_path)
    monkeypatch.setattr(LocalStore, "list_files", broken_listing)
    report = deltaspec.validate(str(tmp_path))
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert report.inventory is not None
    assert not report.inventory.is_complete


def test_inventory_counts_files_by_reference(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors()
    files.extra |= {
        "orphan.parquet": b"12345",
        "p=1/orphan.parquet": b"1",
        "_temporary/0/part.parquet": b"123",
        ".hidden": b"",
        "_p=1/orphan.parquet": b"12",
    }
    found = write_and_validate(files, tmp_path).inventory
    assert found is not None
    sizes = {name: (tmp_path / name).stat().st_size for name in ("a.parquet", "b.parquet", "c.parquet", VECTORS)}
    assert (found.live_files, found.live_bytes) == (3, sum(sizes.values()) - sizes["a.parquet"])
    assert (found.referenced_files, found.referenced_bytes) == (1, sizes["a.parquet"])
    assert (found.unreferenced_files, found.unreferenced_bytes) == (3, 8)
    assert (found.hidden_files, found.hidden_bytes) == (2, 3)
    assert found.unreferenced == ["_p=1/orphan.parquet", "orphan.parquet", "p=1/orphan.parquet"]
    assert (found.files, found.bytes) == (9, sum(sizes.values()) + 11)


def test_files_are_not_checked_if_live_files_are_unknown(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.commits[2].append("no JSON")
    report = write_and_validate(files, tmp_path)
    assert report.totals == {"LIN001": 1}
    assert "DAT001" in {entry.rule for entry in report.checked.not_checked}


def test_every_deletion_vector_of_a_file_is_checked(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors()
    for index, cardinality in ((0, 5), (1, 7)):
        get_action(files, 3, "add", index)["deletionVector"]["cardinality"] = cardinality
    report = write_and_validate(files, tmp_path)
    assert report.totals == {"DVX006": 2}
    assert [finding.evidence["decoded_cardinality"] for finding in report.findings] == [2, 1]


def test_ledger_names_some_locations_and_counts_the_rest(tmp_path: Path) -> None:
    files = build_table_with_data()
    for number in range(50):
        add = add_data_file(files, f"{number:02}.parquet", build_rows())
        files.missing.add(f"{number:02}.parquet")
        files.commits[2].append(add)
    files.commits[3] = [commit_info_action(3), *(remove_action(line) for line in _get_adds(files, 2)[1:])]
    report = write_and_validate(files, tmp_path, at=2)
    entries = [entry.reason for entry in report.checked.not_checked if entry.rule == "DAT001"]
    assert len(entries) == 21
    assert "and 30 more locations" in entries
    assert json.loads(json.dumps(report.totals)) == {}


@pytest.mark.parametrize("level", ["files", "footers", "rows"])
@pytest.mark.parametrize("name", ["x.parquet", "day=1/x.parquet", "a%20b.parquet"])
def test_file_of_the_table_with_a_leading_slash_is_missing(level: Any, name: str, tmp_path: Path) -> None:
    files = build_table_with_data()
    files.commits[1].append(add_data_file(files, name.replace("%20", " "), build_rows(3)))
    get_action(files, 1, "add", -1)["path"] = f"/{name}"
    report = write_and_validate(files, tmp_path, level=level)
    (finding,) = report.findings
    assert (finding.rule, finding.evidence["name_in_table"]) == ("DAT001", name.replace("%20", " "))
    assert [each for each in report.checked.not_checked if "--allow-outside" in each.reason] == []
    assert report.copied_from == []


@pytest.mark.parametrize(
    "path", ["/other.parquet", "/../b.parquet", "//b.parquet", "/elsewhere/b.parquet", "/etc/../../b"]
)
def test_other_absolute_path_is_not_followed(path: str, tmp_path: Path) -> None:
    files = build_table_with_data()
    get_action(files, 1, "add", 1)["path"] = path
    report = write_and_validate(files, tmp_path / "table")
    assert (report.verdict, report.totals.get("DAT001", 0)) == ("incomplete", 0)


def test_vector_with_a_leading_slash_is_missing(tmp_path: Path) -> None:
    files = build_table_with_stored_vectors()
    for lines in files.commits.values():
        for line in lines:
            vector = line.get("add", {}).get("deletionVector") if isinstance(line, dict) else None
            if vector is not None and vector["storageType"] == "u":
                vector.update(storageType="p", pathOrInlineDv=f"/deletion_vector_{VECTOR_FILE_UUID}.bin")
    assert "DVX010" in write_and_validate(files, tmp_path).totals


def test_change_file_with_a_leading_slash_is_missing(tmp_path: Path) -> None:
    files = build_table_with_change_data()
    (version,) = [version for version, lines in files.commits.items() if any("cdc" in each for each in lines)]
    cdc = get_action(files, version, "cdc")
    cdc["path"] = f"/{cdc['path']}"
    report = write_and_validate(files, tmp_path)
    assert report.totals["DAT004"] == 1
    assert [each for each in report.checked.not_checked if "--allow-outside" in each.reason] == []
