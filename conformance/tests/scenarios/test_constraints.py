"""A table of orders over several versions: its invariants, constraints, expressions and defaults.

The model does not evaluate SQL: it says which expressions are in force at a version, which commits may bring them, and
what they leave of a row that a user gives.
"""

import json
from typing import Any

import pytest
from helpers.scenario import Scenario, add, commit_info, field, metadata, protocol, remove, schema

from deltaspec.model.features.default_values import OMITTED, apply_defaults
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.features.constraints import (
    find_unsupported_keys,
    read_check_constraints,
    read_defaults,
    read_invariant,
)
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_properties import find_active_features, is_append_only
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.schema_string import parse_schema

ID = field("id")
AMOUNT = field("amount", "decimal(10,2)")
POSITIVE = json.dumps({"expression": {"expression": "amount > 0"}})
CHECKED_AMOUNT = field("amount", "decimal(10,2)", delta__invariants=POSITIVE)
DAY = field("day", "date", delta__generationExpression="CAST(ordered_at AS DATE)")
STATE = field("state", "string")
NEW = field("state", "string", CURRENT_DEFAULT="'new'", EXISTS_DEFAULT="'new'")
TIME = field("ordered_at", "timestamp")
KNOWN_STATE = {"delta.constraints.known_state": "state IN ('new', 'paid', 'sent')"}


def in_force(snapshot: Snapshot) -> dict[str, Any]:
    """Return the active constraints of a version by chapter, without those whose feature is not supported."""
    assert snapshot.metadata is not None
    assert snapshot.protocol is not None
    supported = get_supported_features(snapshot.protocol)
    columns = parse_schema(snapshot.metadata.schema_string)
    found: dict[str, Any] = {"append-only": is_append_only(snapshot.protocol, snapshot.metadata)}
    if "checkConstraints" in supported:
        found |= read_check_constraints(snapshot.metadata.configuration)
    for each in columns.fields:
        inert = find_unsupported_keys(each.metadata, supported)
        expressions = {
            "invariant": ("delta.invariants", read_invariant(each.metadata)),
            "generated": ("delta.generationExpression", each.metadata.get("delta.generationExpression")),
            "default": ("CURRENT_DEFAULT", each.metadata.get("CURRENT_DEFAULT")),
        }
        found |= {f"{name} {each.name}": sql for name, (key, sql) in expressions.items() if sql and key not in inert}
    return found


@pytest.fixture(scope="module")
def orders() -> Scenario:
    # 0: an old table of two columns, one of them checked
    scenario = Scenario(protocol(1, 2), metadata(schema=schema(ID, CHECKED_AMOUNT)))
    # 1: it gets rows
    scenario.commit(add("a", 3))
    # 2: a constraint, together with the writer version that supports it
    with_state = schema(ID, CHECKED_AMOUNT, STATE)
    scenario.commit(commit_info(operation="ADD COLUMNS"), metadata(schema=with_state))
    # 3
    scenario.commit(commit_info(operation="ADD CONSTRAINT"), protocol(1, 3), metadata(KNOWN_STATE, with_state))
    # 4: features in place of versions, and a column whose values are generated
    features = ["appendOnly", "invariants", "checkConstraints", "generatedColumns", "allowColumnDefaults"]
    generated = schema(ID, CHECKED_AMOUNT, STATE, TIME, DAY)
    scenario.commit(protocol(1, 7, None, features), metadata(KNOWN_STATE, generated))
    # 5: a default for a column that is there
    with_default = schema(ID, CHECKED_AMOUNT, NEW, TIME, DAY)
    scenario.commit(commit_info(operation="CHANGE COLUMN"), metadata(KNOWN_STATE, with_default))
    # 6: from now on rows stay
    append_only = {**KNOWN_STATE, "delta.appendOnly": "true"}
    scenario.commit(metadata(append_only, with_default), add("b", 2))
    # 7: files may still be rewritten
    scenario.commit(
        commit_info(operation="OPTIMIZE"),
        remove("a", data_change=False),
        remove("b", data_change=False),
        add("c", 5, data_change=False),
    )
    # 8: the restriction is lifted, and the constraint dropped
    scenario.commit(metadata({}, with_default), remove("c"))
    # 9: restored to version 5 with all its constraints
    scenario.commit(commit_info(operation="RESTORE"), metadata(KNOWN_STATE, with_default))
    return scenario


INVARIANT = {"invariant amount": "amount > 0"}
CONSTRAINT = {"known_state": "state IN ('new', 'paid', 'sent')"}
GENERATED = {"generated day": "CAST(ordered_at AS DATE)"}
DEFAULT = {"default state": "'new'"}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, {"append-only": False, **INVARIANT}),
        (1, {"append-only": False, **INVARIANT}),
        (2, {"append-only": False, **INVARIANT}),
        (3, {"append-only": False, **INVARIANT, **CONSTRAINT}),
        (4, {"append-only": False, **INVARIANT, **CONSTRAINT, **GENERATED}),
        (5, {"append-only": False, **INVARIANT, **CONSTRAINT, **GENERATED, **DEFAULT}),
        (6, {"append-only": True, **INVARIANT, **CONSTRAINT, **GENERATED, **DEFAULT}),
        (7, {"append-only": True, **INVARIANT, **CONSTRAINT, **GENERATED, **DEFAULT}),
        (8, {"append-only": False, **INVARIANT, **GENERATED, **DEFAULT}),
        (9, {"append-only": False, **INVARIANT, **CONSTRAINT, **GENERATED, **DEFAULT}),
    ],
)
def test_constraints_of_each_version(orders: Scenario, version: int, expected: dict[str, Any]) -> None:
    assert in_force(orders[version]) == expected


