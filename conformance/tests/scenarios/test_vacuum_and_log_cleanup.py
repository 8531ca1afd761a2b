"""A table that removes files over twenty days, its vacuums, and the cleanup of its log.

Times are days, in milliseconds since the epoch; day 0 begins at midnight UTC.
"""

from collections.abc import Iterable

import pytest
from helpers.scenario import Scenario, add, commit_info, metadata, protocol, remove

from deltaspec.model.decisions import Accepted, Refused
from deltaspec.model.log.cleanup import (
    compute_cutoff,
    find_cutoff_checkpoint,
    find_cutoff_commit,
    find_removable_files,
    find_removable_sidecars,
    floor_to_midnight,
    get_protected_before_version,
    may_clean_up,
    may_drop_protection,
    may_write_checkpoint,
    was_cleaned_up_too_early,
)
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.model.rows.file_retention import RetentionReason, get_retention_reason, may_be_removed, may_vacuum
from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.log.file_names import checksum_name, classic_checkpoint_name, commit_name, staged_commit_name
from deltaspec.protocol.log.segment import choose_segment, find_readable_versions
from deltaspec.protocol.revisions import Revision
from deltaspec.views.files.file_retention import find_shortest_file_retention_ms
from deltaspec.views.table.log_retention import find_shortest_log_retention_ms

DAY, HOUR = 86_400_000, 3_600_000
VECTORS = ["deletionVectors"]
SETTINGS = {"delta.enableDeletionVectors": "true"}
FIRST = DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 2, 1)
FIRST_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
SECOND = DeletionVectorDescriptor("p", "file:///table/vectors/second.bin", 40, 3, 1)


@pytest.fixture(scope="module")
def table() -> Scenario:
    # day 1: a table of four files
    scenario = Scenario(protocol(3, 7, VECTORS, VECTORS), metadata(SETTINGS), *(add(each, 10) for each in "abcd"))
    # day 2: one file is removed, another added
    scenario.commit(remove("a", deletion_timestamp=2 * DAY), add("e", 10))
    # day 3: a vector deletes rows of b, on day 5 another one deletes more
    scenario.commit(remove("b", deletion_timestamp=3 * DAY), add("b", 10, deletion_vector=FIRST))
    again = remove("b", deletion_timestamp=5 * DAY, deletion_vector=FIRST)
    scenario.commit(again, add("b", 10, deletion_vector=SECOND))
    # day 6: b is removed, and c without a timestamp
    scenario.commit(remove("b", deletion_timestamp=6 * DAY, deletion_vector=SECOND), remove("c"))
    # day 9: a is added again unchanged
    scenario.commit(add("a", 10))
    # day 10: the owner wants to keep removed files for an hour only
    scenario.commit(metadata(SETTINGS | {"delta.deletedFileRetentionDuration": "interval 1 hour"}))
    # day 12: d is removed
    scenario.commit(remove("d", deletion_timestamp=12 * DAY))
    return scenario


def get_reasons(
    snapshot: Snapshot, clock_ms: int, *paths: str, written_ms: int = DAY
) -> dict[str, RetentionReason | None]:
    return {path: get_retention_reason(path, written_ms, snapshot, clock_ms, "/table") for path in paths}


def test_live_files_are_kept_regardless_of_age(table: Scenario) -> None:
    assert get_reasons(table[7], 999 * DAY, "a", "e") == {"a": "it is live", "e": "it is live"}


def test_removed_files_are_kept_for_a_week(table: Scenario) -> None:
    assert get_reasons(table[1], 9 * DAY, "a") == {"a": "its tombstone has not expired"}
    assert get_reasons(table[1], 9 * DAY + 1, "a") == {"a": None}
    assert may_be_removed("a", DAY, table[1], 9 * DAY + 1)


def test_readded_file_is_live(table: Scenario) -> None:
    assert get_reasons(table[4], 30 * DAY, "a") == {"a": None}
    assert get_reasons(table[5], 30 * DAY, "a") == {"a": "it is live"}


def test_retention_comes_from_the_latest_metadata(table: Scenario) -> None:
    assert get_reasons(table[6], 6 * DAY + HOUR, "b") == {"b": "its tombstone has not expired"}
    assert get_reasons(table[7], 12 * DAY + HOUR, "b", "d") == {"b": None, "d": "its tombstone has not expired"}
    assert get_reasons(table[7], 12 * DAY + HOUR + 1, "d") == {"d": None}


def test_remove_without_timestamp_has_expired(table: Scenario) -> None:
    """S25."""
    assert get_reasons(table[4], 8 * DAY, "b", "c", written_ms=0) == {"b": "its tombstone has not expired", "c": None}


