"""The kinds of operations of histories: the part of the table that each changes, and how often it is drawn."""

from typing import Literal

import msgspec

UNKNOWN_FEATURE = "unknown-writer-feature"
"""Kind of a step that the kit performs itself: the table gets a writer feature that no engine knows."""
FAST_CLOCK = "commit-of-a-fast-clock"
"""Kind of a step that the kit performs itself: a commit whose in-commit timestamp is a day ahead of the clock."""
DROP_UNKNOWN_FEATURE = "drop-unknown-writer-feature"
"""Kind of a step that the kit performs itself: the feature is dropped, and checkpoints before that are protected."""
AGE_LOG = "age-log"
"""Kind of a step that the kit performs itself: the modification times of all files of the log are moved back."""
UNREFERENCED_SIDECAR = "unreferenced-sidecar"
"""Kind of a step that the kit performs itself: it writes a sidecar that no checkpoint refers to."""
CLUSTERED_BY_OTHERS = "files-clustered-by-others"
"""Kind of a step that the kit performs itself: the table is clustered, and an unknown engine marks its files."""
FEATURES_OF_STEPS = {CLUSTERED_BY_OTHERS: ("clustering", "domainMetadata")}
"""Writer features that a table has after a step of the kit."""


class OperationKind(msgspec.Struct, frozen=True):
    """A kind of operation of `apply`, or a step of the kit."""

    changes: Literal["rows", "metadata", "nothing"]
    """Part of the plain table that it changes."""
    weight: int = 1
    """How often drawn histories choose it, relative to other kinds."""
    not_drawn: str = ""
    """Why drawn histories do not have it; empty if they do."""


WRITTEN_ONLY = "only written histories have it"
WITH_A_PURPOSE = "histories with a purpose have it"
NEEDS_CATALOG = "the suite catalog asks it of catalog-managed tables"
"""Reasons why drawn histories do not have a kind."""
_STEP = OperationKind("nothing", not_drawn=WRITTEN_ONLY)
KINDS: dict[str, OperationKind] = {
    "create": OperationKind("metadata", not_drawn="most histories start with it"),
    "convert": OperationKind("metadata", not_drawn=WITH_A_PURPOSE),
    "clone": OperationKind("metadata", not_drawn=WITH_A_PURPOSE),
    "replace": OperationKind("metadata"),
    "append": OperationKind("rows", weight=4),
    "append-with-evolution": OperationKind("rows", not_drawn=WITH_A_PURPOSE),
    "overwrite": OperationKind("rows", weight=2),
    "overwrite-partitions": OperationKind("rows", weight=2, not_drawn=WITH_A_PURPOSE),
    "delete": OperationKind("rows", weight=4),
    "update": OperationKind("rows", weight=4),
    "merge": OperationKind("rows", weight=4),
    "merge-with-evolution": OperationKind("rows", weight=2, not_drawn=WITH_A_PURPOSE),
    "optimize": OperationKind("nothing", weight=2),
    "purge": OperationKind("nothing"),
    "restore": OperationKind("metadata"),
    "vacuum": OperationKind("nothing"),
    "checkpoint": OperationKind("nothing", weight=3),
    "checksum": OperationKind("nothing"),
    "compact-log": OperationKind("nothing"),
    "cleanup-log": OperationKind("nothing"),
    "publish": OperationKind("nothing", not_drawn=NEEDS_CATALOG),
    "set-properties": OperationKind("metadata"),
    "add-column": OperationKind("metadata"),
    "rename-column": OperationKind("metadata"),
    "drop-column": OperationKind("metadata"),
    "widen-column": OperationKind("metadata", not_drawn=WITH_A_PURPOSE),
    "set-default": OperationKind("metadata", weight=2, not_drawn=WITH_A_PURPOSE),
    "cluster-by": OperationKind("metadata", not_drawn=WITH_A_PURPOSE),
    "add-feature": OperationKind("metadata"),
    "drop-feature": OperationKind("metadata", not_drawn=WRITTEN_ONLY),
    "add-constraint": OperationKind("metadata"),
    "drop-constraint": OperationKind("metadata", weight=2),
    UNKNOWN_FEATURE: OperationKind("nothing"),
    **dict.fromkeys((FAST_CLOCK, DROP_UNKNOWN_FEATURE, AGE_LOG, UNREFERENCED_SIDECAR, CLUSTERED_BY_OTHERS), _STEP),
}
"""Every kind of `apply`, in the order of its schema, and then the steps that the kit performs itself."""
STEPS_OF_THE_KIT = (
    UNKNOWN_FEATURE,
    FAST_CLOCK,
    DROP_UNKNOWN_FEATURE,
    AGE_LOG,
    UNREFERENCED_SIDECAR,
    CLUSTERED_BY_OTHERS,
)
