"""One table judged by two texts that say different things of it: each verdict is right by its text.

What differs is a fact of the texts (home of the row-id high-water mark, actions of a checkpoint, key of a live file,
spelling of values), so that neither verdict is the stricter one.
"""

from pathlib import Path
from typing import Any

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec_generators.bases import log_only
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    domain_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)

DAY = "2024-03-01"


def write_and_validate(files: TableFiles, place: Path, *revisions: str) -> dict[str, Report]:
    write_table(files, place / "table")
    return {
        each: deltaspec.validate(str(place / "table"), level="log", history="all", revision=each) for each in revisions
    }


def requirements_broken(report: Report) -> set[str]:
    return {finding.requirement for finding in report.findings if finding.severity == "violation"}


def tracked(mark: dict[str, Any]) -> TableFiles:
    """A table with row tracking: ten rows with ids 0 to 9, and the mark as given."""
    files = log_only.TableFiles()
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row_id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
    }
    files.commits[0] = [
        protocol_action(1, 7, None, ["rowTracking", "domainMetadata"]),
        metadata_action(log_only.FIELDS, (), {"delta.enableRowTracking": "true", **names}),
    ]
    files.commits[1] = [add_action("a.parquet", rows=10, baseRowId=0, defaultRowCommitVersion=1), mark]
    return files


def test_mark_of_row_ids_is_an_action_in_r2_and_a_domain_since_r3(tmp_path: Path) -> None:
    as_action = write_and_validate(
        tracked({"rowIdHighWaterMark": {"highWaterMark": 9}}), tmp_path / "action", "r2", "r3", "current"
    )
    as_domain = write_and_validate(
        tracked(domain_action("delta.rowTracking", '{"rowIdHighWaterMark":9}')),
        tmp_path / "domain",
        "r2",
        "r3",
        "current",
    )
    assert {name: report.verdict for name, report in as_action.items()} == {
        "r2": "conforms",
        "r3": "violations",
        "current": "violations",
    }
    assert requirements_broken(as_action["current"]) == {"row-tracking.mark-in-domain"}
    assert {name: report.verdict for name, report in as_domain.items()} == {
        "r2": "violations",
        "r3": "conforms",
        "current": "conforms",
    }


def test_mark_of_row_ids_below_a_row_is_seen_in_either_home(tmp_path: Path) -> None:
    r2 = write_and_validate(tracked({"rowIdHighWaterMark": {"highWaterMark": 8}}), tmp_path / "action", "r2")["r2"]
    r3 = write_and_validate(
        tracked(domain_action("delta.rowTracking", '{"rowIdHighWaterMark":8}')), tmp_path / "domain", "r3"
    )["r3"]
    assert r2.verdict == r3.verdict == "violations"
    assert requirements_broken(r2)
    assert requirements_broken(r3)


def test_commit_info_may_stand_in_a_checkpoint_before_r3(tmp_path: Path) -> None:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].rows.append(log_only.commit_info_action(1))
    found = write_and_validate(files, tmp_path, "r1", "r2", "r3", "current")
    assert {name: report.verdict for name, report in found.items()} == {
        "r1": "conforms",
        "r2": "conforms",
        "r3": "violations",
        "current": "violations",
    }
    assert requirements_broken(found["r3"]) == {"checkpoint.no-commit-info-no-cdc"}


def two_vectors() -> TableFiles:
    """A file committed with a vector, then with another one without a remove between."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    first = add_action("c.parquet", rows=10, deletionVector=log_only.inline_vector_descriptor((1,)))
    second = add_action("c.parquet", rows=10, deletionVector=log_only.inline_vector_descriptor((1, 3)))
    files.commits = {0: files.commits[0], 1: [first], 2: [second]}
    return files


def test_a_live_file_is_known_by_path_and_vector_until_r3_and_by_path_since(tmp_path: Path) -> None:
    files = two_vectors()
    newest_only = CheckpointFiles(2, rows=[*files.commits[0][1:], files.commits[2][0]])
    both = CheckpointFiles(2, rows=[*files.commits[0][1:], files.commits[1][0], files.commits[2][0]])
    files.checkpoints = [newest_only]
    found = write_and_validate(files, tmp_path / "newest", "r1", "r3", "current")
    assert requirements_broken(found["r1"]) == requirements_broken(found["r3"]) != set()
    missing = {finding.name for finding in found["r3"].findings}
    assert missing == {RULES["CKP030"].name}
    assert "CKP030" not in found["current"].totals
    assert requirements_broken(found["current"]) == {"add.live-vector-removed"}
    files.checkpoints = [both]
    found = write_and_validate(files, tmp_path / "both", "r1", "r3", "current")
    assert (found["r1"].verdict, found["r3"].verdict, found["current"].verdict) == (
        "conforms",
        "conforms",
        "violations",
    )


def test_timestamps_of_partitions_are_spelled_in_utc_by_the_newest_text_only(tmp_path: Path) -> None:
    def table(text: str) -> TableFiles:
        fields = (("id", "long"), ("at", "timestamp"))
        return log_only.build_table(fields=fields, partition_columns=["at"], partition={"at": text})

    iso = write_and_validate(table(f"{DAY}T10:00:00.000000Z"), tmp_path / "iso", "r1", "r2", "r3", "current")
    build_table = write_and_validate(table(f"{DAY} 10:00:00"), tmp_path / "plain", "r1", "r2", "r3", "current")
    assert {name: report.verdict for name, report in iso.items()} == {
        "r1": "violations",
        "r2": "violations",
        "r3": "violations",
        "current": "conforms",
    }
    assert {finding.rule for finding in iso["r3"].findings} == {finding.rule for finding in iso["r1"].findings}
    assert requirements_broken(iso["r3"]) == {"partition-values.serialization"}
    assert {report.verdict for report in build_table.values()} == {"conforms"}


def test_configuration_of_a_domain_is_a_map_before_r3_and_a_text_since(tmp_path: Path) -> None:
    def table(configuration: Any) -> TableFiles:
        files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
        body = {"domain": "app.settings", "configuration": configuration, "removed": False}
        files.commits[2].append({"domainMetadata": body})
        return files

    as_map = write_and_validate(table({"key": "value"}), tmp_path / "map", "r1", "r2", "r3", "current")
    as_text = write_and_validate(table('{"key":"value"}'), tmp_path / "text", "r3", "current")
    assert {name: report.verdict for name, report in as_map.items()} == {
        "r1": "conforms",
        "r2": "conforms",
        "r3": "violations",
        "current": "violations",
    }
    assert requirements_broken(as_map["current"]) == {"domain.fields"}
    assert {report.verdict for report in as_text.values()} == {"conforms"}


def test_a_remove_without_its_add_is_the_same_to_every_text(tmp_path: Path) -> None:
    files = log_only.build_table()
    files.commits[2].append(remove_action(add_action("never.parquet")))
    found = write_and_validate(files, tmp_path, "r1", "r2", "r3", "current")
    assert len({report.verdict for report in found.values()}) == 1
