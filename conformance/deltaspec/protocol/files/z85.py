"""Z85, the text encoding of deletion vectors. Source: Deletion Vector Descriptor Schema; ZeroMQ RFC 32."""

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_VALUES = {character: value for value, character in enumerate(ALPHABET)}


class Z85Error(ValueError):
    """Text that is not Z85."""


def encode(data: bytes) -> str:
    """Encode each four bytes as five characters.

    Raises:
        Z85Error: The length is not a multiple of four.
    """
    if len(data) % 4:
        raise Z85Error(f"length {len(data)} is not a multiple of 4 bytes")
    text = []
    for start in range(0, len(data), 4):
        number = int.from_bytes(data[start : start + 4], "big")
        text += [ALPHABET[number // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(text)


def decode(text: str) -> bytes:
    """Decode each five characters to four bytes.

    Raises:
        Z85Error: The length is not a multiple of five, a character is not in the alphabet, or a group exceeds 32 bits.
    """
    if len(text) % 5:
        raise Z85Error(f"length {len(text)} is not a multiple of 5 characters")
    data = bytearray()
    for start in range(0, len(text), 5):
        number = 0
        for character in text[start : start + 5]:
            if character not in _VALUES:
                raise Z85Error(f"{character!r} is not in the Z85 alphabet")
            number = number * 85 + _VALUES[character]
        if number >= 2**32:
            raise Z85Error(f"group {text[start : start + 5]!r} exceeds 32 bits")
        data += number.to_bytes(4, "big")
    return bytes(data)
