"""Shrink histories that fail and save the shortest one, as a directory that anyone can replay.

delta/          the table after the operation that fails
history.json    the operations, with their rows
failure.json    check, answer, requirements and the operations in words
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from deltaspec.candidates.host import Candidate
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import fill_directory
from deltaspec.suites.all_checks import CHECKS
from deltaspec.suites.cases import Case, run_case
from deltaspec.suites.checks import TableUnderTest
from deltaspec.suites.history_shrinking import shrink_steps
from deltaspec.suites.outcomes import CaseResult
from deltaspec.suites.saved_cases import FAILURE, SavedFailure, is_same_failure
from deltaspec.suites.subjects import build_history_subject, describe_subject
from deltaspec.suites.write_history import HistoryUnderTest
from deltaspec_generators.histories.drawing import Step

HISTORY_FILE = "history.json"


def perform_again(candidate: Candidate, result: CaseResult, steps: Sequence[Step], directory: Path) -> CaseResult:
    """Run the check of a result on other operations, in a new directory."""
    history = HistoryUnderTest(0, 0, directory, tuple(steps))
    return run_case(candidate, Case(CHECKS[result.check], build_history_subject(result.table, history)))


def save_history(candidate: Candidate, result: CaseResult, directory: Path) -> Path:
    """Shrink the history of a failed case and save it below a directory; return its path."""
    subject = describe_subject(result.table)
    assert subject.history is not None
    steps = subject.history.list_steps(candidate.capabilities)[: len(result.history)]
    shortest = result

    def still_fails(shorter: Sequence[Step]) -> bool:
        nonlocal shortest
        with tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
            found = perform_again(candidate, result, shorter, Path(place))
        if not is_same_failure(result, found):
            return False
        shortest = found
        return True

    steps = shrink_steps(steps, still_fails)
    here = directory / result.case.replace("/", "-")
    with fill_directory(here) as content, tempfile.TemporaryDirectory(prefix="deltaspec-") as place:
        shortest = perform_again(candidate, result, steps, Path(place))
        shutil.copytree(Path(place) / "table", content / "delta")
        capabilities = candidate.capabilities
        failure = SavedFailure(candidate=f"{capabilities.name} {capabilities.version}", choices=(), result=shortest)
        for name, value in ((FAILURE, failure), (HISTORY_FILE, steps)):
            (content / name).write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    return here


def load_history(saved: Path, directory: Path) -> tuple[SavedFailure, TableUnderTest]:
    """Load a saved history, to be performed in a directory.

    Raises:
        InvalidUsage: The directory has no saved history.
    """
    try:
        failure = msgspec.json.decode((saved / FAILURE).read_bytes(), type=SavedFailure)
        steps = msgspec.json.decode((saved / HISTORY_FILE).read_bytes(), type=tuple[Step, ...])
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidUsage(f"{saved}: not a saved history: {error}") from None
    history = HistoryUnderTest(0, 0, directory, steps)
    return failure, build_history_subject(failure.result.table, history)
