"""Planted faults of constraints, invariants, generated columns and defaults in the log."""

from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import (
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    CONSTRAINT_PREFIX,
    INVARIANTS,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
)
from deltaspec_generators.table_files import TableFiles, commit_info_action, metadata_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.column_features import (
    DEFAULTS_PROTOCOL,
    INVARIANT_JSON,
    build_column,
    build_table_with_column_metadata,
)
from planted_tables.faults.registry import draw_one, planted_fault


def _build_protocol(*features: str) -> Any:
    return protocol_action(1, 7, None, features)


def _build_nested_fields(key: str, value: str) -> list[Any]:
    """Build fields with a metadata key on a field within a struct column."""
    return [build_column("s", {"type": "struct", "fields": [build_column("x", **{key: value})]}), ("name", "string")]


@planted_fault("column-invariants.feature")
def invariant_that_no_feature_backs(draw: st.DrawFn) -> TableFiles:
    protocol = _build_protocol(*draw_one(draw, (), ("appendOnly",), ("checkConstraints", "changeDataFeed")))
    fields = draw_one(
        draw, [build_column(delta__invariants=INVARIANT_JSON)], _build_nested_fields(INVARIANTS, INVARIANT_JSON)
    )
    return log_only.build_table(protocol=protocol, fields=fields)


@planted_fault("column-invariants.older-feature")
def invariant_that_no_older_feature_backs(draw: st.DrawFn) -> TableFiles:
    return build_table_with_column_metadata(
        _build_protocol(*draw_one(draw, (), ("checkConstraints",))), delta__invariants=INVARIANT_JSON
    )


@planted_fault("column-invariants.form")
def invariant_of_another_form(draw: st.DrawFn) -> TableFiles:
    invalid: tuple[Any, ...] = (
        "id > 3",
        '{"expression": "id > 3"}',
        '{"expression": {"expression": 3}}',
        '{"expression": {"expression": " "}}',
        '{"expression": {"expression": "id +"}}',
        '{"expression": {"expression": "id + 3"}}',
        '[{"expression": {"expression": "id > 3"}}]',
        {"expression": {"expression": "id > 3"}},
        True,
    )
    return build_table_with_column_metadata(
        protocol_action(1, draw_one(draw, 2, 6)), delta__invariants=draw_one(draw, *invalid)
    )


@planted_fault("generated-columns.in-force")
def expression_that_no_version_backs(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(1, 3), _build_protocol(), _build_protocol("invariants"))
    return build_table_with_column_metadata(protocol, delta__generationExpression="length(name)")


@planted_fault("identity-columns.in-force")
def identity_that_no_version_backs(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(1, 2), protocol_action(2, 5), _build_protocol("generatedColumns"))
    return build_table_with_column_metadata(protocol, delta__identity__start=1, delta__identity__step=1)


@planted_fault("default-columns.feature")
def default_that_no_feature_backs(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(draw, protocol_action(1, 2), protocol_action(1, 6), _build_protocol("generatedColumns"))
    return build_table_with_column_metadata(protocol, CURRENT_DEFAULT=draw_one(draw, "7", "length('a')"))


@planted_fault("default-columns.not-with-column")
def default_of_an_added_column(draw: st.DrawFn) -> TableFiles:
    """In the table, or in a struct column."""
    files = log_only.build_table(protocol=DEFAULTS_PROTOCOL)
    new = build_column("c", "integer", CURRENT_DEFAULT="42")
    if draw(st.booleans()):
        new = build_column("s", {"type": "struct", "fields": [new]})
    info = commit_info_action(3, operation=draw_one(draw, "ADD COLUMNS", "WRITE", "MERGE"))
    files.commits[3] = [info, metadata_action([*log_only.FIELDS, new])]
    return files


@planted_fault("default-columns.not-with-column")
def default_of_an_added_column_by_id(draw: st.DrawFn) -> TableFiles:
    """With column mapping, a column with an old name and a new id is a new column."""
    number, name = draw_one(draw, (3, "name"), (3, "new"))
    ids: dict[str, Any] = {COLUMN_ID: 1, PHYSICAL_NAME: "id"}
    others: dict[str, Any] = {COLUMN_ID: 2, PHYSICAL_NAME: "name"}
    mapped: dict[str, Any] = {
        COLUMN_ID: number,
        PHYSICAL_NAME: "p3",
        "CURRENT_DEFAULT": "'x'",
    }
    settings = {COLUMN_MAPPING_MODE: "name", MAX_COLUMN_ID: "3"}
    protocol = protocol_action(2, 7, None, ["columnMapping", "allowColumnDefaults"])
    fields: list[Any] = [build_column("id", "long", **ids), build_column("name", "string", **others)]
    files = log_only.build_table(protocol=protocol, fields=fields, configuration=settings)
    after = [fields[0], build_column(name, "string", **mapped)]
    files.commits[3] = [commit_info_action(3), metadata_action(after, configuration=settings)]
    return files


def _build_constrained_table(configuration: dict[str, str], writer: int = 3) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(1, writer), configuration=configuration)


@planted_fault("check-constraints.in-force")
def constraint_of_a_table_without_constraints(draw: st.DrawFn) -> TableFiles:
    protocol = draw_one(
        draw, protocol_action(1, 1), protocol_action(1, 2), _build_protocol(), _build_protocol("invariants")
    )
    return log_only.build_table(protocol=protocol, configuration={"delta.constraints.positive": "id > 0"})


@planted_fault("check-constraints.needs-support")
def constraint_added_without_support(draw: st.DrawFn) -> TableFiles:
    """To an existing table; the protocol that supports it comes one commit later, or never."""
    files = log_only.build_table()
    settings = {"delta.constraints.positive": "id > 0"}
    files.commits[3] = [commit_info_action(3), metadata_action(log_only.FIELDS, configuration=settings)]
    if draw(st.booleans()):
        files.commits[4] = [
            commit_info_action(4),
            draw_one(draw, protocol_action(1, 3), _build_protocol("checkConstraints")),
        ]
    return files


@planted_fault("check-constraints.key")
def constraint_of_no_name(draw: st.DrawFn) -> TableFiles:
    return _build_constrained_table({CONSTRAINT_PREFIX + draw_one(draw, "", " "): "id > 0"}, draw_one(draw, 3, 6))


@planted_fault("check-constraints.value")
def constraint_of_no_text(draw: st.DrawFn) -> TableFiles:
    return _build_constrained_table({"delta.constraints.positive": draw_one(draw, "", " ", "\n")}, draw_one(draw, 3, 6))


@planted_fault("check-constraints.value")
def constraint_of_no_condition(draw: st.DrawFn) -> TableFiles:
    """Invalid syntax, or an expression that is not boolean."""
    broken = ("id > 0)", "(id > 0", "name = 'a", "id >", "> 0")
    others = ("1", "'yes'", "id + 1", "-id", "name || 'x'", "CAST(id AS STRING)", "CASE WHEN id > 0 THEN 1 ELSE 0 END")
    columns = ("id", "name", "`NAME`")
    value = draw(st.one_of(*(st.sampled_from(each) for each in (broken, others, columns))))
    return _build_constrained_table({"delta.constraints.positive": value}, draw_one(draw, 3, 6))
