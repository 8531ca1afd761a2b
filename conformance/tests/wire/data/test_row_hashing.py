"""Equal rows have equal hashes in every encoding, and different rows have different hashes."""

import math
from decimal import Decimal as Exact
from typing import Any

import pyarrow as pa
import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.rows.changed_rows import is_consistent_with_files
from deltaspec.protocol.features.change_data import DELETE, INSERT
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct, UndefinedType
from deltaspec.wire.data.column_resolution import resolve_columns
from deltaspec.wire.data.row_hashing import (
    HASH_MODULUS,
    Incomparable,
    hash_result_leaf,
    hash_rows,
    is_hashable,
    sum_hashes,
)

LONG, STRING, DOUBLE = Primitive("long"), Primitive("string"), Primitive("double")


def hashes(schema: Struct, table: pa.Table, constant: str = "", mapping: str | None = None) -> list[int]:
    batch = table.combine_chunks().to_batches()[0]
    columns = resolve_columns(table.schema, schema, mapping)
    arrays = [(each, None if each.place is None else batch.column(each.place)) for each in columns]
    return hash_rows(arrays, table.num_rows, constant).to_list()


def of(kind: DataType, values: list[Any], stored: pa.DataType) -> list[int]:
    return hashes(Struct((Field("x", kind, True),)), pa.table({"x": pa.array(values, stored)}))


@pytest.mark.parametrize(
    ("kind", "values", "one", "other"),
    [
        (LONG, [1, -5, None], pa.int64(), pa.int16()),
        (DOUBLE, [1.5, math.nan, None], pa.float64(), pa.float32()),
        (DOUBLE, [3.0, None, -7.0], pa.float64(), pa.int32()),
        (Decimal(12, 4), [Exact("1.5"), None, Exact("-0.2")], pa.decimal128(12, 4), pa.decimal128(5, 2)),
        (Decimal(12, 2), [Exact(3), None, Exact(-2)], pa.decimal128(12, 2), pa.int32()),
        (STRING, ["a", "", None, "é"], pa.string(), pa.large_string()),
        (STRING, ["a", "", None, "é"], pa.string(), pa.binary()),
        (Primitive("timestamp"), [0, -1, None], pa.timestamp("us", "UTC"), pa.timestamp("us")),
        (Primitive("timestamp_ntz"), [86_400_000_000, None], pa.timestamp("us"), pa.timestamp("ns")),
        (Array(LONG, True), [[1, None], [], None], pa.list_(pa.int64()), pa.large_list(pa.int32())),
    ],
)
def test_hash_does_not_depend_on_the_stored_type(kind: DataType, values: list[Any], one: Any, other: Any) -> None:
    scale = 1000 if other == pa.timestamp("ns") else 1
    others = [value if value is None else value * scale for value in values] if scale > 1 else values
    assert of(kind, values, one) == of(kind, others, other)


def test_date_hashes_as_midnight_after_widening_to_timestamp() -> None:
    kind = Primitive("timestamp_ntz")
    assert of(kind, [1, None], pa.date32()) == of(kind, [86_400_000_000, None], pa.timestamp("us"))


@pytest.mark.parametrize(
    ("kind", "stored", "old", "new"),
    [
        ("date", pa.date32(), [-200_000, -199_990, -141_428], [-141_426, 0]),
        ("timestamp", pa.timestamp("us", "UTC"), [-(2**60), -2_208_988_800_000_001], [-2_208_902_399_999_999, 0]),
        ("timestamp_ntz", pa.timestamp("us"), [-(2**60), -12_219_292_800_000_001], [-2_208_988_800_000_001, 0]),
    ],
)
def test_dates_and_times_of_both_calendars_hash_alike(kind: str, stored: pa.DataType, old: Any, new: Any) -> None:
    found = of(Primitive(kind), [*old, *new, None], stored)
    assert len(set(found[: len(old)])) == 1
    assert len(set(found)) == len(new) + 2


def test_zeros_are_equal_and_nans_are_equal() -> None:
    found = of(DOUBLE, [0.0, -0.0, math.nan, -math.nan, 1.0, None], pa.float64())
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert len(set(found)) == 4


