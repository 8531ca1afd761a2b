"""Names of log files. Source: File Types; Checkpoints; Sidecar Files; Log Compaction Files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaspec.protocol.log import file_names
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    LastCheckpointName,
    MultipartCheckpoint,
    OtherFile,
    SidecarName,
    StagedCommit,
    UuidCheckpoint,
    describe_near_miss,
    parse_log_file_name,
)

VERSION = "00000000000000000010"
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"
LARGEST = "09223372036854775807"
TOO_LARGE = "09223372036854775808"

NAMES = {
    f"{VERSION}.json": CommitName(10),
    f"{'0' * 20}.json": CommitName(0),
    f"{LARGEST}.json": CommitName(2**63 - 1),
    f"{VERSION}.crc": ChecksumName(10),
    f"{VERSION}.checkpoint.parquet": ClassicCheckpoint(10),
    f"{VERSION}.checkpoint.0000000001.0000000003.parquet": MultipartCheckpoint(10, 1, 3),
    f"{VERSION}.checkpoint.0000000003.0000000003.parquet": MultipartCheckpoint(10, 3, 3),
    f"{VERSION}.checkpoint.{UUID}.json": UuidCheckpoint(10, UUID, "json"),
    f"{VERSION}.checkpoint.{UUID}.parquet": UuidCheckpoint(10, UUID, "parquet"),
    "00000000000000000004.00000000000000000006.compacted.json": CompactionName(4, 6),
    "_last_checkpoint": LastCheckpointName(),
    f"_sidecars/{UUID}.parquet": SidecarName(f"{UUID}.parquet"),
    "_sidecars/any unique string.parquet": SidecarName("any unique string.parquet"),
    f"_staged_commits/{VERSION}.{UUID}.json": StagedCommit(10, UUID),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_name_is_parsed(name: str) -> None:
    assert parse_log_file_name(name) == NAMES[name]
    assert describe_near_miss(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "3a0d65cd-4056-49b8-937b-95f9e3ee90e5",
        "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032",
        "016ae953-37a9-438e-8683-9a9a4a79a395",
        "3ae45b72-24e1-865a-a211-34987ae02f2a",
    ],
)
def test_names_with_the_protocol_uuids_are_parsed(name: str) -> None:
    assert parse_log_file_name(f"_staged_commits/{VERSION}.{name}.json") == StagedCommit(10, name)
    assert parse_log_file_name(f"_sidecars/{name}.parquet") == SidecarName(f"{name}.parquet")
    assert parse_log_file_name(f"{VERSION}.checkpoint.{name}.json") == UuidCheckpoint(10, name, "json")


MISSES = {
    "0000000000000000010.json": "a commit whose version has 19 digits",
    "000000000000000000010.json": "a commit whose version has 21 digits",
    "10.json": "a commit whose version has 2 digits",
    f"{TOO_LARGE}.json": "a commit beyond 64 bits",
    "1.crc": "a version checksum whose version has 1 digits",
    "10.checkpoint.parquet": "a classic checkpoint whose version has 2 digits",
    f"{TOO_LARGE}.checkpoint.parquet": "a classic checkpoint beyond 64 bits",
    f"{TOO_LARGE}.checkpoint.0000000001.0000000001.parquet": "a checkpoint beyond 64 bits",
    f"{VERSION}.checkpoint.1.3.parquet": "a checkpoint whose name matches none of the three naming schemes",
    f"{VERSION}.checkpoint.json": "a checkpoint whose name matches none of the three naming schemes",
    f"{VERSION}.checkpoint.0000000004.0000000003.parquet": "part 4 of a checkpoint of 3 parts",
    f"{VERSION}.checkpoint.0000000000.0000000003.parquet": "part 0 of a checkpoint of 3 parts",
    f"{VERSION}.checkpoint.{UUID.upper()}.parquet": "a checkpoint whose UUID is not in lower case",
    "4.6.compacted.json": "a log compaction whose versions do not have 20 digits each",
    f"{VERSION}.compacted.json": "a log compaction whose versions do not have 20 digits each",
    f"{VERSION}.{TOO_LARGE}.compacted.json": "a log compaction beyond 64 bits",
    f"{VERSION}.{UUID}.json": "a staged commit outside of `_staged_commits`",
    f"_staged_commits/{VERSION}.json": "a staged commit whose name is not a version and a UUID",
    f"_staged_commits/{VERSION}.{UUID.upper()}.json": "a staged commit whose name is not a version and a UUID",
    f"_staged_commits/10.{UUID}.json": "a staged commit whose version has 2 digits",
    f"_staged_commits/{TOO_LARGE}.{UUID}.json": "a staged commit beyond 64 bits",
}


@pytest.mark.parametrize("name", MISSES)
def test_malformed_name_is_other_and_described(name: str) -> None:
    assert parse_log_file_name(name) == OtherFile(name)
    assert describe_near_miss(name) == MISSES[name]


@pytest.mark.parametrize(
    "name",
    [
        f".{VERSION}.json.crc",
        f".{VERSION}.json",
        f"{VERSION}.json.tmp",
        f"{VERSION}.json\n",
        f"{VERSION}.JSON",
        "-0000000000000000010.json",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠١٠.json",
        f"_commits/{VERSION}.json",
        f"metadata/{VERSION}.json",
        f"_delta_log/{VERSION}.json",
        "_last_checkpoint.tmp",
        "_last_vacuum_info",
        f"_staged_commits/{VERSION}.{UUID}.json.tmp",
        f"_staged_commits/.{VERSION}.json",
        f"_staged_commits/deep/{VERSION}.json",
        "_staged_commits/notes.json",
        f"_sidecars/.{UUID}.parquet",
        f"_sidecars/deep/{UUID}.parquet",
        f"_sidecars/{UUID}.parquet.crc",
        "_sidecars/",
        "",
        ".",
        "x.json",
    ],
)
def test_unrelated_name_is_not_described(name: str) -> None:
    assert parse_log_file_name(name) == OtherFile(name)
    assert describe_near_miss(name) is None


def test_built_names_equal_the_protocol_examples() -> None:
    assert file_names.commit_name(10) == f"{VERSION}.json"
    assert file_names.checksum_name(10) == f"{VERSION}.crc"
    assert file_names.classic_checkpoint_name(10) == f"{VERSION}.checkpoint.parquet"
    part = f"{VERSION}.checkpoint.0000000002.0000000003.parquet"
    assert file_names.multipart_checkpoint_name(10, 2, 3) == part
    assert file_names.uuid_checkpoint_name(10, UUID, "json") == f"{VERSION}.checkpoint.{UUID}.json"
    compaction = "00000000000000000004.00000000000000000006.compacted.json"
    assert file_names.compaction_name(4, 6) == compaction
    assert file_names.staged_commit_name(10, UUID) == f"_staged_commits/{VERSION}.{UUID}.json"


VERSIONS = st.integers(0, 2**63 - 1)


@given(VERSIONS, VERSIONS, st.uuids().map(str), st.sampled_from(["json", "parquet"]), st.data())
def test_built_name_parses_back(version: int, end: int, uuid: str, form: str, data: st.DataObject) -> None:
    parts = data.draw(st.integers(1, 10**10 - 1))
    part = data.draw(st.integers(1, parts))
    assert parse_log_file_name(file_names.commit_name(version)) == CommitName(version)
    assert parse_log_file_name(file_names.checksum_name(version)) == ChecksumName(version)
    assert parse_log_file_name(file_names.classic_checkpoint_name(version)) == ClassicCheckpoint(version)
    multipart = file_names.multipart_checkpoint_name(version, part, parts)
    assert parse_log_file_name(multipart) == MultipartCheckpoint(version, part, parts)
    assert parse_log_file_name(file_names.uuid_checkpoint_name(version, uuid, form)) == UuidCheckpoint(
        version, uuid, form
    )
    assert parse_log_file_name(file_names.compaction_name(version, end)) == CompactionName(version, end)
    assert parse_log_file_name(file_names.staged_commit_name(version, uuid)) == StagedCommit(version, uuid)


@given(VERSIONS, VERSIONS)
def test_commit_names_sort_like_versions(one: int, other: int) -> None:
    assert (file_names.commit_name(one) < file_names.commit_name(other)) == (one < other)


@given(st.text(alphabet="0123456789.-_/abcdefjsonparquetcheckpoint", max_size=60) | st.text(max_size=30))
def test_any_text_is_parsed_as_a_name(text: str) -> None:
    assert parse_log_file_name(text) is not None
    assert describe_near_miss(text) is None or parse_log_file_name(text) == OtherFile(text)
