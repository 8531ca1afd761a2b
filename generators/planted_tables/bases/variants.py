"""Tables with variant columns, and encoded variants as bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec.protocol.property_names import VARIANT_SHREDDING
from deltaspec_generators import small_tables
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from deltaspec_generators.values.variant_encoder import build_variant_column
from planted_tables.bases import log_only
from planted_tables.bases.actions import CHANGE_FEED_ENABLED, CHANGE_FILE_PATH, add_change_file, build_change_rows

SHREDDING = ("variantType", "variantShredding")
ENABLED = {VARIANT_SHREDDING: "true"}
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
    files = small_tables.build_table_with_data(
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


PLACES = ("column", "struct", "array", "map")


def place_variants(variants: pa.Array, place: str) -> tuple[Any, pa.Array]:
    """Return the Delta type and the array of a column with variants in a `column`, `struct`, `array` or `map`."""
    offsets = pa.array(range(len(variants) + 1), pa.int32())
    match place:
        case "struct":
            field = {"name": "v", "type": "variant", "nullable": True, "metadata": {}}
            return {"type": "struct", "fields": [field]}, pa.StructArray.from_arrays([variants], ["v"])
        case "array":
            kind = {"type": "array", "elementType": "variant", "containsNull": True}
            return kind, pa.ListArray.from_arrays(offsets, variants)
        case "map":
            keys = pa.array(["key"] * len(variants))
            kind = {"type": "map", "keyType": "string", "valueType": "variant", "valueContainsNull": True}
            return kind, pa.MapArray.from_arrays(offsets, keys, variants)
    return "variant", variants


def build_table_with_changed_variant(place: str, *, before: pa.Array, after: pa.Array, changes: pa.Array) -> TableFiles:
    """Build a table whose last commit replaces a file of one row, with an update preimage and postimage.

    Args:
        place: one of `PLACES`.
        before: the variant in the removed file.
        after: the variant in the added file.
        changes: the two variants of the change data.
    """
    kind, rows = place_variants(before, place)
    protocol = protocol_action(3, 7, list(SHREDDING), [*SHREDDING, "changeDataFeed"])
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0),
        protocol,
        metadata_action([("v", kind)], configuration={**ENABLED, **CHANGE_FEED_ENABLED}),
    ]
    stats = '{"numRecords":1}'
    add = small_tables.add_data_file(files, "a.parquet", pa.table({"v": rows}), stats=stats)
    files.commits[1] = [commit_info_action(1), add]
    new = small_tables.add_data_file(files, "b.parquet", pa.table({"v": place_variants(after, place)[1]}), stats=stats)
    images = pa.table({"v": place_variants(changes, place)[1]})
    kinds: list[str | None] = ["update_preimage", "update_postimage"]
    change = add_change_file(files, CHANGE_FILE_PATH, build_change_rows(images, kinds))
    files.commits[2] = [commit_info_action(2, operation="UPDATE"), new, remove_action(add), change]
    return files
