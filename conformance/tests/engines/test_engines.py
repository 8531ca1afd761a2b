"""Engines that CI can install fail in no way that `reports/engines/known` does not list."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from deltaspec.candidates.registry import ADAPTERS, find_missing_requirement, open_candidate
from deltaspec.suites.known_failures import KnownFailures, load_known_failures
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.runner import SuitePlan, run_suite_plan
from deltaspec.suites.subjects import Corpus

ROOT = Path(__file__).parents[3]
KNOWN = ROOT / "reports/engines/known"
SEED, TABLES = 1, 12


@pytest.mark.parametrize("engine", ["deltalake", "duckdb", "polars"])
@pytest.mark.slow("conformance/deltaspec/candidates", "conformance/deltaspec/suites")
def test_engine_has_only_known_failures(engine: str) -> None:
    assert find_missing_requirement(ADAPTERS[engine]) is None
    with open_candidate(engine) as candidate:
        version = candidate.capabilities.version
    known = KnownFailures(load_known_failures(KNOWN / f"{engine}.toml"), version, datetime.now(UTC).date())
    passed = 0
    for done in run_suite_plan(lambda: open_candidate(engine), SuitePlan(Corpus(SEED, TABLES))):
        for result in map(known.judge, done.results):
            assert not result.outcome.is_bad, f"{result.case}: {result.message}"
            passed += result.outcome is Outcome.PASSED
    assert passed > 20
