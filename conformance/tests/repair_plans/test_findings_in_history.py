"""Repairs of the table's state whose findings an older commit still shows: proved without the older commits."""

import os
import time
from pathlib import Path

import pytest
from helpers.cli import run
from helpers.drawn_tables import draw_table

import deltaspec
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS

REPAIRED = {
    "constraint_that_old_writers_pass_over": ("CFG004", "list-feature"),
    "max_column_id_behind": ("CMP005", "raise-mark"),
    "domain_without_feature": ("DOM001", "list-feature"),
    "clustering_columns_without_the_feature": ("DOM011", "list-feature"),
    "vector_without_feature": ("FIL014", "list-feature"),
    "vector_outlives_its_feature": ("FIL070", "list-feature"),
    "row_tracking_dropped_while_used": ("PRO008", "list-feature"),
    "newest_feature_dropped_while_used": ("PRO008", "list-feature"),
}
NOT_REPAIRED = {"row_tracking_enabled_without_feature": "2 of 2 live files have no row ids"}


def write(name: str, table: Path) -> str:
    write_table(draw_table(PLANTED_FAULTS[name]), table)
    return str(table)


@pytest.mark.parametrize("name", REPAIRED)
def test_state_is_repaired_although_a_commit_shows_the_finding(name: str, tmp_path: Path) -> None:
    rule, kind = REPAIRED[name]
    plan = deltaspec.plan_repair(write(name, tmp_path / "t"), level="log")
    assert [each.kind for each in plan.repairs] == [kind], plan.not_repaired
    assert (plan.after.verdict, plan.after.violations, plan.before.violations) == ("violations", {rule: 1}, {rule: 1})
    assert plan.after_cleanup is not None
    assert plan.after_cleanup.verdict == "conforms"
    (left,) = plan.not_repaired
    assert left.reason.startswith(f"repaired from version {plan.version + 1} on")
    assert left.choices == ["history=set-aside"]


@pytest.mark.parametrize("name", NOT_REPAIRED)
def test_obstacle_is_counted(name: str, tmp_path: Path) -> None:
    plan = deltaspec.plan_repair(write(name, tmp_path / "t"), level="log")
    assert plan.repairs == []
    assert [NOT_REPAIRED[name] in each.reason for each in plan.not_repaired] == [True]


def test_applied_repair_is_not_planned_again(tmp_path: Path) -> None:
    table = write("newest_feature_dropped_while_used", tmp_path / "t")
    assert run("repair", table, "--output", tmp_path / "plan", "--level", "log").exit_code == 1
    result = run("repair", "apply", tmp_path / "plan")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "now: VIOLATIONS at level log (PRO008 1)")
    again = deltaspec.plan_repair(table, level="log")
    assert (again.repairs, [each.choices for each in again.not_repaired]) == ([], [["history=set-aside"]])
    plan = deltaspec.plan_repair(table, level="log", choose=["history=set-aside"])
    assert plan.after.verdict == "conforms"


def test_timestamps_are_enabled_although_the_clock_of_the_storage_is_ahead(tmp_path: Path) -> None:
    table = write("newest_feature_dropped_while_used", tmp_path / "t")
    ahead = time.time() + 3600
    os.utime(max((tmp_path / "t" / "_delta_log").glob("*.json")), (ahead, ahead))
    plan = deltaspec.plan_repair(table, level="log")
    assert [each.kind for each in plan.repairs] == ["list-feature"], plan.not_repaired


def test_checkpoint_without_a_required_field_is_no_base(tmp_path: Path) -> None:
    table = write("required_field_absent_from_checkpoint", tmp_path / "t")
    plan = deltaspec.plan_repair(table, level="log", choose=["history=set-aside"])
    assert plan.repairs == []
    assert "no other complete checkpoint leads to the latest version" in plan.not_repaired[0].reason
