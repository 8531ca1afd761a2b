"""Logs with one hand-made fault each in lines, fields, protocol, metadata or commits.

The comment after a decorator names the known engine bug that the case reproduces.
"""

from collections.abc import Callable
from dataclasses import dataclass

from helpers.raw_logs import RawLog

CorruptLog = Callable[[RawLog], object]


@dataclass(frozen=True)
class Case:
    """A broken log and the rules that find its fault."""

    name: str
    valid_log: str
    """Name of the valid log that it is made from."""
    expected: frozenset[str]
    """Codes of the rules of severity violation or warning that have findings."""
    divergences: frozenset[str]
    """Codes of the rules of severity divergence that have findings."""
    corrupt: CorruptLog

    def log(self) -> RawLog:
        log = RawLog(self.valid_log)
        self.corrupt(log)
        return log


def make_case_decorator(cases: list[Case]) -> Callable[..., Callable[[CorruptLog], CorruptLog]]:
    """Return a decorator that appends the decorated function to `cases`."""

    def broken(valid_log: str, *expected: str, divergences: tuple[str, ...] = ()) -> Callable[[CorruptLog], CorruptLog]:
        def append_case(corrupt: CorruptLog) -> CorruptLog:
            cases.append(Case(corrupt.__name__, valid_log, frozenset(expected), frozenset(divergences), corrupt))
            return corrupt

        return append_case

    return broken


CASES: list[Case] = []
broken = make_case_decorator(CASES)

# lines and fields


@broken("plain", "LIN001")  # ckpt-011: a writer crashed, or the disk was full
def last_line_of_commit_is_truncated(log: RawLog) -> None:
    log.edit(2, r'"numRecords\":1,', "")
    log.files["00000000000000000002.json"] = log.files["00000000000000000002.json"][:-40]


@broken("plain", "LIN001")  # stat-012: bytes of a binary column in the statistics
def statistics_contain_invalid_utf8(log: RawLog) -> None:
    log.edit(1, r"\"id\":4", r"\"id\":\"?\"")
    log.files["00000000000000000001.json"] = log.files["00000000000000000001.json"].replace(b"?", b"\xff\x80")


@broken("plain", "LIN002")
def add_and_remove_share_a_line(log: RawLog) -> None:
    log.edit(2, '}}\n{"add"', '},"add"')


@broken("plain", "LIN009")
def unrecognized_key_follows_an_add(log: RawLog) -> None:
    log.edit(2, '}}\n{"add"', '},"checksum":"c0ffee"}\n{"add"')


@broken("plain", "LIN009")
def unrecognized_key_precedes_the_protocol(log: RawLog) -> None:
    log.edit(0, '{"protocol"', '{"writer":{"add":{"path":1}},"protocol"')


@broken("plain", "LIN010")  # wr-008
def add_has_no_size(log: RawLog) -> None:
    log.edit(1, '"size":200,', "")


@broken("plain", "LIN010")  # log-013
def modification_time_is_in_fractional_seconds(log: RawLog) -> None:
    log.edit(2, '"modificationTime":1700000002000', '"modificationTime":1700000002.5')


@broken("plain", "LIN010")  # dv-011
def add_has_an_empty_deletion_vector(log: RawLog) -> None:
    log.edit(2, '"size":90,', '"size":90,"deletionVector":{},')


@broken("plain", "LIN011")  # wr-008
def remove_has_no_data_change(log: RawLog) -> None:
    log.edit(2, '2000,"dataChange":true,"extended', '2000,"extended')


@broken("plain", "LIN013")
def schema_is_object_instead_of_string(log: RawLog) -> None:
    text = log.files["00000000000000000000.json"].decode()
    start, end = text.index('"{\\"type'), text.index('}"', text.index('"{\\"type')) + 2
    log.files["00000000000000000000.json"] = (
        text[:start] + text[start + 1 : end - 1].replace("\\", "") + text[end:]
    ).encode()


@broken("plain", "LIN015")
def transaction_version_is_string(log: RawLog) -> None:
    log.edit(1, '"appId":"loader","version":1', '"appId":"loader","version":"1"')


@broken("plain", "FIL011")  # log-013
def size_is_negative(log: RawLog) -> None:
    log.edit(1, '"size":200', '"size":-1')


# protocol and features


@broken("plain", "COM001")  # log-006
def commit_has_two_protocols(log: RawLog) -> None:
    log.append(
        1,
        '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}',
        '{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}',
    )


@broken("plain", "PRO001", "PRO002")  # proto-001
def old_protocol_has_empty_feature_lists(log: RawLog) -> None:
    log.edit(0, '"minWriterVersion":2', '"minWriterVersion":2,"readerFeatures":[],"writerFeatures":[]')


@broken("rich", "PRO003", "PRO004")
def protocol_has_no_feature_lists(log: RawLog) -> None:
    log.drop_line(0, '{"protocol"')
    log.append(0, '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}')


@broken("rich", "FEA001", divergences=("CMP022",))  # proto-002
def feature_is_only_in_reader_list(log: RawLog) -> None:
    log.edit(0, '"writerFeatures":["columnMapping",', '"writerFeatures":[')


@broken("rich", "FEA003")  # proto-011
def deletion_vectors_are_only_in_writer_list(log: RawLog) -> None:
    log.edit(0, '"readerFeatures":["columnMapping","deletionVectors",', '"readerFeatures":["columnMapping",')


