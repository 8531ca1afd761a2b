"""What `commit.judge` says of commits that add constraints, and columns with defaults."""

from typing import Any

import pytest
from stories.lives import Life, add, commit_info, field, metadata, protocol, remove, schema

from deltaspec.model.constraint_changes import is_another_table, makes_or_restores
from deltaspec.model.revisions import Revision

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
def test_a_constraint_of_no_name_or_text_is_refused(
    configuration: dict[str, str], requirement: str, revision: Revision
) -> None:
    life = Life(protocol(1, 3), metadata(), revision=revision)
    assert life.refused(metadata(configuration)) == requirement
    life.commit(metadata({"delta.constraints.positive": "id > 0"}))


def test_a_column_and_its_default_come_in_two_commits() -> None:
    life = Life(DEFAULTS, metadata())
    assert life.refused(WITH_DEFAULT) == "default-columns.not-with-column"
    assert life.refused(commit_info(operation="ADD COLUMNS"), WITH_DEFAULT) == "default-columns.not-with-column"
    life.commit(metadata(schema=schema(field("id"), field("c"))))
    life.commit(WITH_DEFAULT)


@pytest.mark.parametrize(
    "more",
    [
        (commit_info(operation="RESTORE"),),
        (commit_info(operation="CREATE OR REPLACE TABLE"),),
        (remove("a"),),
    ],
)
def test_a_table_made_anew_or_restored_has_its_defaults_at_once(more: tuple[Any, ...]) -> None:
    Life(DEFAULTS, metadata(), add("a")).commit(*more, WITH_DEFAULT)


def test_a_table_is_created_with_defaults() -> None:
    Life(DEFAULTS, WITH_DEFAULT)


def test_without_the_feature_a_default_is_no_default() -> None:
    Life(protocol(1, 2), metadata()).commit(WITH_DEFAULT)


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_older_texts_know_no_defaults(revision: Revision) -> None:
    Life(protocol(1, 7, None, []), metadata(), revision=revision).commit(WITH_DEFAULT)


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
def test_engines_say_when_they_make_a_table_or_restore_it(operation: Any, answer: bool) -> None:
    assert makes_or_restores(operation) is answer
    assert is_another_table(metadata(), metadata({"owner": "me"}), operation) is answer


def test_another_id_is_another_table() -> None:
    other = metadata().__class__(**{**_fields(metadata()), "id": "22222222-2222-4333-8444-555555555555"})
    assert is_another_table(metadata(), other, "WRITE")


def _fields(action: Any) -> dict[str, Any]:
    return {name: getattr(action, name) for name in action.__struct_fields__}
