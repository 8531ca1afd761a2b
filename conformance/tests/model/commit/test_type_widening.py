"""Type widening: the record of changes, and checks of commits. Source: Type Widening (current)."""

import itertools
import json
from typing import Any

import pytest
from helpers.scenario import Scenario, add, field, metadata, protocol, remove, schema
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model.commit.type_widening import (
    find_changed_types,
    find_gap,
    list_recorded_types,
    list_type_locations,
)
from deltaspec.model.commit.validation import collect_refusals
from deltaspec.protocol.actions import Action
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import (
    Array,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    get_type_name,
    is_widening,
)
from deltaspec.protocol.schema.schema_string import TypeChange, parse_schema
from deltaspec.protocol.schema.type_changes import (
    find_field_path_fault,
    is_supported_by_iceberg,
    read_type_change_record,
)

BYTE, SHORT, INTEGER, LONG = (Primitive(name) for name in ("byte", "short", "integer", "long"))
FEATURE = protocol(3, 7, ["typeWidening", "timestampNtz"], ["typeWidening", "timestampNtz"])
ON = {"delta.enableTypeWidening": "true"}


def changes(*steps: tuple[str, str] | tuple[str, str, str]) -> list[dict[str, str]]:
    names = ("fromType", "toType", "fieldPath")
    return [dict(zip(names, step, strict=False)) for step in steps]


def widened(kind: Any, *steps: tuple[str, str] | tuple[str, str, str], **more: Any) -> dict[str, Any]:
    return field("c", kind, **{"delta__typeChanges": changes(*steps), **more})


def recorded(kind: Any, record: Any) -> tuple[list[TypeChange], list[str]]:
    found, faults = read_type_change_record(Field("c", kind, True, {"delta.typeChanges": record}))
    return list(found), [fault.kind for fault in faults]


def test_record_of_a_column_that_changed_twice() -> None:
    record = changes(("short", "integer"), ("integer", "long"))
    assert recorded(LONG, record) == ([TypeChange(SHORT, INTEGER), TypeChange(INTEGER, LONG)], [])


def test_record_of_nested_types() -> None:
    kind = Array(Map(Primitive("string"), Decimal(10, 4), True), True)
    record = changes(("decimal(6, 2)", "decimal(10, 4)", "element.value"))
    assert recorded(kind, record) == ([TypeChange(Decimal(6, 2), Decimal(10, 4), ("element", "value"))], [])


def list_recorded(*fields: dict[str, Any]) -> dict[str, set[str] | None]:
    found = list_recorded_types(parse_schema(schema(*fields)))
    return {".".join(path): types and set(map(get_type_name, types)) for path, types in found.items()}


def test_recorded_types_are_those_before_each_change() -> None:
    assert list_recorded(field("a", "long"), widened("double", ("float", "double"))) == {"c": {"float"}}


def test_recorded_integers_cover_all_of_their_physical_type() -> None:
    assert list_recorded(widened("long", ("short", "long"))) == {"c": {"byte", "short", "integer"}}


def test_recorded_types_of_a_faulty_record_or_a_gap_are_unknown() -> None:
    assert list_recorded(field("c", "long", delta__typeChanges=3)) == {"c": None}
    assert list_recorded(widened("double", ("byte", "short"), ("integer", "double"))) == {"c": None}


def test_versions_recorded_by_previews_are_ignored() -> None:
    record = [{"fromType": "byte", "toType": "short", "tableVersion": 3, "fieldPath": None}]
    assert recorded(SHORT, record) == ([TypeChange(BYTE, SHORT)], [])


