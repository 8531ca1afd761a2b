"""Builder of a log while it is drawn, and the registry of operations of a commit.

Modules register their operations. Each operation has a precondition, so that only valid logs are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st

from deltaspec.model.revisions import Revision
from deltaspec_generators.choices import Choices, DrawnChoices
from deltaspec_generators.logs import revision_features
from deltaspec_generators.logs.columns import Column, build_schema_string
from deltaspec_generators.logs.table_specs import TableSpec
from deltaspec_generators.table_state import Body, TableState

START_MS = 1_700_000_000_000


@dataclass
class LogBuilder:
    """Mutable state of a log while it is drawn."""

    draw: st.DrawFn
    spec: TableSpec
    allowed: frozenset[str]
    """Features that the table may support, now or later."""
    columns: tuple[Column, ...]
    """Columns at the current commit."""
    clustering: tuple[str, ...]
    """Physical paths of the clustering columns at the current commit, joined by dots."""
    state: TableState = field(default_factory=TableState)
    """State after the last finished commit."""
    states: list[TableState] = field(default_factory=list)
    schemas: list[tuple[Column, ...]] = field(default_factory=list)
    """Columns of each version."""
    commits: list[list[Body]] = field(default_factory=list)
    protocol: Body = field(default_factory=dict)
    """Protocol at the current commit; `metadata` likewise."""
    metadata: Body = field(default_factory=dict)
    actions: list[Body] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    copies_rows: bool = False
    """Whether the current commit copies existing rows to new files."""
    high_water_mark: int = -1
    in_commit_timestamp_ms: int = 0
    numbers: int = 0
    """Number of files and identifiers created so far."""
    removed: dict[str, Body] = field(default_factory=dict)
    """Last add of each path that is not live."""
    deleted: dict[tuple[str, str | None], frozenset[int]] = field(default_factory=dict)
    """Deleted row indexes by logical file."""
    identity_marks: dict[str, int] = field(default_factory=dict)
    """Last value of each identity column by name."""
    value_ranges: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """Minimum and maximum of each identity column by path and physical name."""
    parsed_stats: dict[str, Body] = field(default_factory=dict)
    """Statistics as Python values by their JSON text."""
    tombstones: dict[int, list[Body]] = field(default_factory=dict)
    """Tombstones in the checkpoints of each version, which are drawn in ascending order."""
    left_out: list[Body] = field(default_factory=list)
    """Expired tombstones that the checkpoints drawn last left out."""
    vector_files: dict[str, bytes] = field(default_factory=dict)
    """Deletion-vector files by path relative to the table."""

    def __post_init__(self) -> None:
        self.choices: Choices = DrawnChoices(self.draw)

    @property
    def revision(self) -> Revision:
        """Protocol revision that the table follows."""
        return self.spec.revision

    @property
    def version(self) -> int:
        """Version of the current commit."""
        return self.state.version + 1

    @property
    def features(self) -> frozenset[str]:
        """Features that the current protocol supports."""
        return TableState(protocol=self.protocol).features

    def has_feature(self, name: str) -> bool:
        """Return whether a feature is supported, possibly under its preview name."""
        return revision_features.has_feature(self.features, name)

    @property
    def configuration(self) -> dict[str, str]:
        """Table properties at the current commit."""
        found: dict[str, str] = self.metadata["configuration"]
        return found

    def is_enabled(self, name: str) -> bool:
        """Return whether a boolean property is true at the current commit."""
        return self.configuration.get(name) == "true"

    @property
    def row_ids_suspended(self) -> bool:
        """Whether row tracking is supported but suspended."""
        return self.revision is Revision.CURRENT and self.is_enabled("delta.rowTrackingSuspended")

    @property
    def tracks_rows(self) -> bool:
        """Whether files of the current commit get row ids."""
        return bool(self.features & {*revision_features.ROW_ID_FEATURES}) and not self.row_ids_suspended

    @property
    def iceberg_version(self) -> int:
        """Enabled version of Iceberg compatibility; 0 for none."""
        return next((each for each in (1, 2, 3) if self.is_enabled(f"delta.enableIcebergCompatV{each}")), 0)

    @property
    def append_only(self) -> bool:
        """Whether the table is append-only before or after the current commit."""
        return "appendOnly" in self.features and (
            self.is_enabled("delta.appendOnly") or self.state.is_enabled("delta.appendOnly")
        )

    @property
    def partition_columns(self) -> list[Column]:
        """Partition columns in the order of `partitionColumns`."""
        named = {each.name: each for each in self.columns}
        return [named[name] for name in self.metadata["partitionColumns"]]

    @property
    def data_columns(self) -> list[Column]:
        """Columns that are not partition columns."""
        return [each for each in self.columns if each.name not in self.metadata["partitionColumns"]]

    @property
    def action_kinds(self) -> set[str]:
        """Wire names of the actions in the current commit so far."""
        return {kind for action in self.actions for kind in action}

    def next_number(self) -> int:
        """Return a number that was not used before."""
        self.numbers += 1
        return self.numbers

    def untouched_files(self) -> list[Body]:
        """List live files that the current commit has not touched."""
        return [add for path, add in self.state.live.items() if path not in self.touched]

    def set_columns(self, columns: tuple[Column, ...], metadata: Body) -> None:
        """Replace the columns and the schema string of a metaData body."""
        self.columns = columns
        metadata["schemaString"] = build_schema_string(columns)

    def next_in_commit_timestamp(self, timestamp: int) -> int:
        """Return the in-commit timestamp of the current commit for this clock time."""
        return max(timestamp, self.in_commit_timestamp_ms + 1)


Operation: TypeAlias = Callable[[LogBuilder, int], None]
"""Add actions to the current commit; arguments are builder and timestamp in milliseconds."""
Change: TypeAlias = Callable[[LogBuilder, Body, int], None]
"""Edit a copy of the metadata; arguments are builder, metaData body and timestamp in milliseconds."""
Applies: TypeAlias = Callable[[LogBuilder], bool]

OPERATIONS: list[Operation] = []
"""All operations, repeated by weight; the simplest comes first, because choices shrink towards it."""
CHANGES: list[Change] = []
"""All metadata changes, repeated by weight."""
_APPLIES: dict[Operation | Change, Applies] = {}


def operation(applies: Applies, weight: int = 1) -> Callable[[Operation], Operation]:
    """Register an operation with its precondition and weight."""

    def register(act: Operation) -> Operation:
        OPERATIONS.extend([act] * weight)
        _APPLIES[act] = applies
        return act

    return register


def change(applies: Applies, weight: int = 1) -> Callable[[Change], Change]:
    """Register a metadata change with its precondition and weight. It may edit `configuration`, which is a copy."""

    def register(act: Change) -> Change:
        CHANGES.extend([act] * weight)
        _APPLIES[act] = applies
        return act

    return register


def is_applicable(act: Operation | Change, builder: LogBuilder) -> bool:
    """Return whether the current commit allows this operation or change."""
    return _APPLIES[act](builder)
