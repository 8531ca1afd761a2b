"""Vacuum keeps what readers need. Source: Overview, Add File and Remove File."""

from helpers.scenario import add, metadata, protocol, remove
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaspec.model.log.reconciliation import EMPTY_SNAPSHOT, replay_commit
from deltaspec.model.rows.file_retention import list_data_files, list_vector_files, may_be_removed
from deltaspec.protocol.actions import Add, DeletionVectorDescriptor, Remove
from deltaspec.protocol.features.materialized_partitions import find_requiring_features

DAY = 86_400_000
VECTORS = [
    None,
    DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40, 6),
    DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 1),
    DeletionVectorDescriptor("p", "s3://elsewhere/second.bin", 40, 6, 1),
]
PATHS = ["a", "b", "day=1/c", "s3://elsewhere/d"]
files = st.builds(add, st.sampled_from(PATHS), deletion_vector=st.sampled_from(VECTORS))
tombstones = st.builds(
    remove,
    st.sampled_from(PATHS),
    deletion_vector=st.sampled_from(VECTORS),
    deletion_timestamp=st.none() | st.integers(0, 20).map(lambda days: days * DAY),
)
histories = st.lists(st.lists(files | tombstones, max_size=3), max_size=6)


@settings(max_examples=40)
@given(history=histories, day=st.integers(0, 30), written=st.integers(0, 30))
def test_files_of_versions_within_the_retention_are_kept(
    history: list[list[Add | Remove]], day: int, written: int
) -> None:
    """Brute force over all versions: files of the newest one and of those that ended less than a week ago are kept."""
    snapshot, versions = replay_commit(EMPTY_SNAPSHOT, 0, [protocol(1, 2), metadata()]), []
    for number, actions in enumerate(history, 1):
        snapshot = replay_commit(snapshot, number, actions)
        versions.append(snapshot)
    if not versions:
        return
    needed = {
        file for each in versions[-1].files.values() for file in list_data_files([each]) | list_vector_files([each])
    }
    for tombstone in versions[-1].tombstones.values():
        if day * DAY - (tombstone.deletion_timestamp or 0) <= 7 * DAY:
            needed |= list_data_files([tombstone]) | list_vector_files([tombstone])
    named = {file for each in versions for add in each.files.values() for file in list_data_files([add])}
    removable = {file for file in named | needed if may_be_removed(file, written * DAY, versions[-1], day * DAY)}
    assert not removable & needed
    assert removable == (named - needed if day - written > 7 else set())


def test_features_that_require_partition_columns() -> None:
    name = "materializePartitionColumns"
    plain, feature = protocol(1, 7, None, []), protocol(1, 7, None, [name])
    assert find_requiring_features(feature, metadata()) == [name]
    compatible = protocol(2, 7, None, ["columnMapping", "icebergCompatV1", "icebergCompatV2"])
    enabled = {"delta.enableIcebergCompatV2": "true", "delta.enableIcebergCompatV1": "false"}
    assert find_requiring_features(compatible, metadata(enabled)) == ["icebergCompatV2"]
    assert find_requiring_features(plain, metadata(enabled)) == []
