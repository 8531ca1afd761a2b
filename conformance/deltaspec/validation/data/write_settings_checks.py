"""Check compression codec and page format of new data files, if table properties set them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from deltaspec.views.data.write_settings import RequestedSettings, find_newly_added_files, write_settings
from deltaspec.wire.parquet.chunk_format import ChunkFormat, UnknownChunkFormat, read_chunk_format
from deltaspec.wire.parquet.footer_reader import NotParquet
from deltaspec.wire.storage.data_access import is_outside_table
from deltaspec.wire.storage.interface import StorageError
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket

_AT_ONCE = 4096


def check_write_settings(data: DataBucket) -> None:
    """Check the files that were added after such a property was first set."""
    if not data.findings.has_rules_for(write_settings):
        return
    if not data.state.metadata_known:
        data.findings.mark_undecided((write_settings,), "a metaData action could not be decoded")
        return
    requested = RequestedSettings.from_changes(data.state.rows["configuration"])
    if (
        requested.first_version is None
        or data.state.metadata is None
        or data.state.metadata.format.provider != "parquet"
    ):
        return
    files = find_newly_added_files(data.files.rows, data.intervals, requested.first_version, data.operations)
    with ThreadPoolExecutor(MAX_CONCURRENT_READS if data.access.store.is_remote else 4) as pool:
        for part in files.iter_slices(_AT_ONCE):
            rows = [row for row in part.iter_rows(named=True) if not is_outside_table(row["path_key"])]
            read = pool.map(lambda row: _read(data, row), rows)
            found = [_row(data, requested, row, forms) for row, forms in zip(rows, read, strict=True)]
            data.findings.evaluate_rows(write_settings, [each for each in found if each is not None])


def _read(data: DataBucket, row: dict[str, Any]) -> ChunkFormat | Exception:
    if row["actual_size"] is None:
        return data.get_missing_file_error(row["path_key"])
    try:
        return read_chunk_format(data.access, row["path_key"], row["actual_size"])
    except (UnknownChunkFormat, NotParquet, StorageError) as fault:
        return fault


def _row(
    data: DataBucket, requested: RequestedSettings, row: dict[str, Any], forms: ChunkFormat | Exception
) -> dict[str, Any] | None:
    path = row["path"] if row["path"] is not None else row["path_key"]
    if isinstance(forms, Exception):
        data.findings.mark_undecided((write_settings,), str(forms), path)
        return None
    settings = requested.at(row["version"], forms.codecs, forms.page_version)
    place = {name: row[name] for name in ("version", "file", "line")}
    return None if settings is None else {**place, "path": path, **settings}
