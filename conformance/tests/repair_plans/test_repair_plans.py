"""Plans of tables that Delta Spark and delta-rs wrote: what they say, and the tables that they lead to."""

import json
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cli import run
from lake.bases import BASES
from lake.table import LakeTable, truncate
from repair_plans.applied import apply_to_copy
from repair_plans.campaign import run_trial
from repair_plans.cases import CASES, RepairCase, Rows, format_rows, vectors_deleted

import deltaspec
from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.repair.plan_format import RepairPlan, render_plan_schema

deltalake = pytest.importorskip("deltalake", reason="the Python package deltalake (extra [deltalake]) is not installed")

ROOT = Path(__file__).parents[3]


def read_rows(table: Path) -> Rows:
    """Read all rows with delta-rs."""
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(table)))
    batches = builder.execute("select * from t").read_all()
    return format_rows(pa.table(batches).to_pylist())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{'-'.join(case.choose)}")
def test_repaired_table_has_the_declared_rows(case: RepairCase, tmp_path: Path) -> None:
    table = case.build(tmp_path / "table")
    expected = case.rows(table, read_rows(table.path))
    case.damage(table)
    chosen = [word for each in case.choose for word in ("--choose", each)]
    before = {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()}
    result = run("repair", table.path, "--output", tmp_path / "plan", *chosen)
    assert result.exit_code == 0, result.stdout
    assert before == {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()}
    plan = msgspec.json.decode((tmp_path / "plan/plan.json").read_bytes(), type=RepairPlan)
    assert {each.kind for each in plan.repairs} == case.kinds
    assert plan.before.verdict != "conforms" or "IDN003" in {rule for each in plan.repairs for rule in each.rules}
    result = run("repair", "apply", tmp_path / "plan")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "now: CONFORMS at level rows")
    assert read_rows(table.path) == expected
    run("repair", "apply", tmp_path / "plan", "--undo")
    after = {path: path.read_bytes() for path in table.path.rglob("*") if path.is_file()}
    commit = set() if plan.commit is None else {table.log / plan.commit.name}
    assert {path: data for path, data in after.items() if path not in commit} == before


