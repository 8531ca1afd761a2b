"""Encode small variants: scalars of one byte, short strings and objects of those.

Source: Variant Encoding of Parquet. Variant decoders must not import this module, so that tests stay independent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec.model.rows import z85

Scalar = int | str | bool | None


def build_variant_column(values: Sequence[Any]) -> pa.Array:
    """Build an unshredded variant column; None is a null of the column."""
    kind = pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)])
    encoded = [
        None if value is None else dict(zip(("metadata", "value"), encode_variant(value), strict=True))
        for value in values
    ]
    return pa.array(encoded, kind)


def encode_variant_bound(values: Mapping[str, Scalar]) -> str:
    """Encode a bound of a variant column: metadata and value in Z85, padded with zeros."""
    data = b"".join(encode_variant(dict(values)))
    return z85.encode(data + bytes(-len(data) % 4))


def encode_variant(value: Any) -> tuple[bytes, bytes]:
    """Encode metadata and value of a scalar or of nested objects of scalars."""
    names = sorted(_collect_names(value))
    texts = [name.encode() for name in names]
    offsets = [sum(map(len, texts[:index])) for index in range(len(texts) + 1)]
    metadata = bytes([0x11, len(texts), *offsets]) + b"".join(texts)
    return metadata, _encode_value(value, names)


def _collect_names(value: Any) -> set[str]:
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(_collect_names, value.values()))


def _encode_value(value: Any, names: Sequence[str]) -> bytes:
    if isinstance(value, dict):
        ids = sorted(names.index(name) for name in value)
        members = [_encode_value(value[names[number]], names) for number in ids]
        offsets = [sum(map(len, members[:index])) for index in range(len(members) + 1)]
        return bytes([2, len(ids), *ids, *offsets]) + b"".join(members)
    if value is None:
        return b"\x00"
    if isinstance(value, bool):
        return b"\x04" if value else b"\x08"
    if isinstance(value, int):
        return bytes([3 << 2]) + value.to_bytes(1, "little", signed=True)
    text = str(value).encode()
    return bytes([len(text) << 2 | 1]) + text
