"""The reference reader passes every check, and readers with a fault fail where they should."""

from collections import Counter
from typing import Any

import pytest
from suites.faulty_readers import FAULTY_READERS

from deltaspec.candidates.in_process import InProcess
from deltaspec.candidates.reference.engine import Engine
from deltaspec.selftest.mutants import Mutant
from deltaspec.suites.checks import SUITES
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.runner import SuitePlan, run_suite_plan
from deltaspec.suites.subjects import Corpus

SEED, TABLES = 1, 15
TABLES_UNTIL_DETECTED = 60
"""Every faulty reader fails within so many drawn tables of the seed."""


def test_reference_passes_every_check() -> None:
    outcomes: Counter[tuple[str, Outcome]] = Counter()
    for done in run_suite_plan(lambda: InProcess(Engine()), SuitePlan(Corpus(SEED, TABLES))):
        for result in done.results:
            assert result.outcome is Outcome.PASSED, f"{result.case}: {result.message}"
            outcomes[result.suite, result.outcome] += 1
    assert {suite for suite, _ in outcomes} == set(SUITES)


class _OnlyScans:
    """The reference reader without the operations `snapshot` and `changes`."""

    def __init__(self) -> None:
        self._reader = Engine()

    def hello(self) -> dict[str, Any]:
        return self._reader.hello()

    def scan(self, table: str, **request: Any) -> Any:
        return self._reader.scan(table, **request)


def test_candidate_without_snapshots_is_not_asked_for_them() -> None:
    plan = SuitePlan(Corpus(SEED, 3), ("snapshot", "time-travel", "refuse"))
    results = [result for done in run_suite_plan(lambda: InProcess(_OnlyScans()), plan) for result in done.results]
    outcomes = {(each.suite, each.outcome) for each in results}
    assert outcomes == {
        ("snapshot", Outcome.NOT_ASKED),
        ("time-travel", Outcome.NOT_ASKED),
        ("time-travel", Outcome.PASSED),
        ("refuse", Outcome.PASSED),
    }


@pytest.mark.slow("conformance/deltaspec/suites", "conformance/deltaspec/selftest")
@pytest.mark.parametrize("faulty", FAULTY_READERS, ids=lambda each: each.id)
def test_faulty_reader_fails(faulty: Mutant) -> None:
    failed: set[str] = set()
    plan = SuitePlan(Corpus(SEED, TABLES_UNTIL_DETECTED), faulty.suites)
    run = run_suite_plan(lambda: InProcess(faulty.build()), plan)
    for done in run:
        failed |= {result.suite for result in done.results if result.outcome.is_bad}
        if failed == set(faulty.suites):
            break
    run.close()
    assert failed == set(faulty.suites)
