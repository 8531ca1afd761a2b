"""Looks at how newly added data files are written, where table properties ask something of new files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from deltaspec.views.file_forms import AskedForms, file_forms, newly_added
from deltaspec.wire.chunk_forms import ChunkForms, FormsNotRead, read_forms
from deltaspec.wire.data_access import leads_out
from deltaspec.wire.footers import NoParquet
from deltaspec.wire.storage import READS_AT_ONCE, FileGone, StorageError

if TYPE_CHECKING:
    from deltaspec.validate.data import DataRun

_AT_ONCE = 4096


def look_at_file_forms(run: DataRun) -> None:
    """Look at codecs and pages of the files that were added since a property first asked something of them."""
    if not run.findings.wants(file_forms):
        return
    if not run.state.metadata_known:
        run.findings.doubt((file_forms,), "a metaData action could not be decoded")
        return
    asked = AskedForms.along(run.state.rows["configuration"])
    if asked.first_version is None or run.state.metadata is None or run.state.metadata.format.provider != "parquet":
        return
    files = newly_added(run.files.rows, run.spanned, asked.first_version, run.operations)
    with ThreadPoolExecutor(READS_AT_ONCE if run.access.store.remote else 4) as pool:
        for part in files.iter_slices(_AT_ONCE):
            rows = [row for row in part.iter_rows(named=True) if not leads_out(row["path_key"])]
            read = pool.map(lambda row: _read(run, row), rows)
            found = [_row(run, asked, row, forms) for row, forms in zip(rows, read, strict=True)]
            run.findings.look_at_rows(file_forms, [each for each in found if each is not None])


def _read(run: DataRun, row: dict[str, Any]) -> ChunkForms | Exception:
    try:
        return read_forms(run.access, row["path_key"], row["actual_size"])
    except (FormsNotRead, NoParquet, StorageError) as fault:
        return fault


def _row(run: DataRun, asked: AskedForms, row: dict[str, Any], forms: ChunkForms | Exception) -> dict[str, Any] | None:
    path = row["path"] if row["path"] is not None else row["path_key"]
    if isinstance(forms, Exception):
        gone_since = isinstance(forms, FileGone) and row["actual_size"] is not None
        if gone_since or not isinstance(forms, NoParquet | FileGone):  # which other rules tell
            run.findings.doubt((file_forms,), str(forms), path)
        return None
    told = asked.at(row["version"], forms.codecs, forms.page_version)
    place = {name: row[name] for name in ("version", "file", "line")}
    return None if told is None else {**place, "path": path, **told}
