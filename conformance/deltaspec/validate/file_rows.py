"""File actions of one state of the table: looked at by themselves, then kept as far as later stages need them."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pyarrow as pa

from deltaspec.validate.base_run import Run
from deltaspec.validate.dealing import place_of
from deltaspec.validate.path_stage import BARE, CDCS, VECTORS
from deltaspec.validate.shares import Deal
from deltaspec.views.bare_adds import bare_rows
from deltaspec.views.file_actions import deletion_vectors, file_actions
from deltaspec.views.file_facts import FileContext, Provenance, deletion_vectors_of, file_actions_of, file_facts
from deltaspec.views.file_replay import CHAIN, DATA_CHAIN, chain_frame, chain_rows
from deltaspec.views.log_facts import fault_row, line_frames
from deltaspec.views.log_files import lines
from deltaspec.wire.checkpoint_files import CheckpointRead
from deltaspec.wire.file_rows import FILE_ROWS
from deltaspec.wire.log_outcomes import LineOutcomes


def look_at_file_rows(run: Run, table: pa.Table, place: Provenance, context: FileContext, put: Deal) -> pl.DataFrame:
    """Look at file actions of one state of the table.

    Args:
        run: what is found goes to its findings.
        table: columns of `FILE_ROWS`.
        place: where they stand.
        context: the state that they are judged against.
        put: takes rows of cdc actions, of adds that leave out statistics, and of descriptors, each with their tag.

    Returns:
        What replay keeps of the adds and removes: rows of `CHAIN`, above level `log` of `DATA_CHAIN`.
    """
    schema = CHAIN if run.level == "log" else DATA_CHAIN
    if table.num_rows == 0:
        return chain_frame(schema)
    values = run.level == "rows"
    facts = file_facts(table.select(FILE_ROWS.names), place, context, compared=run.compared or values)
    if context.partition_columns is None:
        for each in [place.file] if isinstance(place.file, str) else dict.fromkeys(place.file):
            run.findings.doubt((file_actions,), "the metadata they are judged against is not known", each)
    run.findings.look(file_actions, file_actions_of(facts))
    put(BARE, bare_rows(facts, context.clustered_since))
    if run.findings.wants(deletion_vectors):
        vectors = deletion_vectors_of(facts)
        if run.level == "log":
            run.findings.look(deletion_vectors, vectors)
        else:  # judged once it is known which of them are live
            keys = facts.filter(pl.col("has_deletion_vector"))["path_key"]
            put(VECTORS, vectors, place_of(keys))
    put(CDCS, chain_rows(facts, compared=False, cdc=True, schema=schema, values=values))
    timed = run.clock_ms is not None and run.level != "log"
    return chain_rows(facts, compared=run.compared, schema=schema, values=values, timed=timed)


def look_at_lines(run: Run, read: Iterable[tuple[str, int, LineOutcomes]]) -> None:
    """Look at the lines of JSON log files, each with its version."""
    if run.findings.wants(lines):
        for frame in line_frames(read):
            run.findings.look(lines, frame)


def look_at_checkpoint_lines(run: Run, read: CheckpointRead) -> None:
    """Look at the lines, and the odd rows, of what was read of a checkpoint."""
    version = read.checkpoint.version
    look_at_lines(run, ((file, version, log.lines) for file, log in read.json_lines))
    rows = [fault_row(file, version, line, fault) for file, line, fault in read.faults if file.endswith(".parquet")]
    run.findings.look_at_rows(lines, rows)
