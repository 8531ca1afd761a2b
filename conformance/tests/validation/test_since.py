"""`--since`: only files after an earlier report are checked, and the report says so."""

import json
import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from helpers.cli import run, single_error_line

import deltaspec
from deltaspec.rules import RULES
from deltaspec.validation.buckets import LocalBuckets
from deltaspec.validation.ledger import find_unused_rules
from deltaspec.validation.log.replay_stage import REPLAY_ROWS
from deltaspec.validation.since import NEEDS_ALL_FILES, NEEDS_LISTING
from deltaspec_generators.checkpoint_writer import SidecarFile
from deltaspec_generators.table_files import (
    CheckpointFiles,
    TableFiles,
    add_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)

FIELDS = [("id", "long")]
GOOD, BAD = pa.table({"id": pa.array([1, 2], pa.int64())}), pa.table({"id": pa.array(["x", "y"])})
OTHER = pa.table({"id": pa.array([1, 3], pa.int64())})


class Lake:
    """A table that grows: each commit adds files, good or bad ones (whose column has another type)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = TableFiles()
        self.files.commits[0] = [protocol_action(1, 2), metadata_action(FIELDS)]

    def commit(self, *actions: Any, **added: pa.Table) -> None:
        """Append a commit with actions and files by name."""
        version = max(self.files.commits) + 1
        lines = list(actions)
        for name, data in added.items():
            self.files.data[f"{name}.parquet"] = data
            lines.append(add_action(f"{name}.parquet", rows=2, size=_size(data)))
        self.files.commits[version] = lines or [{"commitInfo": {"operation": "WRITE"}}]
        write_table(self.files, self.root)

    def report(self, name: str, *options: object) -> dict[str, Any]:
        """Validate at level rows into `name`, and return the report."""
        run("validate", self.root, "--level", "rows", "--output", self.root.parent / name, "--format", "json", *options)
        found: dict[str, Any] = json.loads((self.root.parent / name).read_bytes())
        return found


def _size(data: pa.Table) -> int:
    from deltaspec_generators.table_files import encode_parquet

    return len(encode_parquet(data, None))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A table with a file at version 1, and the report `first.json` of it, in the directory above."""
    lake = Lake(tmp_path / "sales")
    lake.commit(a=GOOD)
    lake.report("first.json")
    return lake


def list_reasons(report: dict[str, Any]) -> set[str]:
    return {each["reason"] for each in report["checked"]["not_checked"]}


def test_only_new_files_are_opened_and_the_ledger_says_so(lake: Lake, tmp_path: Path) -> None:
    lake.commit(b=GOOD)
    (lake.root / "a.parquet").write_bytes(b"damaged")
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert (report["verdict"], report["totals"]) == ("conforms", {})
    assert report["since"] == {
        "version": 1,
        "first_version": 1,
        "counts": {"violation": 0, "warning": 0, "divergence": 0},
        "skipped_files": 1,
        "reason": None,
    }
    assert report["inventory"] is None
    (reason,) = list_reasons(report)
    assert reason.startswith("files up to version 1: checked by the report of version 1, committed 20")
    unchecked = {each["rule"] for each in report["checked"]["not_checked"]}
    run_over_files = {code for code in report["checked"]["run"] if RULES[code].level != "log"}
    assert run_over_files - find_unused_rules(run_over_files, ["appendOnly"]) == unchecked
    assert [each for each in report["checked"]["not_checked"] if not each["accepted"]] == []


def test_text_names_what_was_skipped(lake: Lake, tmp_path: Path) -> None:
    lake.commit(b=GOOD)
    shown = run("validate", lake.root, "--level", "rows", "--since", tmp_path / "first.json").stdout
    assert "since version 1: 1 live file not checked again" in shown
    assert "files up to version 1: checked by the report of version 1, committed" in " ".join(shown.split())
    lake.commit(metadata_action([*FIELDS, ("name", "string")]))
    shown = run("validate", lake.root, "--level", "rows", "--since", tmp_path / "first.json").stdout
    assert "since version 1: all files checked again, because version 3 changes what files must" in shown


