"""The data files of one bucket: find out which exist, and read them.

The directories of the table are listed once. What cannot be listed or read is recorded as unchecked. A missing file
that a later commit removes is no finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec
import polars as pl
from pyroaring import BitMap64

from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.validation.data.commit_reader import Commits
from deltaspec.validation.data.copied_files import find_copies
from deltaspec.validation.data.second_look import MOST_LOOKS, MOST_REREAD_FILES, SecondLook
from deltaspec.validation.data.value_comparison import FileValues, TableCommits
from deltaspec.validation.findings import Findings
from deltaspec.validation.ledger import MAX_LOCATIONS, MISSING
from deltaspec.validation.log.concurrent_writes import LaterCommits, describe_missing_file
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.views.data.data_files import DataFile, DataFiles, data_files
from deltaspec.views.files.file_replay import find_live_files, has_shared_path, number_repeated_adds
from deltaspec.views.table.table_schema import TableSchema
from deltaspec.wire.data.deletion_vector_reader import DeletionVectorReader
from deltaspec.wire.log.line_decoder import LogFile
from deltaspec.wire.storage.data_access import DataAccess, is_non_canonical_key, is_outside_table, normalize_key
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone, OutsideTable, StorageError
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS

_ROWS_AT_ONCE = 10_000
_KEY_SCHEMA = {"path_key": pl.String, "_normal": pl.String}
_PRESENCE = frozenset({"exists", "actual_size"})
"""Columns that the listing fills. The check that opens a file records what else cannot be decided."""
EARLIER_FILES_GONE = "files that only earlier versions had no longer exist"
"""Reason in the ledger."""
_SIZES = ("path_key", "size", "actual_size")
_Look = tuple[str, int | None, int | None]
"""Values of these columns."""
LISTING_SCHEMA = {"path_key": pl.String, "actual_size": pl.Int64}


class SecondListing(msgspec.Struct, frozen=True):
    """A second listing of the table."""

    error: str | None
    """Why it is incomplete; None if it is complete."""
    files: pl.DataFrame | None = None
    """Files of the bucket, with the columns of `LISTING_SCHEMA`; None for no files."""


class DataBucket:
    """Files of the validated snapshot and change data of the validated commits, for the paths of one bucket."""

    def __init__(
        self,
        facts: LogFacts,
        findings: Findings,
        intervals: pl.DataFrame,
        cdcs: pl.DataFrame,
        listed: pl.DataFrame,
        progress: Progress = ignore_progress,
    ) -> None:
        """Find the live files of a bucket.

        Args:
            facts: of the log.
            findings: receives what is found.
            intervals: adds and removes of the bucket, from `build_intervals`.
            cdcs: cdc actions of the bucket, with the columns of `intervals`.
            listed: files of the bucket in the directories of the table, with the columns of `LISTING_SCHEMA`.
            progress: called while files are read.
        """
        self.facts = facts
        self.findings = findings
        self.progress = progress
        self.table: TableSchema | None = facts.state.table_schema
        """Schema of the snapshot; None if it is not known."""
        self.intervals = intervals
        self.access = DataAccess(facts.store, allow_outside=facts.options.allow_outside)
        self.vectors = DeletionVectorReader(self.access)
        self.second_look = SecondLook(findings, facts.options.confirm, facts.store.is_remote)
        # a file that was read once and cannot be read again has changed, on a disk too
        self.row_look = SecondLook(findings, facts.options.confirm, is_remote=True, most=MOST_REREAD_FILES)
        """Confirms findings about the rows of one file."""
        self.undecided_sizes: dict[str, StorageError] = {}
        """Files whose existence or size a second look does not confirm, and why."""
        self.listed = listed
        self.second_listing: SecondListing | None = None
        """Set for a bucket that needs it."""
        adds = number_repeated_adds(intervals.filter(pl.col("kind") == "add"), "partition_text", "size")
        self._adds = adds.unique("_series", keep="last", maintain_order=True).drop("_series")
        live = find_live_files(self._adds, self.facts.plan.version)
        self.files = DataFiles(self._with_sizes(self._select_new(live)))
        """Live data files of the validated version; with `--since` only those after the earlier report."""
        self.skipped_files = len(live) - len(self.files.rows)
        """Number of live data files that an earlier report has checked."""
        self.changes = DataFiles(self._with_sizes(self._select_new(cdcs)))
        """Change data files of the validated commits, selected as `files`."""
        self.commits = Commits(facts.store, intervals.clear(), intervals.clear())
        """Commits that change or rearrange rows; set for the checks of commits."""
        self.table_commits = TableCommits()
        """All commits; set for the checks of all files."""
        self.values: FileValues | None = None
        """Receives values that are compared with the values of other files; set for the checks of all files."""

    def get_table_schema(self, version: int) -> TableSchema | None:
        """Return the schema at a version that `LogFacts.schemas` has; None if it is not known."""
        return self.facts.schemas.get(version)

    def get_table_schema_before(self, version: int) -> TableSchema | None:
        """Return the schema before a version that `LogFacts.schemas` has; None if it is not known."""
        return self.facts.schemas_before.get(version, self.get_table_schema(version))

    def vector(self, file: DataFile) -> BitMap64 | None:
        """Read the rows that a file's deletion vector deletes; None if it has no deletion vector.

        Raises:
            DeletionVectorError: it cannot be decoded, which is a finding of level `files`.
            StorageError: its file cannot be read.
        """
        return None if file.deletion_vector is None else self.vectors.rows(file.deletion_vector)

    @property
    def earlier_files(self) -> DataFiles:
        """Data files that earlier versions of the validated history had, and the validated version does not."""
        ended = (pl.col("until") <= self.facts.plan.version) & (pl.col("until") > pl.col("version"))
        return DataFiles(self._with_sizes(self._select_new(self._adds.filter(ended))))

    def select_versions(self, versions: Iterable[int]) -> list[int]:
        """Return the versions whose commits are checked: all, or with `--since` those after the earlier report."""
        since = self.facts.since
        return [version for version in versions if since is None or version > since.version]

    def _select_new(self, rows: pl.DataFrame) -> pl.DataFrame:
        since = self.facts.since
        return rows if since is None else rows.filter(pl.col("version") > since.version)

    @cached_property
    def later_commits(self) -> LaterCommits:
        """The commits after the validated version."""
        managed = self.facts.options.ratified is None and self.facts.state.supports(FEATURE)
        return LaterCommits(self.access.store, self.facts.plan, catalog_managed=managed)

    def commit(self, version: int) -> LogFile:
        """Read a commit. The most recent ones are cached. Raise `StorageError`."""
        return self.commits.read(version)

    # presence and size

    def _with_sizes(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add `actual_size` from the listing, or from storage for files that it leaves out; null if missing."""
        if "actual_size" in rows.columns:
            return rows
        if rows.is_empty():
            return rows.with_columns(actual_size=pl.lit(None, pl.Int64))
        is_odd = is_non_canonical_key("path_key") | _is_in_log()
        odd = rows.filter(is_odd | (self.facts.since is not None))
        renamed = {
            key: normalize_key(key)
            for key in odd["path_key"]
            if not self._is_unlisted(key) and normalize_key(key) != key
        }
        listed = self.listed
        if renamed:
            others = pl.DataFrame(
                {"path_key": list(renamed), "_normal": list(renamed.values())}, schema_overrides=_KEY_SCHEMA
            )
            found = others.join(self.listed.rename({"path_key": "_normal"}), on="_normal")
            listed = pl.concat([listed, found.select(list(LISTING_SCHEMA))])
        unlisted = [key for key in odd["path_key"].unique(maintain_order=True) if self._is_unlisted(key)]
        outside = dict(zip(unlisted, self._request_sizes(unlisted), strict=True))
        lost = [key for key, size in outside.items() if size is None and self.access.find_without_slash(key) is None]
        self.findings.note_copies(find_copies(self.access.store, lost))
        known = [(key, size) for key, size in outside.items() if size is not None]
        if known:
            listed = pl.concat([listed, pl.DataFrame(known, schema=LISTING_SCHEMA, orient="row")])
        return rows.join(listed.unique("path_key"), on="path_key", how="left", maintain_order="left")

    def _request_sizes(self, keys: list[str]) -> Iterable[int | None]:
        with ThreadPoolExecutor(MAX_CONCURRENT_READS if self.access.store.is_remote else 1) as pool:
            return list(pool.map(self.size_outside, keys))

    def size_outside(self, key: str) -> int | None:
        """Return the size of a file that is not listed; None if it does not exist or must not be read."""
        try:
            return self.access.size(key)
        except StorageError:
            return None

    def file_exists(self, key: str) -> bool:
        """Return whether a file of the table exists in storage."""
        try:
            self.access.size(key)
        except FileGone:
            return False
        except StorageError:
            return True  # an unreadable file may exist
        return True

    def get_missing_file_error(self, key: str) -> StorageError:
        """Return why a file was not found: `FileGone`, unless storage or the listing failed."""
        if key in self.undecided_sizes:
            return self.undecided_sizes[key]
        if self.facts.listing_error and not self._is_unlisted(key):
            return StorageError(f"the table cannot be listed completely: {self.facts.listing_error}")
        if not self._is_unlisted(key):
            return FileGone(MISSING.format(key))
        try:
            self.access.size(key)
        except StorageError as fault:
            return fault
        return StorageError(f"{key}: appeared after the directory was listed")

    def is_known_missing(self, key: str) -> bool:
        """Return whether a complete listing of its directory does not have a file."""
        return not self.facts.listing_error and not self._is_unlisted(key)

    def _is_unlisted(self, key: str) -> bool:
        """Return whether a file is not in a listing: elsewhere, in the log, or any file with `--since`."""
        return self.facts.since is not None or is_outside_table(key) or key.startswith(f"{LOG_DIRECTORY}/")

    @cached_property
    def present_files(self) -> DataFiles:
        """Live data files that were found."""
        return DataFiles(self.files.rows.filter(pl.col("actual_size").is_not_null()))

    @cached_property
    def missing_files(self) -> tuple[dict[str, str], int]:
        """Live data files that were not found, as `explain_missing` returns them."""
        absent = self.files.rows.filter(pl.col("actual_size").is_null())
        return self.explain_missing(absent.with_columns(_is_plain=self.is_plainly_missing))

    @property
    def is_plainly_missing(self) -> pl.Expr:
        """Whether `get_missing_file_error` says that a file of the view does not exist, without a request."""
        if self.facts.listing_error or self.facts.since is not None:
            return pl.lit(False)
        is_odd = is_non_canonical_key("path_key") | _is_in_log()
        return pl.col("actual_size").is_null() & ~is_odd & ~pl.col("path_key").is_in(list(self.undecided_sizes))

    def explain_missing(self, absent: pl.DataFrame) -> tuple[dict[str, str], int]:
        """Return why files were not found, by their paths as written, and the number of further ones.

        There are further ones only if `get_missing_file_error` needs no request, and `MAX_LOCATIONS` sort before them.

        Args:
            absent: rows of live files, with `is_plainly_missing` as `_is_plain`.
        """
        if absent.is_empty():
            return {}, 0
        paths = absent.select("_is_plain", "path_key", path=pl.coalesce("path", "path_key"))
        plain, others = paths.filter("_is_plain"), paths.filter(~pl.col("_is_plain"))
        if has_shared_path(plain).any():
            plain = plain.unique("path")
        first = plain.bottom_k(MAX_LOCATIONS, by="path")
        found = {path: MISSING.format(key) for path, key in first.select("path", "path_key").iter_rows()}
        for path, key in others.select("path", "path_key").iter_rows():
            found[path] = str(self.get_missing_file_error(key))
        return found, len(plain) - len(first)

    def check_files_exist(self) -> None:
        """Evaluate the rules over `data_files` that need only the listing."""
        if not self.findings.has_rules_for(data_files):
            return
        self._confirm_sizes()
        for files in (self.files, self.changes):
            if files.rows.is_empty():
                continue
            rows = files.rows.with_columns(
                path=pl.coalesce("path", "path_key"),
                exists=pl.when(pl.col("actual_size").is_not_null()).then(True),
                removed_since=pl.lit(None, pl.Boolean),
                name_in_table=pl.lit(None, pl.String),
                **_unopened(),
            ).select(list(data_files.columns))
            if self.undecided_sizes:
                is_undecided = pl.col("path_key").is_in(list(self.undecided_sizes))
                rows = rows.with_columns(pl.when(~is_undecided).then(pl.col(name)).alias(name) for name in _PRESENCE)
            is_listed = pl.col("exists").is_not_null()
            self.findings.evaluate(data_files, rows.filter(is_listed))
            for part in rows.filter(~is_listed).iter_slices(_ROWS_AT_ONCE):
                self._check_unlisted(part)

    def _check_unlisted(self, rows: pl.DataFrame) -> None:
        """Evaluate the rules over `data_files` for files that the listing does not have."""
        is_plain, is_add = self.is_plainly_missing, pl.col("kind") == "add"
        plain, others = rows.filter(is_plain), rows.filter(~is_plain)
        absent = [self._check_missing(row) for row in others.iter_rows(named=True)]
        gone = plain.filter(is_add)["path_key"].to_list()
        gone += [row["path_key"] for row in absent if row["exists"] is False and row["kind"] == "add"]
        removed = self.later_commits.find_removed(gone)
        plain = plain.with_columns(exists=pl.lit(False))
        if all(each is False for each in removed.values()):
            self.findings.evaluate(data_files, plain.with_columns(removed_since=pl.when(is_add).then(False)))
        else:
            absent += plain.iter_rows(named=True)
        self.findings.evaluate_rows(data_files, [self._add_removed_since(row, removed) for row in absent])

    @cached_property
    def _wrong_sizes(self) -> pl.DataFrame:
        """Files that are missing or whose size differs from the log, with the columns `_SIZES`."""
        both = pl.concat([self.files.rows.select(_SIZES), self.changes.rows.select(_SIZES)])
        # files that an incomplete listing does not have are undecided in any case
        is_missing = pl.col("actual_size").is_null() & (self.facts.listing_error is None)
        is_wrong = is_missing | (pl.col("actual_size") != pl.col("size"))
        return both.filter(is_wrong).unique("path_key", maintain_order=True)

    @property
    def needs_second_listing(self) -> bool:
        """Whether a second listing costs less than a request for each file that looks wrong."""
        may_list = self.second_look.is_enabled and self.access.store.is_remote and self.facts.since is None
        return may_list and self.findings.has_rules_for(data_files) and len(self._wrong_sizes) > MOST_LOOKS

    def _confirm_sizes(self) -> None:
        """Check again the files that are missing or whose size differs from the log."""
        if not self.second_look.is_enabled:
            return
        looks: Iterator[_Look] = self._wrong_sizes.iter_rows()
        if self.second_listing is not None:
            looks = iter(self._compare_with_second_listing(self.second_listing, list(looks)))
        sizes = dict[str, int | None]()
        with ThreadPoolExecutor(MAX_CONCURRENT_READS if self.access.store.is_remote else 1) as pool:
            while self.second_look.is_needed and (part := list(islice(looks, MOST_LOOKS))):
                for (key, _, before), now in zip(part, pool.map(self._confirm_size, part), strict=True):
                    if isinstance(now, StorageError):
                        self.undecided_sizes[key] = now
                    elif now != before:
                        sizes[key] = now
        if sizes:
            new = pl.DataFrame(list(sizes.items()), {"path_key": pl.String, "_new": pl.Int64}, orient="row")
            self.files = DataFiles(_replace_sizes(self.files.rows, new))
            self.changes = DataFiles(_replace_sizes(self.changes.rows, new))

    def _compare_with_second_listing(self, second: SecondListing, looks: list[_Look]) -> list[_Look]:
        """Return the files for which a second listing does not confirm the first look."""
        if second.error is not None:
            error = StorageError(second.error)
            self.undecided_sizes |= {key: error for key, _, _ in looks if not self._is_unlisted(key)}
            return [look for look in looks if self._is_unlisted(look[0])]
        sizes = dict[str, int]() if second.files is None else dict(second.files.iter_rows())
        return [look for look in looks if self._is_unlisted(look[0]) or sizes.get(normalize_key(look[0])) != look[2]]

    def _confirm_size(self, file: _Look) -> int | StorageError | None:
        """Check again a file that is missing or has the wrong size. Return its size; None if it is missing.

        Args:
            file: its key, the size in the log, and the size in the listing.
        """
        key, size, before = file

        def look() -> int | StorageError | None:
            try:
                return self.access.size(key)
            except FileGone:
                return None
            except OutsideTable:
                return before
            except StorageError as fault:
                return fault

        return self.second_look.confirm(
            key,
            before,
            look,
            is_sound=lambda now: now is not None and size in (None, now),
            describe=lambda now: "missing" if now is None else f"{now} bytes",
        )

    def _check_missing(self, row: dict[str, Any]) -> dict[str, Any]:
        fault = self.get_missing_file_error(str(row["path_key"]))
        if not isinstance(fault, FileGone):
            self.findings.mark_undecided((data_files,), str(fault), str(row["path"]), read_columns=_PRESENCE)
            return row
        return {**row, "exists": False, "name_in_table": self.access.find_without_slash(str(row["path_key"]))}

    def _add_removed_since(self, row: dict[str, Any], removed: dict[str, bool | None]) -> dict[str, Any]:
        key = str(row["path_key"])
        if key not in removed or row["kind"] != "add":
            return row
        if removed[key] is not False:
            self.findings.mark_undecided(
                (data_files,), f"{key}: {describe_missing_file(removed[key])}", str(row["path"]), read_columns=_PRESENCE
            )
        return {**row, "removed_since": removed[key]}


def _replace_sizes(rows: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Replace `actual_size` of files by the column `_new`."""
    joined = rows.join(new, on="path_key", how="left", maintain_order="left")
    return joined.with_columns(actual_size=pl.coalesce("_new", "actual_size")).drop("_new")


def _is_in_log() -> pl.Expr:
    return pl.col("path_key").str.starts_with(f"{LOG_DIRECTORY}/")


def describe_read_error(fault: Exception) -> str:
    """Describe why the rows of a file cannot be read: the same for every check, so that the ledger has one entry."""
    return f"its deletion vector cannot be decoded: {fault}" if isinstance(fault, DeletionVectorError) else str(fault)


def _unopened() -> dict[str, pl.Expr]:
    """Return null expressions for the columns that need an opened file."""
    return {
        name: pl.lit(None, column.dtype) for name, column in data_files.columns.items() if column.level == "footers"
    }
