"""Statistics that a checkpoint has as columns only become the JSON of a commit."""

import io
import json
import math
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.model.rows.statistics import list_leaf_columns
from deltaspec.model.schema.data_types import DataType, Decimal, Field, Primitive, Struct
from deltaspec.wire.log import stats_parsed as parsed_statistics_module
from deltaspec.wire.log.parquet_actions import UnreadableParquet
from deltaspec.wire.log.stats_parsed import iter_parsed_statistics

KINDS: dict[str, DataType] = {
    "l": Primitive("long"),
    "d": Primitive("double"),
    "de": Decimal(38, 18),
    "s": Primitive("string"),
    "b": Primitive("boolean"),
    "da": Primitive("date"),
    "ts": Primitive("timestamp"),
    "tn": Primitive("timestamp_ntz"),
    "st": Struct((Field("x", Primitive("long"), True),)),
}
ARROW = {
    "l": pa.int64(),
    "d": pa.float64(),
    "de": pa.decimal128(38, 18),
    "s": pa.string(),
    "b": pa.bool_(),
    "da": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "tn": pa.timestamp("us"),
    "st": pa.struct([("x", pa.int64())]),
}
COLUMNS = list_leaf_columns(Struct(tuple(Field(name, kind, True) for name, kind in KINDS.items())), None, [])


def texts(adds: list[Any], kind: pa.DataType, **options: Any) -> dict[int, Any]:
    """Return row -> statistics, parsed with numbers as written."""
    return {
        row: json.loads(text, parse_float=str, parse_int=str) for row, text in parsed(adds, kind, **options).items()
    }


def parsed(adds: list[Any], kind: pa.DataType, metadata: Any = None, **options: Any) -> dict[int, str]:
    table = pa.table({"add": pa.array(adds, kind)}).replace_schema_metadata(metadata)
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    sink.seek(0)
    return dict(iter_parsed_statistics(sink, COLUMNS))


def of_add(*members: tuple[str, pa.DataType], text: bool = False) -> pa.DataType:
    fields = [("path", pa.string()), ("stats_parsed", pa.struct(members))]
    return pa.struct([*fields, ("stats", pa.string())] if text else fields)


def test_bounds_of_every_type() -> None:
    values = {
        "l": 2**63 - 1,
        "d": 0.1,
        "de": Exact("0.000000000000000001"),
        "s": 'é"\n',
        "b": False,
        "da": -719162,
        "ts": -1,
        "tn": 1_704_164_645_123_000,
        "st": {"x": 5},
    }
    kind = of_add(
        ("numRecords", pa.int64()), ("minValues", pa.struct(list(ARROW.items()))), ("tightBounds", pa.bool_())
    )
    adds = [{"path": "a", "stats_parsed": {"numRecords": 4, "minValues": values, "tightBounds": True}}]
    assert texts(adds, kind) == {
        1: {
            "numRecords": "4",
            "tightBounds": True,
            "minValues": {
                "l": "9223372036854775807",
                "d": "0.1",
                "de": "0.000000000000000001",
                "s": 'é"\n',
                "b": False,
                "da": "0001-01-01",
                "ts": "1969-12-31T23:59:59.999999Z",
                "tn": "2024-01-02T03:04:05.123000",
                "st": {"x": "5"},
            },
        }
    }


def test_only_adds_without_json_are_converted() -> None:
    kind = of_add(("numRecords", pa.int64()), text=True)
    adds = [
        None,
        {"path": "a", "stats_parsed": {"numRecords": 1}},
        {"path": "b", "stats_parsed": {"numRecords": 2}, "stats": "{}"},
        {"path": "c", "stats_parsed": None},
        {"path": "d", "stats_parsed": {"numRecords": None}},
    ]
    assert texts(adds, kind) == {2: {"numRecords": "1"}, 5: {}}


def test_infinite_values_are_written_as_strings() -> None:
    kind = of_add(("maxValues", pa.struct([("d", pa.float64())])))
    adds = [{"path": "a", "stats_parsed": {"maxValues": {"d": each}}} for each in (math.inf, -math.inf, math.nan)]
    assert [each["maxValues"]["d"] for each in texts(adds, kind).values()] == ["Infinity", "-Infinity", "NaN"]


def test_int96_timestamps_have_the_type_of_their_column() -> None:
    kind = of_add(("maxValues", pa.struct([("ts", pa.timestamp("us")), ("tn", pa.timestamp("us"))])))
    last = 253_402_300_799_999_999
    adds = [{"path": "a", "stats_parsed": {"maxValues": {"ts": last, "tn": last}}}]
    found = texts(adds, kind, use_deprecated_int96_timestamps=True)
    assert found[1]["maxValues"] == {"ts": "9999-12-31T23:59:59.999999Z", "tn": "9999-12-31T23:59:59.999999"}


def test_columns_outside_of_the_table_are_left_out() -> None:
    kind = of_add(("nullCount", pa.struct([("gone", pa.int64()), ("l", pa.int64()), ("s", ARROW["st"])])))
    adds = [{"path": "a", "stats_parsed": {"nullCount": {"gone": 1, "l": 2, "s": {"x": 1}}}}]
    assert texts(adds, kind) == {1: {"nullCount": {"l": "2"}}}


def test_dates_in_another_calendar_are_left_out() -> None:
    kind = of_add(("minValues", pa.struct([("da", pa.date32()), ("l", pa.int64())])))
    adds = [{"path": "a", "stats_parsed": {"minValues": {"da": -719162, "l": 1}}}]
    found = texts(adds, kind, metadata={"org.apache.spark.legacyDateTime": ""})
    assert found == {1: {"minValues": {"l": "1"}}}


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"remove": [1]}),
        pa.table({"add": [1]}),
        pa.table({"add": [{"path": "a"}]}),
        pa.table({"add": [{"path": "a", "stats_parsed": 5}]}),
    ],
)
def test_checkpoint_without_parsed_statistics_has_none(table: pa.Table) -> None:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    sink.seek(0)
    assert all(text == "{}" for _, text in iter_parsed_statistics(sink, COLUMNS))


def test_file_that_is_not_parquet_is_unreadable() -> None:
    with pytest.raises(UnreadableParquet):
        list(iter_parsed_statistics(io.BytesIO(b"PAR1 and more, but no footer"), COLUMNS))


@pytest.mark.parametrize("row_group_size", [3, 1 << 20])
def test_only_requested_lines_are_read(row_group_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsed_statistics_module, "BATCH_ROWS", 4)
    adds = [None if row % 5 == 0 else {"path": "a", "stats_parsed": {"numRecords": row}} for row in range(20)]
    table = pa.table({"add": pa.array(adds, of_add(("numRecords", pa.int64())))})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=row_group_size)
    found = dict(iter_parsed_statistics(sink, COLUMNS, [2, 6, 9, 20, 21]))
    assert found == {2: '{"numRecords":1}', 9: '{"numRecords":8}', 20: '{"numRecords":19}'}
    assert dict(iter_parsed_statistics(sink, COLUMNS, [])) == {}
    assert len(dict(iter_parsed_statistics(sink, COLUMNS))) == 16