def test_missing_column_is_null() -> None:
    schema = Struct((Field("a", LONG, True), Field("b", Struct((Field("c", STRING, True),)), True)))
    lacking = pa.table({"a": pa.array([1, 2])})
    null = pa.array([None, None], pa.struct({"c": pa.string()}))
    assert hashes(schema, lacking) == hashes(schema, pa.table({"b": null, "a": pa.array([1, 2])}))


def test_order_and_names_of_stored_columns_do_not_matter() -> None:
    def field(name: str, physical: str) -> Field:
        return Field(name, LONG, True, {"delta.columnMapping.physicalName": physical})

    table = pa.table({"c1": pa.array([1, 2]), "c2": pa.array([3, 4])})
    before = Struct((field("a", "c1"), field("b", "c2")))
    after = Struct((field("renamed", "c1"), field("b", "c2")))
    assert hashes(before, table, mapping="name") == hashes(after, table.select(["c2", "c1"]), mapping="name")


def test_map_entries_have_no_order() -> None:
    kind, stored = Map(STRING, LONG, True), pa.map_(pa.string(), pa.int64())
    found = of(kind, [[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], [("a", 2), ("b", 1)], [], None], stored)
    assert found[0] == found[1]
    assert len(set(found)) == 4


def test_array_elements_have_an_order() -> None:
    found = of(Array(LONG, True), [[1, 2], [2, 1], [1, 2, None], [], [None], None], pa.list_(pa.int64()))
    assert len(set(found)) == 6


def test_slices_and_values_under_nulls_do_not_matter() -> None:
    kind = Array(Struct((Field("x", LONG, True),)), True)
    stored = pa.list_(pa.struct({"x": pa.int64()}))
    values: list[Any] = [[{"x": 1}], None, [{"x": None}, None], [{"x": 2}, {"x": 3}]]
    whole = of(kind, values, stored)
    schema = Struct((Field("x", kind, True),))
    batch = pa.record_batch({"x": pa.array(values, stored)}).slice(1, 3)
    column = resolve_columns(batch.schema, schema, None)[0]
    assert hash_rows([(column, batch.column(0))], 3).to_list() == whole[1:]
    hidden = pa.StructArray.from_arrays([pa.array([1, 9])], ["x"], mask=pa.array([False, True]))
    struct = Struct((Field("x", LONG, True),))
    assert of(struct, [{"x": 1}, None], pa.struct({"x": pa.int64()})) == hashes(
        Struct((Field("x", struct, True),)), pa.table({"x": hidden})
    )


def build_variants(*pairs: tuple[bytes, bytes]) -> pa.Array:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    return pa.array([{"metadata": metadata, "value": value} for metadata, value in pairs] + [None], kind)


def test_variants_hash_alike_however_they_are_encoded() -> None:
    """{"a": 1} with other widths and dictionaries, as a decimal, and shredded; {"a": 2}; null; and a variant null."""
    schema = Struct((Field("v", Primitive("variant"), True),))
    encoded = build_variants(
        (b"\x11\x01\x00\x01a", bytes([2, 1, 0, 0, 2]) + b"\x0c\x01"),
        (b"\x01\x02\x00\x01\x02ba", bytes([2 | 1 << 6, 1, 0, 0, 0, 1, 0, 3]) + b"\x10\x01\x00"),
        (b"\x11\x01\x00\x01a", bytes([2, 1, 0, 0, 6]) + b"\x20\x01\x0a\x00\x00\x00"),
        (b"\x11\x01\x00\x01a", bytes([2, 1, 0, 0, 2]) + b"\x0c\x02"),
        (b"\x01\x00\x00", b"\x00"),
    )
    pair = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.struct([("a", pair)]))])
    row = {"metadata": b"\x11\x01\x00\x01a", "value": None, "typed_value": {"a": {"value": None, "typed_value": 1}}}
    found = hashes(schema, pa.table({"v": encoded}))
    assert found[0] == found[1] == found[2]
    assert len(set(found)) == 4
    assert hashes(schema, pa.table({"v": pa.array([row], kind)})) == found[:1]


@pytest.mark.parametrize("value", [b"", b"\x05\xff", bytes([21 << 2])])
def test_invalid_variants_are_incomparable(value: bytes) -> None:
    with pytest.raises(Incomparable):
        hashes(
            Struct((Field("v", Primitive("variant"), True),)), pa.table({"v": build_variants((b"\x01\x00\x00", value))})
        )


