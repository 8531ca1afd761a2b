"""Statistics compared with column values: rows of `column_facts`, and the rules that they violate."""

import json
import math
from decimal import Decimal as Exact
from typing import Any

import pytest
from views.sample_file import (
    DATE,
    DOUBLE,
    FLOAT,
    LONG,
    NTZ,
    STRING,
    TIMESTAMP,
    SampleFile,
    build_leaf_values,
    build_schema,
    find_broken_rules,
)

from deltaspec.protocol.files import z85
from deltaspec.protocol.property_names import PHYSICAL_NAME
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, UndefinedType
from deltaspec.views.data.column_facts import build_column_fact_rows
from deltaspec.wire.data.leaf_values import LeafValues

MOMENT = 1_704_164_645_123_000
"""2024-01-02T03:04:05.123Z."""


def statistics(
    low: Any = None, high: Any = None, nulls: Any = None, *, tight: bool | None = None, rows: int | None = None
) -> str:
    """Build statistics of the column `c`; the arguments are JSON values."""
    found: dict[str, Any] = {} if rows is None else {"numRecords": rows}
    for name, value in (("minValues", low), ("maxValues", high), ("nullCount", nulls)):
        if value is not None:
            found[name] = {"c": value}
    if tight is not None:
        found["tightBounds"] = tight
    return json.dumps(found)


def find_violations(stats: str, kind: DataType, held: LeafValues, *, vector: bool = False, **more: Any) -> set[str]:
    data_file = SampleFile(stats, "vector" if vector else None)
    return find_broken_rules(build_column_fact_rows(data_file, build_schema(c=kind), None, [], [held], **more))


def test_row_of_a_nested_column_of_a_mapped_table() -> None:
    inner = Field("x", LONG, True, {PHYSICAL_NAME: "col-2"})
    schema = Struct((Field("s", Struct((inner,)), True, {PHYSICAL_NAME: "col-1"}),))
    stats = json.dumps(
        {
            "numRecords": 4,
            "tightBounds": False,
            "minValues": {"col-1": {"col-2": 1}},
            "maxValues": {"col-1": {"col-2": 9}},
            "nullCount": {"col-1": {"col-2": 2}},
        }
    )
    held = LeafValues(("col-1", "col-2"), 4, 3, 2, 1, 2, 9)
    (row,) = build_column_fact_rows(SampleFile(stats, "vector"), schema, "name", [], [held])
    assert {name: value for name, value in row.items() if value is not None} == {
        "version": 3,
        "file": "_delta_log/3.json",
        "line": 2,
        "path": "a.parquet",
        "column": "s.x",
        "physical_column": "col-1.col-2",
        "type": "long",
        "num_records": 4,
        "tight_bounds": False,
        "has_deletion_vector": True,
        "rows": 4,
        "valid_rows": 3,
        "stats_null_count": 2,
        "nulls": 2,
        "valid_nulls": 1,
        "stats_min": "1",
        "stats_max": "9",
        "actual_min": "2",
        "actual_max": "9",
        "stats_min_order_key": bytes.fromhex("8000000000000001"),
        "stats_max_order_key": bytes.fromhex("8000000000000009"),
        "actual_min_order_key": bytes.fromhex("8000000000000002"),
        "actual_max_order_key": bytes.fromhex("8000000000000009"),
        "loose_bound": "minimum 1, smallest value 2",
    }


def test_columns_without_an_entry_have_no_row() -> None:
    schema = build_schema(a=LONG, part=LONG, nothing=Primitive("void"), c=LONG)
    stats = '{"minValues":{"c":1,"part":2,"nothing":3,"gone":4},"nullCount":{"gone":{"x":1}}}'
    rows = build_column_fact_rows(SampleFile(stats), schema, None, ["part"], [])
    assert [(row["column"], row["stats_min"]) for row in rows] == [("c", "1")]
    assert find_broken_rules(rows) == set()


@pytest.mark.parametrize("stats", [None, "", "{", "[]", '{"minValues":[1]}', "{}", '{"numRecords":1}'])
def test_statistics_without_columns_have_no_rows(stats: str | None) -> None:
    assert build_column_fact_rows(SampleFile(stats), build_schema(c=LONG), None, [], [build_leaf_values(1)]) == []


