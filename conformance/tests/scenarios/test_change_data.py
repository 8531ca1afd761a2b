"""A table of people with and without change data files: the changes are the same."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from helpers.scenario import Scenario, add, cdc, commit_info, field, metadata, protocol, remove, schema

from deltaspec.model.rows.row_changes import (
    ChangesUnavailable,
    FileContents,
    RowChange,
    compute_row_changes,
    find_versions_without_feed,
    get_commit_timestamp_ms,
    read_rows,
)
from deltaspec.protocol.actions import Action, CommitInfo
from deltaspec.protocol.files.deletion_vectors import build_inline_descriptor
from deltaspec.protocol.revisions import Revision

PEOPLE = schema(field("id"), field("name", "string"), field("city", "string"))
SETTINGS = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
FEATURES = ("deletionVectors",)
PROTOCOL = protocol(3, 7, FEATURES, (*FEATURES, "changeDataFeed"))

Person = tuple[int, str, str]
ANN, BOB, CAT, DAN = (1, "Ann", "Oslo"), (2, "Bob", "Oslo"), (3, "Cat", "Rome"), (4, "Dan", "Rome")
EVE, BOBBY, CATHY = (5, "Eve", "Rome"), (2, "Bobby", "Oslo"), (3, "Cathy", "Rome")

HAPPENED: dict[int, list[tuple[str, Person]]] = {
    0: [],
    1: [("insert", ANN), ("insert", BOB)],
    2: [("insert", CAT), ("insert", DAN)],
    3: [("update_preimage", BOB), ("update_postimage", BOBBY)],
    4: [("delete", DAN)],
    5: [("update_preimage", CAT), ("update_postimage", CATHY), ("delete", ANN), ("insert", EVE)],
    6: [],
    7: [("delete", CATHY), ("delete", EVE)],
    8: [
        ("delete", BOBBY),
        ("insert", ANN),
        ("insert", BOB),
        ("insert", CAT),
        ("insert", DAN),
    ],
    9: [("delete", CAT), ("insert", CATHY)],
}
"""Expected changes by version, written by hand."""
LIVE: dict[int, list[Person]] = {
    1: [ANN, BOB],
    2: [ANN, BOB, CAT, DAN],
    3: [ANN, BOBBY, CAT, DAN],
    4: [ANN, BOBBY, CAT],
    5: [BOBBY, CATHY, EVE],
    6: [BOBBY, CATHY, EVE],
    7: [BOBBY],
    8: [ANN, BOB, CAT, DAN],
    9: [ANN, BOB, CATHY, DAN],
}

OSLO, ROME = {"city": "Oslo"}, {"city": "Rome"}


def stored(*people: Person, kinds: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Build the rows of a file of a city: all columns except the city."""
    kept: list[dict[str, Any]] = [{"id": number, "name": name} for number, name, _ in people]
    for row, kind in zip(kept, kinds, strict=False):
        row["_change_type"] = kind
    return kept


FILES = FileContents(
    rows={
        "oslo-1": stored(ANN, BOB),
        "rome-2": stored(CAT, DAN),
        "oslo-3": stored(ANN, BOBBY),
        "oslo-5": stored(BOBBY),
        "rome-5": stored(CATHY, EVE),
        "oslo-6": stored(BOBBY),
        "rome-6": stored(CATHY, EVE),
        "rome-9": stored(CATHY),
        "_change_data/city=Oslo/3": stored(BOB, BOBBY, kinds=["update_preimage", "update_postimage"]),
        "_change_data/city=Rome/4": stored(DAN, kinds=["delete"]),
        "_change_data/city=Rome/5": stored(CAT, CATHY, EVE, kinds=["update_preimage", "update_postimage", "insert"]),
        "_change_data/city=Oslo/5": stored(ANN, kinds=["delete"]),
        "_change_data/city=Oslo/8": stored(BOBBY, ANN, BOB, kinds=["delete", "insert", "insert"]),
        "_change_data/city=Rome/8": stored(CAT, DAN, kinds=["insert", "insert"]),
        "_change_data/city=Rome/9": stored(CAT, CATHY, kinds=["delete", "insert"]),
    }
)

WITHOUT_DAN = build_inline_descriptor([1])
WITHOUT_CAT = build_inline_descriptor([0])


def oslo(path: str, **more: Any) -> Action:
    return add(path, rows=len(FILES.rows[path]), partition_values=OSLO, **more)


def rome(path: str, **more: Any) -> Action:
    return add(path, rows=len(FILES.rows[path]), partition_values=ROME, **more)


