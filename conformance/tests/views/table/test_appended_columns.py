"""Versions that only append columns add to the state what an evaluation of the complete schema adds."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import Any
from unittest.mock import patch

import pytest
from helpers.hypothesis_settings import example_settings
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.actions import DomainMetadata, Format, MetaData, Protocol, WireStruct
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import find_repeated_names
from deltaspec.views.table.schema_columns import RepeatedNames, SchemaReader, find_appended_columns
from deltaspec.views.table.state import TableState

MODULES = [
    import_module(f"deltaspec.views.table.{name}")
    for name in (
        "clustering_history",
        "column_constraints",
        "field_rows",
        "file_requirements",
        "mapping_history",
        "schema_columns",
        "type_widening",
    )
]
ALL_FEATURES = [
    "allowColumnDefaults",
    "clustering",
    "columnMapping",
    "domainMetadata",
    "identityColumns",
    "invariants",
    "typeWidening",
]
PROTOCOLS = (Protocol(1, 2), Protocol(3, 7, ["columnMapping", "typeWidening"], ALL_FEATURES), Protocol(1, 7, None, []))
CLUSTERED = DomainMetadata("delta.clustering", '{"clusteringColumns":[["a"]]}', False)
METADATA = (
    {},
    {},
    {"comment": "x"},
    {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "a"},
    {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "p"},
    {"delta.invariants": '{"expression":{"expression":"b"}}'},
    {"CURRENT_DEFAULT": "1"},
    {"delta.typeChanges": [{"fromType": "short", "toType": "long"}]},
)

names = st.sampled_from("aAbcdpq")


def fields(kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    metadata = st.sampled_from(METADATA)
    return st.fixed_dictionaries({"name": names, "type": kinds, "nullable": st.booleans(), "metadata": metadata})


plain_kinds = st.sampled_from(("long", "string", "short", "void", "timestamp_ntz", "variant"))
structs = st.builds(lambda members: {"type": "struct", "fields": members}, st.lists(fields(plain_kinds), max_size=2))
columns = fields(st.one_of(plain_kinds, plain_kinds, structs))
settings = st.fixed_dictionaries(
    {},
    optional={
        "delta.columnMapping.mode": st.sampled_from(("name", "id", "none")),
        "delta.columnMapping.maxColumnId": st.just("9"),
        "delta.constraints.c": st.just("a > 0"),
        "delta.enableTypeWidening": st.just("true"),
    },
)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[WireStruct, ...] | set[str | None]]:
    """Draw commits by version, most of which append columns, or the kinds of actions that are lost in a version."""
    schema, configuration, partitioned = draw(st.lists(columns, max_size=3)), draw(settings), draw(st.booleans())
    steps: list[tuple[WireStruct, ...] | set[str | None]] = []
    for number in range(draw(st.integers(2, 6))):
        change = draw(st.sampled_from(("append",) * 6 + ("drop", "replace", "configure", "protocol", "lose")))
        if change == "lose" and number:
            steps.append(draw(st.sampled_from(({"protocol"}, {"metaData"}, {"domainMetadata"}, {None}))))
            continue
        if change == "append":
            schema = [*schema, *draw(st.lists(columns, min_size=1, max_size=2))]
        elif change == "drop":
            schema = schema[1:]
        elif change == "replace":
            schema = [draw(columns), *schema[1:]]
        elif change == "configure":
            configuration = draw(settings)
        text = json.dumps({"type": "struct", "fields": schema}, separators=(",", ":"))
        actions: list[WireStruct] = [
            MetaData("id", Format("parquet", {}), text, ["a"] if partitioned else [], configuration)
        ]
        if not number or change == "protocol" or not draw(st.integers(0, 5)):
            actions.insert(0, draw(st.sampled_from(PROTOCOLS)))
        if draw(st.integers(0, 3)) == 0:
            actions.append(CLUSTERED)
        steps.append(tuple(actions))
    return steps


def trace(history: list[tuple[WireStruct, ...] | set[str | None]]) -> list[Any]:
    """Return everything that other modules read of a state, after each version and at the end."""
    state, found = TableState(), []
    for version, step in enumerate(history):
        if isinstance(step, set):
            state.lose(step, ("lost", None))
        else:
            state.apply(version, f"{version}.json", list(enumerate(step, 1)))
        found.append(
            (
                state.file_context("/t"),
                state.table_schema,
                dict(state.columns.changes),
                state.columns.known_columns,
                state.mapped.names,
                state.clustered.fields_since([("a",), ("b",), ("p",)]),
                list(state.row_requirements.leaves.current),
            )
        )
    rows = (state.rows, state.variant_uses.rows, state.row_id_columns.rows, state.widening.records.rows)
    return [*found, *rows, state.widening.changes, state.file_requirements.changes, state.file_requirements.columns]


@example_settings(80)
@given(history=histories())
def test_state_equals_that_of_complete_schemas(history: list[tuple[WireStruct, ...] | set[str | None]]) -> None:
    assert trace(history) == trace_complete(history)


def trace_complete(history: list[tuple[WireStruct, ...] | set[str | None]]) -> list[Any]:
    """Return what `trace` returns if every schema is evaluated completely."""
    with ExitStack() as stack:
        for module in MODULES:
            stack.enter_context(patch.object(module, "find_appended_columns", return_value=None))
        return trace(history)


def build_field(name: str, metadata: dict[str, Any], kind: Any = "long") -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


@pytest.mark.parametrize(
    ("first", "appended", "configuration"),
    [
        (build_field("a", METADATA[3]), build_field("b", METADATA[3]), {}),
        (build_field("a", METADATA[3]), build_field("b", {}), {"delta.columnMapping.mode": "name"}),
        (build_field("a", {}, {"type": "struct", "fields": [build_field("b", {})]}), build_field("a.b", {}), {}),
    ],
    ids=["the same column id, not mapped", "no column id, mapped", "the same path with dots"],
)
def test_column_that_concerns_an_earlier_one(
    first: dict[str, Any], appended: dict[str, Any], configuration: dict[str, str]
) -> None:
    steps: list[tuple[WireStruct, ...] | set[str | None]] = []
    for each in ([first], [first, appended]):
        text = json.dumps({"type": "struct", "fields": each}, separators=(",", ":"))
        steps.append((PROTOCOLS[1], MetaData("id", Format("parquet", {}), text, [], configuration)))
    assert trace(steps) == trace_complete(steps)


def test_invariant_is_evaluated_again_with_a_new_column() -> None:
    schema = [{"name": "a", "type": "long", "nullable": True, "metadata": METADATA[5]}]
    steps: list[tuple[WireStruct, ...] | set[str | None]] = []
    for each in (schema, [*schema, {"name": "b", "type": "long", "nullable": True, "metadata": {}}]):
        text = json.dumps({"type": "struct", "fields": each}, separators=(",", ":"))
        steps.append((PROTOCOLS[0], MetaData("id", Format("parquet", {}), text, [], {})))
    faults = [(row["column"], row.get("invariant_fault")) for row in trace(steps)[2]["schema_fields"]]
    wrong = "expression.expression is not a condition: it is long, not boolean"
    assert [column for column, _ in faults] == ["a", "a", "b"]
    assert [fault for _, fault in faults[:2]] == [None, wrong]


def parse_each() -> Callable[..., Struct]:
    reader = SchemaReader()
    return lambda *drawn: reader.parse(json.dumps({"type": "struct", "fields": drawn}, separators=(",", ":")))


@example_settings(50)
@given(drawn=st.lists(columns, max_size=6), more=st.lists(columns, max_size=3))
def test_appended_columns_are_those_behind_the_same_columns(
    drawn: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    parse = parse_each()
    before, after = parse(*drawn), parse(*drawn, *more)
    appended = find_appended_columns(before, after)
    assert appended is None or (
        appended.fields == after.fields[len(drawn) :] and before.fields == after.fields[: len(drawn)]
    )
    assert find_appended_columns(None, after) is None
    if more:
        assert find_appended_columns(after, before) is None


@example_settings(50)
@given(steps=st.lists(st.lists(columns, max_size=2), max_size=4))
def test_repeated_names_are_those_of_the_complete_schema(steps: list[list[dict[str, Any]]]) -> None:
    parse, names = parse_each(), RepeatedNames()
    drawn: list[dict[str, Any]] = []
    for step in steps:
        drawn += step
        schema = parse(*drawn)
        assert names.find(schema) == find_repeated_names(schema), f"{step=}"