@pytest.mark.parametrize("held", [[], [LeafValues(("c",), 0, 0, unread="it is encrypted")]])
def test_statistics_are_reported_for_unread_rows(held: list[LeafValues]) -> None:
    stats = statistics(9, 1, 7)
    (row,) = build_column_fact_rows(SampleFile(stats), build_schema(c=LONG), None, [], held)
    assert (row["stats_min"], row["stats_null_count"], row.get("rows"), row.get("actual_min")) == ("9", 7, None, None)
    assert find_broken_rules([row]) == set()


@pytest.mark.parametrize(
    ("stats", "held", "expected"),
    [
        (statistics(1, 3, 0), build_leaf_values(1, 3), set()),
        (statistics(2, 3, 0), build_leaf_values(1, 3), {"STA001"}),
        (statistics(1, 2, 0), build_leaf_values(1, 3), {"STA002"}),
        (statistics(0, 3, 0), build_leaf_values(1, 3), {"STA004"}),
        (statistics(1, 4, 0, tight=True), build_leaf_values(1, 3), {"STA003"}),
        (statistics(1, 4, 0, tight=False), build_leaf_values(1, 3), set()),
        (statistics(2, 4, 0, tight=True), build_leaf_values(1, 3), {"STA001", "STA003"}),
        (statistics(1, 3, 1), build_leaf_values(1, 3), {"STA005"}),
        (statistics(1, 3, 0, tight=True), build_leaf_values(1, None, 3), {"STA005"}),
        (statistics(1, 3, 2, tight=False, rows=3), build_leaf_values(1, None, 3), set()),
        (statistics(1, 3, 0, tight=False, rows=3), build_leaf_values(1, None, 3), {"STA006"}),
        (statistics(1, 3, 3, tight=False, rows=3), build_leaf_values(1, None, 3), {"STA006"}),
        (statistics(1, 3, 3, tight=False, rows=3), build_leaf_values(None, None, None), set()),
        (statistics(7, 7, 2), build_leaf_values(None, None), set()),
        (statistics({"x": 1}, 3), build_leaf_values(1, 3), {"STA007"}),
        (statistics("x", 3), build_leaf_values(1, 3), {"STA008"}),
        (statistics("1", 3), build_leaf_values(1, 3), {"STA009"}),
        (statistics(1, 3, -1), build_leaf_values(1, 3), set()),
        (statistics(1, 3, "x"), build_leaf_values(1, 3), set()),
    ],
)
def test_statistics_of_integers(stats: str, held: LeafValues, expected: set[str]) -> None:
    assert find_violations(stats, LONG, held) == expected


VECTOR = LeafValues(("c",), rows=4, valid_rows=2, nulls=2, valid_nulls=1, minimum=5, maximum=5)
"""Values of the rows 1, null, null, 5; the first row and one null are deleted."""


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        (statistics(5, 5, 2, tight=True, rows=4), set()),
        (statistics(5, 5, 1, tight=True, rows=4), set()),
        (statistics(1, 5, 2, tight=False, rows=4), set()),
        (statistics(1, 5, 2, tight=True, rows=4), {"STA003"}),
        (statistics(1, 5, 2, rows=4), {"STA004"}),
        (statistics(5, 5, 3, tight=True, rows=4), {"STA005"}),
        (statistics(5, 5, 3, tight=False, rows=4), set()),
        (statistics(5, 5, 3, rows=4), {"STA018"}),
        (statistics(5, 5, 4, tight=False, rows=4), {"STA006"}),
        (statistics(5, 5, 0, tight=False, rows=4), {"STA006"}),
    ],
)
def test_statistics_with_a_deletion_vector(stats: str, expected: set[str]) -> None:
    assert find_violations(stats, LONG, VECTOR, vector=True) == expected


