"""Retention of removed files. Source: Add File and Remove File."""

from collections.abc import Iterable

from deltaspec.protocol.features.table_properties import DEFAULT_FILE_RETENTION_MS, parse_interval_ms


def find_shortest_file_retention_ms(values: Iterable[str | None]) -> int | None:
    """Return the shortest retention that applied and that a cleanup may have used; None if a value is invalid.

    Args:
        values: Values of `delta.deletedFileRetentionDuration`. None means not set: then the week that the protocol
            mentions applies.
    """
    found = [DEFAULT_FILE_RETENTION_MS if value is None else parse_interval_ms(value) for value in values]
    known = [each for each in found if each is not None and each >= 0]
    return min(known) if known and len(known) == len(found) else None
