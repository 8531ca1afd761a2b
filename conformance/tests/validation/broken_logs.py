"""Logs broken by hand, one fault each, of lines, protocol, metadata and files.

A comment after a case names the known bug of an engine, in the project's list of them, that the case is made after.
"""

from collections.abc import Callable
from dataclasses import dataclass

from helpers.raw_logs import RawLog

Break = Callable[[RawLog], object]


@dataclass(frozen=True)
class Case:
    """A broken log and what is found in it."""

    name: str
    good: str
    """The good log that it is made of."""
    found: frozenset[str]
    """Every rule of severity violation or warning that finds something."""
    divergences: frozenset[str]
    """Every rule of severity divergence that does."""
    corrupt: Break

    def log(self) -> RawLog:
        log = RawLog(self.good)
        self.corrupt(log)
        return log


def make_case_decorator(cases: list[Case]) -> Callable[..., Callable[[Break], Break]]:
    """A decorator that enters a function into a list of cases."""

    def broken(good: str, *found: str, divergences: tuple[str, ...] = ()) -> Callable[[Break], Break]:
        def enter(corrupt: Break) -> Break:
            cases.append(Case(corrupt.__name__, good, frozenset(found), frozenset(divergences), corrupt))
            return corrupt

        return enter

    return broken


CASES: list[Case] = []
broken = make_case_decorator(CASES)

# lines and fields


@broken("plain", "LIN001")  # ckpt-011: a writer died, or the disk was full
def commit_is_cut_within_its_last_line(log: RawLog) -> None:
    log.edit(2, r'"numRecords\":1,', "")
    log.files["00000000000000000002.json"] = log.files["00000000000000000002.json"][:-40]


@broken("plain", "LIN001")  # stat-012: bytes of a binary column in the statistics
def statistics_hold_bytes_that_are_no_text(log: RawLog) -> None:
    log.edit(1, r"\"id\":4", r"\"id\":\"?\"")
    log.files["00000000000000000001.json"] = log.files["00000000000000000001.json"].replace(b"?", b"\xff\x80")


@broken("plain", "LIN002")
def add_and_remove_share_a_line(log: RawLog) -> None:
    log.edit(2, '}}\n{"add"', '},"add"')


@broken("plain", "LIN010")  # wr-008
def add_has_no_size(log: RawLog) -> None:
    log.edit(1, '"size":200,', "")


@broken("plain", "LIN010")  # log-013
def modification_time_is_in_seconds_with_a_fraction(log: RawLog) -> None:
    log.edit(2, '"modificationTime":1700000002000', '"modificationTime":1700000002.5')


@broken("plain", "LIN010")  # dv-011
def add_has_an_empty_deletion_vector(log: RawLog) -> None:
    log.edit(2, '"size":90,', '"size":90,"deletionVector":{},')


@broken("plain", "LIN011")  # wr-008
def remove_does_not_say_whether_data_change(log: RawLog) -> None:
    log.edit(2, '2000,"dataChange":true,"extended', '2000,"extended')


@broken("plain", "LIN013")
def schema_stands_in_metadata_as_an_object(log: RawLog) -> None:
    text = log.files["00000000000000000000.json"].decode()
    start, end = text.index('"{\\"type'), text.index('}"', text.index('"{\\"type')) + 2
    log.files["00000000000000000000.json"] = (
        text[:start] + text[start + 1 : end - 1].replace("\\", "") + text[end:]
    ).encode()


@broken("plain", "LIN015")
def transaction_version_is_a_text(log: RawLog) -> None:
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
def protocol_of_features_lists_none(log: RawLog) -> None:
    log.drop_line(0, '{"protocol"')
    log.append(0, '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}')


@broken("rich", "FEA001", divergences=("CMP022",))  # proto-002
def feature_stands_in_the_list_of_readers_alone(log: RawLog) -> None:
    log.edit(0, '"writerFeatures":["columnMapping",', '"writerFeatures":[')


@broken("rich", "FEA003")  # proto-011
def deletion_vectors_stand_in_the_list_of_writers_alone(log: RawLog) -> None:
    log.edit(0, '"readerFeatures":["columnMapping","deletionVectors",', '"readerFeatures":["columnMapping",')


