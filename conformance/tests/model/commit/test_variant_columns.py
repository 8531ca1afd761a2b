"""Restrictions on variant columns in a commit."""

from typing import Any

import pytest
from helpers.scenario import Scenario, domain, field, metadata, protocol, schema

from deltaspec.model.commit.validation import collect_refusals
from deltaspec.protocol.actions import Action
from deltaspec.protocol.revisions import Revision

V = field("v", "variant")
WRITERS = ["variantType", "clustering", "domainMetadata", "generatedColumns", "allowColumnDefaults"]
TABLE = (protocol(3, 7, ["variantType"], WRITERS), metadata({}, schema(field("id"), V)))


def list_refusals(*actions: Action) -> list[str]:
    scenario = Scenario(*TABLE)
    return [each.requirement for each in collect_refusals(scenario.now, 1, actions)]


def with_variant(**more: Any) -> Action:
    return metadata({}, schema(field("id"), field("v", "variant", **more)))


def test_variants_are_no_partition_or_clustering_columns() -> None:
    assert "variant.not-partitioning" in list_refusals(metadata({}, schema(field("id"), V), ["v"]))
    assert "variant.not-partitioning" not in list_refusals(metadata({}, schema(field("id"), V), ["id"]))
    assert "variant.not-clustering" in list_refusals(domain("delta.clustering", {"clusteringColumns": [["v"]]}))
    assert "variant.not-clustering" not in list_refusals(domain("delta.clustering", {"clusteringColumns": [["id"]]}))


def test_variants_are_not_generated_and_default_to_null() -> None:
    assert "variant.not-generated" in list_refusals(with_variant(delta__generationExpression="parse_json('1')"))
    assert "variant.default-null" in list_refusals(with_variant(CURRENT_DEFAULT="parse_json('1')"))
    assert "variant.default-null" not in list_refusals(with_variant(CURRENT_DEFAULT="NULL"))
    assert "variant.default-null" not in list_refusals(with_variant(CURRENT_DEFAULT="try_parse_json('{')"))


@pytest.mark.parametrize(
    "default",
    [
        *("1", " -1.5e3 ", "(1)", "true", "'null'", "''", "date '2024-01-02'", "X'00'"),
        *("CAST('a' AS VARIANT)", "CAST((1) AS VARIANT)", "cast( 1  as  variant )"),
        *("parse_json('{\"a\": 1}')", "PARSE_JSON('\"it''s\"')"),
    ],
)
def test_values_are_no_default(default: str) -> None:
    assert list_refusals(with_variant(CURRENT_DEFAULT=default)) == ["variant.default-null"]


@pytest.mark.parametrize(
    "default",
    [
        *(" null ", "(NULL)", "CAST(NULL AS VARIANT)", "NULL::variant", "parse_json('null')", "parse_json('{')"),
        *("parse_json(NULL)", "nullif(1, 1)", "CAST(nullif(1, 1) AS VARIANT)", "'a' || NULL", "(1) - (1)", "+", "x '"),
        *("", "(" * 5000 + ")" * 5000, "'" * 5001),
    ],
)
def test_null_and_undecided_defaults_are_accepted(default: str) -> None:
    assert list_refusals(with_variant(CURRENT_DEFAULT=default)) == []


@pytest.mark.parametrize(("column", "refused"), [(("s", "v"), 1), (("s.v",), 1), (("S", "V"), 1), (("s", "id"), 0)])
def test_clustering_columns_are_resolved_at_any_depth(column: tuple[str, ...], refused: int) -> None:
    nested = metadata({}, schema(V, field("s", {"type": "struct", "fields": [field("id"), V]})))
    clustered = domain("delta.clustering", {"clusteringColumns": [list(column)]})
    assert list_refusals(nested, clustered) == ["variant.not-clustering"] * refused


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_have_no_variants(revision: Revision) -> None:
    scenario = Scenario(protocol(1, 2), metadata({}, schema(field("id"))), revision=revision)
    answers = collect_refusals(scenario.now, 1, [metadata({}, schema(field("id"), V), ["v"])], revision)
    assert [each.requirement for each in answers if each.requirement.startswith("variant")] == []