def test_swapped_values_change_the_hash() -> None:
    schema = Struct((Field("a", LONG, True), Field("b", LONG, True)))
    one = hashes(schema, pa.table({"a": [1, 2], "b": [3, 4]}))
    other = hashes(schema, pa.table({"a": [1, 2], "b": [4, 3]}))
    assert sum(one) % HASH_MODULUS != sum(other) % HASH_MODULUS


def test_partition_values_are_part_of_a_row() -> None:
    schema, table = Struct((Field("a", LONG, True),)), pa.table({"a": [1]})
    assert hashes(schema, table, "[1]") != hashes(schema, table, "[2]")


@pytest.mark.parametrize(
    ("kind", "values", "stored"),
    [
        (LONG, ["x"], pa.string()),
        (STRING, [1], pa.int64()),
        (Array(LONG, True), [1], pa.int64()),
        (Map(LONG, LONG, True), [1], pa.int64()),
        (Struct((Field("x", LONG, True),)), [1], pa.int64()),
        (Decimal(5, 2), [Exact("0.123")], pa.decimal128(5, 3)),
    ],
)
def test_column_of_another_type_is_incomparable(kind: DataType, values: list[Any], stored: pa.DataType) -> None:
    with pytest.raises(Incomparable):
        of(kind, values, stored)


@pytest.mark.parametrize(
    ("kind", "hashed"),
    [
        (LONG, True),
        (Primitive("variant"), True),
        (Primitive("void"), True),
        (UndefinedType("geometry"), False),
        (Array(UndefinedType("geometry"), True), False),
        (Struct((Field("x", Map(STRING, UndefinedType("geometry"), True), True),)), False),
    ],
)
def test_types_without_known_values_are_not_hashed(kind: DataType, hashed: bool) -> None:
    assert is_hashable(kind) is hashed


ROWS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["a", "b", None])), max_size=5)


@example_settings(60)
@given(inserted=ROWS, deleted=ROWS, added=ROWS, removed=ROWS)
def test_hash_sums_agree_exactly_if_rows_do(inserted: Any, deleted: Any, added: Any, removed: Any) -> None:
    schema = Struct((Field("a", LONG, True), Field("b", STRING, True)))

    def total(rows: list[tuple[int, str | None]]) -> int:
        if not rows:
            return 0
        columns = {"a": pa.array([a for a, _ in rows]), "b": pa.array([b for _, b in rows], pa.string())}
        batch = pa.record_batch(columns)
        places = resolve_columns(batch.schema, schema, None)
        return sum_hashes(hash_rows([(each, batch.column(each.place)) for each in places], len(rows)))

    recorded = [(INSERT, row) for row in inserted] + [(DELETE, row) for row in deleted]
    sums = (total(inserted) - total(deleted) - total(added) + total(removed)) % HASH_MODULUS
    assert (sums == 0) is is_consistent_with_files(recorded, added, removed)


@pytest.mark.parametrize(
    ("kind", "equal", "other"),
    [
        ("double", [pa.array([1.5, None]), pa.array([1.5, None], pa.float32())], pa.array([1.5, 0.0])),
        ("double", [pa.array([math.nan]), pa.array([-math.nan])], pa.array([math.inf])),
        ("double", [pa.array([0.0])], pa.array([-0.0])),
        ("timestamp", [pa.array([1_000], pa.timestamp("us", "UTC")), pa.array([1], pa.timestamp("ms", "UTC"))],
         pa.array([1_001], pa.timestamp("us", "UTC"))),
        ("date", [pa.array([-700_000], pa.date32())], pa.array([-700_001], pa.date32())),
        ("string", [pa.array(["é"]), pa.array(["é"], pa.large_string())], pa.array(["e\u0301"])),
        ("decimal(9,2)", [pa.array([Exact("1.5")], pa.decimal128(each, 2)) for each in (9, 5)],
         pa.array([Exact("1.51")], pa.decimal128(9, 2))),
    ],
)  # fmt: skip
def test_result_leaves_are_compared_exactly(kind: str, equal: list[pa.Array], other: pa.Array) -> None:
    data_type = Decimal(9, 2) if kind.startswith("decimal") else Primitive(kind)
    found = [hash_result_leaf(data_type, each).fill_null(0).to_list() for each in equal]
    assert [each for each in found if each != found[0]] == []
    assert hash_result_leaf(data_type, other).to_list() != found[0]
