"""Checks of type changes in commits. Source: Type Widening (current)."""

from typing import Any

import pytest
from helpers.recorded_types import widened
from helpers.scenario import Scenario, add, field, metadata, protocol, remove, schema

from deltaspec.model.commit.validation import collect_refusals
from deltaspec.protocol.actions import Action
from deltaspec.protocol.revisions import Revision

FEATURE = protocol(3, 7, ["typeWidening", "timestampNtz"], ["typeWidening", "timestampNtz"])
ON = {"delta.enableTypeWidening": "true"}


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


@pytest.mark.parametrize(("number", "refused"), [(1, ["type-widening.recorded"]), (2, [])])
def test_mapped_column_is_identified_by_id(number: int, refused: list[str]) -> None:
    def mapped(name: str, column_id: int, kind: str) -> dict[str, Any]:
        return field(name, kind, delta__columnMapping__id=column_id, delta__columnMapping__physicalName=f"p{column_id}")

    settings = {**ON, "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
    features = ["typeWidening", "columnMapping"]
    before = metadata(settings, schema(mapped("a", 1, "byte")))
    scenario = Scenario(protocol(3, 7, features, features), before, add("a"))
    assert list_refusals(scenario, metadata(settings, schema(mapped("b", number, "short")))) == refused


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
