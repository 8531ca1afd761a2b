"""Rows of `protocols` and `features`: a protocol action compared with the one that it replaces."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features import table_features
from deltaspec.protocol.features.supported_features import find_excluded_features, find_missing_required_features
from deltaspec.protocol.revisions import Revision
from deltaspec.views.table import protocol_evolution
from deltaspec.views.table.used_features import FeatureUse

Row = dict[str, Any]


def build_protocol_row(
    before: Protocol | None,
    action: Protocol,
    used: set[str],
    abandoned: Collection[FeatureUse],
    revision: Revision,
) -> Row:
    """Return the row of `protocols`, without location and type widening.

    Args:
        before: the replaced protocol; None if there is none, or it is unknown.
        action: the protocol.
        used: features that an earlier version used.
        abandoned: uses of features that this protocol does not support.
        revision: protocol revision.
    """
    return {
        "min_reader_version": action.min_reader_version,
        "min_writer_version": action.min_writer_version,
        "reader_features": action.reader_features,
        "writer_features": action.writer_features,
        "previous_min_reader_version": before.min_reader_version if before else None,
        "previous_min_writer_version": before.min_writer_version if before else None,
        "dropped_features": protocol_evolution.find_illegal_removals(before, action, revision),
        "removals_judged_elsewhere": protocol_evolution.find_removals_judged_elsewhere(before, action, revision),
        "unlisted_used_features": protocol_evolution.find_omitted_features(before, action, used, revision),
        "uses_without_feature": sorted(use.text for use in abandoned),
    }


def build_feature_rows(action: Protocol, revision: Revision) -> list[Row]:
    """Return the rows of `features` without location, one per listed name, sorted by name."""
    readers, writers = Counter(action.reader_features or ()), Counter(action.writer_features or ())
    rows = []
    for name in sorted({*readers, *writers}):
        known = table_features.resolve_feature(name, revision)
        proposed = table_features.find_proposed_feature(name)
        missing = find_missing_required_features(action, name, revision)
        rows.append(
            {
                "feature": name,
                "min_reader_version": action.min_reader_version,
                "in_reader_features": name in readers,
                "in_writer_features": name in writers,
                "occurrences": max(readers[name], writers[name]),
                "kind": known.kind if known else None,
                "proposed_kind": proposed.kind if proposed else None,
                "intended_name": table_features.find_intended_name(name, revision),
                "missing_requirements": missing if proposed is None else None,
                "missing_requirements_of_proposal": missing if proposed is not None else None,
                "excluded_by_proposal": find_excluded_features(action, name) if proposed is not None else None,
            }
        )
    return rows
