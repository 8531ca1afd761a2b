"""Checkpoints that lose, revive or corrupt state of the commits."""

from datetime import date

from known_bugs.registry import known_bug, no_finding, no_table

from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row
from deltaspec_generators.table_files import TableFiles, domain_action, get_action, protocol_action, txn_action
from planted_tables.bases import log_only

no_table(
    "ckpt-012", "the writer fails to write the second checkpoint after a schema change, so there is nothing to validate"
)


@known_bug("ckpt-001", CKP038=2)
def domains_missing_from_checkpoint(is_sound: bool) -> TableFiles:
    """The writer's checkpoints have no column for domains, so the row id high-water mark and a user's settings are
    lost."""
    files = log_only.build_table_with_features(writer=("domainMetadata", "rowTracking"))
    for number, (version, index) in enumerate(((1, 0), (1, 1), (2, 0))):
        get_action(files, version, "add", index).update(baseRowId=10 * number, defaultRowCommitVersion=version)
    get_action(files, 2, "remove").update(baseRowId=0, defaultRowCommitVersion=1)
    domains = [domain_action("delta.rowTracking", _row_id_mark(19)), domain_action("app.settings", '{"mode":"fast"}')]
    files.commits[1] += domains
    files.commits[2].append(domain_action("delta.rowTracking", _row_id_mark(29)))
    _add_checkpoint(
        files, 1, extra=domains if is_sound else [], without=frozenset() if is_sound else frozenset({"domainMetadata"})
    )
    return files


@known_bug("ckpt-002", CKP038=1)
def removed_domain_revived_by_checkpoint(is_sound: bool) -> TableFiles:
    """A checkpoint drops the tombstone of a domain before it hides the older entry, which becomes active again."""
    files = log_only.build_table_with_features(writer=("domainMetadata",))
    files.commits[1].append(domain_action("foo", '{"a":1}'))
    files.commits[2].append(domain_action("foo", '{"a":1}', removed=True))
    _add_checkpoint(files, 2, extra=[] if is_sound else [domain_action("foo", '{"a":1}')])
    return files


@known_bug("ckpt-004", CKP065=1, CKP066=1)
def feature_lists_missing_from_checkpoint(is_sound: bool) -> TableFiles:
    """The writer's checkpoints have no columns for feature lists, so versions 3 and 7 lose theirs."""
    files = log_only.build_table_with_features("deletionVectors", writer=("appendOnly",))
    _add_checkpoint(files, 1)
    if not is_sound:
        bare = protocol_action(3, 7)
        rows = files.checkpoints[0].rows
        files.checkpoints[0].rows = [bare if isinstance(row, dict) and "protocol" in row else row for row in rows]
    return files


@known_bug("ckpt-004", PRO003=1, PRO004=1)
def feature_lists_lost_with_the_commits(is_sound: bool) -> TableFiles:
    """The same checkpoint after the earlier commits were cleaned up: the features are lost."""
    files = feature_lists_missing_from_checkpoint(is_sound)
    del files.commits[0]
    return files


@known_bug("ckpt-003", CKP037=2)
def older_transaction_outlives_the_expired_one(is_sound: bool) -> TableFiles:
    """The writer drops expired transactions before it chooses the newest of an application, so an older one
    survives. Its version and `lastUpdated` differ."""
    files = log_only.build_table(configuration={"delta.setTransactionRetentionDuration": "interval 1 hour"})
    files.commits[1].append(txn_action("A", 1))
    files.commits[2].append(txn_action("A", 2, lastUpdated=1_600_000_000_000))
    _add_checkpoint(files, 2, extra=[] if is_sound else [txn_action("A", 1)])
    return files


@known_bug("ckpt-003", CKP012=1, CKP037=1)
def every_transaction_of_an_application_kept(is_sound: bool) -> TableFiles:
    """A checkpoint contains two transactions of one application, and readers use either."""
    files = log_only.build_table()
    files.commits[1].append(txn_action("A", 1))
    files.commits[2].append(txn_action("A", 2))
    rows = [txn_action("A", 2)] if is_sound else [txn_action("A", 2), txn_action("A", 1)]
    _add_checkpoint(files, 2, extra=rows)
    return files


@known_bug("ckpt-011", CKP001=1)
def newest_checkpoint_truncated(is_sound: bool) -> TableFiles:
    """The upload of a checkpoint ended early: some engines fall back to the commits, some fail."""
    files = log_only.build_checkpointed_table()
    if not is_sound:
        (name,) = (f"_delta_log/{name}" for name in files.checkpoints[0].names)
        files.extra[name] = b"PAR1\x15\x04\x15"
    return files


@known_bug("ckpt-011", CKP030=1)
def checkpoint_with_incomplete_files(is_sound: bool) -> TableFiles:
    """The log could not be read completely, and the part read so far was written as a valid Parquet file."""
    files = log_only.build_checkpointed_table()
    if not is_sound:
        files.checkpoints[0].rows = files.checkpoints[0].rows[:-1]
    return files


@no_finding("ckpt-018", "the protocol does not mention field ids in the statistics of a checkpoint's Parquet schema")
def partition_values_of_a_non_nullable_column() -> TableFiles:
    """A checkpoint with struct statistics of a table in id mode, partitioned by a non-nullable column."""
    mapped = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    day = {"name": "day", "type": "date", "nullable": False, "metadata": mapped}
    value = {"name": "at", "type": "timestamp", "nullable": True, "metadata": dict(mapped)}
    value["metadata"] = {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "col-2"}
    files = log_only.build_table(
        protocol=protocol_action(2, 5),
        configuration={
            "delta.columnMapping.mode": "id",
            "delta.columnMapping.maxColumnId": "2",
            "delta.checkpoint.writeStatsAsStruct": "true",
        },
        fields=[day, value],
        partition_columns=["day"],
        partition={"col-1": "2024-02-29"},
    )
    _add_checkpoint(files, 1)
    typed = {"stats_parsed": {"numRecords": 10}, "partitionValues_parsed": {"col-1": date(2024, 2, 29)}}
    files.checkpoints[0].rows = [
        {"add": {**row["add"], **typed}} if isinstance(row, dict) and "add" in row else row
        for row in files.checkpoints[0].rows
    ]
    return files


def _row_id_mark(highest: int) -> str:
    return f'{{"rowIdHighWaterMark":{highest}}}'


def _add_checkpoint(
    files: TableFiles, version: int, extra: list[Row] | None = None, without: frozenset[str] = frozenset()
) -> None:
    """Add a classic checkpoint of the state after a version; `extra` replaces its domains and transactions."""
    lines = [line for each in range(version + 1) for line in files.commits[each] if isinstance(line, dict)]
    actions = [line for line in lines if line.keys() & {"protocol", "metaData", "add", "remove"}]
    if extra is None:
        actions += [line for line in lines if line.keys() & {"domainMetadata", "txn"}]
    removed = {line["remove"]["path"] for line in actions if "remove" in line}
    rows = [line for line in actions if "add" not in line or line["add"]["path"] not in removed]
    files.checkpoints.append(CheckpointFiles(version, rows=[*rows, *(extra or [])], dropped_columns=without))
