"""Invalid protocol actions and feature lists, and some that look invalid but are allowed."""

from known_bugs.registry import known_bug, no_finding

from deltaspec_generators.table_files import TableFiles, commit_info_action, protocol_action
from planted_tables.bases import log_only


@known_bug("proto-001", PRO001=1, PRO002=1)
def empty_feature_lists_on_a_legacy_protocol(is_sound: bool) -> TableFiles:
    """A restore of a table of versions 1 and 2 commits its protocol again, with two empty feature lists."""
    files = log_only.build_table(protocol=protocol_action(1, 2))
    files.commits[2].append(protocol_action(1, 2) if is_sound else protocol_action(1, 2, [], []))
    return files


@no_finding(
    "proto-001", "the protocol requires no feature for a non-nullable column, although some engines require invariants"
)
def non_nullable_column_without_invariants() -> TableFiles:
    """A table is created with a non-nullable column, and its protocol lists only timestampNtz."""
    fields = [{"name": "id", "type": "long", "nullable": False, "metadata": {}}, ("at", "timestamp_ntz")]
    return log_only.build_table_with_features("timestampNtz", fields=fields)


@no_finding("proto-002", "the protocol allows it; clients that reject it or return nulls are wrong")
def column_mapping_as_writer_feature_with_reader_2() -> TableFiles:
    """Reader version 2 with writer version 7 and columnMapping: mapping is in force."""
    return _build_mapped_table(protocol_action(2, 7, None, ["columnMapping"]))


@known_bug("proto-002", FEA003=1)
def column_mapping_missing_from_reader_features(is_sound: bool) -> TableFiles:
    """Versions 3 and 7 list columnMapping only for writers: readers look for names that no file has."""
    return _build_mapped_table(protocol_action(3, 7, ["columnMapping"] if is_sound else [], ["columnMapping"]))


@known_bug("proto-002", FEA001=1, CMP022=1)
def column_mapping_only_in_reader_features(is_sound: bool) -> TableFiles:
    """Versions 3 and 7 list columnMapping only for readers: writers do not know that the table is mapped."""
    return _build_mapped_table(protocol_action(3, 7, ["columnMapping"], ["columnMapping"] if is_sound else []))


@known_bug("proto-008", PRO006=1)
def restore_lowers_the_protocol(is_sound: bool) -> TableFiles:
    """A restore to a version before deletion vectors restores its protocol too, although the history contains
    vectors."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    upgraded_protocol = files.commits[0][1]
    files.commits[0][1] = protocol_action(1, 2)
    metadata = files.commits[0].pop()
    files.commits[0].append(_set_configuration(metadata, {}))
    files.commits[1] += [upgraded_protocol, metadata]
    files.commits[3] = [commit_info_action(3, operation="RESTORE"), _set_configuration(metadata, {})]
    if not is_sound:
        files.commits[3].append(protocol_action(1, 2))
    return files


@known_bug("proto-011", FEA002=1)
def writer_feature_in_reader_features(is_sound: bool) -> TableFiles:
    """A protocol lists allowColumnDefaults for readers as well, and readers that do not know it reject the table."""
    return log_only.build_table(
        protocol=protocol_action(3, 7, [] if is_sound else ["allowColumnDefaults"], ["allowColumnDefaults"])
    )


@known_bug("proto-011", FEA003=1)
def reader_feature_only_in_writer_features(is_sound: bool) -> TableFiles:
    """A protocol lists deletionVectors only for writers, and readers ignore the vectors."""
    return log_only.build_table(
        protocol=protocol_action(3, 7, ["deletionVectors"] if is_sound else [], ["deletionVectors"])
    )


@known_bug("ict-001", COM007=1)
def clock_set_back(is_sound: bool) -> TableFiles:
    """A writer whose clock was set back an hour uses its own time instead of the previous timestamp plus one
    millisecond."""
    files = log_only.build_table_with_timestamps()
    if not is_sound:
        files.commits[2][0] = commit_info_action(2, inCommitTimestamp=1_700_000_000_000 - 3_600_000)
    return files


@known_bug("ict-001", COM006=1)
def commit_info_after_other_actions(is_sound: bool) -> TableFiles:
    """A writer puts commitInfo last, and readers that expect the timestamp in the first line miss it."""
    files = log_only.build_table_with_timestamps()
    if not is_sound:
        files.commits[2].append(files.commits[2].pop(0))
    return files


@known_bug("ict-001", COM015=1)
def enablement_lost_by_replacing_the_table(is_sound: bool) -> TableFiles:
    """Replacing the table drops the properties that record which version enabled in-commit timestamps."""
    files = log_only.build_table_with_timestamps()
    metadata = files.commits[0].pop()
    enabled = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "1",
        "delta.inCommitTimestampEnablementTimestamp": "1700000000001",
    }
    files.commits[0].append(_set_configuration(metadata, {}))
    files.commits[1].append(_set_configuration(metadata, enabled))
    files.commits[2].append(
        _set_configuration(metadata, enabled if is_sound else {"delta.enableInCommitTimestamps": "true"})
    )
    return files


def _build_mapped_table(protocol: dict[str, object]) -> TableFiles:
    files = log_only.build_table_with_column_mapping()
    files.commits[0][1] = protocol
    return files


def _set_configuration(metadata: object, configuration: dict[str, str]) -> dict[str, object]:
    assert isinstance(metadata, dict)
    return {"metaData": {**metadata["metaData"], "configuration": configuration}}
