"""Compare a matrix with an earlier one.

Reports only count the cases that passed. So a case that failed earlier and is not listed now is `gone` if it was run
again, and `not-run` otherwise; the same in the other direction distinguishes `new` from `first-asked`.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from deltaspec.matrix.model import (
    Change,
    ChangeKind,
    Comparison,
    Engine,
    EngineChange,
    EngineRun,
    Failure,
    Matrix,
)
from deltaspec.protocol.revisions import Revision
from deltaspec.suites.outcomes import build_signature
from deltaspec.suites.subjects import DRAWN, HISTORY

_ORDER: tuple[ChangeKind, ...] = ("new", "other-failure", "first-asked", "gone", "not-run")


def compare_matrices(matrix: Matrix, earlier: Matrix, name: str) -> Matrix:
    """Return the matrix with its differences to an earlier one. Engines are compared across versions.

    Args:
        matrix: the matrix.
        earlier: the earlier one.
        name: name of its file.
    """
    before, after = _index_engines(earlier), _index_engines(matrix)
    engines, changes = [], []
    for engine in {**after, **before}:
        old, new = before.get(engine), after.get(engine)
        engines.append(
            EngineChange(
                name=engine,
                before=old.version if old else None,
                after=new.version if new else None,
                counts_before=earlier.get_total(old.id) if old else None,
                counts_after=matrix.get_total(new.id) if new else None,
            )
        )
        if old and new:
            changes += _list_changes(engine, old, _index_failures(earlier, old), new, _index_failures(matrix, new))
    changes.sort(key=lambda each: (_ORDER.index(each.change), each.engine, each.case))
    return replace(matrix, comparison=Comparison(earlier=name, engines=tuple(engines), changes=tuple(changes)))


def _index_engines(matrix: Matrix) -> dict[str, Engine]:
    """Return the engines by name, or by name and version if there are several of a name."""
    names = [each.name for each in matrix.engines]
    return {each.name if names.count(each.name) == 1 else each.id: each for each in matrix.engines}


def _index_failures(matrix: Matrix, engine: Engine) -> dict[str, Failure]:
    return {each.case: each for each in matrix.failures if each.engine == engine.id}


def _list_changes(
    name: str, old: Engine, before: dict[str, Failure], new: Engine, after: dict[str, Failure]
) -> list[Change]:
    found: list[Change] = []
    for case in {**after, **before}:
        earlier, later = before.get(case), after.get(case)
        change: ChangeKind
        if earlier is None and later is not None:
            change = "new" if _was_run(later, new, old.runs) else "first-asked"
        elif later is None and earlier is not None:
            change = "gone" if _was_run(earlier, old, new.runs) else "not-run"
        elif earlier and later and _get_signature(earlier) != _get_signature(later):
            change = "other-failure"
        else:
            continue
        found.append(Change(engine=name, case=case, change=change, before=_get_head(earlier), after=_get_head(later)))
    return found


def _get_signature(failure: Failure) -> tuple[str, str]:
    return failure.outcome, build_signature(failure.message)


def _get_head(failure: Failure | None) -> str:
    return failure.message.partition("\n")[0][:300] if failure else ""


def _was_run(failure: Failure, source: Engine, runs: Iterable[EngineRun]) -> bool:
    """Return whether one of the runs had a case.

    Args:
        failure: the case.
        source: the engine that failed it, with its runs.
        runs: the runs in question.
    """
    own = next(run for run in source.runs if run.report == failure.report)
    return any(run.complete and failure.suite in run.suites and _has_case(failure, own, run) for run in runs)


def _has_case(failure: Failure, own: EngineRun, run: EngineRun) -> bool:
    if run.trials:
        number = failure.case.partition(".")[2]
        return run.seed == own.seed and number.isdecimal() and int(number) < run.trials.get(failure.check, 0)
    kind, _, name = failure.case.partition("/")[2].partition(".")
    kind, _, revision = kind.partition("-")
    if kind in (DRAWN, HISTORY) and not (run.imported or run.golden):
        seed, _, number = name.partition(".")
        is_same = (seed, revision or Revision.CURRENT) == (str(run.seed), run.revision)
        return is_same and number.isdecimal() and int(number) < run.tables
    return (run.imported, run.golden) == (own.imported, own.golden)