@pytest.mark.parametrize(
    ("kind", "stats", "held", "expected"),
    [
        (FLOAT, statistics(3.4, 3.4), build_leaf_values(3.4000000953674316), set()),
        (FLOAT, statistics(3.4000000953674316, 3.4000000953674316), build_leaf_values(3.4000000953674316), set()),
        (DOUBLE, statistics(3.4, 3.4), build_leaf_values(3.4000000953674316), {"STA002", "STA004"}),
        (DOUBLE, statistics(3.4, 3.4), build_leaf_values(3.4000000953674316, type=FLOAT), set()),
        (DOUBLE, statistics(1, 2), build_leaf_values(1, 2, type=Primitive("integer")), set()),
        (DOUBLE, statistics(0.0, -0.0), build_leaf_values(-0.0, 0.0), set()),
        (DOUBLE, statistics("-Infinity", "Infinity"), build_leaf_values(-math.inf, math.inf), set()),
        (DOUBLE, statistics(1.0, 2.0), build_leaf_values(1.0, 2.0, math.nan), {"STA011"}),
        (DOUBLE, statistics(1.0, 9.0), build_leaf_values(1.0, 2.0, math.nan), {"STA011"}),
        (DOUBLE, statistics(1.0, "NaN"), build_leaf_values(1.0, 2.0, math.nan), {"STA010"}),
        (DOUBLE, statistics("NaN", "NaN"), build_leaf_values(math.nan), {"STA010"}),
        (DOUBLE, statistics(1.0), build_leaf_values(1.0, math.nan), set()),
        (
            Decimal(38, 18),
            statistics("0." + "1" * 18, "0." + "1" * 18),
            build_leaf_values(Exact("0." + "1" * 18)),
            set(),
        ),
        (
            Decimal(38, 18),
            statistics("0." + "1" * 18, "0." + "1" * 17),
            build_leaf_values(Exact("0." + "1" * 18)),
            {"STA002"},
        ),
        (Decimal(20, 4), statistics("1.5", "1.5"), build_leaf_values(Exact("1.5000")), set()),
        (Decimal(20, 4), statistics(5, 5), build_leaf_values(5, type=LONG), set()),
        (DATE, statistics("2024-01-02", "2024-01-02"), build_leaf_values(19724), set()),
        (DATE, statistics("0055-01-02", "0055-01-02"), build_leaf_values(19724), {"STA002", "STA004"}),
        (NTZ, statistics("2024-01-02", "2024-01-02"), build_leaf_values(19724, type=DATE), set()),
        (
            TIMESTAMP,
            statistics("2024-01-02T03:04:05.123Z", "2024-01-02T03:04:05.123Z"),
            build_leaf_values(MOMENT + 999),
            set(),
        ),
        (TIMESTAMP, statistics("2024-01-02T03:04:05.124Z"), build_leaf_values(MOMENT + 999), {"STA001"}),
        (TIMESTAMP, statistics(None, "2024-01-02T03:04:05.122Z"), build_leaf_values(MOMENT), {"STA002"}),
        (TIMESTAMP, statistics(None, "2024-01-02T03:04:05.124Z"), build_leaf_values(MOMENT), {"STA004"}),
        (
            TIMESTAMP,
            statistics(None, "2024-01-02T03:04:05.123500Z"),
            build_leaf_values(MOMENT + 501),
            {"STA002", "STA013"},
        ),
        (TIMESTAMP, statistics("2024-01-02T03:04:05.123"), build_leaf_values(0), {"STA009"}),
        (NTZ, statistics("2024-01-02T03:04:05.123Z"), build_leaf_values(MOMENT), {"STA009"}),
        (NTZ, statistics("2024-01-02T03:04:05.123Z"), build_leaf_values(0), {"STA009", "STA001"}),
        (STRING, statistics("aa", "aa\x7f"), build_leaf_values("aab"), set()),
        (STRING, statistics("aa", "ab"), build_leaf_values("aab"), set()),
        (STRING, statistics("aa", "aa"), build_leaf_values("aab"), {"STA012"}),
        (STRING, statistics("", "aab"), build_leaf_values("aab"), {"STA004"}),
        (STRING, statistics("aab", "aab\x7f"), build_leaf_values("aab"), {"STA004"}),
        (STRING, statistics("a", "aa\x7f"), build_leaf_values("a", "aaé"), {"STA002"}),
        (STRING, statistics("\uffff"), build_leaf_values("\U00010000"), {"STA004"}),
        (STRING, statistics(None, "\uffff"), build_leaf_values("\U00010000"), {"STA002"}),
        (Primitive("boolean"), statistics(False, True), build_leaf_values(False, True), set()),
        (Primitive("boolean"), statistics(False, False), build_leaf_values(False, True), {"STA002"}),
        (Primitive("binary"), statistics("zz", "aa"), build_leaf_values(b"abc"), {"STA009"}),
        (Array(LONG, True), statistics(None, None, 1), build_leaf_values(None, [1]), set()),
        (Array(LONG, True), statistics([1], [2], {"element": 7}), build_leaf_values(None, None), set()),
        (
            Map(STRING, LONG, True),
            statistics(None, None, 0),
            build_leaf_values(None, minimum=None, maximum=None),
            {"STA005"},
        ),
    ],
)
def test_statistics_of_every_type(kind: DataType, stats: str, held: LeafValues, expected: set[str]) -> None:
    assert find_violations(stats, kind, held) == expected