@pytest.mark.parametrize(
    ("record", "kinds"),
    [
        ("long", ["no list"]),
        ('{"fromType":"byte","toType":"short"}', ["no list"]),
        ({"fromType": "byte", "toType": "short"}, ["no list"]),
        (None, []),
        ([1, "byte"], ["no object", "no object"]),
        ([{"fromType": "byte"}], ["types"]),
        ([{"toType": "short"}], ["types"]),
        ([{"fromType": "byte", "toType": "int"}], ["types"]),
        ([{"fromType": 1, "toType": "short"}], ["types"]),
        ([{"fromType": "byte", "toType": "short", "fieldPath": 1}], ["place"]),
        ([{"fromType": "byte", "toType": "short", "fieldPath": "items"}], ["place"]),
        ([{"fromType": "byte", "toType": "short", "fieldPath": "element"}], ["place"]),
    ],
)
def test_malformed_records_are_reported(record: Any, kinds: list[str]) -> None:
    assert recorded(SHORT, record) == ([], kinds)


def test_list_in_a_string_is_read_and_reported() -> None:
    """E30: one chapter calls the value a list, another a string."""
    change = {"fromType": "byte", "toType": "short"}
    assert recorded(SHORT, json.dumps([change])) == (recorded(SHORT, [change])[0], ["text"])


@pytest.mark.parametrize(
    ("kind", "path", "fault"),
    [
        (SHORT, (), None),
        (Array(SHORT, True), ("element",), None),
        (Array(SHORT, True), (), "the column is of type array"),
        (Array(SHORT, True), ("value",), "array has no value"),
        (Map(SHORT, Array(SHORT, True), True), ("value", "element"), None),
        (Map(SHORT, Array(SHORT, True), True), ("value",), "value is of type array"),
        (Array(Struct((Field("x", SHORT, True),)), True), ("element",), "element is of type struct"),
        (Struct((Field("x", SHORT, True),)), ("x",), "struct has no x"),
    ],
)
def test_field_path_resolves_or_is_reported(kind: Any, path: tuple[str, ...], fault: str | None) -> None:
    assert find_field_path_fault(kind, path) == fault


def test_locations_include_nested_types_down_to_the_next_field() -> None:
    inner = {"type": "struct", "fields": [field("x", "byte")]}
    pairs = {"type": "map", "keyType": "short", "valueType": inner, "valueContainsNull": True}
    found = [(place.column, place.field_path) for place in list_type_locations(parse_schema(schema(field("m", pairs))))]
    assert found == [
        (("m",), ()),
        (("m",), ("key",)),
        (("m",), ("value",)),
        (("m", "value", "x"), ()),
    ]


@pytest.mark.parametrize(
    ("kind", "steps", "missing"),
    [
        ("long", [("short", "integer"), ("integer", "long")], None),
        ("long", [("short", "integer")], "integer is followed by long"),
        ("long", [("byte", "short"), ("integer", "long")], "short is followed by integer"),
        ("long", [], None),
    ],
)
def test_recorded_changes_connect_to_each_other_and_the_type(kind: str, steps: Any, missing: str | None) -> None:
    (place,) = list_type_locations(parse_schema(schema(widened(kind, *steps))))
    assert find_gap(place) == missing


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        (BYTE, LONG, True),
        (Primitive("float"), Primitive("double"), True),
        (INTEGER, Primitive("double"), False),
        (Primitive("date"), Primitive("timestamp_ntz"), False),
        (Decimal(6, 2), Decimal(10, 2), True),
        (Decimal(6, 2), Decimal(10, 3), False),
        (LONG, Decimal(20, 0), False),
    ],
)
def test_type_changes_supported_by_iceberg(before: Any, after: Any, known: bool) -> None:
    assert is_supported_by_iceberg(before, after) is known


NUMBERS = {"byte": 1, "short": 2, "integer": 4, "long": 8}


@settings(max_examples=60)
@given(st.sampled_from([*NUMBERS]), st.sampled_from([*NUMBERS]))
def test_integer_widens_to_types_with_all_its_values(old: str, new: str) -> None:
    assert is_widening(Primitive(old), Primitive(new)) is (NUMBERS[old] < NUMBERS[new])


