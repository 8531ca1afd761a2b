"""Mutations of constraints, invariants, generated columns and defaults, as the log shows them."""

from typing import Any

from hypothesis import strategies as st

from deltaspec_generators import bases
from deltaspec_generators.bases import commit_info
from deltaspec_generators.builder import TableFiles, metadata_action, protocol_action
from deltaspec_generators.column_bases import DEFAULTS, INVARIANT, column, described
from deltaspec_generators.mutations import mutation, pick


def _at_version_7(*features: str) -> Any:
    return protocol_action(1, 7, None, features)


def _nested(key: str, value: str) -> list[Any]:
    """A key in the metadata of a column, or of a member of one."""
    return [column("s", {"type": "struct", "fields": [column("x", **{key: value})]}), ("name", "string")]


@mutation("column-invariants.feature")
def invariant_that_no_feature_backs(draw: st.DrawFn) -> TableFiles:
    protocol = _at_version_7(*pick(draw, (), ("appendOnly",), ("checkConstraints", "changeDataFeed")))
    fields = pick(draw, [column(delta__invariants=INVARIANT)], _nested("delta.invariants", INVARIANT))
    return bases.plain(protocol=protocol, fields=fields)


@mutation("column-invariants.older-feature")
def invariant_that_no_older_feature_backs(draw: st.DrawFn) -> TableFiles:
    return described(_at_version_7(*pick(draw, (), ("checkConstraints",))), delta__invariants=INVARIANT)


@mutation("column-invariants.form")
def invariant_of_another_form(draw: st.DrawFn) -> TableFiles:
    ways: tuple[Any, ...] = (
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
    return described(protocol_action(1, pick(draw, 2, 6)), delta__invariants=pick(draw, *ways))


@mutation("generated-columns.in-force")
def expression_that_no_version_backs(draw: st.DrawFn) -> TableFiles:
    protocol = pick(draw, protocol_action(1, 3), _at_version_7(), _at_version_7("invariants"))
    return described(protocol, delta__generationExpression="length(name)")


@mutation("identity-columns.in-force")
def identity_that_no_version_backs(draw: st.DrawFn) -> TableFiles:
    protocol = pick(draw, protocol_action(1, 2), protocol_action(2, 5), _at_version_7("generatedColumns"))
    return described(protocol, delta__identity__start=1, delta__identity__step=1)


@mutation("default-columns.feature")
def default_that_no_feature_backs(draw: st.DrawFn) -> TableFiles:
    protocol = pick(draw, protocol_action(1, 2), protocol_action(1, 6), _at_version_7("generatedColumns"))
    return described(protocol, CURRENT_DEFAULT=pick(draw, "7", "length('a')"))


@mutation("default-columns.not-with-column")
def default_of_an_added_column(draw: st.DrawFn) -> TableFiles:
    """Into the table, or into a struct of it."""
    files = bases.plain(protocol=DEFAULTS)
    new = column("c", "integer", CURRENT_DEFAULT="42")
    if draw(st.booleans()):
        new = column("s", {"type": "struct", "fields": [new]})
    info = commit_info(3, operation=pick(draw, "ADD COLUMNS", "WRITE", "MERGE"))
    files.commits[3] = [info, metadata_action([*bases.FIELDS, new])]
    return files


@mutation("default-columns.not-with-column")
def default_of_an_added_column_by_id(draw: st.DrawFn) -> TableFiles:
    """Under column mapping a column of an old name, with a new id, is another one."""
    number, name = pick(draw, (3, "name"), (3, "new"))
    ids: dict[str, Any] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
    others: dict[str, Any] = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "name"}
    mapped: dict[str, Any] = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": "p3",
        "CURRENT_DEFAULT": "'x'",
    }
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
    protocol = protocol_action(2, 7, None, ["columnMapping", "allowColumnDefaults"])
    fields: list[Any] = [column("id", "long", **ids), column("name", "string", **others)]
    files = bases.plain(protocol=protocol, fields=fields, configuration=settings)
    after = [fields[0], column(name, "string", **mapped)]
    files.commits[3] = [commit_info(3), metadata_action(after, configuration=settings)]
    return files


def _constrained(configuration: dict[str, str], writer: int = 3) -> TableFiles:
    return bases.plain(protocol=protocol_action(1, writer), configuration=configuration)


@mutation("check-constraints.in-force")
def constraint_of_a_table_without_constraints(draw: st.DrawFn) -> TableFiles:
    protocol = pick(draw, protocol_action(1, 1), protocol_action(1, 2), _at_version_7(), _at_version_7("invariants"))
    return bases.plain(protocol=protocol, configuration={"delta.constraints.positive": "id > 0"})


@mutation("check-constraints.needs-support")
def constraint_added_without_support(draw: st.DrawFn) -> TableFiles:
    """To a table that is there; the protocol that would support it comes too late, or never."""
    files = bases.plain()
    settings = {"delta.constraints.positive": "id > 0"}
    files.commits[3] = [commit_info(3), metadata_action(bases.FIELDS, configuration=settings)]
    if draw(st.booleans()):
        files.commits[4] = [commit_info(4), pick(draw, protocol_action(1, 3), _at_version_7("checkConstraints"))]
    return files


@mutation("check-constraints.key")
def constraint_of_no_name(draw: st.DrawFn) -> TableFiles:
    return _constrained({"delta.constraints." + pick(draw, "", " "): "id > 0"}, pick(draw, 3, 6))


@mutation("check-constraints.value")
def constraint_of_no_text(draw: st.DrawFn) -> TableFiles:
    return _constrained({"delta.constraints.positive": pick(draw, "", " ", "\n")}, pick(draw, 3, 6))


@mutation("check-constraints.value")
def constraint_of_no_condition(draw: st.DrawFn) -> TableFiles:
    """No expression, more than one, or one that gives no boolean."""
    broken = ("id > 0)", "(id > 0", "name = 'a", "id >", "> 0")
    others = ("1", "'yes'", "id + 1", "-id", "name || 'x'", "CAST(id AS STRING)", "CASE WHEN id > 0 THEN 1 ELSE 0 END")
    columns = ("id", "name", "`NAME`")
    value = draw(st.one_of(*(st.sampled_from(each) for each in (broken, others, columns))))
    return _constrained({"delta.constraints.positive": value}, pick(draw, 3, 6))
