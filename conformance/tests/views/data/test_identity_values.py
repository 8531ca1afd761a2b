"""Rows of `identity_values`: values of live files, and high-water marks before their commits."""

from typing import Any

import pyarrow as pa
import pytest
from helpers.recording_run import RecordingRun

from deltaspec.protocol.files import deletion_vectors
from deltaspec.wire.parquet.row_batches import RowBatches
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.small_tables import add_data_file
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases.column_features import build_identity_column, build_identity_table, get_first_add

SOUND = (104, [100, 102, 104]), (108, [106, None, 108])


def rows(files: TableFiles) -> list[dict[str, Any]]:
    return RecordingRun(files, level="rows").recorded.rows("identity_values")


def select(files: TableFiles, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in ("path", *names)) for row in rows(files)]


def test_row_of_identity_values() -> None:
    assert rows(build_identity_table(*SOUND))[1] == {
        "version": 2,
        "file": "_delta_log/00000000000000000002.json",
        "line": 3,
        "path": "2.parquet",
        "column": "id",
        "step": 2,
        "high_water_mark": 108,
        "last_value": 108,
        "last_is_beyond_high_water_mark": False,
        "off_sequence_values": 0,
        "first_off_sequence_value": None,
        "duplicate_values": 0,
        "first_duplicate_value": None,
        "previous_high_water_mark": 104,
        "nearest_value": 106,
        "nearest_is_beyond_previous_high_water_mark": True,
    }


def test_first_file_has_no_previous_high_water_mark() -> None:
    names = "previous_high_water_mark", "nearest_value", "nearest_is_beyond_previous_high_water_mark"
    assert select(build_identity_table(*SOUND), *names)[0] == ("1.parquet", None, 100, None)


def test_last_value_is_the_lowest_for_a_negative_step() -> None:
    files = build_identity_table((96, [100, 98, 96]), (96, [94]), step=-2)
    names = (
        "last_value",
        "last_is_beyond_high_water_mark",
        "nearest_value",
        "nearest_is_beyond_previous_high_water_mark",
    )
    assert select(files, *names) == [("1.parquet", 96, False, 100, None), ("2.parquet", 94, True, 94, True)]


@pytest.mark.parametrize("more", [{"explicit": True}, {"explicit": None}, {"start": None}, {"step": 0}])
def test_explicit_inserts_or_unknown_sequence_have_no_rows(more: dict[str, Any]) -> None:
    assert rows(build_identity_table(*SOUND, **more)) == []


def test_table_without_the_feature_has_no_rows() -> None:
    files = build_identity_table(*SOUND)
    files.commits[0][1] = protocol_action(1, 5)
    assert rows(files) == []


def test_deleted_rows_are_not_checked() -> None:
    files = build_identity_table((104, [100, 101, 104, 100]))
    files.commits[0][1] = protocol_action(3, 7, ["deletionVectors"], ["deletionVectors", "identityColumns"])
    vector = deletion_vectors.build_inline_descriptor([1, 3])
    get_first_add(files, 1)["add"]["deletionVector"] = {
        "storageType": "i",
        "pathOrInlineDv": vector.path_or_inline_dv,
        "sizeInBytes": vector.size_in_bytes,
        "cardinality": 2,
    }
    assert select(files, "off_sequence_values", "duplicate_values") == [("1.parquet", 0, 0)]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_column_is_resolved_by_physical_name_or_id(mode: str) -> None:
    field = build_identity_column(104)
    field["metadata"] |= {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p"}
    settings = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "1"}
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(2, 6), metadata_action([field], configuration=settings)]
    kind = pa.field("p", pa.int64(), metadata={"PARQUET:field_id": "1"})
    table = pa.Table.from_arrays([pa.array([100, 106])], schema=pa.schema([kind]))
    files.commits[1] = [commit_info_action(1), add_data_file(files, "1.parquet", table)]
    assert select(files, "column", "last_value", "last_is_beyond_high_water_mark") == [("1.parquet", "id", 106, True)]


def test_file_without_the_column_has_no_row() -> None:
    files = build_identity_table(*SOUND)
    files.commits[3] = [commit_info_action(3), add_data_file(files, "3.parquet", pa.table({"name": ["x"]}))]
    assert [path for (path,) in select(files)] == ["1.parquet", "2.parquet"]


def test_file_is_opened_once_for_all_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    files = build_identity_table(*SOUND)
    columns = [{**build_identity_column(108), "name": f"id{number}"} for number in range(4)]
    files.commits[3] = [
        commit_info_action(3),
        metadata_action(columns),
        add_data_file(files, "3.parquet", pa.table({each["name"]: [100, 102] for each in columns})),
    ]
    opened: list[str] = []

    class Counted(RowBatches):
        def __init__(self, access: Any, key: str) -> None:
            opened.append(key)
            super().__init__(access, key)

    monkeypatch.setattr("deltaspec.validation.data.identity_value_checks.RowBatches", Counted)
    assert [row["column"] for row in rows(files) if row["path"] == "3.parquet"] == ["id0", "id1", "id2", "id3"]
    assert sorted(opened) == ["1.parquet", "2.parquet", "3.parquet"]


