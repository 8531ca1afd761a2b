"""Repeated keys in statistics and version checksums. Texts with the same keys in the same order are parsed once."""

import re

import polars as pl

from deltaspec.protocol.json_values import escape_lone_surrogates, find_repeated_key
from deltaspec.protocol.log.version_checksum import VersionChecksum
from deltaspec.protocol.schema.schema_string import find_repeated_schema_key

_VALUE = r':\s*(?:"[^"\\]*"|[-+.0-9a-zA-Z]+)'
"""A value that is a string without escapes, a number or a word."""
_ANY_VALUE = ":0"
"""Replaces values, so that texts with the same keys become equal. The result is JSON if the text is."""
_IS_UNUSUAL = r'\\|"[^"]*:[^"]*"\s*:'
"""An escape, or a key with a colon, where `_VALUE` might match a part of a key."""
_MOST_SAMPLES = 4
_FEWEST_SIMILAR = 1_000
FEW_TEXTS = 20
"""Fewer texts are parsed faster than the expressions are compiled."""
_LONG_SAMPLE = 2_000
"""Length of a text whose expression would be too large."""


def find_repeated_keys(texts: pl.Series) -> dict[int, str]:
    """Return the JSON pointer of the first repeated key of each string that has one, by row.

    Args:
        texts: JSON strings; null without one. Strings that are not JSON have no repeated keys.
    """
    if len(texts) < FEW_TEXTS:
        pointers = {row: find_repeated_key(text) for row, text in enumerate(texts) if text is not None}
        return {row: escape_lone_surrogates(pointer) for row, pointer in pointers.items() if pointer is not None}
    rows = _leave_out_similar(texts.to_frame("text").with_row_index("row").drop_nulls())
    text = pl.col("text")
    is_unusual = text.str.contains(_IS_UNUSUAL)
    rows = rows.with_columns(shape=pl.when(is_unusual).then(text).otherwise(text.str.replace_all(_VALUE, _ANY_VALUE)))
    shapes = [each for each in rows["shape"].unique() if find_repeated_key(each) is not None]
    repeating = rows.filter(pl.col("shape").is_in(shapes)).select("row", "text")
    found = ((row, find_repeated_key(text)) for row, text in repeating.iter_rows())  # the text itself may not be JSON
    return {row: escape_lone_surrogates(pointer) for row, pointer in found if pointer is not None}


def _leave_out_similar(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out the texts that have the keys of a first text without repeated keys: they differ only in values.

    One expression for the complete text takes a quarter of the time of replacing its values.
    """
    for _ in range(_MOST_SAMPLES):
        if len(rows) < _FEWEST_SIMILAR:
            break
        sample = rows["text"][0]
        if len(sample) > _LONG_SAMPLE or re.search(_IS_UNUSUAL, sample):
            break
        if find_repeated_key(re.sub(_VALUE, _ANY_VALUE, sample)) is not None:
            break
        parts = map(re.escape, re.split(_VALUE, sample))
        rows = rows.filter(~pl.col("text").str.contains(f"^{_VALUE.join(parts)}$"))
    return rows


def find_repeated_checksum_key(data: bytes, checksum: object) -> str | None:
    """Return the JSON pointer of the first repeated key of a version checksum, also in JSON that its strings contain.

    Args:
        data: content of the file.
        checksum: what it decodes to; strings are searched only in a `VersionChecksum`.
    """
    found = find_repeated_key(data)
    if found is not None or not isinstance(checksum, VersionChecksum):
        return found
    in_schema = find_repeated_schema_key(checksum.metadata.schema_string)
    if in_schema is not None:
        return f"/metadata/schemaString{in_schema}"
    stats = pl.Series([add.stats for add in checksum.all_files or ()], dtype=pl.String)
    configurations = pl.Series([each.configuration for each in checksum.domain_metadata or ()], dtype=pl.String)
    for member, name, texts in (("allFiles", "stats", stats), ("domainMetadata", "configuration", configurations)):
        in_texts = find_repeated_keys(texts)
        if in_texts:
            row = min(in_texts)
            return f"/{member}/{row}/{name}{in_texts[row]}"
    return None
