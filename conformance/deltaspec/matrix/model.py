"""The matrix as plain values; `matrix.json` is their encoding.

A cell has counts. Cases that passed or were not asked are only counted, as in the reports; every other case is a
`Failure` with everything that its report has.
"""

from typing import Literal

import msgspec

FORMAT_VERSION = 1
ALL_TABLES = "all"
"""Id of the row that counts every case once, except trials with faults."""

RowKind = Literal["all", "feature", "revision", "check", "operation", "chapter", "fault"]
FailedOutcome = Literal["failed", "crashed"]


class Counts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Number of cases by outcome."""

    passed: int = 0
    """Right answers."""
    refused: int = 0
    """Tables that the engine refused because it does not declare one of their features."""
    failed: int = 0
    """Wrong answers, and tables refused or read against the protocol."""
    crashed: int = 0
    """The engine ended, gave no answer in time, or broke the candidate protocol."""
    not_asked: int = 0
    """The engine does not offer what the case asks about."""

    @property
    def right(self) -> int:
        return self.passed + self.refused

    @property
    def wrong(self) -> int:
        return self.failed + self.crashed

    @property
    def asked(self) -> int:
        return self.right + self.wrong

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            passed=self.passed + other.passed,
            refused=self.refused + other.refused,
            failed=self.failed + other.failed,
            crashed=self.crashed + other.crashed,
            not_asked=self.not_asked + other.not_asked,
        )


Cells = dict[str, dict[str, Counts]]
"""Counts by engine (`Engine.id`) and suite. A suite that is missing has no case in the row."""


class EngineRun(msgspec.Struct, frozen=True, kw_only=True):
    """One report: the arguments of its run, so that anyone can repeat it."""

    report: str
    """Name of the file and its directory."""
    deltaspec: str
    candidate: str
    """As on the command line."""
    suites: tuple[str, ...]
    seed: int
    tables: int
    """Number of drawn tables or histories; 0 for other cases."""
    trials: dict[str, int]
    """Number of trials by fault; empty in a report of suites."""
    imported: str
    """Directory of imported cases, which then are the only ones."""
    golden: bool
    """Whether the golden cases were asked, which then are the only ones."""
    revision: str = "current"
    """Revision of the drawn tables."""
    seconds: float
    complete: bool
    """Whether every case was run."""


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the matrix: one version of an engine."""

    id: str
    """Name and version."""
    name: str
    version: str
    language: str
    reader_features: tuple[str, ...]
    runs: tuple[EngineRun, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the matrix.

    It counts all tables, tables with a reader feature, drawn tables of an earlier revision, cases of one check,
    operations of one kind that writers performed, golden cases of a chapter, or trials with a fault.
    """

    id: str
    """`all`, or kind and name: `feature:deletionVectors`, `operation:merge`, `fault:kill`."""
    kind: RowKind
    name: str
    """`none` stands for tables that need no reader feature, and for trials without a fault."""
    cells: Cells


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A case that failed or crashed."""

    engine: str
    report: str
    """The `EngineRun` that found it."""
    case: str
    """Id of the case, or of the trial."""
    suite: str
    check: str
    """Name of the check, or of the fault."""
    rows: tuple[str, ...]
    """Ids of the rows in which it counts, besides `all`; empty if the report does not hold the table's features."""
    outcome: FailedOutcome
    reported: str
    """Outcome in the report, such as `weak` or `expected-failure`."""
    known_failure: str
    """Reason of the entry of the known failures that lists it; empty if it is not listed."""
    known_link: str
    cause: str = ""
    """What is wrong, in words that failures with the same cause share; empty in an earlier matrix."""
    breaks: tuple[str, ...] = ()
    """Requirements that the engine breaks, the most specific first, if the answer shows them."""
    message: str
    history: tuple[str, ...]
    """Operations that produced the table."""
    requirements: tuple[str, ...]
    """Requirements that the case tests."""
    replay: str
    """Command that runs the case again."""


class NotAsked(msgspec.Struct, frozen=True, kw_only=True):
    """Cases that were not asked for the same reason."""

    engine: str
    suite: str
    check: str
    reason: str
    count: int


ChangeKind = Literal["new", "first-asked", "other-failure", "gone", "not-run"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose failure is not the same as in the earlier matrix."""

    engine: str
    """Name of the engine."""
    case: str
    change: ChangeKind
    before: str
    """First line of the earlier message; empty if the case did not fail."""
    after: str


class EngineChange(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of an engine before and after; None if a matrix does not have it."""

    name: str
    before: str | None
    """Version."""
    after: str | None
    counts_before: Counts | None
    counts_after: Counts | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Differences to an earlier matrix."""

    earlier: str
    """Name of the file."""
    engines: tuple[EngineChange, ...]
    changes: tuple[Change, ...]


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Information that is missing from reports, which the matrix would otherwise show."""

    what: str
    """A sentence."""
    reports: tuple[str, ...]
    """Names of the files."""


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The conformance matrix."""

    format_version: int = FORMAT_VERSION
    deltaspec: str
    """Version that built the matrix."""
    engines: tuple[Engine, ...]
    suites: tuple[str, ...]
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    not_asked: tuple[NotAsked, ...]
    gaps: tuple[Gap, ...]
    """Gaps of the reports."""
    comparison: Comparison | None = None

    def get_total(self, engine: str) -> Counts:
        """Return the counts of an engine over all suites, without faults."""
        return sum((sum_counts(row.cells.get(engine, {})) for row in self.rows if row.id == ALL_TABLES), Counts())


def sum_counts(by_suite: dict[str, Counts]) -> Counts:
    """Add the counts of all suites."""
    return sum(by_suite.values(), Counts())
