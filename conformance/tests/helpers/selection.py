"""Decide which tests run, and compute the seed of property tests.

Every test runs, unless `DELTASPEC_TESTS=changed` (`.ci/test`). A test marked `slow(*paths)` then runs only if its
module or one of these paths of the repository differs from the main branch. On the main branch itself, the last commit
and uncommitted changes count.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MAIN_BRANCHES = ("origin/main", "main")
SPARK = "conformance/deltaspec/validation/spark"
"""What tests marked `spark` test, if they have no mark `slow` of their own."""


def compute_seed() -> int:
    """Return the seed of property tests, a number of 32 bits that follows from the commit; 0 outside a Git checkout."""
    return int(_run_git("rev-parse", "HEAD")[:8] or "0", 16)


def leaves_out_slow_tests() -> bool:
    """Return whether slow tests of unchanged files do not run."""
    return os.environ.get("DELTASPEC_TESTS") == "changed"


def differs_from_main(test_file: Path, paths: tuple[str, ...]) -> bool:
    """Return whether a module of tests, or one of the files and folders that it tests, differs from the main branch."""
    own = test_file.resolve()
    tested = (*paths, *([own.relative_to(ROOT).as_posix()] if own.is_relative_to(ROOT) else ()))
    return any(f"{file}/".startswith(f"{path}/") for file in list_changed_files() for path in tested)


@cache
def list_changed_files() -> frozenset[str]:
    """Return the files, relative to the repository, that differ from the main branch, or on it from the last commit."""
    head = _run_git("rev-parse", "HEAD")
    bases = (_run_git("merge-base", "HEAD", branch) for branch in MAIN_BRANCHES)
    base = next(filter(None, bases), head)
    changed = _run_git("diff", "--name-only", "--no-renames", f"{head}~1" if base == head else base)
    untracked = _run_git("ls-files", "--others", "--exclude-standard")
    return frozenset([*changed.splitlines(), *untracked.splitlines()])


def format_reproduction(node_id: str, seed: str) -> str:
    """Return the shell command that repeats one test with the seed of its run."""
    quoted = "'" + node_id.replace("'", "'\\''") + "'"
    examples = os.environ.get("DELTASPEC_EXAMPLES")
    return f"{f'DELTASPEC_EXAMPLES={examples} ' if examples else ''}python -m pytest --hypothesis-seed={seed} {quoted}"


def _run_git(*arguments: str) -> str:
    """Return the output of a Git command; empty if it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
