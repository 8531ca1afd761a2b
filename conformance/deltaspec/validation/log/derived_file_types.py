"""Derived files after reading, and their file actions, which each stage compares with replay.

All are plain values, which executors receive and a resume state contains.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.files.statistics import LeafColumn
from deltaspec.protocol.log.version_checksum import OlderChecksum, VersionChecksum
from deltaspec.protocol.schema.data_types import DataType
from deltaspec.views.log.replay_differences import DerivedFile
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.line_decoder import LogSummary

PartitionTypes = Mapping[str, DataType] | None
"""Partition columns by physical name; None if they are not known."""


class CheckpointFileActions(msgspec.Struct, frozen=True):
    """File actions of a checkpoint later than the base."""

    tag: str
    """Tag of its rows in the buckets."""
    derived_file: DerivedFile
    is_complete: bool
    """Every row of the checkpoint could be read."""
    types: PartitionTypes
    retention_cutoff_ms: int | None
    """Tombstones deleted at this time or later had not expired; None if this is not known."""
    columns: tuple[LeafColumn, ...] = ()
    """Columns that may have statistics."""


class CompactionFileActions(msgspec.Struct, frozen=True):
    """File actions of a log compaction."""

    tag: str
    derived_file: DerivedFile
    start: int
    """First version that the compaction covers."""
    is_comparable: bool
    """Whether every action of the compaction and of the commits that it covers could be decoded."""
    types: PartitionTypes


class ChecksumFileActions(msgspec.Struct, frozen=True):
    """Statements of a version checksum about the live files of its version."""

    tag: str
    """Tag of the rows of its `allFiles`."""
    derived_file: DerivedFile
    stated: VersionChecksum | OlderChecksum | None
    """Without `allFiles`, whose rows are in the buckets; None if the checksum could not be decoded."""
    lists_files: bool
    """The checksum has `allFiles`."""
    types: PartitionTypes
    columns: tuple[LeafColumn, ...] = ()
    """Columns that may have statistics."""


DerivedFileActions = CheckpointFileActions | CompactionFileActions | ChecksumFileActions


class DerivedFiles(msgspec.Struct, frozen=True):
    """The derived files of one run. A resume state contains them."""

    checkpoints: list[tuple[CheckpointFileActions, ParsedCheckpoint]]
    compactions: list[tuple[CompactionFileActions, LogSummary]]
    checksums: list[tuple[ChecksumFileActions, tuple[str | None, str | None, str | None]]]
    """Each with its fault and the pointer to it, of `read_checksum`, and the pointer to a repeated key."""

    def list_file_actions(self) -> tuple[DerivedFileActions, ...]:
        """Return the file actions that the buckets compare. All file actions must have been read."""
        return (
            *(replace(files, is_complete=read.is_complete) for files, read in self.checkpoints),
            *(files for files, _ in self.compactions),
            *(files for files, _ in self.checksums),
        )
