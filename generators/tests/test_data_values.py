"""Drawn values survive Arrow and every Parquet encoding; statistics equal hand-written values."""

import io
import json
import math
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec_generators.data_files.parquet_encodings import (
    ParquetEncoding,
    build_parquet_fields,
    write_parquet,
)
from deltaspec_generators.data_files.statistics import StatisticsStyle, compute_statistics
from deltaspec_generators.tables.strategies import (
    column_values,
    data_types,
    parquet_encodings,
    statistics_styles,
    value_lists,
)
from deltaspec_generators.values.arrow_values import (
    FIRST_DAY,
    FIRST_US,
    GREGORIAN_DAY,
    LAST_DAY,
    LAST_US,
    build_array,
    to_plain_values,
)

few_examples = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
generate_only = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@few_examples
@given(data=st.data(), kind=data_types())
def test_plain_values_survive_arrow(data: st.DataObject, kind: DataType) -> None:
    values = data.draw(value_lists(kind, data.draw(st.integers(0, 5))))
    array = build_array(values, kind)
    assert repr(to_plain_values(array)) == repr(values)


@few_examples
@given(data=st.data(), kind=data_types())
def test_columns_that_are_not_nullable_have_no_nulls(data: st.DataObject, kind: DataType) -> None:
    array = data.draw(column_values(kind, rows=4, nullable=False))
    assert len(array) == 4
    assert array.null_count == 0


EDGES: dict[str, list[Any]] = {
    "byte": [-128, 127],
    "short": [-(2**15), 2**15 - 1],
    "integer": [-(2**31), 2**31 - 1],
    "long": [-(2**63), 2**63 - 1, 2**53 + 1],
    "double": ["nan", "inf", "-inf", "-0.0", "5e-324", "1.7976931348623157e+308"],
    "float": ["nan", "inf", "-inf", "-0.0", "1.401298464324817e-45", "3.4028234663852886e+38"],
    "boolean": [True, False],
    "string": ["", "e\u0301", "é", "\uffff", "\U00010000", "\U0010ffff" * 33, "x" * 33],
    "binary": [b"", b"\xff" * 33, b"\xc3"],
    "date": [FIRST_DAY, GREGORIAN_DAY - 1, GREGORIAN_DAY, -1, LAST_DAY],
    "timestamp": [FIRST_US, -1, -1001, LAST_US, 1_600_000_000_123_456],
    "timestamp_ntz": [FIRST_US, -1, -1001, LAST_US, 1_600_000_000_123_456],
    "variant": [b"\x00", b"\x0dabc"],
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_of_each_type_are_drawn(name: str) -> None:
    seen: set[Any] = set()

    @generate_only
    @given(values=value_lists(Primitive(name), 8))
    def collect(values: list[Any]) -> None:
        for value in values:
            seen.add(
                repr(value) if isinstance(value, float) else value["value"] if name == "variant" and value else value
            )

    collect()
    assert set(EDGES[name]) <= {each for each in seen if not isinstance(each, dict)}
    assert None in seen


@pytest.mark.parametrize("kind", [Decimal(38, 0), Decimal(38, 18), Decimal(1, 1)], ids=str)
def test_decimals_with_all_digits_are_drawn(kind: Decimal) -> None:
    seen: set[Any] = set()

    @generate_only
    @given(values=value_lists(kind, 8))
    def collect(values: list[Any]) -> None:
        seen.update(values)

    collect()
    digits = "9" * (kind.precision - kind.scale) + "." + "9" * kind.scale
    assert {Exact(digits), Exact(f"-{digits}")} <= seen


def test_columns_have_no_some_or_only_nulls() -> None:
    seen: set[str] = set()

    @generate_only
    @given(values=value_lists(Primitive("long"), 4))
    def collect(values: list[Any]) -> None:
        nulls = values.count(None)
        seen.add("all null" if nulls == 4 else "some null" if nulls else "no null")

    collect()
    assert seen == {"all null", "some null", "no null"}


# Parquet encodings

TYPES: tuple[DataType, ...] = (
    Primitive("long"),
    Primitive("timestamp"),
    Primitive("string"),
    Decimal(9, 2),
    Decimal(38, 18),
    Array(Primitive("timestamp_ntz"), True),
    Map(Primitive("string"), Struct((Field("a", Primitive("double"), True),)), False),
)


@few_examples
@given(data=st.data(), parquet_encoding=parquet_encodings(times=("micros", "int96")))
def test_every_encoding_holds_the_same_rows(data: st.DataObject, parquet_encoding: ParquetEncoding) -> None:
    count = data.draw(st.integers(0, 6))
    kinds = data.draw(st.lists(st.sampled_from(TYPES) | data_types(), min_size=1, max_size=3))
    schema = Struct(tuple(Field(f"c{index}", kind, True) for index, kind in enumerate(kinds)))
    columns = {each.name: data.draw(value_lists(each.type, count)) for each in schema.fields}
    fields = build_parquet_fields(schema, parquet_encoding)
    arrays = [pa.array(columns[each.name], each.type) for each in fields]
    written = write_parquet(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), parquet_encoding)
    file = pq.ParquetFile(io.BytesIO(written), coerce_int96_timestamp_unit="us", page_checksum_verification=True)
    read = file.read()
    assert read.column_names == [each.name for each in fields]
    for name, values in columns.items():
        assert repr(sort_fields(to_plain_values(read[name]))) == repr(sort_fields(values))


