"""Stores that did not answer for any table of a run, so that the remaining tables are not run."""

from __future__ import annotations

from collections import Counter

from deltaspec.report.tables_summary import TableResult
from deltaspec.report.text import count
from deltaspec.wire.catalog.names import SCHEME, is_catalog_table, parse_catalog_name
from deltaspec.wire.storage.factory import is_local
from deltaspec.wire.storage.interface import redact_uri, split_uri

UNAVAILABLE_TABLES = 3
"""Number of unanswered tables after which the other tables of a store are not run, if it answered for none."""


class Outages:
    """Count the tables of each store that could not be read because it did not answer."""

    def __init__(self) -> None:
        self._unavailable: Counter[str] = Counter()
        self._answered: set[str] = set()
        self._skipped: Counter[str] = Counter()

    def record(self, result: TableResult) -> None:
        """Record whether the store of a table answered."""
        store = _get_store(result.table)
        if result.verdict == "unavailable":
            self._unavailable[store] += 1
        else:
            self._answered.add(store)

    def skip(self, table: str) -> bool:
        """Return whether a table is not run, because its store is down; if so, count it."""
        store = _get_store(table)
        is_down = store != "" and self._unavailable[store] >= UNAVAILABLE_TABLES and store not in self._answered
        self._skipped[store] += is_down
        return is_down

    def describe(self) -> list[str]:
        """Return a sentence for each store whose remaining tables were not run."""
        return [
            f"{store} did not answer for {count(self._unavailable[store], 'table')} and answered for none: "
            f"{count(number, 'further table')} {'was' if number == 1 else 'were'} not run"
            for store, number in self._skipped.items()
            if number
        ]


def _get_store(table: str) -> str:
    """Return scheme, bucket and host of a table's URI; an empty text for a local path, which fails at once.

    The tables of a catalog have the name of the catalog.
    """
    if is_catalog_table(table):
        return f"{SCHEME}{parse_catalog_name(table).catalog}"
    return "" if is_local(table) else redact_uri(split_uri(table)._replace(path="").geturl())