def changed(path: str) -> Action:
    return cdc(f"_change_data/{path}", partition_values=OSLO if "Oslo" in path else ROME)


MOVED: dict[str, Any] = {"data_change": False}


def scenario(*, recorded: bool, revision: Revision = Revision.CURRENT) -> Scenario:
    """Build the table; `recorded` adds change data files where rows are updated or files are rewritten."""

    def also(*paths: str) -> list[Action]:
        return [changed(path) for path in paths] if recorded else []

    people = Scenario(PROTOCOL, metadata(SETTINGS, PEOPLE, ["city"]), revision=revision)
    people.commit(oslo("oslo-1"))
    people.commit(rome("rome-2"))
    # UPDATE name of Bob: Ann is copied
    people.commit(remove("oslo-1"), oslo("oslo-3"), *also("city=Oslo/3"))
    # DELETE Dan, by a vector
    people.commit(remove("rome-2"), rome("rome-2", deletion_vector=WITHOUT_DAN), *also("city=Rome/4"))
    # MERGE: Cat is renamed, Ann deleted, Eve inserted
    people.commit(
        remove("oslo-3"),
        oslo("oslo-5"),
        remove("rome-2", deletion_vector=WITHOUT_DAN),
        rome("rome-5"),
        *also("city=Oslo/5", "city=Rome/5"),
    )
    # OPTIMIZE
    people.commit(
        remove("oslo-5", **MOVED), oslo("oslo-6", **MOVED), remove("rome-5", **MOVED), rome("rome-6", **MOVED)
    )
    # DELETE WHERE city = 'Rome': removes a partition
    people.commit(remove("rome-6"))
    # RESTORE to version 2
    people.commit(remove("oslo-6"), oslo("oslo-1"), rome("rome-2"), *also("city=Oslo/8", "city=Rome/8"))
    # Cat is deleted by a vector and Cathy inserted
    people.commit(remove("rome-2"), rome("rome-2", deletion_vector=WITHOUT_CAT), rome("rome-9"), *also("city=Rome/9"))
    return people


def named(found: Iterable[RowChange]) -> list[tuple[str, Person]]:
    return [(each.change_type, (each.row["id"], each.row["name"], each.row["city"])) for each in found]


def net(happened: Iterable[tuple[str, Person]]) -> dict[Person, int]:
    """Return the number of inserts minus deletes of each row."""
    balance: Counter[Person] = Counter()
    for kind, person in happened:
        balance[person] += 1 if kind in ("insert", "update_postimage") else -1
    return {person: times for person, times in balance.items() if times}


each_revision = pytest.mark.parametrize("revision", list(Revision))
each_version = pytest.mark.parametrize("version", sorted(HAPPENED))


@each_version
@each_revision
def test_changes_from_change_data_files(version: int, revision: Revision) -> None:
    changes = compute_row_changes(
        scenario(recorded=True, revision=revision).commits, version, version, files=FILES, revision=revision
    )
    assert Counter(named(changes)) == Counter(HAPPENED[version])
    assert {each.commit_version for each in changes} <= {version}


@each_version
@each_revision
def test_changes_from_data_files_are_equal_except_copied_rows(version: int, revision: Revision) -> None:
    commits = scenario(recorded=False, revision=revision).commits
    changes = named(compute_row_changes(commits, version, version, files=FILES, revision=revision))
    assert net(changes) == net(HAPPENED[version])
    assert {kind for kind, _ in changes} <= {"insert", "delete"}


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("version", sorted(LIVE))
def test_live_rows(version: int, recorded: bool) -> None:
    rows = read_rows(scenario(recorded=recorded)[version], FILES)
    assert sorted((row["id"], row["name"], row["city"]) for row in rows) == sorted(LIVE[version])


def test_copied_rows_are_deleted_and_inserted_without_change_data() -> None:
    changes = named(compute_row_changes(scenario(recorded=False).commits, 3, 3, files=FILES))
    assert changes == [("delete", ANN), ("delete", BOB), ("insert", ANN), ("insert", BOBBY)]


def test_only_the_row_of_a_new_vector_is_deleted() -> None:
    changes = named(compute_row_changes(scenario(recorded=False).commits, 4, 4, files=FILES))
    assert changes == [("delete", DAN)]


