"""Changes of columns with defaults and identity columns, and when they are unknown."""

from typing import Any

import pytest
from helpers.hypothesis_settings import example_settings
from helpers.recording_run import RecordingRun
from hypothesis import given
from hypothesis import strategies as st

from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.column_features import (
    DEFAULTS_PROTOCOL,
    build_column,
    build_identity_column,
    build_table_with_column_history,
    get_first_add,
)

PLAIN = [build_column(), build_column("name", "string")]
WITH_DEFAULT = [*PLAIN, build_column("c", CURRENT_DEFAULT="7")]


def changes(files: TableFiles, name: str) -> dict[int, Any]:
    """Return a column of `commits` by version, without versions where it is null."""
    rows = RecordingRun(files).recorded.rows("commits")
    return {row["version"]: row[name] for row in rows if row[name] is not None}


def table(*schemas: list[Any], protocol: Any = DEFAULTS_PROTOCOL, **more: Any) -> TableFiles:
    """Build a table with a new schema at each version; `more` goes into every commitInfo except the first."""
    files = TableFiles()
    for version, fields in enumerate(schemas):
        files.commits[version] = [commit_info_action(version, **more if version else {}), metadata_action(fields)]
    files.commits[0].append(protocol)
    return files


def new_defaults(files: TableFiles) -> dict[int, list[str]]:
    return changes(files, "new_columns_with_default")


def test_new_column_with_default_is_reported() -> None:
    assert new_defaults(table(PLAIN, WITH_DEFAULT)) == {1: ["c"]}
    assert new_defaults(table(PLAIN, [*PLAIN, build_column("c")], WITH_DEFAULT)) == {1: [], 2: []}
    assert new_defaults(table(WITH_DEFAULT)) == {}


def test_column_of_an_older_version_is_not_new() -> None:
    assert new_defaults(table(WITH_DEFAULT, PLAIN, WITH_DEFAULT)) == {1: [], 2: []}


@pytest.mark.parametrize("operation", ["RESTORE", "CREATE OR REPLACE TABLE", "CLONE"])
def test_commit_that_replaces_the_table_is_not_checked(operation: str) -> None:
    assert new_defaults(table(PLAIN, WITH_DEFAULT, operation=operation)) == {}


def test_changed_table_id_is_another_table() -> None:
    files = table(PLAIN, WITH_DEFAULT)
    get_action(files, 1, "metaData")["id"] = "22222222-2222-4333-8444-555555555555"
    assert new_defaults(files) == {}


def test_defaults_without_the_feature_are_not_checked() -> None:
    assert new_defaults(table(PLAIN, WITH_DEFAULT, protocol=protocol_action(1, 2))) == {}


@pytest.mark.parametrize(
    ("operation", "found"), [({}, {}), ({"operation": None}, {}), ({"operation": "X"}, {3: ["c"]})]
)
def test_commit_after_base_checkpoint_is_checked_only_with_operation(
    operation: dict[str, Any], found: dict[int, list[str]]
) -> None:
    """A commit without an operation may restore a column of a version that the log no longer has."""
    files = TableFiles()
    files.checkpoints.append(CheckpointFiles(2, "classic", rows=[DEFAULTS_PROTOCOL, metadata_action(PLAIN)]))
    info = {"commitInfo": {"timestamp": 1, **operation}}
    files.commits[3] = [info, metadata_action(WITH_DEFAULT)]
    assert new_defaults(files) == found


def test_version_after_an_undecoded_one_is_not_compared() -> None:
    files = table(PLAIN, PLAIN, WITH_DEFAULT)
    files.commits[1][1] = '{"metaData": {"id": 7}}'
    assert new_defaults(files) == {}


_names = st.sampled_from(["a", "b", "c"])
_schemas = st.dictionaries(_names, st.booleans(), min_size=1)
"""Column name to whether the column has a default."""


@example_settings(25)
@given(_schemas, st.lists(st.tuples(_schemas, st.sampled_from(["WRITE", "ADD COLUMNS", "RESTORE"])), max_size=5))
def test_new_columns_with_default_equal_their_definition(
    first: dict[str, bool], later: list[tuple[dict[str, bool], str]]
) -> None:
    files = TableFiles()
    had: set[str] = set()
    expected = {}
    for version, (names, operation) in enumerate([(first, "CREATE TABLE"), *later]):
        fields = [build_column(name, **({"CURRENT_DEFAULT": "7"} if names[name] else {})) for name in sorted(names)]
        files.commits[version] = [commit_info_action(version, operation=operation), metadata_action(fields)]
        if version and operation != "RESTORE":
            expected[version] = [name for name in sorted(names) if names[name] and name not in had]
        had |= set(names)
    files.commits[0].append(DEFAULTS_PROTOCOL)
    assert new_defaults(files) == expected


