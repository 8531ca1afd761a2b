"""Select tests by commit: the seed of property tests, and the share of the tests that multiply.

A test marked `multiplied(parts, *sources)` runs if the commit touches one of its sources, or if its name falls
into the share of this commit: one of `parts`. `DELTASPEC_BASE=<commit>` includes what the commits after that one touch.
`DELTASPEC_SHARE=all` (`nox -s exhaustive`) runs every test.

`DELTASPEC_SHARE=folders` (`.ci/test`) leaves out more. Of a folder in `SOURCES_OF_FOLDERS`, a commit runs one test in
`FOLDER_PARTS`; if it touches what the folder tests, or `helpers`, one in `TOUCHED_PARTS`. This is also the share of
marked tests whose sources it touches. All other tests of a module run if the commit touches the module.
Seed and share follow from the commit alone, so `DELTASPEC_COMMIT=<hash>` repeats a run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
VALIDATION_PACKAGES = ("model", "rules", "sql", "validation", "views", "wire")

FOLDER_PARTS = 12
TOUCHED_PARTS = 3
_KIT = "conformance/deltaspec"
_VALIDATION = tuple(f"{_KIT}/{name}" for name in VALIDATION_PACKAGES)
_SUITES = (*(f"{_KIT}/{name}" for name in ("candidates", "suites", "selftest", "model", "wire")), "generators")
SOURCES_OF_FOLDERS = {
    "conformance/tests/candidates": _SUITES,
    "conformance/tests/delta_rs": _VALIDATION,
    "conformance/tests/engines": _SUITES,
    "conformance/tests/extraction": (*_VALIDATION, f"{_KIT}/extraction"),
    "conformance/tests/faults": (*_SUITES, f"{_KIT}/faults"),
    "conformance/tests/golden": (*_SUITES, f"{_KIT}/golden", "golden-tables"),
    "conformance/tests/known_bugs": _VALIDATION,
    "conformance/tests/lake": (*_VALIDATION, f"{_KIT}/report"),
    "conformance/tests/model": (f"{_KIT}/model", "generators"),
    "conformance/tests/mutations": (*_VALIDATION, "generators"),
    "conformance/tests/spark": _VALIDATION,
    "conformance/tests/suites": _SUITES,
    "conformance/tests/validation": _VALIDATION,
    "conformance/tests/views": _VALIDATION,
    "conformance/tests/wire": (f"{_KIT}/model", f"{_KIT}/wire", "generators"),
    "generators/tests": _SUITES,
}
"""Folders whose tests take minutes, with the folders of the sources that they test, relative to the repository."""


@cache
def read_commit() -> str:
    """Return the commit that seed and share are derived from; `none` outside a Git checkout."""
    return os.environ.get("DELTASPEC_COMMIT") or _run_git("rev-parse", "HEAD").strip() or "none"


def compute_seed() -> int:
    """Return the seed of property tests, a number of 32 bits."""
    return _hash("seed", 1 << 32)


def runs_everything() -> bool:
    """Return whether every multiplied test runs."""
    return os.environ.get("DELTASPEC_SHARE") == "all"


def is_selected(name: str, parts: int, sources: tuple[str, ...] = ()) -> bool:
    """Return whether a multiplied test runs for this commit.

    Args:
        name: identifies the test; it decides the share that the test belongs to.
        parts: number of shares, of which one runs.
        sources: files relative to the repository; the test runs if the commit changes one of them, in `.ci/test` in a
            larger share.
    """
    if runs_everything() or parts <= 1:
        return True
    if list_touched_files().isdisjoint(sources):
        return _hash(name, parts) == 0
    return not _leaves_out_folders() or _hash(name, min(parts, TOUCHED_PARTS)) == 0


def is_in_folder_share(name: str, test_file: Path) -> bool:
    """Return whether a test runs, if this run leaves out tests of folders that the commit does not touch.

    Args:
        name: identifies the test; it decides the share that the test belongs to.
        test_file: module of the test.
    """
    if not _leaves_out_folders() or not test_file.resolve().is_relative_to(ROOT):
        return True
    path = test_file.resolve().relative_to(ROOT).as_posix()
    sources = next((each for folder, each in SOURCES_OF_FOLDERS.items() if path.startswith(f"{folder}/")), None)
    touched = list_touched_files()
    if sources is None or path in touched:
        return True
    touching = tuple(f"{each}/" for each in (*sources, "conformance/tests/helpers"))
    parts = TOUCHED_PARTS if any(each.startswith(touching) for each in touched) else FOLDER_PARTS
    return _hash(name, parts) == 0


def list_modules(*folders: str, pattern: str = "*.py") -> tuple[str, ...]:
    """Return the modules below folders of the repository, as sources of a multiplied test."""
    return tuple(str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob(pattern))


def list_validation_modules() -> tuple[str, ...]:
    """Return the modules that decide what the embedded engine finds in a table."""
    return list_modules(*(f"conformance/deltaspec/{name}" for name in VALIDATION_PACKAGES))


@cache
def list_touched_files() -> frozenset[str]:
    """Return the files, relative to the repository, that the commit and uncommitted changes touch."""
    names = ("--name-only", "--no-renames")
    if base := os.environ.get("DELTASPEC_BASE"):
        committed = _run_git("diff", *names, f"{base}...{read_commit()}")
    else:
        committed = _run_git("show", "--format=", *names, read_commit())
    uncommitted = "" if os.environ.get("DELTASPEC_COMMIT") else _run_git("diff", "HEAD", "--name-only", "--no-renames")
    return frozenset(filter(None, (committed + uncommitted).splitlines()))


def describe_selection() -> str:
    """Return one line that says which seed and share a run uses."""
    share = os.environ.get("DELTASPEC_SHARE", "")
    tests = {
        "all": "every test",
        "folders": f"of slow folders one test in {FOLDER_PARTS}, in {TOUCHED_PARTS} where the commit touches sources",
    }.get(share, "the share of this commit")
    return (
        f"deltaspec: commit {read_commit()[:12]}, seed {compute_seed()}, {tests} (DELTASPEC_SHARE={share or 'unset'})"
    )


def format_reproduction(node_id: str) -> str:
    """Return the shell command that repeats one test of this run."""
    quoted = "'" + node_id.replace("'", "'\\''") + "'"
    variables = f"DELTASPEC_COMMIT={read_commit()[:12]}"
    if "DELTASPEC_EXAMPLES" in os.environ:
        variables += f" DELTASPEC_EXAMPLES={os.environ['DELTASPEC_EXAMPLES']}"
    return f"{variables} python -m pytest {quoted}"


def _leaves_out_folders() -> bool:
    return os.environ.get("DELTASPEC_SHARE") == "folders"


def _hash(name: str, bound: int) -> int:
    digest = hashlib.sha256(f"{read_commit()[:12]}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % bound


def _run_git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
