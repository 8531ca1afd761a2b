"""Write a plan as a folder: `plan.json`, the new files of the log in `files`, and `README.md` for its reviewer."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import fill_directory
from deltaspec.repair.plan_format import RepairPlan
from deltaspec.repair.plan_readme import render_readme

PLAN_FILE, FILES, README = "plan.json", "files", "README.md"


def write_plan_folder(path: str | os.PathLike[str], plan: RepairPlan, files: dict[str, bytes]) -> None:
    """Write a plan into a new or empty directory, complete or not at all.

    Raises:
        InvalidUsage: the directory has files, or cannot be written.
    """
    require_empty(path)
    with fill_directory(path) as folder:
        (folder / FILES).mkdir()
        for name, content in files.items():
            (folder / FILES / name).write_bytes(content)
        (folder / PLAN_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")
        (folder / README).write_text(render_readme(plan, os.fspath(path)), encoding="utf-8", errors="backslashreplace")


def require_empty(path: str | os.PathLike[str]) -> None:
    """Raise `InvalidUsage` if a path is a file, or a directory that is not empty."""
    target = Path(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidUsage(f"{os.fspath(path)}: is not an empty directory; name a new one")
