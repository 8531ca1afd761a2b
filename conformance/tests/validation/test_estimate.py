"""Estimates compared with the requests and bytes that a run needs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import obstore
import pytest
from helpers.cli import run, single_error_line

import deltaspec
from deltaspec.report.estimate import Amount, Estimate, sum_amounts
from deltaspec.validation import run as run_module
from deltaspec.validation.describe import read_estimate as estimate_module
from deltaspec.validation.describe.read_estimate import estimate_table
from deltaspec.validation.describe.read_time import add_time
from deltaspec.validation.plan import build_plan
from deltaspec.wire.storage import rate_limit
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.rate_limit import RateLimit
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings
from deltaspec_generators import small_tables
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    metadata_action,
    protocol_action,
    write_table,
)
from planted_tables.bases import log_only

LEVELS = ("log", "files", "footers", "rows")


@dataclass
class RequestCounter:
    """Requests to object stores, their paths, and the bytes received."""

    requests: int = 0
    bytes: int = 0
    paths: list[str] = field(default_factory=list)

    def reset(self) -> None:
        """Start counting again from zero."""
        self.requests, self.bytes, self.paths = 0, 0, []


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> RequestCounter:
    """Count requests of the object store client, and make runs read local tables through it."""
    total = RequestCounter()
    get, list_all = obstore.get, obstore.list

    class CountingResult:
        def __init__(self, result: Any) -> None:
            self.result, self.meta = result, result.meta

        def bytes(self) -> Any:
            data = self.result.bytes()
            total.bytes += len(data)
            return data

        def stream(self, min_chunk_size: int) -> Iterator[Any]:
            for chunk in self.result.stream(min_chunk_size=min_chunk_size):
                total.bytes += len(chunk)
                yield chunk

    def counting_get(store: Any, path: str, **options: Any) -> CountingResult:
        total.requests += 1
        total.paths.append(path)
        return CountingResult(get(store, path, **options))

    def counting_list(*args: Any, **options: Any) -> Iterator[Any]:
        for page in list_all(*args, **options):
            total.requests += 1
            yield page

    monkeypatch.setattr(obstore, "get", counting_get)
    monkeypatch.setattr(obstore, "list", counting_list)
    for module in (run_module, estimate_module):
        monkeypatch.setattr(module, "open_store", lambda uri, _settings=None: ObjectStore(f"file://{uri}"))
    return total


def build_table_with_large_checkpoint(parts: int) -> TableFiles:
    """Build a table with a checkpoint of 4,000 adds whose names do not compress."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    random = Random(7)
    names = [f"part-{UUID(int=random.getrandbits(128))}.parquet" for _ in range(4000)]
    files.commits[1] = [commit_info_action(1), *(add_action(name, rows=3) for name in names)]
    files.commits[2] = [commit_info_action(2), add_action("last.parquet", rows=3)]
    rows = [*files.commits[0], *files.commits[1][1:]]
    naming: Any = "classic" if parts == 1 else "multipart"
    files.checkpoints.append(CheckpointFiles(1, naming, rows=rows, parts=parts))
    return files


TABLES: dict[str, Callable[[], TableFiles]] = {
    "commits": log_only.build_table,
    "checkpoint": log_only.build_checkpointed_table,
    "compaction": log_only.build_table_with_compaction,
    "checksum": log_only.build_table_with_checksum,
    "hint": log_only.build_table_with_hint,
    "json sidecars": lambda: log_only.build_v2_checkpointed_table("uuid-json"),
    "parquet sidecars": lambda: log_only.build_v2_checkpointed_table("uuid-parquet"),
}


@pytest.mark.parametrize("table", TABLES)
def test_log_estimate_is_correct_for_small_files(table: str, tmp_path: Path, counter: RequestCounter) -> None:
    write_table(TABLES[table](), tmp_path)
    log = estimate_table(str(tmp_path)).levels[0]
    counter.reset()
    deltaspec.validate(str(tmp_path), level="log")
    assert (log.requests.about, log.bytes.about) == (counter.requests, counter.bytes)
    assert log.bytes.is_exact is ("sidecars" not in table)
    assert is_within(log.requests, counter.requests)
    assert is_within(log.bytes, counter.bytes)


def is_within(amount: Amount, number: int) -> bool:
    """Return whether a number is between the bounds of an estimate."""
    return amount.at_least <= number and (amount.at_most is None or number <= amount.at_most)


@pytest.mark.parametrize("parts", [1, 3])
def test_estimate_of_large_checkpoint_is_within_a_factor_of_two(
    parts: int, tmp_path: Path, counter: RequestCounter
) -> None:
    write_table(build_table_with_large_checkpoint(parts), tmp_path)
    log = estimate_table(str(tmp_path)).levels[0]
    counter.reset()
    deltaspec.validate(str(tmp_path), level="log")
    for amount, number in ((log.requests, counter.requests), (log.bytes, counter.bytes)):
        assert is_within(amount, number)
        assert amount.about is not None
        assert number / 2 < amount.about < number * 2


