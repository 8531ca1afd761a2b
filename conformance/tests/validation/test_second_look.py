"""A data file that looks missing or damaged is looked at again before it is reported."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.cli import run

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec.validation.data import data_bucket, second_look
from deltaspec.wire.storage.interface import Entry, FileGone, StorageError
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import (
    VECTOR_FILE_UUID,
    add_data_file,
    build_rows,
    build_table_with_data,
    build_table_with_stored_vectors,
    encode_data_file,
)
from deltaspec_generators.table_files import TableFiles, commit_info_action, write_table
from planted_tables.bases import log_only
from planted_tables.bases.retention import REMOVED_MS, add_live_files

PLAIN = {"compression": "none"}
"""With these options all files of ten rows have the same size."""
VECTORS = f"deletion_vector_{VECTOR_FILE_UUID}.bin"


class Storage:
    """A storage far away that may give other answers than its files. It counts its answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.requests: Counter[str] = Counter()
        self.first_listing: Callable[[Entry], Entry | None] = lambda entry: entry
        """Changes the entries of the first listing; None leaves one out."""
        self.heads: dict[str, Iterator[Any]] = {}
        """Sizes or errors that requests for the size of a file return in turn."""
        self.reads: dict[str, Iterator[bytes]] = {}
        """Contents that are read in turn."""
        list_files, size = LocalStore.list_files, LocalStore.size
        read, read_range = LocalStore.read, LocalStore.read_range

        def list_again(store: LocalStore) -> Iterator[Entry | StorageError]:
            self.requests["list"] += 1
            for entry in list_files(store):
                shown = entry
                if isinstance(entry, Entry) and self.requests["list"] == 1:
                    changed = self.first_listing(entry)
                    if changed is None:
                        continue
                    shown = changed
                yield shown

        def find_size(store: LocalStore, path: str) -> int:
            if not path.startswith("_delta_log"):
                self.requests["head"] += 1
            answer = next(self.heads.get(path, iter(())), None)
            if isinstance(answer, Exception):
                raise answer
            return size(store, path) if answer is None else int(answer)

        def read_file(store: LocalStore, path: str, limit: int) -> bytes:
            return next(self.reads.get(path, iter(())), None) or read(store, path, limit)

        def read_part(store: LocalStore, path: str, start: int, length: int) -> bytes:
            self.requests["range"] += 1
            content = next(self.reads.get(path, iter(())), None)
            return read_range(store, path, start, length) if content is None else content[start : start + length]

        def create(self: LocalStore, *arguments: Any) -> None:
            initialize(self, *arguments)
            self.is_remote = True

        initialize = LocalStore.__init__
        monkeypatch.setattr(LocalStore, "__init__", create)
        monkeypatch.setattr(LocalStore, "list_files", list_again)
        monkeypatch.setattr(LocalStore, "size", find_size)
        monkeypatch.setattr(LocalStore, "read", read_file)
        monkeypatch.setattr(LocalStore, "read_range", read_part)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Storage:
    return Storage(monkeypatch)


def build_table(root: Path, files: TableFiles | None = None) -> str:
    write_table(files or build_table_with_data(), root)
    return str(root)


def leave_out(name: str) -> Callable[[Entry], Entry | None]:
    return lambda entry: None if entry.name == name else entry


def change_size(name: str) -> Callable[[Entry], Entry | None]:
    return lambda entry: Entry(entry.name, 7, entry.modified_ms) if entry.name == name else entry


def collect_reasons(report: Report) -> set[str]:
    return {each.reason for each in report.checked.not_checked}


def test_sound_table_is_not_looked_at_again(tmp_path: Path, storage: Storage) -> None:
    assert deltaspec.validate(build_table(tmp_path)).verdict == "conforms"
    assert storage.requests == {"list": 1}


