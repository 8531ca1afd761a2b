"""What an estimate says beside what a run asks of a store, request by request."""

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
from deltaspec.report.estimate import Amount, sum_amounts
from deltaspec.validation import run as run_module
from deltaspec.validation.describe import read_estimate as estimate_module
from deltaspec.validation.describe.read_estimate import estimate_table
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec_generators.bases import data_files, log_only
from deltaspec_generators.checkpoint_writer import CheckpointFiles
from deltaspec_generators.table_files import TableFiles, add_action, metadata_action, protocol_action, write_table

LEVELS = ("log", "files", "footers", "rows")


@dataclass
class Counted:
    """What a store was asked for."""

    requests: int = 0
    bytes: int = 0
    paths: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Count from here on."""
        self.requests, self.bytes, self.paths = 0, 0, []


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Counts what runs ask of the client of object stores, by which local tables are then read as well."""
    count = Counted()
    get, list_all = obstore.get, obstore.list

    class Answer:
        def __init__(self, answer: Any) -> None:
            self.answer, self.meta = answer, answer.meta

        def bytes(self) -> Any:
            data = self.answer.bytes()
            count.bytes += len(data)
            return data

        def stream(self, min_chunk_size: int) -> Iterator[Any]:
            for piece in self.answer.stream(min_chunk_size=min_chunk_size):
                count.bytes += len(piece)
                yield piece

    def counting_get(store: Any, path: str, **options: Any) -> Answer:
        count.requests += 1
        count.paths.append(path)
        return Answer(get(store, path, **options))

    def counting_list(*args: Any, **options: Any) -> Iterator[Any]:
        for page in list_all(*args, **options):
            count.requests += 1
            yield page

    monkeypatch.setattr(obstore, "get", counting_get)
    monkeypatch.setattr(obstore, "list", counting_list)
    for module in (run_module, estimate_module):
        monkeypatch.setattr(module, "open_store", lambda uri: ObjectStore(f"file://{uri}"))
    return count


def large_checkpoint(parts: int) -> TableFiles:
    """A checkpoint of 4,000 adds whose names do not compress."""
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    random = Random(7)
    names = [f"part-{UUID(int=random.getrandbits(128))}.parquet" for _ in range(4000)]
    files.commits[1] = [log_only.commit_info_action(1), *(add_action(name, rows=3) for name in names)]
    files.commits[2] = [log_only.commit_info_action(2), add_action("last.parquet", rows=3)]
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
def test_log_of_small_files_costs_what_is_said(table: str, tmp_path: Path, counted: Counted) -> None:
    write_table(TABLES[table](), tmp_path)
    log = estimate_table(str(tmp_path)).levels[0]
    counted.begin()
    deltaspec.validate(str(tmp_path), level="log")
    assert (log.requests.about, log.bytes.about) == (counted.requests, counted.bytes)
    assert log.bytes.is_exact is ("sidecars" not in table)
    assert within(log.requests, counted.requests)
    assert within(log.bytes, counted.bytes)


def within(amount: Amount, number: int) -> bool:
    """Whether a number lies within the bounds of an estimate."""
    return amount.at_least <= number and (amount.at_most is None or number <= amount.at_most)


@pytest.mark.parametrize("parts", [1, 3])
def test_large_checkpoint_costs_about_what_is_said(parts: int, tmp_path: Path, counted: Counted) -> None:
    write_table(large_checkpoint(parts), tmp_path)
    log = estimate_table(str(tmp_path)).levels[0]
    counted.begin()
    deltaspec.validate(str(tmp_path), level="log")
    for said_of, number in ((log.requests, counted.requests), (log.bytes, counted.bytes)):
        assert within(said_of, number)
        assert said_of.about is not None
        assert number / 2 < said_of.about < number * 2


@pytest.mark.parametrize("level", LEVELS)
def test_data_files_cost_what_the_checksum_says(level: str, tmp_path: Path, counted: Counted) -> None:
    write_table(checksummed_data(), tmp_path)
    estimate = estimate_table(str(tmp_path))
    counted.begin()
    deltaspec.validate(str(tmp_path), level=level)
    reads = estimate.up_to(level)
    assert sum_amounts(each.requests for each in reads).about == counted.requests
    assert sum_amounts(each.bytes for each in reads).about == counted.bytes
    assert estimate.live_source == "version checksum 2"


