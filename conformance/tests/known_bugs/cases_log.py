"""Commits as wholes, the listing of the log, its cleanup, compactions and the hint."""

from known_bugs.registry import known_bug, no_finding

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import commit_info_action, get_action
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, add_action, metadata_action, protocol_action


@known_bug("log-006", COM001=1)
def two_protocols_in_one_commit(right: bool) -> TableFiles:
    """One commit carries two protocols that differ, and engines pick either."""
    files = log_only.build_table()
    files.commits[2] += [protocol_action(1, 3), *([] if right else [protocol_action(1, 4)])]
    return files


@known_bug("log-006", COM002=1)
def two_metadata_in_one_commit(right: bool) -> TableFiles:
    """One commit carries two descriptions of the table, one with a column more, and engines pick either."""
    files = log_only.build_table()
    wider = [*log_only.FIELDS, ("price", "double")]
    files.commits[2] += [metadata_action(wider), *([] if right else [metadata_action(log_only.FIELDS)])]
    return files


@no_finding("log-018", "the flag stands at each action, and rows of a remove without it may be in an add with it")
def flags_of_data_change_mixed_in_one_commit() -> TableFiles:
    """A rewrite removes its files without data change and adds the new file with it, so streams see rows anew."""
    files = log_only.build_table()
    get_action(files, 2, "remove")["dataChange"] = False
    return files


@known_bug("wr-008", LIN010=3)
def adds_lack_required_fields(right: bool) -> TableFiles:
    """A library commits whatever its caller hands it: adds without size, modification time and data change."""
    files = log_only.build_table()
    for number, name in enumerate(("size", "modificationTime", "dataChange")):
        added = add_action(f"handed-over-{number}.parquet", rows=1)
        if not right:
            del added["add"][name]
        files.commits[2].append(added)
    return files


@known_bug("wr-008", LIN011=1)
def remove_lacks_data_change(right: bool) -> TableFiles:
    """A library commits a remove without data change."""
    files = log_only.build_table()
    if not right:
        del get_action(files, 2, "remove")["dataChange"]
    return files


@known_bug("log-017", LOG001=1)
def log_begins_at_version_1(right: bool) -> TableFiles:
    """A drop raced with a write: the log holds nothing but version 1 with its files, neither protocol nor schema."""
    files = log_only.build_table(last_remove=False)
    del files.commits[2]
    if not right:
        del files.commits[0]
    return files


@known_bug("log-009", LOG001=1)
def version_missing_between_others(right: bool) -> TableFiles:
    """Versions 0, 1 and 3 are there and 2 is not; some engines read version 1, some read 3 without 2."""
    files = _many_versions(4)
    if not right:
        del files.commits[2]
    return files


@known_bug("log-009", LOG001=1)
def beginning_missing_without_a_checkpoint(right: bool) -> TableFiles:
    """Versions 2 to 5 are there, with a version checksum but no checkpoint that they could go on from."""
    files = _many_versions(6)
    files.checksums[5] = {
        "tableSizeBytes": 5000,
        "numFiles": 5,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": get_action(files, 0, "metaData"),
        "protocol": get_action(files, 0, "protocol"),
    }
    if not right:
        del files.commits[0], files.commits[1]
    return files


@known_bug("log-009", LOG001=1)
def version_missing_after_the_checkpoint(right: bool) -> TableFiles:
    """A checkpoint of version 3 and the commit of version 5 are there, and nothing between them."""
    files = _many_versions(6)
    _checkpoint(files, 3)
    for version in range(4):
        del files.commits[version]
    if not right:
        del files.commits[4]
    return files


@known_bug("log-001", COP001=1)
def compaction_forgets_a_remove_without_time(right: bool) -> TableFiles:
    """A log compaction leaves out a remove that has no deletion time, taken for 1970 and so for expired."""
    files = log_only.build_table_with_compaction()
    removed = get_action(files, 2, "remove")
    del removed["deletionTimestamp"]
    if not right:
        files.compactions[(1, 2)] = files.compactions[(1, 2)][:-1]
    return files


@known_bug("clean-001", LOG001=1)
def commits_deleted_though_nothing_replaces_them(right: bool) -> TableFiles:
    """Cleanup of old versions deletes commits of a table that never had a checkpoint."""
    files = _many_versions(15)
    if not right:
        for version in range(8):
            del files.commits[version]
    return files


@no_finding("clean-001", "which versions were promised depends on the clock and on when the cleanup ran")
def versions_within_retention_deleted() -> TableFiles:
    """Cleanup keeps the checkpoint of version 10 and deletes all before it, versions 8 and 9 among them, too early."""
    files = _many_versions(15)
    _checkpoint(files, 10)
    for version in range(10):
        del files.commits[version]
    return files


