"""Vector V24: bounds of variant columns. The protocol prints value before metadata and lengths that are not Z85."""

import pytest

from deltaspec.protocol.files import z85

METADATA = b"\x01\x02\x00\x06\x11$['a']$['b']['c']"


@pytest.mark.parametrize(
    ("text", "length", "value"),
    [
        (
            "0rJl95HpNdvjbtatpi(cu0wW^cTu=P0096c4jMddzy]{KA+PA73&{td",
            42,
            b"\x02\x02\x00\x01\x00\x0b\r)min-string\x0c\x01",
        ),
        ("0rJl95HpNdvjbtatpi(cu0wW^cTu=P009693lsp#A+O%1BpqWW", 39, b"\x02\x02\x00\x01\x00\x08\n\x1dvariant\x0cd"),
    ],
)
def test_corrected_bound_is_metadata_then_value_padded_with_zeros(text: str, length: int, value: bytes) -> None:
    data = z85.decode(text)
    assert data[:length] == METADATA + value
    assert not any(data[length:])
    assert z85.encode(data) == text


@pytest.mark.parametrize("printed_length", [53, 49])
def test_length_of_printed_bounds_is_not_z85(printed_length: int) -> None:
    with pytest.raises(z85.Z85Error):
        z85.decode("0" * printed_length)
