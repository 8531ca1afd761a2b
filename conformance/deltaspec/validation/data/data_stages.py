"""The stages of files outside the log, in their order: each groups the rows that its checks need together.

Most checks need one data file at a time and run bucket by bucket. Others need all data files that share a
deletion-vector file, all files of one commit, or all files of the table. Their rows are put into buckets again, by
another key and without unused columns.
"""

from __future__ import annotations

from contextlib import nullcontext

import msgspec
import polars as pl
from msgspec.structs import replace

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.features.catalog_managed import FEATURE
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.report.report_types import Hints, Inventory
from deltaspec.validation.aggregates import Aggregates
from deltaspec.validation.buckets import Buckets, RowsByTag, StageOutput
from deltaspec.validation.data.check_registry import COMMIT_CHECKS, FILE_CHECKS, TABLE_CHECKS, select_checks
from deltaspec.validation.data.commit_reader import Commits, split_written_and_ended
from deltaspec.validation.data.data_bucket import LISTING_SCHEMA, DataBucket, SecondListing
from deltaspec.validation.data.deletion_vector_checks import check_deletion_vectors
from deltaspec.validation.data.inventory import build_empty_references, build_inventory, collect_references
from deltaspec.validation.data.listing_stage import list_table
from deltaspec.validation.data.row_constraint_checks import mark_missing_files_undecided
from deltaspec.validation.data.same_content_search import collect_candidates, search_same_content
from deltaspec.validation.data.value_comparison import (
    FILE_ROWS,
    REPEATS,
    VALUES,
    EvaluateFiles,
    FileValues,
    TableCommits,
    compare_values,
)
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import LogFacts
from deltaspec.validation.log.replay_stage import CDC_ROWS, INTERVAL_ROWS, VECTORS
from deltaspec.validation.log.row_id_range_checks import choose_borders
from deltaspec.validation.log.staged_files import read_staged_files
from deltaspec.validation.progress import Progress
from deltaspec.validation.since import NEEDS_ALL_FILES, NEEDS_LISTING
from deltaspec.validation.stopping import leaving_undecided
from deltaspec.views.data.identity_values import identity_values
from deltaspec.views.files.file_actions import deletion_vectors
from deltaspec.views.files.file_replay import DATA_REPLAY_COLUMNS, build_empty_replay_frame
from deltaspec.views.files.retention import removed_files
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.data.identity_value_scan import TOO_FAR_APART, needs_too_much_memory

LISTING = "listing"
"""Tag of the files in the directories of the table, with `LISTING_SCHEMA`."""
LIVE_FILES = "live files"
"""Tag of live data files without statistics, if Spark evaluates the row constraints."""
_SECOND_LISTING = "second listing"
"""Tag of a second listing, if too many files are missing to check each again."""
_REFERENCES = "references"
_DESCRIPTORS = "descriptors"
_STORED_VECTORS = "stored vectors"
_WRITTEN = "written by commits"
_ENDED = "ended by commits"
_CHANGES = "changes"
_ALL_FILES = "all files"
_SIMILAR_FILES = "similar files"
_COLUMNS_OF_REPEATED_VALUES = frozenset({"duplicate_values", "first_duplicate_value"})
"""Columns of `identity_values` that compare files."""
_COLUMNS_OF_STORED_VECTORS = frozenset({"decode_fault", "decoded_cardinality", "decoded_last_row"})
"""Columns of `deletion_vectors` that inline vectors fill at level log, and stored ones when their file is read."""


class CheckedFiles(msgspec.Struct, frozen=True):
    """Which files outside the log were found and checked."""

    inventory: Inventory | None
    """None if the live files are not known, or the directories were not listed."""
    skipped_files: int
    """Number of live files that an earlier report has checked."""
    hints: Hints | None = None
    """None if they were not requested, or the run stopped before."""


