"""`--at TIME`: the version of a table at a point in time."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run, single_error_line

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.model.commit.in_commit_timestamps import CommitTime
from deltaspec.model.commit.in_commit_timestamps import find_version_at as find_by_model
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.revisions import Revision
from deltaspec.validation.describe.file_description import describe_files
from deltaspec.validation.describe.read_estimate import estimate_table
from deltaspec.validation.describe.table_description import describe_table
from deltaspec.validation.instants import Moment, parse_at
from deltaspec.validation.log.version_at import find_version_at
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import Store
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table

START = 1_700_000_000_000
"""2023-11-14T22:13:20Z"""
MINUTE = 60_000


def format_ms(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def build_table(
    file_times: list[int], timestamps: list[int | None], enabled_at: int | None = None, *, records: bool = True
) -> TableFiles:
    """Build a table with a commit for each time, and in-commit timestamps enabled from a version on."""
    files = TableFiles()
    for version, (file_ms, timestamp) in enumerate(zip(file_times, timestamps, strict=True)):
        info: dict[str, Any] = {"commitInfo": {"operation": "WRITE"}}
        if timestamp is not None:
            info["commitInfo"]["inCommitTimestamp"] = timestamp
        lines: list[Any] = [info]
        if version in (0, enabled_at):
            settings = {}
            if version == enabled_at:
                settings["delta.enableInCommitTimestamps"] = "true"
                if version and records:
                    settings["delta.inCommitTimestampEnablementVersion"] = str(version)
                    settings["delta.inCommitTimestampEnablementTimestamp"] = str(timestamp)
            metadata = metadata_action([("id", "long")])
            metadata["metaData"]["configuration"] = settings
            features = ["inCommitTimestamp"] if version == enabled_at else []
            lines += [protocol_action(1, 7, writer_features=features), metadata]
        files.commits[version] = lines
        files.written_ms[f"_delta_log/{version:020}.json"] = file_ms
    return files


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Four versions a minute apart by file time."""
    write_table(build_table([START + n * MINUTE for n in range(4)], [None] * 4), tmp_path)
    return tmp_path


def find(table: Path, moment: int, revision: Revision = Revision.CURRENT) -> int:
    store = open_store(str(table))
    return find_version_at(store, store.list_log(), Moment(moment), revision)[0]


def test_file_times_decide_without_in_commit_timestamps(table: Path) -> None:
    assert [find(table, START + n * MINUTE) for n in range(4)] == [0, 1, 2, 3]
    assert [find(table, START + n * MINUTE - 1) for n in range(1, 4)] == [0, 1, 2]
    assert find(table, START + 100 * MINUTE) == 3, "the latest version stays the answer until the next commit"


def test_time_before_the_log_is_refused_with_the_first_commit(table: Path) -> None:
    error = single_error_line(run("validate", str(table), "--at", format_ms(START - 1000)))
    assert error == (
        f"deltaspec: {table}: no version was committed by 2023-11-14T22:13:19Z; the log begins with version 0, of "
        "2023-11-14T22:13:20Z"
    )


def test_time_in_the_future_is_refused(table: Path) -> None:
    error = single_error_line(run("validate", str(table), "--at", "2999-01-01T00:00:00Z"))
    assert error.startswith("deltaspec: 2999-01-01T00:00:00Z is in the future; name a time that has passed")


def test_in_commit_timestamps_win_over_file_times(tmp_path: Path) -> None:
    """As in a log that was copied: all files are younger than every commit."""
    times: list[int | None] = [START + n * MINUTE for n in range(4)]
    write_table(build_table([START + 100 * MINUTE] * 4, times, enabled_at=0), tmp_path)
    assert [find(tmp_path, START + n * MINUTE + 1) for n in range(4)] == [0, 1, 2, 3]
    with pytest.raises(InvalidUsage, match="no version was committed by"):
        find(tmp_path, START + MINUTE, Revision.R3)
    report = deltaspec.validate(str(tmp_path), level="log", at=format_ms(START + 90_000))
    assert report.version == 1
    assert report.at is not None
    assert (report.at.moment, report.at.committed, report.at.source) == (
        START + 90_000,
        START + MINUTE,
        "in-commit timestamp",
    )


def build_random_tables() -> Iterator[tuple[TableFiles, dict[int, CommitTime], Snapshot]]:
    draw = random.Random(21)
    for _ in range(60):
        count = draw.randint(1, 12)
        file_times = [START + draw.randint(0, 40) for _ in range(count)]
        stamps = sorted(draw.sample(range(40), count))
        enabled_at = draw.choice([None, *range(count)])
        timestamps = [
            START + stamp if enabled_at is not None and version >= enabled_at else None
            for version, stamp in enumerate(stamps)
        ]
        records = draw.random() < 0.7
        files = build_table(file_times, timestamps, enabled_at, records=records)
        log = {n: CommitTime(file_times[n], timestamps[n]) for n in range(count)}
        if enabled_at and not records:
            continue  # the model requires a timestamp of every commit
        protocol = Protocol(
            min_reader_version=1,
            min_writer_version=7,
            writer_features=["inCommitTimestamp"] if enabled_at is not None else [],
        )
        last = next(each["metaData"] for n in (enabled_at or 0, 0) for each in files.commits[n] if "metaData" in each)
        metadata = MetaData(
            id=last["id"],
            format=last["format"],
            schema_string=last["schemaString"],
            partition_columns=[],
            configuration=last["configuration"],
        )
        yield files, log, Snapshot(count - 1, protocol, metadata)


