"""The stages beside the log: which rows each of them needs together, and in which order they come.

Most steps look at one data file after the other and run share by share. Others need the files of one deletion-vector
file, of one commit, or of the whole table: their rows are dealt anew, without those that they do not look at.
"""

from __future__ import annotations

import polars as pl

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.model.deletion_vectors import DeletionVectorError
from deltaspec.report.values import Inventory
from deltaspec.validate.base_run import Run
from deltaspec.validate.commits import Commits, written_and_ended
from deltaspec.validate.data import LISTED, DataRun
from deltaspec.validate.held_rows import doubt_absent
from deltaspec.validate.inventory import inventory_of, references, references_frame
from deltaspec.validate.path_stage import CDCS, SPANNED, VECTORS
from deltaspec.validate.shares import Deal, Frames, Shares
from deltaspec.validate.steps import BY_COMMIT, BY_FILE, OF_ALL_FILES, reaches
from deltaspec.validate.sums import Sums
from deltaspec.validate.vectors import look_at_vectors
from deltaspec.views.file_actions import deletion_vectors
from deltaspec.views.file_replay import DATA_CHAIN, chain_frame
from deltaspec.wire.storage import Entry
from deltaspec.wire.vector_files import vector_key

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


def look_at_data(run: Run, shares: Shares, sums: Sums) -> Inventory | None:
    """What the level lets be opened beside the log.

    Args:
        run: after it has looked at the log.
        shares: with the rows that its stages handed on.
        sums: what they say of the table.
    """
    if run.files_in_doubt:
        shares.look(_look_at_descriptors, run, (VECTORS,))
        run.findings.doubt_data(f"the live files are not known: {run.files_in_doubt}")
        return None
    run.listing_fault = shares.once(lambda: deal_listing(run, shares))
    shares.look(_Files(sums.rewriting), run, (SPANNED, CDCS, VECTORS, LISTING), opens_files=True)
    shares.look(_look_at_stored_vectors, run, (_DESCRIPTORS, _STORED), opens_files=True)
    shares.drop((VECTORS, _DESCRIPTORS, _STORED, SPANNED, CDCS))
    shares.look(_look_at_commits, run, (_WRITTEN, _ENDED, _CHANGES), opens_files=True)
    shares.look(_look_at_all_files, run, (_ALL,), together=True, opens_files=True)
    shares.drop((_WRITTEN, _ENDED, _CHANGES, _ALL))
    found = shares.look(_take_inventory, run, (LISTING, _REFERENCES))
    return found.inventory or _take_inventory(run, {}, shares.put).inventory


def deal_listing(run: Run, shares: Shares) -> str | None:
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
            shares.put(LISTING, pl.DataFrame({"path_key": names, "actual_size": sizes}, schema=LISTED))
            names, sizes = [], []
    shares.put(LISTING, pl.DataFrame({"path_key": names, "actual_size": sizes}, schema=LISTED))
    return fault


def _data_run(run: Run, frames: Frames) -> DataRun:
    """A run over the data files of a share."""
    empty = chain_frame(DATA_CHAIN)
    spanned = frames.get(SPANNED)
    if spanned is None:
        spanned = empty.with_columns(until=pl.lit(None, pl.Int64))
    listed = frames.get(LISTING)
    return DataRun(run, spanned, frames.get(CDCS, empty), pl.DataFrame(schema=LISTED) if listed is None else listed)


