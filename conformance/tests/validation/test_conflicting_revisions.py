"""Tables that conform to one revision of the protocol and violate another.

The revisions contradict each other on the location of the row id high-water mark, the actions of a checkpoint, the key
of a live file, and the encoding of values. Neither revision is the stricter one.
"""

from pathlib import Path
from typing import Any

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    domain_action,
    inline_vector_descriptor,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only

DAY = "2024-03-01"


def write_and_validate(files: TableFiles, directory: Path, *revisions: str) -> dict[str, Report]:
    write_table(files, directory / "table")
    return {
        revision: deltaspec.validate(str(directory / "table"), level="log", history="all", revision=revision)
        for revision in revisions
    }


def violated_requirements(report: Report) -> set[str]:
    return {finding.requirement for finding in report.findings if finding.severity == "violation"}


def build_row_tracking_table(high_water_mark: dict[str, Any]) -> TableFiles:
    """Build a table with row tracking, ten rows with ids 0 to 9, and an action for the high-water mark."""
    files = log_only.TableFiles()
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row_id",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row_version",
    }
    files.commits[0] = [
        protocol_action(1, 7, None, ["rowTracking", "domainMetadata"]),
        metadata_action(log_only.FIELDS, (), {"delta.enableRowTracking": "true", **names}),
    ]
    files.commits[1] = [add_action("a.parquet", rows=10, baseRowId=0, defaultRowCommitVersion=1), high_water_mark]
    return files


def test_row_id_high_water_mark_is_an_action_in_r2_and_a_domain_since_r3(tmp_path: Path) -> None:
    as_action = write_and_validate(
        build_row_tracking_table({"rowIdHighWaterMark": {"highWaterMark": 9}}),
        tmp_path / "action",
        "r2",
        "r3",
        "current",
    )
    as_domain = write_and_validate(
        build_row_tracking_table(domain_action("delta.rowTracking", '{"rowIdHighWaterMark":9}')),
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
    assert violated_requirements(as_action["current"]) == {"row-tracking.mark-in-domain"}
    assert {name: report.verdict for name, report in as_domain.items()} == {
        "r2": "violations",
        "r3": "conforms",
        "current": "conforms",
    }


def test_low_row_id_high_water_mark_is_found_in_r2_and_r3(tmp_path: Path) -> None:
    r2 = write_and_validate(
        build_row_tracking_table({"rowIdHighWaterMark": {"highWaterMark": 8}}), tmp_path / "action", "r2"
    )["r2"]
    r3 = write_and_validate(
        build_row_tracking_table(domain_action("delta.rowTracking", '{"rowIdHighWaterMark":8}')),
        tmp_path / "domain",
        "r3",
    )["r3"]
    assert r2.verdict == r3.verdict == "violations"
    assert violated_requirements(r2)
    assert violated_requirements(r3)


def test_checkpoint_may_contain_commit_info_before_r3(tmp_path: Path) -> None:
    files = log_only.build_checkpointed_table()
    files.checkpoints[0].rows.append(commit_info_action(1))
    found = write_and_validate(files, tmp_path, "r1", "r2", "r3", "current")
    assert {name: report.verdict for name, report in found.items()} == {
        "r1": "conforms",
        "r2": "conforms",
        "r3": "violations",
        "current": "violations",
    }
    assert violated_requirements(found["r3"]) == {"checkpoint.no-commit-info-no-cdc"}


def build_table_with_two_vectors() -> TableFiles:
    """Build a table that commits a file with a vector, then with another one, without a remove in between."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    first = add_action("c.parquet", rows=10, deletionVector=inline_vector_descriptor((1,)))
    second = add_action("c.parquet", rows=10, deletionVector=inline_vector_descriptor((1, 3)))
    files.commits = {0: files.commits[0], 1: [first], 2: [second]}
    return files


def test_live_file_is_identified_by_path_and_vector_until_r3_and_by_path_in_current(tmp_path: Path) -> None:
    files = build_table_with_two_vectors()
    newest_only = CheckpointFiles(2, rows=[*files.commits[0][1:], files.commits[2][0]])
    both = CheckpointFiles(2, rows=[*files.commits[0][1:], files.commits[1][0], files.commits[2][0]])
    files.checkpoints = [newest_only]
    found = write_and_validate(files, tmp_path / "newest", "r1", "r3", "current")
    assert violated_requirements(found["r1"]) == violated_requirements(found["r3"]) != set()
    missing = {finding.name for finding in found["r3"].findings}
    assert missing == {RULES["CKP030"].name}
    assert "CKP030" not in found["current"].totals
    assert violated_requirements(found["current"]) == {"add.live-vector-removed"}
    files.checkpoints = [both]
    found = write_and_validate(files, tmp_path / "both", "r1", "r3", "current")
    assert (found["r1"].verdict, found["r3"].verdict, found["current"].verdict) == (
        "conforms",
        "conforms",
        "violations",
    )


def test_utc_partition_timestamps_are_legal_only_in_current(tmp_path: Path) -> None:
    def table(text: str) -> TableFiles:
        fields = (("id", "long"), ("at", "timestamp"))
        return log_only.build_table(fields=fields, partition_columns=["at"], partition={"at": text})

    iso = write_and_validate(table(f"{DAY}T10:00:00.000000Z"), tmp_path / "iso", "r1", "r2", "r3", "current")
    plain = write_and_validate(table(f"{DAY} 10:00:00"), tmp_path / "plain", "r1", "r2", "r3", "current")
    assert {name: report.verdict for name, report in iso.items()} == {
        "r1": "violations",
        "r2": "violations",
        "r3": "violations",
        "current": "conforms",
    }
    assert {finding.rule for finding in iso["r3"].findings} == {finding.rule for finding in iso["r1"].findings}
    assert violated_requirements(iso["r3"]) == {"partition-values.serialization"}
    assert {report.verdict for report in plain.values()} == {"conforms"}


def test_domain_configuration_is_a_map_before_r3_and_a_string_since(tmp_path: Path) -> None:
    def table(configuration: Any) -> TableFiles:
        files = log_only.build_table(protocol=protocol_action(1, 7, None, ["domainMetadata"]))
        body = {"domain": "app.settings", "configuration": configuration, "removed": False}
        files.commits[2].append({"domainMetadata": body})
        return files

    as_map = write_and_validate(table({"key": "value"}), tmp_path / "map", "r1", "r2", "r3", "current")
    as_string = write_and_validate(table('{"key":"value"}'), tmp_path / "string", "r3", "current")
    assert {name: report.verdict for name, report in as_map.items()} == {
        "r1": "conforms",
        "r2": "conforms",
        "r3": "violations",
        "current": "violations",
    }
    assert violated_requirements(as_map["current"]) == {"domain.fields"}
    assert {report.verdict for report in as_string.values()} == {"conforms"}


def test_remove_without_add_has_one_verdict_in_every_revision(tmp_path: Path) -> None:
    files = log_only.build_table()
    files.commits[2].append(remove_action(add_action("never.parquet")))
    found = write_and_validate(files, tmp_path, "r1", "r2", "r3", "current")
    assert len({report.verdict for report in found.values()}) == 1
