"""Several tasks list a table: the report is that of one process, and what a task cannot list is unchecked."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.backends import compare_reports, list_backend

from deltaspec.validation.data import data_bucket, listing_stage, second_look
from deltaspec.validation.options import Options
from deltaspec.wire.storage.interface import Entry, StorageError
from deltaspec.wire.storage.listing_parts import ListingPart
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import add_data_file, build_rows, build_table_with_data
from deltaspec_generators.table_files import TableFiles, commit_info_action, write_table


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing_stage, "FILES_OF_ONE_TASK", 0)


@pytest.fixture
def listed_parts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that tasks list."""
    found: list[str] = []
    list_part = LocalStore.list_part

    def record(store: LocalStore, part: ListingPart) -> Iterator[Entry | StorageError]:
        if part.folder:
            found.append(part.folder)
        return list_part(store, part)

    monkeypatch.setattr(LocalStore, "list_part", record)
    return found


def build_table(*, partitions: int = 12, missing: int = 0) -> TableFiles:
    """Build a table with a file in each of some directories, and files below directories that the log does not name."""
    files = build_table_with_data()
    names = [f"d{number}/m.parquet" for number in range(partitions)]
    adds = [add_data_file(files, name, build_rows(30 + 10 * number)) for number, name in enumerate(names)]
    files.commits[3] = [commit_info_action(3), *adds]
    files.missing |= set(names[:missing])
    files.extra |= {"unknown/deep/u.parquet": b"12", "d1/below/v.parquet": b"1", "_hidden/w": b"1"}
    return files


def test_files_that_the_log_does_not_name_are_found(tmp_path: Path, listed_parts: list[str]) -> None:
    write_table(build_table(missing=1), tmp_path)
    backends = {"tasks": list_backend(3, 3)}
    assert compare_reports(str(tmp_path), backends, level="files") == []
    assert sorted(set(listed_parts)) == sorted(["_hidden/", "unknown/", *(f"d{number}/" for number in range(1, 12))]), (
        "one directory is a part"
    )
    inventory = list_backend(3, 3)(str(tmp_path), Options.create(level="files")).inventory
    assert inventory is not None
    assert inventory.unreferenced == ["d1/below/v.parquet", "unknown/deep/u.parquet"]


def test_part_that_cannot_be_listed_is_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list_part = LocalStore.list_part

    def refuse(store: LocalStore, part: ListingPart) -> Iterator[Entry | StorageError]:
        yield from list_part(store, part)
        if part.folder == "unknown/":
            yield StorageError("unknown/: cannot be listed: no permission")

    write_table(build_table(missing=1), tmp_path)
    monkeypatch.setattr(LocalStore, "list_part", refuse)
    report = list_backend(3, 3)(str(tmp_path), Options.create(level="files"))
    assert report.verdict == "incomplete"
    reasons = {each.reason for each in report.checked.not_checked}
    assert "the table cannot be listed completely: unknown/: cannot be listed: no permission" in reasons
    assert report.inventory is not None
    assert not report.inventory.is_complete


def test_many_missing_files_are_confirmed_by_one_further_listing(
    tmp_path: Path, listed_parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(self: LocalStore, *arguments: str) -> None:
        initialize(self, *arguments)
        self.is_remote = True

    initialize = LocalStore.__init__
    monkeypatch.setattr(LocalStore, "__init__", create)
    for module in (second_look, data_bucket):
        monkeypatch.setattr(module, "MOST_LOOKS", 2)
    write_table(build_table(partitions=30, missing=11), tmp_path)
    report = list_backend(3, 3)(str(tmp_path), Options.create(level="files"))
    assert report.totals == {"DAT001": 11}
    assert set(Counter(listed_parts).values()) == {2}, "the table is listed twice, not once more in each bucket"
    assert compare_reports(str(tmp_path), {"tasks": list_backend(3, 3)}, level="files") == []
