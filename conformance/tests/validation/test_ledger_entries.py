"""Entries of the ledger: bounded lists of locations, counts of the rest, and what is left out."""

import pytest

from deltaspec.report.report_types import NotChecked
from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule
from deltaspec.scales import LEVELS
from deltaspec.validation import ledger as ledger_module
from deltaspec.validation.findings import Findings
from deltaspec.validation.ledger import Ledger, find_unused_rules
from deltaspec.views.data.column_facts import column_facts
from deltaspec.views.data.data_files import data_files
from deltaspec.views.data.row_checks import row_checks
from deltaspec.views.files.file_actions import deletion_vectors, file_actions


@pytest.fixture(autouse=True)
def _two_locations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "MAX_LOCATIONS", 2)


def describe(ledger: Ledger) -> list[tuple[str, str, str | None]]:
    return [(each.rule, each.reason, each.file) for each in ledger.entries]


def build_ledger(*locations: tuple[str, str, str | None]) -> Ledger:
    ledger = Ledger()
    for code, reason, file in locations:
        ledger.add_reason(code, reason, file)
    return ledger


def test_locations_up_to_the_limit_are_listed_by_rule_and_file() -> None:
    ledger = build_ledger(("B", "r", "2"), ("B", "r", "1"), ("A", "r", "3"))
    assert describe(ledger) == [("A", "r", "3"), ("B", "r", "1"), ("B", "r", "2")]


def test_further_locations_are_counted() -> None:
    ledger = build_ledger(*(("A", "r", file) for file in "4132"))
    assert describe(ledger) == [("A", "r", "1"), ("A", "r", "2"), ("A", "and 2 more locations", None)]


def test_reason_without_a_file_is_one_location_and_comes_first() -> None:
    ledger = build_ledger(("A", "r", "1"), ("A", "r", "2"), ("A", "z", None), ("A", "z", None))
    assert describe(ledger) == [("A", "z", None), ("A", "r", "1"), ("A", "and 1 more locations", None)]


def test_repeated_location_is_listed_once_and_counted_each_time() -> None:
    ledger = build_ledger(*(("A", "r", file) for file in "333"))
    assert describe(ledger) == [("A", "r", "3")]
    for file in "12":
        ledger.add_reason("A", "r", file)
    assert describe(ledger) == [("A", "r", "1"), ("A", "r", "2"), ("A", "and 3 more locations", None)]


def test_reasons_of_one_file_are_separate_locations() -> None:
    assert describe(build_ledger(("A", "r", "1"), ("A", "q", "1"))) == [("A", "q", "1"), ("A", "r", "1")]


def test_many_files_are_listed_and_counted_for_each_rule() -> None:
    ledger = Ledger()
    ledger.add_files(["A", "B"], {file: f"r{file}" for file in "3142"})
    expected = [("r1", "1"), ("r2", "2"), ("and 2 more locations", None)]
    assert describe(ledger) == [(code, *each) for code in "AB" for each in expected]
    ledger = Ledger()
    ledger.add_files(["A"], {"2": "r", "1": "r"})
    assert describe(ledger) == [("A", "r", "1"), ("A", "r", "2")]
    ledger.add_files(["A"], {"0": "r", "3": "r"}, more=5)
    omitted = [("A", "and 2 more locations", None), ("A", "and 5 more files that do not exist", None)]
    assert describe(ledger) == [("A", "r", "0"), ("A", "r", "1"), *omitted]


def test_replaced_reasons_of_a_rule_leave_those_of_others() -> None:
    ledger = build_ledger(*((code, "r", file) for code in "AB" for file in "123"))
    for code in "AB":
        ledger.add_reason(code, "all", None)
    before = [each for each in describe(ledger) if each[0] == "B"]
    ledger.replace_reasons("A", "refused")
    assert [each for each in describe(ledger) if each[0] == "A"] == [("A", "refused", None)]
    assert [each for each in describe(ledger) if each[0] == "B"] == before
    assert len(before) == 3


