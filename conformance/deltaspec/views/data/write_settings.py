"""View over the write settings of newly added data files compared with the table properties."""

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from deltaspec.protocol.features.table_properties import (
    DEFAULT_CODEC,
    DEFAULT_PAGE_VERSION,
    get_requested_codecs,
    parse_page_version,
)
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.property_names import PARQUET_CODEC, PARQUET_FORMAT_VERSION
from deltaspec.views.base import Column, View
from deltaspec.views.files.file_replay import has_shared_path

write_settings = View(
    name="write_settings",
    decided_by=frozenset({"metaData"}),
    grain="live data file newly added by a commit while a table property sets, or has set, its codec or page version",
    key=(),
    level="footers",
    columns={
        "version": Column(pl.Int64, "version of the commit that adds the file"),
        "file": Column(pl.String, "log file of the action, relative to the table root"),
        "line": Column(pl.Int64, "line number, starting at 1"),
        "path": Column(pl.String, "path, as written"),
        "requested_codec": Column(pl.String, "codec requested at that version; null if none is"),
        "codec_is_default": Column(pl.Boolean, "whether requested_codec is the default because the property was unset"),
        "other_codecs": Column(
            pl.List(pl.String),
            "codecs other than the requested one in column chunks with values; null if none is requested",
        ),
        "requested_page_version": Column(pl.Int64, "data page version requested at that version; null if none is"),
        "page_version_is_default": Column(
            pl.Boolean, "whether requested_page_version is the default because the property was unset"
        ),
        "page_version": Column(pl.Int64, "version of the first data page in the file; null if it has none"),
    },
)


class RequestedSettings(msgspec.Struct):
    """Write settings that the table properties requested, along the validated history."""

    _versions: dict[str, list[int]] = msgspec.field(default_factory=dict)
    _values: dict[str, list[str | None]] = msgspec.field(default_factory=dict)

    @classmethod
    def from_changes(cls, changes: list[dict[str, Any]]) -> "RequestedSettings":
        """Build the settings from rows of the view `configuration`, in version order."""
        found = cls()
        for row in changes:
            if row["property"] in (PARQUET_CODEC, PARQUET_FORMAT_VERSION):
                found._versions.setdefault(row["property"], []).append(row["version"])
                found._values.setdefault(row["property"], []).append(row["value"])
        return found

    @property
    def first_version(self) -> int | None:
        """First version that requests a setting; None if there is none."""
        return min((versions[0] for versions in self._versions.values()), default=None)

    def is_set_at(self, version: int) -> bool:
        """Return whether a setting is or was set in a version up to this one."""
        return self.first_version is not None and self.first_version <= version

    def at(self, version: int, codecs: tuple[str, ...], page_version: int | None) -> dict[str, Any] | None:
        """Return the columns of `write_settings` without the location; None if nothing is requested at the version.

        Args:
            version: version that adds the file.
            codecs: codecs of the column chunks with values.
            page_version: version of the first data page.
        """
        row: dict[str, Any] = {}
        codec, is_default = self._in_force(PARQUET_CODEC, version, DEFAULT_CODEC)
        requested = None if codec is None else get_requested_codecs(codec)
        if requested is not None:
            others = [each for each in codecs if each not in requested]
            row |= {"requested_codec": codec, "codec_is_default": is_default, "other_codecs": others}
        text, is_default = self._in_force(PARQUET_FORMAT_VERSION, version, f"{DEFAULT_PAGE_VERSION}.0.0")
        pages = None if text is None else parse_page_version(text)
        if pages is not None:
            row |= {
                "requested_page_version": pages,
                "page_version_is_default": is_default,
                "page_version": page_version,
            }
        return row or None

    def _in_force(self, name: str, version: int, default: str) -> tuple[str | None, bool]:
        """Return the value at a version and whether it is the default; None before the property was first set."""
        count = bisect_right(self._versions.get(name, []), version)
        if count == 0:
            return None, False
        value = self._values[name][count - 1]
        return (default, True) if value is None else (value, False)


def find_newly_added_files(
    live: pl.DataFrame, intervals: pl.DataFrame, since: int, operations: Mapping[int, str | None]
) -> pl.DataFrame:
    """Return the live files that were new to the table when a commit from version `since` on added them.

    A file that is committed again, with a vector or another row id, is as old as its first commit. A file that an
    operation reuses (clone, conversion, restore) is older than its commit.
    """
    reusing_versions = [version for version, operation in operations.items() if reuses_existing_files(operation)]
    repeated_paths = intervals.filter(has_shared_path(intervals))["path_key"].unique()
    is_first_commit = pl.col("default_row_commit_version").is_null() | (
        pl.col("default_row_commit_version") == pl.col("version")
    )
    added = (pl.col("source") == "commit") & (pl.col("version") >= since) & pl.col("deletion_vector_id").is_null()
    added &= ~pl.col("version").is_in(reusing_versions)
    return live.filter(added & is_first_commit & ~pl.col("path_key").is_in(repeated_paths.implode()))