def test_estimate_opens_two_small_files(tmp_path: Path, counted: Counted) -> None:
    files = checksummed_data()
    files.checkpoints.append(CheckpointFiles(1, rows=log_only.build_state_rows(files)))
    files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 2}
    write_table(files, tmp_path)
    estimate_table(str(tmp_path))
    names = [path.rpartition("/")[2] for path in counted.paths]
    assert sorted(names) == ["00000000000000000002.crc", "_last_checkpoint"]
    assert counted.requests == 3


def checksummed_data() -> TableFiles:
    """Files b and c live, with a checksum that is true."""
    files = data_files.build_table_with_data()
    live = [len(data) for path, data in files.data.items() if path != "a.parquet" and isinstance(data, bytes)]
    files.checksums[2] = {
        "tableSizeBytes": sum(live),
        "numFiles": len(live),
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": log_only.get_action(files, 0, "metaData"),
        "protocol": log_only.get_action(files, 0, "protocol"),
    }
    return files


class TestSources:
    def test_hint_of_an_older_version_is_no_bound(self, tmp_path: Path) -> None:
        files = log_only.build_checkpointed_table()
        files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 2}
        write_table(files, tmp_path)
        estimate = estimate_table(str(tmp_path))
        assert estimate.live_files == Amount(2, 0, None)
        assert estimate.live_bytes == Amount(None, 0, None)
        assert estimate.live_source == "numOfAddFiles of _last_checkpoint, version 1, 1 before the validated version"

    def test_newer_of_checksum_and_hint_is_taken(self, tmp_path: Path) -> None:
        files = checksummed_data()
        files.checksums[0] = files.checksums.pop(2)
        files.last_checkpoint = {"version": 1, "size": 4, "numOfAddFiles": 7}
        write_table(files, tmp_path)
        assert estimate_table(str(tmp_path)).live_files.about == 7
        assert estimate_table(str(tmp_path), at=0).live_files == Amount(2, 2, 2)

    @pytest.mark.parametrize("text", ["", "{", "[1]", '{"version":-3,"size":1,"numOfAddFiles":9}', "\xff"])
    def test_what_cannot_be_read_leaves_a_guess(self, text: str, tmp_path: Path) -> None:
        files = log_only.build_table()
        files.last_checkpoint = text.encode("latin-1")
        files.checksums[2] = text.encode("latin-1")
        write_table(files, tmp_path)
        estimate = estimate_table(str(tmp_path))
        assert estimate.live_source.startswith("a guess")
        assert estimate.live_files.at_most is None

    def test_guess_is_of_the_right_size(self, tmp_path: Path) -> None:
        write_table(large_checkpoint(1), tmp_path)
        guess = estimate_table(str(tmp_path)).live_files.about
        assert guess is not None
        assert 1000 < guess < 16_000

    def test_checksum_of_a_table_with_vectors_that_does_not_count_them(self, tmp_path: Path) -> None:
        files = checksummed_data()
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
    def test_it_judges_nothing_and_exits_0(self, tmp_path: Path) -> None:
        files = log_only.build_table()
        files.commits[1] = ["no json"]
        write_table(files, tmp_path)
        result = run("validate", tmp_path, "--estimate")
        assert (result.exit_code, result.stderr) == (0, "")
        assert [line.split()[1] for line in result.stdout.splitlines() if line.startswith("level ")] == list(LEVELS)
        assert max(map(len, result.stdout.splitlines())) <= 100

    def test_json(self, tmp_path: Path) -> None:
        write_table(log_only.build_table(), tmp_path)
        found = json.loads(run("validate", tmp_path, "--estimate", "--format", "json").stdout)
        (commits,) = [each for each in found["levels"][0]["reads"] if each["what"] == "commits"]
        size = sum(path.stat().st_size for path in (tmp_path / "_delta_log").iterdir())
        assert commits["files"] == {"about": 3, "at_least": 3, "at_most": 3}
        assert commits["bytes"] == {"about": size, "at_least": size, "at_most": size}
        assert commits["source"] == "listed"
        assert found["estimate_version"] == 1

    def test_output(self, tmp_path: Path) -> None:
        write_table(log_only.build_table(), tmp_path / "t")
        printed = run("validate", tmp_path / "t", "--estimate").stdout
        assert run("validate", tmp_path / "t", "--estimate", "--output", tmp_path / "e.txt").stdout == ""
        assert (tmp_path / "e.txt").read_text() == printed

    def test_what_cannot_be_asked_is_one_line(self, tmp_path: Path) -> None:
        write_table(log_only.build_table(), tmp_path)
        for options in (["--format", "junit"], ["--history", "none"], ["--at", "9"]):
            result = run("validate", tmp_path, "--estimate", *options)
            assert result.exit_code == 2
            assert single_error_line(result)
