"""Log files of a version. Source: Checkpoints, Log Compaction Files, Last Checkpoint File."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.log.file_names import (
    CompactionName,
    classic_checkpoint_name,
    commit_name,
    compaction_name,
    multipart_checkpoint_name,
    staged_commit_name,
    uuid_checkpoint_name,
)
from deltaspec.protocol.log.segment import (
    BrokenLog,
    Checkpoint,
    NoCommits,
    Segment,
    SegmentError,
    VersionMissing,
    choose_segment,
    find_cleanup_version,
    find_complete_checkpoints,
    find_readable_versions,
    find_unreachable_commits,
)

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
OTHER_UUID = "016ae953-37a9-438e-8683-9a9a4a79a395"


def commits(*versions: int) -> list[str]:
    return [commit_name(version) for version in versions]


def classic(version: int) -> str:
    return classic_checkpoint_name(version)


def parts(version: int, *present: int, of: int) -> list[str]:
    return [multipart_checkpoint_name(version, part, of) for part in present]


def test_log_without_checkpoint_is_read_from_version_0() -> None:
    assert choose_segment(commits(0, 1, 2)) == Segment(2, None, (), (0, 1, 2))


def test_newest_checkpoint_and_the_commits_after_it() -> None:
    names = [*commits(*range(13)), classic(5), classic(10)]
    found = choose_segment(names)
    assert (found.version, found.commits) == (12, (11, 12))
    assert found.checkpoint == Checkpoint(10, "classic", ("00000000000000000010.checkpoint.parquet",))


def test_order_of_the_listing_does_not_matter() -> None:
    names = [*commits(*range(13)), classic(5), classic(10), *parts(7, 1, 2, of=2)]
    assert choose_segment(reversed(names), at=8) == choose_segment(names, at=8)


@pytest.mark.parametrize(("at", "base", "replayed"), [(4, None, (0, 1, 2, 3, 4)), (5, 5, ()), (9, 5, (6, 7, 8, 9))])
def test_checkpoint_is_never_newer_than_the_version(at: int, base: int | None, replayed: tuple[int, ...]) -> None:
    found = choose_segment([*commits(*range(13)), classic(5), classic(10)], at=at)
    assert (found.checkpoint and found.checkpoint.version, found.commits) == (base, replayed)


def test_protocol_example_after_cleanup() -> None:
    found = choose_segment([*commits(42, 43, 44, 45), classic(42), "_last_checkpoint"])
    assert found.checkpoint == Checkpoint(42, "classic", (classic(42),))
    assert (found.version, found.commits) == (45, (43, 44, 45))


def test_e04_entries_0_1_3_have_a_gap() -> None:
    """Earlier revisions show these three entries as a table, but versions are contiguous."""
    with pytest.raises(BrokenLog, match="commit 2 is missing; version 3 needs it") as caught:
        choose_segment(commits(0, 1, 3))
    assert (caught.value.missing, caught.value.version) == (2, 3)
    assert choose_segment(commits(0, 1, 3), at=1).commits == (0, 1)


def test_gap_before_a_usable_checkpoint_is_legal() -> None:
    assert choose_segment([*commits(0, 1, 4, 5, 6), classic(5)]).commits == (6,)
    assert choose_segment([*commits(6), classic(5)]).commits == (6,)


def test_gap_after_the_newest_checkpoint_breaks_the_log() -> None:
    names = [*commits(0, 1, 2, 3, 5), classic(3)]
    with pytest.raises(BrokenLog, match="commit 4 "):
        choose_segment(names)
    assert choose_segment(names, at=3).checkpoint == Checkpoint(3, "classic", (classic(3),))


def test_checkpoint_after_the_requested_version_does_not_hide_a_gap() -> None:
    with pytest.raises(BrokenLog, match="commit 2 "):
        choose_segment([*commits(0, 1, 3, 4, 5), classic(5)], at=4)


def test_latest_version_may_have_only_its_checkpoint() -> None:
    assert choose_segment([classic(7)]) == Segment(7, Checkpoint(7, "classic", (classic(7),)), (), ())
    assert choose_segment([*commits(0, 1), classic(7)]).version == 7


@pytest.mark.parametrize("names", [[], ["_last_checkpoint", "00000000000000000000.crc", "0.json"], parts(3, 1, of=2)])
def test_neither_commit_nor_complete_checkpoint(names: list[str]) -> None:
    with pytest.raises(NoCommits):
        choose_segment(names)
    with pytest.raises(NoCommits):
        find_readable_versions(names)


@pytest.mark.parametrize("at", [-1, 4, 8, 2**63])
def test_unreadable_version_reports_the_readable_ones(at: int) -> None:
    with pytest.raises(VersionMissing, match=rf"version {at} is not readable; readable versions: 5 to 7") as caught:
        choose_segment([*commits(4, 5, 6, 7), classic(5)], at=at)
    assert (caught.value.earliest, caught.value.latest) == (5, 7)


def test_first_and_last_kept_versions_are_readable() -> None:
    names = [*commits(4, 5, 6, 7), classic(5)]
    assert choose_segment(names, at=5) == Segment(5, Checkpoint(5, "classic", (classic(5),)), (), ())
    assert choose_segment(names, at=7) == choose_segment(names)
    assert choose_segment(commits(0, 1), at=0) == Segment(0, None, (), (0,))


def test_errors_are_value_errors() -> None:
    assert {NoCommits, VersionMissing, BrokenLog} <= set(SegmentError.__subclasses__())
    assert issubclass(SegmentError, ValueError)


def test_incomplete_multipart_checkpoint_is_ignored() -> None:
    names = [*commits(*range(6)), classic(2), *parts(4, 1, 3, of=3)]
    assert find_complete_checkpoints(names) == [Checkpoint(2, "classic", (classic(2),))]
    assert choose_segment(names).commits == (3, 4, 5)


def test_multipart_checkpoint_lists_its_parts_in_order() -> None:
    names = parts(4, 3, 1, 2, of=3)
    (found,) = find_complete_checkpoints(names)
    assert found == Checkpoint(4, "multipart", tuple(parts(4, 1, 2, 3, of=3)))


def test_s27_parts_of_different_counts_do_not_complete_each_other() -> None:
    assert find_complete_checkpoints([*parts(4, 1, of=2), *parts(4, 2, 3, of=3)]) == []
    both = [*parts(4, 1, 2, of=2), *parts(4, 2, 3, of=3)]
    assert find_complete_checkpoints(both) == [Checkpoint(4, "multipart", tuple(parts(4, 1, 2, of=2)))]


@pytest.mark.parametrize("odd", [parts(4, 0, 1, of=2), parts(4, 2, 3, of=2), parts(4, 0, of=0), parts(4, 2, of=1)])
def test_part_numbers_out_of_range_complete_nothing(odd: list[str]) -> None:
    assert find_complete_checkpoints(odd) == []


def test_s27_part_beyond_the_count_is_ignored() -> None:
    assert find_complete_checkpoints(parts(4, 0, 1, 2, 3, of=2)) == [
        Checkpoint(4, "multipart", tuple(parts(4, 1, 2, of=2)))
    ]


def test_multipart_checkpoint_of_one_part_is_usable() -> None:
    assert find_complete_checkpoints(parts(4, 1, of=1)) == [Checkpoint(4, "multipart", tuple(parts(4, 1, of=1)))]


def test_huge_part_count_is_cheap() -> None:
    assert find_complete_checkpoints(parts(4, 1, 2, 9_999_999_999, of=9_999_999_999)) == []


def test_checkpoints_of_one_version_are_all_listed() -> None:
    names = [
        uuid_checkpoint_name(4, UUID, "parquet"),
        *parts(4, 1, 2, of=2),
        classic(4),
        uuid_checkpoint_name(4, OTHER_UUID, "json"),
        classic(3),
    ]
    found = find_complete_checkpoints(names)
    assert [(each.version, each.naming) for each in found] == [
        (3, "classic"),
        (4, "classic"),
        (4, "multipart"),
        (4, "uuid"),
        (4, "uuid"),
    ]
    chosen = choose_segment([*commits(4), *names]).checkpoint
    assert chosen in found
    assert chosen is not None
    assert chosen.version == 4


def test_uuid_checkpoint_keeps_its_name() -> None:
    name = uuid_checkpoint_name(10, UUID, "json")
    assert find_complete_checkpoints([name, name]) == [Checkpoint(10, "uuid", (name,))]


@pytest.mark.parametrize(
    "noise",
    [
        "_last_checkpoint",
        staged_commit_name(3, UUID),
        f"_staged_commits/{commit_name(3)}",
        f"_sidecars/{UUID}.parquet",
        "00000000000000000003.crc",
        ".00000000000000000003.json.crc",
        "00000000000000000003.json.tmp",
        "3.json",
        "00000000000000000009.checkpoint.parquet.tmp",
        compaction_name(1, 9),
        "99999999999999999999.json",
    ],
)
def test_other_files_are_ignored(noise: str) -> None:
    """A stale, missing or wrong hint changes nothing, because it is not an input."""
    names = [*commits(0, 1, 2), classic(1)]
    for use_compactions in (False, True):
        expected = choose_segment(names, use_compactions=use_compactions)
        assert choose_segment([*names, noise], use_compactions=use_compactions) == expected


def test_compaction_replaces_exactly_its_range() -> None:
    names = [*commits(*range(9)), compaction_name(4, 6)]
    found = choose_segment(names, use_compactions=True)
    assert found.compactions == (CompactionName(4, 6),)
    assert found.commits == (0, 1, 2, 3, 7, 8)
    assert choose_segment(names).compactions == ()


@pytest.mark.parametrize(
    ("start", "end"),
    [(2, 4), (3, 4), (7, 9), (5, 5), (6, 5)],
    ids=["reaches behind the checkpoint", "begins with it", "reaches beyond the version", "one commit", "backwards"],
)
def test_compaction_that_does_not_fit_completely_is_not_used(start: int, end: int) -> None:
    names = [*commits(*range(10)), classic(3), compaction_name(start, end)]
    assert choose_segment(names, at=8, use_compactions=True) == choose_segment(names, at=8)


def test_overlapping_compactions_are_not_used_together() -> None:
    names = [*commits(*range(9)), *(compaction_name(*each) for each in [(0, 3), (2, 5), (4, 5), (0, 1), (6, 8)])]
    found = choose_segment(names, use_compactions=True)
    assert found.compactions == (CompactionName(0, 3), CompactionName(4, 5), CompactionName(6, 8))
    assert found.commits == ()


def test_compaction_does_not_replace_a_missing_commit() -> None:
    """Compactions are optional help for readers; versions stay contiguous commits."""
    with pytest.raises(BrokenLog, match="commit 1 "):
        choose_segment([*commits(0, 2, 3), compaction_name(0, 2)], use_compactions=True)


def test_e51_compaction_may_be_absent_after_cleanup() -> None:
    names = [*commits(*range(3, 9)), classic(5)]
    assert choose_segment(names, use_compactions=True).commits == (6, 7, 8)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (commits(0), (0, 0)),
        (commits(0, 1, 2), (0, 2)),
        ([*commits(0, 1, 2, 3), classic(2)], (0, 3)),
        ([*commits(3, 4, 5), classic(4)], (4, 5)),
        ([*commits(0, 1, 4, 5), classic(4)], (4, 5)),
        ([*commits(0, 1, 2, 4), classic(3)], (0, 4)),
        ([*commits(5, 6), classic(4), classic(6)], (4, 6)),
    ],
)
def test_readable_versions(names: list[str], expected: tuple[int, int]) -> None:
    assert find_readable_versions(names) == expected


@pytest.mark.parametrize(
    ("names", "spared", "unreachable"),
    [
        ([], None, []),
        (commits(0, 1, 2), None, []),
        ([*commits(0, 1, 4, 5), classic(4)], None, []),
        ([*commits(4, 5), classic(4)], 4, []),
        ([*commits(5, 6), classic(4), classic(6)], 4, []),
        ([*commits(1, 2), classic(0)], None, []),
        ([classic(7)], 7, []),
        ([*commits(4, 5, 6, 7), classic(6)], 4, [4, 5]),
        ([*commits(6, 7), classic(3), classic(6)], 6, []),
        ([*commits(6, 7, 8), classic(3), classic(8)], 6, [6, 7]),
        ([*commits(6, 7), *parts(5, 1, of=2), classic(7)], 6, [6]),
        (commits(4, 5), 4, [4, 5]),
    ],
)
def test_versions_kept_by_cleanup(names: list[str], spared: int | None, unreachable: list[int]) -> None:
    assert find_cleanup_version(names) == spared
    assert find_unreachable_commits(names) == unreachable


def test_broken_log_has_no_readable_latest_version() -> None:
    with pytest.raises(BrokenLog):
        find_readable_versions(commits(0, 2))


def test_version_far_beyond_the_others_is_a_gap_and_not_a_hang() -> None:
    with pytest.raises(BrokenLog, match="commit 1 "):
        choose_segment(commits(0, 2**63 - 1))


class TestCatalogManaged:
    """V27: a log whose newest commits are only in the catalog."""

    LISTED = (
        *commits(*range(8)),
        classic(2),
        compaction_name(3, 5),
        staged_commit_name(7, UUID),
        staged_commit_name(8, UUID),
        staged_commit_name(8, OTHER_UUID),
        staged_commit_name(10, UUID),
        staged_commit_name(10, OTHER_UUID),
    )

    def test_v27_ratified_commits_follow_the_published_ones(self) -> None:
        found = choose_segment(self.LISTED, ratified={7, 8, 9})
        assert found == Segment(9, Checkpoint(2, "classic", (classic(2),)), (), (3, 4, 5, 6, 7, 8, 9))
        compacted = choose_segment(self.LISTED, ratified={7, 8, 9}, use_compactions=True)
        assert (compacted.compactions, compacted.commits) == ((CompactionName(3, 5),), (6, 7, 8, 9))

    def test_staged_commits_alone_are_not_versions(self) -> None:
        assert choose_segment(self.LISTED).version == 7

    def test_files_beyond_the_latest_ratified_version_are_ignored(self) -> None:
        names = [*self.LISTED, *commits(8, 9, 10), classic(10)]
        assert choose_segment(names, ratified={8, 9}) == choose_segment(self.LISTED, ratified={8, 9})
        with pytest.raises(VersionMissing):
            choose_segment(names, at=10, ratified={8, 9})

    def test_gap_between_published_and_ratified_commits_breaks_the_log(self) -> None:
        with pytest.raises(BrokenLog, match="commit 8 "):
            choose_segment(self.LISTED, ratified={9})


@given(
    present=st.sets(st.integers(0, 9)),
    at_checkpoints=st.sets(st.integers(0, 9)),
    at=st.none() | st.integers(-1, 10),
    ranges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=4),
    use_compactions=st.booleans(),
)
def test_segment_covers_every_version_once(
    present: set[int], at_checkpoints: set[int], at: int | None, ranges: list[tuple[int, int]], use_compactions: bool
) -> None:
    names = [*commits(*present), *map(classic, at_checkpoints), *(compaction_name(*each) for each in ranges)]
    try:
        found = choose_segment(names, at=at, use_compactions=use_compactions)
    except SegmentError:
        version = max(present | at_checkpoints, default=-1) if at is None else at
        starts = {-1} | {each for each in at_checkpoints if each <= version}
        missing = {start: set(range(start + 1, version + 1)) - present for start in starts}
        assert all(missing.values()) or not 0 <= version <= max(present | at_checkpoints, default=-1), missing
        return
    assert found.version == (max(present | at_checkpoints) if at is None else at)
    base = found.checkpoint.version if found.checkpoint else -1
    assert base == max((each for each in at_checkpoints if each <= found.version), default=-1)
    covered = list(found.commits)
    for compaction in found.compactions:
        assert (compaction.start, compaction.end) in ranges
        covered += range(compaction.start, compaction.end + 1)
    assert sorted(covered) == list(range(base + 1, found.version + 1))