def sort_fields(value: Any) -> Any:
    """Sort the fields of structs by name, because files may have them in another order."""
    if isinstance(value, dict):
        return {name: sort_fields(value[name]) for name in sorted(value)}
    return type(value)(map(sort_fields, value)) if isinstance(value, list | tuple) else value


def write_and_open(
    parquet_encoding: ParquetEncoding, values: list[Any], kind: DataType, **metadata: Any
) -> pq.ParquetFile:
    fields = build_parquet_fields(Struct((Field("c", kind, True, metadata),)), parquet_encoding)
    table = pa.Table.from_arrays([pa.array(values, fields[0].type)], schema=pa.schema(fields))
    return pq.ParquetFile(io.BytesIO(write_parquet(table, parquet_encoding)))


def test_encodings_set_types_groups_and_statistics() -> None:
    moments = [0, 1_600_000_000_123_000]
    assert write_and_open(ParquetEncoding(), moments, Primitive("timestamp")).schema.column(0).physical_type == "INT64"
    int96 = write_and_open(ParquetEncoding(times="int96"), moments, Primitive("timestamp"))
    assert int96.schema.column(0).physical_type == "INT96"
    millis = write_and_open(ParquetEncoding(times="millis"), moments, Primitive("timestamp"))
    assert "milliseconds" in str(millis.schema.column(0).logical_type)
    nanos = write_and_open(ParquetEncoding(times="nanos"), moments, Primitive("timestamp_ntz"))
    assert "nanoseconds" in str(nanos.schema.column(0).logical_type)
    small = Decimal(9, 2)
    assert write_and_open(ParquetEncoding(), [None], small).schema.column(0).physical_type == "INT32"
    fixed = write_and_open(ParquetEncoding(decimals_as_integers=False), [None], small)
    assert fixed.schema.column(0).physical_type == "FIXED_LEN_BYTE_ARRAY"
    groups = write_and_open(ParquetEncoding(rows_per_group=1), [1, 2, 3], Primitive("long"))
    assert groups.num_row_groups == 3
    older = write_and_open(ParquetEncoding(list_element="array"), [[1]], Array(Primitive("long"), True))
    assert older.schema.column(0).path == "c.list.array"
    chunk = write_and_open(
        ParquetEncoding(encoding="delta", compression="zstd", statistics=False), ["a"], Primitive("string")
    )
    column = chunk.metadata.row_group(0).column(0)
    assert (column.compression, column.is_stats_set) == ("ZSTD", False)
    assert "DELTA_BYTE_ARRAY" in column.encodings


