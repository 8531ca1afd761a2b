"""Partition values and file paths."""

from known_bugs.registry import known_bug, no_finding

from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.bases import log_only

BY_DAY = (("id", "long"), ("day", "date"), ("hour", "integer"))


@known_bug("part-002", FIL009=1)
def null_written_as_hive_default(is_sound: bool) -> TableFiles:
    """A null in an integer partition column is written as __HIVE_DEFAULT_PARTITION__, the folder name that Hive
    uses."""
    files = _build_table_by_day_and_hour()
    get_action(files, 2, "add")["partitionValues"]["hour"] = None if is_sound else "__HIVE_DEFAULT_PARTITION__"
    return files


@no_finding("part-002", "this is a valid string; only the writer knows that it means null")
def null_string_written_as_hive_default() -> TableFiles:
    """A null in a string partition column is written as __HIVE_DEFAULT_PARTITION__, the folder name that Hive uses."""
    return log_only.build_table(
        fields=[("id", "long"), ("p", "string")],
        partition_columns=["p"],
        partition={"p": "__HIVE_DEFAULT_PARTITION__"},
    )


@known_bug("part-005", FIL061=3)
def timestamps_in_session_time_zones(is_sound: bool) -> TableFiles:
    """Sessions in two time zones write the same instant without a zone, so one partition has two values."""
    files = _build_table_by_timestamp("timestamp", "2024-02-28T16:00:00.000000Z" if is_sound else "2024-02-28 16:00:00")
    if not is_sound:
        get_action(files, 2, "add")["partitionValues"]["p"] = "2024-02-29 00:00:00"
    return files


@no_finding("part-006", "the file does not contain the value, so nothing shows that it is a second late")
def partition_value_before_1970_a_second_late() -> TableFiles:
    """Microseconds before 1970 are truncated toward zero, so the partition value is a second late."""
    return _build_table_by_timestamp("timestamp_ntz", "1969-12-31 23:20:58.657658", feature=True)


@known_bug("part-008", MET005=1)
def partition_column_absent_from_schema(is_sound: bool) -> TableFiles:
    """The table is partitioned by a column that its schema does not have, and a server that reads it aborts."""
    fields = [("id", "long"), ("day", "date")] if is_sound else [("id", "long")]
    return log_only.build_table(fields=fields, partition_columns=["day"], partition={"day": "2024-02-29"})


@known_bug("part-009", FIL007=1)
def one_of_two_partition_values_missing(is_sound: bool) -> TableFiles:
    """A file of a table with two partition columns has a value for only one."""
    files = _build_table_by_day_and_hour()
    if not is_sound:
        del get_action(files, 2, "add")["partitionValues"]["hour"]
    return files


@known_bug("part-009", FIL008=1)
def value_of_an_unknown_partition_column(is_sound: bool) -> TableFiles:
    """A file has a partition value for a column that the table is not partitioned by."""
    files = _build_table_by_day_and_hour()
    if not is_sound:
        get_action(files, 2, "add")["partitionValues"]["minute"] = "30"
    return files


@known_bug("part-009", FIL007=1)
def partition_values_empty(is_sound: bool) -> TableFiles:
    """A file of a partitioned table has no partition values."""
    files = _build_table_by_day_and_hour()
    if not is_sound:
        get_action(files, 2, "add")["partitionValues"] = {}
    return files


@known_bug("part-012", CMP028=1)
def compaction_writes_logical_names(is_sound: bool) -> TableFiles:
    """In name mode, a compaction uses the display name of the column as key of its partition values."""
    files = log_only.build_table(
        protocol=protocol_action(2, 5),
        configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"},
        fields=[_field("id", "long", 1), _field("date", "date", 2)],
        partition_columns=["date"],
        partition={"col-2": "2024-02-29"},
    )
    for kind in ("add", "remove"):
        get_action(files, 2, kind)["dataChange"] = False
    if not is_sound:
        get_action(files, 2, "add")["partitionValues"] = {"date": "2024-02-29"}
    return files


@known_bug("path-003", FIL001=1)
def path_not_encoded(is_sound: bool) -> TableFiles:
    """The path contains a space and a quote of a partition folder unencoded, so it is not a URI."""
    files = log_only.build_table(
        fields=[("id", "long"), ("p", "string")], partition_columns=["p"], partition={"p": 'a "b"'}
    )
    get_action(files, 2, "add")["path"] = "p=a%20%22b%22/c.parquet" if is_sound else 'p=a "b"/c.parquet'
    return files


@no_finding("path-003", "folder names have no meaning, so a value may differ from its folder")
def value_without_the_slash_of_its_folder() -> TableFiles:
    """The path is encoded twice: the folder is `/a%2Fb/`, and the value in the log lost its outer slashes."""
    files = log_only.build_table(
        fields=[("id", "long"), ("p", "string")], partition_columns=["p"], partition={"p": "a/b"}
    )
    get_action(files, 2, "add")["path"] = "p=%252Fa%252Fb%252F/c.parquet"
    return files


@no_finding("path-010", "absolute paths are allowed; shallow clones rely on them to refer to the original")
def absolute_paths_within_the_table() -> TableFiles:
    """A writer records absolute paths, so a copy of the table reads the files of the original."""
    files = log_only.build_table()
    get_action(files, 2, "add")["path"] = "s3://bucket/table/c.parquet"
    return files


def _build_table_by_day_and_hour() -> TableFiles:
    return log_only.build_table(
        fields=BY_DAY, partition_columns=["day", "hour"], partition={"day": "2024-02-29", "hour": "7"}
    )


def _build_table_by_timestamp(kind: str, text: str, *, feature: bool = False) -> TableFiles:
    protocol = protocol_action(3, 7, ["timestampNtz"], ["timestampNtz"]) if feature else None
    fields = [("id", "long"), ("p", kind)]
    return log_only.build_table(protocol=protocol, fields=fields, partition_columns=["p"], partition={"p": text})


def _field(name: str, kind: str, number: int) -> dict[str, object]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}
