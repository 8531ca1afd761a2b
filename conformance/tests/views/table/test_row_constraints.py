"""Row constraints by protocol revision, and since when they apply."""

from typing import Any

import msgspec
import pytest

from deltaspec.protocol.actions import MetaData
from deltaspec.protocol.property_names import GENERATION_EXPRESSION
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.sql.tree import Binary, Call, Column, Literal
from deltaspec.views.table.row_constraints import RowConstraint, RowConstraintHistory, collect_row_constraints
from deltaspec_generators.table_files import metadata_action, schema_string
from planted_tables.bases.expressions import build_invariant_metadata


def _column(name: str, kind: Any = "long", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


FIELDS = [
    _column("id", **build_invariant_metadata("id > 0")),
    _column("s", {"type": "struct", "fields": [_column("x", **build_invariant_metadata("s.x > 1"))]}),
    _column("year", "integer", **{GENERATION_EXPRESSION: "year(day)"}),
]
SETTINGS = {"delta.constraints.b": "id > 1", "delta.constraints.a": "id < 9", "delta.constraints.c": " ", "other": "x"}
CHECKS = [RowConstraint("CHECK", "a", "id < 9"), RowConstraint("CHECK", "b", "id > 1")]
INVARIANTS = [
    RowConstraint("invariant", "id", "id > 0", ("id",)),
    RowConstraint("invariant", "s.x", "s.x > 1", ("s", "x")),
]
GENERATED = [RowConstraint("generated", "year", "year(day)", ("year",))]


@pytest.mark.parametrize(
    ("supported", "revision", "found"),
    [
        ({"checkConstraints", "invariants", "generatedColumns"}, "current", [*CHECKS, *INVARIANTS, *GENERATED]),
        ({"checkConstraints"}, "r1", CHECKS),
        ({"generatedColumns-preview"}, "r3", GENERATED),
        ({"invariants"}, "r2", INVARIANTS),
        ({"columnInvariants"}, "r2", INVARIANTS),  # E21
        ({"columnInvariants"}, "r3", []),
        ({"appendOnly"}, "current", []),
    ],
)
def test_features_enable_row_constraints(supported: set[str], revision: str, found: list[RowConstraint]) -> None:
    schema = parse_schema(schema_string(FIELDS))
    assert collect_row_constraints(schema, SETTINGS, supported, Revision(revision)) == found


@pytest.mark.parametrize("value", ["id > 0", '{"expression": "id > 0"}', "{}", 5, None])
def test_invalid_invariant_is_no_row_constraint(value: Any) -> None:
    schema = parse_schema(schema_string([_column("id", **{"delta.invariants": value})]))
    assert collect_row_constraints(schema, {}, {"invariants"}) == []


def test_condition_of_a_generated_column_compares_it() -> None:
    (condition,) = GENERATED
    assert condition.condition == Binary("<=>", Column(("year",)), Call("year", (Column(("day",)),)))
    assert CHECKS[0].condition == Binary("<", Column(("id",)), Literal(9, "integer"))
    assert RowConstraint("CHECK", "c", "rand() > 0").condition == (
        "the function rand is not in the list of deterministic functions"
    )
    assert [each.title for each in (CHECKS[0], INVARIANTS[1], condition)] == [
        "CHECK constraint a",
        "the invariant of s.x",
        "the expression of year",
    ]


class _History:
    """Applies metadata to a `RowConstraintHistory`, version by version."""

    def __init__(self) -> None:
        self.constraints = RowConstraintHistory()
        self.version = -1

    def step(self, settings: dict[str, str] | None, supported: set[str] | None, file: str = "") -> list[dict[str, Any]]:
        self.version += 1
        row = metadata_action([("id", "long")], (), settings or {})
        action = msgspec.convert(row["metaData"], MetaData)
        schema = parse_schema(action.schema_string)
        name = file or f"_delta_log/{self.version:020}.json"
        actions = [] if settings is None else [(2, action)]
        return self.constraints.apply((self.version, name), actions, action, schema, supported)


ID, GONE = {"delta.constraints.a": "id > 0"}, {"delta.constraints.a": "Gone > id"}


def test_constraint_has_a_row_for_every_metadata() -> None:
    history = _History()
    place = {
        "version": 0,
        "file": "_delta_log/00000000000000000000.json",
        "line": 2,
        "kind": "CHECK",
        "constraint": "a",
    }
    assert history.step(ID, {"checkConstraints"}) == [{**place, "expression": "id > 0", "missing_columns": []}]
    assert history.step(None, {"checkConstraints"}) == []
    assert [each["missing_columns"] for each in history.step(GONE, {"checkConstraints"})] == [["Gone"]]
    (malformed,) = history.step({"delta.constraints.a": "("}, {"checkConstraints"})
    assert malformed["missing_columns"] == [], "it is no condition, which has a rule of its own"
    assert history.step(GONE, {"appendOnly"}) == []


def test_constraints_since_the_first_version_always_apply() -> None:
    history, features = _History(), {"checkConstraints"}
    both = {**ID, "delta.constraints.b": "id > 1"}
    history.step(both, features)
    assert history.constraints.always == {RowConstraint("CHECK", "a", "id > 0"), RowConstraint("CHECK", "b", "id > 1")}
    history.step(ID, features)
    history.step(both, features)
    assert history.constraints.always == {RowConstraint("CHECK", "a", "id > 0")}
    history.step(ID, {"appendOnly"})
    history.step(ID, features)
    assert history.constraints.always == set()


def test_constraints_of_a_base_checkpoint_may_be_newer_than_rows() -> None:
    history = _History()
    history.step(ID, {"checkConstraints"}, "_delta_log/00000000000000000000.checkpoint.parquet")
    assert history.constraints.always == set()


@pytest.mark.parametrize("lost", [True, False])
def test_unknown_version_discards_the_constraints_that_always_apply(lost: bool) -> None:
    history = _History()
    history.step(ID, {"checkConstraints"})
    if lost:
        history.constraints.forget()
    history.step(ID, {"checkConstraints"} if lost else None)
    history.step(ID, {"checkConstraints"})
    assert history.constraints.always == set()