def test_vector_files_are_kept_while_needed(table: Scenario) -> None:
    second = "vectors/second.bin"
    live, lately = (
        "a live file needs its deletion vector",
        ("an unexpired tombstone needs its deletion vector"),
    )
    assert get_reasons(table[2], 30 * DAY, FIRST_FILE) == {FIRST_FILE: live}
    assert get_reasons(table[3], 12 * DAY, FIRST_FILE, second) == {FIRST_FILE: lately, second: live}
    assert get_reasons(table[3], 12 * DAY + 1, FIRST_FILE, second) == {FIRST_FILE: None, second: live}
    assert get_reasons(table[4], 13 * DAY, second) == {second: lately}


def test_unreferenced_files_are_kept_by_age(table: Scenario) -> None:
    """A file being written has no action yet; no action keeps change data files."""
    paths = ("part-0.parquet", "_change_data/cdc-0.parquet", "_day=1/part-1.parquet")
    young: RetentionReason = "it is recent and may belong to a future commit"
    assert get_reasons(table[0], 20 * DAY, *paths, written_ms=13 * DAY) == dict.fromkeys(paths, young)
    assert get_reasons(table[0], 20 * DAY + 1, *paths, written_ms=13 * DAY) == dict.fromkeys(paths)


def test_vacuum_keeps_log_and_hidden_files(table: Scenario) -> None:
    assert get_reasons(table[7], 999 * DAY, "_delta_log/00000000000000000000.json", "_metadata/x", ".part-0.crc") == {
        "_delta_log/00000000000000000000.json": "it belongs to the log",
        "_metadata/x": "it is hidden",
        ".part-0.crc": "it is hidden",
    }


def test_shortest_retention_that_applied() -> None:
    assert find_shortest_file_retention_ms([]) is None
    assert find_shortest_file_retention_ms([None]) == 7 * DAY
    assert find_shortest_file_retention_ms([None, "interval 1 hour", "interval 30 days"]) == HOUR
    assert find_shortest_file_retention_ms(["interval 30 days"]) == 30 * DAY
    assert find_shortest_file_retention_ms([None, "soon"]) is None
    assert find_shortest_log_retention_ms(["interval 30 days", "7 days"]) == 7 * DAY
    assert find_shortest_log_retention_ms([None, "7 days"]) is None


def test_vacuum_requires_write_support() -> None:
    checked = protocol(3, 7, ["vacuumProtocolCheck"], ["vacuumProtocolCheck", "rowTracking", "domainMetadata"])
    unchecked = protocol(1, 7, None, ["rowTracking", "domainMetadata"])
    every = ["vacuumProtocolCheck", "rowTracking", "domainMetadata"]
    few = ["vacuumProtocolCheck", "domainMetadata"]
    assert may_vacuum(checked, every) == may_vacuum(unchecked, few) == Accepted()
    why = "vacuum-protocol-check.checked-before-vacuum"
    assert may_vacuum(checked, few) == Refused(why, "writer features rowTracking")
    assert may_vacuum(checked, [], max_reader=2) == Refused("protocol.versions-supported", "reader version 3")
    assert may_vacuum(checked, every, max_writer=6) == Refused(why, "writer version 7")
    assert may_vacuum(checked, few, revision=Revision.R3) == Accepted()


# The log: a commit a day at noon, checkpoints of versions 4 and 8.

