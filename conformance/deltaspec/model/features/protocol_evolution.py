"""How the protocol of a table may change from one version to the next. Source: Table Features, Protocol Evolution."""

from collections.abc import Collection

from deltaspec.model.actions import Protocol
from deltaspec.model.features.protocol import features_are_known, get_supported_features
from deltaspec.model.features.table_features import MAX_WRITER_VERSION, get_current_name, strip_preview_suffix
from deltaspec.model.revisions import Revision

REMOVABLE = ("typeWidening",)
"""Features whose chapter tells how to remove them, against the rule that a feature stays (E41)."""


def get_listed_features(protocol: Protocol) -> set[str]:
    """Features that a protocol names in either list."""
    return {*(protocol.reader_features or ()), *(protocol.writer_features or ())}


def find_illegal_removals(before: Protocol | None, after: Protocol, revision: Revision = Revision.CURRENT) -> list[str]:
    """Features that the protocol before lists and the one after does not support, sorted (E41).

    Left out is the one whose chapter tells how to remove it, see `REMOVABLE`. Features that a legacy version implies
    may go unlisted when it is upgraded: see `find_omitted_features`.
    """
    if before is None or not features_are_known(after):
        return []
    now = {get_current_name(name, revision) for name in get_supported_features(after)}
    gone = {get_current_name(name, revision) for name in get_listed_features(before)} - now
    # [Changed in current] Type Widening has steps for its own removal.
    removable = REMOVABLE if revision is Revision.CURRENT else ()
    return sorted(name for name in gone if strip_preview_suffix(name) not in removable)


def is_illegal_downgrade(before: Protocol | None, after: Protocol) -> bool:
    """Whether a version became lower: what the higher one stood for is gone (E41)."""
    if before is None:
        return False
    lower_reader = after.min_reader_version < before.min_reader_version
    return lower_reader or after.min_writer_version < before.min_writer_version


def find_omitted_features(before: Protocol | None, after: Protocol, used: Collection[str]) -> list[str]:
    """Features of the legacy versions that a version has used and that the new lists leave out, sorted.

    Args:
        before: the protocol that is replaced.
        after: the protocol that replaces it.
        used: features that a version of the table up to now has used.
    """
    if before is None or before.min_writer_version >= MAX_WRITER_VERSION:
        return []
    if after.min_writer_version < MAX_WRITER_VERSION or after.writer_features is None:
        return []
    return sorted((get_supported_features(before) & {*used}) - get_listed_features(after))
