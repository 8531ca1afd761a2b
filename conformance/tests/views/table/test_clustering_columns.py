"""Clustered tables: the columns of the domain, file statistics, and legal commits."""

import json
from typing import Any

import pytest
from helpers.scenario import Scenario, add, domain, field, metadata, protocol, remove, schema
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.actions import DomainMetadata, MetaData
from deltaspec.protocol.features.clustering import find_configuration_fault, has_blank_provider, read_clustering_columns
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.views.table.clustering_columns import (
    find_columns_without_statistics,
    find_logically_named_columns,
    find_unknown_columns,
    resolve_columns,
)


def _domain(configuration: object, name: str = "delta.clustering") -> DomainMetadata:
    return DomainMetadata(domain=name, configuration=json.dumps(configuration), removed=False)


@pytest.mark.parametrize(
    ("columns", "paths"),
    [(["a", "b"], (("a",), ("b",))), ([["a"], ["s", "x"]], (("a",), ("s", "x"))), ([], ()), ({}, ())],
)
def test_columns_are_names_or_lists_of_their_parts(columns: object, paths: object) -> None:
    assert read_clustering_columns(_domain({"clusteringColumns": columns})) == paths


def test_without_the_domain_there_are_no_columns() -> None:
    assert read_clustering_columns(None) == ()
    assert read_clustering_columns(_domain({"clusteringColumns": ["a"]}, "mine")) == ()
    assert read_clustering_columns(domain("delta.clustering", {"clusteringColumns": ["a"]}, removed=True)) == ()


@pytest.mark.parametrize("columns", [{}, [1], [[]], [[1]], None, "col1"])
def test_malformed_columns_are_a_fault(columns: object) -> None:
    assert find_configuration_fault(json.dumps({"clusteringColumns": columns})) == "has no list clusteringColumns"


def test_lone_surrogate_in_a_column_name_is_a_fault() -> None:
    for column in ("\ud800", ["a", "\ud800"]):
        assert (
            find_configuration_fault(json.dumps({"clusteringColumns": [column]}))
            == "has a column name with a lone surrogate"
        )


def test_many_columns_are_resolved_quickly() -> None:
    columns = [(f"x{number}",) for number in range(50_000)]
    for mapping in (None, "name"):
        assert len(find_unknown_columns(columns, SCHEMA, mapping, Revision.R3)) == 50_000
        assert find_logically_named_columns(columns, SCHEMA, mapping) == []
        assert resolve_columns(columns, SCHEMA, mapping) == ()


FIELD = {"nullable": True, "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}}
SCHEMA = parse_schema(json.dumps({"type": "struct", "fields": [{"name": "Region", "type": "string", **FIELD}]}))


@pytest.mark.parametrize(
    ("mapping", "column", "unknown", "displayed"),
    [
        (None, "Region", [], []),
        (None, "region", [], []),
        (None, "col-1", ["col-1"], []),
        ("name", "col-1", [], []),
        ("id", "Region", ["Region"], ["Region"]),
        ("name", "COL-1", ["COL-1"], []),
    ],
)
def test_mapped_column_is_identified_by_physical_name(
    mapping: str | None, column: str, unknown: list[str], displayed: list[str]
) -> None:
    assert find_unknown_columns([(column,)], SCHEMA, mapping) == unknown
    assert find_logically_named_columns([(column,)], SCHEMA, mapping) == displayed
    physical = "col-1" if mapping else "Region"
    assert resolve_columns(((column,),), SCHEMA, mapping) == (() if unknown else ((physical,),))


NESTED = parse_schema(schema(field("c"), field("s", {"type": "struct", "fields": [field("V")]}), field("s.w")))


@pytest.mark.parametrize(
    ("column", "path"),
    [
        (("c",), ("c",)),
        (("C",), ("c",)),
        (("s", "v"), ("s", "V")),
        (("s.V",), ("s", "V")),
        (("S.v",), ("s", "V")),
        (("s.w",), ("s.w",)),
        (("s.x",), None),
        (("s", "w"), None),
        (("",), None),
    ],
)
def test_column_resolves_to_the_spelling_of_the_schema(column: tuple[str, ...], path: tuple[str, ...]) -> None:
    assert resolve_columns((column,), NESTED, None) == ((path,) if path else ())


def test_columns_of_one_field_are_merged() -> None:
    assert resolve_columns((("C",), ("c",)), NESTED, None) == (("c",),)


def test_unknown_schema_resolves_no_columns() -> None:
    assert resolve_columns((("c",),), None, None) == ()


def test_exact_match_takes_precedence() -> None:
    both = parse_schema(schema(field("C"), field("c")))
    assert [resolve_columns(((name,),), both, None) for name in ("c", "C")] == [(("c",),), (("C",),)]


def test_logical_name_is_known_before_the_newest_revision() -> None:
    columns = [("Region",), ("col-1",), ("day",)]
    assert find_unknown_columns(columns, SCHEMA, "name", Revision.R3) == ["day"]
    assert find_unknown_columns(columns, SCHEMA, "name", Revision.CURRENT) == ["Region", "day"]


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        (None, ["a", "s.x"]),
        ("{}", ["a", "s.x"]),
        ('{"nullCount":{"a":3}}', ["s.x"]),
        ('{"minValues":{"a":1},"maxValues":{"s":{"x":2}}}', []),
        ('{"minValues":{"a":null},"nullCount":{"s":{"x":0}}}', ["a"]),
        ('{"minValues":{"s":7},"nullCount":{"a":0}}', ["s.x"]),
        ('{"numRecords":0}', []),
        ("[]", None),
        ("{", None),
    ],
)
def test_any_entry_counts_as_statistics(text: str | None, left_out: list[str] | None) -> None:
    assert find_columns_without_statistics(text, (("a",), ("s", "x"))) == left_out


