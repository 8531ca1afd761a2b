"""The checkpoint hint `_last_checkpoint`. Source: Last Checkpoint File."""

from typing import Any, Literal

from deltaspec.protocol.actions import Int32, Int64, WireStruct, omit_fields
from deltaspec.protocol.log.canonical_json import compute_checksum
from deltaspec.protocol.revisions import Revision


class LastCheckpoint(WireStruct, frozen=True):
    """Pointer to a recent checkpoint; it is only a hint and may be stale or absent."""

    version: Int64
    size: Int64
    """Number of actions in the checkpoint."""
    parts: Int32 | None = None
    size_in_bytes: Int64 | None = None
    num_of_add_files: Int64 | None = None
    checkpoint_schema: Any = None
    checksum: str | None = None
    tags: dict[str, str | None] | None = None


_HINT_BEFORE_R3 = omit_fields(LastCheckpoint, ["tags"])


def get_hint_type(revision: Revision) -> type[LastCheckpoint]:
    """Return the class with the fields that a revision defines."""
    return LastCheckpoint if revision.since(Revision.R3) else _HINT_BEFORE_R3


ChecksumResult = Literal["matches", "matches pair order", "differs"]


def compare_hint_checksum(document: Any) -> ChecksumResult | None:
    """Compare the hint's checksum with its other fields; None if it has no checksum.

    Args:
        document: The hint from `parse_lossless`.
    """
    stated = document.get("checksum") if isinstance(document, dict) else None
    if not isinstance(stated, str):
        return None
    stated = stated.lower()  # the protocol does not specify the case of the digits
    if stated == compute_checksum(document):
        return "matches"
    return "matches pair order" if stated == compute_checksum(document, "pair") else "differs"
