"""Since when a table has a feature and a property of it, as the rows of the views over its state tell."""

from typing import Any

from deltaspec.model.features.table_features import get_implied_features

EnablementHistory = list[tuple[int, bool, bool]]
"""Version from which on the feature is supported or not, and the property true or not; ascending."""


def build_enablement_history(
    protocols: list[dict[str, Any]], configuration: list[dict[str, Any]], feature: str, property_name: str
) -> EnablementHistory:
    """Every version at which that may have changed; nothing is known of versions before the first.

    Args:
        protocols: rows of the view `protocols`, in order of their versions.
        configuration: rows of the view `configuration`, in order of their versions.
        feature: name of the table feature.
        property_name: name of the boolean table property.
    """
    supported = {row["version"]: feature in _features(row) for row in protocols}
    true = {
        row["version"]: (row["value"] or "").lower() == "true"
        for row in configuration
        if row["property"] == property_name
    }
    found: EnablementHistory = []
    for version in sorted({*supported, *true}):
        before = found[-1] if found else (0, False, False)
        found.append((version, supported.get(version, before[1]), true.get(version, before[2])))
    return found


def get_enablement_at(since: EnablementHistory, version: int) -> tuple[bool, bool]:
    """Whether the feature is supported, and the property true, at a version."""
    return next(((supported, true) for start, supported, true in reversed(since) if start <= version), (False, False))


def find_supported_since(since: EnablementHistory) -> int:
    """The version from which on the feature has been supported without a break; 0 where it is not."""
    start = None
    for version, supported, _ in since:
        start = (version if start is None else start) if supported else None
    return start or 0


def get_property_at(configuration: list[dict[str, Any]], property_name: str, version: int) -> str | None:
    """A table property at a version, as the rows of the view `configuration` tell; None where it is not set."""
    values = [row["value"] for row in configuration if row["property"] == property_name and row["version"] <= version]
    return values[-1] if values else None


def _features(row: dict[str, Any]) -> set[str]:
    if row["min_writer_version"] >= 7:
        return set(row["writer_features"] or ())
    return get_implied_features(row["min_reader_version"], row["min_writer_version"])
