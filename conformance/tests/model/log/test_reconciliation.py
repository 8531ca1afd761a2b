"""Action Reconciliation: commits to a snapshot."""

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
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.model.log.reconciliation import (
    EMPTY_SNAPSHOT,
    Snapshot,
    apply_action,
    build_checkpoint_snapshot,
    get_file_key,
    is_expired,
    replay_commit,
    replay_log,
)
from deltaspec.protocol.actions import Action, Cdc, CheckpointMetadata, CommitInfo, Remove, RowIdHighWaterMark, Sidecar
from deltaspec.protocol.revisions import Revision

BEFORE_CURRENT = [Revision.R1, Revision.R2, Revision.R3]


def state(*commits: list[Action], revision: Revision = Revision.CURRENT) -> Snapshot:
    """The snapshot after commits 0, 1, ..."""
    return replay_log(dict(enumerate(commits)), to=len(commits) - 1, revision=revision)


def live(snapshot: Snapshot) -> set[tuple[str, str | None]]:
    return set(snapshot.files)


def test_snapshot_before_the_first_version_is_empty() -> None:
    assert Snapshot(-1, None, None, {}, {}, {}, {}, None, None) == EMPTY_SNAPSHOT
    assert state() == EMPTY_SNAPSHOT


def test_newest_protocol_and_metadata_win() -> None:
    found = state([protocol(1, 1), metadata(a="0")], [protocol(1, 2)], [metadata(a="2")])
    assert found.protocol == protocol(1, 2)
    assert found.metadata == metadata(a="2")
    assert found.version == 2


def test_commits_replay_in_the_order_of_versions() -> None:
    commits: dict[int, list[Action]] = {10: [txn("a", 10)], 9: [txn("a", 9)], 11: [txn("b", 11)]}
    base = replay_commit(EMPTY_SNAPSHOT, 8, [])
    assert replay_log(commits, base=base, to=10).transactions == {"a": txn("a", 10)}


def test_missing_commit_is_an_error() -> None:
    with pytest.raises(KeyError):
        replay_log({0: [], 2: []}, to=2)


def test_s24_last_recorded_transaction_wins_and_not_the_largest() -> None:
    assert state([txn("a", 9), txn("b", 1)], [txn("a", 4)]).transactions == {"a": txn("a", 4), "b": txn("b", 1)}


def test_newest_domain_wins() -> None:
    found = state([domain("x", "1"), domain("y", "1")], [domain("x", "2")])
    assert found.domains == {"x": domain("x", "2"), "y": domain("y", "1")}


def test_removed_domain_is_absent_from_snapshot() -> None:
    assert state([domain("x", "1")], [domain("x", "1", removed=True)]).domains == {}


def test_removed_domain_returns_with_a_newer_action() -> None:
    removed = domain("x", removed=True)
    assert state([domain("x", "1")], [removed], [domain("x", "3")]).domains == {"x": domain("x", "3")}


def test_removal_of_an_unknown_domain_has_no_effect() -> None:
    assert state([domain("x", removed=True)]) == Snapshot(version=0)


def test_commit_info_belongs_to_the_snapshot_version() -> None:
    first, second = CommitInfo(operation="first"), CommitInfo(operation="second")
    assert state([first], [second]).commit_info == second
    assert state([first], []).commit_info is None


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2])
def test_newest_row_id_high_water_mark_wins(revision: Revision) -> None:
    first = RowIdHighWaterMark(high_water_mark=9, preserved_row_ids=True if revision is Revision.R1 else None)
    second = RowIdHighWaterMark(high_water_mark=7)
    assert state([first], [], [second], [], revision=revision).row_id_high_water_mark == second


@pytest.mark.parametrize(
    "action",
    [
        Cdc(path="_change_data/x", partition_values={}, size=1, data_change=False),
        CheckpointMetadata(version=1),
        Sidecar(path="x.parquet", size_in_bytes=1, modification_time=0),
    ],
    ids=["cdc", "checkpointMetadata", "sidecar"],
)
def test_action_is_not_replayed(action: Action) -> None:
    before = state([add("a")])
    assert apply_action(before, action) == before


def test_replay_does_not_change_the_previous_snapshot() -> None:
    before = state([add("a"), domain("x"), txn("s", 1)])
    for action in (remove("a"), domain("x", removed=True), txn("s", 2), add("b")):
        apply_action(before, action)
    assert before == state([add("a"), domain("x"), txn("s", 1)])


def test_removed_file_is_a_tombstone_and_not_live() -> None:
    found = state([add("a"), add("b")], [remove("a")])
    assert live(found) == {("b", None)}
    assert found.tombstones == {("a", None): remove("a")}


def test_remove_of_an_unknown_file_is_a_tombstone() -> None:
    assert set(state([remove("a")]).tombstones) == {("a", None)}


def test_file_added_after_a_remove_is_not_a_tombstone() -> None:
    found = state([add("a")], [remove("a")], [add("a", size=7)])
    assert found.files == {("a", None): add("a", size=7)}
    assert found.tombstones == {}


def test_file_added_again_has_the_values_of_the_newest_action() -> None:
    found = state([add("a", stats='{"numRecords":1}')], [add("a", stats='{"numRecords":2}')])
    assert found.files == {("a", None): add("a", stats='{"numRecords":2}')}


def test_newest_tombstone_of_a_file_wins() -> None:
    found = state([add("a")], [remove("a", at=5)], [remove("a", at=9)])
    assert found.tombstones == {("a", None): remove("a", at=9)}


