"""Scenario: a table of variant events, shredded later. Source: Variant Data Type, Shredding (current)."""

from typing import Any

import pytest
from helpers.scenario import Scenario, add, commit_info, domain, field, metadata, protocol, remove, schema

from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Action
from deltaspec.protocol.features.table_properties import find_active_features, is_property_true
from deltaspec.protocol.property_names import VARIANT_SHREDDING
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Primitive
from deltaspec.protocol.schema.parquet_types import Node, get_stored_type, is_shredded
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec.protocol.variants.encoding import check_value, read_metadata
from deltaspec.protocol.variants.shredding import STORED_ONCE, Pair, Shape, find_shredding_faults, read_shredded_value
from deltaspec.protocol.variants.values import Scalar

ID, DAY = field("id"), field("day", "date")
EVENT = field("event", "variant")
WRITERS = [
    "checkConstraints",
    "changeDataFeed",
    "allowColumnDefaults",
    "generatedColumns",
    "domainMetadata",
]
VARIANTS = protocol(3, 7, ["variantType"], ["variantType", *WRITERS])
SHREDDING = protocol(3, 7, ["variantType", "variantShredding"], ["variantType", "variantShredding", *WRITERS])
ON = {VARIANT_SHREDDING: "true"}


def build_metadata(*columns: dict[str, Any], configuration: dict[str, str] | None = None) -> Action:
    return metadata(configuration or {}, schema(*columns), partitioned_by=["day"])


def active(snapshot: Snapshot) -> set[str]:
    assert snapshot.protocol is not None
    assert snapshot.metadata is not None
    read = parse_schema(snapshot.metadata.schema_string)
    return find_active_features(snapshot.protocol, snapshot.metadata, read) & {"variantType", "variantShredding"}


@pytest.fixture
def events() -> Scenario:
    """Build the events of a shop."""
    days = {"partition_values": {"day": "2024-01-02"}}
    scenario = Scenario(protocol(1, 2), build_metadata(ID, DAY), add("a", **days))  # 0
    scenario.commit(VARIANTS)  # 1: variants are supported
    scenario.commit(build_metadata(ID, DAY, EVENT))  # 2: and there is a column of them
    scenario.commit(add("b", **days))  # 3
    scenario.commit(SHREDDING)  # 4: shredding is supported, and not enabled
    scenario.commit(build_metadata(ID, DAY, EVENT, configuration=ON))  # 5: now it is
    scenario.commit(add("c", **days))  # 6: whose events may be shredded
    scenario.commit(build_metadata(ID, DAY, EVENT))  # 7: it is disabled again; c remains as it is
    return scenario


def test_active_features_of_each_version(events: Scenario) -> None:
    both = {"variantType", "variantShredding"}
    expected = [set(), set(), *[{"variantType"}] * 3, both, both, {"variantType"}]
    assert [active(events[version]) for version in range(8)] == expected


def test_column_requires_its_feature() -> None:
    scenario = Scenario(protocol(1, 2), build_metadata(ID, DAY))
    assert scenario.expect_refusal(build_metadata(ID, DAY, EVENT)) == "schema.types-need-features"
    assert (
        scenario.expect_refusal(build_metadata(ID, DAY, field("event", {"type": "variant"})))
        == "schema.types-need-features"
    )
    scenario.commit(VARIANTS, build_metadata(ID, DAY, EVENT))


def test_shredding_requires_its_feature(events: Scenario) -> None:
    scenario = Scenario(VARIANTS, build_metadata(ID, DAY, EVENT))
    assert (
        scenario.expect_refusal(build_metadata(ID, DAY, EVENT, configuration=ON))
        == "configuration.properties-need-features"
    )
    without_variants = protocol(3, 7, ["variantShredding"], ["variantShredding", *WRITERS])
    assert scenario.expect_refusal(without_variants) == "table-features.required-features"
    one_side = protocol(3, 7, ["variantType"], ["variantType", "variantShredding", *WRITERS])
    assert scenario.expect_refusal(one_side) == "table-features.reader-feature-on-both-sides"
    scenario.commit(SHREDDING, build_metadata(ID, DAY, EVENT, configuration=ON))
    assert events.now.metadata is not None
    assert not is_property_true(events.now.metadata.configuration, VARIANT_SHREDDING)