@broken("rich", "FEA002")  # proto-011
def column_defaults_are_in_both_lists(log: RawLog) -> None:
    log.edit(0, '"readerFeatures":[', '"readerFeatures":["allowColumnDefaults",')
    log.edit(0, '"writerFeatures":[', '"writerFeatures":["allowColumnDefaults",')


@broken("rich", "FEA004", "DOM001")  # lc-001
def row_tracking_without_domain_metadata_feature(log: RawLog) -> None:
    log.edit(0, '"domainMetadata",', "")


@broken("plain", "SCH001")  # proto-001
def timestamp_ntz_column_without_feature(log: RawLog) -> None:
    log.edit(0, r"\"name\":\"id\",\"type\":\"long\"", r"\"name\":\"at\",\"type\":\"timestamp_ntz\"")
    log.edit_all(1, r"{\"id\":", r"{\"other\":")
    log.edit_all(2, r"{\"id\":", r"{\"other\":")


@broken("rich", "FIL014", "PRO008")  # proto-008
def restore_downgrades_protocol_but_keeps_vectors(log: RawLog) -> None:
    features = '"columnMapping","domainMetadata","inCommitTimestamp","rowTracking"'
    log.append(
        4,
        '{"commitInfo":{"inCommitTimestamp":1700000004000,"operation":"RESTORE",'
        '"tags":{"delta.rowTracking.preserved":"true"}}}',
        f'{{"protocol":{{"minReaderVersion":2,"minWriterVersion":7,"writerFeatures":[{features}]}}}}',
        log.files["00000000000000000003.json"].decode().splitlines()[2],
    )


# metadata, schema and configuration


@broken("plain", "COM002")  # log-006
def commit_has_two_metadata(log: RawLog) -> None:
    line = log.files["00000000000000000000.json"].decode().splitlines()[2]
    log.append(0, line)


@broken("plain", "MET001")
def table_id_is_not_uuid(log: RawLog) -> None:
    log.edit(0, "3c5e0b9c-2f4e-4d0f-8a55-6f0f6f4f7a01", "sales")


@broken("plain", "MET004")
def decimal_scale_exceeds_precision(log: RawLog) -> None:
    log.edit(0, "decimal(10,2)", "decimal(10,12)")


@broken("plain", "MET005")  # part-008
def partition_column_is_not_in_schema(log: RawLog) -> None:
    log.edit(0, '"partitionColumns":["day"]', '"partitionColumns":["days"]')
    log.edit_all(1, '"partitionValues":{"day"', '"partitionValues":{"days"')
    log.edit_all(2, '"partitionValues":{"day"', '"partitionValues":{"days"')


@broken("plain", "MET008")
def two_columns_differ_only_in_case(log: RawLog) -> None:
    log.edit(0, r"\"name\":\"price\"", r"\"name\":\"ID\"")


@broken("rich", "CMP001")  # cm-003
def mapped_column_has_no_id(log: RawLog) -> None:
    log.edit(0, r"\"delta.columnMapping.id\":2,", "")


@broken("rich", "CMP003")  # cm-004
def two_mapped_columns_share_id(log: RawLog) -> None:
    log.edit(0, r"\"delta.columnMapping.id\":2,", r"\"delta.columnMapping.id\":1,")


@broken("rich", "CMP004")  # cm-004
def two_mapped_columns_share_physical_name(log: RawLog) -> None:
    log.edit(0, r"\"col-3\"", r"\"col-2\"")


@broken("rich", "CMP005")  # cm-004
def max_column_id_is_too_low(log: RawLog) -> None:
    log.edit(0, '"delta.columnMapping.maxColumnId":"3"', '"delta.columnMapping.maxColumnId":"2"')


@broken("rich", divergences=("CFG005",))
def boolean_property_is_invalid(log: RawLog) -> None:
    log.edit(0, '"delta.enableDeletionVectors":"true"', '"delta.enableDeletionVectors":"yes"')


@broken("plain", "CFG004")
def check_constraint_without_feature(log: RawLog) -> None:
    log.edit(0, '"configuration":{}', '"configuration":{"delta.constraints.sold":"price > 0"}')


# commits


@broken("plain", "COM010")  # wr-001
def rows_are_removed_from_append_only_table(log: RawLog) -> None:
    log.edit(0, '"configuration":{}', '"configuration":{"delta.appendOnly":"true"}')


@broken("plain", "COM009")
def commit_has_two_transactions_of_one_application(log: RawLog) -> None:
    log.append(1, '{"txn":{"appId":"loader","version":2}}')


@broken("rich", "COM007")  # ict-001
def in_commit_timestamp_decreases(log: RawLog) -> None:
    log.edit(2, '"inCommitTimestamp":1700000002000', '"inCommitTimestamp":1699996402000')


@broken("rich", "COM005")  # ict-001
def commit_has_no_in_commit_timestamp(log: RawLog) -> None:
    log.edit(2, '"inCommitTimestamp":1700000002000,', "")


@broken("rich", "COM006")
def commit_info_is_last(log: RawLog) -> None:
    lines = log.files["00000000000000000003.json"].decode().splitlines()
    log.drop(3)
    log.append(3, *lines[1:], lines[0])


@broken("rich", "COM006")
def commit_info_follows_unknown_action(log: RawLog) -> None:
    lines = log.files["00000000000000000003.json"].decode().splitlines()
    log.drop(3)
    log.append(3, '{"someFutureAction":{}}', *lines)


@broken("rich", "DOM003")  # rt-001
def row_id_high_water_mark_is_string(log: RawLog) -> None:
    log.edit(1, r'"{\"rowIdHighWaterMark\":4}"', r'"{\"rowIdHighWaterMark\":\"4\"}"')