def check_data(
    facts: LogFacts, findings: Findings, buckets: Buckets, aggregates: Aggregates, progress: Progress
) -> CheckedFiles:
    """Check the files outside the log that the level includes.

    Args:
        facts: of the log.
        findings: receives what is found.
        buckets: with the rows that the stages of the log produced.
        aggregates: of the stages of the log.
        progress: called while the table is listed.
    """
    if facts.replay_blocked_reason:
        buckets.run_stage(_check_descriptors, facts, findings, (VECTORS,))
        findings.mark_undecided(
            (deletion_vectors,),
            facts.replay_blocked_reason,
            facts.replay_blocked_file,
            read_columns=_COLUMNS_OF_STORED_VECTORS,
        )
        findings.mark_levels_undecided(facts.replay_blocked_reason, facts.replay_blocked_file)
        return CheckedFiles(None, 0)
    if facts.since is not None:
        _mark_checks_of_all_files(facts, findings)
    else:
        error = list_table(facts, findings, buckets, LISTING, aggregates.live_paths, progress)
        facts = replace(facts, listing_error=error)
    progress("data files", 0, None)
    file_tags = (INTERVAL_ROWS, CDC_ROWS, VECTORS, LISTING)
    checked = buckets.run_stage(_FileStage(aggregates.rewriting), facts, findings, file_tags, opens_files=True)
    if checked.needs_second_listing:
        error = list_table(facts, findings, buckets, _SECOND_LISTING, aggregates.live_paths, progress)
        stage = _FileStage(aggregates.rewriting, SecondListing(error))
        checked.merge(buckets.run_stage(stage, facts, findings, (*file_tags, _SECOND_LISTING), opens_files=True))
        buckets.drop((_SECOND_LISTING,))
    with leaving_undecided("files", "rows"):
        progress("deletion vectors", 0, None)
        buckets.run_stage(_check_stored_vectors, facts, findings, (_DESCRIPTORS, _STORED_VECTORS), opens_files=True)
    buckets.drop((VECTORS, _DESCRIPTORS, _STORED_VECTORS, INTERVAL_ROWS, CDC_ROWS))
    with leaving_undecided("rows"):
        progress("rows of commits", 0, None)
        buckets.run_stage(_check_commits, facts, findings, (_WRITTEN, _ENDED, _CHANGES), opens_files=True)
        _check_all_files(facts, findings, buckets, aggregates)
    buckets.drop((_WRITTEN, _ENDED, _CHANGES, _ALL_FILES))
    if facts.since is not None:
        hints = Hints(reason="--since reads only new files") if facts.options.hints else None
        return CheckedFiles(None, aggregates.skipped_files + checked.skipped_files, hints)
    with leaving_undecided():  # it decides no rule
        if facts.options.ratified is None and (facts.plan.is_unpublished or facts.state.supports(FEATURE)):
            facts = replace(facts, staged_files=read_staged_files(facts.store, facts.plan))
        totals = buckets.run_stage(_take_inventory, facts, findings, (LISTING, _REFERENCES))
        hints = None
        if facts.options.hints:
            found = buckets.run_stage(_search_same_content, facts, findings, (_SIMILAR_FILES,), opens_files=True)
            hints = found.hints or Hints()
            buckets.drop((_SIMILAR_FILES,))
    return CheckedFiles(totals.inventory or _build_inventory(facts, {}), 0, hints)


def _mark_checks_of_all_files(facts: LogFacts, findings: Findings) -> None:
    """Record in the ledger what `--since` cannot check: rules that compare files, or that need the listing."""
    for each in select_checks(TABLE_CHECKS, facts):
        findings.mark_undecided(each.views, NEEDS_ALL_FILES)
    if facts.options.clock_ms is not None:
        findings.mark_undecided((removed_files,), NEEDS_LISTING)


