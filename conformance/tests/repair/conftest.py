"""A damaged table that every test may copy: with its plan, at a location that is the same for all copies."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from helpers.killed_runs import RunServer, start_run_server
from helpers.repair_plans import write_damaged_table, write_plan_for_damaged_table


class Damaged(msgspec.Struct, frozen=True):
    """A damaged table and its plan."""

    table: Path
    plan: Path

    def read_log(self) -> dict[str, bytes]:
        """Return the content of the log by name."""
        return {path.name: path.read_bytes() for path in sorted((self.table / "_delta_log").iterdir())}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    place = tmp_path_factory.mktemp("repair")
    damaged = Damaged(place / "t", place / "plan")
    write_damaged_table(damaged.table)
    write_plan_for_damaged_table(damaged.plan, damaged.table, level="files")
    for each in (damaged.table, damaged.plan):
        shutil.copytree(each, each.with_name(f"{each.name}.original"))
    return damaged


@pytest.fixture
def damaged(original: Damaged) -> Damaged:
    """The table as it was when the plan was made."""
    restore(original)
    return original


def restore(damaged: Damaged) -> None:
    """Undo everything that a test did to a table and its plan."""
    for each in (damaged.table, damaged.plan):
        shutil.rmtree(each)
        shutil.copytree(each.with_name(f"{each.name}.original"), each)


@pytest.fixture(scope="module")
def server() -> Iterator[RunServer]:
    with start_run_server() as running:
        yield running
