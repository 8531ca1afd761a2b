"""The Thrift reader: values are read or skipped alike, and every bound holds on hostile bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.wire.parquet import thrift
from deltaspec.wire.parquet.thrift import ThriftError, ThriftReader


def encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def encode_integer(value: int) -> bytes:
    return encode_varint((value << 1) ^ (value >> 63))


INTEGERS = st.integers(-(2**63), 2**63 - 1)
_SCALARS = st.one_of(
    st.tuples(st.sampled_from([thrift.I16, thrift.I32, thrift.I64]), INTEGERS.map(encode_integer)),
    st.tuples(st.just(thrift.BYTE), st.binary(min_size=1, max_size=1)),
    st.tuples(st.just(thrift.DOUBLE), st.binary(min_size=8, max_size=8)),
    st.tuples(st.just(thrift.BINARY), st.binary(max_size=200).map(lambda data: encode_varint(len(data)) + data)),
)


def encode_list(items: list[tuple[int, bytes]]) -> bytes:
    """Items of the type of the first."""
    item_type = items[0][0] if items else thrift.I32
    values = [value for kind, value in items if kind == item_type]
    header = bytes([len(values) << 4 | item_type]) if len(values) < 15 else bytes([0xF0 | item_type])
    return header + (encode_varint(len(values)) if len(values) >= 15 else b"") + b"".join(values)


def encode_struct(fields: list[tuple[int, bytes]]) -> bytes:
    return b"".join(bytes([0x10 | kind]) + value for kind, value in fields) + b"\x00"


def encode_map(entries: list[bytes]) -> bytes:
    types = bytes([thrift.BYTE << 4 | thrift.BINARY]) if entries else b""
    values = b"".join(b"\x07" + encode_varint(len(entry)) + entry for entry in entries)
    return encode_varint(len(entries)) + types + values


VALUES = st.recursive(
    _SCALARS | st.tuples(st.sampled_from([thrift.TRUE, thrift.FALSE]), st.just(b"")),
    lambda values: st.one_of(
        st.tuples(st.just(thrift.STRUCT), st.lists(values, max_size=20).map(encode_struct)),
        st.tuples(st.sampled_from([thrift.LIST, thrift.SET]), st.lists(_SCALARS, max_size=20).map(encode_list)),
        st.tuples(st.just(thrift.MAP), st.lists(st.binary(max_size=5), max_size=4).map(encode_map)),
    ),
    max_leaves=20,
)


@given(VALUES, st.binary(max_size=5))
def test_skip_stops_at_the_end_of_the_value(value: tuple[int, bytes], rest: bytes) -> None:
    kind, encoded = value
    reader = ThriftReader(encoded + rest)
    reader.skip(kind)
    assert reader.position == len(encoded)


@given(st.lists(VALUES, max_size=8), st.data())
def test_truncated_struct_is_refused(fields: list[tuple[int, bytes]], data: st.DataObject) -> None:
    encoded = encode_struct(fields)
    cut = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(ThriftError):
        ThriftReader(encoded[:cut]).skip(thrift.STRUCT)


@given(INTEGERS)
def test_integer_round_trips(value: int) -> None:
    assert ThriftReader(encode_integer(value)).read_integer() == value


def test_field_numbers_are_deltas_or_explicit() -> None:
    data = bytes([0x11, 0x01]) + encode_integer(300) + bytes([0x21, 0x00])
    assert [number for number, _ in ThriftReader(data).iter_fields()] == [1, 300, 302]


@given(st.binary(max_size=200), st.integers(0, 15))
def test_any_bytes_are_skipped_or_refused(data: bytes, kind: int) -> None:
    reader = ThriftReader(data)
    try:
        reader.skip(kind)
    except ThriftError:
        return
    assert reader.position <= len(data)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        pytest.param(thrift.STRUCT, b"\x1c" * 5000, id="struct"),
        pytest.param(thrift.LIST, b"\x19" * 5000, id="list"),
        pytest.param(thrift.MAP, b"\x01\xbb" * 5000, id="map"),
    ],
)
def test_deep_nesting_is_refused(kind: int, data: bytes) -> None:
    with pytest.raises(ThriftError, match="nested too deeply"):
        ThriftReader(data).skip(kind)


@pytest.mark.parametrize("kind", [thrift.BINARY, thrift.MAP])
def test_stated_length_beyond_the_bytes_is_refused(kind: int) -> None:
    with pytest.raises(ThriftError, match="extends past its end"):
        ThriftReader(encode_varint(2**62) + b"xyz").skip(kind)


def test_stated_list_length_beyond_the_bytes_is_refused() -> None:
    data = bytes([0xF0 | thrift.STRUCT]) + encode_varint(2**62) + b"\x00"
    with pytest.raises(ThriftError, match="extends past its end"):
        ThriftReader(data).skip(thrift.LIST)
    with pytest.raises(ThriftError, match="extends past its end"):
        ThriftReader(data).read_list_length(thrift.STRUCT)


def test_booleans_of_a_map_take_a_byte_each() -> None:
    types = bytes([thrift.TRUE << 4 | thrift.TRUE])
    reader = ThriftReader(b"\x02" + types + b"\x01\x02\x01\x02" + b"\x07")
    reader.skip(thrift.MAP)
    assert reader.position == 6
    with pytest.raises(ThriftError, match="ends too early"):
        ThriftReader(encode_varint(100) + types + b"\x01" * 100).skip(thrift.MAP)


def test_number_of_more_than_ten_bytes_is_refused() -> None:
    data = b"\x80" * 10 + b"\x00"
    with pytest.raises(ThriftError, match="more than 64 bits"):
        ThriftReader(data).read_integer()
    with pytest.raises(ThriftError, match="more than 64 bits"):
        ThriftReader(data).skip(thrift.I64)


def test_list_of_another_type_is_refused() -> None:
    with pytest.raises(ThriftError, match="wrong type"):
        ThriftReader(bytes([0x10 | thrift.I32, 0])).read_list_length(thrift.STRUCT)