def test_missing_file_is_confirmed_by_one_request(tmp_path: Path, storage: Storage) -> None:
    files = build_table_with_data()
    files.missing.add("c.parquet")
    assert deltaspec.validate(build_table(tmp_path, files)).totals == {"DAT001": 1}
    assert storage.requests == {"list": 1, "head": 1}


@pytest.mark.parametrize("change", [leave_out, change_size])
def test_file_that_is_sound_twice_is_no_finding(
    tmp_path: Path, storage: Storage, change: Callable[[str], Callable[[Entry], Entry | None]]
) -> None:
    storage.first_listing = change("c.parquet")
    report = deltaspec.validate(build_table(tmp_path), level="rows")
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.sound_again is not None
    first = "missing" if change is leave_out else "7 bytes"
    assert report.sound_again.files == {"c.parquet": first}
    text = run("validate", str(tmp_path)).stdout
    assert "sound again" not in text, "its listing is not the first one"


def test_report_names_files_that_are_sound_again(tmp_path: Path, storage: Storage) -> None:
    storage.first_listing = leave_out("c.parquet")
    text = run("validate", build_table(tmp_path)).stdout
    assert "sound again: 1 file looked damaged once, but not a second time: c.parquet (missing)" in text
    assert "CONFORMS" in text


@pytest.mark.parametrize(("option", "totals"), [("leave_out", {"DAT001": 1}), ("change_size", {"DAT002": 1})])
def test_no_confirm_trusts_the_listing(tmp_path: Path, storage: Storage, option: str, totals: dict[str, int]) -> None:
    storage.first_listing = {"leave_out": leave_out, "change_size": change_size}[option]("c.parquet")
    assert deltaspec.validate(build_table(tmp_path), confirm=False).totals == totals
    assert storage.requests == {"list": 1}


@pytest.mark.parametrize("answers", [[9], [None, 9], [None, StorageError("c.parquet: no response")]])
def test_different_answers_are_not_checked(tmp_path: Path, storage: Storage, answers: list[Any]) -> None:
    storage.first_listing = leave_out("c.parquet")
    storage.heads["c.parquet"] = iter(answers)
    report = deltaspec.validate(build_table(tmp_path))
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert "c.parquet: changed while the table was checked" in collect_reasons(report)


def test_file_whose_size_changes_is_not_checked(tmp_path: Path, storage: Storage) -> None:
    storage.first_listing = change_size("c.parquet")
    storage.heads["c.parquet"] = iter([8])
    report = deltaspec.validate(build_table(tmp_path))
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert collect_reasons(report) == {"c.parquet: changed while the table was checked"}


def test_failing_second_look_is_not_checked(tmp_path: Path, storage: Storage) -> None:
    storage.first_listing = leave_out("c.parquet")
    storage.heads["c.parquet"] = iter([StorageError("c.parquet: no response from the store in time")])
    report = deltaspec.validate(build_table(tmp_path))
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert collect_reasons(report) == {"c.parquet: no response from the store in time"}


def test_footer_that_is_sound_twice_is_no_finding(tmp_path: Path, storage: Storage) -> None:
    table = build_table(tmp_path)
    content = (tmp_path / "c.parquet").read_bytes()
    storage.reads["c.parquet"] = iter([content[:-4] + b"????"])
    report = deltaspec.validate(table, level="footers")
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.sound_again is not None
    storage.reads["c.parquet"] = iter([content[:-4] + b"????"])
    assert deltaspec.validate(table, level="footers", confirm=False).totals == {"PQT001": 1}


def test_footer_that_changes_is_not_checked(tmp_path: Path, storage: Storage) -> None:
    table = build_table(tmp_path)
    content = (tmp_path / "c.parquet").read_bytes()
    storage.reads["c.parquet"] = iter([content[:-4] + b"????", content[:-4] + b"!!!!"])
    report = deltaspec.validate(table, level="footers")
    assert (report.verdict, report.totals) == ("incomplete", {})
    assert "c.parquet: changed while the table was checked" in collect_reasons(report)


