"""Log compactions are equivalent to their commits. Source: Log Compaction Files."""

import msgspec
import pytest
from helpers.small_logs import (
    SmallLog,
    add,
    domain,
    metadata,
    protocol,
    remove,
    small_log_settings,
    small_logs,
    txn,
    vector_id,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from deltaspec.model.log.compaction import build_compaction, compare_compaction
from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, replay_commit, replay_log
from deltaspec.protocol.actions import Action, Cdc, CommitInfo, Txn
from deltaspec.protocol.log.file_names import commit_name, compaction_name
from deltaspec.protocol.log.segment import choose_segment
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import Primitive

APP = "3ae45b72-24e1-865a-a211-34987ae02f2a"
V19: dict[int, list[Action]] = {
    4: [CommitInfo(), add("f2"), remove("f1")],
    5: [CommitInfo(), add("f3"), add("f4"), txn(APP, 4389)],
    6: [CommitInfo(), remove("f3"), txn(APP, 4390)],
}
V19_COMPACTED: list[Action] = [add("f2"), add("f4"), remove("f1"), remove("f3"), txn(APP, 4390)]


def test_v19_protocol_example() -> None:
    assert build_compaction(V19, 4, 6) == V19_COMPACTED
    assert compare_compaction(V19, 4, 6, V19_COMPACTED) == []


def test_remove_of_a_file_added_inside_the_range_is_kept() -> None:
    assert build_compaction({1: [add("a")], 2: [remove("a")]}, 1, 2) == [remove("a")]


def test_file_added_again_inside_the_range_has_no_remove() -> None:
    assert build_compaction({1: [remove("a")], 2: [add("a")]}, 1, 2) == [add("a")]


def test_replaced_vectors_leave_one_remove_each() -> None:
    commits: dict[int, list[Action]] = {
        1: [remove("a"), add("a", "one")],
        2: [remove("a", "one"), add("a", "two")],
    }
    assert build_compaction(commits, 1, 2) == [add("a", "two"), remove("a"), remove("a", "one")]


def test_s26_removed_domain_is_kept_as_a_tombstone() -> None:
    removed = domain("x", removed=True)
    commits: dict[int, list[Action]] = {1: [domain("x", "1"), domain("y", "1")], 2: [removed]}
    assert build_compaction(commits, 1, 2) == [removed, domain("y", "1")]
    before = replay_commit(EMPTY_SNAPSHOT, 0, [domain("x", "0")])
    assert replay_commit(before, 2, build_compaction(commits, 1, 2)).domains == {"y": domain("y", "1")}


def test_protocol_and_metadata_are_the_newest_of_the_range() -> None:
    commits: dict[int, list[Action]] = {1: [metadata(a="1"), protocol()], 2: [metadata(a="2")], 3: [add("a")]}
    assert build_compaction(commits, 1, 3) == [protocol(), metadata(a="2"), add("a")]
    assert build_compaction(commits, 2, 3) == [metadata(a="2"), add("a")]


def test_actions_of_single_commits_are_omitted() -> None:
    cdc = Cdc(path="_change_data/x", partition_values={}, size=1, data_change=False)
    assert build_compaction({1: [CommitInfo(), cdc], 2: [CommitInfo(), add("a")]}, 1, 2) == [add("a")]


def test_commits_outside_the_range_are_ignored() -> None:
    commits: dict[int, list[Action]] = {0: [txn("s", 0)], 1: [add("a")], 2: [add("b")], 3: [remove("a")]}
    assert build_compaction(commits, 1, 2) == [add("a"), add("b")]


@pytest.mark.parametrize(("start", "end"), [(2, 1), (1, 1)])
def test_range_has_at_least_two_commits(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="cannot compact"):
        build_compaction({1: [add("a")], 2: []}, start, end)


def test_r3_allows_a_single_commit() -> None:
    assert build_compaction({1: [add("a")]}, 1, 1, Revision.R3) == [add("a")]


def test_missing_commit_is_an_error() -> None:
    with pytest.raises(KeyError):
        build_compaction({1: [], 3: []}, 1, 3)


def difference(derived: list[Action]) -> list[tuple[object, ...]]:
    found = compare_compaction(V19, 4, 6, derived)
    assert [each for each in found if not each.retained] == []
    return [(each.kind, each.key, each.what, each.field) for each in found]


def without(path_or_app: str) -> list[Action]:
    return [
        each for each in V19_COMPACTED if path_or_app not in (getattr(each, "path", ""), getattr(each, "app_id", ""))
    ]


def test_order_of_a_compaction_has_no_meaning() -> None:
    assert difference(V19_COMPACTED[::-1]) == []


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ("f2", ("add", ("f2", None), "missing", None)),
        ("f1", ("remove", ("f1", None), "missing", None)),
        ("f3", ("remove", ("f3", None), "missing", None)),
        (APP, ("txn", APP, "missing", None)),
    ],
)
def test_missing_actions_of_a_compaction(lost: str, expected: tuple[object, ...]) -> None:
    assert difference(without(lost)) == [expected]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (add("f9"), ("add", ("f9", None), "extra", None)),
        (remove("f9"), ("remove", ("f9", None), "extra", None)),
        (domain("x", removed=True), ("domainMetadata", "x", "extra", None)),
        (protocol(), ("protocol", None, "extra", None)),
        (metadata(), ("metaData", None, "extra", None)),
    ],
    ids=["add", "remove", "domain", "protocol", "metaData"],
)
def test_extra_actions_of_a_compaction(more: Action, expected: tuple[object, ...]) -> None:
    assert difference([*V19_COMPACTED, more]) == [expected]


