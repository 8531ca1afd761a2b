"""Lengths of time in milliseconds and microseconds."""

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
