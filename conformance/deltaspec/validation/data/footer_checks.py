"""Check the footers of data files: whether they are Parquet files, their row counts, and their columns."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from deltaspec.protocol.features import materialized_partitions
from deltaspec.protocol.schema.data_types import Primitive, iter_leaf_types
from deltaspec.protocol.schema.parquet_types import Node
from deltaspec.protocol.variants.shredding import FEATURE
from deltaspec.validation.data.row_confirmation import FileReader, evaluate_confirmed_rows
from deltaspec.validation.data.second_look import CHANGED
from deltaspec.validation.ledger import OTHER_FORMAT
from deltaspec.views.data.data_files import DataFiles, data_files
from deltaspec.views.data.file_columns import file_columns
from deltaspec.views.data.footer_facts import (
    SCHEMA_COLUMNS,
    SchemaFacts,
    build_data_file_rows,
    build_schema_facts,
    column_rows,
)
from deltaspec.views.data.missing_columns import MissingColumnLocator
from deltaspec.views.data.variants import written_without_shredding
from deltaspec.views.files.written_while import build_history, find_paths_written_while
from deltaspec.views.table.iceberg_history import find_paths_written_under
from deltaspec.wire.parquet.footer_reader import Footer, FooterReader, NotParquet
from deltaspec.wire.storage.interface import FileGone, StorageError
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS

if TYPE_CHECKING:
    from deltaspec.validation.data.data_bucket import DataBucket
    from deltaspec.views.base import View
    from deltaspec.views.table.table_schema import TableSchema

FILES_PER_BATCH = 4096
FILES_AT_ONCE = 32
"""Number of files that a thread reads at a time, and for which the wait for storage is measured."""
SLOW_SECONDS = 0.001
"""Wait for storage per file from which on threads read ahead."""
_LEVEL = ("footers",)
COLUMNS_PER_BATCH = 200_000
"""Number of file columns that are converted to rows, or cached, at once: a file may have any number of columns."""
MAX_MISSING_OPENED = 100
"""Maximum number of unlisted files of a bucket that are opened to find the exact reason. The ledger lists fewer
files."""
_LOG_COLUMNS = ("version", "file", "line", "kind", "path", "path_key", "num_records", "cardinality")
_PATH = pl.coalesce("path", "path_key")
"""The path as written in the log, by which every check names a file."""
_WRITTEN = (
    "written_under_v2",
    "written_under_v3",
    "written_without_shredding",
    "written_under_mapping",
    "written_to_materialize",
    "partition_columns_requested",
)
_VIEWS = (data_files, file_columns)
_READ = {
    "_read": pl.Boolean,
    "footer_fault": pl.String,
    "row_count": pl.Int64,
    "row_group_rows": pl.Int64,
    "external_path": pl.String,
    "_schema": pl.Int64,
}
_Row = tuple[bool, str | None, int | None, int | None, str | None]
Read = Footer | NotParquet | StorageError
_File = tuple[str, int | None, bool]
"""A file to read: its key, its size, and whether it is known to be missing and not opened."""


def check_footers(data: DataBucket) -> None:
    """Read the footer of every live data file and change data file, and evaluate the rules over footers."""
    if not data.findings.has_rules_for(data_files, file_columns):
        return
    metadata = data.facts.state.metadata
    if metadata is not None and metadata.format.provider != "parquet":
        data.findings.mark_levels_undecided(OTHER_FORMAT.format(metadata.format.provider), levels=_LEVEL)
        return
    looker = _FooterChecker(data)
    looker.check(data.files)
    if len(data.changes):
        looker.check(data.changes)


class _Batch:
    """Files that are read but not yet evaluated, and their schemas."""

    def __init__(self) -> None:
        self.first = 0
        """Position of the first file in its part."""
        self.rows: list[tuple[Any, ...]] = []
        self.facts: list[SchemaFacts] = []
        self.columns = 0
        self._positions: dict[int, int] = {}

    def add(self, row: _Row, facts: SchemaFacts | None) -> None:
        """Add one file, and the comparison of its schema with the schema of the table."""
        position = None
        if facts is not None:
            position = self._positions.setdefault(id(facts), len(self.facts))
            if position == len(self.facts):
                self.facts.append(facts)
                self.columns += len(facts.columns)
        self.rows.append((*row, position))

    def clear(self) -> None:
        """Start the next batch after these files."""
        self.first += len(self.rows)
        self.rows, self.facts, self.columns, self._positions = [], [], 0, {}


class _ReadFooters(msgspec.Struct, frozen=True):
    """Files with what their footers contain."""

    files: pl.DataFrame
    """Columns of `_LOG_COLUMNS`, `_WRITTEN` and `_READ`."""
    facts: list[SchemaFacts]
    """By the position that the column `_schema` states."""

    def equals(self, other: _ReadFooters) -> bool:
        """Return whether the footers of the same files have the same content."""
        if not self.files.drop("_schema").equals(other.files.drop("_schema")):
            return False
        pairs = zip(self.files["_schema"], other.files["_schema"], strict=True)
        return all(
            mine is theirs if mine is None or theirs is None else self.facts[mine] == other.facts[theirs]
            for mine, theirs in pairs
        )


class _FooterChecker:
    """Reads footers in threads, and compares each pair of file schema and table schema once."""

    def __init__(self, data: DataBucket) -> None:
        self.data = data
        self.reader = FooterReader(data.access)
        self.facts: dict[tuple[int, int], tuple[object, object, SchemaFacts]] = {}
        """By the identity of file schema and table schema. Both are stored, so that their identity stays valid."""
        self.kept = 0
        """Number of columns in `facts`."""
        self.total = 0
        """Number of files to read."""
        self.missing = 0
        """Number of files so far that the listing does not have."""
        self.unknown: set[tuple[str, int]] = set()
        """Versions whose schema is not known."""
        table = data.table
        self._locator = None if table is None else MissingColumnLocator(table, data.facts.state.row_requirements)

    def check(self, files: DataFiles) -> None:
        """Read and evaluate files."""
        self.total = len(files)
        found, unread, more = self._split_missing(files.rows)
        self.data.findings.mark_files_undecided(unread, more, levels=_LEVEL)
        done = self.total - len(found)
        rows = self._with_request(self._with_mapping(self._with_shredding(self._with_compatibility(found))))
        for part in rows.iter_slices(FILES_PER_BATCH):
            batch, unread = _Batch(), {}
            listed = part["actual_size"].is_not_null()
            for path, version, kind, was_listed, read in zip(
                _paths(part), part["version"], part["kind"], listed, self._read(part), strict=True
            ):
                # a missing change data file is reported at level files (S25)
                if isinstance(read, StorageError) and not (
                    kind == "cdc" and not was_listed and isinstance(read, FileGone)
                ):
                    unread[path] = str(read)
                batch.add(*self._row(version, kind, read))
                if batch.columns > COLUMNS_PER_BATCH:
                    done = self._flush(part, batch, done)
            self.data.findings.mark_files_undecided(unread, levels=_LEVEL)
            done = self._flush(part, batch, done)
        self.data.progress("footers", len(files), len(files))

    def _split_missing(self, files: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, str], int]:
        """Return the files to read, and the missing files as `DataBucket.explain_missing` returns them.

        The column `_is_late` of the files to read states whether a file comes after the limit of opened missing files.
        """
        is_missing = pl.col("actual_size").is_null()
        marked = files.with_columns(
            _is_late=is_missing & (self.missing + is_missing.cum_sum() > MAX_MISSING_OPENED),
            _is_plain=self.data.is_plainly_missing,
        )
        self.missing += files["actual_size"].null_count()
        is_left_out = pl.col("_is_late") & pl.col("_is_plain")
        # a missing change data file is reported at level files (S25)
        left_out = marked.filter(is_left_out & (pl.col("kind") == "add"))
        return marked.filter(~is_left_out), *self.data.explain_missing(left_out)

    def _with_compatibility(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the columns `written_under_v2` and `written_under_v3`: only of the compatibility that decides."""
        data, table = self.data, self.data.table
        for each in ("V2", "V3"):
            found = pl.lit(None, pl.Boolean)
            if table is not None and table.iceberg[-1:] == (each,):
                keys = find_paths_written_under(
                    each,
                    data.intervals,
                    data.facts.state.iceberg,
                    data.facts.operations,
                    begins_with_checkpoint=data.facts.plan.base is not None,
                )
                found = pl.col("path_key").is_in(keys.implode())
            rows = rows.with_columns(found.alias(f"written_under_{each.lower()}"))
        return rows

    def _with_shredding(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the column `written_without_shredding`."""
        data, table = self.data, self.data.table
        if table is None or not table.supports(FEATURE) or Primitive("variant") not in iter_leaf_types(table.schema):
            return rows.with_columns(written_without_shredding=pl.lit(None, pl.Boolean))
        written = written_without_shredding(
            data.intervals,
            data.facts.state.rows["configuration"],
            data.facts.operations,
            begins_with_checkpoint=data.facts.plan.base is not None,
        )
        return rows.with_columns(written_without_shredding=pl.col("path_key").is_in(written.implode()))

    def _with_mapping(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the columns `written_under_mapping` and `written_to_materialize`."""
        data, table = self.data, self.data.table
        if table is not None and table.mapping == "name" and table.names_in_files is None:
            reason = "a version of the table is not known, so a name in a file may belong to a dropped column"
            data.findings.mark_rule_undecided("PQT039", reason)
        views = data.facts.state.rows
        modes = ((row["version"], row["column_mapping_mode"] is not None) for row in views["metadata"])
        feature = materialized_partitions.FEATURE
        lists = ((row["version"], feature in (row["writer_features"] or ())) for row in views["protocols"])
        histories = {
            "written_under_mapping": build_history(modes) if table is not None and table.mapping else None,
            "written_to_materialize": build_history(lists)
            if table is not None and table.partition_columns and feature in table.features
            else None,
        }
        for name, holds in histories.items():
            found = pl.lit(None, pl.Boolean)
            if holds is not None:
                keys = find_paths_written_while(
                    data.intervals,
                    holds,
                    data.facts.operations,
                    begins_with_checkpoint=data.facts.plan.base is not None,
                )
                found = pl.col("path_key").is_in(keys.implode())
            rows = rows.with_columns(found.alias(name))
        return rows

    def _with_request(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the column `partition_columns_requested`."""
        data, table = self.data, self.data.table
        found = pl.lit(None, pl.Boolean)
        if table is not None and table.partition_columns and materialized_partitions.PROPERTY in table.configuration:
            views = data.facts.state.rows
            changes = [row for row in views["configuration"] if row["property"] == materialized_partitions.PROPERTY]
            is_required = any(enabled for _, enabled in data.facts.state.iceberg.enabled_since) or any(
                materialized_partitions.FEATURE in (row["writer_features"] or ()) for row in views["protocols"]
            )
            for requested in () if is_required else ("true", "false"):
                holds = build_history((row["version"], (row["value"] or "").lower() == requested) for row in changes)
                keys = find_paths_written_while(
                    data.intervals,
                    holds,
                    data.facts.operations,
                    begins_with_checkpoint=data.facts.plan.base is not None,
                )
                is_requested = pl.lit(requested == "true")
                found = pl.when(pl.col("path_key").is_in(keys.implode())).then(is_requested).otherwise(found)
        return rows.with_columns(found.alias("partition_columns_requested"))

    def _flush(self, part: pl.DataFrame, batch: _Batch, done: int) -> int:
        """Evaluate the collected files. Return the number of files done."""
        files = part.slice(batch.first, len(batch.rows))
        read = _ReadFooters(_join_reads(files, batch.rows), batch.facts)
        self._evaluate(data_files, self._build_rows(data_files, read), read, files)
        widest = max((len(each.columns) for each in batch.facts), default=0)
        for some in read.files.iter_slices(max(1, COLUMNS_PER_BATCH // max(1, widest))):
            rows = self._build_rows(file_columns, _ReadFooters(some, batch.facts))
            self._evaluate(file_columns, rows, read, files)
        done += len(files)
        self.data.progress("footers", done, self.total)
        batch.clear()
        return done

    def _build_rows(self, view: View, read: _ReadFooters) -> pl.DataFrame:
        if view is data_files:
            return build_data_file_rows(read.files, read.facts)
        rows = column_rows(read.files, read.facts)
        return rows if self._locator is None else self._locator.locate(rows, read.files)

    def _evaluate(self, view: View, rows: pl.DataFrame, read: _ReadFooters, files: pl.DataFrame) -> None:
        """Evaluate the rules over rows of a view.

        Args:
            view: the view.
            rows: its rows.
            read: the footers that the rows come from, and maybe others.
            files: the same files, before they were read.
        """

        def open_file(path: str) -> FileReader:
            first = _ReadFooters(read.files.filter(pl.col("path") == path), read.facts)
            unread = files.filter(path == _PATH)
            return FileReader(path, unread["path_key"][0], lambda: self._look_at_footer(view, first, unread))

        undecided = evaluate_confirmed_rows(self.data, view, rows, lambda frame: frame["path"], open_file)
        self.data.findings.mark_files_undecided(undecided, levels=_LEVEL)

    def _look_at_footer(self, view: View, first: _ReadFooters, files: pl.DataFrame) -> pl.DataFrame | StorageError:
        """Read a footer again, and build the rows of a view for all actions with its path.

        A footer that differs from the first one looks sound only if no rule of another view reports it either.
        """
        key = files["path_key"][0]
        read = self._look_again(key, None)
        if isinstance(read, StorageError):
            return StorageError(f"its footer could be read once, but not again: {read}")
        batch = _Batch()
        for version, kind in files.select("version", "kind").iter_rows():
            batch.add(*self._row(version, kind, read))
        second = _ReadFooters(_join_reads(files, batch.rows), batch.facts)
        if not second.equals(first):
            for other in _VIEWS:
                is_reported = other is not view and self.data.findings.has_rules_for(other)
                if is_reported and self.data.findings.find_violated_rules(other, self._build_rows(other, second)):
                    return StorageError(CHANGED.format(key))
        return self._build_rows(view, second)

    def _read(self, files: pl.DataFrame) -> Iterator[Read]:
        """Yield the footers of files in their order."""
        # prefer the size in the listing, because the size in the log may be wrong
        keyed = [
            (key, size, is_late and self.data.is_known_missing(key))
            for key, size, is_late in files.select(
                "path_key", pl.coalesce("actual_size", "size"), "_is_late"
            ).iter_rows()
        ]
        if self.data.access.store.is_remote:
            chunks, threads = iter([[file] for file in keyed]), MAX_CONCURRENT_READS
        else:
            chunks = iter([keyed[start : start + FILES_AT_ONCE] for start in range(0, len(keyed), FILES_AT_ONCE)])
            threads = min(8, os.cpu_count() or 1)
            yield from self._read_until_storage_is_slow(chunks)
        with ThreadPoolExecutor(threads) as pool:
            for read in pool.map(self._read_some, chunks):
                yield from read

    def _read_until_storage_is_slow(self, chunks: Iterator[list[_File]]) -> Iterator[Read]:
        """Yield footers until the wait for storage takes `SLOW_SECONDS` a file.

        Threads pay off only for slow storage: two threads need 50 % more time to read footers from memory.
        """
        for chunk in chunks:
            begin, begin_work = time.perf_counter(), time.thread_time()
            read = self._read_some(chunk)
            waited = time.perf_counter() - begin - (time.thread_time() - begin_work)
            yield from read
            if waited > SLOW_SECONDS * len(chunk):
                return

    def _read_some(self, files: list[_File]) -> list[Read]:
        """Read the footers of files."""
        found: list[Read] = []
        for key, size, is_skipped in files:
            if is_skipped:
                found.append(self.data.get_missing_file_error(key))
                continue
            try:
                found.append(self.reader.read(key, size))
            except NotParquet as fault:
                found.append(self._changed(key, size) or self._confirm(key, size, fault))
            except StorageError as fault:
                found.append(fault)
        return found

    def _confirm(self, key: str, size: int | None, fault: NotParquet) -> Read:
        """Read again a file that is not Parquet."""
        return self.data.second_look.confirm(
            key, fault, lambda: self._look_again(key, size), is_sound=lambda read: isinstance(read, Footer)
        )

    def _look_again(self, key: str, size: int | None) -> Read:
        try:
            return self.reader.read(key, size)
        except (NotParquet, StorageError) as fault:
            return fault

    def _changed(self, key: str, size: int | None) -> StorageError | None:
        """Return an error if a file that looks damaged was replaced after it was listed."""
        try:
            now = self.data.access.size(key)
        except StorageError as fault:
            return fault
        return None if size in (None, now) else StorageError(f"{key}: changed while it was read")

    def _row(self, version: int, kind: str, read: Read) -> tuple[_Row, SchemaFacts | None]:
        """Return the columns for one file, and the comparison of its schema."""
        if isinstance(read, StorageError):
            return (False, None, None, None, None), None
        if isinstance(read, NotParquet):
            return (True, str(read), None, None, None), None
        table = self._table(kind, version)
        facts = self._facts(read.schema, table) if table else None
        return (True, None, read.row_count, read.row_group_rows, read.external_path), facts

    def _table(self, kind: str, version: int) -> TableSchema | None:
        table = self.data.table if kind == "add" else self.data.get_table_schema(version)
        if table is None and (kind, version) not in self.unknown:
            self.unknown.add((kind, version))
            reason = f"the schema of version {version} is not known"
            self.data.findings.mark_undecided((file_columns,), reason)
            self.data.findings.mark_undecided((data_files,), reason, read_columns=frozenset(SCHEMA_COLUMNS))
        return table

    def _facts(self, root: Node, table: TableSchema) -> SchemaFacts:
        key = (id(root), id(table))
        if key not in self.facts:
            if self.kept > COLUMNS_PER_BATCH:
                self.facts.clear()
                self.kept = 0
            self.facts[key] = (root, table, build_schema_facts(root, table))
            self.kept += len(self.facts[key][2].columns)
        return self.facts[key][2]


def _join_reads(files: pl.DataFrame, reads: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Return the files that were read, with the columns of `_READ`."""
    kept = [name for name in (*_LOG_COLUMNS, *_WRITTEN, "since", "until") if name in files.columns]
    named = files.select(kept).with_columns(path=_PATH)
    return pl.concat([named, pl.DataFrame(reads, _READ, orient="row")], how="horizontal").filter("_read")


def _paths(files: pl.DataFrame) -> pl.Series:
    return files.select(path=_PATH)["path"]
