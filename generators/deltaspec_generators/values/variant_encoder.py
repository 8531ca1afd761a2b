"""Encode small variants: scalars of one byte, short strings, and objects and arrays of those; shred them.

Source: Variant Encoding of Parquet. Variant decoders must not import this module, so that tests stay independent.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from deltaspec.protocol.files import z85

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
    """Encode metadata and value of a scalar, or of nested objects and arrays of scalars."""
    names = sorted(collect_names(value))
    return encode_names(names), encode_value(value, names)


def encode_names(names: Sequence[str]) -> bytes:
    """Encode metadata; it is marked as sorted if the names are."""
    texts = [name.encode() for name in names]
    offsets = [sum(map(len, texts[:index])) for index in range(len(texts) + 1)]
    return bytes([0x11 if texts == sorted(texts) else 0x01, len(texts), *offsets]) + b"".join(texts)


def collect_names(value: Any) -> set[str]:
    """Return the names of all fields in a value."""
    if isinstance(value, list):
        return set().union(*map(collect_names, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*map(collect_names, value.values()))


def encode_value(value: Any, names: Sequence[str]) -> bytes:
    """Encode a value with these field names."""
    if isinstance(value, (dict, list)):
        keys = sorted(value, key=str.encode) if isinstance(value, dict) else []
        members = [encode_value(each, names) for each in ([value[key] for key in keys] if keys else value)]
        offsets = [sum(map(len, members[:index])) for index in range(len(members) + 1)]
        ids = [names.index(key) for key in keys]
        return bytes([2 if isinstance(value, dict) else 3, len(members), *ids, *offsets]) + b"".join(members)
    if value is None:
        return b"\x00"
    if isinstance(value, bool):
        return b"\x04" if value else b"\x08"
    if isinstance(value, int):
        return bytes([3 << 2]) + value.to_bytes(1, "little", signed=True)
    text = str(value).encode()
    return bytes([len(text) << 2 | 1]) + text


Shape: TypeAlias = "pa.DataType | dict[str, Shape] | list[Shape] | None"
"""Type of a typed column: a scalar, the fields of an object, a list with the element of an array, or none."""
MISSING: dict[str, Any] = {"value": None, "typed_value": None}


def build_typed_column(shape: Shape) -> pa.DataType:
    """Build the Arrow type of a `typed_value` column."""
    if isinstance(shape, dict):
        return pa.struct([pa.field(name, build_pair_type(each), False) for name, each in shape.items()])
    if isinstance(shape, list):
        return pa.list_(pa.field("element", build_pair_type(shape[0]), False))
    return shape


def build_pair_type(shape: Shape) -> pa.DataType:
    """Build the Arrow type of a value or a part of one."""
    typed = [] if shape is None else [pa.field("typed_value", build_typed_column(shape))]
    return pa.struct([pa.field("value", pa.binary()), *typed])


def build_shredded_type(shape: Shape) -> pa.DataType:
    """Build the Arrow type of a variant column."""
    return pa.struct([pa.field("metadata", pa.binary(), False), *build_pair_type(shape)])


def shred_value(value: Any, shape: Shape, names: Sequence[str]) -> dict[str, Any]:
    """Divide a value into the columns of a shape."""
    if isinstance(shape, dict) and isinstance(value, dict):
        others = {name: each for name, each in value.items() if name not in shape}
        fields = {
            name: shred_value(value[name], each, names) if name in value else MISSING for name, each in shape.items()
        }
        return {"value": encode_value(others, names) if others else None, "typed_value": fields}
    if isinstance(shape, list) and isinstance(value, list):
        return {"value": None, "typed_value": [shred_value(each, shape[0], names) for each in value]}
    if isinstance(shape, pa.DataType) and type(value) in _SCALARS and _SCALARS[type(value)](shape):
        return {"value": None, "typed_value": value}
    return {"value": encode_value(value, names), "typed_value": None}


_SCALARS = {int: pa.types.is_integer, str: pa.types.is_string, bool: pa.types.is_boolean}


def build_shredded_variants(values: Sequence[Any], shape: Shape) -> pa.Array:
    """Build a shredded variant column; None is a null of the column."""
    rows = []
    for value in values:
        names = sorted(collect_names(value))
        parts = {"metadata": encode_names(names), **shred_value(value, shape, names)}
        rows.append(None if value is None else parts)
    return pa.array(rows, build_shredded_type(shape))
