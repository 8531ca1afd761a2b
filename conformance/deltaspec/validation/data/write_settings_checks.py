"""Check compression codec and page format of new data files, if table properties set them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import polars as pl

from deltaspec.validation.data.row_confirmation import FileReader, evaluate_confirmed_rows
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
    if not data.facts.state.metadata_known:
        return  # the ledger says so
    requested = RequestedSettings.from_changes(data.facts.state.rows["configuration"])
    if (
        requested.first_version is None
        or data.facts.state.metadata is None
        or data.facts.state.metadata.format.provider != "parquet"
    ):
        return
    files = find_newly_added_files(data.files.rows, data.intervals, requested.first_version, data.facts.operations)
    with ThreadPoolExecutor(MAX_CONCURRENT_READS if data.access.store.is_remote else 4) as pool:
        for part in files.iter_slices(_AT_ONCE):
            rows = [row for row in part.iter_rows(named=True) if not is_outside_table(row["path_key"])]
            read = pool.map(lambda row: _read(data, row), rows)
            _evaluate(data, requested, list(zip(rows, read, strict=True)))


def _evaluate(
    data: DataBucket, requested: RequestedSettings, read: list[tuple[dict[str, Any], ChunkFormat | Exception]]
) -> None:
    """Evaluate the rules for files that were read. What cannot be read is in the ledger."""
    owners: list[int] = []
    found: list[dict[str, Any]] = []
    for number, (file, forms) in enumerate(read):
        if isinstance(forms, Exception):
            data.findings.mark_undecided((write_settings,), str(forms), _get_path(file))
        elif (row := _row(requested, file, forms)) is not None:
            owners.append(number)
            found.append(row)

    def open_file(number: int) -> FileReader:
        file = read[number][0]

        def look() -> pl.DataFrame | StorageError:
            try:
                forms = read_chunk_format(data.access, file["path_key"], None)
            except (UnknownChunkFormat, NotParquet, StorageError) as fault:
                return StorageError(f"its column chunks could be read once, but not again: {fault}")
            row = _row(requested, file, forms)
            return write_settings.frame([] if row is None else [row])

        return FileReader(_get_path(file), file["path_key"], look)

    frame, numbers = write_settings.frame(found), pl.Series(owners, dtype=pl.UInt32)
    unread = evaluate_confirmed_rows(data, write_settings, frame, lambda _: numbers, open_file)
    data.findings.mark_files_undecided(unread, views=[write_settings])


def _read(data: DataBucket, row: dict[str, Any]) -> ChunkFormat | Exception:
    if row["actual_size"] is None:
        return data.get_missing_file_error(row["path_key"])
    try:
        return read_chunk_format(data.access, row["path_key"], row["actual_size"])
    except (UnknownChunkFormat, NotParquet, StorageError) as fault:
        return fault


def _row(requested: RequestedSettings, file: dict[str, Any], forms: ChunkFormat) -> dict[str, Any] | None:
    settings = requested.at(file["version"], forms.codecs, forms.page_version)
    place = {name: file[name] for name in ("version", "file", "line")}
    return None if settings is None else {**place, "path": _get_path(file), **settings}


def _get_path(file: dict[str, Any]) -> str:
    path: str | None = file["path"]
    return file["path_key"] if path is None else path
