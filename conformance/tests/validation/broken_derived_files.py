"""Logs with one hand-made fault each in file actions, deletion vectors, checkpoints, compactions or checksums."""

from helpers.raw_logs import (
    PLAIN_CHECKPOINT_ROWS,
    RICH_CHECKPOINT_ROWS,
    RawLog,
    write_sidecar_checkpoint,
)
from validation.broken_logs import Case, make_case_decorator

CASES: list[Case] = []
broken = make_case_decorator(CASES)

# file actions


@broken("plain", "FIL001")
def path_has_incomplete_percent_encoding(log: RawLog) -> None:
    log.edit(2, "day=2024-01-01/c.parquet", "day=2024-01-01/c%2.parquet")


@broken("plain", "FIL003")  # path-010
def path_points_into_sibling_table(log: RawLog) -> None:
    log.edit(2, '"path":"day=2024-01-01/c.parquet"', '"path":"../other/c.parquet"')


@broken("plain", "FIL007")  # part-009
def add_is_missing_partition_value(log: RawLog) -> None:
    log.edit(1, '"partitionValues":{"day":null}', '"partitionValues":{}')


@broken("plain", divergences=("FIL008",))  # part-009
def add_has_extra_partition_value(log: RawLog) -> None:
    log.edit(1, '"partitionValues":{"day":null}', '"partitionValues":{"day":null,"hour":"7"}')


@broken("plain", "FIL009")  # part-002
def null_partition_value_uses_hive_directory_name(log: RawLog) -> None:
    log.edit(1, '"partitionValues":{"day":null}', '"partitionValues":{"day":"__HIVE_DEFAULT_PARTITION__"}')


@broken("plain", "FIL016")  # stat-009
def statistics_contain_unquoted_infinity(log: RawLog) -> None:
    log.edit(1, r"\"maxValues\":{\"id\":5}", r"\"maxValues\":{\"id\":Infinity}")


@broken("plain", "FIL030")
def file_is_added_twice(log: RawLog) -> None:
    log.append(2, log.files["00000000000000000002.json"].decode().splitlines()[2])


@broken("plain", "FIL032", "FIL038")
def commit_adds_and_removes_same_file(log: RawLog) -> None:
    log.edit(2, "/c.parquet", "/a.parquet")


@broken("rich", "FIL033")  # dv-004
def second_delete_leaves_first_vector_live(log: RawLog) -> None:
    vector = '"deletionVector":{"storageType":"i","pathOrInlineDv":"^Bg9^0rr910000000000iXQKl0rr91000005c8Xg0rr91"'
    log.edit(3, f',{vector},"sizeInBytes":34,"cardinality":1}}', "")


@broken("rich", "FIL015")  # dv-012
def file_with_vector_has_no_row_count(log: RawLog) -> None:
    log.edit(2, r"\"numRecords\":3,", "")


@broken("rich", "FIL021")  # rt-001
def base_row_id_is_negative(log: RawLog) -> None:
    log.edit(1, '"baseRowId":3', '"baseRowId":-3')


@broken("rich", "DVX006")
def vector_cardinality_is_too_high(log: RawLog) -> None:
    log.edit(2, '"sizeInBytes":34,"cardinality":1', '"sizeInBytes":34,"cardinality":2')
    log.edit(3, '"sizeInBytes":34,"cardinality":1', '"sizeInBytes":34,"cardinality":2')


@broken("rich", "DVX008")
def vector_deletes_more_rows_than_file_has(log: RawLog) -> None:
    log.edit(3, '"sizeInBytes":36,"cardinality":2', '"sizeInBytes":36,"cardinality":4')


# listing, checkpoints, compactions, checksums


@broken("plain", "LOG001")  # log-009
def commit_is_missing(log: RawLog) -> None:
    log.drop(1)


@broken("plain", "LOG001")  # log-017
def first_commits_are_missing_without_checkpoint(log: RawLog) -> None:
    log.drop(0, 1)


@broken("plain", "LOG001")  # log-009
def commit_after_checkpoint_is_missing(log: RawLog) -> None:
    log.checkpoint(0, log.rows((0, '{"protocol"'), (0, '{"metaData"')))
    log.drop(1)


@broken("plain", "LOG007", "CKP005")
def checkpoint_has_uuid_name_without_feature(log: RawLog) -> None:
    rows = log.rows(*PLAIN_CHECKPOINT_ROWS)
    log.checkpoint(2, rows, naming="uuid-parquet", uuid="80a083e8-7026-4e79-81be-64bd76c43a11")


@broken("plain", "CKP001")  # ckpt-011
def checkpoint_is_truncated(log: RawLog) -> None:
    (name,) = log.checkpoint(2, log.rows(*PLAIN_CHECKPOINT_ROWS))
    log.put(name, log.files[name][:-100])


@broken("plain", "CKP030")  # ckpt-011
def checkpoint_is_missing_file(log: RawLog) -> None:
    log.checkpoint(2, [row for row in log.rows(*PLAIN_CHECKPOINT_ROWS) if "__HIVE" not in str(row.get("add"))])


