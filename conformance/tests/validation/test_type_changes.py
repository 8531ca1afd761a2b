"""Which files tell that a type changed as it may not, and when nothing can be told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.bases import data_files, log_only
from deltaspec_generators.bases.log_only import build_state_rows, commit_info_action, get_action
from deltaspec_generators.bases.type_widening import (
    ENABLED,
    INTEGER_TO_LONG,
    build_column,
    build_table_with_column_versions,
    build_type_change,
    build_widened_files_table,
    recompute_statistics,
)
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    metadata_action,
    protocol_action,
    remove_action,
    write_table,
)

INTEGER, LONG = build_column("integer"), build_column("long", [build_type_change("integer", "long")])


def write_and_validate(files: TableFiles, directory: Path, **options: str) -> Report:
    write_table(files, directory / "table")
    return deltaspec.validate(str(directory / "table"), **{"history": "all", "level": "log", **options})


def schema_of(field: dict[str, object]) -> dict[str, object]:
    return metadata_action([("id", "long"), field], configuration=ENABLED)


def without_history(files: TableFiles, version: int) -> TableFiles:
    """The table from a checkpoint on: commits up to its version are gone."""
    rows = build_state_rows(files) if version == 1 else []
    files.checkpoints.append(CheckpointFiles(version, rows=rows))
    for each in range(version):
        del files.commits[each]
    return files


def test_a_finding_names_the_column(tmp_path: Path) -> None:
    (found,) = write_and_validate(build_table_with_column_versions(INTEGER, build_column("long")), tmp_path).findings
    assert (found.rule, found.version, found.column) == ("WID013", 3, "c")


def test_no_file_no_finding(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    for version in (1, 2):
        files.commits[version] = [commit_info_action(version)]
    assert write_and_validate(files, tmp_path).totals == {}


def test_files_that_go_with_the_change_are_none_that_stay(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    adds = [each for each in (files.commits[1][2], files.commits[2][1]) if isinstance(each, dict)]
    files.commits[3] += [remove_action(each) for each in adds]
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_from_before_the_type_is_no_file_of_it(tmp_path: Path) -> None:
    """Restored while a file of each time is live: that of the wider type goes, and the type with it."""
    files = build_table_with_column_versions(INTEGER, LONG)
    newer = add_action("d.parquet", rows=10)
    files.commits[4] = [commit_info_action(4), newer]
    files.commits[5] = [commit_info_action(5), schema_of(INTEGER)]
    assert write_and_validate(files, tmp_path).totals == {"WID010": 1}
    files.commits[5].append(remove_action(newer))
    (tmp_path / "again").mkdir()
    assert write_and_validate(files, tmp_path / "again").totals == {}


def test_files_of_a_checkpoint_may_be_of_any_age(tmp_path: Path) -> None:
    """What became wider before the judged history may be undone in it."""
    files = without_history(build_table_with_column_versions(LONG, INTEGER), 1)
    files.commits[2] = [commit_info_action(2)]
    assert write_and_validate(files, tmp_path).totals == {}


def test_files_of_a_checkpoint_are_of_the_type_that_becomes_wider(tmp_path: Path) -> None:
    files = without_history(build_table_with_column_versions(INTEGER, build_column("long")), 1)
    assert write_and_validate(files, tmp_path).totals == {"WID013": 1}


def test_record_may_go_where_nothing_is_known_of_when_types_changed(tmp_path: Path) -> None:
    files = without_history(build_table_with_column_versions(LONG, build_column("long")), 1)
    assert write_and_validate(files, tmp_path).totals == {}


def forgotten() -> TableFiles:
    """Files of integers; the column became long, and the record of it is gone."""
    files = build_widened_files_table(rewritten=False)
    fields: list[Any] = [*data_files.FIELDS, build_column("long")]
    files.commits[4] = [commit_info_action(4), metadata_action(fields, configuration=ENABLED)]
    return files


def test_record_may_go_with_the_files_from_before(tmp_path: Path) -> None:
    files = forgotten()
    report = write_and_validate(files, tmp_path, level="footers")
    assert [(each.rule, each.path, each.column) for each in report.findings] == [
        ("WID014", "b.parquet", "c"),
        ("WID014", "c.parquet", "c"),
    ]
    files.commits[4] += [remove_action(row) for row in (files.commits[1][2], files.commits[2][1]) if "add" in row]
    (tmp_path / "again").mkdir()
    assert write_and_validate(files, tmp_path / "again", level="footers").totals == {}


def test_record_that_comes_back_is_not_forgotten(tmp_path: Path) -> None:
    files = forgotten()
    fields: list[Any] = [*data_files.FIELDS, build_column("long", INTEGER_TO_LONG)]
    files.commits[5] = [commit_info_action(5), metadata_action(fields, configuration=ENABLED)]
    assert write_and_validate(files, tmp_path, level="footers").totals == {}


def test_record_that_a_restored_version_has_not_is_not_forgotten(tmp_path: Path) -> None:
    files = build_widened_files_table(rewritten=False)
    fields: list[Any] = [*data_files.FIELDS, build_column("integer")]
    files.commits[4] = [commit_info_action(4), metadata_action(fields, configuration=ENABLED)]
    assert write_and_validate(files, tmp_path, level="footers").totals == {}


def test_files_without_rows_have_no_older_type(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    for version, which in ((1, 0), (1, 1), (2, 0)):
        get_action(files, version, "add", which)["stats"] = '{"numRecords":0}'
    assert write_and_validate(files, tmp_path).totals == {}


def test_file_described_anew_is_as_old_as_its_path(tmp_path: Path) -> None:
    """Statistics are computed again while the type is the wider one, and nobody says that a version is restored."""
    files = recompute_statistics(build_table_with_column_versions(INTEGER, LONG), 4)
    files.commits[5] = [commit_info_action(5), schema_of(INTEGER)]
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize("operation", ["CLONE", "RESTORE"])
def test_commit_that_takes_over_another_state_changes_no_type(tmp_path: Path, operation: str) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"))
    files.commits[3][0] = commit_info_action(3, operation=operation)
    assert write_and_validate(files, tmp_path).totals == {}


def test_change_of_the_commit_that_enables_it(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, LONG, settings={})
    files.commits[3][1] = schema_of(LONG)
    assert write_and_validate(files, tmp_path).totals == {}


def test_table_without_the_feature_is_another_chapters(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string"), settings={})
    files.commits[0][1] = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"])
    assert write_and_validate(files, tmp_path).totals == {}


@pytest.mark.parametrize("feature", ["typeWidening-preview", "typeWidening-dev"])
def test_previews_count(tmp_path: Path, feature: str) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("long"))
    files.commits[0][1] = protocol_action(3, 7, [feature], [feature])
    assert write_and_validate(files, tmp_path).totals == {"WID013": 1}


def test_replay_that_is_not_known_tells_nothing(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("long"))
    files.commits[2][1] = {"add": {"path": 1}}
    report = write_and_validate(files, tmp_path)
    assert "WID013" not in report.totals
    assert {"WID013", "WID007"} <= {each.rule for each in report.checked.not_checked}


def test_schema_that_cannot_be_read_makes_what_was_before_unknown(tmp_path: Path) -> None:
    files = build_table_with_column_versions(INTEGER, INTEGER, build_column("long"))
    get_action(files, 3, "metaData")["schemaString"] = "{}"
    assert "WID013" not in write_and_validate(files, tmp_path).totals


@pytest.mark.parametrize("revision", ["r1", "r2", "r3"])
def test_texts_before_are_silent(tmp_path: Path, revision: str) -> None:
    files = build_table_with_column_versions(INTEGER, build_column("string", [build_type_change("long", "double")]))
    files.commits[0][1] = protocol_action(1, 2)
    assert write_and_validate(files, tmp_path, revision=revision).totals == {}


# close to a fault, and sound


def feature_dropped_and_its_property_false() -> TableFiles:
    files = build_table_with_column_versions(build_column("long"))
    disabled = metadata_action(
        [("id", "long"), build_column("long")], configuration={"delta.enableTypeWidening": "false"}
    )
    files.commits[3] = [commit_info_action(3), disabled]
    files.commits[4] = [commit_info_action(4), protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"])]
    return files


def nothing_recorded_without_the_feature() -> TableFiles:
    """A list of no changes, and a null."""
    fields = [build_column("long", []), {**build_column("long", name="d"), "metadata": {"delta.typeChanges": None}}]
    return log_only.build_table(fields=fields)


def version_with_a_wider_type_restored_while_disabled() -> TableFiles:
    """A column is widened, which is undone and done again by restored versions; the property is gone by then."""
    files = build_table_with_column_versions(build_column("integer"), build_column("long", INTEGER_TO_LONG))
    for version, kind in ((4, build_column("integer")), (6, build_column("long", INTEGER_TO_LONG))):
        files.commits[version] = [
            commit_info_action(version, operation="RESTORE"),
            metadata_action([("id", "long"), kind]),
        ]
    return recompute_statistics(files, 5)


def cloned_again_with_a_wider_type() -> TableFiles:
    """What the source of a clone did, and what it had enabled, is not the clone's."""
    files = build_table_with_column_versions(build_column("integer"), settings={})
    files.commits[1][0] = commit_info_action(1, operation="CLONE")
    wider = metadata_action([("id", "long"), build_column("long", INTEGER_TO_LONG)])
    files.commits[3] = [commit_info_action(3, operation="CLONE"), wider]
    return files


@pytest.mark.parametrize(
    "files",
    [
        feature_dropped_and_its_property_false,
        nothing_recorded_without_the_feature,
        version_with_a_wider_type_restored_while_disabled,
        cloned_again_with_a_wider_type,
    ],
)
def test_sound_table_close_to_a_fault_is_met_with_silence(files: Callable[[], TableFiles], tmp_path: Path) -> None:
    report = write_and_validate(files(), tmp_path)
    assert (report.verdict, report.totals) == ("conforms", {})