def test_merged_ledger_equals_one_that_received_everything() -> None:
    locations = [("A", "r", file) for file in "12345"] + [("A", "all", None), ("B", "r", "1")]
    one, two, merged = build_ledger(*locations[::2]), build_ledger(*locations[1::2]), build_ledger(*locations)
    other = Ledger()
    for ledger in (one, two):
        other.merge(ledger)
    one.merge(two)
    assert one.entries == other.entries == merged.entries


@pytest.mark.parametrize("files", [range(1000), range(999, -1, -1)])
def test_number_of_stored_locations_is_bounded(files: range) -> None:
    ledger = build_ledger(*(("A", "r", f"{file:03}") for file in files))
    assert len(ledger.locations["A"]) == 2
    assert describe(ledger) == [("A", "r", "000"), ("A", "r", "001"), ("A", "and 998 more locations", None)]


def test_locations_after_replaced_reasons_are_those_of_a_new_ledger() -> None:
    ledger = build_ledger(*(("A", "r", file) for file in "123"))
    ledger.replace_reasons("A", "refused")
    for file in "654":
        ledger.add_reason("A", "r", file)
    assert describe(ledger) == [("A", "refused", None), ("A", "r", "4"), ("A", "and 2 more locations", None)]


# rules of features that the table does not support


@pytest.mark.parametrize(
    ("code", "supported", "is_unused"),
    [
        ("DVX001", set(), True),
        ("DVX001", {"deletionVectors"}, False),
        ("DVX001", {"deletionVectors-preview"}, False),
        ("DVX001", {"rowTracking"}, True),
        ("RID001", {"rowIds"}, False),
        ("CLU001", {"clustering"}, False),
        ("DAT001", set(), False),
        ("COM001", set(), False),
    ],
)
def test_rule_is_unused_without_its_feature(code: str, supported: set[str], is_unused: bool) -> None:
    assert find_unused_rules([code], supported) == ({code} if is_unused else set())


def test_unknown_codes_are_not_unused_rules() -> None:
    assert find_unused_rules(["feature:x"], set()) == set()


# what checks record


def build_findings() -> Findings:
    return Findings(RULES.values(), 3)


def collect(findings: Findings) -> set[str]:
    return {each.rule for each in findings.not_checked}


def select(*views: object) -> set[str]:
    return {code for code, rule in RULES.items() if rule.view in views}


def test_views_are_undecided_with_all_their_rules() -> None:
    findings = build_findings()
    findings.mark_undecided((column_facts, row_checks), "r", "f")
    assert collect(findings) == select(column_facts, row_checks)
    assert {(each.reason, each.file) for each in findings.not_checked} == {("r", "f")}


def test_only_rules_that_read_a_column_are_undecided() -> None:
    findings = build_findings()
    findings.mark_undecided((data_files,), "r", read_columns=frozenset({"exists"}))
    assert collect(findings) == {code for code in select(data_files) if "exists" in RULES[code].reads}
    assert set() < collect(findings) < select(data_files)


def test_files_are_undecided_for_views_and_levels() -> None:
    findings = build_findings()
    findings.mark_files_undecided({"f": "r"}, views=(row_checks,))
    assert collect(findings) == select(row_checks)
    findings = build_findings()
    findings.mark_files_undecided({"f": "r"}, levels=("footers",))
    assert collect(findings) == {code for code, rule in RULES.items() if rule.level == "footers"}


def test_levels_above_the_log_are_undecided() -> None:
    findings = build_findings()
    findings.mark_levels_undecided("r", "f")
    assert collect(findings) == {code for code, rule in RULES.items() if rule.level in LEVELS[1:]}
    assert {(each.reason, each.file) for each in findings.not_checked} == {("r", "f")}


def test_stop_before_the_files_level_leaves_rules_over_vectors_undecided() -> None:
    """Some of them are rules of the log, but stored vectors are read later."""
    for levels in (("files", "footers"), ("footers",)):
        findings = build_findings()
        findings.mark_stopped("r", levels)
        of_levels = {code for code, rule in RULES.items() if rule.level in levels}
        assert not select(deletion_vectors) <= of_levels, f"{levels=}"
        assert collect(findings) == of_levels | (select(deletion_vectors) if "files" in levels else set())


