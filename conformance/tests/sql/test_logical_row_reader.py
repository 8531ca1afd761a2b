"""Logical rows of a data file: nested values, widened types, partition values, deleted rows."""

import io
import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.sql.expression_columns import ExpressionColumns
from deltaspec.sql.logical_row_reader import arrow_type, find_field, iter_logical_rows
from deltaspec.sql.terms import Undecided
from deltaspec.wire.parquet.row_batches import RowBatches
from deltaspec.wire.storage.data_access import DataAccess
from deltaspec.wire.storage.local import LocalStore


def field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


ITEM = struct(field("q", "long"), field("late", "string"))
MAP = {"type": "map", "keyType": "string", "valueType": ITEM, "valueContainsNull": True}
FIELDS = [
    field("id", "long"),
    field("d", "decimal(8,2)"),
    field("nz", "timestamp_ntz"),
    field("st", struct(field("a", "integer"), field("li", array("double")))),
    field("items", array(ITEM)),
    field("m", MAP),
    field("new", "string"),
    field("p", "date"),
    field("bad", "integer"),
]
SCHEMA = parse_schema(json.dumps(struct(*FIELDS)))
TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int32()),
        "d": pa.array([1, 2, None, 4], pa.int16()),
        "nz": pa.array([date(2024, 1, 1), None, date(1970, 1, 1), date(1960, 1, 1)], pa.date32()),
        "st": pa.array([{"a": 1, "li": [1.5]}, None, {"a": None, "li": []}, {"a": 4, "li": None}]),
        "items": pa.array([[{"q": 1}], None, [], [None, {"q": 4}]], pa.list_(pa.struct([("q", pa.int32())]))),
        "m": pa.array(
            [[("k", {"q": 1})], None, [], [("j", None)]], pa.map_(pa.string(), pa.struct([("q", pa.int64())]))
        ),
        "bad": pa.array([1, 2, 3, 2**40], pa.int64()),
    }
)
NAMES = [(name,) for name in ("id", "d", "nz", "st", "items", "m", "new", "p")] + [("st", "a"), ("ST", "li")]


def read(path: Path, names: list[tuple[str, ...]], deleted: BitMap64 | None = None, rows: int = 1) -> tuple[Any, ...]:
    """Return row indexes, values by column, and faults of a file that contains `TABLE` several times."""
    sink = io.BytesIO()
    pq.write_table(pa.concat_tables([TABLE] * rows), sink, row_group_size=3)
    (path / "a.parquet").write_bytes(sink.getvalue())
    with RowBatches(DataAccess(LocalStore(str(path))), "a.parquet") as source:
        columns = ExpressionColumns(SCHEMA, None, ["p"], {"p": "2024-02-29"}, source.schema, {})
        parts = list(iter_logical_rows(source, columns, names, deleted))
    for part in parts:
        kinds = [arrow_type(find_field(name, SCHEMA).type) for name in names]
        assert [each.type for each in part.columns] == kinds
        assert {len(each) for each in part.columns} == {len(part.rows)}
    values = [[value for part in parts for value in part.columns[at].to_pylist()] for at in range(len(names))]
    faults = {number: reason for part in parts for number, reason in part.faults.items()}
    return [row for part in parts for row in part.rows.to_pylist()], values, faults


def test_values_have_the_types_of_the_table(tmp_path: Path) -> None:
    rows, values, faults = read(tmp_path, NAMES, BitMap64([1]))
    assert (rows, faults) == ([0, 2, 3], {})
    assert values == [
        [1, 3, 4],
        [Decimal("1.00"), None, Decimal("4.00")],
        [datetime.fromisoformat(day) for day in ("2024-01-01", "1970-01-01", "1960-01-01")],
        [{"f0": 1, "f1": [1.5]}, {"f0": None, "f1": []}, {"f0": 4, "f1": None}],
        [[{"f0": 1, "f1": None}], [], [None, {"f0": 4, "f1": None}]],
        [[("k", {"f0": 1, "f1": None})], [], [("j", None)]],
        [None, None, None],
        [date(2024, 2, 29)] * 3,
        [1, None, 4],
        [[1.5], [], None],
    ]


def test_null_structs_lists_and_maps_stay_null(tmp_path: Path) -> None:
    _, values, _ = read(tmp_path, NAMES[3:6], BitMap64([0, 2, 3]))
    assert values == [[None], [None], [None]]


def test_unreadable_column_does_not_affect_others(tmp_path: Path) -> None:
    rows, values, faults = read(tmp_path, [("bad",), ("id",)], rows=2)
    assert (rows, values) == (list(range(8)), [[None] * 8, [1, 2, 3, 4] * 2])
    assert faults == {0: "Integer value 1099511627776 not in range: -2147483648 to 2147483647"}


def test_rows_are_counted_without_columns_of_the_file(tmp_path: Path) -> None:
    rows, values, _ = read(tmp_path, [("p",), ("new",)], BitMap64([0, 5]), rows=2)
    assert (rows, values) == ([1, 2, 3, 4, 6, 7], [[date(2024, 2, 29)] * 6, [None] * 6])


@pytest.mark.parametrize(
    ("name", "kind", "metadata"),
    [
        ("variant", "variant", {}),
        ("array", array("variant"), {}),
        ("char", "string", {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}),
        ("inside", struct(field("s", "string", __COLLATIONS={"s": "icu.UNICODE_CI"})), {}),
    ],
)
def test_field_that_is_not_passed_to_engines(name: str, kind: Any, metadata: dict[str, Any]) -> None:
    schema = parse_schema(json.dumps(struct(field(name, kind, **metadata))))
    with pytest.raises(Undecided):
        find_field((name,), schema)
