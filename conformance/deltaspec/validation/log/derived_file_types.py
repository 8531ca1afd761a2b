"""File actions of derived files: what each stage compares with replay. Plain values that executors receive."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from deltaspec.model.log.version_checksum import OlderChecksum, VersionChecksum
from deltaspec.model.rows.statistics import LeafColumn
from deltaspec.model.schema.data_types import DataType
from deltaspec.views.log.replay_differences import DerivedFile

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
    """Every action could be decoded, and so could those of the commits that it covers."""
    types: PartitionTypes


class ChecksumFileActions(msgspec.Struct, frozen=True):
    """What a version checksum states about the live files of its version."""

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
