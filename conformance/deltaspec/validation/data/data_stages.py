"""The stages beside the log: which rows each of them needs together, and in which order they come.

Most steps look at one data file after the other and run share by share. Others need the files of one deletion-vector
file, of one commit, or of the whole table: their rows are dealt anew, without those that they do not look at.
"""

from __future__ import annotations

import polars as pl

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.model.rows.deletion_vectors import DeletionVectorError
from deltaspec.report.report_types import Inventory
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.base_run import Run
from deltaspec.validation.buckets import Buckets, BucketWriter, RowsByTag
from deltaspec.validation.data.check_registry import COMMIT_CHECKS, FILE_CHECKS, TABLE_CHECKS, includes_level
from deltaspec.validation.data.commit_reader import Commits, split_written_and_ended
from deltaspec.validation.data.data_run import LISTING_SCHEMA, DataRun
from deltaspec.validation.data.deletion_vector_checks import check_deletion_vectors
from deltaspec.validation.data.inventory import build_empty_references, build_inventory, collect_references
from deltaspec.validation.data.row_constraint_checks import mark_missing_files_undecided
from deltaspec.validation.log.replay_stage import CDC_ROWS, INTERVAL_ROWS, VECTORS
from deltaspec.views.files.file_actions import deletion_vectors
from deltaspec.views.files.file_replay import DATA_REPLAY_COLUMNS, build_empty_replay_frame
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.storage.interface import Entry

LISTING = "listing"
"""Tag of what the table's directories hold: `path_key`, `actual_size`."""
_REFERENCES, _DESCRIPTORS, _STORED, _WRITTEN, _ENDED, _CHANGES, _ALL = (
    "references",
    "descriptors",
    "stored vectors",
    "written by commits",
    "ended by commits",
    "changes",
    "all files",
)
LIVE_FILES = "live files"
"""Tag of live data files, without their statistics, where the engine evaluates conditions by itself."""
_LISTED_AT_ONCE = 10_000


def check_data(run: Run, buckets: Buckets, aggregates: Aggregates) -> Inventory | None:
    """What the level lets be opened beside the log.

    Args:
        run: after it has looked at the log.
        shares: with the rows that its stages handed on.
        sums: what they say of the table.
    """
    if run.replay_blocked_reason:
        buckets.run_stage(_look_at_descriptors, run, (VECTORS,))
        run.findings.mark_levels_undecided(f"the live files are not known: {run.replay_blocked_reason}")
        return None
    run.listing_error = buckets.run_once(lambda: bucket_listing(run, buckets))
    buckets.run_stage(_Files(aggregates.rewriting), run, (INTERVAL_ROWS, CDC_ROWS, VECTORS, LISTING), opens_files=True)
    buckets.run_stage(_look_at_stored_vectors, run, (_DESCRIPTORS, _STORED), opens_files=True)
    buckets.drop((VECTORS, _DESCRIPTORS, _STORED, INTERVAL_ROWS, CDC_ROWS))
    buckets.run_stage(_look_at_commits, run, (_WRITTEN, _ENDED, _CHANGES), opens_files=True)
    buckets.run_stage(_look_at_all_files, run, (_ALL,), in_one_bucket=True, opens_files=True)
    buckets.drop((_WRITTEN, _ENDED, _CHANGES, _ALL))
    found = buckets.run_stage(_take_inventory, run, (LISTING, _REFERENCES))
    return found.inventory or _take_inventory(run, {}, buckets.put).inventory


def bucket_listing(run: Run, buckets: Buckets) -> str | None:
    """List the table's directories once, and deal what they hold; gives why they could not be listed as a whole."""
    names: list[str] = []
    sizes: list[int] = []
    listed = 0
    fault: str | None = None
    for entry in run.store.list_files():
        if isinstance(entry, Entry):
            names.append(entry.name)
            sizes.append(entry.size_bytes)
        else:
            fault = fault or str(entry)
        if len(names) >= _LISTED_AT_ONCE:
            listed += len(names)
            run.progress("listing", listed, None)
            buckets.put(LISTING, pl.DataFrame({"path_key": names, "actual_size": sizes}, schema=LISTING_SCHEMA))
            names, sizes = [], []
    buckets.put(LISTING, pl.DataFrame({"path_key": names, "actual_size": sizes}, schema=LISTING_SCHEMA))
    return fault


def _data_run(run: Run, frames: RowsByTag) -> DataRun:
    """A run over the data files of a share."""
    empty = build_empty_replay_frame(DATA_REPLAY_COLUMNS)
    intervals = frames.get(INTERVAL_ROWS)
    if intervals is None:
        intervals = empty.with_columns(until=pl.lit(None, pl.Int64))
    listed = frames.get(LISTING)
    return DataRun(
        run, intervals, frames.get(CDC_ROWS, empty), pl.DataFrame(schema=LISTING_SCHEMA) if listed is None else listed
    )