def test_constraint_without_its_feature_is_refused() -> None:
    """Without the feature, the constraint would have no effect."""
    scenario = Scenario(protocol(1, 2), metadata(schema=schema(ID, STATE)))
    constrained = metadata(KNOWN_STATE, schema(ID, STATE))
    assert scenario.expect_refusal(constrained) == "configuration.properties-need-features"
    assert (
        scenario.expect_refusal(constrained, protocol(1, 7, None, ["invariants"]))
        == "configuration.properties-need-features"
    )
    scenario.commit(constrained, protocol(1, 7, None, ["checkConstraints"]))


def test_new_column_with_a_default_is_refused(orders: Scenario) -> None:
    scenario = Scenario(protocol(1, 7, None, ["allowColumnDefaults"]), metadata(schema=schema(ID)))
    with_default = metadata(schema=schema(ID, NEW))
    assert (
        scenario.expect_refusal(commit_info(operation="ADD COLUMNS"), with_default) == "default-columns.not-with-column"
    )
    scenario.commit(commit_info(operation="ADD COLUMNS"), metadata(schema=schema(ID, STATE)))
    scenario.commit(commit_info(operation="CHANGE COLUMN"), with_default)


def test_rows_of_an_append_only_table_stay(orders: Scenario) -> None:
    scenario = Scenario(protocol(1, 2), metadata({"delta.appendOnly": "true"}), add("a"))
    assert scenario.expect_refusal(remove("a")) == "append-only.no-removal"
    assert scenario.expect_refusal(metadata({"delta.appendOnly": "true"}), remove("a")) == "append-only.no-removal"
    scenario.commit(metadata({"delta.appendOnly": "false"}), remove("a"))


def test_omitted_values_get_the_default(orders: Scenario) -> None:
    snapshot = orders[9]
    assert snapshot.metadata is not None
    columns = parse_schema(snapshot.metadata.schema_string)
    assert read_defaults(columns) == {"state": "'new'"}
    row = {"id": 1, "amount": "9.99", "ordered_at": None, "day": None}
    assert apply_defaults(row, columns, {"state": "new"})["state"] == "new"
    assert apply_defaults({**row, "state": OMITTED}, columns, {"state": "new"})["state"] == "new"
    assert apply_defaults({**row, "state": None}, columns, {"state": "new"})["state"] is None


def test_default_without_its_feature_is_ignored(orders: Scenario) -> None:
    """Whether a protocol may drop a feature in use is undecided (E41, E43), so it is not refused."""
    without = ["appendOnly", "invariants", "checkConstraints", "generatedColumns"]
    before = orders.now
    assert before.protocol is not None
    assert before.metadata is not None
    columns = parse_schema(before.metadata.schema_string)
    assert "allowColumnDefaults" in find_active_features(before.protocol, before.metadata, columns)
    assert find_unsupported_keys(columns.fields[2].metadata, without) == ["CURRENT_DEFAULT"]


def test_upgrade_lists_the_feature_of_a_constraint() -> None:
    """The constraint is in use, so its feature must be listed; generated columns were never used."""
    scenario = Scenario(protocol(1, 4), metadata(KNOWN_STATE, schema(ID, STATE)))
    without = protocol(1, 7, None, ["appendOnly", "invariants"])
    assert scenario.expect_refusal(without) == "protocol.breaking-changes"
    scenario.commit(protocol(1, 7, None, ["checkConstraints"]))


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_defaults_do_not_exist_before_r3(revision: Revision) -> None:
    """The key has no meaning there, so it may be added with its column."""
    scenario = Scenario(protocol(1, 7, None, []), metadata(schema=schema(ID)), revision=revision)
    scenario.commit(metadata(schema=schema(ID, NEW)))
    assert find_unsupported_keys({"CURRENT_DEFAULT": "'new'"}, set(), revision) == []
    assert find_unsupported_keys({"CURRENT_DEFAULT": "'new'"}, set(), Revision.R3) == ["CURRENT_DEFAULT"]


@pytest.mark.parametrize("revision", list(Revision))
def test_invariants_require_no_feature_before_version_7(revision: Revision) -> None:
    expressions = {"delta.invariants": POSITIVE}
    for version in range(2, 7):
        assert find_unsupported_keys(expressions, get_supported_features(protocol(1, version)), revision) == []
    assert find_unsupported_keys(expressions, get_supported_features(protocol(1, 7, None, [])), revision) == [
        "delta.invariants"
    ]