def test_changed_identity_properties_are_reported() -> None:
    files = build_table_with_column_history(
        build_identity_column(), build_identity_column(102, step=4), build_identity_column(102, step=4, explicit=True)
    )
    assert changes(files, "changed_identity_columns") == {
        1: ["id: delta.identity.step"],
        2: ["id: delta.identity.allowExplicitInsert"],
    }


def test_high_water_marks_moved_back_are_reported() -> None:
    files = build_table_with_column_history(
        build_identity_column(), build_identity_column(104), build_identity_column(102), build_identity_column(102)
    )
    assert changes(files, "identity_marks_moved_back") == {1: [], 2: ["id: 104, then 102"], 3: []}
    assert changes(
        build_table_with_column_history(build_identity_column(104), build_identity_column(None)),
        "identity_marks_moved_back",
    ) == {1: ["id: 104, then None"]}


@pytest.mark.parametrize("info", [[], [{"commitInfo": {"timestamp": 1}}], [{"commitInfo": {"operation": 7}}]])
def test_high_water_marks_of_commits_without_operation_are_not_checked(info: list[Any]) -> None:
    """All files are removed, and the files of an older version are added again with its high-water mark."""
    files = build_table_with_column_history(
        build_identity_column(), build_identity_column(103), build_identity_column(105)
    )
    first, second = get_first_add(files, 1), get_first_add(files, 2)
    files.commits[3] = [remove_action(first), remove_action(second)]
    files.commits[4] = [*info, metadata_action([build_identity_column(103), ("name", "string")]), first]
    assert changes(files, "identity_marks_moved_back") == {1: [], 2: []}
    files.commits[4] = [commit_info_action(4), *files.commits[4][len(info) :]]
    assert changes(files, "identity_marks_moved_back") == {1: [], 2: [], 4: ["id: 105, then 103"]}


def test_column_that_loses_identity_properties_has_no_changes() -> None:
    files = build_table_with_column_history(build_identity_column(104), build_column())
    assert changes(files, "changed_identity_columns") == {1: []}
    assert changes(files, "identity_marks_moved_back") == {1: []}


def test_renamed_identity_column_is_identified_by_its_id() -> None:
    def mapped(name: str, number: int, **more: Any) -> dict[str, Any]:
        told = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"p{number}"}
        field = build_identity_column(**more)
        return {**field, "name": name, "metadata": {**field["metadata"], **told}}

    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    files = TableFiles()
    schemas = [[mapped("id", 1, mark=104)], [mapped("key", 1, mark=102), mapped("id", 2, start=7)]]
    for version, fields in enumerate(schemas):
        files.commits[version] = [commit_info_action(version), metadata_action(fields, configuration=settings)]
    files.commits[0].append(protocol_action(2, 6))
    assert changes(files, "changed_identity_columns") == {1: []}
    assert changes(files, "identity_marks_moved_back") == {1: ["key: 104, then 102"]}


def test_identity_columns_without_the_feature_are_not_checked() -> None:
    files = build_table_with_column_history(build_identity_column(), build_identity_column(102, step=4), writer=5)
    assert changes(files, "changed_identity_columns") == {1: []}


# single fields and properties


def facts(metadata: dict[str, Any], protocol: Any, name: str, revision: Any = None) -> Any:
    files = log_only.build_table(protocol=protocol, fields=[build_column(**metadata)])
    run = RecordingRun(files) if revision is None else RecordingRun(files, revision=revision)
    return run.recorded.rows("schema_fields")[0][name]


def test_key_of_an_unsupported_feature_is_not_validated() -> None:
    told = {"delta__invariants": "no JSON"}
    assert facts(told, protocol_action(1, 1), "unsupported_keys") == ["delta.invariants"]
    assert facts(told, protocol_action(1, 1), "invariant_fault") is None
    assert facts(told, protocol_action(1, 2), "unsupported_keys") == []
    assert facts(told, protocol_action(1, 2), "invariant_fault") == "is not JSON: expecting value at character 0"


def test_invariant_that_is_not_a_condition_is_a_fault() -> None:
    told = {"delta__invariants": '{"expression": {"expression": "id"}}'}
    message = "expression.expression is not a condition: it is long, not boolean"
    assert facts(told, protocol_action(1, 2), "invariant_fault") == message


def test_support_is_unknown_if_a_feature_list_is_missing() -> None:
    assert facts({"CURRENT_DEFAULT": "7"}, protocol_action(1, 7), "unsupported_keys") is None