@settings(max_examples=100)
@given(*[st.integers(1, 8)] * 2, *[st.integers(0, 8)] * 2)
def test_decimal_widens_to_types_with_all_its_values(p: int, q: int, s: int, t: int) -> None:
    """Digits before and after the decimal point are counted separately."""
    s, t = min(s, p), min(t, q)
    holds = p - s <= q - t and s <= t
    assert is_widening(Decimal(p, s), Decimal(q, t)) is (holds and (p, s) != (q, t))


TYPES = st.sampled_from(["byte", "short", "integer", "long", "string"])


@settings(max_examples=60)
@given(st.lists(TYPES, min_size=1, max_size=4), st.lists(TYPES, min_size=1, max_size=4))
def test_changed_locations_have_another_type(old: list[str], new: list[str]) -> None:
    before, after = (
        parse_schema(schema(*(field(f"c{number}", kind) for number, kind in enumerate(kinds)))) for kinds in (old, new)
    )
    expected = [(f"c{number}",) for number, (a, b) in enumerate(itertools.zip_longest(old, new)) if a and b and a != b]
    assert [each.after.column for each in find_changed_types(before, after, by_id=False)] == expected


def test_mapped_columns_are_identified_by_id() -> None:
    def mapped(name: str, number: int, kind: str) -> dict[str, Any]:
        return field(name, kind, delta__columnMapping__id=number)

    before = parse_schema(schema(mapped("a", 1, "byte"), mapped("b", 2, "string")))
    after = parse_schema(schema(mapped("b", 1, "short"), mapped("a", 3, "binary")))
    (change,) = find_changed_types(before, after, by_id=True)
    assert (change.before.column, change.after.column, change.is_widening) == (("a",), ("b",), True)


# what a commit may do


def build_scenario(
    kind: Any = "byte", *steps: Any, configuration: dict[str, str] | None = None, table: Any = FEATURE
) -> Scenario:
    """Build a table with one column and one file."""
    column = widened(kind, *steps) if steps else field("c", kind)
    return Scenario(table, metadata(ON if configuration is None else configuration, schema(column)), add("a"))


def list_refusals(table: Scenario, *actions: Action) -> list[str]:
    return [each.requirement for each in collect_refusals(table.now, table.version + 1, actions, table.revision)]


def change_schema(kind: Any, *steps: Any, configuration: dict[str, str] | None = None) -> Action:
    column = widened(kind, *steps) if steps else field("c", kind)
    return metadata(ON if configuration is None else configuration, schema(column))


def test_change_is_recorded() -> None:
    assert list_refusals(build_scenario(), change_schema("short", ("byte", "short"))) == []
    assert list_refusals(build_scenario(), change_schema("long", ("byte", "short"), ("short", "long"))) == []
    assert list_refusals(build_scenario(), change_schema("short")) == ["type-widening.recorded"]
    assert "type-widening.recorded" in list_refusals(build_scenario(), change_schema("long", ("byte", "short")))


@pytest.mark.parametrize(
    ("old", "new"), [("short", "byte"), ("long", "double"), ("byte", "string"), ("string", "date")]
)
def test_unlisted_change_is_refused(old: str, new: str) -> None:
    assert list_refusals(build_scenario(old), change_schema(new)) == ["type-widening.supported-changes"]
    assert "type-widening.supported-changes" in list_refusals(build_scenario(old), change_schema(new, (old, new)))


def test_nested_type_does_not_change_its_kind() -> None:
    listed = {"type": "array", "elementType": "byte", "containsNull": True}
    assert list_refusals(build_scenario(), change_schema(listed)) == ["type-widening.supported-changes"]


def test_rewritten_table_may_have_any_types() -> None:
    assert list_refusals(build_scenario("string"), change_schema("byte"), remove("a"), add("b")) == []
    assert list_refusals(build_scenario("byte"), change_schema("short"), add("a", data_change=False)) == []


def test_void_may_change_to_any_type() -> None:
    before, after = (schema(field("id"), field("c", kind)) for kind in ("void", "string"))
    assert list_refusals(Scenario(FEATURE, metadata(ON, before), add("a")), metadata(ON, after)) == []


