"""Tables with variant columns, and encoded variants as bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.bases import data_files, log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.bases.variant_encoder import build_variant_column
from deltaspec_generators.table_files import TableFiles, protocol_action

SHREDDING = ("variantType", "variantShredding")
ENABLED = {"delta.enableVariantShredding": "true"}
NO_NAMES = b"\x01\x00\x00"
NAMES = b"\x11\x02\x00\x01\x02ab"
"""Metadata with the names a and b."""
NUMBER, TEXT = b"\x0c\x05", b"\x0dabc"
OBJECT = bytes([2, 2, 0, 1, 0, 2, 6]) + NUMBER + TEXT
"""{"a": 5, "b": "abc"}"""
METADATA, VALUE = pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary())
OBJECT_OF_B = bytes([2, 1, 1, 0, 4]) + TEXT
"""{"b": "abc"}"""
EMPTY_OBJECT = bytes([2, 0, 0])
_PAIR = pa.struct([VALUE, ("typed_value", pa.int64())])
SHREDDED = pa.struct([METADATA, VALUE, ("typed_value", pa.struct([pa.field("a", _PAIR, False)]))])
"""Arrow type of a variant whose field `a` is shredded."""


def build_variant_field(**metadata: Any) -> dict[str, Any]:
    """Build a field of type variant."""
    return {"name": "v", "type": "variant", "nullable": True, "metadata": metadata}


def build_variant_table(fields: Sequence[Any], writer: Sequence[str] = (), **more: Any) -> TableFiles:
    return log_only.build_table_with_features("variantType", writer=writer, fields=fields, **more)


def build_table_with_variants(
    values: pa.Array,
    *,
    features: Sequence[str] = SHREDDING,
    configuration: Mapping[str, str] | None = None,
) -> TableFiles:
    """Build a table of one variant column whose last file contains these values."""
    rows = pa.table({"v": values})
    empty = pa.table({"v": build_variant_column([])})
    protocol = protocol_action(3, 7, list(features), list(features))
    files = data_files.build_table_with_data(
        fields=[build_variant_field()], tables=(empty, empty, rows), protocol=protocol, configuration=configuration
    )
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":0}'
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": len(values)})
    return files


def build_unshredded_column(*pairs: tuple[bytes | None, bytes | None]) -> pa.Array:
    """Build an unshredded column from pairs of metadata and value."""
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    return pa.array([{"metadata": metadata, "value": value} for metadata, value in pairs], kind)


def build_shredded_column(*rows: tuple[bytes | None, dict[str, Any] | None]) -> pa.Array:
    """Build a column of type `SHREDDED`: the value, and `value` and `typed_value` of the field `a`."""
    return pa.array(
        [
            {"metadata": NAMES, "value": value, "typed_value": None if fields is None else {"a": {**EMPTY, **fields}}}
            for value, fields in rows
        ],
        SHREDDED,
    )


def build_shredded_arrays(*rows: tuple[bytes | None, Sequence[Mapping[str, Any]] | None]) -> pa.Array:
    """Build a column of variants shredded as arrays: the value, and `value` and `typed_value` of each element."""
    kind = pa.struct([METADATA, VALUE, ("typed_value", pa.list_(pa.field("element", _PAIR, False)))])
    return pa.array(
        [
            {
                "metadata": NO_NAMES,
                "value": value,
                "typed_value": None if elements is None else [{**EMPTY, **each} for each in elements],
            }
            for value, elements in rows
        ],
        kind,
    )


EMPTY = {"value": None, "typed_value": None}
