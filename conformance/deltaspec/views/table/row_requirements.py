"""Requirements for the rows of a table (required columns, row constraints), and the versions in which they applied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import get_partition_types
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.required_columns import Path, list_required_columns, list_required_leaves
from deltaspec.views.table.row_constraints import RowConstraint, collect_row_constraints
from deltaspec.views.table.schema_columns import ColumnCache

if TYPE_CHECKING:
    from deltaspec.views.table.table_schema import TableSchema

Subject = RowConstraint | Path
"""A row constraint, or the physical path of a column that must not be null."""
S = TypeVar("S", bound=Hashable)


class RequiredLeaf(msgspec.Struct, frozen=True):
    """Column that is not null in any row, so that null counts or partition values can contradict it."""

    path: Path
    """Physical path."""
    is_partition_column: bool


class RequirementPeriod(msgspec.Struct, Generic[S], frozen=True):
    """Requirement of rows, and a period in which it applied."""

    subject: S
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
    """Schema of the last version of the period; None if it is the validated version."""

    @property
    def location(self) -> dict[str, Any]:
        """Location columns of the change that the period begins with."""
        return {
            "version": self.first,
            "file": self.file,
            "line": self.line,
            "last_legal_version": self.last_legal_version,
        }


RowRequirement = RequirementPeriod[Subject]


class RequirementPeriods(Generic[S]):
    """Periods in which requirements applied along the validated history, updated version by version."""

    def __init__(self) -> None:
        self.has_ended = False
        """Whether a requirement of an earlier version no longer applies."""
        self._periods: dict[S, list[RequirementPeriod[S]]] = {}
        self.current: dict[S, None] = {}
        """Requirements of the last applied version, in order."""
        self._table: TableSchema | None = None

    @property
    def subjects(self) -> tuple[S, ...]:
        """All requirements of all versions."""
        return tuple(self._periods)

    def list_periods(self, subject: S) -> Sequence[RequirementPeriod[S]]:
        """Return the periods of a requirement, in ascending order."""
        return self._periods.get(subject, ())

    @property
    def changes(self) -> list[int]:
        """Versions at which a period begins or ends, ascending."""
        ends = {end for each in self._periods.values() for one in each for end in (one.first, one.until)}
        return sorted(version for version in ends if version is not None)

    def is_current(self, subject: S) -> bool:
        """Return whether a requirement applies at the validated version."""
        return subject in self.current

    def find_first(self, subject: S, version: int, until: int | None) -> RequirementPeriod[S] | None:
        """Return the first period of a requirement that overlaps the versions of a file, until its end exclusively."""
        periods = self._periods.get(subject, [])
        following = bisect_right(periods, version, key=lambda each: each.first)
        for each in periods[max(following - 1, 0) : following + 1]:
            if (each.until is None or each.until > version) and (until is None or each.first < until):
                return each
        return None

    def find_cause(self, subject: S, version: int, until: int | None) -> RequirementPeriod[S] | None:
        """Return the first period that overlaps the versions of a file, if it begins later than the file."""
        found = self.find_first(subject, version, until)
        return None if found is None or found.first <= version else found

    def forget(self, last_known_version: int | None) -> None:
        """Record that the requirements of the versions from the last known one on are unknown."""
        self._end(tuple(self.current), last_known_version or 0)
        self._table = None

    def begin(
        self, subjects: Collection[S], location: dict[str, Any], table: TableSchema | None, *, is_first: bool
    ) -> None:
        """Apply the next version whose requirements may differ.

        Args:
            subjects: requirements from this version on, without repetitions.
            location: version, file and line of the change, and the last legal version before it.
            table: schema from this version on.
            is_first: whether the table begins with this version.
        """
        subjects = dict.fromkeys(subjects)
        self._end([each for each in self.current if each not in subjects], location["version"])
        for each in subjects:
            if each not in self.current:
                new = RequirementPeriod(
                    each,
                    location["version"],
                    location["file"],
                    location["line"],
                    location["last_legal_version"],
                    is_first,
                )
                self._periods.setdefault(each, []).append(new)
        self.current, self._table = subjects, table

    def _end(self, subjects: Collection[S], version: int) -> None:
        for each in subjects:
            periods = self._periods[each]
            periods[-1] = replace(periods[-1], until=version, table=self._table)
            del self.current[each]
            self.has_ended = True


class RowRequirementHistory(RequirementPeriods[Subject]):
    """Requirements of rows along the validated history, updated version by version."""

    def __init__(self, revision: Revision) -> None:
        super().__init__()
        self.leaves = RequirementPeriods[RequiredLeaf]()
        """Required columns that the log alone can contradict."""
        self._revision = revision
        self._required = ColumnCache(_list_required)

    def forget(self, last_known_version: int | None) -> None:
        """Record that the requirements of the versions from the last known one on are unknown."""
        super().forget(last_known_version)
        self.leaves.forget(last_known_version)

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
        required = self._required.collect(table.schema, table.mapping)
        columns = chain.from_iterable(map(itemgetter(0), required))
        constraints = collect_row_constraints(table.schema, table.configuration, table.features, self._revision)
        self.begin([*columns, *constraints], location, table, is_first=is_first)
        partition_columns = {}
        if table.partition_columns:
            partition_columns = get_partition_types(table.schema, list(table.partition_columns), table.mapping)
        leaves = [
            RequiredLeaf(path, len(path) == 1 and path[0] in partition_columns)
            for path in chain.from_iterable(map(itemgetter(1), required))
        ]
        self.leaves.begin(leaves, location, table, is_first=is_first)


def _list_required(schema: Struct, mapping: str | None) -> tuple[list[Path], list[Path]]:
    """Return the columns that must not be null, and the leaves that are not null in any row."""
    return list(list_required_columns(schema, mapping)), list(list_required_leaves(schema, mapping))