@broken("plain", "CKP033")
def checkpoint_has_tombstone_without_remove(log: RawLog) -> None:
    rows = log.rows(*PLAIN_CHECKPOINT_ROWS)
    rows.append({"remove": {"path": "never.parquet", "deletionTimestamp": 1700000002000, "dataChange": True}})
    log.checkpoint(2, rows)


@broken("plain", "CKP012")  # ckpt-003
def checkpoint_has_two_transactions_of_one_application(log: RawLog) -> None:
    log.checkpoint(2, [{"txn": {"appId": "loader", "version": 0}}, *log.rows(*PLAIN_CHECKPOINT_ROWS)])


@broken("rich", "CKP038")  # ckpt-001
def checkpoint_is_missing_domains(log: RawLog) -> None:
    log.checkpoint(3, [row for row in log.rows(*RICH_CHECKPOINT_ROWS) if "domainMetadata" not in row])


@broken("rich", "CKP010")  # ckpt-002
def checkpoint_contains_removed_domain(log: RawLog) -> None:
    log.append(
        4,
        '{"commitInfo":{"inCommitTimestamp":1700000004000}}',
        '{"domainMetadata":{"domain":"app.owner","configuration":"{}","removed":true}}',
    )
    other_rows = [row for row in RICH_CHECKPOINT_ROWS if row != (3, '{"domainMetadata"')]
    log.checkpoint(4, log.rows(*other_rows, (4, '{"domainMetadata"')))


@broken("rich", "CKP065", "CKP066")  # ckpt-004
def checkpoint_is_missing_feature_lists(log: RawLog) -> None:
    rows = log.rows(*RICH_CHECKPOINT_ROWS)
    del rows[0]["protocol"]["readerFeatures"], rows[0]["protocol"]["writerFeatures"]
    log.checkpoint(3, rows)


@broken("rich", "PRO003", "PRO004")  # ckpt-004
def only_remaining_checkpoint_is_missing_feature_lists(log: RawLog) -> None:
    checkpoint_is_missing_feature_lists(log)
    log.drop(0, 1, 2, 3)


@broken("rich", "CKP022")
def sidecar_is_missing(log: RawLog) -> None:
    _, sidecar = write_sidecar_checkpoint(log)
    del log.files[sidecar]


@broken("rich", "CKP013")
def checkpoint_has_files_outside_its_sidecar(log: RawLog) -> None:
    write_sidecar_checkpoint(log, lambda checkpoint: checkpoint.rows.append(checkpoint.sidecars[0].rows.pop()))


@broken("rich", "LOG006")
def multipart_checkpoint_with_v2_feature(log: RawLog) -> None:
    log.checkpoint(3, log.rows(*RICH_CHECKPOINT_ROWS), naming="multipart", parts=2)


@broken("rich", "CKP005")
def v2_checkpoint_has_no_checkpoint_metadata(log: RawLog) -> None:
    uuid = "80a083e8-7026-4e79-81be-64bd76c43a11"
    log.checkpoint(3, log.rows(*RICH_CHECKPOINT_ROWS), naming="uuid-json", uuid=uuid)


@broken("plain", "LCP004")  # ckpt-016
def hint_names_missing_checkpoint(log: RawLog) -> None:
    log.hint('{"version":2,"size":6}')


@broken("plain", "COP001")  # log-001
def compaction_is_missing_remove(log: RawLog) -> None:
    lines = log.files["00000000000000000001.json"].decode().splitlines()
    log.compaction(1, 2, "\n".join([*lines[2:], log.files["00000000000000000002.json"].decode().splitlines()[2]]))


_STATE = (
    '"metadata":{"id":"3c5e0b9c-2f4e-4d0f-8a55-6f0f6f4f7a01","format":{"provider":"parquet","options":{}},'
    r'"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,'
    r"\"metadata\":{}},{\"name\":\"price\",\"type\":\"decimal(10,2)\",\"nullable\":true,\"metadata\":{}},"
    r'{\"name\":\"day\",\"type\":\"date\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":["day"],'
    '"configuration":{},"createdTime":1700000000000},"protocol":{"minReaderVersion":1,"minWriterVersion":2}'
)
CHECKSUM = f'{{"tableSizeBytes":290,"numFiles":2,"numMetadata":1,"numProtocol":1,{_STATE}}}'
"""A valid version checksum of `plain` at version 2."""


@broken("plain", "CRC003")  # crc-001
def checksum_file_count_is_too_high(log: RawLog) -> None:
    log.checksum(2, CHECKSUM.replace('"numFiles":2', '"numFiles":3'))


@broken("plain", "CRC002")  # crc-004
def checksum_table_size_is_wrong(log: RawLog) -> None:
    log.checksum(2, CHECKSUM.replace('"tableSizeBytes":290', '"tableSizeBytes":390'))


@broken("plain", "CRC010")  # crc-001
def checksum_has_different_schema(log: RawLog) -> None:
    log.checksum(2, CHECKSUM.replace("decimal(10,2)", "decimal(12,2)"))


@broken("plain", "CRC001")
def checksum_has_no_protocol(log: RawLog) -> None:
    log.checksum(2, CHECKSUM.replace(',"protocol":{"minReaderVersion":1,"minWriterVersion":2}', ""))