@pytest.mark.parametrize("revision", list(Revision))
def test_new_deletion_vector_makes_the_file_without_it_a_tombstone(revision: Revision) -> None:
    found = state([add("a")], [remove("a"), add("a", "one")], [remove("a", "one"), add("a", "two")], revision=revision)
    assert live(found) == {("a", vector_id("two"))}
    assert set(found.tombstones) == {("a", None), ("a", vector_id("one"))}


@pytest.mark.parametrize("revision", list(Revision))
def test_remove_names_its_deletion_vector(revision: Revision) -> None:
    found = state([add("a", "one")], [remove("a", "two")], revision=revision)
    assert live(found) == {("a", vector_id("one"))}
    assert set(found.tombstones) == {("a", vector_id("two"))}


def test_live_file_is_identified_by_path() -> None:
    assert live(state([add("a", "one")], [add("a", "two")])) == {("a", vector_id("two"))}
    assert live(state([add("a", "one")], [add("a")])) == {("a", None)}


@pytest.mark.parametrize("revision", BEFORE_CURRENT)
def test_live_file_is_identified_by_path_and_vector_before_current(revision: Revision) -> None:
    found = state([add("a", "one")], [add("a", "two")], revision=revision)
    assert live(found) == {("a", vector_id("one")), ("a", vector_id("two"))}


def test_replaced_vector_creates_no_tombstone() -> None:
    assert state([add("a", "one")], [add("a", "two")]).tombstones == {}


@pytest.mark.parametrize(
    ("first", "second"), [("a%20b", "a b"), ("%61", "a"), ("file:///x/y", "file:/x/y"), ("file:///x", "/x")]
)
def test_s09_spellings_of_one_path_are_one_file(first: str, second: str) -> None:
    assert get_file_key(add(first)) == get_file_key(remove(second))
    found = state([add(first)], [remove(second)])
    assert (found.files, len(found.tombstones)) == ({}, 1)


def test_s09_plus_is_not_a_space_and_case_matters() -> None:
    assert len({get_file_key(add(path)) for path in ("a+b", "a b", "A b", "a%2Bc")}) == 4


def test_e36_add_and_remove_of_one_file_in_one_commit_leave_it_live() -> None:
    """Such a commit violates the protocol; the result does not depend on the order of its lines."""
    actions: list[Action] = [remove("a"), add("a", size=3)]
    for each in (actions, actions[::-1]):
        found = state([add("a")], each)
        assert found.files == {("a", None): add("a", size=3)}, f"commit is {each}"
        assert found.tombstones == {}, f"commit is {each}"


def test_vector_id_without_offset() -> None:
    inline = add("a", "one").deletion_vector
    assert inline is not None
    assert inline.unique_id == "pfile:///one.bin@1"
    assert get_file_key(add("a"))[1] is None


def test_checkpoint_is_a_state_without_commit() -> None:
    found = build_checkpoint_snapshot(4, [add("a"), protocol(), metadata(), remove("b"), txn("s", 1), domain("x")])
    assert found == Snapshot(
        version=4,
        protocol=protocol(),
        metadata=metadata(),
        files={("a", None): add("a")},
        tombstones={("b", None): remove("b")},
        transactions={"s": txn("s", 1)},
        domains={"x": domain("x")},
    )


@pytest.mark.parametrize(
    ("removed_at", "clock", "expected"), [(100, 150, False), (100, 151, True), (None, 50, False), (None, 51, True)]
)
def test_s25_tombstone_expires_past_its_retention(removed_at: int | None, clock: int, expected: bool) -> None:
    tombstone: Remove = remove("a", at=removed_at)
    assert is_expired(tombstone, clock, 50) is expected


@small_log_settings
@given(small_logs())
def test_replay_returns_the_written_state(log: SmallLog) -> None:
    for version, expected_state in enumerate(log.expected_state):
        found = replay_log(log.commits, to=version)
        assert {key: add.size for key, add in found.files.items()} == {
            (name, vector_id(dv)): size for name, (dv, size) in expected_state.live.items()
        }
        assert set(found.tombstones) == {(name, vector_id(dv)) for name, dv in expected_state.removed_files}
        assert {app: each.version for app, each in found.transactions.items()} == expected_state.transactions
        assert {name: each.configuration for name, each in found.domains.items()} == expected_state.domains
        assert found.commit_info == CommitInfo(operation=f"commit {version}")
        assert found.protocol is not None, f"{version=}"
        assert found.metadata is not None, f"{version=}"


@small_log_settings
@given(small_logs(), st.sampled_from(BEFORE_CURRENT))
def test_revisions_agree_on_valid_logs(log: SmallLog, revision: Revision) -> None:
    last = len(log.expected_state) - 1
    assert replay_log(log.commits, to=last, revision=revision) == replay_log(log.commits, to=last)


@small_log_settings
@given(small_logs(), st.data())
def test_order_inside_a_commit_does_not_matter(log: SmallLog, data: st.DataObject) -> None:
    last = len(log.expected_state) - 1
    shuffled = {version: data.draw(st.permutations(actions)) for version, actions in log.commits.items()}
    assert replay_log(shuffled, to=last) == replay_log(log.commits, to=last)


@small_log_settings
@given(small_logs(), st.data())
def test_replay_may_pause_at_any_version(log: SmallLog, data: st.DataObject) -> None:
    last = len(log.expected_state) - 1
    base = replay_log(log.commits, to=data.draw(st.integers(0, last)))
    later = {version: actions for version, actions in log.commits.items() if version > base.version}
    assert replay_log(later, base=base, to=last) == replay_log(log.commits, to=last)