def test_version_is_that_of_the_model(tmp_path: Path) -> None:
    found = 0
    for number, (files, log, latest) in enumerate(build_random_tables()):
        table = tmp_path / str(number)
        write_table(files, table)
        for moment in range(START - 1, START + 42):
            expected = find_by_model(log, moment, latest)
            try:
                assert find(table, moment) == expected, f"table {number}"
                found += 1
            except InvalidUsage:
                assert expected is None, f"table {number}, {moment=}"
    assert found > 500


class CountingStore:
    """Counts the files that are opened."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.opened: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def chunks(self, path: str) -> Iterator[bytes]:
        self.opened.append(path)
        return self._store.chunks(path)


def test_few_commits_are_read(tmp_path: Path) -> None:
    count = 200
    times: list[int | None] = [START + n * MINUTE for n in range(count)]
    files = build_table([START] * count, times, enabled_at=0)
    files.commits[count - 1] += files.commits[0][1:]
    write_table(files, tmp_path)
    store: Any = CountingStore(open_store(str(tmp_path)))
    assert find_version_at(store, store.list_log(), Moment(START + 77 * MINUTE))[0] == 77
    assert len(store.opened) < 12


def test_gap_after_the_version_is_refused(table: Path) -> None:
    """Version 2 may be the one: its commit is gone."""
    files = build_table([START + n * MINUTE for n in range(5)], [None] * 5)
    del files.commits[2]
    files.written_ms.pop(f"_delta_log/{2:020}.json")
    files.commits[4] += files.commits[0][1:]
    root = table / "gap"
    write_table(files, root)
    error = single_error_line(run("validate", str(root), "--at", format_ms(START + 2 * MINUTE)))
    assert "the version at 2023-11-14T22:15:20Z is not known: commit 2 is missing" in error


def test_commit_without_its_timestamp_is_refused(tmp_path: Path) -> None:
    write_table(build_table([START] * 2, [START, None], enabled_at=0), tmp_path)
    error = single_error_line(run("validate", str(tmp_path), "--at", format_ms(START + 1)))
    assert "is not known: commit 1 has no inCommitTimestamp; name a version" in error


def test_every_entry_point_accepts_a_time(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime.fromtimestamp(START / 1000 + 61, UTC)
    assert deltaspec.validate(str(table), level="log", at=moment).version == 1
    assert describe_table(str(table), at=moment).version == 1
    assert describe_files(str(table), at=str(moment)).version == 1
    assert estimate_table(str(table), at=moment).version == 1
    assert json.loads(run("show", str(table), "--at", str(moment), "--format", "json").stdout)["version"] == 1
    monkeypatch.chdir(table)
    (table / "x").mkdir()
    (table / "x" / "c.toml").write_text(f"level = 'log'\nat = {moment.isoformat()}")
    result = run("validate", str(table), "--config", "x/c.toml").stdout
    assert "at     2023-11-14T22:14:21Z · latest version until then, of 2023-11-14T22:14:20Z (file time)" in result


@pytest.mark.parametrize("value", ["yesterday", "-1", -1, True, 1.5, "now", "1" * 5000, ""])
def test_neither_version_nor_time_is_refused(value: Any) -> None:
    with pytest.raises(InvalidUsage, match="expected a version, or a time such as"):
        parse_at(value)


def test_time_without_zone_is_refused() -> None:
    with pytest.raises(InvalidUsage, match="has no time zone; add one, such as Z for UTC"):
        parse_at("2026-11-21T12:00:00")


@pytest.mark.parametrize(
    ("minutes", "moment", "version", "otherwise"),
    [
        ([0, 30, 20], 25, 0, 2),
        ([0, 30, 20], 30, 2, None),
        ([0, 30, 20, 40], 35, 2, None),
        ([0, 30, 10, 20], 15, 0, 2),
        ([0, 30, 10, 20], 25, 0, 3),
        ([0, 10, 10, 10], 10, 3, None),  # equal times are in order
        ([5, 5, 3], 5, 2, None),
    ],
)
def test_file_times_that_run_backwards_count_as_the_latest_before_them(
    minutes: list[int], moment: int, version: int, otherwise: int | None, tmp_path: Path
) -> None:
    write_table(build_table([START + each * MINUTE for each in minutes], [None] * len(minutes)), tmp_path)
    text = format_ms(START + moment * MINUTE)
    report = deltaspec.validate(str(tmp_path), level="log", at=text)
    assert report.at is not None
    assert (report.version, report.at.otherwise) == (version, otherwise)
    output = run("validate", str(tmp_path), "--level", "log", "--at", text).stdout
    assert ("other engines may read version" in output) == (otherwise is not None)


def test_file_times_run_backwards_in_vain_once_timestamps_are_enabled(tmp_path: Path) -> None:
    files = build_table([START + 9 * MINUTE, START, START + MINUTE], [None, START + MINUTE, START + 2 * MINUTE], 1)
    write_table(files, tmp_path)
    report = deltaspec.validate(str(tmp_path), level="log", at=format_ms(START + 2 * MINUTE))
    assert report.at is not None
    assert (report.version, report.at.otherwise) == (2, None)
