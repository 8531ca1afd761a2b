"""Decisions of `check_commit` about added constraints and columns with defaults."""

from typing import Any

import pytest
from helpers.scenario import Scenario, add, commit_info, field, metadata, protocol, remove, schema

from deltaspec.model.commit.constraint_changes import is_replaced_table
from deltaspec.protocol.log.operations import creates_or_restores_table
from deltaspec.protocol.revisions import Revision

DEFAULTS = protocol(1, 7, None, ["allowColumnDefaults"])
WITH_DEFAULT = metadata(schema=schema(field("id"), field("c", CURRENT_DEFAULT="7")))


@pytest.mark.parametrize(
    ("configuration", "requirement"),
    [
        ({"delta.constraints.": "id > 0"}, "check-constraints.key"),
        ({"delta.constraints.positive": " "}, "check-constraints.value"),
    ],
)
@pytest.mark.parametrize("revision", list(Revision))
def test_constraint_without_name_or_expression_is_refused(
    configuration: dict[str, str], requirement: str, revision: Revision
) -> None:
    scenario = Scenario(protocol(1, 3), metadata(), revision=revision)
    assert scenario.expect_refusal(metadata(configuration)) == requirement
    scenario.commit(metadata({"delta.constraints.positive": "id > 0"}))


def test_new_column_with_a_default_is_refused() -> None:
    scenario = Scenario(DEFAULTS, metadata())
    assert scenario.expect_refusal(WITH_DEFAULT) == "default-columns.not-with-column"
    assert (
        scenario.expect_refusal(commit_info(operation="ADD COLUMNS"), WITH_DEFAULT) == "default-columns.not-with-column"
    )
    scenario.commit(metadata(schema=schema(field("id"), field("c"))))
    scenario.commit(WITH_DEFAULT)


@pytest.mark.parametrize(
    "more",
    [
        (commit_info(operation="RESTORE"),),
        (commit_info(operation="CREATE OR REPLACE TABLE"),),
        (remove("a"),),
    ],
)
def test_replaced_or_restored_table_may_have_defaults(more: tuple[Any, ...]) -> None:
    Scenario(DEFAULTS, metadata(), add("a")).commit(*more, WITH_DEFAULT)


def test_column_of_an_earlier_version_may_have_a_default() -> None:
    scenario = Scenario(DEFAULTS, metadata(schema=schema(field("id"), field("c"))))
    scenario.commit(metadata())
    scenario.commit(WITH_DEFAULT)


@pytest.mark.parametrize(("name", "number", "is_new"), [("b", 2, False), ("a", 3, True), ("b", 3, True)])
def test_mapped_column_is_identified_by_id(name: str, number: int, is_new: bool) -> None:
    def table(column: str, column_id: int, **more: Any) -> Any:
        ids = {"delta__columnMapping__id": column_id, "delta__columnMapping__physicalName": f"col-{column_id}"}
        settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
        return metadata(settings, schema(field(column, **ids, **more)))

    scenario = Scenario(protocol(2, 7, None, ["allowColumnDefaults", "columnMapping"]), table("a", 2))
    if is_new:
        assert scenario.expect_refusal(table(name, number, CURRENT_DEFAULT="7")) == "default-columns.not-with-column"
    else:
        scenario.commit(table(name, number, CURRENT_DEFAULT="7"))


def test_new_table_may_have_defaults() -> None:
    Scenario(DEFAULTS, WITH_DEFAULT)


def test_default_without_the_feature_is_ignored() -> None:
    Scenario(protocol(1, 2), metadata()).commit(WITH_DEFAULT)


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_older_revisions_have_no_defaults(revision: Revision) -> None:
    Scenario(protocol(1, 7, None, []), metadata(), revision=revision).commit(WITH_DEFAULT)


@pytest.mark.parametrize(
    ("operation", "answer"),
    [
        ("RESTORE", True),
        ("CREATE OR REPLACE TABLE AS SELECT", True),
        ("CLONE", True),
        ("Convert", True),
        ("ADD COLUMNS", False),
        ("WRITE", False),
        (None, False),
        ({"name": "RESTORE"}, False),
    ],
)
def test_operations_that_create_or_restore_a_table(operation: Any, answer: bool) -> None:
    assert creates_or_restores_table(operation) is answer
    assert is_replaced_table(metadata(), metadata({"owner": "me"}), operation) is answer


def test_new_table_id_means_a_replaced_table() -> None:
    other = metadata().__class__(**{**_fields(metadata()), "id": "22222222-2222-4333-8444-555555555555"})
    assert is_replaced_table(metadata(), other, "WRITE")


def _fields(action: Any) -> dict[str, Any]:
    return {name: getattr(action, name) for name in action.__struct_fields__}