def test_older_transaction_version_is_a_difference() -> None:
    assert difference([*without(APP), Txn(app_id=APP, version=4389)]) == [("txn", APP, "differs", "version")]


def test_commit_info_in_a_compaction_is_not_compared() -> None:
    assert difference([CommitInfo(operation="x"), *V19_COMPACTED]) == []


def test_missing_domain_tombstone_is_a_difference() -> None:
    commits: dict[int, list[Action]] = {1: [domain("x")], 2: [domain("x", removed=True)]}
    (lost,) = compare_compaction(commits, 1, 2, [])
    assert (lost.kind, lost.key, lost.what) == ("domainMetadata", "x", "missing")
    (alive,) = compare_compaction(commits, 1, 2, [domain("x")])
    assert (alive.field, alive.derived, alive.replayed) == ("removed", False, True)


def test_other_vector_is_another_file() -> None:
    commits: dict[int, list[Action]] = {1: [remove("a"), add("a", "one")], 2: []}
    found = compare_compaction(commits, 1, 2, [remove("a"), add("a", "two")])
    assert {(each.kind, each.key, each.what) for each in found} == {
        ("add", ("a", vector_id("one")), "missing"),
        ("add", ("a", vector_id("two")), "extra"),
    }


def test_partition_values_are_compared_by_known_type() -> None:
    def valued(text: str) -> Action:
        return msgspec.structs.replace(add("a"), partition_values={"p": text})

    commits: dict[int, list[Action]] = {1: [valued("007")], 2: []}
    assert compare_compaction(commits, 1, 2, [valued("7")], types={"p": Primitive("integer")}) == []
    (found,) = compare_compaction(commits, 1, 2, [valued("7")])
    assert found.field == "partitionValues"


@small_log_settings
@given(small_logs(), st.data())
def test_replay_with_a_compaction_equals_replay_of_its_commits(log: SmallLog, data: st.DataObject) -> None:
    last = len(log.expected_state) - 1
    assume(last >= 1)
    start = data.draw(st.integers(0, last - 1))
    end = data.draw(st.integers(start + 1, last))
    names = [*map(commit_name, log.commits), compaction_name(start, end)]
    found = choose_segment(names, use_compactions=True)
    (compaction,) = found.compactions
    steps = {version: log.commits[version] for version in found.commits}
    steps[compaction.end] = data.draw(st.permutations(build_compaction(log.commits, compaction.start, compaction.end)))
    snapshot = EMPTY_SNAPSHOT
    for version in sorted(steps):
        snapshot = replay_commit(snapshot, version, steps[version])
    expected = replay_log(log.commits, to=last)
    if end == last:
        # commitInfo is read from the commit of the snapshot's version
        assert snapshot.commit_info is None
        assert expected.commit_info is not None
        snapshot = replay_commit(snapshot, last, [expected.commit_info])
    assert snapshot == expected


@small_log_settings
@given(small_logs(), st.data())
def test_compaction_of_a_range_never_differs_from_it(log: SmallLog, data: st.DataObject) -> None:
    last = len(log.expected_state) - 1
    assume(last >= 1)
    start = data.draw(st.integers(0, last - 1))
    derived = build_compaction(log.commits, start, last)
    assert compare_compaction(log.commits, start, last, data.draw(st.permutations(derived))) == []
    assume(derived)
    lost = data.draw(st.sampled_from(derived))
    (found,) = compare_compaction(log.commits, start, last, [each for each in derived if each is not lost])
    assert (found.what, found.replayed) == ("missing", lost)
