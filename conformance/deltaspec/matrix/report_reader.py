"""Read the reports of `deltaspec test` and `deltaspec faults`, and count their cases."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.faults import trials
from deltaspec.faults.rendering import build_repeat_command
from deltaspec.faults.trials import FaultReport
from deltaspec.matrix.model import ALL_TABLES, Counts, EngineRun, FailedOutcome, Failure, NotAsked
from deltaspec.protocol.revisions import Revision
from deltaspec.report.text import count
from deltaspec.suites import results
from deltaspec.suites.causes import group_by_cause
from deltaspec.suites.checks import WRITE_SUITES
from deltaspec.suites.outcomes import CaseResult, Cause, Outcome, build_signature
from deltaspec.suites.rendering import build_replay_command
from deltaspec.suites.results import NO_FEATURE, UNDECLARED_FEATURES, SuiteReport

AnyReport: TypeAlias = SuiteReport | FaultReport
RowCounts: TypeAlias = dict[str, dict[str, Counts]]
"""Counts by row (`Row.id`) and suite."""

FAULTS = "faults"
"""Stands for the suite of a report of faults."""
MOST_BYTES = 64 * 1024 * 1024
"""Largest report that is read."""
_CRASHES = (Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.HARNESS_FAULT)
_CRASH_MESSAGES = ("crash: ", "timeout: ", "harness: ")
"""Start of the messages of `Died`; identifies crashes among the expected failures of reports that do not name them."""
_PASSED = (Outcome.PASSED, Outcome.UNEXPECTED_PASS)


def read_report(path: Path) -> AnyReport:
    """Read a report.

    Raises:
        InvalidUsage: The file is not a report, or one of a later release.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidUsage(f"{path}: larger than {MOST_BYTES:,} bytes, so it is not read")
        data, decode = path.read_bytes(), msgspec.json.decode
        head = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        is_faults = "trials" in head
        report = decode(data, type=FaultReport) if is_faults else decode(data, type=SuiteReport)
    except OSError as error:
        raise InvalidUsage(f"{path}: cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidUsage(f"{path}: not a JSON report of `deltaspec test` or `deltaspec faults`: {error}") from None
    newest = trials.FORMAT_VERSION if is_faults else results.FORMAT_VERSION
    if report.format_version > newest:
        raise InvalidUsage(f"{path}: format version {report.format_version}; this release reads up to {newest}")
    if isinstance(report, FaultReport) and not report.run.candidates:
        raise InvalidUsage(f"{path}: names no candidate")
    return report


def describe_run(report: AnyReport, name: str) -> EngineRun:
    """Return the arguments of the run of a report."""
    run = report.run
    suites: tuple[str, ...]
    if isinstance(report, FaultReport):
        candidate, suites, faults = " ".join(report.run.candidates), (FAULTS,), report.run.trials
        tables, imported, golden, revision = 0, "", False, Revision.CURRENT.value
    else:
        candidate, suites, faults = report.run.candidate, report.run.suites, {}
        tables, imported, golden, revision = (
            report.run.tables,
            report.run.imported,
            report.run.golden,
            report.run.revision,
        )
    return EngineRun(
        report=name,
        deltaspec=run.deltaspec,
        candidate=candidate,
        suites=suites,
        seed=run.seed,
        tables=tables,
        trials=faults,
        imported=imported,
        golden=golden,
        revision=revision,
        seconds=run.seconds,
        complete=run.complete,
    )


def list_failures(report: AnyReport, engine: str, name: str) -> list[Failure]:
    """List the cases that failed or crashed.

    Args:
        report: the report.
        engine: id of the engine.
        name: name of the report.
    """
    if isinstance(report, FaultReport):
        return [
            Failure(
                engine=engine,
                report=name,
                case=each.trial,
                suite=FAULTS,
                check=each.fault.value,
                rows=(f"fault:{each.fault}",),
                outcome="crashed" if each.outcome in _CRASHES else "failed",
                reported=each.outcome.value,
                known_failure="",
                known_link="",
                cause=build_signature(each.message),
                message=each.message,
                history=each.history,
                requirements=(),
                replay=build_repeat_command(each, report.run),
            )
            for each in report.trials
            if each.outcome not in (*_PASSED, Outcome.NOT_ASKED)
        ]
    failed = [each for each in report.cases if each.outcome not in (*_PASSED, Outcome.NOT_ASKED)]
    causes = _find_causes(failed)
    return [
        Failure(
            engine=engine,
            report=name,
            case=each.case,
            suite=each.suite,
            check=each.check,
            rows=_list_rows(each, report),
            outcome=_get_outcome(each),
            reported=each.outcome.value,
            known_failure=each.known_failure,
            known_link=each.known_link,
            cause=causes[each.case].title,
            breaks=causes[each.case].breaks,
            message=each.message,
            history=each.history,
            requirements=each.requirements,
            replay=build_replay_command(each, report.run.candidate, report.run.imported),
        )
        for each in failed
    ]


def _find_causes(failed: Iterable[CaseResult]) -> dict[str, Cause]:
    """Return the cause of each case: as few as possible for all with one listed reason, and for those without."""
    by_reason: dict[str, list[CaseResult]] = {}
    for each in failed:
        by_reason.setdefault(each.known_failure, []).append(each)
    groups = [group for found in by_reason.values() for group in group_by_cause(found)]
    return {case.case: group.cause for group in groups for case in group.cases}


def _list_rows(result: CaseResult, report: SuiteReport) -> tuple[str, ...]:
    """Return the rows in which a case counts. A report does not have the features of a written table."""
    rows = [f"check:{result.check}"] if report.checks else []
    if result.suite in WRITE_SUITES:
        return tuple(rows)
    rows = [*(f"feature:{feature}" for feature in result.features or (NO_FEATURE,)), *rows]
    rows += [f"chapter:{result.golden_chapter}"] if result.golden_chapter else []
    rows += [f"revision:{report.run.revision}"] if report.run.revision != Revision.CURRENT else []
    return tuple(rows)


def _get_outcome(result: CaseResult) -> FailedOutcome:
    if result.outcome in (Outcome.EXPECTED_FAILURE, Outcome.DRIFT):
        is_crash = result.found in _CRASHES if result.found else result.message.startswith(_CRASH_MESSAGES)
    else:
        is_crash = result.outcome in _CRASHES
    return "crashed" if is_crash else "failed"


def list_not_asked(report: AnyReport, engine: str) -> list[NotAsked]:
    """List the reasons for which cases were not asked."""
    if isinstance(report, FaultReport):
        split = [(*reason.partition(": "), number) for reason, number in report.not_asked.items()]
        entries = [(FAULTS, fault, reason, number) for fault, _, reason, number in split]
    else:
        entries = [
            (check.partition(".")[0], check, reason, number)
            for check, reasons in report.not_asked.items()
            for reason, number in reasons.items()
        ]
    return [
        NotAsked(engine=engine, suite=suite, check=check, reason=reason, count=number)
        for suite, check, reason, number in entries
    ]


def count_cases(report: AnyReport, failures: Iterable[Failure]) -> RowCounts:
    """Count the cases of a report by row and suite.

    Args:
        report: the report.
        failures: its failures, from `list_failures`.
    """
    crashes = Counter((row, each.suite) for each in failures if each.outcome == "crashed"
                      for row in (ALL_TABLES, *each.rows))  # fmt: skip
    if isinstance(report, FaultReport):
        return {
            f"fault:{fault}": {FAULTS: _count(each.outcomes, crashes[f"fault:{fault}", FAULTS])}
            for fault, each in report.faults.items()
        }
    rows = {ALL_TABLES: report.outcomes}
    for feature, outcomes in report.features.items():
        rows[f"feature:{feature}"] = {suite: each for suite, each in outcomes.items() if suite not in WRITE_SUITES}
    rows |= {f"chapter:{chapter}": outcomes for chapter, outcomes in report.chapters.items()}
    rows |= {f"check:{name}": {name.partition(".")[0]: outcomes} for name, outcomes in report.checks.items()}
    if report.run.revision != Revision.CURRENT:
        rows[f"revision:{report.run.revision}"] = report.outcomes
    return count_operations(report) | {
        row: {
            suite: _count(each, crashes[row, suite], _count_refusals(report, row) if suite == "refuse" else 0)
            for suite, each in outcomes.items()
        }
        for row, outcomes in rows.items()
        if outcomes
    }


def count_operations(report: SuiteReport) -> RowCounts:
    """Count the operations that a writer performed, by kind; one that the protocol forbids is to be refused."""
    found: dict[str, dict[str, int]] = {}
    for suite in WRITE_SUITES:
        for name, number in report.counts.get(suite, {}).items():
            kind, colon, outcome = name.partition(": ")
            if colon:
                found.setdefault(kind, {})[outcome] = number
    return {
        f"operation:{kind}": {
            "write": Counts(
                passed=outcomes.get("done", 0) + outcomes.get("refused", 0),
                failed=outcomes.get("failed", 0),
                not_asked=outcomes.get("not supported", 0),
            )
        }
        for kind, outcomes in found.items()
    }


def _count(outcomes: Mapping[str, int], crashed: int, refused: int = 0) -> Counts:
    """Distribute the outcomes of a report; cases that neither passed nor were not asked have failed."""
    passed = sum(outcomes.get(each, 0) for each in _PASSED)
    not_asked = outcomes.get(Outcome.NOT_ASKED, 0)
    wrong = sum(outcomes.values()) - passed - not_asked
    refused, crashed = min(refused, passed), min(crashed, wrong)
    return Counts(
        passed=passed - refused,
        refused=refused,
        failed=wrong - crashed,
        crashed=crashed,
        not_asked=not_asked,
    )


def _count_refusals(report: SuiteReport, row: str) -> int:
    """Return how many tables of a row were refused because the engine does not declare one of their features."""
    refusals, (kind, _, name) = report.declared_refusals, row.partition(":")
    if refusals is not None:
        by_name = {"feature": refusals.features, "chapter": refusals.chapters}
        if kind in by_name:
            return by_name[kind].get(name, 0)
        return refusals.total if kind in (ALL_TABLES, "revision") or name == UNDECLARED_FEATURES else 0
    if kind != "feature" or name in (*report.candidate.reader_features, NO_FEATURE):
        return 0  # an earlier release did not count them apart
    return report.features[name].get("refuse", {}).get(Outcome.PASSED, 0)  # all its tables must be refused


def find_gaps(report: AnyReport, failures: Iterable[Failure]) -> list[str]:
    """Return a sentence for each kind of information that is missing from the report."""
    gaps = []
    if isinstance(report, FaultReport):
        totals = {FAULTS: sum((Counter(each.outcomes) for each in report.faults.values()), Counter[str]())}
    else:
        totals = {suite: Counter(outcomes) for suite, outcomes in report.outcomes.items()}
        if report.declared_refusals is None and totals.get("refuse", Counter())[Outcome.PASSED]:
            gaps.append(
                "Refusals as declared are not counted apart: they are among the passed cases of `refuse`, except in "
                "rows of features that the engine does not declare."
            )
        if any(suite in WRITE_SUITES for suite in totals):
            gaps.append("The features of written tables are not recorded, so `write` has counts only for all tables.")
    listed = Counter(each.suite for each in failures)
    for suite, counts in totals.items():
        wrong = sum(number for outcome, number in counts.items() if outcome not in (*_PASSED, Outcome.NOT_ASKED))
        if wrong > listed[suite]:
            gaps.append(f"{count(wrong, 'failure')} counted in `{suite}`, but {listed[suite]:,} described.")
    if not report.run.complete:
        gaps.append("Incomplete: the engine died too often, and the remaining cases were not run.")
    return gaps
