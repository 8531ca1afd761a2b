"""Partition values, and paths of files."""

from known_bugs.registry import known_bug, no_finding

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.table_files import TableFiles, protocol_action

BY_DAY = (("id", "long"), ("day", "date"), ("hour", "integer"))


@known_bug("part-002", FIL009=1)
def null_written_as_a_folder_name(right: bool) -> TableFiles:
    """A null partition value is written as the name that Hive gives to the folder of nulls, in an integer column."""
    files = _by_day_and_hour()
    get_action(files, 2, "add")["partitionValues"]["hour"] = None if right else "__HIVE_DEFAULT_PARTITION__"
    return files


@no_finding("part-002", "any text is a string, this one too; only the writer knows that it meant null")
def null_of_a_string_written_as_a_folder_name() -> TableFiles:
    """A null partition value is written as the name that Hive gives to the folder of nulls, in a string column."""
    return log_only.build_table(
        fields=[("id", "long"), ("p", "string")],
        partition_columns=["p"],
        partition={"p": "__HIVE_DEFAULT_PARTITION__"},
    )


@known_bug("part-005", FIL061=3)
def timestamps_in_the_zone_of_a_session(right: bool) -> TableFiles:
    """The same instant is written without zone by sessions of two zones, so that one partition has two texts."""
    files = _by_timestamp("timestamp", "2024-02-28T16:00:00.000000Z" if right else "2024-02-28 16:00:00")
    if not right:
        get_action(files, 2, "add")["partitionValues"]["p"] = "2024-02-29 00:00:00"
    return files


@no_finding("part-006", "the value itself is not in the file, so nothing says that it is a second late")
def instant_before_1970_a_second_late() -> TableFiles:
    """Microseconds before 1970 are cut towards zero, and the partition value is a second late."""
    return _by_timestamp("timestamp_ntz", "1969-12-31 23:20:58.657658", feature=True)


@known_bug("part-008", MET005=1)
def partition_column_absent_from_schema(right: bool) -> TableFiles:
    """A table is partitioned by a column that its schema does not have, and a server that reads it aborts."""
    fields = [("id", "long"), ("day", "date")] if right else [("id", "long")]
    return log_only.build_table(fields=fields, partition_columns=["day"], partition={"day": "2024-02-29"})


@known_bug("part-009", FIL007=1)
def one_of_two_partition_values_missing(right: bool) -> TableFiles:
    """A file of a table with two partition columns has the value of one."""
    files = _by_day_and_hour()
    if not right:
        del get_action(files, 2, "add")["partitionValues"]["hour"]
    return files


@known_bug("part-009", FIL008=1)
def value_of_a_column_that_is_no_partition_column(right: bool) -> TableFiles:
    """A file has a partition value of a column that the table is not partitioned by."""
    files = _by_day_and_hour()
    if not right:
        get_action(files, 2, "add")["partitionValues"]["minute"] = "30"
    return files


@known_bug("part-009", FIL007=1)
def no_partition_values_at_all(right: bool) -> TableFiles:
    """A file of a partitioned table has no partition values."""
    files = _by_day_and_hour()
    if not right:
        get_action(files, 2, "add")["partitionValues"] = {}
    return files


@known_bug("part-012", CMP028=1)
def compaction_writes_logical_names(right: bool) -> TableFiles:
    """Under name mapping a compaction keys the partition values of its file by the displayed name of the column."""
    files = log_only.build_table(
        protocol=protocol_action(2, 5),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
        fields=[_field("id", "long", 1), _field("date", "date", 2)],
        partition_columns=["date"],
        partition={"col-2": "2024-02-29"},
    )
    for kind in ("add", "remove"):
        get_action(files, 2, kind)["dataChange"] = False
    if not right:
        get_action(files, 2, "add")["partitionValues"] = {"date": "2024-02-29"}
    return files


@known_bug("path-003", FIL001=1)
def path_not_encoded(right: bool) -> TableFiles:
    """A partition folder with a space and a quote stands in the log as the file system has it, not as a URI."""
    files = log_only.build_table(
        fields=[("id", "long"), ("p", "string")], partition_columns=["p"], partition={"p": 'a "b"'}
    )
    get_action(files, 2, "add")["path"] = "p=a%20%22b%22/c.parquet" if right else 'p=a "b"/c.parquet'
    return files


@no_finding("path-003", "folders mean nothing, so that a value differs from its folder is no fault of the log")
def value_lost_the_slash_that_its_folder_has() -> TableFiles:
    """Two encoders in a row: the folder says `/a%2Fb/`, and the value in the log lost its outer slashes."""
    files = log_only.build_table(
        fields=[("id", "long"), ("p", "string")], partition_columns=["p"], partition={"p": "a/b"}
    )
    get_action(files, 2, "add")["path"] = "p=%252Fa%252Fb%252F/c.parquet"
    return files


@no_finding(
    "path-010", "absolute paths are legal; a copy of the table points at the original, which a shallow clone means to"
)
def absolute_paths_within_the_table() -> TableFiles:
    """A writer records where its files lie in the store, and a copied table reads the files of the original."""
    files = log_only.build_table()
    get_action(files, 2, "add")["path"] = "s3://bucket/table/c.parquet"
    return files


def _by_day_and_hour() -> TableFiles:
    return log_only.build_table(
        fields=BY_DAY, partition_columns=["day", "hour"], partition={"day": "2024-02-29", "hour": "7"}
    )


def _by_timestamp(kind: str, text: str, *, feature: bool = False) -> TableFiles:
    protocol = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"]) if feature else None
    fields = [("id", "long"), ("p", kind)]
    return log_only.build_table(protocol=protocol, fields=fields, partition_columns=["p"], partition={"p": text})


def _field(name: str, kind: str, number: int) -> dict[str, object]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}
