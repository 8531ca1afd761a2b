"""Names of tables in Unity Catalog: `uc://catalog.schema.table`, and `uc://catalog.schema.*` for several."""

from __future__ import annotations

import re

import msgspec

from deltaspec.errors import InvalidUsage

SCHEME = "uc://"
_PART = r"[^./\s\x00-\x1f\x7f*?#@:]+"
_NAME = re.compile(rf"uc://({_PART})\.({_PART})\.([^./\s\x00-\x1f\x7f?#@:]+)")


class CatalogName(msgspec.Struct, frozen=True):
    """Name of a table, or a pattern for tables of a schema."""

    catalog: str
    schema: str
    table: str
    """May contain `*`, which stands for any part of a name."""

    def __str__(self) -> str:
        return f"{SCHEME}{self.catalog}.{self.schema}.{self.table}"

    @property
    def full_name(self) -> str:
        """`catalog.schema.table`."""
        return f"{self.catalog}.{self.schema}.{self.table}"

    @property
    def is_pattern(self) -> bool:
        """Whether it stands for several tables."""
        return "*" in self.table


def is_catalog_table(location: str) -> bool:
    """Return whether a location names tables of a catalog."""
    return location.startswith(SCHEME)


def parse_catalog_name(location: str) -> CatalogName:
    """Return the parts of a name.

    Raises:
        InvalidUsage: it does not have three parts.
    """
    match = _NAME.fullmatch(location)
    if match is None:
        raise InvalidUsage(f"{location}: write uc://catalog.schema.table, or uc://catalog.schema.* for all tables")
    return CatalogName(*match.groups())