def test_field_ids_of_columns_and_nested_parts_are_stored() -> None:
    metadata = {
        "delta.columnMapping.id": 7,
        "delta.columnMapping.physicalName": "c",
        "delta.columnMapping.nested.ids": {"c.key": 8, "c.value": 9, "c.value.element": 10},
    }
    kind = Map(Primitive("string"), Array(Primitive("long"), True), True)
    arrow = write_and_open(ParquetEncoding(), [None], kind, **metadata).schema_arrow.field("c")
    ids = [arrow, arrow.type.key_field, arrow.type.item_field, arrow.type.item_type.value_field]
    assert [each.metadata[b"PARQUET:field_id"] for each in ids] == [b"7", b"8", b"9", b"10"]


# statistics


def compute_parsed_statistics(kind: DataType, values: list[Any], deleted: set[int] = frozenset(), **style: Any) -> Any:  # type: ignore[assignment]
    """Compute the statistics of one column; numbers are parsed as strings."""
    text = compute_statistics(
        pa.table({"c": build_array(values, kind)}),
        Struct((Field("c", kind, True),)),
        deleted,
        StatisticsStyle(**style),
    )
    assert text is not None
    return json.loads(text, parse_float=str, parse_int=str)


def compute_bounds(kind: DataType, values: list[Any], deleted: set[int] = frozenset(), **style: Any) -> tuple[Any, Any]:  # type: ignore[assignment]
    found = compute_parsed_statistics(kind, values, deleted, **style)
    return found["minValues"].get("c"), found["maxValues"].get("c")


DOUBLE, FLOAT, TEXT = Primitive("double"), Primitive("float"), Primitive("string")


