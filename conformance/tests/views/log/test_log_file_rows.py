"""Rows of `listing` about log cleanup and missing commits, and rows of `commits` one by one."""

import json
from typing import Any

import pytest

from deltaspec.protocol.actions import Protocol
from deltaspec.protocol.log.file_names import classic_checkpoint_name, commit_name
from deltaspec.views.log.log_file_rows import (
    PreviousCommit,
    build_commit_row,
    build_listing_rows,
    mark_repeated_transaction_ids,
)
from deltaspec.views.table.state import TableState
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import Entry


def with_feature(name: str) -> Protocol:
    return Protocol(min_reader_version=3, min_writer_version=7, reader_features=[name], writer_features=[name])


def cleaned_up(commits: list[int], checkpoints: list[int]) -> list[int]:
    """Return versions of checkpoints that the log starts with and whose commit is deleted."""
    names = [*map(commit_name, commits), *map(classic_checkpoint_name, checkpoints)]
    rows = build_listing_rows([Entry(name, 1, 0) for name in names], (), {}, False)
    return [row["version"] for row in rows if row.get("commit_cleaned_up")]


@pytest.mark.parametrize(
    ("commits", "checkpoints", "expected"),
    [
        ([10, 11], [10], []),
        ([11, 12], [10], [10]),
        ([], [10], [10]),
        ([9, 11], [10], []),
        ([11, 12, 20, 21], [10, 20], [10]),
        ([15, 20, 21], [10, 20], []),
        ([20, 21], [10, 20], []),
    ],
)
def test_commit_of_first_checkpoint_is_cleaned_up(
    commits: list[int], checkpoints: list[int], expected: list[int]
) -> None:
    assert cleaned_up(commits, checkpoints) == expected


@pytest.mark.parametrize(
    ("protocol", "revision"),
    [
        (Protocol(min_reader_version=1, min_writer_version=2), "r1"),
        (Protocol(min_reader_version=1, min_writer_version=7, writer_features=["rowTracking"]), "r2"),
        (with_feature("deletionVectors"), "r1"),
        (with_feature("v2Checkpoint"), "r3"),
        (with_feature("vacuumProtocolCheck"), "current"),
        (with_feature("madeUp"), None),
        (None, None),
    ],
)
def test_cleanup_revision_defines_the_features_of_the_first_checkpoint(
    protocol: Protocol | None, revision: str | None
) -> None:
    names = [commit_name(4), commit_name(5), classic_checkpoint_name(5), classic_checkpoint_name(6)]
    known_states = {5: (protocol, None), 6: (with_feature("vacuumProtocolCheck"), None)}
    rows = build_listing_rows([Entry(name, 1, 0) for name in names], (), known_states, False)
    assert {row["cleaned_up_to"] for row in rows} == {4}
    assert {row["cleanup_revision"] for row in rows} == {revision}


def test_log_from_version_0_is_not_cleaned_up() -> None:
    names = [commit_name(0), commit_name(1), classic_checkpoint_name(1)]
    rows = build_listing_rows(
        [Entry(name, 1, 0) for name in names], (), {1: (with_feature("v2Checkpoint"), None)}, False
    )
    assert {(row["cleaned_up_to"], row["cleanup_revision"]) for row in rows} == {(None, None)}


@pytest.mark.parametrize(
    ("commits", "missing", "expected"),
    [
        ([12, 14], (13,), {14: (1, "commit 13 is missing (12 and 14 exist)")}),
        ([12, 16], (13, 14, 15), {16: (3, "commits 13 to 15 are missing (12 and 16 exist)")}),
        (
            [1, 3, 5],
            (2, 4),
            {3: (1, "commit 2 is missing (1 and 3 exist)"), 5: (1, "commit 4 is missing (3 and 5 exist)")},
        ),
        ([1], (0,), {1: (1, "commit 0 is missing (1 exists)")}),
        ([1, 2], (3, 4), {2: (2, "commits 3 to 4 are missing (2 exists)")}),
        ([1, 3], (2, 4), {3: (2, "2 commits from 2 to 4 are missing (1 exists)")}),
        ([1, 2], (), {}),
    ],
)
def test_missing_commits_are_named_with_their_neighbors(
    commits: list[int], missing: tuple[int, ...], expected: dict[int, tuple[int, str]]
) -> None:
    rows = build_listing_rows([Entry(commit_name(version), 1, 0) for version in commits], missing, {}, False)
    found = {row["version"]: (row["missing_commits_before"], row["missing_commits"]) for row in rows}
    assert {version: facts for version, facts in found.items() if facts != (0, None)} == expected


