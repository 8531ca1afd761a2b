"""Every fix with commands is proved by a recorded run, and `reports/fixes.md` shows the runs."""

from fixes.plans import iter_subjects
from fixes.proof import iter_command_cases
from fixes.results import PAGE, list_unproved, load_plans, load_results, render_page
from msgspec.structs import replace

from deltaspec.fix_cases import fill_commands
from deltaspec.rules import RULES


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render_page(load_results(), load_plans()), "run `nox -s fixes`"


def test_every_command_is_proved() -> None:
    assert list_unproved(load_results()) == [], "run `nox -s fixes`, or give the fix another class"


def test_command_without_a_passing_run_is_reported() -> None:
    outcomes = load_results()
    code, number, _ = next(iter_command_cases())
    others = [each for each in outcomes if (each.rule, each.case) != (code, number)]
    runs = [each for each in outcomes if (each.rule, each.case) == (code, number)]
    expected = [f"{code} case {number}"]
    assert list_unproved(others) == expected
    assert list_unproved([*others, *(replace(each, failure="refused") for each in runs)]) == expected
    assert list_unproved([*others, *(replace(each, commands=("another",)) for each in runs)]) == expected


def test_recorded_runs_are_of_commands_that_rules_have() -> None:
    named = {(code, number) for code, number, _ in iter_command_cases()}
    assert [each for each in load_results() if (each.rule, each.case) not in named] == []


def test_commands_are_not_filled_with_values_that_change_their_meaning() -> None:
    (case,) = RULES["CFG007"].fix_cases
    assert fill_commands(case, "/a`b", {"property": "delta.x"}) == [
        "ALTER TABLE delta.`/a``b` UNSET TBLPROPERTIES ('delta.x')"
    ]
    assert fill_commands(case, "t", {"property": "x'); DROP TABLE u; --"}) == []
    assert fill_commands(case, "t", {}) == []


PLANNED = ("conforms", "conforms after log cleanup")


def test_every_planted_table_of_class_repair_has_a_recorded_plan() -> None:
    assert sorted((each.rule, each.table) for each in load_plans()) == sorted(iter_subjects()), "run `nox -s fixes`"


WITHOUT_PLAN = {
    **dict.fromkeys(
        ("FIL011", "FIL015", "FIL016", "FIL017", "FIL023", "ICE007"),
        "the planted tables have no data files, so the true values are not known; `repair_plans` has tables with data",
    ),
    "CRC013": "only a table that a catalog manages has the defect",
    "FIL035": "only older revisions have the planted table; `repair_plans` has a table of the current one",
    "RID003": "a mark that was missing for a while is another finding (RID040) as soon as the table has a mark",
    "RID027": "only older revisions have the planted table",
}
"""Rules of class `repair` whose planted tables no plan repairs, and why."""


def test_a_plan_ends_the_finding_of_every_rule_of_class_repair() -> None:
    """If a rule has other cases, the planted table may need one of them."""
    planned = {each.rule for each in load_plans() if each.outcome in PLANNED}
    alone = {code for code, _ in iter_subjects() if len(RULES[code].fix_cases) == 1}
    assert sorted(alone - planned) == sorted(WITHOUT_PLAN)


def test_every_unrepaired_table_has_a_reason() -> None:
    assert [each for each in load_plans() if each.outcome in ("not repaired", "refused") and not each.reason] == []
