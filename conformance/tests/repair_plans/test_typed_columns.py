"""Checkpoints that a repair writes have statistics in the form that the properties of the table ask for."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from lake.table import truncate

import deltaspec
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.table_files import write_table
from deltaspec_generators.tables.corpus import draw_table


@pytest.mark.parametrize(
    ("seed", "as_json"), [(38, True), (17, False)], ids=["JSON and typed columns", "typed columns alone"]
)
def test_written_checkpoint_has_typed_columns(seed: int, as_json: bool, tmp_path: Path) -> None:
    table = tmp_path / "t"
    write_table(draw_table(SeededChoices(seed, 0)).files, table)
    truncate(max((table / "_delta_log").glob("*.checkpoint*.parquet")))
    plan = deltaspec.plan_repair(str(table), output=str(tmp_path / "plan"), choose=["history=set-aside"], level="log")
    assert (plan.before.verdict, plan.after.verdict, plan.not_repaired) == ("violations", "conforms", [])
    written = [each.name for each in plan.writes if "checkpoint" in each.name and each.name != "_last_checkpoint"]
    adds = [
        row["add"]
        for name in written
        for row in pq.read_table(tmp_path / "plan" / "files" / name, columns=["add"]).to_pylist()
        if row["add"] is not None
    ]
    assert written
    assert adds
    assert [each for each in adds if each["stats_parsed"] is None] == []
    assert {each["stats"] is not None for each in adds} == {as_json}
