"""Rules over replayed states are evaluated if replay succeeds, and undecided if a commit cannot be read."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from planted_faults.caught_by import CAUGHT_BY
from planted_faults.log_examples import draw_simplest
from validation.test_concurrent_writes import use_store
from validation.test_failing_reads import FailingStore, commit_path

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec_generators.table_files import commit_info_action

VIEWS = ("added_vectors", "adds_without_stats", "null_columns", "outdated_files")


def list_planted_faults() -> Iterator[str]:
    """Yield a planted fault of each rule over one of the views."""
    seen: set[str] = set()
    for name, rule in CAUGHT_BY.items():
        if rule in RULES and RULES[rule].view.name in VIEWS and rule not in seen:
            seen.add(rule)
            yield name


def validate(name: str, *, is_blocked: bool) -> Report:
    """Validate a mutated table with one commit more, which cannot be read if replay is to be blocked."""
    files = draw_simplest(name).files
    last = max(files.commits) + 1
    files = replace(files, commits={**files.commits, last: [commit_info_action(last)]})  # other tests use the drawn one
    with use_store(FailingStore(files, ("read", commit_path(last), 1) if is_blocked else None)):
        return deltaspec.validate("memory", level="log", history="all")


@pytest.mark.parametrize("name", [*list_planted_faults()])
def test_rule_is_undecided_if_replay_is_blocked(name: str) -> None:
    rule = CAUGHT_BY[name]
    assert rule in validate(name, is_blocked=False).totals
    report = validate(name, is_blocked=True)
    assert rule not in report.totals
    assert rule in {each.rule for each in report.checked.not_checked}
