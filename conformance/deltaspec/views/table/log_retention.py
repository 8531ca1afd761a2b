"""Retention of log files. Source: Metadata Cleanup."""

from collections.abc import Iterable

from deltaspec.protocol.features.table_properties import parse_interval_ms


def find_shortest_log_retention_ms(values: Iterable[str | None]) -> int | None:
    """Return the shortest retention period that applied, in milliseconds.

    None if a value is not set or not valid: the protocol defines no default.

    Args:
        values: values of `delta.logRetentionDuration`; None where it was not set.
    """
    found = [None if value is None else parse_interval_ms(value) for value in values]
    known = [each for each in found if each is not None and each >= 0]
    return min(known) if known and len(known) == len(found) else None
