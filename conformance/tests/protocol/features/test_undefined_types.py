"""Columns of types that no listed feature defines."""

import pytest

from deltaspec.protocol.features.undefined_types import find_undefined_types, may_define_types
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.table_files import schema_string

SCHEMA = parse_schema(
    schema_string(
        [
            ("a", "long"),
            ("v", "variant"),
            (
                "s",
                {
                    "type": "struct",
                    "fields": [{"name": "g", "type": "geometry(4326)", "nullable": True, "metadata": {}}],
                },
            ),
            ("n", {"type": "array", "elementType": "timestamp_nanos", "containsNull": True}),
            ("x", "interval"),
        ]
    )
)


@pytest.mark.parametrize(
    ("supported", "revision", "expected"),
    [
        ([], Revision.CURRENT, ["s.g: geometry(4326)", "n: timestamp_nanos", "x: interval"]),
        ([], Revision.R3, ["v: variant", "s.g: geometry(4326)", "n: timestamp_nanos", "x: interval"]),
        (["variantType-preview", "geospatial"], Revision.CURRENT, ["n: timestamp_nanos", "x: interval"]),
        # A feature that nobody knows may define a type, unless a proposal says which feature does.
        (["intervals", "variantType"], Revision.CURRENT, ["s.g: geometry(4326)", "n: timestamp_nanos"]),
        (["timestampNanos", "geospatial"], Revision.CURRENT, ["x: interval"]),
        (["variantType"], Revision.R3, ["s.g: geometry(4326)", "n: timestamp_nanos", "x: interval"]),
        (None, Revision.CURRENT, []),
    ],
)
def test_types_without_a_feature(supported: list[str] | None, revision: Revision, expected: list[str]) -> None:
    assert find_undefined_types(SCHEMA, supported, revision) == expected


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("decfloat(16)", "decFloat"),
        ("decfloat(34)", "decFloat"),
        ("float16", "float16"),
        ("uint8", "unsignedIntegerTypes"),
        ("uint64", "unsignedIntegerTypes"),
        ("timestamp(9)", "timestampPrecision"),
        ("timestamp without time zone(0)", "timestampPrecision"),
    ],
)
def test_types_that_one_proposal_defines(name: str, feature: str) -> None:
    schema = parse_schema(schema_string([("x", name)]))
    assert find_undefined_types(schema, [feature]) == []
    assert find_undefined_types(schema, [f"{feature}-preview"]) == []
    assert find_undefined_types(schema, ["geospatial", "mine"]) == [f"x: {name}"]


def test_other_arguments_have_no_proposal() -> None:
    schema = parse_schema(schema_string([("x", "decfloat(17)")]))
    assert find_undefined_types(schema, ["decFloat"]) == ["x: decfloat(17)"]


def test_unknown_schema_has_none() -> None:
    assert find_undefined_types(None, []) == []


def test_only_unknown_features_may_define_types() -> None:
    assert not may_define_types(None)
    assert not may_define_types(["deletionVectors", "variantType-preview", "geospatial"])
    assert may_define_types(["deletionVectors", "intervals"])