@pytest.mark.parametrize("level", LEVELS)
def test_estimate_of_data_files_uses_the_checksum(level: str, tmp_path: Path, counter: RequestCounter) -> None:
    write_table(build_checksummed_table(), tmp_path)
    estimate = estimate_table(str(tmp_path))
    counter.reset()
    deltaspec.validate(str(tmp_path), level=level)
    reads = estimate.up_to(level)
    assert sum_amounts(each.requests for each in reads).about == counter.requests
    assert sum_amounts(each.bytes for each in reads).about == counter.bytes
    assert estimate.live_source == "version checksum 2"


def test_estimate_opens_two_small_files(tmp_path: Path, counter: RequestCounter) -> None:
    files = build_checksummed_table()
    files.checkpoints.append(CheckpointFiles(1, rows=log_only.build_state_rows(files)))
    files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 2}
    write_table(files, tmp_path)
    estimate_table(str(tmp_path))
    names = [path.rpartition("/")[2] for path in counter.paths]
    assert sorted(names) == ["00000000000000000002.crc", "_last_checkpoint"]
    assert counter.requests == 3


def build_checksummed_table() -> TableFiles:
    """Build a table with the live files b and c, and a correct version checksum."""
    files = small_tables.build_table_with_data()
    live = [len(data) for path, data in files.data.items() if path != "a.parquet" and isinstance(data, bytes)]
    files.checksums[2] = {
        "tableSizeBytes": sum(live),
        "numFiles": len(live),
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": get_action(files, 0, "metaData"),
        "protocol": get_action(files, 0, "protocol"),
    }
    return files


class TestSources:
    def test_hint_of_older_version_gives_no_bound(self, tmp_path: Path) -> None:
        files = log_only.build_checkpointed_table()
        files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 2}
        write_table(files, tmp_path)
        estimate = estimate_table(str(tmp_path))
        assert estimate.live_files == Amount(2, 0, None)
        assert estimate.live_bytes == Amount(None, 0, None)
        assert estimate.live_source == "numOfAddFiles of _last_checkpoint, version 1, 1 before the validated version"

    def test_newer_of_checksum_and_hint_is_used(self, tmp_path: Path) -> None:
        files = build_checksummed_table()
        files.checksums[0] = files.checksums.pop(2)
        files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 7}
        write_table(files, tmp_path)
        assert estimate_table(str(tmp_path)).live_files.about == 7
        assert estimate_table(str(tmp_path), at=0).live_files == Amount(2, 2, 2)

    @pytest.mark.parametrize("text", ["", "{", "[1]", '{"version":-3,"size":1,"numOfAddFiles":9}', "\xff"])
    def test_unreadable_checksum_and_hint_give_a_guess(self, text: str, tmp_path: Path) -> None:
        files = log_only.build_table()
        files.last_checkpoint = text.encode("latin-1")
        files.checksums[2] = text.encode("latin-1")
        write_table(files, tmp_path)
        estimate = estimate_table(str(tmp_path))
        assert estimate.live_source.startswith("a guess")
        assert estimate.live_files.at_most is None

    def test_guess_has_the_right_order_of_magnitude(self, tmp_path: Path) -> None:
        write_table(build_table_with_large_checkpoint(1), tmp_path)
        guess = estimate_table(str(tmp_path)).live_files.about
        assert guess is not None
        assert 1000 < guess < 16_000

    def test_vector_count_is_unknown_if_the_checksum_omits_it(self, tmp_path: Path) -> None:
        files = build_checksummed_table()
        body = files.checksums[2]
        assert isinstance(body, dict)
        names = ["deletionVectors"]
        body["protocol"] = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": names,
            "writerFeatures": names,
        }
        write_table(files, tmp_path)
        vectors = estimate_table(str(tmp_path)).levels[1].reads[1]
        assert (vectors.what, vectors.files) == ("deletion vectors", Amount(None, 0, None))
        body["numDeletionVectorsOpt"] = 5
        write_table(files, tmp_path)
        assert estimate_table(str(tmp_path)).levels[1].reads[1].files == Amount(5, 0, 5)


