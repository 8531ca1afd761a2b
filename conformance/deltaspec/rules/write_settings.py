"""Rules over how new data files are written. Source: chapter Table Properties."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.write_settings import write_settings


@rule("PQT050", requires="configuration.codec", view=write_settings)
def codec_differs_from_property() -> pl.Expr:
    """A new data file is compressed by another codec than the table's property names.

    Whoever set the property counts on its size, its speed, or on readers that know nothing else.
    Fix: have the writer heed delta.parquet.compression.codec, or set the property to what is written.

    Conforms::
        requested_codec: zstd, codec_is_default: false, other_codecs: []
        requested_codec: zstd, codec_is_default: true, other_codecs: ["snappy"]
        requested_codec: null, codec_is_default: null, other_codecs: null
    Violates::
        requested_codec: zstd, codec_is_default: false, other_codecs: ["snappy"]
    """
    return (
        (pl.col("other_codecs").list.len() > 0) & ~pl.col("codec_is_default") & pl.col("requested_codec").is_not_null()
    )


@rule("PQT051", requires="configuration.codec-default", view=write_settings)
def codec_differs_from_default() -> pl.Expr:
    """A data file that was added after the codec's property was unset is not compressed by zstd.

    The writers of the table know the property, and its default is part of it.
    Fix: have the writer use the default, or set the property to what is written.

    Conforms::
        requested_codec: zstd, codec_is_default: true, other_codecs: []
        requested_codec: gzip, codec_is_default: false, other_codecs: ["snappy"]
    Violates::
        requested_codec: zstd, codec_is_default: true, other_codecs: ["snappy"]
    """
    return (
        (pl.col("other_codecs").list.len() > 0) & pl.col("codec_is_default") & pl.col("requested_codec").is_not_null()
    )


@rule("PQT052", requires="configuration.page-version", view=write_settings)
def page_version_differs_from_property() -> pl.Expr:
    """A new data file has data pages of another version than the table's property asks for.

    Version 2 saves space, version 1 is read by every reader of Parquet: one of them was wanted.
    Fix: have the writer heed delta.parquet.format.version, or set the property to what is written.

    Conforms::
        requested_page_version: 2, page_version_is_default: false, page_version: 2
        requested_page_version: 2, page_version_is_default: false, page_version: null
        requested_page_version: 1, page_version_is_default: true, page_version: 2
    Violates::
        requested_page_version: 2, page_version_is_default: false, page_version: 1
    """
    return (pl.col("page_version") != pl.col("requested_page_version")) & ~pl.col("page_version_is_default")


@rule("PQT053", requires="configuration.page-version-default", view=write_settings)
def page_version_differs_from_default() -> pl.Expr:
    """A data file that was added after the format's property was unset has data pages of version 2.

    Readers beside those of Delta may know version 1 only, which is why it is the default.
    Fix: have the writer use version 1, or set delta.parquet.format.version to what is written.

    Conforms::
        requested_page_version: 1, page_version_is_default: true, page_version: 1
        requested_page_version: 1, page_version_is_default: false, page_version: 2
    Violates::
        requested_page_version: 1, page_version_is_default: true, page_version: 2
    """
    return (pl.col("page_version") != pl.col("requested_page_version")) & pl.col("page_version_is_default")
