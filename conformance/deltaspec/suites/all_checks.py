"""All checks of all suites."""

from deltaspec.suites import (
    catalog,
    catalog_writes,
    changes,
    imported,
    imported_writes,
    predicates,
    read,
    refuse,
    row_ids,
    snapshot,
    time_travel,
    write,
)
from deltaspec.suites.checks import CHECKS

SUITE_MODULES = (
    *(snapshot, read, time_travel, predicates, changes, row_ids, refuse, imported, imported_writes),
    *(catalog, catalog_writes, write),
)
"""Their import registers the checks."""

__all__ = ["CHECKS", "SUITE_MODULES"]
