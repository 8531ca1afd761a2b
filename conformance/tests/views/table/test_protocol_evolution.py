"""Changes of the protocol. Source: Table Features for New and Existing Tables, Supported Features."""

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.revisions import Revision
from deltaspec.views.table.protocol_evolution import (
    find_illegal_removals,
    find_omitted_features,
    find_removals_judged_elsewhere,
    get_listed_features,
)


def _protocol(reader: int, writer: int, readers: list[str] | None = None, writers: list[str] | None = None) -> Protocol:
    return Protocol(
        min_reader_version=reader, min_writer_version=writer, reader_features=readers, writer_features=writers
    )


LEGACY = _protocol(1, 4)


def test_listed_features_are_those_of_both_lists() -> None:
    assert get_listed_features(_protocol(3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"])) == {
        "deletionVectors",
        "appendOnly",
    }
    assert get_listed_features(LEGACY) == set()


def test_removed_feature_is_illegal() -> None:
    before = _protocol(1, 7, None, ["appendOnly", "invariants"])
    assert find_illegal_removals(before, _protocol(1, 7, None, ["invariants"])) == ["appendOnly"]
    assert find_illegal_removals(before, _protocol(1, 2)) == []
    assert find_illegal_removals(before, _protocol(1, 7, None, ["invariants", "appendOnly", "domainMetadata"])) == []
    assert find_illegal_removals(None, before) == []
    assert find_illegal_removals(before, _protocol(1, 7)) == []


def test_removals_that_are_not_a_question_of_e41() -> None:
    """A proposal defines the removal of checkpointProtection; clustering still requires domainMetadata."""
    before = _protocol(1, 7, None, ["appendOnly", "checkpointProtection", "clustering", "domainMetadata"])
    after = _protocol(1, 7, None, ["clustering"])
    assert find_removals_judged_elsewhere(before, after) == ["checkpointProtection", "domainMetadata"]
    assert find_removals_judged_elsewhere(before, after, Revision.R3) == ["domainMetadata"]
    assert find_removals_judged_elsewhere(before, _protocol(1, 2)) == ["checkpointProtection"]
    assert find_removals_judged_elsewhere(None, after) == []
    assert find_removals_judged_elsewhere(before, _protocol(1, 7)) == []


def test_both_spellings_of_a_feature_are_the_same() -> None:
    before, after = (
        _protocol(3, 7, ["timestampNTZ"], ["timestampNTZ"]),
        _protocol(3, 7, ["timestampNtz"], ["timestampNtz"]),
    )
    assert find_illegal_removals(before, after, Revision.R1) == []
    assert find_illegal_removals(before, after, Revision.R3) == ["timestampNTZ"]


def test_used_feature_omitted_on_upgrade_is_found() -> None:
    """The protocol's example: a change data feed that was enabled temporarily."""
    used = {"changeDataFeed", "identityColumns"}
    after = _protocol(3, 7, [], ["appendOnly"])
    assert find_omitted_features(LEGACY, after, used) == ["changeDataFeed"]
    assert find_omitted_features(LEGACY, _protocol(3, 7, [], ["changeDataFeed"]), used) == []
    assert find_omitted_features(LEGACY, _protocol(3, 7, [], ["changeDataFeed", "invariants"]), used) == []


def test_only_upgrades_to_lists_are_checked() -> None:
    used = {"changeDataFeed"}
    assert find_omitted_features(None, _protocol(1, 7, None, []), used) == []
    assert find_omitted_features(LEGACY, _protocol(1, 5), used) == []
    assert find_omitted_features(LEGACY, _protocol(1, 7), used) == []
    assert find_omitted_features(_protocol(1, 7, None, ["changeDataFeed"]), _protocol(1, 7, None, []), used) == []