def build_other_contents(table: Path) -> tuple[bytes, bytes]:
    """Return two contents of the length of c.parquet, whose columns have other types, the second also fewer rows."""
    plain = (table / "c.parquet").read_bytes()
    rows = build_rows(20)
    doubles = encode_data_file(rows.set_column(0, "id", rows["id"].cast(pa.float64())), **PLAIN)
    shorter = encode_data_file(build_rows(20, 9), **PLAIN)
    footer = len(shorter) - 8 - int.from_bytes(shorter[-8:-4], "little")
    padded = shorter[:footer] + bytes(len(plain) - len(shorter)) + shorter[footer:]
    assert len(doubles) == len(padded) == len(plain)
    return doubles, padded


@pytest.mark.parametrize("number", [0, 1])
def test_readable_footer_with_findings_is_read_again(tmp_path: Path, storage: Storage, number: int) -> None:
    table = build_table(tmp_path, build_table_with_data(parquet_options=PLAIN))
    other = build_other_contents(tmp_path)[number]
    code = ["PQT010", "PQT002"][number]
    storage.reads["c.parquet"] = iter([other])
    report = deltaspec.validate(table, level="footers")
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.sound_again is not None
    assert report.sound_again.files == {"c.parquet": code}
    storage.reads["c.parquet"] = iter([other])
    assert deltaspec.validate(table, level="footers", confirm=False).totals == {code: 1}


@pytest.mark.parametrize("answers", ["changed", "gone", "damaged", "not sound twice"])
def test_footer_whose_content_changes_is_not_checked(tmp_path: Path, storage: Storage, answers: str) -> None:
    table = build_table(tmp_path, build_table_with_data(parquet_options=PLAIN))
    doubles, shorter = build_other_contents(tmp_path)
    sound = (tmp_path / "c.parquet").read_bytes()
    contents = {"changed": [shorter], "gone": [], "damaged": [bytes(len(sound))], "not sound twice": [sound, shorter]}
    storage.reads["c.parquet"] = iter([doubles, *contents[answers]])
    if answers == "gone":
        storage.heads["c.parquet"] = iter([FileGone("c.parquet: does not exist")])
    report = deltaspec.validate(table, level="footers")
    assert (report.verdict, report.totals, report.sound_again) == ("incomplete", {}, None)
    reason = "c.parquet: changed while the table was checked"
    if answers == "gone":
        reason = "its footer could be read once, but not again: c.parquet: does not exist"
    assert collect_reasons(report) == {reason}
    codes = {each.rule for each in report.checked.not_checked if each.file == "c.parquet"}
    assert {"PQT001", "PQT003", "PQT010"} <= codes
    assert "DAT001" not in codes


def test_confirmed_footer_keeps_its_findings(tmp_path: Path, storage: Storage) -> None:
    table = build_table(tmp_path, build_table_with_data(parquet_options=PLAIN))
    (tmp_path / "c.parquet").write_bytes(build_other_contents(tmp_path)[0])
    report = deltaspec.validate(table, level="footers")
    assert report.totals == {"PQT010": 1}
    assert report.sound_again is None
    trusted = deltaspec.validate(table, level="footers", confirm=False)
    assert report.findings == trusted.findings


