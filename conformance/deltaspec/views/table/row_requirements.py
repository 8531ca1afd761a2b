"""What a table requires of its rows (required columns, row constraints), and the versions in which it applied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltaspec.model.revisions import Revision
from deltaspec.model.schema.column_mapping import physical_name
from deltaspec.model.schema.data_types import Array, DataType, Map, Primitive, Struct
from deltaspec.views.table.row_constraints import RowConstraint, collect_row_constraints

if TYPE_CHECKING:
    from deltaspec.views.table.table_schema import TableSchema

Path = tuple[str, ...]
Subject = RowConstraint | Path
"""A row constraint, or the physical path of a column that must not be null."""
_VOID = Primitive("void")


@dataclass(frozen=True)
class RowRequirement:
    """Requirement of rows, and a period in which it applied."""

    subject: Subject
    first: int
    """First version of the period."""
    file: str
    line: int
    last_legal_version: int | None
    """The version before the period; None if its state is unknown."""
    is_original: bool
    """Whether the period begins with the first version of the table."""
    until: int | None = None
    """First version after the period; None if it includes the validated version."""
    table: TableSchema | None = None
    """Schema of the last version of the period; None if that is the validated version."""

    @property
    def location(self) -> dict[str, Any]:
        """Location columns of the change that the period begins with."""
        return {
            "version": self.first,
            "file": self.file,
            "line": self.line,
            "last_legal_version": self.last_legal_version,
        }


class RowRequirementHistory:
    """Requirements of rows along the validated history, updated version by version."""

    def __init__(self, revision: Revision) -> None:
        self.has_ended = False
        """Whether a requirement of an earlier version no longer applies."""
        self._revision = revision
        self._periods: dict[Subject, list[RowRequirement]] = {}
        self._current: dict[Subject, None] = {}
        self._table: TableSchema | None = None

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """All requirements of all versions."""
        return tuple(self._periods)

    @property
    def changes(self) -> list[int]:
        """Versions at which a period begins or ends, ascending."""
        ends = {end for each in self._periods.values() for one in each for end in (one.first, one.until)}
        return sorted(version for version in ends if version is not None)

    def is_current(self, subject: Subject) -> bool:
        """Return whether a requirement applies at the validated version."""
        return subject in self._current

    def find_first(self, subject: Subject, version: int, until: int | None) -> RowRequirement | None:
        """Return the first period of a requirement that overlaps the versions of a file, until its end exclusively."""
        periods = self._periods.get(subject, [])
        following = bisect_right(periods, version, key=lambda each: each.first)
        for each in periods[max(following - 1, 0) : following + 1]:
            if (each.until is None or each.until > version) and (until is None or each.first < until):
                return each
        return None

    def find_cause(self, subject: Subject, version: int, until: int | None) -> RowRequirement | None:
        """Return the first period that overlaps the versions of a file, if it begins later than the file."""
        found = self.find_first(subject, version, until)
        return None if found is None or found.first <= version else found

    def forget(self, last_known_version: int | None) -> None:
        """Record that the requirements of the versions from the last known one on are unknown."""
        self._end(tuple(self._current), last_known_version or 0)
        self._table = None

    def apply(self, location: dict[str, Any], table: TableSchema | None, *, is_first: bool) -> None:
        """Apply the next version whose requirements may differ.

        Args:
            location: version, file and line of the change, and the last legal version before it.
            table: schema from this version on; None if unknown.
            is_first: whether the table begins with this version.
        """
        if table is None:
            self.forget(location["version"])
            return
        subjects: dict[Subject, None] = dict.fromkeys(list_required_columns(table.schema, table.mapping))
        subjects |= dict.fromkeys(
            collect_row_constraints(table.schema, table.configuration, table.features, self._revision)
        )
        self._end([each for each in self._current if each not in subjects], location["version"])
        for each in subjects:
            if each not in self._current:
                new = RowRequirement(
                    each,
                    location["version"],
                    location["file"],
                    location["line"],
                    location["last_legal_version"],
                    is_first,
                )
                self._periods.setdefault(each, []).append(new)
        self._current, self._table = subjects, table

    def _end(self, subjects: tuple[Subject, ...] | list[Subject], version: int) -> None:
        for each in subjects:
            periods = self._periods[each]
            periods[-1] = replace(periods[-1], until=version, table=self._table)
            del self._current[each]
            self.has_ended = True


def list_required_columns(schema: Struct, mapping: str | None) -> Iterator[Path]:
    """Yield the physical paths of the columns, elements and values at any depth that must not be null.

    Array elements are `element`, map entries `key` and `value`, as in `FileColumn.path`.
    """
    yield from _list_required(schema, mapping, ())


def _list_required(kind: DataType, mapping: str | None, path: Path) -> Iterator[Path]:
    parts: list[tuple[str, DataType, bool]] = []
    match kind:
        case Struct(fields):
            parts = [(physical_name(each, mapping), each.type, each.nullable) for each in fields]
        case Array(element, contains_null):
            parts = [("element", element, contains_null)]
        case Map(key, value, value_contains_null):
            parts = [("key", key, True), ("value", value, value_contains_null)]
    for name, part, nullable in parts:
        here = (*path, name)
        if not nullable and part != _VOID:
            yield here
        yield from _list_required(part, mapping, here)
