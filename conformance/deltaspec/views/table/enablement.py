"""Support of a feature and value of its property along the history, read from view rows."""

from itertools import pairwise
from typing import Any

import polars as pl

from deltaspec.protocol.features.table_features import get_implied_features

EnablementHistory = list[tuple[int, bool, bool]]
"""Entries of version, feature support and property value that apply from that version on; ascending."""


def build_enablement_history(
    protocols: list[dict[str, Any]], configuration: list[dict[str, Any]], feature: str, property_name: str
) -> EnablementHistory:
    """Return the versions at which feature support or property may have changed; earlier versions are unknown.

    Args:
        protocols: rows of the view `protocols`, in version order.
        configuration: rows of the view `configuration`, in version order.
        feature: name of the table feature.
        property_name: name of the boolean table property.
    """
    supported = {row["version"]: feature in _features(row) for row in protocols}
    is_true = {
        row["version"]: (row["value"] or "").lower() == "true"
        for row in configuration
        if row["property"] == property_name
    }
    found: EnablementHistory = []
    for version in sorted({*supported, *is_true}):
        before = found[-1] if found else (0, False, False)
        found.append((version, supported.get(version, before[1]), is_true.get(version, before[2])))
    return found


def get_enablement_at(since: EnablementHistory, version: int) -> tuple[bool, bool]:
    """Return whether the feature is supported and whether the property is true at a version."""
    return next(
        ((supported, is_true) for start, supported, is_true in reversed(since) if start <= version), (False, False)
    )


def find_supported_since(since: EnablementHistory) -> int:
    """Return the version since which the feature has been supported without interruption; 0 if it is not supported."""
    start = None
    for version, supported, _ in since:
        start = (version if start is None else start) if supported else None
    return start or 0


def find_end_of_enablement(since: EnablementHistory) -> int | None:
    """Return the last version with feature support and the property true, if a later version does not have both."""
    ends = [after[0] - 1 for each, after in pairwise(since) if all(each[1:]) and not all(after[1:])]
    return ends[-1] if ends and not all(since[-1][1:]) else None


def has_state(since: EnablementHistory, *, supported: bool | None = None, true: bool | None = None) -> pl.Expr:
    """Build the condition that feature support and property have the requested values at the `version` of a row.

    A value of None matches both.
    """
    found: pl.Expr = pl.lit(False)
    for version, is_supported, is_true in since:
        holds = supported in (None, is_supported) and true in (None, is_true)
        found = pl.when(pl.col("version") >= version).then(pl.lit(holds)).otherwise(found)
    return found


def number_supported_periods(versions: pl.Series, since: EnablementHistory) -> pl.Series:
    """Return for each version the number of the period of uninterrupted feature support that it belongs to."""
    before = [False, *(supported for _, supported, _ in since)]
    starts = [version for (version, supported, _), was in zip(since, before, strict=False) if supported and not was]
    return pl.Series(starts, dtype=pl.Int64).search_sorted(versions, side="right")


def get_property_at(configuration: list[dict[str, Any]], property_name: str, version: int) -> str | None:
    """Return a table property at a version from the rows of `configuration`; None if it is not set."""
    values = [row["value"] for row in configuration if row["property"] == property_name and row["version"] <= version]
    return values[-1] if values else None


def _features(row: dict[str, Any]) -> set[str]:
    if row["min_writer_version"] >= 7:
        return set(row["writer_features"] or ())
    return get_implied_features(row["min_reader_version"], row["min_writer_version"])
