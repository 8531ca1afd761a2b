"""What only the failing tables have: a hint at causes whose answers do not show what they break, such as errors."""

from collections.abc import Sequence
from functools import cache

from deltaspec.suites.causes import FailureGroup
from deltaspec.suites.outcomes import CaseResult, Outcome
from deltaspec.suites.subjects import describe_subject, is_drawn

MOST_TABLES = 40
"""Failing tables, and passing ones, that are compared for each cause; drawing a table again takes time."""
_RARE = 0.1
"""Share of the passing tables that may have what all failing tables have."""


def find_contrasts(groups: Sequence[FailureGroup], results: Sequence[CaseResult]) -> dict[str, tuple[str, ...]]:
    """Return, by title of a cause without requirements, the dimensions of drawn tables that only failing tables have.

    Args:
        groups: causes of the run.
        results: all results of the run.
    """
    found = {}
    for group in groups:
        if not group.cause.breaks and (dimensions := _contrast(group, results)):
            found[group.cause.title] = dimensions
    return found


def _contrast(group: FailureGroup, results: Sequence[CaseResult]) -> tuple[str, ...]:
    checks = {each.check for each in group.cases}
    failing = {each.table for each in group.cases if is_drawn(each.table)}
    passed = {each.table for each in results if each.check in checks and each.outcome is Outcome.PASSED}
    passing = sorted(each for each in passed - failing if is_drawn(each))[:MOST_TABLES]
    if not failing or not passing:
        return ()
    common = frozenset.intersection(*map(_list_dimensions, sorted(failing)[:MOST_TABLES]))
    shares = {name: sum(name in _list_dimensions(table) for table in passing) / len(passing) for name in common}
    only = [name for name, share in shares.items() if share == 0]
    return tuple(sorted(only or [name for name, share in shares.items() if share <= _RARE]))


@cache
def _list_dimensions(table: str) -> frozenset[str]:
    return describe_subject(table).table.dimensions