_NAMES = st.sampled_from(["a", "b", "c"])


@given(st.lists(_NAMES, unique=True), st.dictionaries(_NAMES, st.integers(0, 3)), st.integers(1, 5))
def test_columns_without_an_entry_are_reported(columns: list[str], counts: dict[str, int], rows: int) -> None:
    text = json.dumps({"numRecords": rows, "nullCount": counts})
    assert find_columns_without_statistics(text, tuple((each,) for each in columns)) == [
        each for each in columns if each not in counts
    ]


@pytest.mark.parametrize(("provider", "unnamed"), [(None, False), ("liquid", False), ("", True), (" ", True)])
def test_blank_provider(provider: str | None, unnamed: bool) -> None:
    assert has_blank_provider(provider) is unnamed


# commits

CLUSTERING = protocol(1, 7, None, ["clustering", "domainMetadata"])


def clustered_by(*columns: Any) -> DomainMetadata:
    return domain("delta.clustering", {"clusteringColumns": list(columns)})


def build_two_column_table(*partitioned_by: str) -> MetaData:
    return metadata(schema=schema(field("id"), field("day", "date")), partitioned_by=partitioned_by)


def counted(*columns: str) -> str:
    return json.dumps({"numRecords": 3, "nullCount": dict.fromkeys(columns, 0)})


def test_file_without_statistics_of_a_clustering_column_is_refused() -> None:
    scenario = Scenario(CLUSTERING, build_two_column_table(), clustered_by("id"))
    assert scenario.expect_refusal(add("a", rows=3)) == "clustering.statistics"
    scenario.commit(add("a", stats=counted("id")))
    assert scenario.expect_refusal(clustered_by("id", "day")) == "clustering.statistics-of-new-columns"
    scenario.commit(remove("a"), add("b", stats=counted("id", "day")))
    scenario.commit(clustered_by("id", "day"))


def test_unknown_column_and_partitioned_table_are_refused() -> None:
    scenario = Scenario(CLUSTERING, build_two_column_table())
    assert scenario.expect_refusal(clustered_by("hour")) == "clustering.columns-by-physical-name"
    assert scenario.expect_refusal(build_two_column_table("day")) == "clustering.not-partitioned"


@pytest.mark.parametrize("features", [["domainMetadata"], ["domainMetadata", "appendOnly"]])
def test_clustering_domain_without_the_feature_is_refused(features: list[str]) -> None:
    scenario = Scenario(protocol(1, 7, None, features), build_two_column_table())
    assert scenario.expect_refusal(clustered_by("id")) == "clustering.feature"
    assert scenario.expect_refusal(clustered_by()) == "clustering.feature"


def test_preview_of_the_feature_allows_the_domain() -> None:
    Scenario(
        protocol(1, 7, None, ["domainMetadata", "clustering-preview"]), build_two_column_table(), clustered_by("id")
    )


def test_blank_clustering_provider_is_refused() -> None:
    scenario = Scenario(CLUSTERING, build_two_column_table())
    assert scenario.expect_refusal(add(clustering_provider="")) == "clustering.provider"
    scenario.commit(add(clustering_provider="liquid"))


def test_revisions_before_r3_have_no_clustering() -> None:
    features = ["domainMetadata", "clustering"]
    scenario = Scenario(protocol(1, 7, None, features), build_two_column_table("day"), revision=Revision.R2)
    scenario.commit(clustered_by("hour"))
