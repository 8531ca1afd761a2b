"""The registry of checks, and the exceptions that a check may raise."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec
import pyarrow as pa

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.messages import AcceptedErrors, Operation, Refusal
from deltaspec.candidates.row_comparison import RowDifference
from deltaspec.golden.importing.questions import Question
from deltaspec.golden.table_requirements import list_table_requirements
from deltaspec.suites.outcomes import Cause
from deltaspec.suites.write_history import HistoryUnderTest
from deltaspec_generators.table_uris import get_elsewhere
from deltaspec_generators.tables.readable import ExpectedVersion, ReadableTable

SuiteName: TypeAlias = Literal[
    "snapshot", "read", "time-travel", "predicates", "changes", "row-ids", "refuse", "imported", "catalog", "write"
]
IMPORTED_SUITES: tuple[SuiteName, ...] = ("refuse", "imported")
"""Suites of imported cases; a table with a feature that a candidate does not declare must be refused."""
WRITE_SUITES: tuple[SuiteName, ...] = ("write",)
"""Suites of histories, which run only if they are named."""
CATALOG_SUITES: tuple[SuiteName, ...] = ("catalog",)
"""Suites of catalog-managed tables, which run only if they are named."""
_NAMED_SUITES = ("imported", *CATALOG_SUITES, *WRITE_SUITES)
SUITES: tuple[SuiteName, ...] = tuple(name for name in get_args(SuiteName) if name not in _NAMED_SUITES)
"""Suites of the tables of deltaspec."""


CATALOG = "catalog"
"""Kind of the tables that a catalog manages, in the id of a table."""


class WrongRows(msgspec.Struct, frozen=True):
    """Fact of a mismatch: rows that are missing, not expected or changed."""

    difference: RowDifference
    version: ExpectedVersion | None = None
    """Version that was read; None for the newest."""


class WrongCount(msgspec.Struct, frozen=True):
    """Fact of a mismatch: another number of rows of the newest version."""

    expected: int
    actual: int


class WrongFiles(msgspec.Struct, frozen=True):
    """Fact of a mismatch: live files that are not listed, and listed files that are not live, by path in the log."""

    missing: frozenset[str]
    extra: frozenset[str]


Fact: TypeAlias = WrongRows | WrongCount | WrongFiles | Cause
"""What differs: a cause, or what `causes.find_causes` derives the causes from."""


class Mismatch(Exception):
    """An answer differs from the expected one. The first line of the text says what differs.

    Args:
        text: what differs, with names and values.
        fact: the same for the search for causes; None if only the text is known.
    """

    def __init__(self, text: str, fact: Fact | None = None) -> None:
        super().__init__(text)
        self.fact = fact

    def with_text(self, text: str) -> Mismatch:
        """Return the same mismatch with another text."""
        return type(self)(text, self.fact)


class Weak(Mismatch):
    """A refusal for the wrong reason or in the wrong phase."""


class NotAsked(Exception):
    """The candidate does not offer what the check needs; the text is the reason."""


class TableUnderTest(msgspec.Struct, frozen=True):
    """A table on disk, with the answers that a reader must give."""

    id: str
    """`drawn.SEED.NUMBER` or the id of a written case."""
    location: Path
    table: ReadableTable
    """The table; for a broken table, its good twin."""
    broken: BrokenTable | None = None
    imported: ImportedQuestion | None = None
    """The only question about the table, if others published it."""
    history: HistoryUnderTest | None = None
    """The history to perform; then there is no table to read."""

    @property
    def newest(self) -> ExpectedVersion:
        return self.table.versions[-1]

    @property
    def locations(self) -> tuple[Path, ...]:
        """Directories of the table, of its files elsewhere, and of the broken table."""
        tables = (self.location, *(() if self.broken is None else (self.broken.location,)))
        return tuple(each for table in tables for each in (table, get_elsewhere(table)))

    @property
    def features(self) -> frozenset[str]:
        """Reader features of the table, and of a broken one."""
        return self.table.features | frozenset(self.broken.features if self.broken is not None else ())

    @property
    def is_of_catalog(self) -> bool:
        """Whether only the suite catalog asks about the table."""
        return self.table.catalog is not None or self.id.partition(".")[0] == CATALOG

    def list_requirements(self, check: Check) -> tuple[str, ...]:
        """Return the requirements that a check tests on this table."""
        if self.broken is not None and not check.requires:
            return self.broken.requires
        if self.history is not None:
            return check.requires
        return tuple(dict.fromkeys((*check.requires, *list_table_requirements(self.table))))


class BrokenTable(msgspec.Struct, frozen=True):
    """A table that no reader may read, and the errors that are right."""

    requires: tuple[str, ...]
    defect: str
    """Difference between the table and its good twin."""
    location: Path
    accepted: AcceptedErrors
    features: tuple[str, ...] = ()
    """Reader features that it has and its good twin does not, if that is the difference."""


class ImportedQuestion(msgspec.Struct, frozen=True):
    """A question with an answer that others published."""

    question: Question
    reference_rows: pa.Table | None = None
    """Expected rows if the source has none."""
    problem: str = ""
    """Why there are no reference rows."""


class Notes(msgspec.Struct):
    """Observations of a check besides its verdict, by name, such as the number of skipped files."""

    counts: dict[str, int] = msgspec.field(default_factory=dict)
    history: tuple[str, ...] = ()
    """Operations that the candidate performed."""

    def add(self, name: str, count: int) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + count


Run: TypeAlias = Callable[[Candidate, TableUnderTest, Notes], None]
Needs: TypeAlias = Callable[[ReadableTable], bool]


class Check(msgspec.Struct, frozen=True):
    """A question to a candidate about any table."""

    name: str
    """`suite.what`, such as `read.all-rows`."""
    suite: SuiteName
    requires: tuple[str, ...]
    """Requirements that the check tests."""
    run: Run
    """Ask and compare. Raises `Mismatch`, `NotAsked`, or what the candidate raises."""
    needs: Needs
    """Whether a table has what the check asks about."""
    operation: Operation
    """Operation of the candidate protocol without which the check cannot be asked."""

    @property
    def title(self) -> str:
        """First line of the docstring."""
        return (self.run.__doc__ or "").partition("\n")[0]


def describe_refusal(refusal: Refusal) -> str:
    """Return category, phase and message of an error in one line."""
    phase = f" in phase {refusal.phase}" if refusal.phase else ""
    name = refusal.code or refusal.native
    return f"{refusal.category}{phase}{f' ({name})' if name else ''}: {' '.join(refusal.message.split())}"[:600]


CHECKS: dict[str, Check] = {}
"""All checks by name."""


def _needs_nothing(_: ReadableTable) -> bool:
    return True


def check(
    suite: SuiteName, *requires: str, needs: Needs = _needs_nothing, operation: Operation = "scan"
) -> Callable[[Run], Run]:
    """Register a `check_*` function of a suite.

    Args:
        suite: name of the suite.
        requires: requirements that the check tests.
        needs: whether a table has what the check asks about; the check is not asked about other tables.
        operation: operation without which the check cannot be asked.
    """

    def register(run: Run) -> Run:
        what = re.sub("^check_", "", run.__name__).replace("_", "-")
        each = Check(f"{suite}.{what}", suite, requires, run, needs, operation)
        assert each.name not in CHECKS, each.name
        CHECKS[each.name] = each
        return run

    return register
