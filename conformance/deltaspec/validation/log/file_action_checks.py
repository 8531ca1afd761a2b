"""File actions of one state of the table: looked at by themselves, then kept as far as later stages need them."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from deltaspec.validation.base_run import Run
from deltaspec.validation.bucketing import normalize_path_keys
from deltaspec.validation.buckets import BucketWriter
from deltaspec.validation.log.replay_stage import ADDS_WITHOUT_STATS_ROWS, CDC_ROWS, VECTORS
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
    build_empty_replay_frame,
    select_replay_columns,
)
from deltaspec.views.log.log_file_rows import build_fault_row, iter_line_frames
from deltaspec.views.log.log_files import lines
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.file_action_rows import FILE_ACTION_SCHEMA
from deltaspec.wire.log.line_outcomes import LineOutcomes


def check_file_actions(
    run: Run, table: pa.Table, place: Provenance, context: FileContext, put: BucketWriter
) -> pl.DataFrame:
    """Look at file actions of one state of the table.

    Args:
        run: what is found goes to its findings.
        table: columns of `FILE_ACTION_SCHEMA`.
        place: where they stand.
        context: the state that they are judged against.
        put: takes rows of cdc actions, of adds that leave out statistics, and of descriptors, each with their tag.

    Returns:
        What replay keeps of the adds and removes: rows of `REPLAY_COLUMNS`, above level `log` of `DATA_REPLAY_COLUMNS`.
    """
    schema = REPLAY_COLUMNS if run.level == "log" else DATA_REPLAY_COLUMNS
    if table.num_rows == 0:
        return build_empty_replay_frame(schema)
    values = run.level == "rows"
    facts = build_file_facts(table.select(FILE_ACTION_SCHEMA.names), place, context, compared=run.compared or values)
    if context.partition_columns is None:
        for each in [place.file] if isinstance(place.file, str) else dict.fromkeys(place.file):
            run.findings.mark_undecided((file_actions,), "the metadata they are judged against is not known", each)
    run.findings.evaluate(file_actions, select_file_actions(facts))
    put(ADDS_WITHOUT_STATS_ROWS, collect_adds_without_stats(facts, context.clustered_since))
    if run.findings.has_rules_for(deletion_vectors):
        vectors = select_deletion_vectors(facts)
        if run.level == "log":
            run.findings.evaluate(deletion_vectors, vectors)
        else:  # judged once it is known which of them are live
            keys = facts.filter(pl.col("has_deletion_vector"))["path_key"]
            put(VECTORS, vectors, normalize_path_keys(keys))
    put(CDC_ROWS, select_replay_columns(facts, compared=False, cdc=True, schema=schema, values=values))
    timed = run.clock_ms is not None and run.level != "log"
    return select_replay_columns(facts, compared=run.compared, schema=schema, values=values, timed=timed)


def check_lines(run: Run, read: Iterable[tuple[str, int, LineOutcomes]]) -> None:
    """Look at the lines of JSON log files, each with its version."""
    if run.findings.has_rules_for(lines):
        for frame in iter_line_frames(read):
            run.findings.evaluate(lines, frame)


def check_checkpoint_lines(run: Run, read: ParsedCheckpoint) -> None:
    """Look at the lines, and the odd rows, of what was read of a checkpoint."""
    version = read.checkpoint.version
    check_lines(run, ((file, version, log.lines) for file, log in read.json_lines))
    rows = [
        build_fault_row(file, version, line, fault) for file, line, fault in read.faults if file.endswith(".parquet")
    ]
    run.findings.evaluate_rows(lines, rows)
