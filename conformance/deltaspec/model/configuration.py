"""Table properties: which values they take and which feature they rely on. Source: chapter Table Properties.

Retention properties are not named by the text (S25); engines agree on them.
"""

import re

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.column_mapping import MAX_COLUMN_ID, MODE
from deltaspec.model.protocol import supports

DEFAULT_FILE_RETENTION_MS = 7 * 86_400_000
_FILE_RETENTION = "delta.deletedFileRetentionDuration"
TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration"

BOOLEANS = {
    "delta.appendOnly": "appendOnly",
    "delta.enableChangeDataFeed": "changeDataFeed",
    "delta.enableDeletionVectors": "deletionVectors",
    "delta.enableRowTracking": "rowTracking",
    "delta.rowTrackingSuspended": "rowTracking",
    "delta.enableInCommitTimestamps": "inCommitTimestamp",
    "delta.enableTypeWidening": "typeWidening",
    "delta.enableIcebergCompatV1": "icebergCompatV1",
    "delta.enableIcebergCompatV2": "icebergCompatV2",
    "delta.enableVariantShredding": "variantShredding",
    "delta.checkpoint.writeStatsAsJson": None,
    "delta.checkpoint.writeStatsAsStruct": None,
}
"""Boolean properties to the feature that `true` relies on."""

INTEGERS = (MAX_COLUMN_ID, "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp")
MISSPELT = {"appendOnly": "delta.appendOnly"}
"""E03: the text's example prints the name without its prefix."""

_UNITS_MS = {
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "millisecond": 1,
}
_INTERVAL_PART = re.compile(r"([+-]?\d{1,15})\s+(week|day|hour|minute|second|millisecond)s?", re.ASCII)


def property_fault(name: str, value: str) -> str | None:
    """What is wrong with the value of a property that the text defines; None for others and for sound values."""
    if name in BOOLEANS and value.lower() not in ("true", "false"):
        return "is neither true nor false"
    if name in INTEGERS and not re.fullmatch(r"\d{1,19}", value, re.ASCII):
        return "is no integer"
    if name == MODE and value not in ("none", "id", "name"):
        return "is none of none, id and name"
    if name == _FILE_RETENTION and interval_ms(value) is None:
        return "is no interval"
    return None


def required_feature(name: str, value: str) -> str | None:
    """The feature that a property of this value relies on."""
    if name == MODE and value in ("id", "name"):
        return "columnMapping"
    return BOOLEANS.get(name) if value.lower() == "true" else None


def interval_ms(text: str) -> int | None:
    """Milliseconds of an interval such as `interval 1 week 2 hours`; None if it is none."""
    words = " ".join(text.lower().split()).removeprefix("interval ")
    parts = _INTERVAL_PART.findall(words)
    if not parts or " ".join(_INTERVAL_PART.sub("", words).split()):
        return None
    return sum(int(number) * _UNITS_MS[unit] for number, unit in parts)


def file_retention_ms(configuration: dict[str, str]) -> int:
    """How long a tombstone is kept, in milliseconds; seven days where nothing sound is set."""
    found = interval_ms(configuration.get(_FILE_RETENTION, ""))
    return DEFAULT_FILE_RETENTION_MS if found is None else found


def is_true(configuration: dict[str, str], name: str) -> bool:
    """Whether a boolean property is set and true."""
    return configuration.get(name, "false").lower() == "true"


def is_append_only(protocol: Protocol, metadata: MetaData) -> bool:
    """Whether data may only be added. Source: Append-only Tables."""
    return supports(protocol, "appendOnly") and is_true(metadata.configuration, "delta.appendOnly")


def in_commit_timestamps_enabled(protocol: Protocol, metadata: MetaData) -> bool:
    """Whether every commit carries its own timestamp. Source: In-Commit Timestamps (current)."""
    return supports(protocol, "inCommitTimestamp") and is_true(
        metadata.configuration, "delta.enableInCommitTimestamps"
    )