def test_removing_a_vector_restores_its_row() -> None:
    commits = dict(scenario(recorded=False).commits)
    commits[10] = (remove("rome-2", deletion_vector=WITHOUT_CAT), rome("rome-2"))
    assert named(compute_row_changes(commits, 10, 10, files=FILES)) == [("insert", CAT)]
    # and under a vector that hides another one, one comes and one goes
    commits[10] = (remove("rome-2", deletion_vector=WITHOUT_CAT), rome("rome-2", deletion_vector=WITHOUT_DAN))
    assert named(compute_row_changes(commits, 10, 10, files=FILES)) == [("delete", DAN), ("insert", CAT)]


def test_all_versions_in_one_request() -> None:
    changes = compute_row_changes(scenario(recorded=True).commits, 0, 9, files=FILES)
    expected = [(version, each) for version, list_of in HAPPENED.items() for each in list_of]
    assert Counter((each.commit_version, one) for each, one in zip(changes, named(changes), strict=True)) == Counter(
        expected
    )
    assert [each.commit_version for each in changes] == sorted(each.commit_version for each in changes)


def test_changes_after_a_checkpoint_are_available() -> None:
    people = scenario(recorded=False)
    rest = {version: actions for version, actions in people.commits.items() if version > 5}
    assert named(compute_row_changes(rest, 7, 7, files=FILES, base=people[5])) == HAPPENED[7]
    with pytest.raises(ChangesUnavailable) as raised:
        compute_row_changes(rest, 5, 7, files=FILES, base=people[5])
    assert (raised.value.reason, raised.value.versions) == ("no log", (5,))
    with pytest.raises(ChangesUnavailable) as not_there_yet:
        compute_row_changes(rest, 9, 11, files=FILES, base=people[5])
    assert (not_there_yet.value.reason, not_there_yet.value.versions) == ("no log", (10, 11))


@each_revision
def test_feed_disabled_for_some_versions(revision: Revision) -> None:
    people = scenario(recorded=True, revision=revision)
    people.commit(metadata({**SETTINGS, "delta.enableChangeDataFeed": "false"}, PEOPLE, ["city"]))
    people.commit(remove("oslo-1"), oslo("oslo-3"))
    people.commit(metadata(SETTINGS, PEOPLE, ["city"]))
    commits = people.commits
    assert find_versions_without_feed(commits, 0, 12, revision=revision) == [10, 11]
    with pytest.raises(ChangesUnavailable) as off:
        compute_row_changes(commits, 9, 12, files=FILES, revision=revision)
    assert (off.value.reason, off.value.versions) == ("feed not enabled", (10, 11))
    changes = compute_row_changes(commits, 10, 12, files=FILES, feed_required=False, revision=revision)
    assert net(named(changes)) == {BOB: -1, BOBBY: 1}


def test_time_of_a_change_is_the_time_of_the_commit_file() -> None:
    changes = compute_row_changes(scenario(recorded=True).commits, 3, 4, files=FILES, modification_times_ms={3: 3_000})
    assert [each.commit_timestamp_ms for each in changes] == [3_000, 3_000, None]
    assert changes[0].with_commit_columns == {
        "id": 2,
        "name": "Bob",
        "city": "Oslo",
        "_change_type": "update_preimage",
        "_commit_version": 3,
        "_commit_timestamp": 3_000_000,
    }


TIMED: dict[str, str] = {**SETTINGS, "delta.enableInCommitTimestamps": "true"}


def timed_life() -> tuple[Scenario, CommitInfo]:
    """Build a table with in-commit timestamps since version 2, whose clock is behind that of the store."""
    people = Scenario(
        protocol(3, 7, FEATURES, (*FEATURES, "changeDataFeed", "inCommitTimestamp")),
        metadata(SETTINGS, PEOPLE, ["city"]),
    )
    people.commit(oslo("oslo-1"))
    recorded = {"delta.inCommitTimestampEnablementVersion": "2", "delta.inCommitTimestampEnablementTimestamp": "500"}
    info = commit_info(in_commit_timestamp=500)
    people.commit(info, metadata({**TIMED, **recorded}, PEOPLE, ["city"]), rome("rome-2"))
    return people, info


def test_time_of_a_change_is_the_in_commit_timestamp_if_enabled() -> None:
    people, _ = timed_life()
    changes = compute_row_changes(people.commits, 1, 2, files=FILES, modification_times_ms={1: 1_000, 2: 2_000})
    assert [each.commit_timestamp_ms for each in changes] == [1_000, 1_000, 500, 500]


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_only_use_the_file_time(revision: Revision) -> None:
    people, _ = timed_life()
    assert get_commit_timestamp_ms(people[2], 2_000, revision) == 2_000
