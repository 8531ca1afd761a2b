"""Cases: a check on a table. Lists the cases of a candidate, runs one, and says what became of it."""

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from deltaspec.candidates.host import Candidate, Died, Refused
from deltaspec.candidates.messages import Capabilities, Refusal
from deltaspec.suites import changes, predicates, read, refuse, row_ids, snapshot, time_travel
from deltaspec.suites.checks import CHECKS, Check, Mismatch, NotAsked, Notes, SuiteName, TableUnderTest, Weak
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.refuse import check_broken_table, check_undeclared_features, list_undeclared_features

_OUTCOMES_OF_DEATH = {"crash": Outcome.CRASHED, "timeout": Outcome.TIMED_OUT, "harness": Outcome.HARNESS_FAULT}
SUITE_MODULES = (snapshot, read, time_travel, predicates, changes, row_ids, refuse)
"""Their import registers the checks."""
_REFUSALS = (check_undeclared_features, check_broken_table)


@dataclass(frozen=True)
class Case:
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

    A table with a feature that the candidate does not declare has one case: the candidate must refuse it.
    """
    for subject in subjects:
        for each in CHECKS.values():
            if each.suite in suites and _applies(each, capabilities, subject):
                yield Case(each, subject)


def _applies(check: Check, capabilities: Capabilities, subject: TableUnderTest) -> bool:
    if list_undeclared_features(capabilities, subject):
        return check.run is check_undeclared_features
    if subject.broken is not None:
        return check.run is check_broken_table
    return check.run not in _REFUSALS and check.needs(subject.table)


def run_case(candidate: Candidate, case: Case) -> CaseResult:
    """Run a case. The host restarts a candidate that dies; only `GivenUp` is raised."""
    notes = Notes()
    started = time.monotonic()
    outcome, message = _run(candidate, case, notes)
    return CaseResult(
        case=case.id,
        suite=case.check.suite,
        check=case.check.name,
        table=case.subject.id,
        outcome=outcome,
        seconds=round(time.monotonic() - started, 4),
        message=message,
        requirements=case.subject.list_requirements(case.check) if outcome.is_bad else (),
        features=tuple(sorted(case.subject.table.features)),
        history=case.subject.table.history if outcome.is_bad else (),
        counts=notes.counts,
    )


def _run(candidate: Candidate, case: Case, notes: Notes) -> tuple[Outcome, str]:
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
            return Outcome.PASSED, f"refused as declared, because of the type {', '.join(sorted(types))}"
        return Outcome.FAILED, f"refused: {describe_refusal(error.refusal)}"
    except Died as error:
        return _OUTCOMES_OF_DEATH[error.reason], str(error)
    return Outcome.PASSED, ""


def describe_refusal(refusal: Refusal) -> str:
    """Return category, phase and message of an error in one line."""
    phase = f" in phase {refusal.phase}" if refusal.phase else ""
    name = refusal.code or refusal.native
    return f"{refusal.category}{phase}{f' ({name})' if name else ''}: {' '.join(refusal.message.split())}"[:600]
