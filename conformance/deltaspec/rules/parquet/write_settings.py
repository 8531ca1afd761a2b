"""Rules over how new data files are written. Source: chapter Table Properties."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.data.write_settings import write_settings


@rule("PQT050", requires="configuration.codec", view=write_settings)
def codec_differs_from_property() -> pl.Expr:
    """A new data file uses another compression codec than the table property.

    The table's owner chose the codec for its size or speed, or for readers that support no other.
    Fix (none): No repair is needed if your readers support the codec. Use a writer that honors
    delta.parquet.compression.codec, or change the property.

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
    """A file that was added after the codec property was unset is not compressed with zstd.

    Writers of this table know the property, and zstd is its default.
    Fix (none): No repair is needed if your readers support the codec. Use a writer that applies the default, or set
    delta.parquet.compression.codec.

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
    """A new data file uses another version of data pages than the table property.

    Version 2 saves space, and version 1 is supported by all Parquet readers. The table's owner chose one of them.
    Fix (none): No repair is needed if your readers support the version. Use a writer that honors
    delta.parquet.format.version, or change the property.

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
    """A file that was added after the format property was unset uses data pages of version 2.

    Other Parquet readers may support only version 1, which is the default.
    Fix (none): No repair is needed if your readers support version 2. Use a writer that applies the default, or set
    delta.parquet.format.version.

    Conforms::
        requested_page_version: 1, page_version_is_default: true, page_version: 1
        requested_page_version: 1, page_version_is_default: false, page_version: 2
    Violates::
        requested_page_version: 1, page_version_is_default: true, page_version: 2
    """
    return (pl.col("page_version") != pl.col("requested_page_version")) & pl.col("page_version_is_default")
