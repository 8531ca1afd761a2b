"""Z85 text. Source: Deletion Vector Descriptor Schema; ZeroMQ RFC 32."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.files.z85 import Z85Error, decode, encode


def test_vector_of_the_rfc() -> None:
    assert encode(bytes.fromhex("864FD26FB559F75B")) == "HelloWorld"
    assert decode("HelloWorld") == bytes.fromhex("864FD26FB559F75B")


def test_limits_of_the_range() -> None:
    assert encode(bytes(4)) == "00000"
    assert encode(b"\xff\xff\xff\xff") == "%nSc0"
    assert encode(b"") == ""
    assert decode("") == b""


@given(st.lists(st.binary(min_size=4, max_size=4), max_size=12).map(b"".join))
def test_decoding_inverts_encoding(data: bytes) -> None:
    text = encode(data)
    assert decode(text) == data
    assert len(text) == len(data) // 4 * 5


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_incomplete_groups_are_refused(size: int) -> None:
    with pytest.raises(Z85Error, match=f"^length {size} is not a multiple of 4 bytes$"):
        encode(bytes(size))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0000", "length 4 is not a multiple of 5 characters"),
        ("0000 ", "' ' is not in the Z85 alphabet"),
        ("0000\n", r"'\\n' is not in the Z85 alphabet"),
        ("0000é", "'é' is not in the Z85 alphabet"),
        ("0000~", "'~' is not in the Z85 alphabet"),
        ("%nSc1", "group '%nSc1' exceeds 32 bits"),
        ("#####", "group '#####' exceeds 32 bits"),
    ],
)
def test_text_that_is_not_z85_is_refused(text: str, words: str) -> None:
    with pytest.raises(Z85Error, match=f"^{words}$"):
        decode(text)


@given(st.text(max_size=20))
def test_any_text_round_trips_or_is_refused(text: str) -> None:
    try:
        data = decode(text)
    except Z85Error:
        return
    assert encode(data) == text
