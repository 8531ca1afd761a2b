"""delta-rs writes to a table between the storage calls of a validation."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from delta_rs.tables_plain import rows
from deltalake import DeltaTable, write_deltalake
from helpers.concurrent_writer import ConcurrentlyWrittenStore, Schedule, ScheduledOperation
from validation.test_concurrent_writes import assert_no_false_positive, use_store

import deltaspec


class _DeltaRs:
    """A writer whose operations are single steps: delta-rs commits atomically, and its vacuum cannot be interrupted."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._next = 0
        properties = {"delta.logRetentionDuration": "interval 0 seconds", "delta.enableExpiredLogCleanup": "false"}
        write_deltalake(self._root, rows(-1, name="begin"), configuration=properties)
        for _ in range(3):
            self._append()
        DeltaTable(self._root).create_checkpoint()
        self._append()

    def _append(self) -> None:
        self._next += 3
        write_deltalake(self._root, rows(self._next, self._next + 1, name="a"), mode="append")

    def begin(self, operation: str) -> Iterator[None]:
        table = DeltaTable(self._root)
        match operation:
            case "append":
                self._append()
            case "delete":
                table.delete(f"id = {self._next}")
            case "update":
                table.update(updates={"name": "'again'"}, predicate=f"id > {self._next - 4}")
            case "optimize":
                table.optimize.compact()
            case "vacuum":
                table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
            case "checkpoint":
                table.create_checkpoint()
            case "clean up":
                table.cleanup_metadata()
        yield


_OPERATIONS = (
    "append",
    "optimize",
    "vacuum",
    "update",
    "checkpoint",
    "clean up",
    "delete",
    "vacuum",
    "append",
    "checkpoint",
)


@pytest.mark.parametrize("wait", [0, 2, 5])
@pytest.mark.parametrize(("level", "history"), [("log", "all"), ("files", "latest"), ("rows", "all")])
def test_concurrent_writes_of_delta_rs_cause_no_false_finding(
    level: str, history: str, wait: int, tmp_path: Path
) -> None:
    root, frozen = tmp_path / "table", tmp_path / "frozen"
    writer = _DeltaRs(root)
    shutil.copytree(root, frozen)
    # each wait places the operations between other storage calls
    schedule = Schedule(
        writer, [ScheduledOperation(each, 0 if number else wait, 1) for number, each in enumerate(_OPERATIONS)]
    )
    with use_store(ConcurrentlyWrittenStore(str(root), schedule.advance, is_remote=wait == 2)):
        report = deltaspec.validate(str(root), level=level, history=history)
    assert schedule.started_operations
    assert_no_false_positive(report, deltaspec.validate(str(frozen), level=level, history=history), schedule, root)