def test_new_faults_are_found_at_every_level(lake: Lake, tmp_path: Path) -> None:
    lake.commit(b=BAD, c=GOOD)
    (lake.root / "c.parquet").unlink()
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    full = lake.report("full.json")
    assert report["verdict"] == "violations"
    assert report["totals"] == full["totals"]
    assert {each["path"] for each in report["findings"]} == {"b.parquet", "c.parquet"}


def test_rows_that_a_new_commit_moves_are_compared_with_the_old_file(lake: Lake, tmp_path: Path) -> None:
    moved = add_action("moved.parquet", rows=2, size=_size(OTHER))
    moved["add"]["dataChange"] = False
    removed = remove_action(lake.files.commits[1][0])
    removed["remove"]["dataChange"] = False
    lake.files.data["moved.parquet"] = OTHER
    lake.commit(removed, moved)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert report["totals"] == lake.report("full.json")["totals"] == {"COM022": 1}


def test_files_of_all_buckets_are_counted(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "bcdef":
        lake.commit(**{name: GOOD})
    lake.report("first.json")
    lake.commit(remove_action(lake.files.commits[1][0]), g=GOOD, h=BAD)
    several = partial(LocalBuckets, rows_in_memory=2, count=3, rows_of_a_stage=0)
    monkeypatch.setattr("deltaspec.validation.embedded.LocalBuckets", several)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert report["since"]["skipped_files"] == 5
    assert {each["path"] for each in report["findings"]} == {"h.parquet"}


def test_reports_form_a_chain(lake: Lake, tmp_path: Path) -> None:
    lake.commit(b=BAD)
    second = lake.report("second.json", "--since", tmp_path / "first.json")
    lake.commit(c=GOOD)
    third = lake.report("third.json", "--since", tmp_path / "second.json")
    assert third["verdict"] == "conforms"
    assert third["since"]["skipped_files"] == 2
    assert (third["since"]["version"], third["since"]["first_version"]) == (2, 1)
    violations = second["counts"]["violation"]
    assert third["since"]["counts"]["violation"] == violations > 0
    (reason,) = list_reasons(third)
    assert reason.startswith("files up to version 2: checked by the reports of versions 1 to 2, committed ")
    assert reason.endswith(f", with {violations} violation{'s' if violations > 1 else ''}")


def test_file_added_again_with_a_vector_or_other_statistics_is_new(lake: Lake, tmp_path: Path) -> None:
    wrong = add_action("a.parquet", size=_size(GOOD), stats=json.dumps({"numRecords": 3}))
    lake.commit(wrong)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert (report["verdict"], report["since"]["skipped_files"]) == ("violations", 0)


def test_without_new_commits_nothing_is_opened(lake: Lake, tmp_path: Path) -> None:
    report = lake.report("again.json", "--since", tmp_path / "first.json")
    assert (report["verdict"], report["since"]["skipped_files"]) == ("conforms", 1)


def test_all_files_are_checked_if_the_schema_changed(lake: Lake, tmp_path: Path) -> None:
    lake.commit(metadata_action([*FIELDS, ("name", "string")]), b=GOOD)
    (lake.root / "a.parquet").write_bytes(b"damaged")
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert report["verdict"] == "violations"
    assert report["since"]["reason"] == "version 2 changes what files must conform to"
    assert report["since"]["skipped_files"] == 0
    assert report["inventory"]["files"] == 2
    assert list_reasons(report) == list_reasons(lake.report("full.json"))


@pytest.mark.parametrize("line", ['{"metaData": 7}', '{"add": 7}', "damaged"])
def test_all_files_are_checked_if_a_commit_cannot_be_decoded(lake: Lake, tmp_path: Path, line: str) -> None:
    lake.commit(line, b=GOOD)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert report["verdict"] == "violations"
    assert report["since"]["reason"] == "the state of the table is not known"


def test_rules_over_all_files_are_not_checked(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "sales")
    lake.files.commits[0] = [protocol_action(1, 6), metadata_action(FIELDS)]  # with identity columns
    lake.commit(a=GOOD)
    lake.report("first.json", "--clock", "2026-11-21T12:00:00Z")
    lake.commit(b=GOOD)
    report = lake.report("second.json", "--since", tmp_path / "first.json", "--clock", "2026-11-21T12:00:00Z")
    found = {(RULES[each["rule"]].view.name, each["reason"]) for each in report["checked"]["not_checked"]}
    assert ("identity_values", NEEDS_ALL_FILES) in found
    assert ("removed_files", NEEDS_LISTING) in found
    report = lake.report("third.json", "--since", tmp_path / "first.json")
    assert NEEDS_LISTING not in list_reasons(report)


def test_files_in_checkpoints_are_told_from_new_ones(lake: Lake, tmp_path: Path) -> None:
    for name in "bcd":
        lake.commit(**{name: GOOD})
    adds = [line for commit in lake.files.commits.values() for line in commit if "add" in line]
    head = lake.files.commits[0]
    for version in (1, 3, 4):
        lake.files.checkpoints.append(CheckpointFiles(version, rows=[*head, *adds[:version]]))
    write_table(lake.files, lake.root)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert (report["totals"], report["since"]["skipped_files"]) == ({}, 1)
    assert report["verdict"] == "conforms"


def test_removed_files_of_new_commits_are_no_fault(lake: Lake, tmp_path: Path) -> None:
    lake.commit(remove_action(lake.files.commits[1][0]), b=GOOD)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert (report["verdict"], report["since"]["skipped_files"]) == ("conforms", 0)


def test_what_an_earlier_report_accepted_as_unchecked_stays_unchecked(lake: Lake, tmp_path: Path) -> None:
    first = json.loads((tmp_path / "first.json").read_bytes())
    entry = {"rule": "ROW001", "reason": "no permission", "file": "a.parquet", "accepted": True}
    first["checked"]["not_checked"].append(entry)
    (tmp_path / "first.json").write_text(json.dumps(first))
    lake.commit(b=GOOD)
    report = lake.report("second.json", "--since", tmp_path / "first.json")
    assert {**entry, "accepted": False} in report["checked"]["not_checked"]
    assert report["verdict"] == "incomplete"
    accepted = lake.report("third.json", "--since", tmp_path / "first.json", "--accept-unchecked", "ROW001")
    assert (accepted["verdict"], entry in accepted["checked"]["not_checked"]) == ("conforms", True)


def test_known_findings_of_other_files_are_not_called_gone(lake: Lake, tmp_path: Path) -> None:
    lake.commit(b=BAD)
    lake.report("first.json")
    run("baseline", "update", tmp_path / "baseline.json", lake.root, "--level", "rows")
    lake.commit(c=GOOD)
    report = lake.report("second.json", "--since", tmp_path / "first.json", "--baseline", tmp_path / "baseline.json")
    assert report["verdict"] == "conforms"
    assert (report["baseline"]["known"], report["baseline"]["gone"]) == (0, 0)


def test_tables_have_reports_of_their_own(lake: Lake, tmp_path: Path) -> None:
    from deltaspec.commands.table_names import build_table_name

    shutil.copytree(lake.root, tmp_path / "copy")
    name = build_table_name(str(lake.root))
    shutil.move(tmp_path / "first.json", tmp_path / f"{name}.json")
    options = ("--level", "rows", "--since", f"{tmp_path}/{{table}}.json", "--report", f"json:{tmp_path}/new/")
    result = run("validate", lake.root, tmp_path / "copy", *options, "--format", "json")
    assert result.exit_code == 0
    reports = [json.loads(Path(each["reports"][0]).read_bytes()) for each in json.loads(result.stdout)["tables"]]
    assert [each["since"] is None for each in reports] == [False, True]


def test_python_takes_the_path_of_a_report(lake: Lake, tmp_path: Path) -> None:
    report = deltaspec.validate(str(lake.root), level="rows", since=str(tmp_path / "first.json"))
    assert report.since is not None
    assert report.since.skipped_files == 1


def _add_checkpoint(lake: Lake, version: int) -> None:
    adds = [line for commit in lake.files.commits.values() for line in commit if "add" in line]
    rows = [*lake.files.commits[0], *({"add": {**each["add"], "dataChange": False}} for each in adds)]
    lake.files.checkpoints.append(CheckpointFiles(version, rows=rows))
    write_table(lake.files, lake.root)


class TestRefusal:
    def refuse(self, lake: Lake, *options: object) -> str:
        result = run("validate", lake.root, "--since", lake.root.parent / "first.json", *options)
        assert result.exit_code == 2
        line = single_error_line(result)
        assert line.endswith("; run without --since")
        return line.partition("first.json: ")[2].removesuffix("; run without --since")

    def change(self, lake: Lake, **changes: Any) -> None:
        path = lake.root.parent / "first.json"
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))

    def test_history_was_rewritten(self, lake: Lake) -> None:
        path = lake.root / "_delta_log" / f"{1:020}.json"
        path.write_bytes(path.read_bytes() + b"\n")
        assert self.refuse(lake) == "is of another history: commit 1 has changed since, or is of another table"

    @pytest.mark.parametrize("version", [0, 1, 2])
    def test_earlier_commit_was_rewritten(self, version: int, lake: Lake) -> None:
        for name in "bc":
            lake.commit(**{name: GOOD})
        lake.report("first.json")
        lake.commit(d=GOOD)
        path = lake.root / "_delta_log" / f"{version:020}.json"
        path.write_bytes(path.read_bytes() + b"\n")
        for level in ("files", "rows"):
            assert self.refuse(lake, "--level", level) == f"is of another history: commit {version} has changed since"

    @pytest.mark.parametrize("version", [1, 2])
    def test_commit_before_a_new_checkpoint_was_rewritten(self, version: int, lake: Lake) -> None:
        for name in "bc":
            lake.commit(**{name: GOOD})
        lake.report("first.json")
        _add_checkpoint(lake, 3)
        path = lake.root / "_delta_log" / f"{version:020}.json"
        path.write_bytes(path.read_bytes() + b"\n")
        assert self.refuse(lake, "--level", "rows") == f"is of another history: commit {version} has changed since"

    def test_commits_that_log_cleanup_deletes_are_not_compared(self, lake: Lake) -> None:
        for name in "bc":
            lake.commit(**{name: GOOD})
        assert set(lake.report("first.json")["continuation"]["commits"]) == {"0", "1", "2", "3"}
        _add_checkpoint(lake, 3)
        lake.commit(d=GOOD)
        for version in (0, 1):
            (lake.root / "_delta_log" / f"{version:020}.json").unlink()
        second = lake.report("second.json", "--since", lake.root.parent / "first.json")
        assert (second["verdict"], second["since"]["skipped_files"]) == ("conforms", 0)  # nothing shows what they had
        assert second["since"]["reason"] == "the checkpoint of version 3 replaces commits that its report has read"
        assert set(second["continuation"]["commits"]) == {"2", "3", "4"}

    def test_commit_that_only_an_older_report_has_read_was_rewritten(self, lake: Lake) -> None:
        for name in "bc":
            lake.commit(**{name: GOOD})
        lake.report("first.json")
        _add_checkpoint(lake, 3)
        lake.commit(d=GOOD)
        lake.report("second.json", "--since", lake.root.parent / "first.json")
        (lake.root.parent / "second.json").rename(lake.root.parent / "first.json")
        path = lake.root / "_delta_log" / f"{2:020}.json"
        path.write_bytes(path.read_bytes() + b"\n")
        assert self.refuse(lake) == "is of another history: commit 2 has changed since"

    def test_report_without_digests_of_commits_is_accepted(self, lake: Lake) -> None:
        known = json.loads((lake.root.parent / "first.json").read_bytes())["continuation"]
        del known["commits"]
        self.change(lake, continuation=known)
        path = lake.root / "_delta_log" / f"{0:020}.json"
        path.write_bytes(path.read_bytes() + b"\n")
        assert run("validate", lake.root, "--since", lake.root.parent / "first.json").exit_code == 0

    def test_history_is_shorter(self, lake: Lake) -> None:
        self.change(lake, version=5)
        assert self.refuse(lake) == "is of version 5, but this run validates version 1"

    def test_commits_since_the_report_are_gone(self, lake: Lake) -> None:
        for name in "bc":
            lake.commit(**{name: GOOD})
        adds = [line for commit in lake.files.commits.values() for line in commit if "add" in line]
        lake.files.checkpoints.append(CheckpointFiles(2, rows=[*lake.files.commits[0], *adds[:2]]))
        write_table(lake.files, lake.root)
        for version in (0, 1):
            (lake.root / "_delta_log" / f"{version:020}.json").unlink()
        assert self.refuse(lake) == "is too old: the log no longer has every commit from version 1"

    def test_report_is_of_another_table(self, lake: Lake) -> None:
        continuation = json.loads((lake.root.parent / "first.json").read_bytes())["continuation"]
        self.change(lake, continuation={**continuation, "table_id": "other"})
        assert self.refuse(lake).startswith("is of the table with id other, not ")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"deltaspec": "0.0.9"}, "is of another release or rule set (deltaspec 0.0.9)"),
            ({"report_version": 1}, "is of report version 1, not 2"),
            ({"verdict": "refused"}, "is not complete, because something could not be checked"),
            (
                {"continuation": None},
                "does not identify the table, because its last commit or metadata could not be read",
            ),
            ({"version": None}, "does not identify the table"),
        ],
    )
    def test_report_is_of_another_run(self, changes: dict[str, Any], message: str, lake: Lake) -> None:
        self.change(lake, **changes)
        assert self.refuse(lake).startswith(message)

    def test_rules_differ(self, lake: Lake) -> None:
        known = json.loads((lake.root.parent / "first.json").read_bytes())
        self.change(lake, continuation={**known["continuation"], "rules": "0"})
        assert self.refuse(lake).startswith("is of another release or rule set")

    def test_incomplete_report(self, lake: Lake) -> None:
        checked = json.loads((lake.root.parent / "first.json").read_bytes())["checked"]
        entry = {"rule": "ROW001", "reason": "no permission", "file": "a.parquet", "accepted": False}
        self.change(lake, checked={**checked, "not_checked": [entry]}, verdict="violations")
        assert self.refuse(lake) == "is not complete, because something could not be checked"

    def test_report_had_a_lower_level_or_fewer_rules(self, lake: Lake) -> None:
        lake.report("first.json", "--level", "files")
        assert self.refuse(lake, "--level", "rows").startswith("did not check ")
        lake.report("first.json", "--ignore", "ROW001")
        expected = "did not check ROW001; it must have the level and every rule of this run"
        assert self.refuse(lake, "--level", "rows") == expected

    def test_options_differ(self, lake: Lake) -> None:
        assert self.refuse(lake, "--history", "all") == "is of history latest, not all"
        assert self.refuse(lake, "--revision", "r3") == "is of revision current, not r3"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "cannot be read: No such file or directory"),
            (b"{}", "is not a report of `deltaspec validate --format json`"),
            (b"\xff", "is not a report of `deltaspec validate --format json`"),
            (b"[" * 100_000, "is not a report of `deltaspec validate --format json`"),
        ],
    )
    def test_file_is_no_report(self, content: bytes | None, message: str, lake: Lake, tmp_path: Path) -> None:
        if content is not None:
            (tmp_path / "x.json").write_bytes(content)
        result = run("validate", lake.root, "--since", tmp_path / "x.json")
        assert (result.exit_code, single_error_line(result)) == (2, f"deltaspec: --since {tmp_path}/x.json: {message}")


