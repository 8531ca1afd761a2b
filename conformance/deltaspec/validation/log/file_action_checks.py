"""Check single file actions and lines, and reduce file actions to the columns that later stages need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import polars as pl
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.validation.bucketing import normalize_path_keys
from deltaspec.validation.buckets import PutRows
from deltaspec.validation.findings import Findings
from deltaspec.validation.log.facts import ReadContext
from deltaspec.validation.log.replay_stage import (
    ADDS_WITHOUT_STATS_ROWS,
    CDC_ROWS,
    EARLIER_CDC_ROWS,
    EARLIER_ROWS,
    REPLAY_ROWS,
    VECTORS,
)
from deltaspec.views.data.column_facts import column_facts
from deltaspec.views.data.data_files import data_files
from deltaspec.views.files.adds_without_stats import collect_adds_without_stats
from deltaspec.views.files.file_action_facts import (
    FileContext,
    Provenance,
    build_file_facts,
    select_deletion_vectors,
    select_file_actions,
)
from deltaspec.views.files.file_actions import deletion_vectors, file_actions
from deltaspec.views.files.file_replay import (
    DATA_REPLAY_COLUMNS,
    REPLAY_COLUMNS,
    select_replay_columns,
)
from deltaspec.views.files.statistics_facts import TOO_DEEP
from deltaspec.views.files.typed_copies import MergedCopies, merge_typed_columns, typed_copies
from deltaspec.views.log.log_file_rows import build_fault_row, iter_line_frames
from deltaspec.views.log.log_files import lines
from deltaspec.views.table.proposals import Row, build_proposed_file_rows, proposed_files
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA
from deltaspec.wire.log.line_outcomes import LineOutcomes
from deltaspec.wire.log.stats_parsed import PARSED_PARTITION_VALUES, PARSED_STATISTICS, TypedColumns

_COMPARISON_RULES = {PARSED_STATISTICS: "CKP080", PARSED_PARTITION_VALUES: "CKP081"}
"""Rule that compares each typed column with its text."""
_COUNTING_VIEWS = (file_actions, deletion_vectors, data_files)
"""Views of single files with the number of records."""


class StateActions(msgspec.Struct, frozen=True):
    """File actions that belong to one state of the table."""

    table: pa.Table
    """Columns of `FILE_ACTION_SCHEMA`."""
    provenance: Provenance
    """File and version of each row."""
    context: FileContext
    """The state of the table."""
    tag: str = REPLAY_ROWS
    """Tag of the adds and removes. For `EARLIER_ROWS` only rules of level `log` are prepared, and rules that need
    unknown metadata do not apply."""
    typed: TypedColumns | None = None
    """Typed columns of the adds, from a Parquet checkpoint."""
    kept_paths: pl.Series | None = None
    """Hashes of the keys of the paths whose rows are read; None for all. Statistics of others are checked, not put."""

    def without_rows(self) -> StateActions:
        """Return this without its rows, so that their memory can be freed once their facts are built."""
        return replace(self, table=self.table.schema.empty_table(), typed=None)


class FileActionFacts(msgspec.Struct, frozen=True):
    """Facts of file actions that do not depend on the rest of the log."""

    merged: MergedCopies
    """Without its table."""
    facts: pl.DataFrame
    """Of `build_file_facts`."""
    proposed: list[Row]
    """Rows of `proposed_files`."""


def check_file_actions(reading: ReadContext, findings: Findings, actions: StateActions, put: PutRows) -> None:
    """Check file actions, and put the replay columns of adds and removes. See `check_file_action_facts`."""
    if actions.table.num_rows:
        check_file_action_facts(reading, findings, actions, build_file_action_facts(reading, actions), put)


def build_file_action_facts(reading: ReadContext, actions: StateActions) -> FileActionFacts:
    """Build the facts for `check_file_action_facts`. This takes most of the time, and can run in any thread."""
    table = actions.table
    merged = (
        MergedCopies(table) if actions.typed is None else merge_typed_columns(table, actions.typed, actions.context)
    )
    facts = build_file_facts(
        merged.table.select(FILE_ACTION_SCHEMA.names),
        actions.provenance,
        actions.context,
        compared=reading.compares_files or reading.options.level == "rows",
        stats_are_typed=merged.stats_are_typed,
    )
    proposed = []
    if actions.context.proposals is not None:
        file, version = actions.provenance.file, actions.provenance.version
        proposed = build_proposed_file_rows(merged.table, file, version, actions.context.proposals)
    merged.table = table.schema.empty_table()  # the facts contain everything that is needed from its rows
    return FileActionFacts(merged, facts, proposed)


def check_file_action_facts(
    reading: ReadContext, findings: Findings, actions: StateActions, built: FileActionFacts, put: PutRows
) -> None:
    """Check file actions of one table state, and put the replay columns of adds and removes.

    Args:
        reading: what the log is read with.
        findings: receives what is found.
        actions: source of the facts; its rows are not read.
        built: of `build_file_action_facts`.
        put: receives adds and removes with `REPLAY_COLUMNS`, above level `log` with `DATA_REPLAY_COLUMNS`; and cdc
            actions, adds without statistics and deletion-vector descriptors, each with their tag.
    """
    options, is_earlier = reading.options, actions.tag == EARLIER_ROWS
    provenance, context, facts = actions.provenance, actions.context, built.facts
    level = "log" if is_earlier else options.level
    schema = REPLAY_COLUMNS if level == "log" else DATA_REPLAY_COLUMNS
    values = level == "rows"
    _check_typed_copies(findings, built.merged, provenance)
    if context.unknown_cause is not None and not is_earlier:
        findings.mark_undecided((file_actions,), *context.unknown_cause)
    elif context.unknown_reason is not None and not is_earlier:
        for file in [provenance.file] if isinstance(provenance.file, str) else dict.fromkeys(provenance.file):
            findings.mark_undecided((file_actions,), context.unknown_reason, file)
    for file in facts.filter(pl.col("stats_fault") == TOO_DEEP)["file"].unique().to_list():
        findings.mark_rule_undecided("FIL016", f"statistics are {TOO_DEEP}", file)
    findings.evaluate(file_actions, select_file_actions(facts))
    findings.evaluate_rows(proposed_files, built.proposed)
    if provenance.source == "commit" and not is_earlier:
        put(ADDS_WITHOUT_STATS_ROWS, collect_adds_without_stats(facts, context.clustered_since))
    if findings.has_rules_for(deletion_vectors):
        vectors = select_deletion_vectors(facts)
        if level == "log":
            findings.evaluate(deletion_vectors, vectors)
        else:  # evaluated once it is known which of them are live
            keys = facts.filter(pl.col("has_deletion_vector"))["path_key"]
            put(VECTORS, vectors, normalize_path_keys(keys))
    if provenance.source == "commit":  # a compaction does not show which commit has a cdc action
        cdcs = select_replay_columns(facts, compared=False, cdc=True, schema=schema, values=values)
        put(EARLIER_CDC_ROWS if is_earlier else CDC_ROWS, cdcs)
    timed = options.clock_ms is not None and level != "log"
    for rows, are_read in _split_by_paths(facts, actions.kept_paths):
        values = are_read and level == "rows"
        put(
            actions.tag,
            select_replay_columns(rows, compared=reading.compares_files, schema=schema, values=values, timed=timed),
        )


def _split_by_paths(facts: pl.DataFrame, kept_paths: pl.Series | None) -> Iterator[tuple[pl.DataFrame, bool]]:
    """Yield the facts of the kept paths and of the others, with whether they are of the kept paths."""
    if kept_paths is None:
        yield facts, True
        return
    is_kept = facts["path_key"].hash().is_in(kept_paths.implode())
    if is_kept.any():
        yield facts.filter(is_kept), True
        yield facts.filter(~is_kept), False
    else:
        yield facts, False


def _check_typed_copies(findings: Findings, merged: MergedCopies, provenance: Provenance) -> None:
    """Check the typed columns of a checkpoint file against the text of their rows."""
    findings.evaluate_rows(
        typed_copies, [{"file": provenance.file, "version": provenance.version, **row} for row in merged.rows]
    )
    for name, reasons in merged.unread.items():
        for reason in reasons:
            file = str(provenance.file)
            findings.mark_rule_undecided(_COMPARISON_RULES[name], reason, file)
            if name == PARSED_STATISTICS and merged.needs_typed_statistics:
                findings.mark_undecided((column_facts,), reason, file)
            if name == PARSED_STATISTICS and merged.lost_statistics:
                findings.mark_undecided(_COUNTING_VIEWS, reason, file, read_columns=frozenset({"num_records"}))


def check_lines(findings: Findings, read: Iterable[tuple[str, int, LineOutcomes]]) -> None:
    """Check the lines of JSON log files, given as file, version and outcomes."""
    if findings.has_rules_for(lines):
        for frame in iter_line_frames(read):
            findings.evaluate(lines, frame)


def check_checkpoint_lines(findings: Findings, read: ParsedCheckpoint) -> None:
    """Check the JSON lines of a checkpoint, and its Parquet rows that could not be decoded."""
    version = read.checkpoint.version
    check_lines(findings, ((file, version, log.lines) for file, log in read.json_lines))
    rows = [
        build_fault_row(file, version, line, fault) for file, line, fault in read.faults if file.endswith(".parquet")
    ]
    findings.evaluate_rows(lines, rows)
