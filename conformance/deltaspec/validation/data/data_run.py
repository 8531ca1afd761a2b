"""The part of a run that looks beside the log: files, deletion vectors, footers and rows.

The table's directories are listed once. What cannot be listed or read is not-checked; what a later commit has removed
may be gone.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from pyroaring import BitMap64

from deltaspec.model.rows.deletion_vectors import DeletionVectorError
from deltaspec.validation.data.commit_reader import Commits
from deltaspec.validation.log.concurrent_writes import LaterCommits, describe_missing_file
from deltaspec.validation.log.row_id_history_checks import history_is_complete
from deltaspec.views.data.data_files import DataFile, DataFiles, data_files
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.table.state import TableSchema
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.log.line_decoder import LogFile
from deltaspec.wire.storage.data_access import NON_CANONICAL_KEY, DataAccess, is_outside_table, normalize_key
from deltaspec.wire.storage.interface import FileGone, StorageError

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run

_AT_ONCE = 10_000
_TEXTS = {"path_key": pl.String, "_normal": pl.String}
_PRESENCE = frozenset({"exists", "actual_size"})
"""Columns that the listing fills; what needs more of a file is put in doubt by the step that opens it."""
LISTING_SCHEMA = {"path_key": pl.String, "actual_size": pl.Int64}


class DataRun:
    """Files of the judged snapshot and change data of the judged commits, and how to read them."""

    def __init__(self, run: Run, intervals: pl.DataFrame, cdcs: pl.DataFrame, listed: pl.DataFrame) -> None:
        """A run over some files.

        Args:
            run: after it has looked at the log.
            spanned: adds and removes of their paths, as `file_replay.spans` gives them.
            cdcs: the same columns of cdc actions.
            listed: what the table's directories hold of them: columns of `LISTING_SCHEMA`.
        """
        self.operations = run.operations
        self.starts_after_version_0 = run.plan.base is not None
        """There are versions before the judged history."""
        self.stated_row_ids = run.stated_row_ids
        self.history_is_complete = history_is_complete(run)
        self.findings = run.findings
        self.progress = run.progress
        self.level = run.level
        self.version = run.plan.version
        self.clock_ms = run.clock_ms
        self.table: TableSchema | None = run.state.table_schema
        """What data files of the snapshot are judged against; None where it is not known."""
        self.state = run.state
        """The table's state at the judged version."""
        self.intervals = intervals
        self.access = DataAccess(run.store, allow_outside=run.allow_outside)
        self.vectors = DeletionVectorReader(self.access)
        self._run = run
        self.listing_error = run.listing_error
        self.listing_is_partial = run.bucket_count > 1
        """Files of other shares may be listed as well."""
        self.listed = listed
        """Files below the table: `path_key`, `actual_size`."""
        self.files = DataFiles(self._with_sizes(find_live_files(intervals, self.version)))
        """Live data files of the judged version."""
        self.changes = DataFiles(self._with_sizes(cdcs))
        """Change data files of the judged commits."""
        self.commits = Commits(run.store, intervals.clear(), intervals.clear())
        """The commits of the judged history that change or move rows; given to the steps that look at commits."""

    @property
    def versions_with_change_data(self) -> list[int]:
        """Versions of the commits with change data."""
        return list(self._run.schemas)

    def get_table_schema(self, version: int) -> TableSchema | None:
        """What the change data files of a commit are judged against; None where it is not known."""
        return self._run.schemas.get(version)

    def vector(self, file: DataFile) -> BitMap64 | None:
        """The rows that a file's deletion vector takes away; None where it has none.

        Raises:
            DeletionVectorError: it cannot be decoded (a finding of level `files`).
            StorageError: its file cannot be read.
        """
        return None if file.deletion_vector is None else self.vectors.rows(file.deletion_vector)

    @cached_property
    def later_commits(self) -> LaterCommits:
        """The commits after the judged version."""
        return LaterCommits(self.access.store, self._run.plan)

    def commit(self, version: int) -> LogFile:
        """A commit file, decoded; the last ones are remembered. Raises `StorageError`."""
        return self.commits.read(version)

    # presence and size

    def _with_sizes(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with `actual_size` of those files that the listing, or a look at a file elsewhere, has found."""
        if "actual_size" in rows.columns:
            return rows
        odd = rows.filter(pl.col("path_key").str.contains(NON_CANONICAL_KEY))
        moved = {
            key: normalize_key(key)
            for key in odd["path_key"]
            if not is_outside_table(key) and normalize_key(key) != key
        }
        listed = self.listed
        if moved:
            others = pl.DataFrame({"path_key": list(moved), "_normal": list(moved.values())}, schema_overrides=_TEXTS)
            found = others.join(self.listed.rename({"path_key": "_normal"}), on="_normal")
            listed = pl.concat([listed, found.select(list(LISTING_SCHEMA))])
        outside = {key: self.size_outside(key) for key in odd["path_key"].unique() if is_outside_table(key)}
        known = [(key, size) for key, size in outside.items() if size is not None]
        if known:
            listed = pl.concat([listed, pl.DataFrame(known, schema=LISTING_SCHEMA, orient="row")])
        return rows.join(listed.unique("path_key"), on="path_key", how="left", maintain_order="left")

    def size_outside(self, key: str) -> int | None:
        """The length of a file that is not below the table; None where it is not there, or may not be asked for."""
        try:
            return self.access.size(key)
        except StorageError:
            return None

    def file_exists(self, key: str) -> bool:
        """Whether a file below the table is there, asked of the storage itself."""
        try:
            self.access.size(key)
        except FileGone:
            return False
        except StorageError:
            return True  # it may not be looked at: that it is gone is not known
        return True

    def get_missing_file_error(self, key: str) -> StorageError:
        """Why a file that was not found was not: `FileGone`, unless it could not be asked for."""
        if self.listing_error and not is_outside_table(key):
            return StorageError(f"the table cannot be listed wholly: {self.listing_error}")
        if not is_outside_table(key):
            return FileGone(f"{key}: is not there")
        try:
            self.access.size(key)
        except StorageError as fault:
            return fault
        return StorageError(f"{key}: came while it was looked for")

    def check_files_exist(self) -> None:
        """Look whether the files are there."""
        if not self.findings.has_rules_for(data_files):
            return
        for files in (self.files, self.changes):
            rows = files.rows.with_columns(
                path=pl.coalesce("path", "path_key"),
                exists=pl.when(pl.col("actual_size").is_not_null()).then(True),
                removed_since=pl.lit(None, pl.Boolean),
                **_unopened(),
            ).select(list(data_files.columns))
            there = pl.col("exists").is_not_null()
            self.findings.evaluate(data_files, rows.filter(there))
            for part in rows.filter(~there).iter_slices(_AT_ONCE):
                absent = [self._absent(row) for row in part.iter_rows(named=True)]
                gone = [row["path_key"] for row in absent if row["exists"] is False and row["kind"] == "add"]
                removed = self.later_commits.find_removed(gone)
                self.findings.evaluate_rows(data_files, [self._removed(row, removed) for row in absent])

    def _absent(self, row: dict[str, Any]) -> dict[str, Any]:
        fault = self.get_missing_file_error(str(row["path_key"]))
        if not isinstance(fault, FileGone):
            self.findings.mark_undecided((data_files,), str(fault), str(row["path"]), read_columns=_PRESENCE)
            return row
        return {**row, "exists": False}

    def _removed(self, row: dict[str, Any], removed: dict[str, bool | None]) -> dict[str, Any]:
        key = str(row["path_key"])
        if key not in removed or row["kind"] != "add":
            return row
        if removed[key] is not False:
            self.findings.mark_undecided(
                (data_files,), f"{key}: {describe_missing_file(removed[key])}", str(row["path"]), read_columns=_PRESENCE
            )
        return {**row, "removed_since": removed[key]}


def describe_read_error(fault: Exception) -> str:
    """What the ledger says of a file whose rows cannot be read: the same at every step, so that it is told once."""
    return f"its deletion vector cannot be decoded: {fault}" if isinstance(fault, DeletionVectorError) else str(fault)


def _unopened() -> dict[str, pl.Expr]:
    """Columns that opening a file would fill."""
    return {
        name: pl.lit(None, column.dtype) for name, column in data_files.columns.items() if column.level == "footers"
    }
