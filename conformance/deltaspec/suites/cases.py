"""Cases: a check on a table. List the cases of a candidate, run one, and return its result."""

import re
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator

import msgspec

from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import Capabilities, Refusal
from deltaspec.suites.all_checks import CHECKS
from deltaspec.suites.catalog import concerns
from deltaspec.suites.checks import (
    CATALOG_SUITES,
    WRITE_SUITES,
    Check,
    Mismatch,
    NotAsked,
    Notes,
    SuiteName,
    TableUnderTest,
    Weak,
)
from deltaspec.suites.imported import CHECK_OF_QUESTION
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.refuse import check_broken_table, check_undeclared_features, list_undeclared_needs

_OUTCOMES_OF_DEATH = {
    "crash": Outcome.CRASHED,
    "timeout": Outcome.TIMED_OUT,
    "output": Outcome.CRASHED,
    "harness": Outcome.HARNESS_FAULT,
}
_REFUSALS = (check_undeclared_features, check_broken_table)
_MESSAGE_CHARACTERS = 8_000
_STDERR_LINES, _LINE_CHARACTERS = 8, 400
"""How much of stderr a result keeps; the end, because it says why a program died."""


class Case(msgspec.Struct, frozen=True):
    """A check on a table."""

    check: Check
    subject: TableUnderTest

    @property
    def id(self) -> str:
        return f"{self.check.name}/{self.subject.id}"


def list_cases(
    capabilities: Capabilities, subjects: Iterable[TableUnderTest], suites: Collection[SuiteName]
) -> Iterator[Case]:
    """Yield the cases of these suites for a candidate, table by table.

    A table with a feature or version that the candidate does not declare has one case: the candidate must refuse it.
    """
    for subject in subjects:
        for each in CHECKS.values():
            if each.suite in suites and _applies(each, capabilities, subject):
                yield Case(each, subject)


def _applies(check: Check, capabilities: Capabilities, subject: TableUnderTest) -> bool:
    if check.suite in CATALOG_SUITES or subject.is_of_catalog:
        return check.suite in CATALOG_SUITES and concerns(check, subject)
    if check.suite in WRITE_SUITES or subject.history is not None:
        return check.suite in WRITE_SUITES and subject.history is not None
    if list_undeclared_needs(capabilities, subject):
        return check.run is check_undeclared_features
    if subject.imported is not None:
        return check.run is CHECK_OF_QUESTION[type(subject.imported.question)]
    if subject.broken is not None:
        return check.run is check_broken_table
    return check.suite != "imported" and check.run not in _REFUSALS and check.needs(subject.table)


def run_case(candidate: Candidate, case: Case) -> CaseResult:
    """Run a case. The host restarts a candidate that dies; only `GivenUp` is raised."""
    notes = Notes()
    started = time.monotonic()
    outcome, message = _run(candidate, case, notes)
    message = hide_temporary_directories(message)
    return CaseResult(
        case=case.id,
        suite=case.check.suite,
        check=case.check.name,
        table=case.subject.id,
        outcome=outcome,
        seconds=round(time.monotonic() - started, 4),
        message=message if len(message) <= _MESSAGE_CHARACTERS else f"{message[:_MESSAGE_CHARACTERS]}…",
        requirements=case.subject.list_requirements(case.check) if outcome.is_bad else (),
        features=tuple(sorted(case.subject.features)),
        history=(notes.history or case.subject.table.history) if outcome.is_bad else (),
        counts=notes.counts,
    )


def _run(candidate: Candidate, case: Case, notes: Notes) -> tuple[Outcome, str]:
    if case.check.operation not in candidate.capabilities.ops:
        return Outcome.NOT_ASKED, f"the candidate does not offer the operation {case.check.operation}"
    try:
        case.check.run(candidate, case.subject, notes)
    except NotAsked as error:
        return Outcome.NOT_ASKED, str(error)
    except Weak as error:
        return Outcome.WEAK, str(error)
    except Mismatch as error:
        return Outcome.FAILED, str(error)
    except Refused as error:
        types = set(candidate.capabilities.types_not_supported) & case.subject.table.types
        if error.refusal.category == "unsupported" and types:
            return Outcome.NOT_ASKED, f"the candidate does not support the type {', '.join(sorted(types))}"
        return Outcome.FAILED, f"refused: {describe_refusal(error.refusal)}"
    except Died as error:
        return _OUTCOMES_OF_DEATH[error.reason], describe_death(error)
    return Outcome.PASSED, ""


def hide_temporary_directories(message: str) -> str:
    """Replace the temporary directories of the kit, whose names differ between runs, by an ellipsis."""
    root = re.escape(tempfile.gettempdir().rstrip("/"))
    directory = rf"(?<![\w.-]){root}/deltaspec-(?:[a-z]+-)*\w{{8}}(?![\w.-])(?:/(?:tmp|work-)\w{{8}}(?![\w.-]))?"
    return re.sub(directory, "…", message)


def describe_death(death: Died) -> str:
    """Return how the candidate died, then the line that broke the protocol and the end of stderr."""
    lines = [str(death)]
    lines += [f"line: {death.line[:_LINE_CHARACTERS]}"] if death.line else []
    stderr = death.stderr[-_STDERR_LINES * _LINE_CHARACTERS :].splitlines()[-_STDERR_LINES:]
    return "\n".join([*lines, *(f"stderr: {each[-_LINE_CHARACTERS:]}" for each in stderr if each.strip())])


def describe_refusal(refusal: Refusal) -> str:
    """Return category, phase and message of an error in one line."""
    phase = f" in phase {refusal.phase}" if refusal.phase else ""
    name = refusal.code or refusal.native
    return f"{refusal.category}{phase}{f' ({name})' if name else ''}: {' '.join(refusal.message.split())}"[:600]