@known_bug("clean-002", LOG009=1)
def commit_of_the_kept_checkpoint_deleted(right: bool) -> TableFiles:
    """Cleanup stops at a checkpoint and takes its commit too, where alone the in-commit timestamp of it stood."""
    files = log_only.build_table_with_timestamps()
    _checkpoint(files, 1)
    del files.commits[0]
    if not right:
        del files.commits[1]
    return files


@no_finding("clean-002", "without in-commit timestamps nothing needs the commit, and earlier texts let it go")
def commit_of_the_kept_checkpoint_deleted_without_need() -> TableFiles:
    """Cleanup stops at a checkpoint and takes its commit too, of a table without in-commit timestamps."""
    files = _many_versions(4)
    _checkpoint(files, 2)
    for version in range(3):
        del files.commits[version]
    return files


@no_finding("ckpt-016", "the hint names a checkpoint that exists, and readers look for newer ones beyond it")
def hint_moved_backwards() -> TableFiles:
    """A checkpoint made of an older version moves the hint from version 10 back to version 5."""
    files = _many_versions(12)
    _checkpoint(files, 10)
    _checkpoint(files, 5)
    files.last_checkpoint = {"version": 5, "size": 7, "numOfAddFiles": 5}
    return files


@known_bug("wr-001", COM010=1)
def rows_deleted_from_append_only_table(right: bool) -> TableFiles:
    """An engine that does not know the property deletes from an append-only table of writer version 2."""
    return _append_only(log_only.build_table(configuration={"delta.appendOnly": "true"}), right)


@known_bug("wr-001", COM010=1)
def rows_overwritten_in_append_only_table_of_features(right: bool) -> TableFiles:
    """An engine overwrites an append-only table whose protocol lists the feature by name."""
    protocol = protocol_action(1, 7, None, ["appendOnly"])
    return _append_only(log_only.build_table(protocol=protocol, configuration={"delta.appendOnly": "true"}), right)


@no_finding("wr-007", "the text asks for a GUID, and not that it stays; a table that is replaced may get another")
def table_id_changed_by_schema_evolution() -> TableFiles:
    """A writer that adds a column gives the table another id, and streams refuse to go on."""
    files = log_only.build_table()
    evolved = metadata_action([*log_only.FIELDS, ("price", "double")], id="22222222-2222-4333-8444-555555555555")
    files.commits[2].append(evolved)
    return files


@no_finding("wr-007", "keys beyond those that the text defines are the user's, in whatever case")
def property_of_the_user_lower_cased() -> TableFiles:
    """A writer sets the user's property My.Key as my.key."""
    return log_only.build_table(configuration={"my.key": "1"})


@no_finding("log-013", "any number of milliseconds may be meant, and the time of a file is not in the log")
def times_written_in_seconds() -> TableFiles:
    """Modification, creation and deletion times are seconds, so all of them lie in January 1970."""
    files = log_only.build_table()
    get_action(files, 0, "metaData")["createdTime"] = 1_700_000_000
    get_action(files, 2, "add")["modificationTime"] = 1_700_000_000
    get_action(files, 2, "remove")["deletionTimestamp"] = 1_700_000_000
    return files


@no_finding("txn-001", "a batch that is committed twice under two file names looks like two batches")
def batch_of_a_stream_committed_twice() -> TableFiles:
    """A sink restarts between commit and acknowledgement and commits its batch again, under the next version."""
    files = log_only.build_table()
    for version, name in ((1, "batch-7.parquet"), (2, "batch-7-again.parquet")):
        files.commits[version] += [
            add_action(name, rows=3),
            {"txn": {"appId": "sink", "version": 6 + version, "lastUpdated": 1_700_000_000_000}},
        ]
    return files


def _append_only(files: TableFiles, right: bool) -> TableFiles:
    """With `right` the remove only makes room for the same rows, in the file added."""
    for kind in ("add", "remove"):
        get_action(files, 2, kind)["dataChange"] = not right
    return files


def _many_versions(count: int) -> TableFiles:
    """A table of so many versions, a file added in each but the first."""
    files = TableFiles()
    files.commits[0] = [commit_info_action(0), protocol_action(1, 2), metadata_action(log_only.FIELDS)]
    for version in range(1, count):
        files.commits[version] = [commit_info_action(version), add_action(f"{version}.parquet", rows=10)]
    return files


def _checkpoint(files: TableFiles, version: int) -> None:
    """Add a classic checkpoint of a table that only grows."""
    lines = [line for each in range(version + 1) for line in files.commits[each] if isinstance(line, dict)]
    files.checkpoints.append(CheckpointFiles(version, rows=[line for line in lines if "commitInfo" not in line]))
