"""Columns of `deletion_vectors` that the log provides: descriptors and decoded inline vectors."""

from typing import Any

import polars as pl

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.model.log import paths
from deltaspec.model.rows.deletion_vectors import DeletionVectorError, build_relative_path
from deltaspec.wire.data.bitmap_decoder import decode_bitmap, decode_inline_text, decode_inline_texts

_INLINE = "i"
_SHOWN_CHARACTERS = 200


def vector_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `deletion_vectors` at level `log` to rows of `build_file_facts` that have a descriptor."""
    descriptors = rows.select("dv_storage_type", "dv_path_or_inline", "dv_offset", "dv_size_in_bytes", "dv_cardinality")
    inline = descriptors.filter(pl.col("dv_storage_type") == _INLINE)["dv_path_or_inline"]
    decoded_texts = decode_inline_texts(text or "" for text in inline.to_list())
    facts = [_facts(row, next(decoded_texts) if row[0] == _INLINE else None) for row in descriptors.iter_rows()]
    columns = {
        "path_fault": pl.String,
        "decode_fault": pl.String,
        "decoded_size": pl.Int64,
        "padding_is_zero": pl.Boolean,
        "decoded_cardinality": pl.Int64,
        "decoded_last_row": pl.Int64,
    }
    decoded = pl.DataFrame({name: [fact.get(name) for fact in facts] for name in columns}, schema=columns)
    return rows.with_columns(
        storage_type=pl.col("dv_storage_type"),
        path_or_inline=pl.col("dv_path_or_inline").str.head(_SHOWN_CHARACTERS),
        offset=pl.col("dv_offset"),
        size_in_bytes=pl.col("dv_size_in_bytes"),
        **{name: decoded[name] for name in columns},
    )


def _facts(row: tuple[Any, ...], padded: bytes | None) -> dict[str, Any]:
    storage_type, text, offset, size, cardinality = row
    if text is None or size is None or cardinality is None:
        return {}
    descriptor = DeletionVectorDescriptor(
        storage_type=storage_type, path_or_inline_dv=text, offset=offset, size_in_bytes=size, cardinality=cardinality
    )
    match storage_type:
        case "u":
            try:
                build_relative_path(descriptor)
            except DeletionVectorError as fault:
                return {"path_fault": str(fault)}
        case "p":
            if not paths.is_absolute(text):
                return {"path_fault": f"expected an absolute path, found {text[:_SHOWN_CHARACTERS]}"}
            return {"path_fault": paths.find_path_fault(text)}
        case "i":
            return _inline_facts(descriptor, padded)
    return {}


def _inline_facts(descriptor: DeletionVectorDescriptor, padded: bytes | None) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    try:
        if padded is None:
            padded = decode_inline_text(descriptor.path_or_inline_dv)
        facts["decoded_size"] = len(padded)
        facts["padding_is_zero"] = not any(padded[max(descriptor.size_in_bytes, 0) :])
        rows = decode_bitmap(padded[: max(descriptor.size_in_bytes, 0)])
    except DeletionVectorError as fault:
        return {**facts, "decode_fault": str(fault)}
    facts["decoded_cardinality"] = len(rows)
    if len(rows):
        facts["decoded_last_row"] = rows.max()
    return facts
