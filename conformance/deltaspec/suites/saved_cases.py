"""Shrink failures and save the smallest table that still fails, as a directory that anyone can replay.

delta/                                   the table; any engine can read it
expected/latest/table_content/*.parquet  the rows that a reader must get, in the format of DAT
test_case_info.json                      name and description, in the format of DAT
failure.json                             check, answer, requirements, history, and the choices that make the table
"""

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from deltaspec.candidates.host import Candidate
from deltaspec.candidates.row_comparison import WrongType, find_row_difference
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import fill_directory
from deltaspec.suites.all_checks import CHECKS
from deltaspec.suites.cases import Case, list_cases, run_case
from deltaspec.suites.causes import group_by_cause
from deltaspec.suites.checks import TableUnderTest
from deltaspec.suites.outcomes import CaseResult
from deltaspec_generators.choices import RecordedChoices
from deltaspec_generators.table_files import write_table
from deltaspec_generators.tables.corpus import draw_table
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.shrinking import shrink

FAILURE, ROWS = "failure.json", "expected/latest/table_content/rows.parquet"
SHRINK_ATTEMPTS, SHRINK_SECONDS = 3_000, 15.0
"""Tables to try for each failure, and the time after which no further one is tried."""


class SavedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Content of `failure.json`."""

    candidate: str
    """Name and version."""
    choices: tuple[int, ...]
    """Choices that make the table, for `RecordedChoices`."""
    result: CaseResult


def select_simplest(results: Iterable[CaseResult], is_chosen: Callable[[str], bool]) -> list[CaseResult]:
    """Return the simplest failed case of each cause, on tables whose id is chosen."""
    failed = [each for each in results if each.outcome.has_failed and is_chosen(each.table)]
    return [group.simplest for group in group_by_cause(failed)]


def shrink_failure(
    candidate: Candidate,
    result: CaseResult,
    table: ReadableTable,
    attempts: int = SHRINK_ATTEMPTS,
    seconds: float | None = None,
) -> tuple[ReadableTable, CaseResult]:
    """Return the simplest table found that fails in the same way, and its result.

    Args:
        candidate: the engine.
        result: a failed case.
        table: its table.
        attempts: maximum number of tables to try.
        seconds: time after which no further table is tried; None for no limit.
    """
    smallest = table, result

    def still_fails(simpler: ReadableTable) -> bool:
        nonlocal smallest
        found = ask_about(candidate, result, simpler)
        if found is None or not is_same_failure(result, found):
            return False
        smallest = simpler, found
        return True

    shrink(table.choices, still_fails, attempts=attempts, seconds=seconds)
    return smallest


def is_same_failure(result: CaseResult, simpler: CaseResult) -> bool:
    """Return whether a simpler case fails in the same way: it has no cause that the result does not have."""
    return simpler.outcome is result.outcome and bool(simpler.causes) and _list_signs(simpler) <= _list_signs(result)


def _list_signs(result: CaseResult) -> set[tuple[str, str]]:
    return {(each.title, kind) for each in result.causes for kind in each.types or ("",)}


def ask_about(candidate: Candidate, result: CaseResult, table: ReadableTable) -> CaseResult | None:
    """Ask the question of a result about another table; None if the table has nothing to ask."""
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
        location = Path(directory) / "table"
        write_table(table.files, location)
        subject = TableUnderTest(result.table, location, table)  # predicates depend on the id
        check = CHECKS[result.check]
        cases = list_cases(candidate.capabilities, [subject], (check.suite,))
        case: Case | None = next((each for each in cases if each.check is check), None)
        return None if case is None else run_case(candidate, case)


def save_failure(candidate: Candidate, result: CaseResult, table: ReadableTable, directory: Path) -> Path:
    """Write a case below a directory and return its path, which names the check and the table."""
    here = directory / result.case.replace("/", "-")
    capabilities = candidate.capabilities
    failure = SavedFailure(
        candidate=f"{capabilities.name} {capabilities.version}",
        choices=tuple(table.choices),
        result=result,
    )
    documents = {
        FAILURE: failure,
        "test_case_info.json": {"name": result.case, "description": "; ".join(table.history)},
    }
    with fill_directory(here) as content:
        write_table(table.files, content / "delta")
        (content / ROWS).parent.mkdir(parents=True)
        pq.write_table(_drop_void_columns(table.versions[-1].rows), content / ROWS)
        for name, value in documents.items():
            (content / name).write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    return here


def _drop_void_columns(rows: pa.Table) -> pa.Table:
    """Parquet has no type for void columns."""
    return rows.select([field.name for field in rows.schema if not pa.types.is_null(field.type)])


def load_failure(directory: Path) -> tuple[SavedFailure, TableUnderTest]:
    """Load a saved case, with the table drawn again from its choices.

    Raises:
        InvalidUsage: The directory has no saved case, or this release draws another table from its choices.
    """
    try:
        failure = msgspec.json.decode((directory / FAILURE).read_bytes(), type=SavedFailure)
        saved = pq.read_table(directory / ROWS)
    except (OSError, msgspec.DecodeError, pa.ArrowException) as error:
        raise InvalidUsage(f"{directory}: not a saved case: {error}") from None
    table = draw_table(RecordedChoices(failure.choices))
    if table.history != failure.result.history or _differs(saved, _drop_void_columns(table.versions[-1].rows)):
        raise InvalidUsage(f"{directory}: this release of deltaspec draws another table from the saved choices")
    return failure, TableUnderTest(failure.result.table, directory / "delta", table)


def restore_failure(directory: Path, location: Path) -> tuple[SavedFailure, TableUnderTest]:
    """Load a saved case and write its table again, because absolute paths and file times depend on the directory.

    Raises:
        InvalidUsage: The directory has no saved case, or this release draws another table from its choices.
    """
    failure, subject = load_failure(directory)
    write_table(subject.table.files, location)
    return failure, replace(subject, location=location)


def _differs(saved: pa.Table, expected: pa.Table) -> bool:
    try:
        return find_row_difference(expected, saved) is not None
    except WrongType:
        return True
