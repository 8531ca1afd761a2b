"""A log while it is drawn, and the registry of what a commit may do to it.

Operations are registered by the modules of their families. Each says when it applies, so that only legal logs come out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.logs import revision_features
from deltaspec_generators.logs.columns import Column, build_schema_string
from deltaspec_generators.logs.state import Body, TableState
from deltaspec_generators.logs.table_specs import TableSpec

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000


@dataclass
class LogBuilder:
    """A log while it is drawn."""

    draw: st.DrawFn
    spec: TableSpec
    allowed: frozenset[str]
    """Features that the table may have, now or later."""
    columns: tuple[Column, ...]
    """Of the commit at hand."""
    clustering: tuple[str, ...]
    """Physical names and paths of the clustering columns of the commit at hand, with dots."""
    state: TableState = field(default_factory=TableState)
    """After the last finished commit."""
    states: list[TableState] = field(default_factory=list)
    schemas: list[tuple[Column, ...]] = field(default_factory=list)
    """Columns of each version."""
    commits: list[list[Body]] = field(default_factory=list)
    protocol: Body = field(default_factory=dict)
    """Of the commit at hand, as `metadata` is."""
    metadata: Body = field(default_factory=dict)
    actions: list[Body] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    copies_rows: bool = False
    """Whether the commit at hand writes rows again that were there."""
    high_water_mark: int = -1
    in_commit_timestamp_ms: int = 0
    numbers: int = 0
    """Files and identifiers made so far."""
    removed: dict[str, Body] = field(default_factory=dict)
    """The last add of each path that is not live."""
    deleted: dict[tuple[str, str | None], frozenset[int]] = field(default_factory=dict)
    """Rows that a deletion vector removes, by logical file."""
    identity_marks: dict[str, int] = field(default_factory=dict)
    """The last value of each identity column, by its name."""
    value_ranges: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """Least and greatest value of each identity column, by path and physical name."""
    parsed_stats: dict[str, Body] = field(default_factory=dict)
    """Statistics as Python values, by their JSON text."""
    vector_files: dict[str, bytes] = field(default_factory=dict)
    """Deletion-vector files by path relative to the table."""

    @property
    def revision(self) -> Revision:
        """The text that the table keeps."""
        return self.spec.revision

    @property
    def version(self) -> int:
        """Of the commit at hand."""
        return self.state.version + 1

    @property
    def features(self) -> frozenset[str]:
        """Supported in the commit at hand."""
        return TableState(protocol=self.protocol).features

    def has_feature(self, name: str) -> bool:
        """Whether the commit at hand supports a feature, be it under its first name."""
        return revision_features.has_feature(self.features, name)

    @property
    def configuration(self) -> dict[str, str]:
        """The table's properties in the commit at hand."""
        found: dict[str, str] = self.metadata["configuration"]
        return found

    def is_enabled(self, name: str) -> bool:
        """Whether a boolean property is true in the commit at hand."""
        return self.configuration.get(name) == "true"

    @property
    def row_ids_suspended(self) -> bool:
        """Whether files get no row ids although their feature is there."""
        return self.revision is Revision.CURRENT and self.is_enabled("delta.rowTrackingSuspended")

    @property
    def tracks_rows(self) -> bool:
        """Whether files of the commit at hand get row ids."""
        return bool(self.features & {*revision_features.ROW_ID_FEATURES}) and not self.row_ids_suspended

    @property
    def iceberg_version(self) -> int:
        """Which Iceberg compatibility is enabled; 0 where none is."""
        return next((each for each in (1, 2) if self.is_enabled(f"delta.enableIcebergCompatV{each}")), 0)

    @property
    def append_only(self) -> bool:
        """Whether data may not be removed, before or after the commit at hand."""
        return "appendOnly" in self.features and (
            self.is_enabled("delta.appendOnly") or self.state.is_enabled("delta.appendOnly")
        )

    @property
    def partition_columns(self) -> list[Column]:
        """Partition columns, in the order of their values."""
        named = {each.name: each for each in self.columns}
        return [named[name] for name in self.metadata["partitionColumns"]]

    @property
    def data_columns(self) -> list[Column]:
        """The other columns."""
        return [each for each in self.columns if each.name not in self.metadata["partitionColumns"]]

    @property
    def action_kinds(self) -> set[str]:
        """Wire names of the actions that the commit at hand has so far."""
        return {kind for action in self.actions for kind in action}

    def next_number(self) -> int:
        """A number not given out before."""
        self.numbers += 1
        return self.numbers

    def untouched_files(self) -> list[Body]:
        """Live files that the commit at hand says nothing about."""
        return [add for path, add in self.state.live.items() if path not in self.touched]

    def set_columns(self, columns: tuple[Column, ...], metadata: Body) -> None:
        """Give the table other columns, and a metadata action's body their schema."""
        self.columns = columns
        metadata["schemaString"] = build_schema_string(columns)

    def next_in_commit_timestamp(self, timestamp: int) -> int:
        """The in-commit timestamp of the commit at hand, whose clock shows this."""
        return max(timestamp, self.in_commit_timestamp_ms + 1)


Operation: TypeAlias = Callable[[LogBuilder, int], None]
"""Adds actions to the commit at hand, at a moment in milliseconds."""
Change: TypeAlias = Callable[[LogBuilder, Body, int], None]
"""Changes a copy of the table's metadata, at a moment in milliseconds."""
Applies: TypeAlias = Callable[[LogBuilder], bool]

OPERATIONS: list[Operation] = []
"""Every operation, as often as it weighs; the plainest first, to which a choice shrinks."""
CHANGES: list[Change] = []
"""Every change of the metadata, likewise."""
_APPLIES: dict[Operation | Change, Applies] = {}


def operation(applies: Applies, weight: int = 1) -> Callable[[Operation], Operation]:
    """Register an operation, with when it applies."""

    def register(act: Operation) -> Operation:
        OPERATIONS.extend([act] * weight)
        _APPLIES[act] = applies
        return act

    return register


def change(applies: Applies, weight: int = 1) -> Callable[[Change], Change]:
    """Register a change of the metadata, with when it applies. It may change `configuration`, which is a copy."""

    def register(act: Change) -> Change:
        CHANGES.extend([act] * weight)
        _APPLIES[act] = applies
        return act

    return register


def is_applicable(act: Operation | Change, builder: LogBuilder) -> bool:
    """Whether the table allows this in the commit at hand."""
    return _APPLIES[act](builder)