def test_rules_outside_of_the_run_have_no_entry() -> None:
    rules: list[Rule] = [RULES["DAT001"]]
    findings = Findings(rules, 3)
    findings.mark_undecided((file_actions, row_checks), "r")
    findings.mark_rule_undecided("ROW001", "r")
    assert findings.not_checked == []
    findings.mark_rule_undecided("DAT001", "r", "f")
    findings.mark_feature_unchecked("x", "q")
    assert findings.not_checked == [
        NotChecked(rule="DAT001", reason="r", file="f"),
        NotChecked(rule="feature:x", reason="q"),
    ]


def test_rows_that_a_rule_cannot_decide_have_its_reason() -> None:
    rule = RULES["CON030"]
    findings = Findings([rule], 3)
    for rows in (1, 2):
        findings.evaluate(rule.view, rule.view.frame([{"kind": "CHECK"}] * rows))
    reason = "the columns of a CHECK constraint are unknown, because it has SQL that cannot be parsed"
    assert findings.not_checked == [NotChecked(rule="CON030", reason=reason)]


def test_discarded_findings_leave_one_reason_for_each_other_rule() -> None:
    findings = build_findings()
    findings.mark_undecided((row_checks,), "r", "f")
    findings.discard_findings("refused", except_views=(data_files,))
    assert collect(findings) == RULES.keys() - select(data_files)
    assert {(each.reason, each.file) for each in findings.not_checked} == {("refused", None)}


def test_rows_with_every_input_have_no_entry() -> None:
    rule = RULES["CON030"]
    findings = Findings([rule], 3)
    findings.evaluate(rule.view, rule.view.frame([{"kind": "CHECK", "missing_columns": []}]))
    assert findings.not_checked == []


def test_merged_findings_have_the_entries_of_both() -> None:
    rule = RULES["CON030"]
    parts = [Findings([rule], 3) for _ in range(2)]
    for number, each in enumerate(parts, 1):
        each.evaluate(rule.view, rule.view.frame([{"kind": "CHECK"}]))
        each.mark_undecided((rule.view,), "r", f"file {number}")
    parts[0].merge(parts[1])
    assert {(each.reason, each.file) for each in parts[0].not_checked} == {
        (rule.undecided, None),
        ("r", "file 1"),
        ("and 1 more locations", None),
    }


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({"protocol"}, {"COM010", "LOG005", "FIL023"}),
        ({"metaData"}, {"COM010", "FIL023"}),
        ({"domainMetadata"}, {"FIL023"}),
        ({"domainMetadata", "protocol"}, {"COM010", "LOG005", "FIL023"}),
        ({"txn"}, set()),
        ({None}, {"COM010", "LOG005", "FIL023"}),
    ],
)
def test_lost_actions_leave_the_rules_undecided_that_they_decide(kinds: set[str | None], expected: set[str]) -> None:
    findings = Findings([RULES[code] for code in ("COM001", "COM010", "LOG005", "FIL023")], 1)
    findings.mark_lost_actions(kinds, "lost", "file")
    assert findings.not_checked == [NotChecked(rule=code, reason="lost", file="file") for code in sorted(expected)]


def test_rules_over_views_without_rows_are_unevaluated() -> None:
    findings = Findings([RULES[code] for code in ("COM001", "FIL001", "LCP001", "LOG001")], 1)
    findings.evaluated_views.add("listing")
    findings.mark_rule_undecided("COM001", "another reason")
    findings.mark_unevaluated("emptied", except_views=(RULES["LCP001"].view,))
    assert findings.not_checked == [NotChecked(rule=code, reason="emptied") for code in ("COM001", "FIL001")]


def test_rule_that_forbids_use_without_a_feature_is_used_without_it() -> None:
    forbidding = ["CMP022", "CON001", "DOM001", "DOM011", "FIL014", "PQT014", "PQT015", "WID001"]
    assert find_unused_rules([*forbidding, "DVX001"], {"rowTracking", "appendOnly"}) == {"DVX001"}
