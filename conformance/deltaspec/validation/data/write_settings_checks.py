"""Looks at how newly added data files are written, where table properties ask something of new files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from deltaspec.views.data.write_settings import RequestedSettings, find_newly_added_files, write_settings
from deltaspec.wire.parquet.chunk_format import ChunkFormat, UnknownChunkFormat, read_chunk_format
from deltaspec.wire.parquet.footer_reader import NotParquet
from deltaspec.wire.storage.data_access import is_outside_table
from deltaspec.wire.storage.interface import FileGone, StorageError
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS

if TYPE_CHECKING:
    from deltaspec.validation.data.data_run import DataRun

_AT_ONCE = 4096


def check_write_settings(run: DataRun) -> None:
    """Look at codecs and pages of the files that were added since a property first asked something of them."""
    if not run.findings.has_rules_for(write_settings):
        return
    if not run.state.metadata_known:
        run.findings.mark_undecided((write_settings,), "a metaData action could not be decoded")
        return
    asked = RequestedSettings.from_changes(run.state.rows["configuration"])
    if asked.first_version is None or run.state.metadata is None or run.state.metadata.format.provider != "parquet":
        return
    files = find_newly_added_files(run.files.rows, run.intervals, asked.first_version, run.operations)
    with ThreadPoolExecutor(MAX_CONCURRENT_READS if run.access.store.is_remote else 4) as pool:
        for part in files.iter_slices(_AT_ONCE):
            rows = [row for row in part.iter_rows(named=True) if not is_outside_table(row["path_key"])]
            read = pool.map(lambda row: _read(run, row), rows)
            found = [_row(run, asked, row, forms) for row, forms in zip(rows, read, strict=True)]
            run.findings.evaluate_rows(write_settings, [each for each in found if each is not None])


def _read(run: DataRun, row: dict[str, Any]) -> ChunkFormat | Exception:
    try:
        return read_chunk_format(run.access, row["path_key"], row["actual_size"])
    except (UnknownChunkFormat, NotParquet, StorageError) as fault:
        return fault


def _row(
    run: DataRun, asked: RequestedSettings, row: dict[str, Any], forms: ChunkFormat | Exception
) -> dict[str, Any] | None:
    path = row["path"] if row["path"] is not None else row["path_key"]
    if isinstance(forms, Exception):
        gone_since = isinstance(forms, FileGone) and row["actual_size"] is not None
        if gone_since or not isinstance(forms, NotParquet | FileGone):  # which other rules tell
            run.findings.mark_undecided((write_settings,), str(forms), path)
        return None
    told = asked.at(row["version"], forms.codecs, forms.page_version)
    place = {name: row[name] for name in ("version", "file", "line")}
    return None if told is None else {**place, "path": path, **told}
