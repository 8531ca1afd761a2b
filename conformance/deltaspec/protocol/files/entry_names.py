"""Names of the entries in statistics: physical names if columns are mapped, and logical names otherwise.

Source: Column Mapping, Writer Requirements; Per-file Statistics.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from deltaspec.protocol.schema.column_mapping import physical_name
from deltaspec.protocol.schema.data_types import DataType, Struct

_MEMBERS = ("minValues", "maxValues", "nullCount")


class EntryNames(msgspec.Struct, frozen=True):
    """Names of statistics entries at one nesting level."""

    used: Mapping[str, "EntryNames | None"]
    """Valid name to the names of the level below; None for columns that are not structs."""
    other: frozenset[str]
    """Wrong names: logical instead of physical or vice versa, unless a column has or had the name validly."""
    is_certain: bool
    """Whether a name in `other` is certainly wrong; otherwise a dropped column may have had it."""

    def wrong_names(self) -> Iterator[str]:
        """Yield every name in `other`, at all levels."""
        yield from self.other
        for below in self.used.values():
            if below is not None:
                yield from below.wrong_names()


def collect_entry_names(schema: Struct, mapping: str | None, historical_names: frozenset[str]) -> EntryNames | None:
    """Return the names that statistics may use under a schema; None if logical and physical names do not differ.

    Args:
        schema: Schema of the table.
        mapping: Column mapping mode: `id`, `name` or None.
        historical_names: Names that any column has or had in files. They are not wrong if columns are mapped.
    """
    known = historical_names if mapping else frozenset()
    found = _collect(schema, mapping, known, is_certain=mapping is not None)
    return found if any(found.wrong_names()) else None


def _collect(schema: Struct, mapping: str | None, historical_names: frozenset[str], *, is_certain: bool) -> EntryNames:
    used: dict[str, EntryNames | None] = {}
    others = set()
    for field in schema.fields:
        physical = physical_name(field, "name")
        name, other = (physical, field.name) if mapping else (field.name, physical)
        used[name] = _collect_nested(field.type, mapping, historical_names, is_certain=is_certain)
        others.add(other)
    return EntryNames(used, frozenset(others - used.keys() - historical_names), is_certain)


def _collect_nested(
    data_type: DataType, mapping: str | None, historical_names: frozenset[str], *, is_certain: bool
) -> EntryNames | None:
    return (
        _collect(data_type, mapping, historical_names, is_certain=is_certain) if isinstance(data_type, Struct) else None
    )


def find_misnamed_entry(statistics: Mapping[str, Any], names: EntryNames) -> str | None:
    """Return the first entry with a wrong name, such as `minValues.id`; None if there is none."""
    for member in _MEMBERS:
        entry = _find_in_entries(statistics.get(member), names)
        if entry is not None:
            return f"{member}.{entry}"
    return None


def _find_in_entries(entries: Any, names: EntryNames) -> str | None:
    if not isinstance(entries, dict):
        return None
    misnamed_entries: list[str] = [name for name in entries if name in names.other]
    if misnamed_entries and (names.is_certain or not any(name in names.used for name in entries)):
        return misnamed_entries[0]
    for name, nested in entries.items():
        below = names.used.get(name)
        entry = _find_in_entries(nested, below) if below is not None else None
        if entry is not None:
            return f"{name}.{entry}"
    return None
