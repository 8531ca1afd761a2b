"""Which tests `.ci/test` selects."""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers import selection

RunGit = Callable[..., str]


@pytest.fixture
def run_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunGit]:
    """Return a function that runs Git in a repository with the commits `0` to `2`, each of which writes `<n>.py`."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")

    def run(*arguments: str) -> str:
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "--quiet", "--initial-branch", "main")
    for number in range(3):
        (tmp_path / f"{number}.py").touch()
        run("add", ".")
        run("commit", "--quiet", "--message", f"commit {number}")
    monkeypatch.setattr(selection, "ROOT", tmp_path)
    selection.list_changed_files.cache_clear()
    yield run
    selection.list_changed_files.cache_clear()


def test_last_commit_and_uncommitted_changes_count_on_the_main_branch(run_git: RunGit) -> None:
    (selection.ROOT / "0.py").write_text("changed")
    (selection.ROOT / "new.py").touch()
    assert selection.list_changed_files() == {"0.py", "2.py", "new.py"}


def test_all_commits_of_a_branch_count(run_git: RunGit) -> None:
    run_git("branch", "topic")
    run_git("reset", "--quiet", "--hard", "HEAD~2")
    run_git("switch", "--quiet", "topic")
    assert selection.list_changed_files() == {"1.py", "2.py"}


def test_published_main_branch_decides(run_git: RunGit) -> None:
    run_git("update-ref", "refs/remotes/origin/main", "HEAD~2")
    assert selection.list_changed_files() == {"1.py", "2.py"}


def test_nothing_differs_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    selection.list_changed_files.cache_clear()
    assert selection.list_changed_files() == frozenset()
    assert selection.compute_seed() == 0
    selection.list_changed_files.cache_clear()


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ("tests/test_a.py", True),
        ("product/a/b.py", True),
        ("product/a", True),
        ("product/ab.py", False),
        ("tests/test_b.py", False),
    ],
)
def test_module_and_paths_of_a_test_are_compared(changed: str, differs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "list_changed_files", lambda: frozenset([changed]))
    assert selection.differs_from_main(selection.ROOT / "tests/test_a.py", ("product/a",)) == differs


def test_paths_of_slow_tests_exist() -> None:
    modules = [
        path for folder in ("conformance", "generators") for path in (selection.ROOT / folder).rglob("test_*.py")
    ]
    marks = [mark for path in modules for mark in re.findall(r"mark\.slow\(([^)]*)\)", path.read_text("utf-8"))]
    paths = [path for mark in marks for path in re.findall(r'"([^"]+)"', mark)]
    assert len(paths) > 20
    assert [path for path in paths if not (selection.ROOT / path).exists()] == []


def test_reproduction_is_a_shell_command_with_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTASPEC_EXAMPLES", "3")
    command = selection.format_reproduction("a.py::test_b['c']", "7")
    assert command == "DELTASPEC_EXAMPLES=3 python -m pytest --hypothesis-seed=7 'a.py::test_b['\\''c'\\'']'"
