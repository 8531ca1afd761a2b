"""Totals of rows that tasks produce and receive, so that the driver notices rows that were lost or changed.

Spark keeps the rows of a stage on the disks of executors. If an executor is lost, Spark computes its rows again, from
files that may be unreadable or different by then. The driver has used the first result already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from zlib import crc32

import msgspec

from deltaspec.validation.buckets import matches_tag
from deltaspec.validation.spark.payloads import Payload


class RowTotals(msgspec.Struct):
    """Number of rows by tag, and a checksum that does not depend on the order of the payloads."""

    rows: Counter[str] = msgspec.field(default_factory=Counter)
    checksums: Counter[str] = msgspec.field(default_factory=Counter)
    """Sum of the CRC-32 of the payloads."""

    @property
    def tags(self) -> list[str]:
        """Tags with payloads, in any order."""
        return list(self.checksums)

    def add(self, tag: str, payloads: Iterable[bytes], rows: int) -> None:
        """Add payloads of a tag, and the number of rows in them."""
        self.checksums[tag] += sum(map(crc32, payloads))
        self.rows[tag] += rows

    def record(self, payloads: Iterable[Payload], tag: str, rows: int) -> list[Payload]:
        """Add payloads of a tag, and return them."""
        recorded = list(payloads)
        self.add(tag, (each.payload for each in recorded), rows)
        return recorded

    def merge(self, other: RowTotals) -> None:
        """Add the totals of other tasks."""
        self.rows.update(other.rows)
        self.checksums.update(other.checksums)

    def select(self, wanted: Iterable[str]) -> RowTotals:
        """Return the totals of some tags, as `matches_tag` compares them."""
        prefixes = list(wanted)
        tags = [tag for tag in self.checksums if any(matches_tag(tag, each) for each in prefixes)]
        return RowTotals(
            Counter({tag: self.rows[tag] for tag in tags}), Counter({tag: self.checksums[tag] for tag in tags})
        )

    def find_differences(self, expected: RowTotals) -> dict[str, str]:
        """Describe by tag how these totals of received rows differ from those that were produced."""
        found = {}
        for tag in sorted({*self.checksums, *expected.checksums}):
            if self.rows[tag] != expected.rows[tag]:
                found[tag] = f"expected {expected.rows[tag]:,} rows ({tag}), received {self.rows[tag]:,}"
            elif self.checksums[tag] != expected.checksums[tag]:
                found[tag] = f"{expected.rows[tag]:,} rows ({tag}) have changed"
        return found


def describe_lost_rows(difference: str) -> str:
    """Return why a run stops whose executors lost rows."""
    return (
        f"{difference}: Spark computed rows of a lost executor again, from files that cannot be read any more or have "
        "changed"
    )
