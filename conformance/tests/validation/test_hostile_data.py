"""Irregular files in a table's directory cause findings or are not checked, without a hang or a traceback."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest
from helpers.raw_logs import count_findings_by_rule
from validation.hostile_tables import (
    LEVELS,
    TIME_LIMIT_SECONDS,
    VECTORS,
    join_unchecked_reasons,
    validate_unchanged,
    write_table_below,
)
from wire.storage.test_interface import run_unprivileged

import deltaspec
from deltaspec.wire.storage import local
from deltaspec.wire.storage.interface import Entry, StorageError
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.small_tables import (
    add_data_file,
    build_rows,
    build_table_with_change_data,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import commit_info_action


@pytest.fixture(autouse=True)
def _time_limit() -> Iterator[None]:
    """Fail a test that hangs."""

    def raise_timeout(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {TIME_LIMIT_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.alarm(TIME_LIMIT_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# something else in place of a referenced file

IRREGULAR_FILES: dict[str, Callable[[Path], object]] = {
    "FIFO": os.mkfifo,
    "directory": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to the table": lambda path: path.symlink_to("."),
    "link to the log": lambda path: path.symlink_to("_delta_log"),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", IRREGULAR_FILES)
def test_irregular_file_is_a_missing_data_file(kind: str, level: str, tmp_path: Path) -> None:
    root = write_table_below(build_table_with_stored_vectors(), tmp_path)
    (root / "b.parquet").unlink()
    IRREGULAR_FILES[kind](root / "b.parquet")
    assert count_findings_by_rule(validate_unchanged(root, level)) == {"DAT001": 1}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", IRREGULAR_FILES)
def test_irregular_file_is_an_unreadable_vector_file(kind: str, level: str, tmp_path: Path) -> None:
    root = write_table_below(build_table_with_stored_vectors(), tmp_path)
    (root / VECTORS).unlink()
    IRREGULAR_FILES[kind](root / VECTORS)
    report = validate_unchanged(root, level)
    if kind == "dangling link":
        assert count_findings_by_rule(report) == {"DVX010": 2}
    else:
        assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {})
        assert "a deletion vector cannot be read" in join_unchecked_reasons(report)


@pytest.mark.parametrize("level", LEVELS)
def test_fifo_is_a_missing_change_file(level: str, tmp_path: Path) -> None:
    root = write_table_below(build_table_with_change_data(), tmp_path)
    (root / "_change_data/cdc-0.parquet").unlink()
    os.mkfifo(root / "_change_data/cdc-0.parquet")
    assert count_findings_by_rule(validate_unchanged(root, level)) == {"DAT004": 1}


@pytest.mark.parametrize("level", LEVELS)
def test_unreferenced_irregular_files_are_ignored(level: str, tmp_path: Path) -> None:
    root = write_table_below(build_table_with_stored_vectors(), tmp_path)
    for kind, create in IRREGULAR_FILES.items():
        create(root / f"unreferenced {kind}")
    (root / "above").symlink_to("..")
    with open(os.fsencode(str(root)) + b"/no\xffutf8", "wb"):
        pass
    os.mkdir(os.fsencode(str(root)) + b"/folder\xfe")
    report = validate_unchanged(root, level)
    assert (report.verdict, count_findings_by_rule(report)) == ("conforms", {})


# names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("n" * 247 + ".parquet", "n" * 247 + ".parquet"),
        ("%C3%BC%20%25%2B%23%3F.parquet", "ü %+#?.parquet"),
        ("%F0%9F%98%80%22%0A%5C.parquet", '😀"\n\\.parquet'),
        ("p=%253A/d.parquet", "p=%3A/d.parquet"),
    ],
)
def test_file_with_unusual_name_is_found(path: str, name: str, tmp_path: Path) -> None:
    files = build_table_with_data()
    files.commits[3] = [commit_info_action(3), add_data_file(files, path, build_rows(30))]
    files.data[name] = files.data.pop(path)
    root = write_table_below(files, tmp_path)
    for level in LEVELS:
        report = validate_unchanged(root, level)
        assert (report.verdict, count_findings_by_rule(report)) == ("conforms", {}), f"{level=}"


@pytest.mark.parametrize("path", ["n" * 256, "n/" * 3000 + "n", "nul%00", "%FF%FE.parquet", "b.parquet/below"])
def test_impossible_file_name_is_a_finding_or_not_checked(path: str, tmp_path: Path) -> None:
    files = build_table_with_data()
    files.commits[3] = [commit_info_action(3), add_data_file(files, path, build_rows(30))]
    files.data.pop(path)
    root = write_table_below(files, tmp_path)
    for level in LEVELS:
        assert validate_unchanged(root, level).verdict in ("violations", "incomplete")


def test_file_with_non_utf8_name_matches_no_path(tmp_path: Path) -> None:
    files = build_table_with_data()
    files.commits[3] = [commit_info_action(3), add_data_file(files, "odd%FF.parquet", build_rows(30))]
    data = files.data.pop("odd%FF.parquet")
    assert isinstance(data, bytes)
    root = write_table_below(files, tmp_path)
    with open(os.fsencode(str(root)) + b"/odd\xff.parquet", "wb") as file:
        file.write(data)
    for level in LEVELS:
        assert validate_unchanged(root, level).verdict in ("violations", "incomplete")


# directories


def test_files_in_unlistable_directory_are_not_checked() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        files = build_table_with_data()
        files.commits[3] = [commit_info_action(3), add_data_file(files, "p/d.parquet", build_rows(30))]
        root = write_table_below(files, Path(folder))
        (root / "p").chmod(0)
        try:
            for level in LEVELS:
                with run_unprivileged():
                    report = deltaspec.validate(str(root), level=level)
                assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {}), f"{level=}"
                assert "p/: cannot be listed: Permission denied" in join_unchecked_reasons(report), f"{level=}"
        finally:
            (root / "p").chmod(0o755)


def test_unreadable_file_is_not_checked() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        root = write_table_below(build_table_with_stored_vectors(), Path(folder))
        for name in ("b.parquet", VECTORS):
            (root / name).chmod(0)
            for level in LEVELS:
                with run_unprivileged():
                    report = deltaspec.validate(str(root), level=level)
                needs_no_read = level == "files" and name == "b.parquet"
                assert (report.verdict, count_findings_by_rule(report)) == (
                    "conforms" if needs_no_read else "incomplete",
                    {},
                ), f"{name=}, {level=}"
            (root / name).chmod(0o644)


def test_incomplete_listing_reports_no_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def list_first_file(self: LocalStore) -> Iterator[Entry | StorageError]:
        yield from list(list_files(self))[:1]
        yield StorageError("the disk is gone")

    root, list_files = write_table_below(build_table_with_stored_vectors(), tmp_path), LocalStore.list_files
    monkeypatch.setattr(LocalStore, "list_files", list_first_file)
    for level in LEVELS:
        report = validate_unchanged(root, level)
        assert (report.verdict, count_findings_by_rule(report)) == ("incomplete", {}), f"{level=}"
        assert "the disk is gone" in join_unchecked_reasons(report), f"{level=}"


def test_directory_link_cycles_terminate(tmp_path: Path) -> None:
    root = write_table_below(build_table_with_data(), tmp_path)
    for number in range(12):
        (root / f"d{number}").mkdir()
        for other in range(12):
            (root / f"d{number}" / f"to{other}").symlink_to(f"../d{other}")
    for level in LEVELS:
        assert count_findings_by_rule(validate_unchanged(root, level)) == {}


def test_directories_deeper_than_any_path_terminate(tmp_path: Path) -> None:
    root = write_table_below(build_table_with_data(), tmp_path)
    here = os.open(root, os.O_RDONLY)
    for _ in range(2200):
        os.mkdir("d", dir_fd=here)
        here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(here)
    report = deltaspec.validate(str(root), level="rows")
    assert count_findings_by_rule(report) == {}
    subprocess.run(["rm", "-rf", str(root)], check=True)


def test_directory_of_20000_files_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_table_below(build_table_with_data(), tmp_path)
    folder = os.open(root, os.O_RDONLY)
    for number in range(20_000):
        os.close(os.open(f"left-{number:05}.parquet", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    listed: list[str] = []
    list_names = os.listdir

    def record(path: str) -> list[str]:
        listed.append(path)
        return list_names(path)

    monkeypatch.setattr(local.os, "listdir", record)
    report = deltaspec.validate(str(root), level="rows")
    assert (report.verdict, count_findings_by_rule(report)) == ("conforms", {})
    assert [os.path.normpath(each) for each in listed].count(str(root)) == 1


# files that change during the run


def run_before_open(
    monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Path], object], opening: int = 1
) -> None:
    """Call a function on a file just before it is opened for the n-th time."""
    original_open, openings = LocalStore.open_with_size, [0]

    def open_late(self: LocalStore, path: str) -> tuple[int, int]:
        if path == name:
            openings[0] += 1
            if openings[0] == opening:
                change(Path(self.uri) / path)
        return original_open(self, path)

    monkeypatch.setattr(LocalStore, "open_with_size", open_late)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more" * 1000)


def become_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "vanishes": Path.unlink,
    "shrinks": lambda path: os.truncate(path, 40),
    "is emptied": lambda path: os.truncate(path, 0),
    "grows": grow,
    "becomes a FIFO": become_fifo,
    "loses its link": lambda path: (path.unlink(), path.symlink_to("nowhere")),
}


@pytest.mark.parametrize("level", ["footers", "rows"])
@pytest.mark.parametrize("opening", [1, 2, 3])
@pytest.mark.parametrize("change", CHANGES)
def test_data_file_changed_after_listing_causes_no_finding(
    change: str, opening: int, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_table_below(build_table_with_data(), tmp_path)
    run_before_open(monkeypatch, "b.parquet", CHANGES[change], opening)
    report = deltaspec.validate(str(root), level=level)
    assert count_findings_by_rule(report) == {}
    if report.verdict == "conforms":
        assert opening > 1  # the file was opened less often
    else:
        assert report.verdict == "incomplete"


@pytest.mark.parametrize("change", CHANGES)
def test_vector_file_changed_after_listing_is_a_finding_or_not_checked(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_table_below(build_table_with_stored_vectors(), tmp_path)
    run_before_open(monkeypatch, VECTORS, CHANGES[change])
    report = deltaspec.validate(str(root), level="rows")
    assert set(count_findings_by_rule(report)) <= {"DVX010", "DVX011", "DVX012"}
    assert report.verdict == (
        "conforms" if change == "grows" else "incomplete" if not count_findings_by_rule(report) else "violations"
    )
