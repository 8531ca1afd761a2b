"""Apply a plan to a table, or to a copy of it, by plain file operations, as a person with a file manager would."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from deltaspec.repair.plan_format import RepairPlan


def apply_to_copy(table: Path, plan: Path, copy: Path) -> RepairPlan:
    """Copy a table, and change the copy as the plan in a folder says."""
    shutil.copytree(table, copy)
    return apply_by_hand(copy, plan)


def apply_by_hand(table: Path, plan: Path) -> RepairPlan:
    """Change a table as the plan in a folder says."""
    log = table / "_delta_log"
    found = msgspec.json.decode((plan / "plan.json").read_bytes(), type=RepairPlan)
    new = [*([] if found.commit is None else [found.commit]), *found.writes]
    if found.commit is not None:
        shutil.copy(plan / "files" / found.commit.name, log)
    for each in found.set_aside:
        (log / each.name).unlink()
    for each in found.writes:
        assert not (log / each.name).exists(), each.name
        shutil.copy(plan / "files" / each.name, log)
    for each in found.set_aside_after:
        (log / each.name).unlink()
    assert sorted(path.name for path in (plan / "files").iterdir()) == sorted(each.name for each in new)
    return found
