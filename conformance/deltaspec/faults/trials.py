"""Trials and their results: one fault, provoked once, and the state of the table afterwards."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from deltaspec.candidates.messages import Capabilities
from deltaspec.exit_codes import ExitCode
from deltaspec.suites.outcomes import Outcome, build_signature

FORMAT_VERSION = 1


class Fault(StrEnum):
    """A fault that a trial provokes."""

    NONE = "none"
    """No fault: the operations must work, and they show how long they take and what they write."""
    KILL = "kill"
    """SIGKILL at a random moment of its operations."""
    RACE = "race"
    """Two or four writers work on the table at once."""
    S3_RACE = "s3-race"
    """The same with the table in an object store that has conditional put."""
    FULL_DISK = "full-disk"
    """The disk has room for only a part of what the operation writes."""
    FILE_SIZE = "file-size"
    """Writes fail after a random number of bytes of a file (RLIMIT_FSIZE)."""
    READ_ONLY = "read-only"
    """Directories of the table have no write permission."""


class TrialResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The result of one trial."""

    trial: str
    """`fault.number`, the id for `--only`."""
    outcome: Outcome
    seconds: float
    message: str = ""
    """Faults of the table or the answers, one per line; or why the trial was not run."""
    history: tuple[str, ...] = ()
    """The table, the operations with their answers, and the fault."""
    counts: dict[str, int] = {}
    orphans: tuple[str, ...] = ()
    """Files that the log does not name; they are legal."""

    @property
    def fault(self) -> Fault:
        return Fault(self.trial.partition(".")[0])


class FaultRun(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of a run; with them anyone can repeat it."""

    deltaspec: str
    candidates: tuple[str, ...]
    """As on the command line; the first is under test, the others race against it."""
    seed: int
    trials: dict[str, int]
    """Number of trials by fault."""
    seconds: float
    complete: bool


class FaultSummary(msgspec.Struct, frozen=True, kw_only=True):
    """All trials with one fault."""

    outcomes: dict[str, int]
    counts: dict[str, int]
    """Observations of the trials: operations by answer, ends, orphaned files, compared, lost and duplicated rows."""


class FaultReport(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a candidate. Trials that passed are only counted."""

    format_version: int = FORMAT_VERSION
    run: FaultRun
    candidate: Capabilities
    faults: dict[str, FaultSummary]
    not_asked: dict[str, int]
    """Number of trials that were not run, by reason."""
    known_violations: tuple[str, ...]
    """Codes of rules that the candidate's tables violate without any fault; they are not counted against it here."""
    trials: tuple[TrialResult, ...]
    """Every trial that neither passed nor was not asked."""

    @property
    def exit_code(self) -> ExitCode:
        """Exit code of `deltaspec faults`."""
        return ExitCode.judge_run(
            has_failed=any(each.outcome.is_bad for each in self.trials),
            is_complete=self.run.complete,
            has_passed=any(Outcome.PASSED in each.outcomes for each in self.faults.values()),
        )


def build_fault_report(
    run: FaultRun, candidate: Capabilities, results: Sequence[TrialResult], known_violations: Sequence[str]
) -> FaultReport:
    """Summarize the results of a run."""
    outcomes: dict[str, Counter[str]] = {}
    counts: dict[str, Counter[str]] = {}
    for each in results:
        outcomes.setdefault(each.fault.value, Counter())[each.outcome.value] += 1
        counts.setdefault(each.fault.value, Counter()).update(each.counts)
    not_asked = Counter(f"{each.fault}: {each.message}" for each in results if each.outcome is Outcome.NOT_ASKED)
    return FaultReport(
        run=run,
        candidate=candidate,
        faults={
            fault: FaultSummary(outcomes=dict(sorted(found.items())), counts=_select_counts(counts[fault]))
            for fault, found in outcomes.items()
        },
        not_asked=dict(not_asked),
        known_violations=tuple(known_violations),
        trials=tuple(each for each in results if each.outcome not in (Outcome.PASSED, Outcome.NOT_ASKED)),
    )


def _select_counts(counts: Counter[str]) -> dict[str, int]:
    """Return the counts by name. Zeros are left out, except for counts of wrong rows."""
    return {name: number for name, number in sorted(counts.items()) if number or name.startswith("rows ")}


def get_signature(result: TrialResult) -> str:
    """Return the kind of failure: outcome and the first line of the message without numbers and names."""
    return f"{result.outcome} {build_signature(result.message)}"
