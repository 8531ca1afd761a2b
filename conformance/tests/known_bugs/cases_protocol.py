"""Protocol actions and lists of features that no sound writer leaves, and some that look so and are legal."""

from known_bugs.registry import known_bug, no_finding

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.table_files import TableFiles, protocol_action


@known_bug("proto-001", PRO001=1, PRO002=1)
def empty_lists_on_a_legacy_protocol(right: bool) -> TableFiles:
    """A restore of a table of versions 1 and 2 commits its protocol anew, with both lists of features, empty."""
    files = log_only.build_table(protocol=protocol_action(1, 2))
    files.commits[2].append(protocol_action(1, 2) if right else protocol_action(1, 2, [], []))
    return files


@no_finding(
    "proto-001", "a column that is never null needs no feature by the text; that engines want invariants is theirs"
)
def not_null_column_without_invariants() -> TableFiles:
    """A table is created with a column that is never null, and its protocol lists timestampNtz alone."""
    fields = [{"name": "id", "type": "long", "nullable": False, "metadata": {}}, ("at", "timestamp_ntz")]
    return log_only.build_table_with_features("timestampNtz", fields=fields)


@no_finding("proto-002", "legal by the text, and clients that refuse it or return nulls are wrong")
def column_mapping_among_writer_features_of_reader_2() -> TableFiles:
    """Reader version 2 beside writer version 7 with columnMapping: mapping is in force."""
    return _mapped(protocol_action(2, 7, None, ["columnMapping"]))


@known_bug("proto-002", FEA003=1)
def column_mapping_missing_among_reader_features(right: bool) -> TableFiles:
    """Versions 3 and 7 with columnMapping for writers alone: readers fall back to names that no file has."""
    return _mapped(protocol_action(3, 7, ["columnMapping"] if right else [], ["columnMapping"]))


@known_bug("proto-002", FEA001=1, CMP022=1)
def column_mapping_among_reader_features_alone(right: bool) -> TableFiles:
    """Versions 3 and 7 with columnMapping for readers alone: writers do not know that there is a mapping."""
    return _mapped(protocol_action(3, 7, ["columnMapping"], ["columnMapping"] if right else []))


@known_bug("proto-008", PRO006=1, PRO007=1)
def restore_lowers_the_protocol(right: bool) -> TableFiles:
    """A restore to a version before deletion vectors brings its protocol back, though history still has vectors."""
    files = log_only.build_table_with_features("deletionVectors", configuration={"delta.enableDeletionVectors": "true"})
    upgraded = files.commits[0][1]
    files.commits[0][1] = protocol_action(1, 2)
    metadata = files.commits[0].pop()
    files.commits[0].append(_configured(metadata, {}))
    files.commits[1] += [upgraded, metadata]
    files.commits[3] = [commit_info_action(3, operation="RESTORE"), _configured(metadata, {})]
    if not right:
        files.commits[3].append(protocol_action(1, 2))
    return files


@known_bug("proto-011", FEA002=1)
def writer_feature_asked_of_readers(right: bool) -> TableFiles:
    """A protocol lists allowColumnDefaults for readers as well, and those that never heard of it refuse the table."""
    return log_only.build_table(
        protocol=protocol_action(3, 7, [] if right else ["allowColumnDefaults"], ["allowColumnDefaults"])
    )


@known_bug("proto-011", FEA003=1)
def reader_feature_asked_of_writers_alone(right: bool) -> TableFiles:
    """A protocol lists deletionVectors for writers alone, and readers ignore the vectors."""
    return log_only.build_table(
        protocol=protocol_action(3, 7, ["deletionVectors"] if right else [], ["deletionVectors"])
    )


@known_bug("ict-001", COM007=1)
def clock_set_back(right: bool) -> TableFiles:
    """A writer whose clock went back an hour takes its own time, not the one before and a millisecond."""
    files = log_only.build_table_with_timestamps()
    if not right:
        files.commits[2][0] = commit_info_action(2, inCommitTimestamp=1_700_000_000_000 - 3_600_000)
    return files


@known_bug("ict-001", COM006=1)
def provenance_after_other_actions(right: bool) -> TableFiles:
    """A writer puts commitInfo last, where those who read the first line for the time do not look."""
    files = log_only.build_table_with_timestamps()
    if not right:
        files.commits[2].append(files.commits[2].pop(0))
    return files


@known_bug("ict-001", COM015=1)
def enablement_lost_by_a_replacement(right: bool) -> TableFiles:
    """The table is replaced, and the record of which version enabled in-commit timestamps goes with its properties."""
    files = log_only.build_table_with_timestamps()
    metadata = files.commits[0].pop()
    enabled = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "1",
        "delta.inCommitTimestampEnablementTimestamp": "1700000000001",
    }
    files.commits[0].append(_configured(metadata, {}))
    files.commits[1].append(_configured(metadata, enabled))
    files.commits[2].append(_configured(metadata, enabled if right else {"delta.enableInCommitTimestamps": "true"}))
    return files


def _mapped(protocol: dict[str, object]) -> TableFiles:
    files = log_only.build_table_with_column_mapping()
    files.commits[0][1] = protocol
    return files


def _configured(metadata: object, configuration: dict[str, str]) -> dict[str, object]:
    assert isinstance(metadata, dict)
    return {"metaData": {**metadata["metaData"], "configuration": configuration}}