def _open_bucket(facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> DataBucket:
    """Build the data files of a bucket from its rows."""
    empty = build_empty_replay_frame(DATA_REPLAY_COLUMNS)
    intervals = rows.get(INTERVAL_ROWS)
    if intervals is None:
        intervals = empty.with_columns(until=pl.lit(None, pl.Int64))
    listed = rows.get(LISTING)
    if listed is None:
        listed = pl.DataFrame(schema=LISTING_SCHEMA)
    return DataBucket(facts, findings, intervals, rows.get(CDC_ROWS, empty), listed, output.report_progress)


class _FileStage:
    """The stage of single data files. It produces the rows of all later stages."""

    def __init__(self, rewriting: list[int], second_listing: SecondListing | None = None) -> None:
        """Begin the first or second pass.

        Args:
            rewriting: versions of the commits that both add and remove files.
            second_listing: whose files are rows. Only buckets that need it are then checked, and only then.
        """
        self.rewriting = rewriting
        self.second_listing = second_listing

    def __call__(self, facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
        data = _open_bucket(facts, findings, rows, output)
        if data.needs_second_listing != (self.second_listing is not None):
            return Aggregates(needs_second_listing=data.needs_second_listing)
        if self.second_listing is not None:
            data.second_listing = replace(self.second_listing, files=rows.get(_SECOND_LISTING))
        data.check_files_exist()
        self._put_vectors(data, rows.get(VECTORS), output)
        checks = select_checks(FILE_CHECKS, facts)
        if any(each.level == "rows" for each in checks):
            data.access.keep_small_files()
        for each in checks:
            # the footers of other buckets may not have been checked
            has_footers = each.level == "rows" and facts.bucket_count == 1
            with leaving_undecided("files", "rows") if has_footers else nullcontext():
                each.check(data)
        if facts.constraints_on_spark:
            mark_missing_files_undecided(data)
            existing = data.files.rows.filter(pl.col("actual_size").is_not_null())
            output.put(LIVE_FILES, existing.with_columns(stats=pl.lit(None, pl.String)))
        if select_checks(COMMIT_CHECKS, facts):
            self._put_commits(data, output)
        if facts.since is not None:
            return Aggregates(skipped_files=data.skipped_files)
        if select_checks(TABLE_CHECKS, facts):
            output.put(_ALL_FILES, _with_sizes(data))
        if facts.options.hints:
            output.put(_SIMILAR_FILES, *collect_candidates(data))
        output.put(_REFERENCES, collect_references(data))
        return Aggregates()

    def _put_vectors(self, data: DataBucket, written: pl.DataFrame | None, output: StageOutput) -> None:
        """Put the stored vectors of live files into buckets by vector file. Check all other vectors here."""
        if written is None or not data.findings.has_rules_for(deletion_vectors):
            return
        stored = data.files.rows.filter(pl.col("dv_storage_type").is_in(["u", "p"]))
        stored = stored.with_columns(_vector_file=_find_vector_files(stored, data)).drop_nulls("_vector_file")
        keys = stored.select("file", "line", "_vector_file").unique(["file", "line"])
        located = written.join(keys, on=["file", "line"], how="left", maintain_order="left")
        others = located.filter(pl.col("_vector_file").is_null()).drop("_vector_file")
        data.findings.evaluate(deletion_vectors, others)
        located = located.drop_nulls("_vector_file")
        output.put(_DESCRIPTORS, located.drop("_vector_file"), located["_vector_file"])
        output.put(_STORED_VECTORS, stored.drop("_vector_file"), stored["_vector_file"])

    def _put_commits(self, data: DataBucket, output: StageOutput) -> None:
        """Put actions of commits that change or rearrange rows, and files that they end, into buckets by version."""
        versions = data.select_versions([*self.rewriting, *data.facts.versions_with_change_data])
        written, ended = split_written_and_ended(data.intervals, versions)
        output.put(_WRITTEN, written, written["version"])
        output.put(_ENDED, ended, ended["until"])
        output.put(_CHANGES, data.changes.rows, data.changes.rows["version"])


def _find_vector_files(rows: pl.DataFrame, data: DataBucket) -> pl.Series:
    """Return the file of each stored vector; null if its descriptor is malformed, which is a finding of the log."""
    files: list[str | None] = []
    for kind, path in rows.select("dv_storage_type", "dv_path_or_inline").iter_rows():
        try:
            files.append(find_vector_key(DeletionVectorDescriptor(kind, path or "", 0, 0), data.access.store.root))
        except DeletionVectorError:
            files.append(None)
    return pl.Series(files, dtype=pl.String)


def _with_sizes(data: DataBucket) -> pl.DataFrame:
    """Return adds and removes without statistics, with the actual sizes of live files."""
    sizes = data.files.rows.select("file", "line", "actual_size")
    rows = data.intervals.with_columns(stats=pl.lit(None, pl.String))
    return rows.join(sizes, on=["file", "line"], how="left", maintain_order="left")


def _check_descriptors(_: LogFacts, findings: Findings, rows: RowsByTag, __: StageOutput) -> Aggregates:
    findings.evaluate(deletion_vectors, rows.get(VECTORS, deletion_vectors.frame([])))
    return Aggregates()


def _check_stored_vectors(facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
    if _STORED_VECTORS in rows:
        data = _open_bucket(facts, findings, {INTERVAL_ROWS: rows[_STORED_VECTORS]}, output)
        check_deletion_vectors(data, rows[_DESCRIPTORS])
    return Aggregates()


def _check_commits(facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
    data = _open_bucket(facts, findings, {CDC_ROWS: rows[_CHANGES]} if _CHANGES in rows else {}, output)
    data.commits = Commits(facts.store, rows.get(_WRITTEN, data.intervals), rows.get(_ENDED, data.intervals))
    for each in select_checks(COMMIT_CHECKS, facts):
        each.check(data)
    return Aggregates()


def _check_all_files(facts: LogFacts, findings: Findings, buckets: Buckets, aggregates: Aggregates) -> None:
    """Run the checks that compare the rows of all live files."""
    commits = TableCommits(frozenset(aggregates.moving), frozenset(aggregates.list_reusing_versions()))
    borders = choose_borders(aggregates.sampled_row_ids, buckets.count)
    buckets.run_stage(_ReadValues(commits, buckets.count, borders), facts, findings, (_ALL_FILES,), opens_files=True)
    blocks = buckets.run_stage(compare_values, facts, findings, (VALUES,)).value_blocks
    left_out = frozenset(item for item, number in blocks.items() if needs_too_much_memory(number))
    if left_out:
        findings.mark_undecided((identity_values,), TOO_FAR_APART, read_columns=_COLUMNS_OF_REPEATED_VALUES)
    buckets.run_stage(EvaluateFiles(left_out), facts, findings, (FILE_ROWS, REPEATS))
    buckets.drop((VALUES, FILE_ROWS, REPEATS))


class _ReadValues(msgspec.Struct, frozen=True):
    """The stage that reads the values of live files that are compared with the values of all others."""

    commits: TableCommits
    range_count: int
    """Number of ranges of values, one for each bucket."""
    row_id_borders: list[int]

    def __call__(self, facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
        if _ALL_FILES in rows:
            data = _open_bucket(facts, findings, {INTERVAL_ROWS: rows[_ALL_FILES]}, output)
            data.table_commits = self.commits
            data.values = FileValues(output, self.range_count, self.row_id_borders)
            for each in select_checks(TABLE_CHECKS, facts):
                each.check(data)
            data.values.flush()
        return Aggregates()


def _search_same_content(facts: LogFacts, findings: Findings, rows: RowsByTag, output: StageOutput) -> Aggregates:
    if _SIMILAR_FILES not in rows:
        return Aggregates()
    data = _open_bucket(facts, findings, {INTERVAL_ROWS: rows[_SIMILAR_FILES]}, output)
    return Aggregates(hints=search_same_content(data))


def _take_inventory(facts: LogFacts, _: Findings, rows: RowsByTag, __: StageOutput) -> Aggregates:
    return Aggregates(inventory=_build_inventory(facts, rows))


def _build_inventory(facts: LogFacts, rows: RowsByTag) -> Inventory:
    listed = rows.get(LISTING, pl.DataFrame(schema=LISTING_SCHEMA))
    references = rows.get(_REFERENCES, build_empty_references())
    staged = facts.staged_files.named
    return build_inventory(listed, references, staged, is_complete=facts.listing_error is None)