# files that replace commits


def write_state(lake: Lake, version: int, *adds: Any, **more: Any) -> CheckpointFiles:
    """Write a checkpoint of a version, from the table actions of commit 0 and these adds."""
    checkpoint = CheckpointFiles(version, rows=[*lake.files.commits[0], *adds], **more)
    lake.files.checkpoints = [checkpoint]
    write_table(lake.files, lake.root)
    return checkpoint


def build_replaced_lake(lake: Lake, tmp_path: Path, **more: Any) -> None:
    """Replace commits 0 and 1 by a checkpoint, report it, and append a commit."""
    write_state(lake, 1, lake.files.commits[1][0], **more)
    lake.commit(b=GOOD)
    (lake.root / "_delta_log" / f"{0:020}.json").unlink()
    lake.report("second.json")


def test_checkpoint_that_is_as_before_needs_no_other_check(lake: Lake, tmp_path: Path) -> None:
    build_replaced_lake(lake, tmp_path)
    report = lake.report("third.json", "--since", tmp_path / "second.json")
    assert (report["since"]["reason"], report["since"]["skipped_files"]) == (None, 2)
    shown = run("validate", lake.root, "--level", "rows", "--since", tmp_path / "second.json").stdout
    assert "by size and modification time, not by content" in " ".join(shown.split())


