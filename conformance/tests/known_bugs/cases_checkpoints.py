"""Checkpoints that lose, revive or garble what the commits say."""

from datetime import date

from known_bugs.registry import known_bug, no_finding, no_table

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.checkpoint_writer import CheckpointFiles, Row
from deltaspec_generators.table_files import TableFiles, domain_action, protocol_action, txn_action

no_table("ckpt-012", "the second checkpoint after a change of the schema is refused, so there is none to judge")


@known_bug("ckpt-001", CKP038=2)
def domains_missing_from_checkpoint(right: bool) -> TableFiles:
    """A writer whose checkpoints have no column for domains loses the row id mark and the settings of a user."""
    files = log_only.build_table_with_features(writer=("domainMetadata", "rowTracking"))
    for number, (version, which) in enumerate(((1, 0), (1, 1), (2, 0))):
        get_action(files, version, "add", which).update(baseRowId=10 * number, defaultRowCommitVersion=version)
    get_action(files, 2, "remove").update(baseRowId=0, defaultRowCommitVersion=1)
    kept = [domain_action("delta.rowTracking", _mark(19)), domain_action("app.settings", '{"mode":"fast"}')]
    files.commits[1] += kept
    files.commits[2].append(domain_action("delta.rowTracking", _mark(29)))
    _checkpoint(files, 1, extra=kept if right else [], without=frozenset() if right else frozenset({"domainMetadata"}))
    return files


@known_bug("ckpt-002", CKP038=1)
def removed_domain_revived_by_checkpoint(right: bool) -> TableFiles:
    """A checkpoint drops the tombstone of a domain before it hides the older entry, which comes back to life."""
    files = log_only.build_table_with_features(writer=("domainMetadata",))
    files.commits[1].append(domain_action("foo", '{"a":1}'))
    files.commits[2].append(domain_action("foo", '{"a":1}', removed=True))
    _checkpoint(files, 2, extra=[] if right else [domain_action("foo", '{"a":1}')])
    return files


@known_bug("ckpt-004", CKP065=1, CKP066=1)
def feature_lists_missing_from_checkpoint(right: bool) -> TableFiles:
    """A writer whose checkpoints have no columns for the lists of features leaves version 3 and 7 without them."""
    files = log_only.build_table_with_features("deletionVectors", writer=("appendOnly",))
    _checkpoint(files, 1)
    if not right:
        bare = protocol_action(3, 7)
        rows = files.checkpoints[0].rows
        files.checkpoints[0].rows = [bare if isinstance(row, dict) and "protocol" in row else row for row in rows]
    return files


@known_bug("ckpt-004", PRO003=1, PRO004=1)
def feature_lists_lost_with_the_commits(right: bool) -> TableFiles:
    """The same checkpoint after the commits before it were cleaned up: nobody knows the features any more."""
    files = feature_lists_missing_from_checkpoint(right)
    del files.commits[0]
    return files


@known_bug("ckpt-003", CKP037=1)
def older_transaction_outlives_the_expired_one(right: bool) -> TableFiles:
    """Expired transactions are dropped before the newest of an application is chosen: an older one survives."""
    files = log_only.build_table(configuration={"delta.setTransactionRetentionDuration": "interval 1 hour"})
    files.commits[1].append(txn_action("A", 1))
    files.commits[2].append(txn_action("A", 2, lastUpdated=1_600_000_000_000))
    _checkpoint(files, 2, extra=[] if right else [txn_action("A", 1)])
    return files


@known_bug("ckpt-003", CKP012=1, CKP037=1)
def every_transaction_of_an_application_kept(right: bool) -> TableFiles:
    """A checkpoint holds both transactions of one application, and readers take either."""
    files = log_only.build_table()
    files.commits[1].append(txn_action("A", 1))
    files.commits[2].append(txn_action("A", 2))
    rows = [txn_action("A", 2)] if right else [txn_action("A", 2), txn_action("A", 1)]
    _checkpoint(files, 2, extra=rows)
    return files


@known_bug("ckpt-011", CKP001=1)
def newest_checkpoint_cut_short(right: bool) -> TableFiles:
    """The upload of a checkpoint ended early: some engines go back to the commits, some fail."""
    files = log_only.build_checkpointed_table()
    if not right:
        (name,) = (f"_delta_log/{name}" for name in files.checkpoints[0].names)
        files.extra[name] = b"PAR1\x15\x04\x15"
    return files


@known_bug("ckpt-011", CKP030=1)
def checkpoint_holds_half_of_the_files(right: bool) -> TableFiles:
    """The log could not be read to its end, and what was read so far was written as a sound Parquet file."""
    files = log_only.build_checkpointed_table()
    if not right:
        files.checkpoints[0].rows = files.checkpoints[0].rows[:-1]
    return files


@no_finding(
    "ckpt-018", "field ids in the statistics of a checkpoint's Parquet schema are nothing that the text speaks of"
)
def partition_values_of_a_column_not_null() -> TableFiles:
    """A checkpoint with struct statistics of a table in id mode, partitioned by a column that is never null."""
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
    _checkpoint(files, 1)
    typed = {"stats_parsed": {"numRecords": 10}, "partitionValues_parsed": {"col-1": date(2024, 2, 29)}}
    files.checkpoints[0].rows = [
        {"add": {**row["add"], **typed}} if isinstance(row, dict) and "add" in row else row
        for row in files.checkpoints[0].rows
    ]
    return files


def _mark(highest: int) -> str:
    return f'{{"rowIdHighWaterMark":{highest}}}'


def _checkpoint(
    files: TableFiles, version: int, extra: list[Row] | None = None, without: frozenset[str] = frozenset()
) -> None:
    """A classic checkpoint of what the commits up to a version leave; `extra` in place of domains and transactions."""
    lines = [line for each in range(version + 1) for line in files.commits[each] if isinstance(line, dict)]
    kept = [line for line in lines if line.keys() & {"protocol", "metaData", "add", "remove"}]
    if extra is None:
        kept += [line for line in lines if line.keys() & {"domainMetadata", "txn"}]
    removed = {line["remove"]["path"] for line in kept if "remove" in line}
    rows = [line for line in kept if "add" not in line or line["add"]["path"] not in removed]
    files.checkpoints.append(CheckpointFiles(version, rows=[*rows, *(extra or [])], dropped_columns=without))
