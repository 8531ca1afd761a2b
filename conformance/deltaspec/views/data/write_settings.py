"""The view over how newly added data files are written, beside what table properties ask of new files."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from deltaspec.model.commit.operations import reuses_existing_files
from deltaspec.model.features.table_properties import (
    DEFAULT_CODEC,
    DEFAULT_PAGE_VERSION,
    PARQUET_CODEC,
    PARQUET_FORMAT_VERSION,
    requested_codecs,
    requested_page_version,
)
from deltaspec.views.base import Column, View
from deltaspec.views.files.file_replay import has_shared_path

write_settings = View(
    name="write_settings",
    grain="live data file that a commit newly adds where a table property asks, or asked before, how it is written",
    key=(),
    level="footers",
    columns={
        "version": Column(pl.Int64, "version of the commit that adds it"),
        "file": Column(pl.String, "log file the action stands in"),
        "line": Column(pl.Int64, "line, counted from 1"),
        "path": Column(pl.String, "path as written"),
        "requested_codec": Column(pl.String, "codec that is asked at that version; null where none is"),
        "codec_is_default": Column(pl.Boolean, "it is the text's default: the property was set before, and is no more"),
        "other_codecs": Column(
            pl.List(pl.String), "codecs of column chunks that hold values, but for the asked one; null if none is asked"
        ),
        "requested_page_version": Column(pl.Int64, "version of data pages that is asked; null where none is"),
        "page_version_is_default": Column(pl.Boolean, "as of the codec"),
        "page_version": Column(pl.Int64, "version of the file's first data page; null where it has none"),
    },
)


@dataclass
class RequestedSettings:
    """What the properties asked of new files, along the judged history."""

    _versions: dict[str, list[int]] = field(default_factory=dict)
    _values: dict[str, list[str | None]] = field(default_factory=dict)

    @classmethod
    def along(cls, changes: list[dict[str, Any]]) -> "RequestedSettings":
        """From the rows of the view `configuration`, in the order of versions."""
        found = cls()
        for row in changes:
            if row["property"] in (PARQUET_CODEC, PARQUET_FORMAT_VERSION):
                found._versions.setdefault(row["property"], []).append(row["version"])
                found._values.setdefault(row["property"], []).append(row["value"])
        return found

    @property
    def first_version(self) -> int | None:
        """The first version that asks something; None if none does."""
        return min((versions[0] for versions in self._versions.values()), default=None)

    def at(self, version: int, codecs: tuple[str, ...], page_version: int | None) -> dict[str, Any] | None:
        """The columns of `write_settings` but for the place; None if nothing is asked at a version.

        Args:
            version: that adds the file.
            codecs: of its column chunks that hold values.
            page_version: of its first data page.
        """
        row: dict[str, Any] = {}
        codec, is_default = self._in_force(PARQUET_CODEC, version, DEFAULT_CODEC)
        wanted = None if codec is None else requested_codecs(codec)
        if wanted is not None:
            others = [each for each in codecs if each not in wanted]
            row |= {"requested_codec": codec, "codec_is_default": is_default, "other_codecs": others}
        text, is_default = self._in_force(PARQUET_FORMAT_VERSION, version, f"{DEFAULT_PAGE_VERSION}.0.0")
        pages = None if text is None else requested_page_version(text)
        if pages is not None:
            row |= {
                "requested_page_version": pages,
                "page_version_is_default": is_default,
                "page_version": page_version,
            }
        return row or None

    def _in_force(self, name: str, version: int, default: str) -> tuple[str | None, bool]:
        """What is asked at a version, and whether by default; None before the first that sets the property."""
        place = bisect_right(self._versions.get(name, []), version)
        if place == 0:
            return None, False
        value = self._values[name][place - 1]
        return (default, True) if value is None else (value, False)


def find_newly_added_files(
    live: pl.DataFrame, intervals: pl.DataFrame, since: int, operations: Mapping[int, str | None]
) -> pl.DataFrame:
    """The live files that commits from a version on add, and that were not in the table before.

    A file that is committed again, with a vector or another row id, is as old as its first commit; one that an
    operation takes over from another state or table (a clone, a conversion, a restore) is older than its commit.
    """
    older = [version for version, operation in operations.items() if reuses_existing_files(operation)]
    again = intervals.filter(has_shared_path(intervals))["path_key"].unique()
    young = pl.col("default_row_commit_version").is_null() | (pl.col("default_row_commit_version") == pl.col("version"))
    added = (pl.col("source") == "commit") & (pl.col("version") >= since) & pl.col("deletion_vector_id").is_null()
    added &= ~pl.col("version").is_in(older)
    return live.filter(added & young & ~pl.col("path_key").is_in(again.implode()))
