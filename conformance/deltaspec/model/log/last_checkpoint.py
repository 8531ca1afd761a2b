"""The checkpoint hint `_last_checkpoint`. Source: Last Checkpoint File."""

from typing import Any, Literal

from deltaspec.model.actions import Int32, Int64, WireStruct
from deltaspec.model.log.canonical_json import checksum


class LastCheckpoint(WireStruct, frozen=True):
    """A pointer to a recent checkpoint; only a hint, it may be stale or absent."""

    version: Int64
    size: Int64
    """Actions in the checkpoint."""
    parts: Int32 | None = None
    size_in_bytes: Int64 | None = None
    num_of_add_files: Int64 | None = None
    checkpoint_schema: Any = None
    checksum: str | None = None
    tags: dict[str, str | None] | None = None


ChecksumAnswer = Literal["matches", "matches pair order", "differs"]


def compare_hint_checksum(document: Any) -> ChecksumAnswer | None:
    """Whether the hint's checksum is that of its other fields; None where it has none.

    Args:
        document: the hint as `parse_lossless` gives it.
    """
    claimed = document.get("checksum") if isinstance(document, dict) else None
    if not isinstance(claimed, str):
        return None
    claimed = claimed.lower()  # the text does not say in which case the digits stand
    if claimed == checksum(document):
        return "matches"
    return "matches pair order" if claimed == checksum(document, "pair") else "differs"
