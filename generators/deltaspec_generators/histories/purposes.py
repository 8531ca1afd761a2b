"""Purposes of drawn histories: what they test in addition to what they draw.

Few drawn histories would enable row tracking, change types, clean up an old log or compact files that others have
clustered. So every history has purposes that follow from its number. No number has the purpose
`RARE_OPERATIONS`: its operations would change the histories of every seed.
"""

from collections.abc import Collection
from typing import Literal, TypeAlias

from deltaspec.protocol.property_names import FILE_RETENTION, LOG_RETENTION, ROW_TRACKING, TYPE_WIDENING

Purpose: TypeAlias = Literal["row ids", "type changes", "cleanup", "clustering", "rare operations"]
RARE_OPERATIONS: Purpose = "rare operations"
"""Half of the operations convert, clone, add columns while they write, replace partitions, or change defaults and
clustering columns."""
_NEEDS: dict[Purpose, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "row ids": ((), ("rowTracking",)),
    "type changes": (("widen-column",), ("typeWidening",)),
    "cleanup": (("cleanup-log", "checkpoint"), ()),
    "clustering": (("optimize",), ("clustering", "domainMetadata")),
}
"""Kinds of operations and features that a writer has to offer."""
PROPERTIES_OF_PURPOSES: dict[Purpose, dict[str, str]] = {
    "row ids": {ROW_TRACKING: "true"},
    "type changes": {TYPE_WIDENING: "true"},
    "cleanup": {
        LOG_RETENTION: "interval 2 days",
        FILE_RETENTION: "interval 0 hours",
        "delta.enableExpiredLogCleanup": "false",
    },
    "clustering": {},
    "rare operations": {},
}
"""Properties of the table. For a cleanup, commits expire after two days, and only the operation deletes them."""
AVOIDED_FEATURES: dict[Purpose, tuple[str, ...]] = {"cleanup": ("inCommitTimestamp",), "clustering": ("columnMapping",)}
"""Features that the table does not enable: commits expire by file times, and clustering columns have logical names."""
CLUSTERING_COLUMN, WIDENED_COLUMN = "size", "widened"


def list_purposes(number: int, kinds: Collection[str], features: Collection[str]) -> frozenset[Purpose]:
    """Return the purposes of history `number`: row ids in every second one, and the others in turn.

    Args:
        number: number of the history.
        kinds: kinds of operations that the writer offers.
        features: its writer features.
    """
    possible = [
        purpose
        for purpose, (needed, supported) in _NEEDS.items()
        if {*kinds} >= {*needed} and {*features} >= {*supported}
    ]
    in_turn: list[Purpose] = [purpose for purpose in possible if purpose != "row ids"]
    chosen: list[Purpose] = [in_turn[number % len(in_turn)]] if in_turn else []
    chosen += [purpose for purpose in possible if purpose == "row ids" and number % 2]
    return frozenset(chosen)
