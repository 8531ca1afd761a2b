"""Configurations of system domains. Vector V21: the examples in the protocol."""

import json

import pytest

from deltaspec.protocol.actions import DomainMetadata
from deltaspec.protocol.features.system_domains import (
    LONE_SURROGATE,
    find_domain_fault,
    find_domain_feature,
    find_further_key,
)
from deltaspec.protocol.revisions import Revision


def _fault(domain: str, configuration: object, revision: Revision = Revision.CURRENT) -> str | None:
    text = configuration if isinstance(configuration, str) else json.dumps(configuration)
    return find_domain_fault(DomainMetadata(domain=domain, configuration=text, removed=False), revision)


def _further_key(configuration: object) -> str | None:
    return find_further_key(DomainMetadata("delta.rowTracking", json.dumps(configuration), removed=False))


@pytest.mark.parametrize("columns", [["col1", "col2"], [["col-x"], ["a", "b"]], []])
def test_clustering_columns_are_names_or_paths(columns: object) -> None:
    assert _fault("delta.clustering", {"clusteringColumns": columns}) is None


@pytest.mark.parametrize("columns", [{}, [1], [[]], [[1]], None, "col1"])
def test_clustering_columns_of_another_type_are_a_fault(columns: object) -> None:
    assert _fault("delta.clustering", {"clusteringColumns": columns}) == "has no list clusteringColumns"


@pytest.mark.parametrize("key", ["rowIdHighWaterMark", "highWaterMark"])
def test_high_water_mark_may_have_either_key_in_r3(key: str) -> None:
    assert _fault("delta.rowTracking", {key: 1432}, Revision.R3) is None
    assert _fault("delta.rowTracking", {key: 1.5}, Revision.R3) == "holds no integer rowIdHighWaterMark"


@pytest.mark.parametrize("revision", [Revision.R3, Revision.CURRENT])
@pytest.mark.parametrize("mark", [-1, 0, 1432])
def test_high_water_mark_is_a_single_pair(revision: Revision, mark: int) -> None:
    pair = {"rowIdHighWaterMark": mark}
    assert _fault("delta.rowTracking", pair, revision) is None
    assert _further_key(pair) is None
    assert _further_key({**pair, "domainName": "delta.rowTracking"}) is None  # as Delta Spark writes it
    assert _further_key({**pair, "domainName": "mine"}) == "domainName"
    assert _further_key({**pair, "highWaterMark": mark}) == "highWaterMark"
    assert _further_key({"highWaterMark": mark}) is None
    assert _fault("delta.rowTracking", {"rowIDHighWaterMark": mark}, revision) is not None


def test_key_of_r3_is_a_fault_today() -> None:
    assert _fault("delta.rowTracking", {"highWaterMark": 1}) == "holds no integer rowIdHighWaterMark"


@pytest.mark.parametrize("configuration", ["", "{", "[]", "7"])
def test_system_domain_without_json_object_is_a_fault(configuration: str) -> None:
    assert (_fault("delta.rowTracking", configuration) or "").startswith(("is not JSON", "is not a JSON object"))


@pytest.mark.parametrize(
    ("domain", "configuration"),
    [
        ("delta.clustering", {"clusteringColumns": ["\ud800"]}),
        ("delta.clustering", {"clusteringColumns": [], "\udfff": 1}),
        ("delta.rowTracking", {"rowIdHighWaterMark": 1, "x": "\ud800"}),
    ],
)
def test_lone_surrogate_is_a_separate_fault(domain: str, configuration: object) -> None:
    assert _fault(domain, configuration) == LONE_SURROGATE


def test_configuration_of_a_user_domain_is_not_checked() -> None:
    assert _fault("mine", {"key1": "value1"}) is None
    assert _fault("mine", "anything") is None


def test_system_domains_belong_to_features() -> None:
    assert find_domain_feature("delta.clustering") == "clustering"
    assert find_domain_feature("delta.rowTracking") == "rowTracking"
    assert find_domain_feature("delta.unheard") is None
    assert find_domain_feature("app.settings") is None


@pytest.mark.parametrize("domain", ["delta.clustering", "delta.rowTracking"])
@pytest.mark.parametrize("revision", Revision)
def test_system_domain_has_a_feature_since_the_revision_that_defines_it(domain: str, revision: Revision) -> None:
    assert (find_domain_feature(domain, revision) is not None) == revision.since(Revision.R3)