# files of a listing


def build_rows(*names: str, **options: Any) -> dict[str, dict[str, Any]]:
    """Build the rows of `listing` by file name."""
    arguments = {"missing": (), "known_states": {}, "catalog_managed": None, **options}
    rows = build_listing_rows([Entry(name, 7, 0) for name in names], **arguments)
    return {row["file"].removeprefix("_delta_log/"): row for row in rows}


def test_kinds_and_versions_of_log_files() -> None:
    part = f"{2:020}.checkpoint.{1:010}.{3:010}.parquet"
    uuid = f"{2:020}.checkpoint.00000000-0000-4000-8000-000000000000.json"
    compacted, crc = f"{1:020}.{2:020}.compacted.json", f"{2:020}.crc"
    rows = build_rows(commit_name(2), classic_checkpoint_name(2), part, uuid, compacted, crc, "_last_checkpoint", "x")
    assert {name: (row["kind"], row.get("version")) for name, row in rows.items()} == {
        commit_name(2): ("commit", 2),
        classic_checkpoint_name(2): ("classic checkpoint", 2),
        part: ("multipart checkpoint", 2),
        uuid: ("uuid checkpoint", 2),
        compacted: ("compaction", 1),
        crc: ("checksum", 2),
        "_last_checkpoint": ("last checkpoint", None),
        "x": ("other", None),
    }
    assert (rows[part]["part"], rows[part]["parts"], rows[compacted]["end_version"]) == (1, 3, 2)
    assert {row["latest_commit"] for row in rows.values()} == {2}
    assert {row["size_bytes"] for row in rows.values()} == {7}


def test_checksums_between_others_are_missing() -> None:
    names = [*map(commit_name, range(5)), f"{1:020}.crc", f"{3:020}.crc"]
    found = [row["version"] for row in build_rows(*names).values() if row.get("checksum_missing")]
    assert found == [2]


def test_gap_before_a_commit_that_is_not_needed_is_described() -> None:
    row = build_rows(*map(commit_name, (0, 3, 4)), older_gaps=[(1, 2)])[commit_name(3)]
    assert (row["missing_commits_before"], row["older_missing_commits"]) == (0, 2)
    assert row["missing_commits"] == "commits 1 to 2 are missing (0 and 3 exist)"


def test_checkpoint_has_facts_of_its_known_state() -> None:
    rows = build_rows(
        commit_name(5), classic_checkpoint_name(5), known_states={5: (with_feature("v2Checkpoint"), None)}
    )
    assert rows[classic_checkpoint_name(5)]["v2_checkpoint_supported"]
    assert "v2_checkpoint_supported" not in rows[commit_name(5)]
    odd = Protocol(min_reader_version=3, min_writer_version=7)
    rows = build_rows(classic_checkpoint_name(5), known_states={5: (odd, None)})
    assert "v2_checkpoint_supported" not in rows[classic_checkpoint_name(5)]


# commits


ON = {"delta.enableInCommitTimestamps": "true"}
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["inCommitTimestamp"]}


def metadata(configuration: dict[str, str]) -> dict[str, Any]:
    schema = '{"type":"struct","fields":[]}'
    body = {"id": "i", "format": {"provider": "parquet", "options": {}}, "schemaString": schema, "partitionColumns": []}
    return {"metaData": {**body, "configuration": configuration}}


