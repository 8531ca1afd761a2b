"""Group failures with the same cause, because one defect fails many cases."""

from collections.abc import Sequence

import msgspec

from deltaspec.matrix.model import Failure, Matrix


class Cause(msgspec.Struct, frozen=True):
    """Failures of an engine with the same listed reason, or with the same cause that the suites determined."""

    engine: str
    title: str
    """Reason of the list of known failures, otherwise the cause."""
    breaks: tuple[str, ...]
    """Requirements that the engine breaks, if an answer shows them."""
    link: str
    is_listed: bool
    failures: tuple[int, ...]
    """Indexes in `Matrix.failures`, the shortest history first."""


def group_failures(matrix: Matrix) -> list[Cause]:
    """Return the causes, by engine in the order of the matrix, the most frequent first."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, each in enumerate(matrix.failures):
        groups.setdefault((each.engine, each.known_failure, _get_title(each)), []).append(index)
    causes = [_describe(matrix.failures, indexes) for indexes in groups.values()]
    order = {engine.id: index for index, engine in enumerate(matrix.engines)}
    return sorted(causes, key=lambda each: (order[each.engine], -len(each.failures), each.title))


def _get_title(failure: Failure) -> str:
    return failure.known_failure or failure.cause or failure.message.partition("\n")[0] or "no message"


def _describe(failures: Sequence[Failure], indexes: list[int]) -> Cause:
    indexes.sort(key=lambda index: (len(failures[index].history), failures[index].case))
    first = failures[indexes[0]]
    return Cause(
        first.engine,
        _get_title(first),
        first.breaks,
        first.known_link,
        bool(first.known_failure),
        tuple(indexes),
    )
