"""Reports from which tests build a matrix."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from deltaspec.candidates.messages import Capabilities
from deltaspec.faults.trials import FaultReport, FaultRun, TrialResult, build_fault_report
from deltaspec.matrix.builder import build_matrix
from deltaspec.matrix.model import Matrix
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.results import Run, SuiteReport, build_report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> `|[a](javascript:alert(1)) \u202e\x1b[31m"
WRONG_ROWS = "\n".join(
    [
        "wrong rows: expected 2, got 2: 1 missing, 1 not expected",
        '  where ("id" > 0)',
        "  columns: id, p",
        "  - (id=1, p='a')",
        "  + (id=1, p=null)",
    ]
)


def build_result(case: str, outcome: Outcome = Outcome.PASSED, **others: Any) -> CaseResult:
    """Return the result of a case such as `read.all-rows/drawn.1.0`."""
    check, _, table = case.partition("/")
    suite = check.partition(".")[0]
    return CaseResult(case=case, suite=suite, check=check, table=table, outcome=outcome, seconds=0, **others)


def build_suite_report(
    results: Sequence[CaseResult], *, name: str = "mill", version: str = "1.0", declared: Sequence[str] = (), **run: Any
) -> SuiteReport:
    """Return the report of an engine with these results."""
    settings = {"deltaspec": "0", "candidate": name, "seed": 1, "tables": 10, "seconds": 1.0, "complete": True, **run}
    settings.setdefault("suites", tuple(sorted({each.suite for each in results})))
    return build_report(Run(**settings), Capabilities(name, version, reader_features=tuple(declared)), results)


def build_trials_report(results: Sequence[TrialResult], *, name: str = "mill", version: str = "1.0") -> FaultReport:
    """Return the report of an engine under faults."""
    run = FaultRun(deltaspec="0", candidates=(name,), seed=1, trials={"kill": 5}, seconds=1, complete=True)
    return build_fault_report(run, Capabilities(name, version), results, ())


def write_reports(directory: Path, reports: Sequence[SuiteReport | FaultReport]) -> list[Path]:
    """Write reports as files."""
    paths = [directory / f"{number}.json" for number in range(len(reports))]
    for path, report in zip(paths, reports, strict=True):
        path.write_bytes(msgspec.json.encode(report))
    return paths


def build(directory: Path, *reports: SuiteReport | FaultReport) -> Matrix:
    """Build the matrix of reports."""
    return build_matrix(write_reports(directory, reports))


def build_hostile_matrix(directory: Path) -> Matrix:
    """Return a matrix in which every text of engine and table tries to become markup."""
    result = build_result(
        f"read.all-rows/{HOSTILE}", Outcome.FAILED, message=f"{HOSTILE}\n  - ({HOSTILE})", known_failure=HOSTILE,
        features=(HOSTILE,), history=(HOSTILE,), requirements=(HOSTILE,), known_link=f"javascript:{HOSTILE}",
    )  # fmt: skip
    missing = build_result("read.row-count/drawn.1.0", Outcome.NOT_ASKED, message=HOSTILE)
    return build(directory, build_suite_report([result, missing], name=HOSTILE, version=HOSTILE, declared=[HOSTILE]))
