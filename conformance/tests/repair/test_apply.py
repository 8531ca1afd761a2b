"""A plan is applied and undone. Other writers keep what they wrote, and lose nothing."""

import shutil
from pathlib import Path

import msgspec
import pytest
from helpers.killed_runs import RunServer
from helpers.repair_plans import HINT, LOST, read_true_state, write_damaged_table, write_plan_for_damaged_table
from repair.conftest import Damaged, restore

from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.errors import InvalidUsage
from deltaspec.faults.object_store import ObjectStore
from deltaspec.protocol.log.file_names import classic_checkpoint_name
from deltaspec.repair.apply import apply_plan, undo_plan
from deltaspec.repair.overlay_store import digest_listing
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.repair.planner import plan_repair
from deltaspec.repair.refusal import PlanRefused
from deltaspec.repair.table_writer import LocalTableWriter
from deltaspec.wire.storage.factory import open_store
from deltaspec_generators.small_tables import add_data_file, build_rows, build_table_with_data
from deltaspec_generators.table_files import commit_info_action, write_table

COMMIT = "00000000000000000003.json"
CHECKPOINT = classic_checkpoint_name(2)


def list_live_paths(table: Path) -> set[str]:
    return {add.path for add in LogReader(str(table)).read_state().snapshot.files.values()}


class Stop(Exception):
    """Ends an application in the middle."""


def stop_after(text: str, damaged: Damaged) -> None:
    """Apply the plan until it reports a step."""

    def say(line: str) -> None:
        if text in line:
            raise Stop

    with pytest.raises(Stop):
        apply_plan(damaged.plan, say=say)


def test_plan_is_applied_and_undone(damaged: Damaged) -> None:
    before, lines = damaged.read_log(), list[str]()
    assert list_live_paths(damaged.table) == {LOST}
    applied = apply_plan(damaged.plan, say=lines.append)
    assert (applied.summary.verdict, applied.left) == ("conforms", {})
    after = damaged.read_log()
    assert after.keys() - before.keys() == {COMMIT}
    assert {name for name in before if before[name] != after[name]} == {HINT, CHECKPOINT}
    assert {path.name: path.read_bytes() for path in (damaged.plan / "aside").iterdir()} == {
        name: before[name] for name in (HINT, CHECKPOINT)
    }
    assert list_live_paths(damaged.table) == {"c.parquet"}

    again = apply_plan(damaged.plan, say=lines.append)
    assert (again.summary, damaged.read_log()) == (applied.summary, after)
    assert lines[-1] == "all steps were done before"

    undone = undo_plan(damaged.plan, say=lines.append)
    assert undone.summary.verdict == "violations"
    assert damaged.read_log() == {**before, COMMIT: after[COMMIT]}
    assert "stays: readers may have read it" in lines[-1]
    with pytest.raises(InvalidUsage, match="nothing was applied"):
        undo_plan(damaged.plan)


def test_undo_of_nothing_is_wrong_usage(damaged: Damaged) -> None:
    with pytest.raises(InvalidUsage, match="nothing was applied"):
        undo_plan(damaged.plan)


