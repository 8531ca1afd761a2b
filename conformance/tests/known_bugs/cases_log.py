"""Complete commits, the log listing, log cleanup, compactions and `_last_checkpoint`."""

from known_bugs.registry import known_bug, no_finding

from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
)
from planted_tables.bases import log_only


@known_bug("log-006", COM001=1)
def two_protocols_in_one_commit(is_sound: bool) -> TableFiles:
    """One commit contains two different protocols, and engines use either."""
    files = log_only.build_table()
    files.commits[2] += [protocol_action(1, 3), *([] if is_sound else [protocol_action(1, 4)])]
    return files


@known_bug("log-006", COM002=1)
def two_metadata_in_one_commit(is_sound: bool) -> TableFiles:
    """One commit contains two metadata actions, one with an additional column, and engines use either."""
    files = log_only.build_table()
    wider = [*log_only.FIELDS, ("price", "double")]
    files.commits[2] += [metadata_action(wider), *([] if is_sound else [metadata_action(log_only.FIELDS)])]
    return files


@no_finding(
    "log-018", "each action has its own flag, and an add with data change may contain rows of a remove without it"
)
def mixed_data_change_in_one_commit() -> TableFiles:
    """A rewrite removes its files with dataChange false and adds the new file with true, so streams read rows twice."""
    files = log_only.build_table()
    get_action(files, 2, "remove")["dataChange"] = False
    return files


@known_bug("wr-008", LIN010=3)
def adds_without_required_fields(is_sound: bool) -> TableFiles:
    """A library commits its caller's input unchecked: adds without size, modification time and dataChange."""
    files = log_only.build_table()
    for number, name in enumerate(("size", "modificationTime", "dataChange")):
        added = add_action(f"incomplete-{number}.parquet", rows=1)
        if not is_sound:
            del added["add"][name]
        files.commits[2].append(added)
    return files


@known_bug("wr-008", LIN011=1)
def remove_without_data_change(is_sound: bool) -> TableFiles:
    """A library commits a remove without dataChange."""
    files = log_only.build_table()
    if not is_sound:
        del get_action(files, 2, "remove")["dataChange"]
    return files


@known_bug("log-017", LOG001=1)
def log_starts_at_version_1(is_sound: bool) -> TableFiles:
    """A drop raced with a write: the log contains only version 1 with its files, without protocol and schema."""
    files = log_only.build_table(last_remove=False)
    del files.commits[2]
    if not is_sound:
        del files.commits[0]
    return files


@known_bug("log-009", LOG001=1)
def version_missing_between_others(is_sound: bool) -> TableFiles:
    """Versions 0, 1 and 3 exist, but not 2; some engines read version 1, some read 3 without 2."""
    files = _build_versions(4)
    if not is_sound:
        del files.commits[2]
    return files


@known_bug("log-009", LOG001=1)
def first_versions_missing_without_a_checkpoint(is_sound: bool) -> TableFiles:
    """Versions 2 to 5 exist, with a version checksum but without a checkpoint to start from."""
    files = _build_versions(6)
    files.checksums[5] = {
        "tableSizeBytes": 5000,
        "numFiles": 5,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": get_action(files, 0, "metaData"),
        "protocol": get_action(files, 0, "protocol"),
    }
    if not is_sound:
        del files.commits[0], files.commits[1]
    return files


@known_bug("log-009", LOG001=1)
def version_missing_after_the_checkpoint(is_sound: bool) -> TableFiles:
    """A checkpoint of version 3 and the commit of version 5 exist, but not version 4."""
    files = _build_versions(6)
    _checkpoint(files, 3)
    for version in range(3):
        del files.commits[version]
    if not is_sound:
        del files.commits[4]
    return files


@known_bug("log-001", COP001=1)
def compaction_without_an_untimed_remove(is_sound: bool) -> TableFiles:
    """A log compaction omits a remove without deletion time, which it treats as expired since 1970."""
    files = log_only.build_table_with_compaction()
    removed = get_action(files, 2, "remove")
    del removed["deletionTimestamp"]
    if not is_sound:
        files.compactions[(1, 2)] = files.compactions[(1, 2)][:-1]
    return files


@known_bug("clean-001", LOG001=1)
def commits_deleted_without_a_checkpoint(is_sound: bool) -> TableFiles:
    """Log cleanup deletes commits of a table that never had a checkpoint."""
    files = _build_versions(15)
    if not is_sound:
        for version in range(8):
            del files.commits[version]
    return files


@no_finding("clean-001", "the versions to retain depend on the clock and on the time of the cleanup")
def versions_within_retention_deleted() -> TableFiles:
    """Log cleanup keeps the checkpoint of version 10 and deletes all commits before it, including versions 8 and 9
    too early."""
    files = _build_versions(15)
    _checkpoint(files, 10)
    for version in range(10):
        del files.commits[version]
    return files


