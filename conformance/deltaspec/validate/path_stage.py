"""The stage of the log: what the file actions of a share say, each path beside its other actions and beside claims."""

from __future__ import annotations

import polars as pl

from deltaspec.validate.added_vectors import look_at_added_vectors
from deltaspec.validate.bare_adds import look_at_bare_adds
from deltaspec.validate.base_run import Run
from deltaspec.validate.row_id_history import suspended_since, tables_begin
from deltaspec.validate.row_ids import asks_for_row_ids, look_at_row_id_ranges
from deltaspec.validate.shares import Deal, Frames, Shares
from deltaspec.validate.sums import Sums
from deltaspec.validate.type_changes import older_files
from deltaspec.views.checkpoint_parts import split_paths
from deltaspec.views.file_actions import file_history
from deltaspec.views.file_pairs import history_of_commits
from deltaspec.views.file_replay import CHAIN, DATA_CHAIN, chain_frame, live_at, spans
from deltaspec.views.rearrangements import may_matter, rearrangements, rearranging_commits
from deltaspec.views.snapshot import snapshot_files, snapshot_rows

CHAIN_ROWS, CDCS, BARE, VECTORS, CLAIMS = "chain", "cdcs", "bare adds", "vectors", "claim "
"""Tags of the rows that reading the log gives: adds and removes, cdc actions, adds whose statistics leave out what is
asked, descriptors that data levels look into, and, with its name behind it, each claim's file actions."""
SPANNED, REARRANGED, WITH_ROW_IDS = "spanned", "rearranged", "with row ids"
"""Tags of what the stage hands on: adds and removes with the versions they are in force."""


def look_at_log(run: Run, shares: Shares) -> Sums:
    """Replay the file actions of every share and look at them, and then at what shares have to be put together for."""
    sums = shares.look(look_at_paths, run, (CHAIN_ROWS, CDCS, BARE, CLAIMS))
    shares.drop((CHAIN_ROWS, BARE, CLAIMS))
    if run.files_in_doubt is not None:
        run.findings.doubt((rearrangements,), run.files_in_doubt)
    elif sums.rearranging and run.findings.wants(rearrangements):
        shares.look(_look_at_rearrangements, run, (REARRANGED,), together=True)
    shares.look(_look_at_row_ids, run, (WITH_ROW_IDS,), together=True)
    shares.drop((REARRANGED, WITH_ROW_IDS))
    return sums


def look_at_paths(run: Run, frames: Frames, deal: Deal) -> Sums:
    """Replay a share of the log. A `Stage`."""
    empty = chain_frame(CHAIN if run.level == "log" else DATA_CHAIN)
    chain, cdcs = frames.pop(CHAIN_ROWS, empty), frames.get(CDCS, empty)
    sums = Sums()
    if run.state.unknown_reader_features == [] and run.findings.wants(file_history):
        history = history_of_commits(chain, cdcs, suspended_since(run), tables_begin(run))
        run.findings.look(file_history, history)
    look_at_added_vectors(run, chain)
    look_at_bare_adds(run, chain, frames.get(BARE))
    spanned = spans(chain, run.revision)
    for claim in run.claims:
        claim.look(run, spanned, frames.get(claim.tag, empty), sums)
    for tag, parts in run.multipart.items():
        sums.split_paths[tag] += split_paths(chain if tag == CHAIN_ROWS else frames.get(tag, empty), parts)
    if run.findings.wants(snapshot_files):
        live = live_at(spanned, run.plan.version)
        run.findings.look(snapshot_files, snapshot_rows(live, run.plan.version))
    sums.older_files = older_files(run, spanned)
    sums.look_at_commits(spanned)
    _hand_on(run, spanned, sums, deal)
    return sums


def _hand_on(run: Run, spanned: pl.DataFrame, sums: Sums, deal: Deal) -> None:
    """What later stages look at, as far as the table and the level ask for it."""
    is_only = run.share_count == 1
    if run.files_in_doubt is None and run.findings.wants(rearrangements) and (sums.rearranging or not is_only):
        deal(REARRANGED, spanned if is_only else _narrow(may_matter(spanned)))
    if asks_for_row_ids(run):
        deal(WITH_ROW_IDS, spanned if is_only else _narrow(spanned))
    if run.level != "log" and run.files_in_doubt is None:
        deal(SPANNED, spanned)


def _narrow(spanned: pl.DataFrame) -> pl.DataFrame:
    """The rows without their longest texts, of which no stage that puts shares together has a use."""
    return spanned.select(*CHAIN, "until").with_columns(
        pl.lit(None, CHAIN[name]).alias(name) for name in ("stats", "partition_text")
    )


def _look_at_rearrangements(run: Run, frames: Frames, _: Deal) -> Sums:
    if REARRANGED in frames:
        run.findings.look(rearrangements, rearranging_commits(frames[REARRANGED]))
    return Sums()


def _look_at_row_ids(run: Run, frames: Frames, _: Deal) -> Sums:
    empty = chain_frame(CHAIN).with_columns(until=pl.lit(None, pl.Int64))
    look_at_row_id_ranges(run, frames.get(WITH_ROW_IDS, empty))
    return Sums()
