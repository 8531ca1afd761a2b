"""Changes of a table's protocol between versions. Source: Table Features, Protocol Evolution."""

from collections.abc import Collection

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features.supported_features import get_supported_features, has_known_features
from deltaspec.protocol.features.table_features import (
    MAX_WRITER_VERSION,
    find_missing_requirements,
    get_current_name,
    strip_preview_suffix,
)
from deltaspec.protocol.revisions import Revision

CHECKPOINT_PROTECTION = "checkpointProtection"
REMOVABLE = ("typeWidening", CHECKPOINT_PROTECTION)
"""Features whose chapter or proposal defines their removal, an exception to the rule that features stay (E41)."""


def get_listed_features(protocol: Protocol) -> set[str]:
    """Return the features in either list of a protocol."""
    return {*(protocol.reader_features or ()), *(protocol.writer_features or ())}


def find_illegal_removals(before: Protocol | None, after: Protocol, revision: Revision = Revision.CURRENT) -> list[str]:
    """Return the listed features that the next protocol no longer supports, sorted (E41).

    Features in `REMOVABLE` are excluded: their chapter defines how to remove them. For features implied by a legacy
    version see `find_omitted_features`.
    """
    if before is None or not has_known_features(after):
        return []
    now = {get_current_name(name, revision) for name in get_supported_features(after)}
    gone = {get_current_name(name, revision) for name in get_listed_features(before)} - now
    # [Changed in current] Type Widening defines how to remove the feature.
    removable = REMOVABLE if revision is Revision.CURRENT else ()
    return sorted(name for name in gone if strip_preview_suffix(name) not in removable)


def find_removals_judged_elsewhere(
    before: Protocol | None, after: Protocol, revision: Revision = Revision.CURRENT
) -> list[str]:
    """Return the listed features that the next protocol no longer supports and that E41 does not cover, sorted.

    They are in `REMOVABLE`, or a feature of the next protocol requires them, which is a separate fault.
    """
    if before is None or not has_known_features(after):
        return []
    supported = get_supported_features(after)
    gone = get_listed_features(before) - supported
    removable = REMOVABLE if revision is Revision.CURRENT else ()
    missing = find_missing_requirements(supported, revision)
    return sorted(name for name in gone if strip_preview_suffix(name) in removable or name in missing)


def find_omitted_features(
    before: Protocol | None, after: Protocol, used: Collection[str], revision: Revision = Revision.CURRENT
) -> list[str]:
    """Return the features of legacy versions that the table has used and the new lists omit, sorted.

    Args:
        before: Protocol that is replaced.
        after: Protocol that replaces it.
        used: Features that any version of the table has used so far.
        revision: Protocol revision.
    """
    if before is None or before.min_writer_version >= MAX_WRITER_VERSION:
        return []
    if after.min_writer_version < MAX_WRITER_VERSION or after.writer_features is None:
        return []
    listed = {get_current_name(name, revision) for name in get_listed_features(after)}
    return sorted((get_supported_features(before) & {*used}) - listed)
