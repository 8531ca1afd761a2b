"""Columns of `deletion_vectors` that the log provides: descriptors and decoded inline vectors."""

from typing import NamedTuple

import polars as pl

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files import paths
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError, build_relative_path
from deltaspec.wire.data.bitmap_decoder import decode_bitmap, decode_inline_text, decode_inline_texts
from deltaspec.wire.data.small_bitmaps import summarize_small_vectors

_INLINE = "i"
_SHOWN_CHARACTERS = 200
_TYPES = {
    "path_fault": pl.String,
    "decode_fault": pl.String,
    "decoded_size": pl.Int64,
    "padding_is_zero": pl.Boolean,
    "decoded_cardinality": pl.Int64,
    "decoded_last_row": pl.Int64,
}
"""Type of each field of `_Facts`."""


class _Facts(NamedTuple):
    """Facts of a descriptor without its file: columns of `deletion_vectors`."""

    path_fault: str | None = None
    decode_fault: str | None = None
    decoded_size: int | None = None
    padding_is_zero: bool | None = None
    decoded_cardinality: int | None = None
    decoded_last_row: int | None = None


def vector_facts(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `deletion_vectors` at level `log` to rows of `build_file_facts` that have a descriptor."""
    descriptors = rows.select("dv_storage_type", "dv_path_or_inline", "dv_offset", "dv_size_in_bytes", "dv_cardinality")
    is_inline = (descriptors["dv_storage_type"] == _INLINE) & descriptors["dv_cardinality"].is_not_null()
    texts = descriptors.select(pl.when(is_inline).then("dv_path_or_inline")).to_series()
    small = summarize_small_vectors(texts, descriptors["dv_size_in_bytes"])
    others = descriptors.with_row_index("row").join(small, on="row", how="anti", maintain_order="left")
    found = pl.concat([small, _decode_one_by_one(others)], how="diagonal").sort("row")
    return rows.with_columns(
        storage_type=pl.col("dv_storage_type"),
        path_or_inline=pl.col("dv_path_or_inline").str.head(_SHOWN_CHARACTERS),
        offset=pl.col("dv_offset"),
        size_in_bytes=pl.col("dv_size_in_bytes"),
        **{name: found[name] for name in _TYPES},
    )


def _decode_one_by_one(descriptors: pl.DataFrame) -> pl.DataFrame:
    inline = descriptors.filter(pl.col("dv_storage_type") == _INLINE)["dv_path_or_inline"]
    decoded_texts = decode_inline_texts(text or "" for text in inline.to_list())
    facts = [
        _find_facts(kind, text, offset, size, cardinality, next(decoded_texts) if kind == _INLINE else None)
        for kind, text, offset, size, cardinality in descriptors.drop("row").iter_rows()
    ]
    return pl.DataFrame(facts, _TYPES, orient="row").insert_column(0, descriptors["row"])


def _find_facts(
    storage_type: str,
    text: str | None,
    offset: int | None,
    size: int | None,
    cardinality: int | None,
    padded: bytes | None,
) -> _Facts:
    """Return the facts of a descriptor; `padded` are the decoded bytes of an inline vector, if they are known."""
    if text is None or size is None or cardinality is None:
        return _Facts()
    match storage_type:
        case "i":
            return _find_inline_facts(text, max(size, 0), padded)
        case "u":
            descriptor = DeletionVectorDescriptor(
                storage_type=storage_type,
                path_or_inline_dv=text,
                offset=offset,
                size_in_bytes=size,
                cardinality=cardinality,
            )
            try:
                build_relative_path(descriptor)
            except DeletionVectorError as fault:
                return _Facts(str(fault))
        case "p":
            if not paths.is_absolute(text):
                return _Facts(f"expected an absolute path, found {text[:_SHOWN_CHARACTERS]}")
            return _Facts(paths.find_path_fault(text))
    return _Facts()


def _find_inline_facts(text: str, size: int, padded: bytes | None) -> _Facts:
    padding_is_zero = None
    try:
        if padded is None:
            padded = decode_inline_text(text)
        padding_is_zero = not any(padded[size:])
        rows = decode_bitmap(padded[:size])
    except DeletionVectorError as fault:
        return _Facts(None, str(fault), None if padded is None else len(padded), padding_is_zero)
    return _Facts(None, None, len(padded), padding_is_zero, len(rows), rows.max() if rows else None)
