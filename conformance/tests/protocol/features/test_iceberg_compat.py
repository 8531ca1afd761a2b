"""Iceberg compatibility: enabled versions, and protocols under which readers support it."""

import pytest
from helpers.scenario import protocol

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.features.iceberg_compat import get_enabled_compatibilities, readers_support_mapping
from deltaspec.protocol.revisions import Revision

V1, V2 = {"delta.enableIcebergCompatV1": "true"}, {"delta.enableIcebergCompatV2": "TRUE"}


@pytest.mark.parametrize(
    ("features", "settings", "answer"),
    [
        (["icebergCompatV1"], V1, ("V1",)),
        (["icebergCompatV2"], V2, ("V2",)),
        (["icebergCompatV1", "icebergCompatV2"], {**V1, **V2}, ("V1", "V2")),
        (["icebergCompatV1"], V2, ()),
        (["icebergCompatV1"], {"delta.enableIcebergCompatV1": "false"}, ()),
    ],
)
def test_compatibility_is_enabled_by_feature_and_property(
    features: list[str], settings: dict[str, str], answer: tuple[str, ...]
) -> None:
    assert get_enabled_compatibilities(features, settings) == answer
    assert get_enabled_compatibilities(features, settings, Revision.R3) == answer
    assert get_enabled_compatibilities(features, settings, Revision.R2) == ()


def test_proposal_is_known_to_the_current_revision() -> None:
    features, settings = ["icebergCompatV3", "icebergCompatV1"], {**V1, "delta.enableIcebergCompatV3": "true"}
    assert get_enabled_compatibilities(features, settings) == ("V3", "V1")
    assert get_enabled_compatibilities(features, settings, Revision.R3) == ("V1",)


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        (protocol(2, 7, None, ["columnMapping"]), True),
        (protocol(3, 7, ["columnMapping"], ["columnMapping"]), True),
        (protocol(3, 7, [], ["columnMapping"]), False),
        (protocol(1, 7, None, ["columnMapping"]), False),
    ],
)
def test_readers_support_mapping_by_version_2_or_by_list(action: Protocol, answer: bool) -> None:
    assert readers_support_mapping(action) is answer