def test_variants_are_no_partition_or_clustering_columns(events: Scenario) -> None:
    by_event = metadata({}, schema(ID, DAY, EVENT), partitioned_by=["event"])
    assert events.expect_refusal(by_event) == "variant.not-partitioning"
    clustered = protocol(3, 7, ["variantType"], ["variantType", *WRITERS, "clustering"])
    scenario = Scenario(clustered, metadata({}, schema(ID, DAY, EVENT)))
    columns = {"clusteringColumns": [["event"]]}
    assert scenario.expect_refusal(domain("delta.clustering", columns)) == "variant.not-clustering"
    generated = field("event", "variant", delta__generationExpression="parse_json('{}')")
    assert events.expect_refusal(build_metadata(ID, DAY, generated)) == "variant.not-generated"


def test_other_uses_of_variants(events: Scenario) -> None:
    default = field("event", "variant", CURRENT_DEFAULT="NULL")
    kind = field("kind", "string", delta__generationExpression="variant_get(event, '$.kind', 'string')")
    settings = {"delta.constraints.known": "event IS NOT NULL", "delta.enableChangeDataFeed": "true"}
    events.commit(build_metadata(ID, DAY, default, kind, configuration=settings))  # 8
    wrong = field("event", "variant", CURRENT_DEFAULT="parse_json('{}')")
    assert events.expect_refusal(build_metadata(ID, DAY, wrong)) == "variant.default-null"


# contents of the files

BINARY = [Node("metadata", "required", "BYTE_ARRAY"), Node("value", "optional", "BYTE_ARRAY")]
PAIR = Node("kind", "required", children=(BINARY[1], Node("typed_value", "optional", "INT32")))
OF_B = Node("event", "optional", children=tuple(BINARY))
OF_C = Node("event", "optional", children=(*BINARY, Node("typed_value", "optional", children=(PAIR,))))

METADATA = b"\x11\x02\x00\x04\x09kindprice"
"""The names kind and price."""
PRICE = bytes([2, 1, 1, 0, 2]) + b"\x0c\x07"
"""{"price": 7}"""
SALE = bytes([2, 2, 0, 1, 0, 2, 4]) + b"\x0c\x01" + b"\x0c\x07"
"""{"kind": 1, "price": 7}"""


def test_files_may_be_shredded_or_not() -> None:
    assert [get_stored_type(Primitive("variant"), node).fault for node in (OF_B, OF_C)] == [None, None]
    assert [is_shredded(node) for node in (OF_B, OF_C)] == [False, True]


def test_event_is_equal_shredded_or_not() -> None:
    names = read_metadata(METADATA)
    assert names.names == ("kind", "price")
    check_value(SALE, names)
    shape, kind = Shape("object", frozenset({"kind"})), {"kind": Pair(None, Scalar("exact number", 1))}
    whole, parts = Pair(SALE, None), Pair(PRICE, kind, shape)
    assert read_shredded_value(whole, names) == read_shredded_value(parts, names)
    assert list(find_shredding_faults(parts, names)) == []
    assert list(find_shredding_faults(Pair(SALE, kind, shape), names)) == [(STORED_ONCE, "field kind")]


def test_feature_is_removable_after_rewriting_shredded_files(events: Scenario) -> None:
    """Whether a protocol may drop a feature is undecided (E41), so it is not refused."""
    days = {"partition_values": {"day": "2024-01-02"}}
    events.commit(commit_info(operation="REORG"), remove("c", data_change=False), add("d", data_change=False, **days))
    events.commit(VARIANTS)


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_have_no_variants(revision: Revision) -> None:
    """The name is not a type there; how such a reader treats it is not visible in the log."""
    scenario = Scenario(protocol(1, 2), build_metadata(ID, DAY), revision=revision)
    assert scenario.expect_refusal(build_metadata(ID, DAY, EVENT)) == "schema.primitive-types"
