"""Restrictions on variant columns, and defaults that are null."""

from typing import Any

import pytest
from helpers.scenario import Scenario, domain, field, metadata, protocol, schema

from deltaspec.model.commit.validation import collect_refusals
from deltaspec.model.commit.variant_columns import find_variant_columns, is_null_default
from deltaspec.protocol.actions import Action
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.schema_string import parse_schema

V = field("v", "variant")


@pytest.mark.parametrize("column", [("s", "v"), ("s.v",), ("S", "v")])
def test_clustering_columns_are_resolved_from_the_domain(column: tuple[str, ...]) -> None:
    inner = {"type": "struct", "fields": [V]}
    found = find_variant_columns(parse_schema(schema(V, field("s", inner))), [], [column], None)
    assert [(each.path, each.is_clustering_column) for each in found] == [(("v",), False), (("s", "v"), True)]


@pytest.mark.parametrize(
    ("expression", "is_null"),
    [
        ("NULL", True),
        (" null ", True),
        ("(NULL)", True),
        ("CAST(NULL AS VARIANT)", True),
        ("cast( null  as  variant )", True),
        ("NULL::variant", True),
        ("1", False),
        ("-1.5e3", False),
        ("'null'", False),
        ("true", False),
        ("date '2024-01-02'", False),
        ("X'00'", False),
        ("CAST('a' AS VARIANT)", False),
        ("CAST((1) AS VARIANT)", False),
        ("parse_json('{\"a\": 1}')", False),
        ("PARSE_JSON('\"it''s\"')", False),
        ("parse_json('null')", None),
        ("parse_json('{')", None),
        ("parse_json(NULL)", None),
        ("try_parse_json('1')", None),
        ("nullif(1, 1)", None),
        ("CAST(nullif(1, 1) AS VARIANT)", None),
        ("'a' || NULL", None),
        ("(1) - (1)", None),
        ("", None),
        ("(" * 5000 + ")" * 5000, None),
        ("'" * 5001, None),
    ],
)
def test_is_null_default(expression: str, is_null: bool | None) -> None:
    assert is_null_default(expression) is is_null


def test_variant_columns_are_found_at_any_depth() -> None:
    inner = {"type": "struct", "fields": [field("v", {"type": "variant"}, CURRENT_DEFAULT="NULL")]}
    listed = {"type": "array", "elementType": "variant", "containsNull": True}
    found = list(
        find_variant_columns(parse_schema(schema(V, field("s", inner), field("l", listed))), ["v"], [("s", "v")], None)
    )
    assert [each.path for each in found] == [("v",), ("s", "v")]
    assert [each.is_partition_column for each in found] == [True, False]
    assert [each.is_clustering_column for each in found] == [False, True]
    assert [each.default for each in found] == [None, "NULL"]


def test_clustering_columns_use_physical_names() -> None:
    mapped = field("v", "variant", delta__columnMapping__id=1, delta__columnMapping__physicalName="col-1")
    (found,) = find_variant_columns(parse_schema(schema(mapped)), [], [("col-1",)], "name")
    assert found.is_clustering_column


WRITERS = ["variantType", "clustering", "domainMetadata", "generatedColumns", "allowColumnDefaults"]
TABLE = (protocol(3, 7, ["variantType"], WRITERS), metadata({}, schema(field("id"), V)))


def list_refusals(*actions: Action) -> list[str]:
    scenario = Scenario(*TABLE)
    return [each.requirement for each in collect_refusals(scenario.now, 1, actions)]


def with_variant(**more: Any) -> Action:
    return metadata({}, schema(field("id"), field("v", "variant", **more)))


def test_variants_are_no_partition_or_clustering_columns() -> None:
    assert "variant.not-partitioning" in list_refusals(metadata({}, schema(field("id"), V), ["v"]))
    assert list_refusals(metadata({}, schema(field("id"), V), ["id"])) == []
    assert "variant.not-clustering" in list_refusals(domain("delta.clustering", {"clusteringColumns": [["v"]]}))
    assert list_refusals(domain("delta.clustering", {"clusteringColumns": [["id"]]})) == []


def test_variants_are_not_generated_and_default_to_null() -> None:
    assert "variant.not-generated" in list_refusals(with_variant(delta__generationExpression="parse_json('1')"))
    assert "variant.default-null" in list_refusals(with_variant(CURRENT_DEFAULT="parse_json('1')"))
    assert "variant.default-null" not in list_refusals(with_variant(CURRENT_DEFAULT="NULL"))
    assert "variant.default-null" not in list_refusals(with_variant(CURRENT_DEFAULT="try_parse_json('{')"))


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_have_no_variants(revision: Revision) -> None:
    scenario = Scenario(protocol(1, 2), metadata({}, schema(field("id"))), revision=revision)
    answers = collect_refusals(scenario.now, 1, [metadata({}, schema(field("id"), V), ["v"])], revision)
    assert [each.requirement for each in answers if each.requirement.startswith("variant")] == []