def test_null_struct_has_null_fields() -> None:
    schema = build_schema(s=Struct((Field("a", LONG, True),)))
    held = build_leaf_values(None, None, 5, path=("s", "a"))
    for count, expected in ((2, set()), (1, {"STA005"})):
        stats = json.dumps({"numRecords": 3, "nullCount": {"s": {"a": count}}})
        assert find_broken_rules(build_column_fact_rows(SampleFile(stats), schema, None, [], [held])) == expected


def test_null_count_of_a_struct_is_a_structure_fault() -> None:
    schema = build_schema(s=Struct((Field("a", LONG, True),)))
    stats = '{"numRecords":3,"nullCount":{"s":2}}'
    assert find_broken_rules(build_column_fact_rows(SampleFile(stats), schema, None, [], [])) == {"STA007"}


def test_lone_surrogate_is_escaped_in_evidence() -> None:
    stats = '{"minValues":{"c":"\\ud83d"}}'
    (row,) = build_column_fact_rows(SampleFile(stats), build_schema(c=STRING), None, [], [build_leaf_values("a")])
    assert row["stats_min"] == "\\ud83d"
    assert find_broken_rules([row]) == {"STA008"}


def variant_text(*values: tuple[str, bytes]) -> str:
    """Encode a variant bound: an object with these members, preceded by its metadata."""
    names = [name.encode() for name, _ in values]
    name_ends = [sum(map(len, names[:count])) for count in range(len(names) + 1)]
    metadata = bytes([1, len(names), *name_ends]) + b"".join(names)
    ends = [sum(len(value) for _, value in values[:count]) for count in range(len(values) + 1)]
    data = metadata + bytes([2, len(values), *range(len(values)), *ends]) + b"".join(value for _, value in values)
    return z85.encode(data + bytes(-len(data) % 4))


NUMBER, TEXT = b"\x0c\x05", b"\x0dabc"


@pytest.mark.parametrize(
    ("low", "high", "supported", "expected"),
    [
        (variant_text(("$['a']", NUMBER)), variant_text(("$['b']", TEXT)), True, set()),
        (variant_text(("$", NUMBER)), None, None, set()),
        (variant_text(("$", NUMBER)), None, False, {"STA014"}),
        (None, None, False, set()),
        ({"$['a']": 1}, None, True, {"STA007"}),
        (5, None, True, {"STA015"}),
        (None, variant_text(("a", NUMBER)), True, {"STA015"}),
        ("0S&u501fk+ze0(tB98CpzF6vU0rJl95HpNdvjbtatpi(cu0wW^cTu", None, True, {"STA016"}),
        (variant_text(("$", NUMBER)), variant_text(("$", TEXT)), True, {"STA017"}),
    ],
)
def test_variant_bounds(low: Any, high: Any, supported: bool | None, expected: set[str]) -> None:
    held = build_leaf_values(b"", None, minimum=None, maximum=None)
    stats = statistics(low, high, 1)
    assert find_violations(stats, Primitive("variant"), held, shredding_supported=supported) == expected


def test_proposed_types_are_not_compared() -> None:
    assert find_violations(statistics("a", "b", 0), UndefinedType("string collate x"), build_leaf_values("z")) == set()