@known_bug("clean-002", LOG009=1)
def commit_of_the_oldest_checkpoint_deleted(is_sound: bool) -> TableFiles:
    """Log cleanup stops at a checkpoint but deletes its commit, the only place of its in-commit timestamp."""
    files = log_only.build_table_with_timestamps()
    _checkpoint(files, 1)
    del files.commits[0]
    if not is_sound:
        del files.commits[1]
    return files


@known_bug("clean-002", LOG024=1)
def unneeded_commit_of_the_oldest_checkpoint_deleted(is_sound: bool) -> TableFiles:
    """Log cleanup stops at a checkpoint and deletes its commit in a table without in-commit timestamps."""
    files = _build_versions(4)
    _checkpoint(files, 2)
    for version in range(2 if is_sound else 3):
        del files.commits[version]
    return files


@no_finding("ckpt-016", "the named checkpoint exists, and readers list newer ones")
def hint_moved_backwards() -> TableFiles:
    """A checkpoint of an older version moves `_last_checkpoint` from version 10 back to version 5."""
    files = _build_versions(12)
    _checkpoint(files, 10)
    _checkpoint(files, 5)
    files.last_checkpoint = {"version": 5, "size": 7, "numOfAddFiles": 5}
    return files


@known_bug("wr-001", COM010=1)
def rows_deleted_from_append_only_table(is_sound: bool) -> TableFiles:
    """An engine that does not know the property deletes from an append-only table of writer version 2."""
    return _set_data_change(log_only.build_table(configuration={"delta.appendOnly": "true"}), is_sound)


@known_bug("wr-001", COM010=1)
def rows_overwritten_in_append_only_table_with_features(is_sound: bool) -> TableFiles:
    """An engine overwrites an append-only table whose protocol lists the feature by name."""
    protocol = protocol_action(1, 7, None, ["appendOnly"])
    return _set_data_change(
        log_only.build_table(protocol=protocol, configuration={"delta.appendOnly": "true"}), is_sound
    )


@no_finding("wr-007", "the protocol requires a GUID but allows it to change; a replaced table may get another one")
def table_id_changed_by_schema_evolution() -> TableFiles:
    """A writer that adds a column changes the table id, and streams stop."""
    files = log_only.build_table()
    evolved = metadata_action([*log_only.FIELDS, ("price", "double")], id="22222222-2222-4333-8444-555555555555")
    files.commits[2].append(evolved)
    return files


@no_finding("wr-007", "keys that the protocol does not define belong to the user, in any case")
def user_property_in_lower_case() -> TableFiles:
    """A writer stores the user's property My.Key as my.key."""
    return log_only.build_table(configuration={"my.key": "1"})


@no_finding("log-013", "any number of milliseconds is valid, and the log does not contain the time of a file")
def times_written_in_seconds() -> TableFiles:
    """Modification, creation and deletion times are in seconds, so all of them are in January 1970."""
    files = log_only.build_table()
    get_action(files, 0, "metaData")["createdTime"] = 1_700_000_000
    get_action(files, 2, "add")["modificationTime"] = 1_700_000_000
    get_action(files, 2, "remove")["deletionTimestamp"] = 1_700_000_000
    return files


@no_finding("txn-001", "a batch that is committed twice under two file names looks like two batches")
def stream_batch_committed_twice() -> TableFiles:
    """A sink restarts between commit and acknowledgement and commits its batch again, with the next version."""
    files = log_only.build_table()
    for version, name in ((1, "batch-7.parquet"), (2, "batch-7-again.parquet")):
        files.commits[version] += [
            add_action(name, rows=3),
            {"txn": {"appId": "sink", "version": 6 + version, "lastUpdated": 1_700_000_000_000}},
        ]
    return files


def _set_data_change(files: TableFiles, is_sound: bool) -> TableFiles:
    """If `is_sound`, set dataChange to false: the added file then only rearranges the removed rows."""
    for kind in ("add", "remove"):
        get_action(files, 2, kind)["dataChange"] = not is_sound
    return files


def _build_versions(count: int) -> TableFiles:
    """A table of `count` versions; each version but the first adds a file."""
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action(log_only.FIELDS)]
    for version in range(1, count):
        files.commits[version] = [commit_info_action(version), add_action(f"{version}.parquet", rows=10)]
    return files


def _checkpoint(files: TableFiles, version: int) -> None:
    """Add a classic checkpoint of a table that only grows."""
    lines = [line for each in range(version + 1) for line in files.commits[each] if isinstance(line, dict)]
    files.checkpoints.append(CheckpointFiles(version, rows=[line for line in lines if "commitInfo" not in line]))
