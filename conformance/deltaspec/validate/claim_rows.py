"""What claims to equal replay, beside replay, on one share of the table's files.

A claim's file actions are dealt to the same shares as those of the judged history, so that what differs is seen where
it lies. What goes for the claim as a whole is told by `deltaspec.validate.claims` once all shares are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from deltaspec.model.data_types import DataType
from deltaspec.model.version_checksum import VersionChecksum
from deltaspec.validate.sums import Sums
from deltaspec.views.checkpoints import checkpoint_rows
from deltaspec.views.claim_facts import LiveFiles, all_files_fault
from deltaspec.views.differences import Claim, file_differences
from deltaspec.views.file_actions import file_history
from deltaspec.views.file_pairs import history_of_claim
from deltaspec.views.file_replay import live_at
from deltaspec.wire.checkpoint_contents import SHORTEST_STATISTICS

if TYPE_CHECKING:
    from deltaspec.validate.base_run import Run

_IN_FORCE = ("kind", "version", "until")
Types = Mapping[str, DataType] | None
"""Partition columns by physical name; None where they are not known."""


@dataclass(frozen=True)
class CheckpointFiles:
    """The file actions of a checkpoint that replay leads to."""

    tag: str
    """Of its rows among those of a share."""
    claim: Claim
    is_whole: bool
    """All of it could be read."""
    types: Types
    kept_since_ms: int | None
    """Tombstones of this deletion timestamp or a later one had not expired; None: nothing is known."""

    def look(self, run: Run, spanned: pl.DataFrame, rows: pl.DataFrame, sums: Sums) -> None:
        """Compare a share of it with what replay has there."""
        run.findings.look(file_history, history_of_claim(rows))
        if not self.is_whole or run.files_in_doubt is not None:
            return
        version = self.claim.version
        live = live_at(spanned, version)
        said = live.filter(pl.col("stats").str.len_bytes() >= SHORTEST_STATISTICS).select("path_key")
        known = rows.filter(pl.col("kind") == "add").join(said, on="path_key", how="semi")
        sums.known_statistics[self.tag].update(dict(known.group_by("file").len().iter_rows()))
        differences = file_differences(
            self.claim,
            rows,
            pl.concat([live, live_at(spanned, version, "remove")]),
            self.types,
            tombstones_complete=run.plan.base is None,
            kept_since_ms=self.kept_since_ms,
            revision=run.revision,
        )
        for some in differences:
            run.findings.look_at_rows(checkpoint_rows, some)


@dataclass(frozen=True)
class CompactionFiles:
    """The file actions of a log compaction."""

    tag: str
    claim: Claim
    start: int
    is_decoded: bool
    """Every action of it could be decoded."""
    types: Types

    def look(self, run: Run, spanned: pl.DataFrame, rows: pl.DataFrame, sums: Sums) -> None:
        """Compare a share of it with what its commits leave there."""
        run.findings.look(file_history, history_of_claim(rows))
        if not self.is_decoded or run.files_in_doubt is not None:
            return
        end = self.claim.version
        within = pl.col("version").is_between(self.start, end) & (pl.col("source") == "commit")
        ends_later = pl.col("until").is_null() | (pl.col("until") > end)
        differences = file_differences(
            self.claim,
            rows,
            spanned.filter(within & ends_later).drop("until"),
            self.types,
            tombstones_complete=True,
            revision=run.revision,
        )
        for some in differences:
            run.findings.look_at_rows(checkpoint_rows, [{**row, "expired_possible": False} for row in some])


@dataclass(frozen=True)
class ChecksumFiles:
    """What a version checksum says of the live files of its version."""

    tag: str
    """Of the rows of its `allFiles`."""
    claim: Claim
    stated: VersionChecksum | None
    """Without `allFiles`, whose rows are dealt to the shares; None where it could not be decoded."""
    lists_files: bool
    types: Types

    def look(self, run: Run, spanned: pl.DataFrame, rows: pl.DataFrame, sums: Sums) -> None:
        """Add up the live files of a share, and compare those that are listed."""
        version = self.claim.version
        if run.files_in_doubt is not None or version not in run.states:
            return
        # all columns of all live files take much memory, and what is added up takes few
        summed = live_at(spanned.select(*_IN_FORCE, *LiveFiles.COLUMNS), version)
        found = LiveFiles.of(summed, self.stated)
        sums.live[version] = sums.live[version] + found if version in sums.live else found
        if not self.lists_files:
            return
        live = live_at(spanned, version)
        differences = file_differences(self.claim, rows, live, self.types, tombstones_complete=True)
        fault = all_files_fault(rows, chain.from_iterable(differences))
        if fault is not None:
            sums.all_files_faults[version] = min(fault, sums.all_files_faults.get(version, fault))


Claimed = CheckpointFiles | CompactionFiles | ChecksumFiles
