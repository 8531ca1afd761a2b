"""What claims to equal replay, beside replay, on one share of the table's files.

A claim's file actions are dealt to the same shares as those of the judged history, so that what differs is seen where
it lies. What goes for the claim as a whole is told by `deltaspec.validation.log.derived_files` once all shares are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from deltaspec.model.log.version_checksum import VersionChecksum
from deltaspec.model.schema.data_types import DataType
from deltaspec.validation.aggregates import Aggregates
from deltaspec.views.files.file_actions import file_history
from deltaspec.views.files.file_history_rows import build_derived_file_history
from deltaspec.views.files.file_replay import find_live_files
from deltaspec.views.log.checkpoints import replay_differences
from deltaspec.views.log.derived_file_rows import LiveFileTotals, all_files_fault
from deltaspec.views.log.replay_differences import DerivedFile, compare_files
from deltaspec.wire.log.checkpoint_summary import SHORTEST_STATISTICS

if TYPE_CHECKING:
    from deltaspec.validation.base_run import Run

_IN_FORCE = ("kind", "version", "until")
Types = Mapping[str, DataType] | None
"""Partition columns by physical name; None where they are not known."""


@dataclass(frozen=True)
class CheckpointFileActions:
    """The file actions of a checkpoint that replay leads to."""

    tag: str
    """Of its rows among those of a share."""
    derived_file: DerivedFile
    is_complete: bool
    """All of it could be read."""
    types: Types
    retention_cutoff_ms: int | None
    """Tombstones of this deletion timestamp or a later one had not expired; None: nothing is known."""

    def compare_bucket(self, run: Run, intervals: pl.DataFrame, rows: pl.DataFrame, aggregates: Aggregates) -> None:
        """Compare a share of it with what replay has there."""
        run.findings.evaluate(file_history, build_derived_file_history(rows))
        if not self.is_complete or run.replay_blocked_reason is not None:
            return
        version = self.derived_file.version
        live = find_live_files(intervals, version)
        said = live.filter(pl.col("stats").str.len_bytes() >= SHORTEST_STATISTICS).select("path_key")
        known = rows.filter(pl.col("kind") == "add").join(said, on="path_key", how="semi")
        aggregates.adds_with_known_stats[self.tag].update(dict(known.group_by("file").len().iter_rows()))
        differences = compare_files(
            self.derived_file,
            rows,
            pl.concat([live, find_live_files(intervals, version, "remove")]),
            self.types,
            tombstones_complete=run.plan.base is None,
            retention_cutoff_ms=self.retention_cutoff_ms,
            revision=run.revision,
        )
        for some in differences:
            run.findings.evaluate_rows(replay_differences, some)


@dataclass(frozen=True)
class CompactionFileActions:
    """The file actions of a log compaction."""

    tag: str
    derived_file: DerivedFile
    start: int
    is_decoded: bool
    """Every action of it could be decoded."""
    types: Types

    def compare_bucket(self, run: Run, intervals: pl.DataFrame, rows: pl.DataFrame, aggregates: Aggregates) -> None:
        """Compare a share of it with what its commits leave there."""
        run.findings.evaluate(file_history, build_derived_file_history(rows))
        if not self.is_decoded or run.replay_blocked_reason is not None:
            return
        end = self.derived_file.version
        within = pl.col("version").is_between(self.start, end) & (pl.col("source") == "commit")
        ends_later = pl.col("until").is_null() | (pl.col("until") > end)
        differences = compare_files(
            self.derived_file,
            rows,
            intervals.filter(within & ends_later).drop("until"),
            self.types,
            tombstones_complete=True,
            revision=run.revision,
        )
        for some in differences:
            run.findings.evaluate_rows(replay_differences, [{**row, "may_have_expired": False} for row in some])


@dataclass(frozen=True)
class ChecksumFileActions:
    """What a version checksum says of the live files of its version."""

    tag: str
    """Of the rows of its `allFiles`."""
    derived_file: DerivedFile
    stated: VersionChecksum | None
    """Without `allFiles`, whose rows are dealt to the shares; None where it could not be decoded."""
    lists_files: bool
    types: Types

    def compare_bucket(self, run: Run, intervals: pl.DataFrame, rows: pl.DataFrame, aggregates: Aggregates) -> None:
        """Add up the live files of a share, and compare those that are listed."""
        version = self.derived_file.version
        if run.replay_blocked_reason is not None or version not in run.compared_states:
            return
        # all columns of all live files take much memory, and what is added up takes few
        summed = find_live_files(intervals.select(*_IN_FORCE, *LiveFileTotals.COLUMNS), version)
        found = LiveFileTotals.from_files(summed, self.stated)
        aggregates.live[version] = aggregates.live[version] + found if version in aggregates.live else found
        if not self.lists_files:
            return
        live = find_live_files(intervals, version)
        differences = compare_files(self.derived_file, rows, live, self.types, tombstones_complete=True)
        fault = all_files_fault(rows, chain.from_iterable(differences))
        if fault is not None:
            aggregates.all_files_faults[version] = min(fault, aggregates.all_files_faults.get(version, fault))


DerivedFileActions = CheckpointFileActions | CompactionFileActions | ChecksumFileActions
