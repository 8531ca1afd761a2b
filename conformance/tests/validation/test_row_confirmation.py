"""A data file whose rows have findings is read again before they are reported."""

import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaspec
from deltaspec.validation.data import data_bucket
from deltaspec.wire.storage.interface import StorageError
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import add_data_file, build_rows, build_table_with_data, encode_data_file
from deltaspec_generators.table_files import TableFiles, commit_info_action, protocol_action, write_table

PLAIN = {"compression": "none"}
"""With these options all files of ten rows have the same size."""
OTHER_ROWS, MORE_ROWS = (encode_data_file(build_rows(first), **PLAIN) for first in (40, 50))
_CODEC = b"\x02id\x15%c\x16"
"""The name of the column `id` in a footer, and the number of its codec, doubled."""


def make_undecodable(content: bytes) -> bytes:
    """Return a Parquet file whose column `id` states the codec LZO, which Arrow cannot decode."""
    assert content.count(_CODEC % 0) == 1
    return content.replace(_CODEC % 0, _CODEC % 6)


class OpenedFiles:
    """Counts how often each file is opened for its rows, and gives other content than it has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times: Counter[str] = Counter()
        self.contents: dict[str, Iterator[bytes | StorageError | None]] = {}
        """By path, what the file is when it is opened in turn; None for its real content."""
        open_seekable = LocalStore.open_seekable

        def open_file(store: LocalStore, path: str) -> Any:
            self.times[path] += 1
            content = next(self.contents.get(path, iter(())), None)
            if isinstance(content, StorageError):
                raise content
            return open_seekable(store, path) if content is None else io.BytesIO(content)

        monkeypatch.setattr(LocalStore, "open_seekable", open_file)

    def replace(self, path: str, contents: Iterable[bytes | StorageError | None]) -> None:
        self.contents = {path: iter(contents)}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> OpenedFiles:
    return OpenedFiles(monkeypatch)


@pytest.fixture
def table(tmp_path: Path) -> str:
    files = build_table_with_data(parquet_options=PLAIN)
    assert len(OTHER_ROWS) == len(MORE_ROWS) == len(files.data["c.parquet"])
    write_table(files, tmp_path)
    return str(tmp_path)


def build_table_with_false_statistics(names: Iterable[str]) -> TableFiles:
    """Build a table with more files, whose rows are above the maximum that the statistics state."""
    files = build_table_with_data(parquet_options=PLAIN)
    files.commits[3] = [commit_info_action(3)]
    for name in names:
        add = add_data_file(files, name, build_rows(30))
        stats = json.loads(add["add"]["stats"])
        stats["maxValues"]["id"] = 35
        add["add"]["stats"] = json.dumps(stats)
        files.commits[3].append(add)
    return files


def test_sound_table_is_read_once(table: str, opened: OpenedFiles) -> None:
    assert deltaspec.validate(table, level="rows").verdict == "conforms"
    assert opened.times == {"b.parquet": 1, "c.parquet": 1}


def test_rows_that_are_sound_twice_are_no_finding(table: str, opened: OpenedFiles) -> None:
    opened.replace("c.parquet", [OTHER_ROWS])
    report = deltaspec.validate(table, level="rows")
    assert (report.verdict, report.totals) == ("conforms", {})
    assert opened.times == {"b.parquet": 1, "c.parquet": 3}
    assert report.sound_again is not None
    assert report.sound_again.files == {"c.parquet": "STA002, STA004"}


def test_no_confirm_trusts_the_first_read(table: str, opened: OpenedFiles) -> None:
    opened.replace("c.parquet", [OTHER_ROWS])
    report = deltaspec.validate(table, level="rows", confirm=False)
    assert (report.verdict, report.totals) == ("violations", {"STA002": 3, "STA004": 3})
    assert opened.times == {"b.parquet": 1, "c.parquet": 1}


@pytest.mark.parametrize("contents", [[OTHER_ROWS, MORE_ROWS], [OTHER_ROWS, None, OTHER_ROWS]])
def test_rows_that_change_are_not_checked(table: str, opened: OpenedFiles, contents: list[bytes | None]) -> None:
    opened.replace("c.parquet", contents)
    report = deltaspec.validate(table, level="rows")
    assert (report.verdict, report.totals) == ("incomplete", {})
    reasons = {(each.file, each.reason) for each in report.checked.not_checked}
    assert reasons == {("c.parquet", "c.parquet: changed while the table was checked")}


def test_rows_that_cannot_be_read_again_are_not_checked(table: str, opened: OpenedFiles) -> None:
    opened.replace("c.parquet", [OTHER_ROWS, StorageError("c.parquet: no such file or directory")])
    report = deltaspec.validate(table, level="rows")
    assert (report.verdict, report.totals) == ("incomplete", {})
    (reason,) = {each.reason for each in report.checked.not_checked}
    assert reason == "its rows could be read once, but not again: c.parquet: no such file or directory"


@pytest.mark.parametrize("sound_reads", [0, 1])
def test_rows_that_cannot_be_decoded_again_are_not_checked(table: str, opened: OpenedFiles, sound_reads: int) -> None:
    undecodable = make_undecodable((Path(table) / "c.parquet").read_bytes())
    opened.replace("c.parquet", [OTHER_ROWS, *[None] * sound_reads, undecodable])
    report = deltaspec.validate(table, level="rows")
    assert (report.verdict, report.totals, report.sound_again) == ("incomplete", {}, None)
    assert {each.file for each in report.checked.not_checked} == {"c.parquet"}


def test_column_that_is_never_decoded_does_not_hide_the_findings_of_others(table: str, opened: OpenedFiles) -> None:
    opened.replace("c.parquet", [make_undecodable(OTHER_ROWS)] * 2)
    report = deltaspec.validate(table, level="rows")
    assert report.totals == {"STA002": 2, "STA004": 2}
    (reason,) = {each.reason for each in report.checked.not_checked}
    assert reason.startswith("id: ")


def test_confirmed_finding_is_that_of_the_first_read(tmp_path: Path, opened: OpenedFiles) -> None:
    write_table(build_table_with_false_statistics(["d.parquet"]), tmp_path)
    report = deltaspec.validate(str(tmp_path), level="rows")
    assert opened.times == {"b.parquet": 1, "c.parquet": 1, "d.parquet": 2}
    first = deltaspec.validate(str(tmp_path), level="rows", confirm=False)
    assert report.totals == first.totals == {"STA002": 1}
    assert report.findings == first.findings
    assert report.sound_again is None


def test_many_confirmed_files_are_trusted(tmp_path: Path, opened: OpenedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"d{number}.parquet" for number in range(6)]
    write_table(build_table_with_false_statistics(names), tmp_path)
    monkeypatch.setattr(data_bucket, "MOST_REREAD_FILES", 2)
    assert deltaspec.validate(str(tmp_path), level="rows").totals == {"STA002": 6}
    assert [opened.times[name] for name in names] == [2, 2, 1, 1, 1, 1]


def test_constraint_is_evaluated_again(tmp_path: Path, opened: OpenedFiles) -> None:
    files = build_table_with_data(
        protocol=protocol_action(1, 3),
        configuration={"delta.constraints.small": "id < 40"},
        parquet_options=PLAIN,
    )
    write_table(files, tmp_path)
    only = ["ROW040"]
    opened.replace("c.parquet", [OTHER_ROWS])
    report = deltaspec.validate(str(tmp_path), level="rows", select=only)
    assert (report.verdict, report.totals) == ("conforms", {})
    assert report.sound_again is not None
    assert report.sound_again.files == {"c.parquet": "ROW040"}
    opened.replace("c.parquet", [OTHER_ROWS, MORE_ROWS])
    assert deltaspec.validate(str(tmp_path), level="rows", select=only).verdict == "incomplete"
    opened.replace("c.parquet", [OTHER_ROWS])
    assert deltaspec.validate(str(tmp_path), level="rows", select=only, confirm=False).totals == {"ROW040": 1}


def test_constraint_that_cannot_be_evaluated_again_is_not_checked(tmp_path: Path, opened: OpenedFiles) -> None:
    files = build_table_with_data(
        protocol=protocol_action(1, 3),
        configuration={"delta.constraints.small": "id < 40"},
        parquet_options=PLAIN,
    )
    write_table(files, tmp_path)
    rows = build_rows(20)
    doubles = encode_data_file(rows.set_column(0, "id", rows["id"].cast(pa.float64())), **PLAIN)
    assert len(doubles) == len(OTHER_ROWS)
    opened.replace("c.parquet", [OTHER_ROWS, doubles])
    report = deltaspec.validate(str(tmp_path), level="rows", select=["ROW040"])
    assert (report.verdict, report.totals, report.sound_again) == ("incomplete", {}, None)
    (reason,) = {each.reason for each in report.checked.not_checked if each.file == "c.parquet"}
    assert reason.startswith("its rows could be read once, but not again: the file stores double")


def test_other_rows_of_a_view_keep_their_findings(tmp_path: Path, opened: OpenedFiles) -> None:
    write_table(build_table_with_false_statistics(["d.parquet"]), tmp_path)
    opened.replace("c.parquet", [OTHER_ROWS])
    report = deltaspec.validate(str(tmp_path), level="rows")
    assert report.totals == {"STA002": 1}
    assert [each.path for each in report.findings] == ["d.parquet"]
    assert report.sound_again is not None
    assert list(report.sound_again.files) == ["c.parquet"]
