"""Version checksums that contradict the log, or that hide its damage."""

from known_bugs.registry import known_bug

from deltaspec_generators.table_files import TableFiles, add_action, commit_info_action, get_action, schema_string
from planted_tables.bases import log_only


@known_bug("crc-001", CRC010=1)
def schema_in_checksum_differs(is_sound: bool) -> TableFiles:
    """A checksum contains another schema than the log, and clients that start from it return a wrong schema."""
    files = log_only.build_table_with_checksum()
    if not is_sound:
        metadata = dict(files.checksums[2]["metadata"])
        files.checksums[2]["metadata"] = metadata | {"schemaString": schema_string([("id", "integer")])}
    return files


@known_bug("crc-001", LIN001=1)
def commit_truncated_but_checksum_complete(is_sound: bool) -> TableFiles:
    """The newest commit ends in the middle of a line; clients that start from its checksum do not notice."""
    files = log_only.build_table_with_checksum()
    if not is_sound:
        files.commits[2][-1] = '{"remove":{"path":"a.parquet","dataCh'
    return files


@known_bug("crc-001", CRC003=1)
def file_count_in_checksum_is_wrong(is_sound: bool) -> TableFiles:
    """A checksum counts a file that the table does not have."""
    files = log_only.build_table_with_checksum()
    if not is_sound:
        del files.checksums[2]["allFiles"], files.checksums[2]["fileSizeHistogram"]
        del files.checksums[2]["deletedRecordCountsHistogramOpt"]
        files.checksums[2]["numFiles"] = 3
    return files


@known_bug("crc-004", CRC003=2)
def writer_extends_a_wrong_checksum(is_sound: bool) -> TableFiles:
    """State and checksum differ at version 2, and the writer updates both without noticing: all later checksums are
    wrong."""
    files = log_only.build_table_with_checksum()
    first = {
        name: files.checksums[2][name]
        for name in ("tableSizeBytes", "numFiles", "numMetadata", "numProtocol", "metadata", "protocol")
    }
    files.commits[3] = [commit_info_action(3), add_action("d.parquet", rows=1, size=0)]
    lost = 0 if is_sound else 1
    files.checksums = {
        2: {**first, "numFiles": 2 + lost},
        3: {**first, "numFiles": 3 + lost},
    }
    assert get_action(files, 3, "add")["size"] == 0
    return files