class _Files:
    """The stage of single data files; it deals what the other stages need."""

    def __init__(self, rewriting: list[int]) -> None:
        """`rewriting`: versions of the commits that both add and remove."""
        self.rewriting = rewriting

    def __call__(self, run: Run, frames: RowsByTag, deal: BucketWriter) -> Aggregates:
        data = _data_run(run, frames)
        data.check_files_exist()
        self._deal_vectors(data, frames.get(VECTORS), deal)
        for step in FILE_CHECKS:
            if includes_level(run.level, step.level) and step.is_applicable(run):
                step.check(data)
        if run.engine_checks_constraints:
            mark_missing_files_undecided(data)
            found = data.files.rows.filter(pl.col("actual_size").is_not_null())
            deal(LIVE_FILES, found.with_columns(stats=pl.lit(None, pl.String)))
        if any(includes_level(run.level, step.level) for step in COMMIT_CHECKS):
            self._deal_commits(data, deal)
        if any(includes_level(run.level, step.level) and step.is_applicable(run) for step in TABLE_CHECKS):
            deal(_ALL, _with_sizes(data))
        deal(_REFERENCES, collect_references(data))
        return Aggregates()

    def _deal_vectors(self, data: DataRun, written: pl.DataFrame | None, deal: BucketWriter) -> None:
        """BucketWriter stored vectors that are in force by their files; look at all others."""
        if written is None or not data.findings.has_rules_for(deletion_vectors):
            return
        stored = data.files.rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
        stored = stored.with_columns(_vector_file=_vector_files(stored, data)).drop_nulls("_vector_file")
        keys = stored.select("file", "line", "_vector_file").unique(["file", "line"])
        placed = written.join(keys, on=["file", "line"], how="left", maintain_order="left")
        inline = placed.filter(pl.col("_vector_file").is_null()).drop("_vector_file")
        data.findings.evaluate(deletion_vectors, inline)
        placed = placed.drop_nulls("_vector_file")
        deal(_DESCRIPTORS, placed.drop("_vector_file"), placed["_vector_file"])
        deal(_STORED, stored.drop("_vector_file"), stored["_vector_file"])

    def _deal_commits(self, data: DataRun, deal: BucketWriter) -> None:
        """Bucket the actions of commits that change or move rows, and the files that these end, by their version."""
        written, ended = split_written_and_ended(data.intervals, [*self.rewriting, *data.versions_with_change_data])
        deal(_WRITTEN, written, written["version"])
        deal(_ENDED, ended, ended["until"])
        deal(_CHANGES, data.changes.rows, data.changes.rows["version"])


def _vector_files(rows: pl.DataFrame, data: DataRun) -> pl.Series:
    """The file of each stored vector; null where its descriptor names none, which is a finding of the log."""
    found: list[str | None] = []
    for kind, text in rows.select("dv_storage_type", "dv_path_or_inline").iter_rows():
        try:
            found.append(find_vector_key(DeletionVectorDescriptor(kind, text or "", 0, 0), data.access.store.root))
        except DeletionVectorError:
            found.append(None)
    return pl.Series(found, dtype=pl.String)


def _with_sizes(data: DataRun) -> pl.DataFrame:
    """Adds and removes with the lengths of those files that are live; no statistics."""
    sizes = data.files.rows.select("file", "line", "actual_size")
    rows = data.intervals.with_columns(stats=pl.lit(None, pl.String))
    return rows.join(sizes, on=["file", "line"], how="left", maintain_order="left")


def _look_at_descriptors(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    run.findings.evaluate(deletion_vectors, frames.get(VECTORS, deletion_vectors.frame([])))
    return Aggregates()


def _look_at_stored_vectors(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    if _STORED in frames:
        check_deletion_vectors(_data_run(run, {INTERVAL_ROWS: frames[_STORED]}), frames[_DESCRIPTORS])
    return Aggregates()


def _look_at_commits(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    data = _data_run(run, {CDC_ROWS: frames[_CHANGES]} if _CHANGES in frames else {})
    data.commits = Commits(run.store, frames.get(_WRITTEN, data.intervals), frames.get(_ENDED, data.intervals))
    for step in COMMIT_CHECKS:
        if includes_level(run.level, step.level):
            step.check(data)
    return Aggregates()


def _look_at_all_files(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    if _ALL in frames:
        data = _data_run(run, {INTERVAL_ROWS: frames[_ALL]})
        for step in TABLE_CHECKS:
            if includes_level(run.level, step.level):
                step.check(data)
    return Aggregates()


def _take_inventory(run: Run, frames: RowsByTag, _: BucketWriter) -> Aggregates:
    listed, named = (
        frames.get(LISTING, pl.DataFrame(schema=LISTING_SCHEMA)),
        frames.get(_REFERENCES, build_empty_references()),
    )
    return Aggregates(inventory=build_inventory(listed, named, is_complete=run.listing_error is None))
