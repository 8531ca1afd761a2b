"""Parts of the report: the sorted ledger, accepted entries, the verdict, and why rules did not run."""

from collections.abc import Collection

import pytest

from deltaspec.report.report_types import NotChecked
from deltaspec.rules import RULES
from deltaspec.validation.options import Options
from deltaspec.validation.report_builder import (
    build_ledger,
    build_reasons,
    compute_verdict,
    drop_unused_rules,
    list_blocked_rules,
)
from deltaspec.views.table.state import TableState


def entry(rule: str, reason: str = "r", file: str | None = None) -> NotChecked:
    return NotChecked(rule=rule, reason=reason, file=file)


def test_ledger_is_sorted_without_duplicates() -> None:
    entries = [
        entry("B"),
        entry("A", "r", "2"),
        entry("A", "z"),
        entry("A", "r", "1"),
        entry("A", "q", "2"),
        entry("B"),
    ]
    found = [(each.rule, each.file, each.reason) for each in build_ledger(entries, (), ())]
    assert found == [("A", None, "z"), ("A", "1", "r"), ("A", "2", "q"), ("A", "2", "r"), ("B", None, "r")]


@pytest.mark.parametrize(
    ("accepted", "reasons", "expected"),
    [
        ((), (), set()),
        (("DAT001",), (), {"DAT001"}),
        (("DAT",), (), {"DAT001", "DAT002"}),
        (("ROW", "feature:x"), (), {"ROW001", "feature:x"}),
        (("feature:xy",), (), set()),
        (("feature",), (), {"feature:x"}),
        ((), ("other",), {"ROW001"}),
    ],
)
def test_entries_are_accepted_by_code_feature_or_reason(
    accepted: Collection[str], reasons: Collection[str], expected: set[str]
) -> None:
    entries = [entry("DAT001"), entry("DAT002"), entry("ROW001", "other"), entry("feature:x")]
    found = build_ledger(entries, accepted, reasons)
    assert {each.rule for each in found if each.accepted} == expected


@pytest.mark.parametrize(
    ("violations", "accepted", "verdict"),
    [
        (0, [], "conforms"),
        (0, [True], "conforms"),
        (0, [True, False], "incomplete"),
        (1, [], "violations"),
        (1, [False], "violations"),
    ],
)
def test_verdict(violations: int, accepted: list[bool], verdict: str) -> None:
    ledger = [NotChecked(rule="A", reason="r", accepted=each) for each in accepted]
    assert compute_verdict({"violation": violations, "divergence": 5, "warning": 5}, ledger) == verdict


def test_rules_of_features_that_were_never_supported_are_dropped() -> None:
    state = TableState()
    entries = [entry("DAT001"), entry("DVX001"), entry("RID001"), entry("feature:x")]
    assert drop_unused_rules(entries, state) == entries  # nothing is known about the table
    state.supported_so_far = {"rowTracking"}
    assert drop_unused_rules(entries, state) == [entries[0], entries[2], entries[3]]
    assert drop_unused_rules(entries[1:2], state) == entries[1:2]  # the last entry is kept


def test_selected_rules_that_options_exclude_are_blocked() -> None:
    assert list(list_blocked_rules(Options.create(level="log"))) == []
    found = list_blocked_rules(Options.create(level="log", select=["DAT001", "COM001"]))
    assert [(each.rule, each.reason) for each in found] == [("DAT001", "needs --level files")]
    clock = [each for each in Options.create(level="files").selection.without_clock if RULES[each].level == "files"]
    options = Options.create(level="files", select=[clock[0], "DAT001"])
    assert [(each.rule, each.reason) for each in list_blocked_rules(options)] == [(clock[0], "needs --clock")]


def test_every_rule_that_did_not_run_has_a_reason() -> None:
    options = Options.create(level="log", ignore=["COM001"], revision="r3")
    reasons = build_reasons(options, ["COM002"])
    assert reasons["COM001"] == "excluded by --select or --ignore"
    assert reasons["COM002"] == f"the view {RULES['COM002'].view.name} has no rows for this table"
    assert reasons["DAT001"] == "needs --level files"
    newer = [code for code in options.selection.selected if code not in options.selection.in_revision]
    assert newer
    assert {reasons[code] for code in newer} == {"not defined in revision r3"}