def test_values_too_far_apart_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of a file may encode millions of numbers, each of which needs a separate block in a bitmap."""
    monkeypatch.setattr("deltaspec.wire.data.identity_value_scan.MAX_BLOCKS", 3)
    apart = build_identity_table((10**9, [100, 200_000, 400_000, 600_000]))
    reason = "values of an identity column are too far apart to be compared"
    assert (reason, "1.parquet") in RecordingRun(apart, level="rows").recorded.undecided
    several = build_identity_table((10**9, [100, 200_000]), (10**9, [400_000, 600_000]))
    run = RecordingRun(several, level="rows")
    rows = run.recorded.rows("identity_values")
    assert [(row["path"], row["duplicate_values"]) for row in rows] == [("1.parquet", 0), ("2.parquet", 0)]
    assert (reason, None) in run.recorded.undecided


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (pa.table({"id": ["100"]}), "an identity column is stored as string, not as an integer"),
        (None, "3.parquet: does not exist"),
    ],
)
def test_unreadable_file_is_undecided(table: pa.Table | None, reason: str) -> None:
    files = build_identity_table(*SOUND)
    files.commits[3] = [commit_info_action(3), add_data_file(files, "3.parquet", table or pa.table({"id": [110]}))]
    if table is None:
        files.missing.add("3.parquet")
    assert (reason, "3.parquet") in RecordingRun(files, level="rows").recorded.undecided


def test_identity_partition_column_is_undecided() -> None:
    files = build_identity_table(*SOUND)
    for version in range(3):
        metadata = next(line for line in files.commits[version] if isinstance(line, dict) and "metaData" in line)
        metadata["metaData"]["partitionColumns"] = ["id"]
    reason = "id: an identity column that partitions the table"
    assert (reason, None) in RecordingRun(files, level="rows").recorded.undecided


def test_nested_identity_column_is_undecided() -> None:
    files = build_identity_table(*SOUND)
    fields = [
        {
            "name": "s",
            "type": {"type": "struct", "fields": [build_identity_column(104)]},
            "nullable": True,
            "metadata": {},
        }
    ]
    files.commits[3] = [commit_info_action(3), metadata_action(fields)]
    assert ("s.id: an identity column below another column", None) in RecordingRun(
        files, level="rows"
    ).recorded.undecided


# whether a commit generated the values of its files


def _build_third_commit(*more: Any, operation: str = "WRITE", values: tuple[int, ...] = (100, 110)) -> TableFiles:
    """Add a third commit with values below and above the high-water mark."""
    files = build_identity_table(*SOUND)
    rows = pa.table({"id": pa.array(values, pa.int64())})
    files.commits[3] = [commit_info_action(3, operation=operation), *more, add_data_file(files, "3.parquet", rows)]
    return files


def _third_row(files: TableFiles) -> tuple[Any, ...]:
    names = "previous_high_water_mark", "nearest_is_beyond_previous_high_water_mark"
    return next(row[1:] for row in select(files, *names) if row[0] == "3.parquet")


def test_values_of_an_append_are_generated() -> None:
    assert _third_row(_build_third_commit()) == (108, False)
    assert _third_row(_build_third_commit(values=(110, 112))) == (108, True)


def test_commit_that_removes_files_may_copy_values() -> None:
    files = _build_third_commit()
    files.commits[3].append(remove_action(get_first_add(files, 1)))
    assert _third_row(files) == (None, None)


def test_values_of_a_rearrangement_are_not_generated() -> None:
    files = _build_third_commit()
    get_first_add(files, 3)["add"]["dataChange"] = False
    assert _third_row(files) == (None, None)


@pytest.mark.parametrize("operation", ["RESTORE", "CLONE", "CONVERT"])
def test_values_of_reused_files_are_not_generated(operation: str) -> None:
    assert _third_row(_build_third_commit(operation=operation)) == (None, None)


def test_values_of_a_file_added_again_are_not_generated() -> None:
    files = build_identity_table(*SOUND)
    first = get_first_add(files, 1)
    files.commits[3] = [commit_info_action(3), remove_action(first)]
    files.commits[4] = [commit_info_action(4), first]
    names = "version", "previous_high_water_mark", "nearest_is_beyond_previous_high_water_mark"
    assert select(files, *names)[0] == ("1.parquet", 4, None, None)


def test_file_in_checkpoint_has_no_previous_high_water_mark() -> None:
    files = build_identity_table(*SOUND)
    table = [line for line in files.commits[0] if isinstance(line, dict) and "protocol" in line]
    metadata = [line for line in files.commits[1] if isinstance(line, dict) and "metaData" in line]
    files.checkpoints.append(CheckpointFiles(1, "classic", rows=[*table, *metadata, get_first_add(files, 1)]))
    del files.commits[0], files.commits[1]
    assert select(files, "previous_high_water_mark") == [("1.parquet", None), ("2.parquet", 104)]
