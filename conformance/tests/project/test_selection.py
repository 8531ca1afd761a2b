"""Which tests a commit selects."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import selection


@pytest.fixture
def commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Commits of a repository, of which each writes one file: `0.py`, `1.py`, `2.py`. It is the one of `selection`."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")

    def run_git(*arguments: str) -> str:
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    run_git("init", "--quiet")
    found = []
    for number in range(3):
        (tmp_path / f"{number}.py").touch()
        run_git("add", ".")
        run_git("commit", "--quiet", "--message", "a commit")
        found.append(run_git("rev-parse", "HEAD"))
    monkeypatch.setattr(selection, "ROOT", tmp_path)
    for name in ("DELTASPEC_BASE", "DELTASPEC_COMMIT", "DELTASPEC_SHARE"):
        monkeypatch.delenv(name, raising=False)
    cached = (selection.read_commit, selection.list_touched_files)
    for each in cached:
        each.cache_clear()
    yield found
    for each in cached:
        each.cache_clear()


def test_newest_commit_and_uncommitted_changes_select(commits: list[str]) -> None:
    (selection.ROOT / "0.py").write_text("changed")
    assert selection.list_touched_files() == {"0.py", "2.py"}


def test_named_commit_selects_alone(commits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASPEC_COMMIT", commits[1])
    (selection.ROOT / "0.py").write_text("changed")
    assert selection.list_touched_files() == {"1.py"}


def test_commits_after_the_base_select(commits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASPEC_BASE", commits[0])
    assert selection.list_touched_files() == {"1.py", "2.py"}


def test_share_of_a_commit_has_one_part_and_what_it_touches(commits: list[str]) -> None:
    names = [str(number) for number in range(600)]
    chosen = [name for name in names if selection.is_selected(name, 3)]
    assert 100 < len(chosen) < 300
    assert all(selection.is_selected(name, 3, ("2.py",)) for name in names)
    assert [name for name in names if selection.is_selected(name, 3, ("1.py",))] == chosen


def test_touched_tests_run_in_a_larger_share(commits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASPEC_SHARE", "folders")
    names = [str(number) for number in range(600)]
    assert 130 < sum(selection.is_selected(name, 6, ("2.py",)) for name in names) < 270
    assert 50 < sum(selection.is_selected(name, 6, ("1.py",)) for name in names) < 150


def test_folders_that_a_commit_does_not_touch_run_in_part(commits: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def list_chosen(path: str) -> list[str]:
        return [name for name in names if selection.is_in_folder_share(name, selection.ROOT / path)]

    names = [str(number) for number in range(600)]
    elsewhere = selection.ROOT.parent / "conformance/tests/views/test_views.py"
    test_file = "conformance/tests/views/test_views.py"
    assert list_chosen(test_file) == names
    monkeypatch.setenv("DELTASPEC_SHARE", "folders")
    assert 30 < len(list_chosen(test_file)) < 110
    assert list_chosen("conformance/tests/report/test_report.py") == names
    assert all(selection.is_in_folder_share(name, elsewhere) for name in names)
    for touched in ("conformance/deltaspec/wire/log.py", "conformance/tests/helpers/cli.py"):
        monkeypatch.setattr(selection, "list_touched_files", lambda touched=touched: frozenset([touched]))
        assert 130 < len(list_chosen(test_file)) < 270
    monkeypatch.setattr(selection, "list_touched_files", lambda: frozenset([test_file]))
    assert list_chosen(test_file) == names
    monkeypatch.setattr(selection, "list_touched_files", lambda: frozenset(["conformance/deltaspec/wire.md"]))
    assert 30 < len(list_chosen(test_file)) < 110


def test_folders_with_sources_exist() -> None:
    folders = [each for folder, sources in selection.SOURCES_OF_FOLDERS.items() for each in (folder, *sources)]
    assert [each for each in folders if not (selection.ROOT / each).is_dir()] == []
