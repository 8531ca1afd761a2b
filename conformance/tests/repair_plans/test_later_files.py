"""Files of the log that are later than the newest commit are set aside, or kept as the state, only by choice."""

from pathlib import Path

import pytest
from helpers.drawn_tables import draw_table

import deltaspec
from deltaspec.repair.apply import apply_plan
from deltaspec_generators.table_files import write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS


@pytest.mark.parametrize(
    ("name", "rule", "choice"),
    [
        ("checksum_of_the_future", "LOG005", "later=set-aside"),
        ("compaction_of_the_future", "LOG011", "later=set-aside"),
        ("checkpoint_of_the_future", "LOG004", "history=set-aside"),
    ],
)
def test_later_file_needs_a_choice(name: str, rule: str, choice: str, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_table(draw_table(PLANTED_FAULTS[name]), table)
    plan = deltaspec.plan_repair(str(table), level="log")
    assert plan.repairs == []
    assert [(each.rule, each.choices) for each in plan.not_repaired] == [(rule, [choice])]
    assert "is of a later version than the newest commit" in plan.not_repaired[0].reason
    plan = deltaspec.plan_repair(str(table), level="log", output=str(tmp_path / "plan"), choose=[choice])
    assert (plan.after.verdict, plan.not_repaired) == ("conforms", [])
    assert apply_plan(tmp_path / "plan").summary.verdict == "conforms"