@pytest.mark.parametrize(
    ("kind", "values", "style", "expected"),
    [
        (Primitive("long"), [2**53 + 1, None, -5], {}, ("-5", "9007199254740993")),
        (Primitive("byte"), [None, None], {}, (None, None)),
        (DOUBLE, [1.5, math.nan], {}, (None, None)),
        (DOUBLE, [1.5, math.nan], {"nan": "ignored"}, ("1.5", "1.5")),
        (DOUBLE, [1.5, math.nan], {"nan": "text"}, ("1.5", "NaN")),
        (DOUBLE, [math.inf, 0.0], {}, ("0.0", "Infinity")),
        (DOUBLE, [math.inf, 0.0], {"infinity": "absent"}, ("0.0", None)),
        (FLOAT, [3.4000000953674316], {}, ("3.4", "3.4")),
        (FLOAT, [3.4000000953674316], {"singles": "double"}, ("3.4000000953674316", "3.4000000953674316")),
        (Decimal(38, 18), [Exact("0E-18")], {}, ("0.000000000000000000", "0.000000000000000000")),
        (Decimal(38, 18), [Exact("0E-18")], {"decimals": "java"}, ("0E-18", "0E-18")),
        (TEXT, ["x" * 32 + "a"], {}, ("x" * 32, "x" * 32 + "\x7f")),
        (TEXT, ["x" * 32 + "é"], {}, ("x" * 32, "x" * 32 + "\U0010ffff")),
        (TEXT, ["x" * 32 + "\U0010ffffa"], {}, ("x" * 32, "x" * 32 + "\U0010ffff\x7f")),
        (TEXT, ["\U0010ffff" * 64], {}, ("\U0010ffff" * 32, None)),
        (TEXT, ["\uffff", "\U00010000"], {}, ("\uffff", "\U00010000")),
        (TEXT, ["x" * 33], {"string_length": None}, ("x" * 33, "x" * 33)),
        (Primitive("date"), [GREGORIAN_DAY - 1], {}, ("1582-10-14", "1582-10-14")),
        (Primitive("timestamp"), [-1], {}, ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z")),
        (Primitive("timestamp"), [-1], {"times": "microseconds"}, ("1969-12-31T23:59:59.999999Z",) * 2),
        (Primitive("timestamp"), [-1], {"times": "zoned"}, ("1970-01-01T00:59:59.999+01:00",) * 2),
        (Primitive("timestamp_ntz"), [FIRST_US], {}, ("0001-01-01T00:00:00.000",) * 2),
        (Primitive("timestamp_ntz"), [LAST_US], {"times": "spaced"}, ("9999-12-31 23:59:59.999",) * 2),
        (Primitive("boolean"), [True, False], {}, (None, None)),
        (Primitive("boolean"), [True, False], {"booleans": True}, (False, True)),
        (Primitive("binary"), [b"a"], {}, (None, None)),
        (Array(Primitive("long"), True), [[1]], {}, (None, None)),
    ],
    ids=str,
)
def test_bounds_are_formatted(
    kind: DataType, values: list[Any], style: dict[str, Any], expected: tuple[Any, Any]
) -> None:
    assert compute_bounds(kind, values, **style) == expected


def test_deleted_rows_count_only_in_wide_bounds() -> None:
    values, kind = [1, None, 9], Primitive("long")
    tight = compute_parsed_statistics(kind, values, {1, 2})
    assert tight == {"numRecords": "3", "minValues": {"c": "1"}, "maxValues": {"c": "1"}, "nullCount": {"c": "0"}}
    wide = compute_parsed_statistics(kind, values, {1, 2}, tightness="wide")
    assert wide["maxValues"] == {"c": "9"}
    assert wide["nullCount"] == {"c": "1"}
    assert wide["tightBounds"] is False


def test_slack_widens_bounds_and_changes_null_counts() -> None:
    found = compute_parsed_statistics(Primitive("long"), [1, None, None, 9], tightness="wide", slack=True)
    assert (found["minValues"], found["maxValues"], found["nullCount"]) == ({"c": "0"}, {"c": "10"}, {"c": "1"})
    assert compute_parsed_statistics(Primitive("long"), [None, None, None], tightness="wide", slack=True)[
        "nullCount"
    ] == {"c": "3"}


def test_null_structs_count_as_nulls_of_their_fields() -> None:
    kind = Struct((Field("a", Primitive("long"), True), Field("l", Array(Primitive("long"), True), True)))
    found = compute_parsed_statistics(kind, [{"a": 1, "l": None}, None])
    assert found["minValues"] == {"c": {"a": "1"}}
    assert found["nullCount"] == {"c": {"a": "1", "l": "2"}}
    assert compute_parsed_statistics(kind, [None], first_columns=1)["nullCount"] == {"c": {"a": "1"}}


def test_statistics_may_be_a_row_count_or_absent() -> None:
    table, schema = pa.table({"c": [1]}), Struct((Field("c", Primitive("long"), True),))
    assert compute_statistics(table, schema, (), StatisticsStyle(content="none")) is None
    assert compute_statistics(table, schema, (), StatisticsStyle(content="rows")) == '{"numRecords":1}'


@few_examples
@given(data=st.data(), kind=data_types(depth=0), style=statistics_styles(bounded=True, non_conforming=True))
def test_no_value_is_outside_its_bounds(data: st.DataObject, kind: DataType, style: StatisticsStyle) -> None:
    values = data.draw(value_lists(kind, data.draw(st.integers(1, 5))))
    text = compute_statistics(pa.table({"c": build_array(values, kind)}), Struct((Field("c", kind, True),)), (), style)
    assert text is not None
    found = json.loads(text, parse_float=Exact, parse_int=Exact)
    if not isinstance(kind, Decimal) and kind not in map(Primitive, ("long", "integer", "short", "byte", "string")):
        return  # only these types compare in JSON as in Delta
    low, high = found["minValues"].get("c"), found["maxValues"].get("c")
    for value in values:
        if value is not None:
            assert low is None or low <= value
            assert high is None or high >= value