def test_change_requires_the_property() -> None:
    assert list_refusals(
        build_scenario(configuration={}), change_schema("short", ("byte", "short"), configuration={})
    ) == ["type-widening.only-when-enabled"]
    assert list_refusals(build_scenario(configuration={}), change_schema("short", ("byte", "short"))) == []


def test_record_is_kept_or_dropped_completely() -> None:
    table = build_scenario("long", ("byte", "short"), ("short", "long"))
    assert list_refusals(table, change_schema("long", ("byte", "short"), ("short", "long"))) == []
    assert list_refusals(table, change_schema("long")) == []
    assert list_refusals(table, change_schema("long", ("short", "long"))) == ["type-widening.kept"]
    assert list_refusals(table, change_schema("long", ("byte", "long"))) == ["type-widening.kept"]


def test_restored_version_has_its_old_type_and_record() -> None:
    table = build_scenario("long", ("byte", "short"), ("short", "long"))
    assert list_refusals(table, change_schema("short", ("byte", "short"))) == []
    assert list_refusals(table, change_schema("byte")) == []
    assert "type-widening.supported-changes" in list_refusals(
        table, change_schema("integer", ("byte", "short"), ("short", "integer"))
    )


def test_record_requires_the_feature() -> None:
    table = build_scenario(table=protocol(1, 2), configuration={})
    assert list_refusals(table, change_schema("short", ("byte", "short"), configuration={})) == [
        "type-widening.feature"
    ]
    assert list_refusals(table, change_schema("short", configuration={})) == []


@pytest.mark.parametrize("nothing", [[], None])
def test_empty_record_requires_no_feature(nothing: Any) -> None:
    table = build_scenario(table=protocol(1, 2), configuration={})
    assert list_refusals(table, metadata({}, schema(field("c", "byte", delta__typeChanges=nothing)))) == []


def test_preview_of_the_feature_counts() -> None:
    preview = protocol(3, 7, ["typeWidening-preview"], ["typeWidening-preview"])
    assert list_refusals(build_scenario(table=preview), change_schema("short", ("byte", "short"))) == []
    assert list_refusals(build_scenario(table=preview), change_schema("short")) == ["type-widening.recorded"]


@pytest.mark.parametrize("version", ["V1", "V2"])
def test_iceberg_supports_fewer_changes(version: str) -> None:
    writers = ["typeWidening", f"icebergCompat{version}", "columnMapping"]
    table = protocol(3, 7, ["typeWidening", "columnMapping"], writers)
    assert list_refusals(build_scenario("integer", table=table), change_schema("long", ("integer", "long"))) == []
    found = list_refusals(build_scenario("integer", table=table), change_schema("double", ("integer", "double")))
    assert "type-widening.changes-for-iceberg" in found


def test_dropped_feature_leaves_no_trace() -> None:
    table = build_scenario("short", ("byte", "short"))
    without = protocol(3, 7, ["timestampNtz"], ["timestampNtz"])
    assert list_refusals(table, without, change_schema("short", configuration={})) == []
    assert list_refusals(table, without) == ["type-widening.gone-with-feature"] * 2
    assert list_refusals(table, without, change_schema("short")) == ["type-widening.gone-with-feature"]
    assert (
        list_refusals(table, without, change_schema("short", configuration={"delta.enableTypeWidening": "false"})) == []
    )
    preview = protocol(3, 7, ["typeWidening-preview", "timestampNtz"], ["typeWidening-preview", "timestampNtz"])
    assert "type-widening.gone-with-feature" not in list_refusals(table, preview)


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_do_not_check_type_changes(revision: Revision) -> None:
    table = Scenario(protocol(1, 2), metadata({}, schema(field("c", "byte"))), add("a"), revision=revision)
    assert list_refusals(table, change_schema("string", configuration={})) == []
    assert list_refusals(table, change_schema("short", ("byte", "long"), configuration={})) == []