def test_commit_of_another_writer_is_not_overwritten(damaged: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer commits after the table was compared with the plan, and before the plan's commit is created."""
    before, other, create = damaged.read_log(), b'{"commitInfo":{"timestamp":1}}\n', LocalTableWriter.create

    def create_after_another(writer: LocalTableWriter, name: str, data: bytes) -> bool:
        if name == COMMIT:
            (damaged.table / "_delta_log" / COMMIT).write_bytes(other)
        return create(writer, name, data)

    monkeypatch.setattr(LocalTableWriter, "create", create_after_another)
    with pytest.raises(PlanRefused, match="another writer committed after version 2, and nothing was changed"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == {**before, COMMIT: other}
    with pytest.raises(PlanRefused, match="make a new plan"):
        apply_plan(damaged.plan)
    with pytest.raises(InvalidUsage, match="nothing was applied"):
        undo_plan(damaged.plan)


def test_hint_and_checkpoint_of_another_writer_are_kept(damaged: Damaged) -> None:
    stop_after("committed", damaged)
    hint, checkpoint = b'{"version":0,"size":1}', b"of another writer"
    (damaged.table / "_delta_log" / HINT).write_bytes(hint)
    (damaged.table / "_delta_log" / CHECKPOINT).write_bytes(checkpoint)
    applied = apply_plan(damaged.plan)
    assert applied.left.keys() == {HINT, CHECKPOINT}
    undo_plan(damaged.plan)
    assert {HINT: hint, CHECKPOINT: checkpoint}.items() <= damaged.read_log().items()


def test_checkpoint_that_the_table_needs_by_now_is_not_set_aside(damaged: Damaged) -> None:
    """A cleanup deletes commit 0 after the plan was compared with the table."""
    stop_after(f"set {HINT} aside", damaged)
    (damaged.table / "_delta_log/00000000000000000000.json").unlink()
    before = damaged.read_log()
    with pytest.raises(PlanRefused, match="the table could not be read without the files that are set aside"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before
    undo_plan(damaged.plan)
    assert damaged.read_log().keys() == {*before, HINT}


def test_checkpoint_is_restored_if_a_cleanup_was_faster(damaged: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    before, delete = damaged.read_log(), LocalTableWriter.delete

    def delete_commit_too(writer: LocalTableWriter, name: str) -> None:
        delete(writer, name)
        if name == CHECKPOINT:
            (damaged.table / "_delta_log/00000000000000000000.json").unlink()

    monkeypatch.setattr(LocalTableWriter, "delete", delete_commit_too)
    with pytest.raises(PlanRefused, match="the table could not be read"):
        apply_plan(damaged.plan)
    assert damaged.read_log()[CHECKPOINT] == before[CHECKPOINT]


def test_checksum_of_hadoop_is_set_aside_with_its_file(damaged: Damaged, tmp_path: Path) -> None:
    """Spark compares it with the file, and could not read another file of the same name."""
    log = damaged.table / "_delta_log"
    (log / f".{CHECKPOINT}.crc").write_bytes(b"crc")
    before = damaged.read_log()
    plan = tmp_path / "plan"
    write_plan_for_damaged_table(plan, damaged.table, level="files")
    apply_plan(plan)
    assert f".{CHECKPOINT}.crc" not in damaged.read_log()
    undo_plan(plan)
    assert before.items() <= damaged.read_log().items()


def test_restored_file_is_not_removed(damaged: Damaged) -> None:
    before = damaged.read_log()
    (damaged.table / LOST).write_bytes((damaged.table / "c.parquet").read_bytes())
    with pytest.raises(PlanRefused, match="the plan states VIOLATIONS"):
        apply_plan(damaged.plan)
    assert damaged.read_log() == before


@pytest.mark.parametrize("name", ["00000000000000000002.crc", "note.txt"])
def test_changed_listing_is_refused(name: str, damaged: Damaged) -> None:
    (damaged.table / "_delta_log" / name).write_bytes(b"{}")
    with pytest.raises(PlanRefused, match="the files of the log are not those"):
        apply_plan(damaged.plan)
    assert not (damaged.plan / "aside").exists()


@pytest.mark.slow("conformance/deltaspec/repair")
@pytest.mark.parametrize("first", [4, 8])
def test_killed_application_is_continued_or_undone(first: int, original: Damaged, server: RunServer) -> None:
    """`nox -s repair_apply` kills it at many more moments."""
    restore(original)
    before = original.read_log()
    for number, kill_at in enumerate(range(first, 38, 12)):
        restore(original)
        steps, error = server.apply(original.plan, kill_at)
        assert (steps, error) == (None, ""), kill_at
        check_readable(original, before, kill_at)
        if number % 2:
            assert server.apply(original.plan)[1] == "", kill_at
            assert list_live_paths(original.table) == {"c.parquet"}, kill_at
            assert not [name for name in original.read_log() if name.endswith(".tmp")], kill_at
        else:
            server.apply(original.plan, 4, undo=True)
            check_readable(original, before, kill_at)
            server.apply(original.plan, undo=True)
            left = original.read_log()
            left.pop(COMMIT, None)
            assert left == before, kill_at


def check_readable(damaged: Damaged, before: dict[str, bytes], kill_at: int) -> None:
    """Check that readers get a state, and that no commit has changed."""
    assert list_live_paths(damaged.table) in ({LOST}, {LOST, "c.parquet"}, set(), {"c.parquet"}), kill_at
    assert {add.path for add in read_true_state(damaged.table).snapshot.files.values()} >= {"c.parquet"}, kill_at
    now = damaged.read_log()
    commits = [name for name in before if name.endswith(".json")]
    assert [name for name in commits if now[name] != before[name]] == [], kill_at


def test_plan_is_applied_in_an_object_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, plan = tmp_path / "t", tmp_path / "plan"
    write_damaged_table(table)
    with ObjectStore() as store:
        for name, value in store.environment.items():
            monkeypatch.setenv(name, value)
        uri = store.upload(table, "t")
        written = write_plan_for_damaged_table(plan, table, uri, level="files")
        applied = apply_plan(plan)
        store.download("t", table)
        assert (applied.summary, applied.left) == (written.after, {})
        assert list_live_paths(table) == {"c.parquet"}
        assert not [path.name for path in (table / "_delta_log").iterdir() if path.name.endswith(".tmp")]
        secret = store.environment["AWS_SECRET_ACCESS_KEY"]
        kept = (plan / "journal.jsonl").read_text("utf-8") + (plan / "plan.json").read_text("utf-8")
        assert f'"{secret}"' not in kept.replace('"deltaspec":', "")
        undo_plan(plan)
        store.download("t", table)
        assert list_live_paths(table) == set()


def build_log(damaged: Damaged, commits: int) -> None:
    """Write a table of small commits without a checkpoint in the place of a damaged one."""
    shutil.rmtree(damaged.table)
    files = build_table_with_data()
    for version in range(3, commits):
        added = add_data_file(files, f"{version}.parquet", build_rows(10 * version))
        files.commits[version] = [commit_info_action(version), added]
    write_table(files, damaged.table)


def test_history_is_set_aside_and_restored(damaged: Damaged, tmp_path: Path) -> None:
    """The planned checkpoint replaces older files of the log, one of which adds a file twice."""
    build_log(damaged, 5)
    log, plan = damaged.table / "_delta_log", tmp_path / "plan"
    commit = log / "00000000000000000001.json"
    commit.write_bytes(commit.read_bytes() + commit.read_bytes().splitlines(keepends=True)[-1])
    before = damaged.read_log()
    planned = plan_repair(str(damaged.table), output=str(plan), level="files", choose=["history=set-aside"])
    assert len(planned.set_aside_after) == 5
    applied = apply_plan(plan)
    assert (applied.summary, applied.left) == (planned.after, {})
    assert damaged.read_log().keys() == {
        "00000000000000000005.json", "00000000000000000005.checkpoint.parquet"
    } | ({HINT} & {each.name for each in planned.writes})  # fmt: skip
    undo_plan(plan)
    assert damaged.read_log() == {**before, "00000000000000000005.json": applied_commit(plan)}


def applied_commit(plan: Path) -> bytes:
    return next(path.read_bytes() for path in (plan / "files").iterdir() if path.name.endswith(".json"))


def test_versions_that_cannot_be_read_are_set_aside(damaged: Damaged, tmp_path: Path) -> None:
    build_log(damaged, 6)
    (damaged.table / "_delta_log/00000000000000000003.json").unlink()
    before, plan = damaged.read_log(), tmp_path / "plan"
    planned = plan_repair(str(damaged.table), output=str(plan), level="files", choose=["version=2"])
    applied = apply_plan(plan)
    assert (applied.summary, applied.left) == (planned.after, {})
    assert LogReader(str(damaged.table)).read_state().snapshot.version == 2
    undo_plan(plan)
    assert damaged.read_log() == before


def test_versions_that_can_be_read_are_not_set_aside(damaged: Damaged, tmp_path: Path) -> None:
    build_log(damaged, 6)
    missing, plan = damaged.table / "_delta_log/00000000000000000003.json", tmp_path / "plan"
    content = missing.read_bytes()
    missing.unlink()
    plan_repair(str(damaged.table), output=str(plan), level="files", choose=["version=2"])
    missing.write_bytes(content)
    plan_file = plan / "plan.json"
    listing = digest_listing(open_store(str(damaged.table)).list_log())
    written = msgspec.json.decode(plan_file.read_bytes(), type=RepairPlan)
    plan_file.write_bytes(msgspec.json.encode(msgspec.structs.replace(written, listing=listing)))
    before = damaged.read_log()
    with pytest.raises(PlanRefused, match="version 5 can be read"):
        apply_plan(plan)
    assert damaged.read_log() == before


def test_plan_records_the_time_zone_of_writers(tmp_path: Path) -> None:
    write_damaged_table(tmp_path / "t")
    plan = plan_repair(str(tmp_path / "t"), output=str(tmp_path / "plan"), writer_time_zone="Europe/Berlin")
    assert (plan.writer_time_zone, plan.allow_outside) == ("Europe/Berlin", False)
    with pytest.raises(PlanRefused, match="made with 'Europe/Berlin'; plan again"):
        apply_plan(tmp_path / "plan", writer_time_zone="UTC")
    assert apply_plan(tmp_path / "plan").summary.verdict == "conforms"
