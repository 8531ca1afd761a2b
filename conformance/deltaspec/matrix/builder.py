"""Build the matrix from reports."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

from deltaspec.candidates.messages import Capabilities
from deltaspec.errors import InvalidUsage
from deltaspec.faults.trials import Fault
from deltaspec.matrix.model import (
    ALL_TABLES,
    Cells,
    Counts,
    Engine,
    EngineRun,
    Gap,
    Matrix,
    Row,
    RowKind,
    sum_counts,
)
from deltaspec.matrix.report_reader import (
    FAULTS,
    RowCounts,
    count_cases,
    describe_run,
    find_gaps,
    list_failures,
    list_not_asked,
    read_report,
)
from deltaspec.suites.checks import SUITES, SuiteName
from deltaspec.suites.results import NO_FEATURE
from deltaspec.version import __version__

_SUITES = (*get_args(SuiteName), FAULTS)
_FAULTS = [each.value for each in Fault]
_OTHER_KINDS = ("revision", "check", "operation", "chapter")
"""Kinds of rows after the features, except faults."""


def build_matrix(paths: Sequence[Path]) -> Matrix:
    """Build the matrix from the files of reports. Reports about the same version of an engine share a column.

    Raises:
        InvalidUsage: A file is not a report, or two reports answer the same questions.
    """
    runs: dict[str, list[EngineRun]] = {}
    capabilities: dict[str, Capabilities] = {}
    counts: dict[str, RowCounts] = {}
    gaps: dict[str, list[str]] = {}
    failures, not_asked = [], []
    for path in paths:
        report = read_report(path)
        engine = f"{report.candidate.name} {report.candidate.version}"
        name = f"{path.absolute().parent.name}/{path.name}"
        run = describe_run(report, name)
        _require_other_questions(run, runs.setdefault(engine, []), path)
        runs[engine].append(run)
        capabilities.setdefault(engine, report.candidate)
        found = list_failures(report, engine, name)
        _add(counts.setdefault(engine, {}), count_cases(report, found))
        failures += found
        not_asked += list_not_asked(report, engine)
        for gap in find_gaps(report, found):
            gaps.setdefault(gap, []).append(name)
    engines = [_describe_engine(name, capabilities[name], runs[name]) for name in runs]
    engines.sort(key=lambda each: (-_count_right_reads(counts[each.id]), each.id))
    order = [each.id for each in engines]
    suites = {suite for of_engine in counts.values() for by_suite in of_engine.values() for suite in by_suite}
    return Matrix(
        deltaspec=__version__,
        engines=tuple(engines),
        suites=tuple(sorted(suites, key=lambda each: (_SUITES.index(each) if each in _SUITES else len(_SUITES), each))),
        rows=_build_rows(order, counts),
        failures=tuple(sorted(failures, key=lambda each: (order.index(each.engine), each.case))),
        not_asked=tuple(sorted(not_asked, key=lambda each: (order.index(each.engine), each.check, -each.count))),
        gaps=tuple(Gap(what=what, reports=tuple(names)) for what, names in gaps.items()),
    )


def _count_right_reads(counts: RowCounts) -> int:
    """Return the number by which engines are ordered; few engines write."""
    return sum(each.right for suite, each in counts.get(ALL_TABLES, {}).items() if suite in SUITES)


def _require_other_questions(run: EngineRun, others: Sequence[EngineRun], path: Path) -> None:
    """Raise `InvalidUsage` if two reports would count the same cases twice."""
    for other in others:
        same = (run.seed, run.tables, run.imported, run.golden, run.revision) == (
            other.seed,
            other.tables,
            other.imported,
            other.golden,
            other.revision,
        )
        if same and set(run.suites) & set(other.suites):
            raise InvalidUsage(f"{path}: {other.report} already answers the same questions")


def _describe_engine(name: str, capabilities: Capabilities, runs: Sequence[EngineRun]) -> Engine:
    return Engine(
        id=name,
        name=capabilities.name,
        version=capabilities.version,
        language=capabilities.language,
        reader_features=tuple(sorted(capabilities.reader_features)),
        runs=tuple(runs),
    )


def _add(total: RowCounts, found: RowCounts) -> None:
    for row, by_suite in found.items():
        into = total.setdefault(row, {})
        for suite, counts in by_suite.items():
            into[suite] = into.get(suite, Counts()) + counts


def _build_rows(engines: Sequence[str], counts: dict[str, RowCounts]) -> tuple[Row, ...]:
    """Return the rows: all tables, features by number of cases, tables without features, and the other kinds."""
    sizes: Counter[str] = Counter()
    for of_engine in counts.values():
        for row, by_suite in of_engine.items():
            total = sum_counts(by_suite)
            sizes[row] += total.asked + total.not_asked
    return tuple(
        Row(id=row, kind=cast(RowKind, row.partition(":")[0]), name=row.partition(":")[2] or row,
            cells=_select_row(engines, counts, row))
        for row in sorted(sizes, key=lambda row: _get_row_order(row, sizes))
    )  # fmt: skip


def _get_row_order(row: str, sizes: Counter[str]) -> tuple[int, int, str]:
    kind, _, name = row.partition(":")
    if kind == "fault":
        return len(_OTHER_KINDS) + 3, _FAULTS.index(name) if name in _FAULTS else len(_FAULTS), name
    if kind in _OTHER_KINDS:
        suite = name.partition(".")[0]
        return _OTHER_KINDS.index(kind) + 3, _SUITES.index(suite) if kind == "check" and suite in _SUITES else 0, name
    if row == ALL_TABLES:
        return 0, 0, name
    return (2, 0, name) if name == NO_FEATURE else (1, -sizes[row], name)


def _select_row(engines: Sequence[str], counts: dict[str, RowCounts], row: str) -> Cells:
    return {engine: counts[engine][row] for engine in engines if row in counts[engine]}