NOON = {version: version * DAY + DAY // 2 for version in range(13)}
UUID = "016ae953-37a9-438e-8683-9a9a4a79a395"
LOG = [
    *(commit_name(version) for version in NOON),
    *(checksum_name(version) for version in NOON),
    *(classic_checkpoint_name(version) for version in (4, 8)),
    *(f"{start:020d}.{end:020d}.compacted.json" for start, end in ((1, 3), (4, 6), (5, 7))),
    *(staged_commit_name(version, UUID) for version in (3, 4, 5)),
    "_last_checkpoint",
    "_sidecars/old.parquet",
]


def numbers(names: Iterable[str], end: str) -> list[int]:
    return sorted(int(name[:20]) for name in names if name.endswith(end) and name[20:] == end)


def test_cutoff_is_a_midnight() -> None:
    assert floor_to_midnight(3 * DAY) == floor_to_midnight(4 * DAY - 1) == 3 * DAY
    assert compute_cutoff(13 * DAY + 5, 6 * DAY) == 7 * DAY
    assert find_cutoff_commit(NOON, 7 * DAY) == 6
    assert find_cutoff_commit(NOON, NOON[7]) == 7
    assert find_cutoff_commit(NOON, DAY // 2 - 1) is None


def test_history_is_cut_off_at_a_checkpoint() -> None:
    assert find_cutoff_checkpoint(LOG, 6) == 4
    assert find_cutoff_checkpoint(LOG, 8) == 8
    assert find_cutoff_checkpoint(LOG, 3) is None
    assert find_cutoff_checkpoint(LOG, None) is None
    assert find_removable_files(LOG, None) == set()


def test_files_before_the_checkpoint_are_removable() -> None:
    removable = find_removable_files(LOG, 4)
    assert numbers(removable, ".json") == numbers(removable, ".crc") == [0, 1, 2, 3]
    assert numbers(removable, ".checkpoint.parquet") == []
    assert {name for name in removable if "compacted" in name} == set(LOG) & {
        f"{start:020d}.{end:020d}.compacted.json" for start, end in ((1, 3), (4, 6))
    }
    assert {name for name in removable if "staged" in name} == {
        staged_commit_name(3, UUID),
        staged_commit_name(4, UUID),
    }
    assert not {"_last_checkpoint", "_sidecars/old.parquet"} & removable
    assert numbers(find_removable_files(LOG, 8), ".checkpoint.parquet") == [4]


def test_older_revision_keeps_checksums_and_staged_commits() -> None:
    removable = find_removable_files(LOG, 4, Revision.R3)
    assert numbers(removable, ".json") == [0, 1, 2, 3]
    assert [name for name in removable if name.endswith(".crc") or "staged" in name] == []


def test_every_version_from_the_cutoff_on_is_readable() -> None:
    left = [name for name in LOG if name not in find_removable_files(LOG, 4)]
    assert find_readable_versions(left) == (4, 12)
    assert choose_segment(left, at=6).commits == (5, 6)


def test_old_unreferenced_sidecars_are_removable() -> None:
    written = {f"_sidecars/{name}.parquet": made for name, made in (("old", DAY), ("used", DAY), ("new", 9 * DAY))}
    named = {"used.parquet"}
    assert find_removable_sidecars(written, named, 10 * DAY - 1) == {"_sidecars/old.parquet"}
    assert find_removable_sidecars(written, named, 10 * DAY) == {"_sidecars/old.parquet", "_sidecars/new.parquet"}
    assert find_removable_sidecars({"_last_checkpoint": 0}, set(), 10 * DAY) == set()


def test_excessive_cleanup_is_detected() -> None:
    """A cleanup with the exact time as cutoff, not the midnight before it, also respects the retention."""
    assert not was_cleaned_up_too_early(NOON[8], NOON[8] + 6 * DAY, 6 * DAY)
    assert was_cleaned_up_too_early(NOON[8], NOON[8] + 6 * DAY - 1, 6 * DAY)
    assert not was_cleaned_up_too_early(NOON[4], 13 * DAY, 6 * DAY)
    assert not was_cleaned_up_too_early(None, 13 * DAY, 6 * DAY)


def test_protected_checkpoints_are_removed_together() -> None:
    """Versions before 6 had a dropped feature; checkpoints hide it from clients that do not support it."""
    before = protocol(3, 7, VECTORS, VECTORS)
    scenario = Scenario(before, metadata())
    required = {"delta.requireCheckpointProtectionBeforeVersion": "6"}
    now = protocol(3, 7, VECTORS, [*VECTORS, "checkpointProtection"])
    scenario.commit(commit_info(), now, metadata(required))
    assert scenario.now.protocol is not None
    assert scenario.now.metadata is not None
    protected = get_protected_before_version(scenario.now.protocol, scenario.now.metadata)
    assert protected == 6
    assert get_protected_before_version(before, scenario.now.metadata) == 0
    strangers, friends = ["checkpointProtection"], ["checkpointProtection", *VECTORS]
    assert may_clean_up(protected, 8, [before], strangers, leaves_checkpoints=False)
    assert not may_clean_up(protected, 4, [before], strangers, leaves_checkpoints=False)
    assert may_clean_up(protected, 4, [before], strangers, leaves_checkpoints=True)
    assert may_clean_up(protected, 4, [before], friends, leaves_checkpoints=False)
    assert may_write_checkpoint(protected, 6, before, strangers)
    assert not may_write_checkpoint(protected, 5, before, strangers)
    assert may_write_checkpoint(protected, 5, before, friends)
    assert not may_drop_protection(protected, 4)
    assert may_drop_protection(protected, 6)
