"""The report of `deltaspec compare`, and its JSON Schema, published as `reports/compare.schema.json`."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

import msgspec

from deltaspec.exit_codes import ExitCode
from deltaspec.json_schemas import describe_type

COMPARE_VERSION = 1
CheckName: TypeAlias = Literal["version", "schema", "row count", "rows", "columns", "changes", "table unchanged"]
Outcome: TypeAlias = Literal["equal", "differs", "fails", "refused", "not compared", "not shown"]
"""Result of one check:

- `differs`: the engine returns something else than the protocol says;
- `fails`: it ends in an error or crashes, although the table can be read;
- `refused`: it refuses a feature or type that it does not declare, which is a right answer but reads nothing;
- `not compared`: requested, but not known; the message says why;
- `not shown`: the engine has no operation that returns it.
"""
Verdict: TypeAlias = Literal["equal", "differs", "incomplete"]


class KnownFinding(msgspec.Struct, frozen=True):
    """A documented defect of an engine that explains a difference."""

    id: str
    """Directory below `reports/findings` of deltaspec's repository."""
    title: str


class DifferingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that differs; only its differing columns and some that identify it."""

    file: str | None
    """Data file of the row; None if the engine returns a row that no file has."""
    expected: dict[str, str] | None
    """Values as text, by column; None if the table does not have the row."""
    found: dict[str, str] | None
    """None if the engine does not return the row."""


class FileRows(msgspec.Struct, frozen=True):
    """A data file with rows that an engine does not return as they are."""

    file: str
    rows: int


class RowDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How the rows of an engine differ."""

    expected_rows: int
    found_rows: int
    columns: tuple[str, ...]
    """Columns whose values differ as bags; empty if values only moved to other rows."""
    partitions: tuple[str, ...]
    """Some partitions with differences."""
    partition_count: int
    """Number of partitions with differences."""
    missing: int | None
    """Rows that the engine does not return; None if they were not searched."""
    unexpected: int | None
    """Rows that the table does not have."""
    is_complete: bool = True
    """Whether all differing rows were searched; otherwise the numbers are lower limits."""
    kinds: tuple[str, ...] = ()
    """How values differ, such as `null for a value of type list`."""
    files: tuple[FileRows, ...] = ()
    """The files with the most differing rows."""
    rows: tuple[DifferingRow, ...] = ()
    """Some differing rows."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an engine says about the table."""

    name: CheckName
    outcome: Outcome
    message: str = ""
    difference: RowDifference | None = None
    findings: tuple[KnownFinding, ...] = ()
    """Known findings that may explain the outcome, the most specific first."""


class EngineComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine says about the table."""

    candidate: str
    """As given to the command."""
    name: str = ""
    version: str = ""
    verdict: Verdict
    checks: tuple[Check, ...]
    scan_seconds: float = 0.0
    """Time in which the engine read all rows and wrote them for the comparison."""
    seconds: float = 0.0
    """Time of all requests and comparisons."""


def judge_checks(checks: tuple[Check, ...]) -> Verdict:
    """Return the verdict of an engine."""
    outcomes = {each.outcome for each in checks}
    if outcomes & {"differs", "fails"}:
        return "differs"
    return "incomplete" if outcomes & {"not compared", "refused"} or "equal" not in outcomes else "equal"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the table whose rows were compared."""

    condition: str
    """The rows that were requested, as a condition of SQL."""
    files: int
    bytes: int


class ComparisonReport(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of one table."""

    table: str
    version: int
    verdict: Verdict
    files: int
    bytes: int
    rows: int | None
    """Rows that were compared; None if the table cannot be read completely."""
    columns: tuple[str, ...]
    """Compared columns."""
    columns_not_compared: dict[str, str]
    """Requested columns that are not compared, with the reason."""
    partitions: int
    """Partitions of the compared rows."""
    traits: tuple[str, ...]
    """What the table uses that engines may read wrongly."""
    unread_files: dict[str, str]
    """Data files that cannot be read, with the reason; rows are then not compared."""
    sample: Sample | None = None
    changes: tuple[int, int] | None = None
    """First and last version of the compared changes."""
    engines: tuple[EngineComparison, ...]
    judge_seconds: float
    """Time in which deltaspec read all rows."""


class ComparisonFile(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON document of `deltaspec compare`."""

    compare_version: int = COMPARE_VERSION
    deltaspec: str
    tables: tuple[ComparisonReport, ...]
    exit_code: ExitCode


EXIT_CODES: dict[Verdict, ExitCode] = {
    "equal": ExitCode.OK,
    "differs": ExitCode.FAILED,
    "incomplete": ExitCode.INCOMPLETE,
}


def build_compare_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of `ComparisonFile`."""
    schema = describe_type(ComparisonFile)
    schema["$defs"]["ComparisonFile"]["properties"]["compare_version"]["const"] = COMPARE_VERSION
    title = f"deltaspec comparison, version {COMPARE_VERSION}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema}


def render_compare_schema() -> str:
    """Return the content of the published file."""
    return json.dumps(build_compare_schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(render_compare_schema(), end="")
