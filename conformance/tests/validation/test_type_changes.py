"""Which files make a type change illegal, and when it cannot be decided."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators import small_tables
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)
from planted_tables.bases import log_only
from planted_tables.bases.log_only import build_state_rows
from planted_tables.bases.type_widening import (
    ENABLED,
    INTEGER_TO_LONG,
    build_column,
    build_table_with_column_versions,
    build_type_change,
    build_widened_files_table,
    recompute_statistics,
)

INTEGER, LONG = build_column("integer"), build_column("long", [build_type_change("integer", "long")])


def write_and_validate(files: TableFiles, directory: Path, **options: str) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), **{"history": "all", "level": "log", **options})


def build_metadata(field: dict[str, object]) -> dict[str, object]:
    return metadata_action([("id", "long"), field], configuration=ENABLED)


def remove_history(files: TableFiles, version: int) -> TableFiles:
    """Remove the commits before a version and add a checkpoint of it."""
    rows = build_state_rows(files) if version == 1 else []
    files.checkpoints.append(CheckpointFiles(version, rows=rows))
    for each in range(version):
        del files.commits[each]
    return files


def test_finding_names_the_column(tmp_path: Path) -> None:
    (finding,) = write_and_validate(build_table_with_column_versions(INTEGER, build_column("long")), tmp_path).findings
    assert (finding.rule, finding.version, finding.column) == ("WID013", 3, "c")


def test_change_after_metadata_that_cannot_be_decoded_is_not_judged(tmp_path: Path) -> None:
    """The unknown version may have recorded the change."""
    files = build_table_with_column_versions(INTEGER, build_column("long"))
    files.commits[2].append(b'{"metaData":5}')
    report = write_and_validate(files, tmp_path)
    assert report.totals.keys() == {"LIN013"}
    assert "WID013" in report.checked.undecided_rules


def test_record_in_a_string_is_one_finding(tmp_path: Path) -> None:
    """E30: the change counts as recorded."""
    recorded = build_column("long", json.dumps([build_type_change("integer", "long")]))
    report = write_and_validate(build_table_with_column_versions(INTEGER, recorded), tmp_path)
    assert (report.verdict, report.totals) == ("conforms", {"WID003": 1})


def test_table_without_files_has_no_finding(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    for version in (1, 2):
        files.commits[version] = [commit_info_action(version)]
    assert write_and_validate(files, tmp_path).totals == {}


def test_files_removed_by_the_change_are_ignored(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    adds = [each for each in (files.commits[1][2], files.commits[2][1]) if isinstance(each, dict)]
    files.commits[3] += [remove_action(each) for each in adds]
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_older_than_the_wider_type_does_not_prevent_a_restore(tmp_path: Path) -> None:
    """A restore may narrow the type only if it also removes the file written with the wider type."""
    files = build_table_with_column_versions(INTEGER, LONG)
    newer = add_action("d.parquet", rows=10)
    files.commits[4] = [commit_info_action(4), newer]
    files.commits[5] = [commit_info_action(5), build_metadata(INTEGER)]
    assert write_and_validate(files, tmp_path).totals == {"WID010": 1}
    files.commits[5].append(remove_action(newer))
    (tmp_path / "again").mkdir()
    assert write_and_validate(files, tmp_path / "again").totals == {}


def test_files_of_a_checkpoint_may_be_older_than_its_type(tmp_path: Path) -> None:
    """A type that was widened before the validated history may be narrowed again."""
    files = remove_history(build_table_with_column_versions(LONG, INTEGER), 1)
    files.commits[2] = [commit_info_action(2)]
    assert write_and_validate(files, tmp_path).totals == {}


def test_files_of_a_checkpoint_have_the_type_before_widening(tmp_path: Path) -> None:
    files = remove_history(build_table_with_column_versions(INTEGER, build_column("long")), 1)
    assert write_and_validate(files, tmp_path).totals == {"WID013": 1}


def test_record_may_be_removed_if_the_time_of_the_change_is_unknown(tmp_path: Path) -> None:
    files = remove_history(build_table_with_column_versions(LONG, build_column("long")), 1)
    assert write_and_validate(files, tmp_path).totals == {}


def build_table_without_record() -> TableFiles:
    """Build a table with integer files whose column became long, without the record of the change."""
    files = build_widened_files_table(rewritten=False)
    fields: list[Any] = [*small_tables.FIELDS, build_column("long")]
    files.commits[4] = [commit_info_action(4), metadata_action(fields, configuration=ENABLED)]
    return files


def test_record_may_be_removed_with_the_older_files(tmp_path: Path) -> None:
    files = build_table_without_record()
    report = write_and_validate(files, tmp_path, level="footers")
    assert [(each.rule, each.path, each.column) for each in report.findings] == [
        ("WID014", "b.parquet", "c"),
        ("WID014", "c.parquet", "c"),
    ]
    files.commits[4] += [remove_action(row) for row in (files.commits[1][2], files.commits[2][1]) if "add" in row]
    (tmp_path / "again").mkdir()
    assert write_and_validate(files, tmp_path / "again", level="footers").totals == {}


def test_record_may_be_restored_later(tmp_path: Path) -> None:
    files = build_table_without_record()
    fields: list[Any] = [*small_tables.FIELDS, build_column("long", INTEGER_TO_LONG)]
    files.commits[5] = [commit_info_action(5), metadata_action(fields, configuration=ENABLED)]
    assert write_and_validate(files, tmp_path, level="footers").totals == {}


@pytest.mark.parametrize(("before", "after"), [("long", "integer"), ("string", "long")])
def test_illegal_change_over_files_of_the_first_checkpoint_is_undecided(
    tmp_path: Path, before: str, after: str
) -> None:
    files = remove_history(build_table_with_column_versions(build_column(before), build_column(after)), 1)
    files.commits[2] = [commit_info_action(2)]
    report = write_and_validate(files, tmp_path)
    (found,) = report.checked.not_checked
    assert (report.totals, report.verdict, found.rule) == ({}, "incomplete", "WID010")
    assert found.reason == "the types in files of the first checkpoint, which version 3 changes, are not known"
    files.commits[3] += [remove_action(row) for row in files.checkpoints[0].rows if "add" in row]
    (tmp_path / "again").mkdir()
    assert write_and_validate(files, tmp_path / "again").checked.not_checked == []


def test_restored_version_has_no_later_record(tmp_path: Path) -> None:
    files = build_widened_files_table(rewritten=False)
    fields: list[Any] = [*small_tables.FIELDS, build_column("integer")]
    files.commits[4] = [commit_info_action(4), metadata_action(fields, configuration=ENABLED)]
    assert write_and_validate(files, tmp_path, level="footers").totals == {}


def test_files_without_rows_have_no_older_type(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":0}'
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_with_recomputed_statistics_keeps_its_age(tmp_path: Path) -> None:
    """Statistics are recomputed while the type is wider; no commit states that it restores a version."""
    files = recompute_statistics(build_table_with_column_versions(INTEGER, LONG), 4)
    files.commits[5] = [commit_info_action(5), build_metadata(INTEGER)]
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize("operation", ["CLONE", "RESTORE"])
def test_clone_and_restore_may_change_types(tmp_path: Path, operation: str) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    files.commits[3][0] = commit_info_action(3, operation=operation)
    assert write_and_validate(files, tmp_path).totals == {}


def test_enabling_commit_may_change_types(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, LONG, settings={})
    files.commits[3][1] = build_metadata(LONG)
    assert write_and_validate(files, tmp_path).totals == {}


def test_table_without_the_feature_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"), settings={})
    files.commits[0][1] = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"])
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize("feature", ["typeWidening-preview", "typeWidening-dev"])
def test_preview_features_are_checked(tmp_path: Path, feature: str) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("long"))
    files.commits[0][1] = protocol_action(3, 7, [feature], [feature])
    assert write_and_validate(files, tmp_path).totals == {"WID013": 1}


def test_incomplete_replay_is_not_checked(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("long"))
    files.commits[2][1] = {"add": {"path": 1}}
    report = write_and_validate(files, tmp_path)
    assert "WID013" not in report.totals
    assert "WID013" in {each.rule for each in report.checked.not_checked}
    assert "WID007" not in {each.rule for each in report.checked.not_checked}  # it needs only the schema


def test_unreadable_schema_makes_earlier_types_unknown(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, INTEGER, build_column("long"))
    get_action(files, 3, "metaData")["schemaString"] = "{}"
    assert "WID013" not in write_and_validate(files, tmp_path).totals


@pytest.mark.parametrize("revision", ["r1", "r2", "r3"])
def test_older_revisions_are_not_checked(tmp_path: Path, revision: str) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string", [build_type_change("long", "double")]))
    files.commits[0][1] = protocol_action(1, 2)
    assert write_and_validate(files, tmp_path, revision=revision).totals == {}


# valid tables that look like errors


def build_table_with_dropped_feature() -> TableFiles:
    files = build_table_with_column_versions(build_column("long"))
    disabled = metadata_action(
        [("id", "long"), build_column("long")], configuration={"delta.enableTypeWidening": "false"}
    )
    files.commits[3] = [commit_info_action(3), disabled]
    files.commits[4] = [commit_info_action(4), protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"])]
    return files


def build_table_with_empty_records() -> TableFiles:
    """Build a table with an empty list of changes and a null."""
    fields = [build_column("long", []), {**build_column("long", name="d"), "metadata": {"delta.typeChanges": None}}]
    return log_only.build_table(fields=fields)


def build_table_with_restored_wider_type() -> TableFiles:
    """Restored versions narrow a column and widen it again, after the property was removed."""
    files = build_table_with_column_versions(build_column("integer"), build_column("long", INTEGER_TO_LONG))
    for version, kind in ((4, build_column("integer")), (6, build_column("long", INTEGER_TO_LONG))):
        files.commits[version] = [
            commit_info_action(version, operation="RESTORE"),
            metadata_action([("id", "long"), kind]),
        ]
    return recompute_statistics(files, 5)


def build_repeated_clone_with_wider_type() -> TableFiles:
    """The type changes and properties of the source do not apply to the clone."""
    files = build_table_with_column_versions(build_column("integer"), settings={})
    files.commits[1][0] = commit_info_action(1, operation="CLONE")
    wider = metadata_action([("id", "long"), build_column("long", INTEGER_TO_LONG)])
    files.commits[3] = [commit_info_action(3, operation="CLONE"), wider]
    return files


@pytest.mark.parametrize(
    "build_table",
    [
        build_table_with_dropped_feature,
        build_table_with_empty_records,
        build_table_with_restored_wider_type,
        build_repeated_clone_with_wider_type,
    ],
)
def test_valid_table_has_no_finding(build_table: Callable[[], TableFiles], tmp_path: Path) -> None:
    report = write_and_validate(build_table(), tmp_path)
    assert (report.verdict, report.totals) == ("conforms", {})