def test_plan_counts_lost_rows_by_partition(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders"](table.path)
    table.live_files()[-1].unlink()
    (repair,) = deltaspec.plan_repair(str(table.path)).repairs
    (part,) = repair.rows
    assert (repair.effect, part.partition_values, part.files, part.rows) == ("lost", {"day": "2026-01-04"}, 1, 50)


def test_nothing_is_chosen_for_a_damaged_vector(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["spark/deletion_vectors_of_two_files"](table.path)
    vectors_deleted(table)
    result = run("repair", table.path, "--output", tmp_path / "plan")
    assert result.exit_code == 1
    assert "--choose vector=drop-vector:" in result.stdout
    assert not (tmp_path / "plan").exists()


def test_missing_file_is_found_under_other_names(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "lake" / "table")
    BASES["spark/plain"](table.path)
    name = table.live_files()[-1].name
    trash = tmp_path / "lake" / ".Trash"
    trash.mkdir()
    (trash / name).write_bytes(table.live_files()[-1].read_bytes())
    table.live_files()[-1].rename(table.path / name.upper())
    (repair,) = deltaspec.plan_repair(str(table.path)).repairs
    assert repair.found_elsewhere == sorted([name.upper(), str(trash / name)])


def test_plan_names_the_reason_and_the_version_to_return_to(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders"](table.path)
    rows = read_rows(table.path)
    truncate(table.commit(table.latest))
    plan = deltaspec.plan_repair(str(table.path))
    assert plan.repairs == []
    assert {choice for each in plan.not_repaired for choice in each.choices} == {"version=4"}
    assert [each for each in plan.not_repaired if "00000000000000000005.json, line" not in each.reason] == []
    result = run("repair", table.path, "--output", tmp_path / "plan", "--choose", "version=4")
    assert result.exit_code == 0, result.stdout
    apply_to_copy(table.path, tmp_path / "plan", tmp_path / "copy")
    assert len(read_rows(tmp_path / "copy")) == len(rows) - 50


def test_all_checkpoints_lost_after_cleanup_is_not_repairable(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["spark/log_cleaned_up"](table.path)
    for file in table.log.glob("*.checkpoint.parquet"):
        truncate(file)
    plan = deltaspec.plan_repair(str(table.path))
    assert plan.repairs == []
    reason = "version 6 has no state: checkpoint of version 6"
    assert [each for each in plan.not_repaired if reason not in each.reason] == []


def test_checkpoint_is_kept_if_the_commits_are_disputed(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders_checkpointed"](table.path)
    checkpoint = table.find_in_log("*.checkpoint.parquet")
    rows = pq.read_table(checkpoint)
    last = max(number for number, each in enumerate(rows["add"].to_pylist()) if each is not None)
    pq.write_table(pa.concat_tables([rows.slice(0, last), rows.slice(last + 1)]), checkpoint)
    assert checkpoint.name in [name for each in deltaspec.plan_repair(str(table.path)).repairs for name in each.files]
    first = table.live_adds()[0]
    copied = {**first, "path": first["path"].replace("part-00000", "part-00001"), "dataChange": False}
    (table.path / copied["path"]).write_bytes((table.path / first["path"]).read_bytes())
    table.write_commit(table.latest, [*table.read_commit(table.latest), {"add": copied}])
    plan = deltaspec.plan_repair(str(table.path))
    assert checkpoint.name not in [name for each in plan.repairs for name in each.files]
    assert [each.rule for each in plan.not_repaired if "COM020 says" in each.reason] == ["CKP030"]
    chosen = deltaspec.plan_repair(str(table.path), choose=["history=set-aside"])
    assert ("COM020", []) in [
        (each.rule, each.choices) for each in chosen.not_repaired if "only hide it" in each.reason
    ]


def test_overwritten_file_is_not_described_again(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders"](table.path)
    file = table.live_files()[-1]
    pq.write_table(pq.ParquetFile(file).read().slice(0, 10), file)
    plan = deltaspec.plan_repair(str(table.path))
    assert plan.repairs == []
    assert {each.rule for each in plan.not_repaired if "probably overwritten" in each.reason} >= {"DAT002", "PQT002"}


def test_append_only_table_loses_no_rows(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders"](table.path)
    table.edit("metaData", lambda metadata: metadata["configuration"].update({"delta.appendOnly": "true"}))
    table.live_files()[-1].unlink()
    plan = deltaspec.plan_repair(str(table.path))
    assert plan.repairs == []
    reasons = [each.reason for each in plan.not_repaired if each.rule == "DAT001"]
    assert ["delta.appendOnly forbids removing rows" in each for each in reasons] == [True]


def test_catalog_managed_table_is_refused(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["spark/in_commit_timestamps"](table.path)
    for_catalog = ["catalogManaged"]
    table.edit("protocol", lambda protocol: protocol.update(minReaderVersion=3, readerFeatures=for_catalog))
    table.edit("protocol", lambda protocol: protocol["writerFeatures"].extend(for_catalog))
    with pytest.raises(TableUnreadable, match="a catalog manages the table"):
        deltaspec.plan_repair(str(table.path))


def test_table_with_an_unknown_feature_is_refused(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["spark/in_commit_timestamps"](table.path)
    table.edit("protocol", lambda protocol: protocol["writerFeatures"].append("timeMachine"))
    with pytest.raises(TableUnreadable, match="needs timeMachine"):
        deltaspec.plan_repair(str(table.path))


@pytest.mark.parametrize("choice", ["vector=guess", "vector=remove-file:", "history=delete", "version=last", "x"])
def test_unknown_choice_is_refused(choice: str) -> None:
    with pytest.raises(InvalidUsage, match="invalid choice"):
        deltaspec.plan_repair("nowhere", choose=[choice])


def test_plan_is_never_written_into_a_table_or_over_files(tmp_path: Path) -> None:
    BASES["spark/plain"](tmp_path / "table")
    result = run("repair", tmp_path / "table", "--output", tmp_path / "table" / "plan")
    assert (result.exit_code, "is in a table" in result.stderr) == (2, True)
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "notes.txt").write_text("mine")
    result = run("repair", tmp_path / "table", "--output", tmp_path / "plan")
    assert (result.exit_code, "is not an empty directory" in result.stderr) == (2, True)


def test_sound_table_needs_no_plan(tmp_path: Path) -> None:
    BASES["spark/plain"](tmp_path / "table")
    result = run("repair", tmp_path / "table", "--output", tmp_path / "plan")
    assert (result.exit_code, (tmp_path / "plan").exists()) == (0, False)
    assert "nothing to repair" in result.stdout


def test_published_schema_is_of_this_release() -> None:
    published = (ROOT / "reports" / "repair-plan.schema.json").read_text("utf-8")
    assert published == render_plan_schema() == run("schema", "repair-plan").stdout


def test_plan_matches_its_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders"](table.path)
    table.live_files()[-1].unlink()
    plan = deltaspec.plan_repair(str(table.path), output=str(tmp_path / "plan"))
    document = json.loads((tmp_path / "plan" / "plan.json").read_text())
    jsonschema.validate(document, json.loads(render_plan_schema()))
    assert isinstance(plan, RepairPlan)
    readme = (tmp_path / "plan" / "README.md").read_text()
    assert "lose 50 rows" in readme


@pytest.mark.parametrize("seed", [*range(20), 245])  # 245: a footer with a name that is not UTF-8
def test_random_damage_is_repaired_or_explained(seed: int, tmp_path: Path) -> None:
    outcome = run_trial(seed, tmp_path)
    assert outcome.outcome != "defect", outcome.reasons


def test_directory_with_the_name_of_a_checkpoint_is_not_set_aside(tmp_path: Path) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["spark/checkpoint_classic"](table.path)
    checkpoint = table.find_in_log("*.checkpoint.parquet")
    checkpoint.unlink()
    checkpoint.mkdir()
    plan = deltaspec.plan_repair(str(table.path))
    assert [name for each in plan.repairs for name in each.files if name == checkpoint.name] == []
    assert "but a directory" in " ".join(each.reason for each in plan.not_repaired)


def test_plan_names_the_table_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LakeTable(tmp_path / "table")
    BASES["spark/plain"](table.path)
    table.live_files()[-1].unlink()
    monkeypatch.chdir(tmp_path)
    assert deltaspec.plan_repair("table").table == str(tmp_path / "table")


def test_nothing_is_removed_if_a_checkpoint_says_that_the_commit_is_damaged(tmp_path: Path) -> None:
    """The path of an add was damaged in a commit; the checkpoint has the right one, so its readers have all rows."""
    table = LakeTable(tmp_path / "table")
    BASES["delta_rs/orders_checkpointed"](table.path)
    version = int(table.find_in_log("*.checkpoint.parquet").name[:20])
    actions = table.read_commit(version)
    for add in (each["add"] for each in actions if "add" in each):
        add["path"] = add["path"].replace("part-0", "part-X")
    table.write_commit(version, actions)
    plan = deltaspec.plan_repair(str(table.path), choose=["history=set-aside"])
    assert {"CKP030", "DAT001"} <= {each.rule for each in plan.not_repaired}
    assert [each.kind for each in plan.repairs if each.effect == "lost"] == []
    assert plan.repairs == []
    found = {each.rule: each.reason for each in plan.not_repaired if not each.reason.startswith("not checked")}
    assert "the commits are disputed" in found["CKP030"]
    without = deltaspec.plan_repair(str(table.path))
    found = {each.rule: each.reason for each in without.not_repaired if not each.reason.startswith("not checked")}
    assert "readers of the checkpoint may have the right rows" in found["DAT001"]
    assert "compare the rows before one of them is set aside" in found["CKP030"]
    assert without.repairs == []