def test_codec_with_a_finding_is_read_again(tmp_path: Path, storage: Storage) -> None:
    files = build_table_with_data(
        configuration={"delta.parquet.compression.codec": "none"}, parquet_options={"compression": "none"}
    )
    table = build_table(tmp_path, files)
    sound = (tmp_path / "c.parquet").read_bytes()
    name = b"\x02id\x15%c\x16"
    assert sound.count(name % 0) == 1
    compressed, lzo = (sound.replace(name % 0, name % (2 * codec)) for codec in (1, 3))
    only = ["PQT050"]
    storage.reads["c.parquet"] = iter([compressed])
    report = deltaspec.validate(table, level="footers", select=only)
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.sound_again is not None
    assert report.sound_again.files == {"c.parquet": "PQT050"}
    storage.reads["c.parquet"] = iter([compressed])
    assert deltaspec.validate(table, level="footers", select=only, confirm=False).totals == {"PQT050": 1}
    unreadable = "its column chunks could be read once, but not again: ends with"
    for content, reason in ((lzo, "c.parquet: changed"), (sound[:-4] + b"????", unreadable)):
        storage.reads["c.parquet"] = iter([compressed, sound, content])  # footer, first page, footer again
        report = deltaspec.validate(table, level="footers", select=only)
        assert (report.verdict, report.totals, report.sound_again) == ("incomplete", {}, None), f"{reason=}"
        (entry,) = report.checked.not_checked
        assert (entry.rule, entry.file) == ("PQT050", "c.parquet"), f"{reason=}"
        assert entry.reason.startswith(reason)


def test_deletion_vector_is_read_again(tmp_path: Path, storage: Storage) -> None:
    table = build_table(tmp_path, build_table_with_stored_vectors())
    storage.reads[VECTORS] = iter([b"\x02" + (tmp_path / VECTORS).read_bytes()[1:]])
    report = deltaspec.validate(table)
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.sound_again is not None
    assert list(report.sound_again.files) == [VECTORS]


@pytest.mark.parametrize(
    ("answers", "verdict", "totals"),
    [
        ([7, 7], "conforms", {}),
        ([FileGone("gone")], "conforms", {"VAC001": 1}),  # a divergence
        ([StorageError("no response")], "incomplete", {}),
        ([7, FileGone("gone")], "incomplete", {}),
    ],
)
def test_file_of_a_tombstone_is_looked_at_again(
    tmp_path: Path, storage: Storage, answers: list[Any], verdict: str, totals: dict[str, int]
) -> None:
    files = add_live_files(log_only.build_table(), "a.parquet")
    storage.heads["a.parquet"] = iter(answers)
    report = deltaspec.validate(build_table(tmp_path, files), clock=REMOVED_MS, select=["VAC"])
    assert (report.verdict, report.totals) == (verdict, totals)


def test_many_missing_files_cost_one_more_listing(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = build_table_with_data()
    files.commits[3] = [
        commit_info_action(3),
        *(add_data_file(files, f"m{number}.parquet", build_rows(30 + 10 * number)) for number in range(40)),
    ]
    files.missing |= {f"m{number}.parquet" for number in range(39)}
    monkeypatch.setattr(second_look, "MOST_LOOKS", 10)
    monkeypatch.setattr(data_bucket, "MOST_LOOKS", 10)
    storage.first_listing = leave_out("m39.parquet")
    report = deltaspec.validate(build_table(tmp_path, files))
    assert report.totals == {"DAT001": 39}
    assert storage.requests == {"list": 2, "head": 2}
    assert report.sound_again is not None
    assert list(report.sound_again.files) == ["m39.parquet"]


def test_broken_footers_are_trusted_after_some(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = build_table_with_data()
    names = [f"m{number}.parquet" for number in range(40)]
    files.commits[3] = [commit_info_action(3), *(add_data_file(files, name, build_rows(30)) for name in names)]
    for name in names:
        data = files.data[name]
        assert isinstance(data, bytes), f"{name=}"
        files.data[name] = data[:-1] + b"?"
    monkeypatch.setattr(second_look, "MOST_LOOKS", 0)
    assert deltaspec.validate(build_table(tmp_path, files), level="footers").totals == {"PQT001": 40}
    without = storage.requests["range"]
    storage.requests.clear()
    monkeypatch.setattr(second_look, "MOST_LOOKS", 5)
    assert deltaspec.validate(str(tmp_path), level="footers").totals == {"PQT001": 40}
    assert 5 <= storage.requests["range"] - without < 40