class Log:
    """Builds the row of each next commit."""

    def __init__(self) -> None:
        self.state, self.before, self.version = TableState(), PreviousCommit(), -1

    def commit(self, *lines: Any) -> dict[str, Any]:
        self.version += 1
        encoded = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines)
        log = decode_lines(b"\n".join(encoded)).summary
        self.state.apply(self.version, "f", log.actions)
        row = build_commit_row(self.version, "f", log, self.before, self.state)
        self.before.follow(row)
        return row


def info(timestamp: int | None = None, **more: Any) -> dict[str, Any]:
    return {"commitInfo": {"timestamp": 1, "operation": "WRITE", "inCommitTimestamp": timestamp, **more}}


def test_commit_is_compared_with_the_preceding_one() -> None:
    log = Log()
    first = log.commit(info(10, txnId="a"), {"protocol": PROTOCOL}, metadata(ON))
    second = log.commit(info(20))
    assert (first["in_commit_timestamp"], first["previous_in_commit_timestamp"]) == (10, None)
    assert (first["in_commit_timestamps_enabled"], first["in_commit_timestamps_enabled_before"]) == (True, None)
    assert (first["txn_id"], second["txn_id"]) == ("a", None)
    assert (second["in_commit_timestamp"], second["previous_in_commit_timestamp"]) == (20, 10)
    assert (second["in_commit_timestamps_enabled_before"], second["catalog_managed_before"]) == (True, False)


def test_timestamp_of_a_commit_without_the_feature_is_not_compared() -> None:
    log = Log()
    log.commit(info(10), {"protocol": PROTOCOL}, metadata({}))
    assert log.commit(info(5), metadata(ON))["previous_in_commit_timestamp"] is None


def test_enablement_without_a_timestamp_has_an_unknown_timestamp() -> None:
    log = Log()
    log.commit(info(), {"protocol": PROTOCOL}, metadata({}))
    row = log.commit(info(), metadata(ON))
    assert (row["enablement_version"], row["enablement_timestamp"]) == (1, None)
    assert "enablement_version" not in log.commit(info())
    assert log.commit(metadata(ON))["enablement_version"] == 1


def test_enablement_is_unknown_if_the_commit_info_is_undecodable() -> None:
    log = Log()
    log.commit(info(), {"protocol": PROTOCOL}, metadata({}))
    row = log.commit(b'{"commitInfo":{"operation":"\\ud800"}}', metadata(ON))
    assert (row["in_commit_timestamps_enabled"], "enablement_version" in row) == (None, False)


def test_state_before_a_commit_is_unknown_only_if_the_commit_changes_it() -> None:
    appending, log = metadata({"delta.appendOnly": "true"}), Log()
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    found = [log.commit(*lines)["append_only_before"] for lines in ([protocol, appending], [info()], [metadata({})])]
    assert found == [None, True, True]


def test_actions_are_counted_if_all_lines_are_decoded() -> None:
    add = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    removes = [{"remove": {"path": "b", "dataChange": each}} for each in (True, False)]
    domains = [{"domainMetadata": {"domain": each, "configuration": "", "removed": False}} for each in "aba"]
    apps = [{"txn": {"appId": each, "version": 1}} for each in "xyy"]
    lines = [info(), {"add": add}, *removes, *domains, *apps, b"", {"sidecar": {}}]
    row = Log().commit(*lines)
    counts = ("actions", "commit_infos", "adds", "removes", "cdcs", "domains", "protocols", "metadatas")
    assert [row[name] for name in counts] == [11, 1, 1, 2, 0, 3, 0, 0]
    assert (row["first_action"], row["removes_with_data_change"]) == ("commitInfo", 1)
    assert (row["repeated_domains"], row["repeated_apps"]) == (["a"], ["y"])
    assert row["checkpoint_only_actions"] == 1
    broken = Log().commit(*lines, b"{")
    assert not {"actions", "adds"} & broken.keys()
    assert broken["first_action"] is None


def test_repeated_transaction_ids_name_the_first_version() -> None:
    rows: list[dict[str, Any]] = [{"version": n, "txn_id": txn} for n, txn in enumerate(["a", None, "b", "a", None])]
    mark_repeated_transaction_ids(rows)
    assert [row["version_with_same_txn_id"] for row in rows] == [None, None, None, 0, None]