class TestCommand:
    def test_estimate_evaluates_no_rules_and_exits_0(self, tmp_path: Path) -> None:
        files = log_only.build_table()
        files.commits[1] = ["no json"]
        write_table(files, tmp_path)
        result = run("validate", tmp_path, "--estimate")
        assert (result.exit_code, result.stderr) == (0, "")
        assert [line.split()[1] for line in result.stdout.splitlines() if line.startswith("level ")] == list(LEVELS)
        assert max(map(len, result.stdout.splitlines()[1:])) <= 100  # the first line has the path

    def test_json_contains_amounts_and_sources(self, tmp_path: Path) -> None:
        write_table(log_only.build_table(), tmp_path)
        found = json.loads(run("validate", tmp_path, "--estimate", "--format", "json").stdout)
        (commits,) = [each for each in found["levels"][0]["reads"] if each["what"] == "commits"]
        size = sum(path.stat().st_size for path in (tmp_path / "_delta_log").iterdir())
        assert commits["files"] == {"about": 3, "at_least": 3, "at_most": 3}
        assert commits["bytes"] == {"about": size, "at_least": size, "at_most": size}
        assert commits["source"] == "listed"
        assert found["estimate_version"] == 1

    def test_output_option_writes_the_same_text(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(estimate_module, "add_time", lambda found, *_: found)  # no two measurements are equal
        write_table(log_only.build_table(), tmp_path / "t")
        printed = run("validate", tmp_path / "t", "--estimate").stdout
        assert run("validate", tmp_path / "t", "--estimate", "--output", tmp_path / "e.txt").stdout == ""
        assert (tmp_path / "e.txt").read_text() == printed

    def test_invalid_options_give_one_error_line(self, tmp_path: Path) -> None:
        write_table(log_only.build_table(), tmp_path)
        for options in (["--format", "junit"], ["--history", "none"], ["--at", "9"]):
            result = run("validate", tmp_path, "--estimate", *options)
            assert result.exit_code == 2, f"{options=}"
            assert single_error_line(result), f"{options=}"


class TestTime:
    """Times from a measurement."""

    class Clock:
        """A clock that goes on by 20 ms whenever it is read."""

        def __init__(self) -> None:
            self.seconds = 0.0

        def __call__(self) -> float:
            self.seconds += 0.02
            return self.seconds

    def estimate(self, table: Path, settings: StorageSettings = ENVIRONMENT, *, is_remote: bool = True) -> Estimate:
        store = ObjectStore(f"file://{table}", settings)
        store.is_remote = is_remote
        plan = build_plan(store.uri, store.list_log(), at=None, history="latest")
        return add_time(estimate_module.estimate(store, plan), store, plan, self.Clock())

    def test_times_follow_from_requests_and_measured_speed(self, tmp_path: Path) -> None:
        write_table(build_checksummed_table(), tmp_path)
        estimate = self.estimate(tmp_path)
        assert estimate.speed is not None
        assert estimate.speed.seconds_per_request == pytest.approx(0.02)
        assert estimate.speed.bytes_per_second is None, "no file of the log is large enough"
        (footers,) = estimate.levels[2].reads
        assert footers.requests.about == 2
        assert footers.seconds == pytest.approx(2 * 0.02 / 32 + 2 * 12_000 / estimate.speed.decoded_bytes_per_second)
        one_by_one = self.estimate(tmp_path, is_remote=False).levels[2].reads[0].seconds
        assert one_by_one is not None
        assert one_by_one > footers.seconds

    def test_limit_of_requests_is_part_of_the_time(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rate_limit, "get_shared_limit", lambda rate: RateLimit(rate, sleep=lambda _: None))
        write_table(build_checksummed_table(), tmp_path)
        estimate = self.estimate(tmp_path, StorageSettings({rate_limit.SETTING: "0.5"}))
        seconds = estimate.levels[2].reads[0].seconds
        assert seconds is not None
        assert seconds > 2 / 0.5

    def test_few_requests_are_made(self, tmp_path: Path, counter: RequestCounter) -> None:
        write_table(build_table_with_large_checkpoint(1), tmp_path)
        estimate_table(str(tmp_path))
        before, bytes_before = counter.requests, counter.bytes
        counter.reset()
        estimate = estimate_table(str(tmp_path), measures_time=True)
        assert counter.requests - before <= 4
        assert counter.bytes - bytes_before <= (8 << 20) + 3
        assert estimate.speed is not None
        assert estimate.levels[0].reads[0].seconds is not None

    def test_unknown_numbers_have_no_time(self, tmp_path: Path) -> None:
        write_table(log_only.build_table(), tmp_path)
        (rows,) = estimate_table(str(tmp_path), measures_time=True).levels[3].reads
        assert rows.seconds is None

    def test_command_prints_the_time_of_each_level(self, tmp_path: Path) -> None:
        write_table(build_checksummed_table(), tmp_path)
        text = run("validate", str(tmp_path), "--estimate").stdout
        totals = [line for line in text.splitlines() if line.startswith("  up to ")]
        assert len(totals) == 4
        assert [line for line in totals if not line.endswith(" ms")] == []
        assert "times from decoding" in text
        speed = json.loads(run("validate", str(tmp_path), "--estimate", "--format", "json").stdout)["speed"]
        assert speed["decoded_bytes_per_second"] > 0
