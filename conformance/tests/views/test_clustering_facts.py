"""Clustering columns, beside the schema and the statistics of files."""

import json

import polars as pl
import pytest

from deltaspec.model.actions import DomainMetadata
from deltaspec.model.schema import parse_schema
from deltaspec.views.clustering_facts import clustering_columns, unknown_columns, without_statistics


def _domain(configuration: object, name: str = "delta.clustering") -> DomainMetadata:
    return DomainMetadata(domain=name, configuration=json.dumps(configuration), removed=False)


@pytest.mark.parametrize(
    ("columns", "paths"),
    [(["a", "b"], (("a",), ("b",))), ([["a"], ["s", "x"]], (("a",), ("s", "x"))), ([], ()), ({}, ())],
)
def test_columns_are_names_or_lists_of_their_parts(columns: object, paths: object) -> None:
    assert clustering_columns(_domain({"clusteringColumns": columns})) == paths


def test_without_the_domain_there_are_no_columns() -> None:
    assert clustering_columns(None) == ()
    assert clustering_columns(_domain({"clusteringColumns": ["a"]}, "mine")) == ()


FIELD = {"nullable": True, "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}}
SCHEMA = parse_schema(json.dumps({"type": "struct", "fields": [{"name": "Region", "type": "string", **FIELD}]}))


@pytest.mark.parametrize(
    ("mapping", "column", "unknown"),
    [
        (None, "Region", []),
        (None, "region", []),
        (None, "col-1", ["col-1"]),
        ("name", "col-1", []),
        ("id", "Region", ["Region"]),
        ("name", "COL-1", ["COL-1"]),
    ],
)
def test_column_is_known_by_its_physical_name_where_names_are_mapped(
    mapping: str | None, column: str, unknown: list[str]
) -> None:
    assert unknown_columns([(column,)], SCHEMA, mapping) == unknown


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
def test_any_entry_is_statistics_of_a_column(text: str | None, left_out: list[str] | None) -> None:
    found = without_statistics(pl.Series([text], dtype=pl.String), (("a",), ("s", "x")))
    assert found.to_list() == [left_out]