@broken("rich", "FEA002")  # proto-011
def column_defaults_stand_in_both_lists(log: RawLog) -> None:
    log.edit(0, '"readerFeatures":[', '"readerFeatures":["allowColumnDefaults",')
    log.edit(0, '"writerFeatures":[', '"writerFeatures":["allowColumnDefaults",')


@broken("rich", "FEA004", "DOM001")  # lc-001
def row_tracking_comes_without_domains(log: RawLog) -> None:
    log.edit(0, '"domainMetadata",', "")


@broken("plain", "SCH001")  # proto-001
def timestamp_without_zone_comes_without_its_feature(log: RawLog) -> None:
    log.edit(0, r"\"name\":\"id\",\"type\":\"long\"", r"\"name\":\"at\",\"type\":\"timestamp_ntz\"")
    log.edit_all(1, r"{\"id\":", r"{\"other\":")
    log.edit_all(2, r"{\"id\":", r"{\"other\":")


@broken("rich", "FIL014", divergences=("PRO006", "PRO007"))  # proto-008
def restore_lowers_the_protocol_under_its_vectors(log: RawLog) -> None:
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
def table_id_is_a_name(log: RawLog) -> None:
    log.edit(0, "3c5e0b9c-2f4e-4d0f-8a55-6f0f6f4f7a01", "sales")


@broken("plain", "MET004")
def decimal_has_more_scale_than_precision(log: RawLog) -> None:
    log.edit(0, "decimal(10,2)", "decimal(10,12)")


@broken("plain", "MET005")  # part-008
def partition_column_is_spelled_in_another_case(log: RawLog) -> None:
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
def two_mapped_columns_have_one_id(log: RawLog) -> None:
    log.edit(0, r"\"delta.columnMapping.id\":2,", r"\"delta.columnMapping.id\":1,")


@broken("rich", "CMP004")  # cm-004
def two_mapped_columns_have_one_physical_name(log: RawLog) -> None:
    log.edit(0, r"\"col-3\"", r"\"col-2\"")


@broken("rich", "CMP005")  # cm-004
def highest_column_id_is_behind(log: RawLog) -> None:
    log.edit(0, '"delta.columnMapping.maxColumnId":"3"', '"delta.columnMapping.maxColumnId":"2"')


@broken("rich", "CFG001")
def property_is_neither_true_nor_false(log: RawLog) -> None:
    log.edit(0, '"delta.enableDeletionVectors":"true"', '"delta.enableDeletionVectors":"yes"')


@broken("plain", "CFG004")
def constraint_comes_without_its_feature(log: RawLog) -> None:
    log.edit(0, '"configuration":{}', '"configuration":{"delta.constraints.sold":"price > 0"}')


# commits


@broken("plain", "COM010")  # wr-001
def rows_leave_an_append_only_table(log: RawLog) -> None:
    log.edit(0, '"configuration":{}', '"configuration":{"delta.appendOnly":"true"}')


@broken("plain", "COM009")
def application_reports_two_versions(log: RawLog) -> None:
    log.append(1, '{"txn":{"appId":"loader","version":2}}')


@broken("rich", "COM007")  # ict-001
def clock_went_back(log: RawLog) -> None:
    log.edit(2, '"inCommitTimestamp":1700000002000', '"inCommitTimestamp":1699996402000')


@broken("rich", "COM005")  # ict-001
def commit_forgets_its_timestamp(log: RawLog) -> None:
    log.edit(2, '"inCommitTimestamp":1700000002000,', "")


@broken("rich", "COM006")
def commit_info_comes_last(log: RawLog) -> None:
    lines = log.files["00000000000000000003.json"].decode().splitlines()
    log.drop(3)
    log.append(3, *lines[1:], lines[0])


@broken("rich", "DOM003")  # rt-001
def high_water_mark_of_row_ids_is_no_number(log: RawLog) -> None:
    log.edit(1, r'"{\"rowIdHighWaterMark\":4}"', r'"{\"rowIdHighWaterMark\":\"4\"}"')