def test_statistics_in_the_checkpoint_are_kept_only_of_files_that_are_read(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.commit(b=GOOD)
    moved = add_action("moved.parquet", rows=2, size=_size(OTHER))
    moved["add"]["dataChange"] = False
    lake.files.data["moved.parquet"] = OTHER
    lake.commit(remove_action(lake.files.commits[2][0]), moved)
    lake.commit(metadata_action([*FIELDS, ("name", "string")]))
    write_state(lake, 2, lake.files.commits[1][0], lake.files.commits[2][0])
    log = lake.root / "_delta_log"
    (log / f"{0:020}.json").unlink()
    lake.report("second.json", "--at", 2)
    kept: dict[str, str | None] = {}
    put = LocalBuckets.put

    def remember(buckets: LocalBuckets, tag: str, rows: pl.DataFrame, *keys: Any) -> None:
        if tag == REPLAY_ROWS:
            kept.update(rows.filter(source="checkpoint").select("path_key", "stats").iter_rows())
        put(buckets, tag, rows, *keys)

    monkeypatch.setattr(LocalBuckets, "put", remember)
    report = lake.report("third.json", "--since", tmp_path / "second.json", "--at", 3)
    assert (report["since"]["reason"], report["since"]["skipped_files"]) == (None, 1)
    assert report["totals"] == {"COM022": 1}
    stats = lake.files.commits[2][0]["add"]["stats"]
    assert kept == {"a.parquet": None, "b.parquet": stats}
    report = lake.report("fourth.json", "--since", tmp_path / "second.json")
    assert report["since"]["reason"] == "version 4 changes what files must conform to"
    assert kept == {"a.parquet": stats, "b.parquet": stats}


@pytest.mark.parametrize("kind", ["checkpoint", "multipart checkpoint", "compaction", "sidecar"])
def test_changed_replacement_of_commits_checks_all_files(lake: Lake, tmp_path: Path, kind: str) -> None:
    log = lake.root / "_delta_log"
    if kind == "compaction":
        lake.commit(b=GOOD)
        lake.files.compactions[1, 2] = [*lake.files.commits[1], *lake.files.commits[2]]
        write_table(lake.files, lake.root)
        lake.report("second.json")
        changed = log / f"{1:020}.{2:020}.compacted.json"
    elif kind == "sidecar":
        lake.files.commits[0] = [protocol_action(3, 7, ["v2Checkpoint"], ["v2Checkpoint"]), metadata_action(FIELDS)]
        sidecar = SidecarFile("00000000-0000-4000-8000-000000000001.parquet", rows=lake.files.commits[1])
        rows = [{"checkpointMetadata": {"version": 1}}, *lake.files.commits[0]]
        lake.files.checkpoints = [CheckpointFiles(1, "uuid-parquet", rows=rows, sidecars=[sidecar])]
        lake.commit(b=GOOD)
        lake.report("second.json")
        changed = log / "_sidecars" / sidecar.name
    else:
        parts = {"naming": "multipart", "parts": 2} if kind == "multipart checkpoint" else {}
        build_replaced_lake(lake, tmp_path, **parts)
        changed = min(log.glob("*.checkpoint*.parquet"))
    data = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(data)
    os.utime(changed, (1, 1))
    report = lake.report("third.json", "--since", tmp_path / "second.json")
    assert report["since"]["reason"] == f"_delta_log/{changed.relative_to(log)} has changed since its report"
    assert report["since"]["skipped_files"] == 0


def test_new_checkpoint_in_place_of_commits_checks_all_files(lake: Lake, tmp_path: Path) -> None:
    lake.commit(b=GOOD)
    lake.report("second.json")
    write_state(lake, 1, add_action("other.parquet", rows=2, size=_size(GOOD)))
    for version in (0, 1):
        (lake.root / "_delta_log" / f"{version:020}.json").unlink()
    report = lake.report("third.json", "--since", tmp_path / "second.json")
    assert report["since"]["reason"] == "the checkpoint of version 1 replaces commits that its report has read"
    assert report["verdict"] == "violations"  # other.parquet does not exist
