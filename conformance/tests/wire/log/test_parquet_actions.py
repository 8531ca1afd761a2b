"""Rows of Parquet checkpoints are read as encode, for any columns and types that their writer chose."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.protocol.actions import DomainMetadata, Protocol, Txn
from deltaspec.wire.log import parquet_actions
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA
from deltaspec.wire.log.parquet_actions import (
    UnreadableParquet,
    iter_file_action_tables,
    open_parquet,
    read_non_file_actions,
)
from deltaspec.wire.storage.interface import StorageError

TXN = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
REMOVE = pa.struct([("path", pa.string()), ("dataChange", pa.bool_()), ("deletionTimestamp", pa.int64())])


def add(path: str, **more: Any) -> dict[str, Any]:
    return {
        "path": path,
        "partitionValues": [("p", None)],
        "size": 3,
        "modificationTime": 4,
        "dataChange": False,
        "stats": None,
        **more,
    }


def encode(columns: dict[str, tuple[pa.DataType, list[Any]]], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(rows, kind) for name, (kind, rows) in columns.items()}), sink, **options)
    return sink.getvalue()


def open_bytes(data: bytes) -> pq.ParquetFile:
    return open_parquet(pa.BufferReader(data))


def read(data: bytes) -> tuple[Any, list[dict[str, Any]], tuple[int, int]]:
    """Return other actions, file actions, and the numbers of rows without an action or with several."""
    parquet = open_bytes(data)
    others = read_non_file_actions(parquet)
    rows = [row for batch, _ in iter_file_action_tables(parquet, others) for row in batch.to_pylist()]
    return others, rows, (others.rows_without_action, others.rows_with_several_actions)


SOUND = encode(
    {
        "txn": (TXN, [{"appId": "a", "version": 1}, None, None, None]),
        "add": (ADD, [None, add("x", stats="{}"), None, None]),
        "remove": (REMOVE, [None, None, {"path": "y", "dataChange": True, "deletionTimestamp": 9}, None]),
        "protocol": (
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                ]
            ),
            [None, None, None, {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["v2Checkpoint"]}],
        ),
    }
)


def test_every_row_has_its_action_and_number() -> None:
    others, rows, odd = read(SOUND)
    assert others.actions == [
        (1, Txn(app_id="a", version=1)),
        (4, Protocol(min_reader_version=3, min_writer_version=7, reader_features=["v2Checkpoint"])),
    ]
    assert others.kinds == {"txn": 1, "add": 1, "remove": 1, "protocol": 1}
    assert others.faults == {}
    assert [(row["line"], row["kind"], row["path"]) for row in rows] == [(2, "add", "x"), (3, "remove", "y")]
    assert odd == (0, 0)


def test_missing_columns_are_null() -> None:
    _, (added, removed), _ = read(SOUND)
    assert added == dict.fromkeys(FILE_ACTION_SCHEMA.names) | {
        "line": 2,
        "kind": "add",
        "path": "x",
        "partition_values": [("p", None)],
        "size": 3,
        "modification_time": 4,
        "data_change": False,
        "stats": "{}",
    }
    assert removed == dict.fromkeys(FILE_ACTION_SCHEMA.names) | {
        "line": 3,
        "kind": "remove",
        "path": "y",
        "data_change": True,
        "deletion_timestamp": 9,
    }


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 1000])
@pytest.mark.parametrize("group_rows", [1, 2, 1000])
def test_result_does_not_depend_on_batches_and_row_groups(
    monkeypatch: pytest.MonkeyPatch, batch_rows: int, group_rows: int
) -> None:
    monkeypatch.setattr(parquet_actions, "BATCH_ROWS", batch_rows)
    adds: list[Any] = [add(f"{number}") if number % 3 else None for number in range(8)]
    transactions: list[Any] = [{"appId": f"{number}", "version": 1} if number % 3 == 0 else None for number in range(8)]
    data = encode({"add": (ADD, adds), "txn": (TXN, transactions)}, row_group_size=group_rows)
    others, rows, odd = read(data)
    assert [(line, action.app_id) for line, action in others.actions] == [(1, "0"), (4, "3"), (7, "6")]
    assert [(row["line"], row["path"]) for row in rows] == [(n + 1, f"{n}") for n in range(8) if n % 3]
    assert odd == (0, 0)


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_rows_without_action_or_with_several_are_counted(monkeypatch: pytest.MonkeyPatch, batch_rows: int) -> None:
    monkeypatch.setattr(parquet_actions, "BATCH_ROWS", batch_rows)
    txn = {"appId": "a", "version": 1}
    data = encode(
        {
            "txn": (TXN, [txn, None, txn, None, None]),
            "add": (ADD, [None, None, add("x"), add("y"), None]),
            "remove": (REMOVE, [None, None, None, {"path": "z", "dataChange": True}, None]),
        }
    )
    others, rows, odd = read(data)
    assert odd == (2, 2)
    assert len(others.actions) == 2
    assert sorted((row["line"], row["path"]) for row in rows) == [(3, "x"), (4, "y"), (4, "z")]


def test_rows_of_unknown_actions_do_not_count_as_empty() -> None:
    future = pa.struct([("x", pa.int64())])
    data = encode({"future": (future, [{"x": 1}, None]), "txn": (TXN, [None, {"appId": "a", "version": 1}])})
    assert read(data)[2] == (0, 0)


def test_rows_without_file_actions_are_counted() -> None:
    assert read(encode({"txn": (TXN, [None, {"appId": "a", "version": 1}])}))[2] == (1, 0)


def test_file_actions_alone_have_no_other_actions() -> None:
    others, rows, odd = read(encode({"add": (ADD, [add("x"), None])}))
    assert (others.actions, others.kinds) == ([], {"add": 1})
    assert [row["path"] for row in rows] == ["x"]
    assert odd == (1, 0)


def test_file_without_rows_is_empty() -> None:
    others, rows, odd = read(encode({"add": (ADD, []), "txn": (TXN, [])}))
    assert (others.actions, rows) == ([], [])
    assert odd == (0, 0)


def test_commit_info_and_cdc_are_only_counted() -> None:
    struct = pa.struct([("anything", pa.int64())])
    others, _, _ = read(
        encode({"commitInfo": (struct, [{"anything": 1}, None]), "cdc": (struct, [None, {"anything": 1}])})
    )
    assert others.kinds == {"commitInfo": 1, "cdc": 1}
    assert others.actions == []


def test_action_without_a_required_field_is_a_defect_of_its_row() -> None:
    kind = pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())])
    good = {"domain": "d", "configuration": "{}", "removed": False}
    data = encode({"domainMetadata": (kind, [good, {**good, "configuration": None}])})
    others, _, _ = read(data)
    assert others.actions == [(1, DomainMetadata(domain="d", configuration="{}", removed=False))]
    assert {line: (fault.kind, fault.pointer) for line, fault in others.faults.items()} == {
        2: ("domainMetadata", "/domainMetadata/configuration")
    }
    assert others.kinds == {"domainMetadata": 2}


def test_action_of_another_type_is_a_defect_of_its_row() -> None:
    kind = pa.struct([("appId", pa.string()), ("version", pa.string())])
    others, _, _ = read(encode({"txn": (kind, [{"appId": "a", "version": "1"}])}))
    assert others.actions == []
    assert others.faults[1].schema_error == "version is the text '1', should be integer"


def test_column_that_is_not_a_struct_is_a_defect_of_its_rows() -> None:
    others, _, _ = read(encode({"txn": (pa.string(), [None, "x"])}))
    assert others.actions == []
    assert set(others.faults) == {2}


@pytest.mark.parametrize(
    ("field", "kind", "value"),
    [
        ("size", pa.string(), "many"),
        ("size", pa.struct([("x", pa.int64())]), {"x": 1}),
        ("path", pa.list_(pa.string()), ["x"]),
    ],
)
def test_file_action_of_another_type_makes_the_file_unreadable(field: str, kind: pa.DataType, value: Any) -> None:
    struct = pa.struct([(each.name, kind if each.name == field else each.type) for each in ADD])
    parquet = open_bytes(encode({"add": (struct, [{**add("x"), field: value}])}))
    others = read_non_file_actions(parquet)
    with pytest.raises(UnreadableParquet, match=rf"add\.{field} is "):
        list(iter_file_action_tables(parquet, others))


@pytest.mark.parametrize("kind", [pa.string(), pa.struct([("x", pa.string())])])
def test_file_action_column_of_a_wrong_type_makes_the_file_unreadable(kind: pa.DataType) -> None:
    value = "x" if kind == pa.string() else {"x": "x"}
    parquet = open_bytes(encode({"add": (kind, [value])}))
    others = read_non_file_actions(parquet)
    with pytest.raises(UnreadableParquet, match="add has none of the fields"):
        list(iter_file_action_tables(parquet, others))


@pytest.mark.parametrize("size", [pa.int32(), pa.int16(), pa.uint32()])
def test_narrower_integers_are_accepted(size: pa.DataType) -> None:
    struct = pa.struct([(each.name, size if each.name == "size" else each.type) for each in ADD])
    assert [row["size"] for row in read(encode({"add": (struct, [add("x")])}))[1]] == [3]


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"not parquet", b"PAR1" + bytes(100) + b"PAR1", SOUND[:-1], SOUND[100:]]
)
def test_file_that_is_not_parquet_is_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableParquet):
        read(data)


def test_broken_pages_are_unreadable() -> None:
    data = bytearray(SOUND)
    start = pq.read_metadata(io.BytesIO(SOUND)).row_group(0).column(0).dictionary_page_offset or 4
    data[start : start + 30] = b"\xff" * 30
    with pytest.raises(UnreadableParquet):
        read(bytes(data))


def test_strings_that_are_not_utf8_are_unreadable() -> None:
    kind = pa.struct([("appId", pa.binary()), ("version", pa.int64())])
    data = encode({"txn": (kind, [{"appId": b"ab\xff", "version": 1}])})
    others, _, _ = read(data)
    assert others.actions == []
    assert set(others.faults) == {1}


class FailingSource(io.RawIOBase):
    """A source whose storage fails."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        raise StorageError("gone")


def test_storage_error_is_not_a_defect_of_the_file() -> None:
    with pytest.raises(StorageError):
        open_parquet(pa.PythonFile(FailingSource(), mode="r"))


def test_two_columns_of_one_action_are_unreadable() -> None:
    table = pa.table([pa.array([{"appId": "a", "version": 1, "lastUpdated": None}], TXN)] * 2, names=["txn", "txn"])
    sink = io.BytesIO()
    pq.write_table(table, sink)
    with pytest.raises(UnreadableParquet, match="two columns of one action"):
        read_non_file_actions(open_bytes(sink.getvalue()))