class _Files:
    """The stage of single data files; it deals what the other stages need."""

    def __init__(self, rewriting: list[int]) -> None:
        """`rewriting`: versions of the commits that both add and remove."""
        self.rewriting = rewriting

    def __call__(self, run: Run, frames: Frames, deal: Deal) -> Sums:
        data = _data_run(run, frames)
        data.look_at_files()
        self._deal_vectors(data, frames.get(VECTORS), deal)
        for step in BY_FILE:
            if reaches(run.level, step.level) and step.is_asked(run):
                step.look(data)
        if run.conditions_apart:
            doubt_absent(data)
            found = data.files.rows.filter(pl.col("actual_size").is_not_null())
            deal(LIVE_FILES, found.with_columns(stats=pl.lit(None, pl.String)))
        if any(reaches(run.level, step.level) for step in BY_COMMIT):
            self._deal_commits(data, deal)
        if any(reaches(run.level, step.level) and step.is_asked(run) for step in OF_ALL_FILES):
            deal(_ALL, _with_sizes(data))
        deal(_REFERENCES, references(data))
        return Sums()

    def _deal_vectors(self, data: DataRun, written: pl.DataFrame | None, deal: Deal) -> None:
        """Deal stored vectors that are in force by their files; look at all others."""
        if written is None or not data.findings.wants(deletion_vectors):
            return
        stored = data.files.rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
        stored = stored.with_columns(_vector_file=_vector_files(stored, data)).drop_nulls("_vector_file")
        keys = stored.select("file", "line", "_vector_file").unique(["file", "line"])
        placed = written.join(keys, on=["file", "line"], how="left", maintain_order="left")
        inline = placed.filter(pl.col("_vector_file").is_null()).drop("_vector_file")
        data.findings.look(deletion_vectors, inline)
        placed = placed.drop_nulls("_vector_file")
        deal(_DESCRIPTORS, placed.drop("_vector_file"), placed["_vector_file"])
        deal(_STORED, stored.drop("_vector_file"), stored["_vector_file"])

    def _deal_commits(self, data: DataRun, deal: Deal) -> None:
        """Deal the actions of commits that change or move rows, and the files that these end, by their version."""
        written, ended = written_and_ended(data.spanned, [*self.rewriting, *data.versions_with_changes])
        deal(_WRITTEN, written, written["version"])
        deal(_ENDED, ended, ended["until"])
        deal(_CHANGES, data.changes.rows, data.changes.rows["version"])


def _vector_files(rows: pl.DataFrame, data: DataRun) -> pl.Series:
    """The file of each stored vector; null where its descriptor names none, which is a finding of the log."""
    found: list[str | None] = []
    for kind, text in rows.select("dv_storage_type", "dv_path_or_inline").iter_rows():
        try:
            found.append(vector_key(DeletionVectorDescriptor(kind, text or "", 0, 0), data.access.store.root))
        except DeletionVectorError:
            found.append(None)
    return pl.Series(found, dtype=pl.String)


def _with_sizes(data: DataRun) -> pl.DataFrame:
    """Adds and removes with the lengths of those files that are live; no statistics."""
    sizes = data.files.rows.select("file", "line", "actual_size")
    rows = data.spanned.with_columns(stats=pl.lit(None, pl.String))
    return rows.join(sizes, on=["file", "line"], how="left", maintain_order="left")


def _look_at_descriptors(run: Run, frames: Frames, _: Deal) -> Sums:
    run.findings.look(deletion_vectors, frames.get(VECTORS, deletion_vectors.frame([])))
    return Sums()


def _look_at_stored_vectors(run: Run, frames: Frames, _: Deal) -> Sums:
    if _STORED in frames:
        look_at_vectors(_data_run(run, {SPANNED: frames[_STORED]}), frames[_DESCRIPTORS])
    return Sums()


def _look_at_commits(run: Run, frames: Frames, _: Deal) -> Sums:
    data = _data_run(run, {CDCS: frames[_CHANGES]} if _CHANGES in frames else {})
    data.commits = Commits(run.store, frames.get(_WRITTEN, data.spanned), frames.get(_ENDED, data.spanned))
    for step in BY_COMMIT:
        if reaches(run.level, step.level):
            step.look(data)
    return Sums()


def _look_at_all_files(run: Run, frames: Frames, _: Deal) -> Sums:
    if _ALL in frames:
        data = _data_run(run, {SPANNED: frames[_ALL]})
        for step in OF_ALL_FILES:
            if reaches(run.level, step.level):
                step.look(data)
    return Sums()


def _take_inventory(run: Run, frames: Frames, _: Deal) -> Sums:
    listed, named = frames.get(LISTING, pl.DataFrame(schema=LISTED)), frames.get(_REFERENCES, references_frame())
    return Sums(inventory=inventory_of(listed, named, is_whole=run.listing_fault is None))
