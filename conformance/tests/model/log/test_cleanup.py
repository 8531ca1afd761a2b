"""Cleanup keeps the history from the cutoff on. Source: Metadata Cleanup."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model.log.cleanup import (
    compute_cutoff,
    find_cutoff_checkpoint,
    find_cutoff_commit,
    find_removable_files,
    was_cleaned_up_too_early,
)
from deltaspec.protocol.log.file_names import (
    checksum_name,
    classic_checkpoint_name,
    commit_name,
    compaction_name,
    multipart_checkpoint_name,
    staged_commit_name,
    uuid_checkpoint_name,
)
from deltaspec.protocol.log.segment import choose_segment, find_readable_versions
from deltaspec.protocol.revisions import Revision

DAY = 86_400_000
LATEST = 12
UUID = "016ae953-37a9-438e-8683-9a9a4a79a395"
versions = st.integers(0, LATEST)


@st.composite
def listings(draw: st.DrawFn) -> list[str]:
    """Draw logs of thirteen commits with checkpoints of all kinds, some with a missing part."""
    names = [commit_name(version) for version in range(LATEST + 1)]
    names += [checksum_name(version) for version in draw(st.sets(versions))]
    names += [classic_checkpoint_name(version) for version in draw(st.sets(versions, max_size=3))]
    names += [uuid_checkpoint_name(version, UUID, "json") for version in draw(st.sets(versions, max_size=2))]
    for version in draw(st.sets(versions, max_size=2)):
        names += [multipart_checkpoint_name(version, part, 2) for part in draw(st.sets(st.integers(1, 2)))]
    for start, length in draw(st.sets(st.tuples(versions, st.integers(1, 4)), max_size=3)):
        names.append(compaction_name(start, start + length))
    names += [staged_commit_name(version, UUID) for version in draw(st.sets(versions, max_size=3))]
    return names


@settings(max_examples=30)
@given(
    names=listings(),
    times=st.lists(st.integers(0, 20 * DAY), min_size=LATEST + 1, max_size=LATEST + 1).map(sorted),
    clock=st.integers(20 * DAY, 40 * DAY),
    retention=st.integers(0, 30 * DAY),
    revision=st.sampled_from(Revision),
)
def test_every_version_from_the_cutoff_on_is_readable(
    names: list[str], times: list[int], clock: int, retention: int, revision: Revision
) -> None:
    made = dict(enumerate(times))
    commit = find_cutoff_commit(made, compute_cutoff(clock, retention))
    checkpoint = find_cutoff_checkpoint(names, commit)
    left = [name for name in names if name not in find_removable_files(names, checkpoint, revision)]
    assert commit_name(LATEST) in left
    if checkpoint is None or commit is None:
        assert left == names
        return
    for version in range(checkpoint, LATEST + 1):
        assert choose_segment(left, at=version).version == version
    first, _ = find_readable_versions(left)
    assert first == checkpoint <= commit
    assert not was_cleaned_up_too_early(made[first], clock, retention)
    again = find_cutoff_checkpoint(left, commit)
    assert again == checkpoint
    assert find_removable_files(left, again, revision) == set()


@pytest.mark.parametrize("revision", [Revision.R1, Revision.R2, Revision.R3])
def test_older_revisions_keep_checksums_and_staged_commits(revision: Revision) -> None:
    names = [checksum_name(0), staged_commit_name(0, UUID), commit_name(0), classic_checkpoint_name(1)]
    assert find_removable_files(names, 1, revision) == {commit_name(0)}
    assert find_removable_files(names, 1) == set(names[:3])
