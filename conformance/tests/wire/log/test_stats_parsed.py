"""Typed columns of a checkpoint become JSON, as in a commit."""

import io
import json
import math
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaspec.wire.log.parquet_actions import iter_file_action_tables, open_parquet, read_non_file_actions
from deltaspec.wire.log.stats_parsed import render_statistics

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

COLUMNS = [*((name,) for name in (*ARROW, "nz", "x", "a", "b") if name != "st"), ("st", "x"), ("c", "d")]


def texts(adds: list[Any], kind: pa.DataType, **options: Any) -> dict[int, Any]:
    """Return row -> statistics, parsed with numbers as written."""
    return {
        row: json.loads(text, parse_float=str, parse_int=str) for row, text in parsed(adds, kind, **options).items()
    }


def parsed(adds: list[Any], kind: pa.DataType, metadata: Any = None, **options: Any) -> dict[int, str]:
    return read_statistics(pa.table({"add": pa.array(adds, kind)}).replace_schema_metadata(metadata), **options)[0]


def read_statistics(table: pa.Table, **options: Any) -> tuple[dict[int, str], set[str]]:
    """Return row -> statistics of a checkpoint with these columns, and why some were not read."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    parquet = open_parquet(sink)
    found: dict[int, str] = {}
    reasons: set[str] = set()
    for actions, typed in iter_file_action_tables(parquet, read_non_file_actions(parquet)):
        if typed is not None and typed.statistics is not None:
            texts, unread = render_statistics(typed, COLUMNS)
            found |= {line: text for line, text in zip(actions["line"].to_pylist(), texts, strict=True) if text}
            reasons |= unread
    return found, reasons


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
                "de": "1E-18",
                "s": 'é"\n',
                "b": False,
                "da": "0001-01-01",
                "ts": "1969-12-31T23:59:59.999999Z",
                "tn": "2024-01-02T03:04:05.123",
                "st": {"x": "5"},
            },
        }
    }


def test_null_statistics_stay_null() -> None:
    kind = of_add(("numRecords", pa.int64()), text=True)
    adds = [
        None,
        {"path": "a", "stats_parsed": {"numRecords": 1}},
        {"path": "b", "stats_parsed": {"numRecords": 2}, "stats": "{}"},
        {"path": "c", "stats_parsed": None},
        {"path": "d", "stats_parsed": {"numRecords": None}},
    ]
    assert texts(adds, kind) == {2: {"numRecords": "1"}, 3: {"numRecords": "2"}, 5: {}}


def test_infinite_values_are_written_as_strings() -> None:
    kind = of_add(("maxValues", pa.struct([("d", pa.float64())])))
    adds = [{"path": "a", "stats_parsed": {"maxValues": {"d": each}}} for each in (math.inf, -math.inf, math.nan)]
    assert [each["maxValues"]["d"] for each in texts(adds, kind).values()] == ["Infinity", "-Infinity", "NaN"]


def test_int96_timestamps_are_instants() -> None:
    kind = of_add(("maxValues", pa.struct([("ts", pa.timestamp("us"))])))
    adds = [{"path": "a", "stats_parsed": {"maxValues": {"ts": 253_402_300_799_999_999}}}]
    found = texts(adds, kind, use_deprecated_int96_timestamps=True)
    assert found[1]["maxValues"] == {"ts": "9999-12-31T23:59:59.999999Z"}


def test_values_outside_of_four_digit_years_have_a_sign() -> None:
    kind = of_add(("minValues", pa.struct([("da", pa.date32()), ("ts", pa.timestamp("us"))])))
    adds = [
        {"path": "a", "stats_parsed": {"minValues": {"da": days, "ts": days * 86_400_000_000}}}
        for days in (-719_163, 2_932_897, 0)
    ]
    found = [each["minValues"] for each in texts(adds, kind).values()]
    assert found == [
        {"da": "0000-12-31", "ts": "0000-12-31T00:00:00.000000"},
        {"da": "+10000-01-01", "ts": "+10000-01-01T00:00:00.000000"},
        {"da": "1970-01-01", "ts": "1970-01-01T00:00:00.000"},
    ]


LEGACY_METADATA = [
    {"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""},
    {"org.apache.spark.version": "2.4.8"},
    {"org.apache.spark.sql.parquet.row.metadata": "{}"},
]


def test_old_values_in_another_calendar_are_unread() -> None:
    members = [("da", pa.date32()), ("ts", pa.timestamp("us", "UTC")), ("nz", pa.timestamp("us")), ("l", pa.int64())]
    kind = of_add(("minValues", pa.struct(members)))
    adds = [
        {"path": "a", "stats_parsed": {"minValues": {"da": -719_162, "ts": -3 * 10**15, "nz": -3 * 10**15, "l": 1}}},
        {"path": "b", "stats_parsed": {"minValues": {"da": -141_427, "ts": 0, "nz": 0, "l": 1}}},
    ]
    table = pa.table({"add": pa.array(adds, kind)})
    why = "has old values, which its file may store in the Julian calendar"
    for metadata in LEGACY_METADATA:
        found, reasons = read_statistics(table.replace_schema_metadata(metadata))
        assert found == {
            1: '{"minValues":{"nz":"1874-12-07T18:40:00.000","l":1}}',
            2: '{"minValues":{"da":"1582-10-15","ts":"1970-01-01T00:00:00.000Z","nz":"1970-01-01T00:00:00.000","l":1}}',
        }, f"{metadata=}"
        assert reasons == {f"add.stats_parsed.minValues.{name} {why}" for name in ("da", "ts")}, f"{metadata=}"
    assert read_statistics(table.replace_schema_metadata({"org.apache.spark.version": "3.5.0"}))[1] == set()
    assert read_statistics(table)[1] == set()


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (pa.binary(), b"a", "has the type binary, whose values cannot be compared"),
        (pa.list_(pa.int64()), [1], "has the type list<element: int64>, whose values cannot be compared"),
        (pa.time64("us"), 1, "has the type time64[us], whose values cannot be compared"),
    ],
)
def test_values_without_a_form_in_json_are_unread(kind: pa.DataType, value: Any, reason: str) -> None:
    bounds = pa.struct([("x", kind)])
    for each, expected in ((value, {f"add.stats_parsed.minValues.x {reason}"}), (None, set())):
        adds = [{"path": "a", "stats_parsed": {"minValues": {"x": each}}}]
        assert read_statistics(pa.table({"add": pa.array(adds, of_add(("minValues", bounds)))})) == (
            {1: "{}"},
            expected,
        )


def test_timestamps_beyond_64_bits_are_unread() -> None:
    for unit in ("ms", "us"):
        moments = pa.struct([("x", pa.timestamp(unit))])
        adds = [{"path": "a", "stats_parsed": {"minValues": {"x": 2**62}}}]
        found, reasons = read_statistics(pa.table({"add": pa.array(adds, of_add(("minValues", moments)))}))
        assert bool(reasons) == (unit == "ms")
        assert ("x" in found[1]) == (unit == "us")


def test_columns_with_one_name_are_unread() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    statistics = pa.StructArray.from_arrays([twice], names=["minValues"])
    table = pa.table({"add": pa.StructArray.from_arrays([pa.array(["a"]), statistics], names=["path", "stats_parsed"])})
    assert read_statistics(table) == ({1: "{}"}, {"add.stats_parsed.minValues.x exists 2 times"})


def test_counts_of_another_type_are_left_out() -> None:
    kind = of_add(
        ("numRecords", pa.string()),
        ("tightBounds", pa.int32()),
        ("nullCount", pa.struct([("a", pa.string()), ("b", pa.int32()), ("c", pa.struct([("d", pa.float64())]))])),
    )
    statistics = {"numRecords": "1", "tightBounds": 1, "nullCount": {"a": "1", "b": 2, "c": {"d": 0.5}}}
    assert texts([{"path": "a", "stats_parsed": statistics}], kind) == {1: {"nullCount": {"b": "2"}}}


def test_unreadable_typed_columns_leave_the_actions_readable() -> None:
    adds = [{"path": str(number), "stats_parsed": {"numRecords": number}} for number in range(10)]
    kind = of_add(("numRecords", pa.int64()), ("minValues", pa.struct([("s", pa.string())])))
    table = pa.table({"add": pa.array(adds, kind)})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="none", use_dictionary=False)
    content = bytearray(sink.getvalue())
    chunk = pq.read_metadata(sink).row_group(0).column(2)
    assert chunk.path_in_schema == "add.stats_parsed.minValues.s"
    content[chunk.data_page_offset : chunk.data_page_offset + chunk.total_compressed_size] = bytes(
        [255] * chunk.total_compressed_size
    )
    parquet = open_parquet(io.BytesIO(content))
    others = read_non_file_actions(parquet)
    ((actions, typed),) = list(iter_file_action_tables(parquet, others))
    assert actions["path"].to_pylist() == [str(number) for number in range(10)]
    assert typed is not None
    assert typed.statistics is None
    ((name, reason),) = typed.unread
    assert name == "stats_parsed"
    assert reason.startswith("add.stats_parsed cannot be read: ")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"remove": [{"path": "a"}]}),
        pa.table({"add": [{"path": "a"}]}),
        pa.table({"add": [{"path": "a", "stats_parsed": 5}]}),
    ],
)
def test_checkpoint_without_typed_statistics_has_none(table: pa.Table) -> None:
    assert read_statistics(table) == ({}, set())
