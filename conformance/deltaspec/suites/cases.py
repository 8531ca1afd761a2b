"""Cases: a check on a table. List the cases of a candidate, run one, and return its result."""

import re
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

import msgspec

from deltaspec.candidates.host import Candidate, Died, Host, Refused, Traffic
from deltaspec.candidates.messages import Capabilities
from deltaspec.suites.all_checks import CHECKS
from deltaspec.suites.catalog import concerns
from deltaspec.suites.causes import break_only_recommendations, find_causes
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
    describe_refusal,
)
from deltaspec.suites.imported_checks import CHECK_OF_QUESTION
from deltaspec.suites.mixed_engines import list_readers
from deltaspec.suites.outcomes import CaseResult, Cause, Outcome
from deltaspec.suites.refuse import (
    check_broken_table,
    check_undeclared_features,
    describe_unsupported,
    list_required_types,
    list_undeclared_needs,
)
from deltaspec.suites.subjects import rewrite_subject
from deltaspec.suites.table_watch import describe_changes, list_files

_OUTCOMES_OF_DEATH = {
    "crash": Outcome.CRASHED,
    "timeout": Outcome.TIMED_OUT,
    "output": Outcome.CRASHED,
    "harness": Outcome.HARNESS_FAULT,
}
_REFUSALS = (check_undeclared_features, check_broken_table)
STDERR_MEBIBYTES, PROGRESS_MESSAGES = "stderr_mebibytes", "progress_messages"
"""Names of counts of unusual amounts of output."""
MANY_MEBIBYTES, MANY_MESSAGES = 16, 10_000
"""Amounts of output for one case that are noted."""
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
    started, before = time.monotonic(), _measure_traffic(candidate)
    outcome, message, error = _run_watched(candidate, case, notes)
    _note_traffic(notes, before, _measure_traffic(candidate))
    message = hide_temporary_directories(message)
    causes = () if error is None else find_causes(case.subject, case.check, error)
    if outcome is Outcome.FAILED and break_only_recommendations(causes):
        outcome = Outcome.WARNING
    return CaseResult(
        case=case.id,
        suite=case.check.suite,
        check=case.check.name,
        table=case.subject.id,
        outcome=outcome,
        seconds=round(time.monotonic() - started, 4),
        message=message if len(message) <= _MESSAGE_CHARACTERS else f"{message[:_MESSAGE_CHARACTERS]}…",
        causes=causes,
        requirements=case.subject.list_requirements(case.check) if outcome.has_failed else (),
        features=tuple(sorted(case.subject.features)),
        history=(notes.history or case.subject.table.history) if outcome.has_failed else (),
        counts=notes.counts,
    )


Failure: TypeAlias = Mismatch | Refused | Died
_ONE_VERSION = "table.snapshot-isolation"
"""Requirement that a reader breaks that changes the table: other readers no longer see the version."""


def _run_watched(candidate: Candidate, case: Case, notes: Notes) -> tuple[Outcome, str, Failure | None]:
    """Run a case. If it only reads, compare the files of its tables before and after, and write changed ones again."""
    if case.check.operation == "apply" or case.check.suite in WRITE_SUITES:
        return _run(candidate, case, notes)
    locations = case.subject.locations
    before = list_files(locations)
    outcome, message, _ = found = _run(candidate, case, notes)
    changes = describe_changes(before, list_files(locations))
    if not changes:
        return found
    rewrite_subject(case.subject)
    text = f"{changes}\n{outcome}: {message}" if message else changes
    return Outcome.FAILED, text, Mismatch(text, Cause(changes.partition("\n")[0], (_ONE_VERSION,)))


def _run(candidate: Candidate, case: Case, notes: Notes) -> tuple[Outcome, str, Failure | None]:
    if case.check.operation not in candidate.capabilities.ops:
        return Outcome.NOT_ASKED, f"the candidate does not offer the operation {case.check.operation}", None
    try:
        case.check.run(candidate, case.subject, notes)
    except NotAsked as error:
        return Outcome.NOT_ASKED, str(error), None
    except Weak as error:
        return Outcome.WEAK, str(error), error
    except Mismatch as error:
        return Outcome.FAILED, str(error), error
    except Refused as error:
        reason = describe_unsupported(candidate.capabilities, case.subject.table)
        if error.refusal.category == "unsupported" and reason:
            return Outcome.NOT_ASKED, reason, None
        required = list_required_types(candidate.capabilities, case.subject.table)
        because = f" (every reader has to read the type {', '.join(required)})" if required else ""
        return Outcome.FAILED, f"refused{because}: {describe_refusal(error.refusal)}", error
    except Died as error:
        return _OUTCOMES_OF_DEATH[error.reason], describe_death(error), error
    return Outcome.PASSED, "", None


def _measure_traffic(candidate: Candidate) -> Traffic:
    """Return what the processes of a candidate have written so far."""
    found = [each.traffic for each in (candidate, *list_readers(candidate)) if isinstance(each, Host)]
    return Traffic(sum(each.stderr_bytes for each in found), sum(each.progress_messages for each in found))


def _note_traffic(notes: Notes, before: Traffic, after: Traffic) -> None:
    """Note unusual amounts of output: nobody would look for them, and they cost time."""
    size = (after.stderr_bytes - before.stderr_bytes) // 2**20
    number = after.progress_messages - before.progress_messages
    if size >= MANY_MEBIBYTES:
        notes.add(STDERR_MEBIBYTES, size)
    if number >= MANY_MESSAGES:
        notes.add(PROGRESS_MESSAGES, number)


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
