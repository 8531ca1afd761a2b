"""Damaged tables, and plans for them that a careful person could write by hand."""

import shutil
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from deltaspec.candidates.reference.checkpoint_writer import CheckpointWriter, encode_lines
from deltaspec.candidates.reference.log_reader import LogReader
from deltaspec.protocol.actions import Action, Add, CommitInfo, Remove
from deltaspec.protocol.log.file_names import classic_checkpoint_name, commit_name
from deltaspec.repair.overlay_store import OverlayStore, digest_listing
from deltaspec.repair.plan_format import LogFileDigest, Repair, RepairPlan, RowComparison
from deltaspec.repair.verdicts import MAX_FINDINGS, summarize, validate_store
from deltaspec.validation.options import Options
from deltaspec.wire.storage.factory import open_store
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Store
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import write_table

HINT = "_last_checkpoint"
LOST = "b.parquet"
"""A live file of 10 rows; c.parquet, with ids from 20 to 29, is the other one."""


def write_damaged_table(table: Path) -> None:
    """Write a table of version 2 with a missing file, and a checkpoint and hint that do not mention c.parquet."""
    write_table(build_table_with_data(), table)
    write_wrong_checkpoint(table, "c.parquet")
    (table / LOST).unlink()


def write_wrong_checkpoint(table: Path, path: str) -> None:
    """Write a checkpoint of the latest version without one of its files, and a hint to it."""
    snapshot = LogReader(str(table)).read_state().snapshot
    files = {key: add for key, add in snapshot.files.items() if add.path != path}
    CheckpointWriter(str(table)).write_checkpoint(msgspec.structs.replace(snapshot, files=files), "v1")


def write_checkpoint(table: Path, version: int) -> None:
    """Write a correct checkpoint of a version, and a hint to it."""
    CheckpointWriter(str(table)).write_checkpoint(LogReader(str(table)).read_state(version).snapshot, "v1")


def build_lost_file_commit(table: Path, *paths: str) -> bytes:
    """Return a commit that removes live files."""
    snapshot = read_true_state(table).snapshot
    actions: list[Action] = [CommitInfo(timestamp=now_ms(), operation="REPAIR")]
    for add in snapshot.files.values():
        if add.path in paths:
            actions.append(_build_remove(add))
    return encode_lines(actions)


def _build_remove(add: Add) -> Remove:
    return Remove(
        path=add.path,
        data_change=True,
        deletion_timestamp=now_ms(),
        extended_file_metadata=True,
        partition_values=add.partition_values,
        size=add.size,
    )


def read_true_state(table: Path) -> Any:
    """Return the state that the commits define, without any checkpoint."""
    reader = LogReader(str(table))
    reader.entries = {name: entry for name, entry in reader.entries.items() if "checkpoint" not in name}
    return reader.read_state()


def build_true_checkpoint(table: Path, scratch: Path) -> dict[str, bytes]:
    """Return a correct checkpoint of the latest version, and its hint, by name."""
    state = read_true_state(table)
    (scratch / LOG_DIRECTORY).mkdir(parents=True)
    CheckpointWriter(str(scratch)).write_checkpoint(state.snapshot, "v1")
    found = {path.name: path.read_bytes() for path in (scratch / LOG_DIRECTORY).iterdir()}
    shutil.rmtree(scratch)
    return found


def write_plan(
    folder: Path,
    location: str,
    *,
    repairs: Sequence[Repair],
    commit: bytes | None = None,
    writes: Mapping[str, bytes] | None = None,
    set_aside: Sequence[str] = (),
    level: str = "rows",
    **changes: Any,
) -> RepairPlan:
    """Write a plan folder with the true verdicts of a table and its overlay; `changes` replaces fields of the plan."""
    store = open_store(location)
    listed = store.list_log()
    version = max(int(entry.name[:20]) for entry in listed if entry.name.endswith(".json") and entry.name[0].isdigit())
    new = dict(writes or {}) | ({} if commit is None else {commit_name(version + 1): commit})
    created_ms = now_ms()
    options = Options.create(level=level, samples=MAX_FINDINGS)
    plan = RepairPlan(
        deltaspec="test",
        table=location,
        table_id=_read_id(store),
        version=version,
        listing=digest_listing(listed),
        created_ms=created_ms,
        commit=None if commit is None else describe_file(commit_name(version + 1), commit),
        writes=[describe_file(name, data) for name, data in (writes or {}).items()],
        set_aside=[describe_file(name, store.read(f"{LOG_DIRECTORY}/{name}", 1 << 30)) for name in set_aside],
        repairs=list(repairs),
        before=summarize(validate_store(store, options)),
        after=summarize(validate_store(OverlayStore(store, new, set_aside, created_ms), options)),
        rows=RowComparison(equal_files=1, different_files=[]),
    )
    plan = msgspec.structs.replace(plan, **changes)
    (folder / "files").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    for name, data in new.items():
        (folder / "files" / name).parent.mkdir(exist_ok=True)
        (folder / "files" / name).write_bytes(data)
    (folder / "plan.json").write_bytes(msgspec.json.encode(plan))
    return plan


def write_plan_for_damaged_table(folder: Path, table: Path, location: str | None = None, **changes: Any) -> RepairPlan:
    """Write the plan for the table of `write_damaged_table`, which may have been copied to another location."""
    checkpoint = classic_checkpoint_name(2)
    repairs = [
        Repair(kind="remove-file", rules=["DAT001"], summary="Remove a missing file.", files=[LOST], effect="lost"),
        Repair(
            kind="set-aside-derived-file",
            rules=["CKP030"],
            summary="Set aside a wrong checkpoint.",
            files=[checkpoint],
            effect="none",
        ),
    ]
    given: dict[str, Any] = {
        "repairs": repairs,
        "commit": build_lost_file_commit(table, LOST),
        "writes": build_true_checkpoint(table, folder.with_name("scratch")),
        "set_aside": [HINT, checkpoint],
    }
    return write_plan(folder, location or str(table), **{**given, **changes})


def describe_file(name: str, data: bytes) -> LogFileDigest:
    return LogFileDigest(name, len(data), sha256(data).hexdigest())


def _read_id(store: Store) -> str:
    for line in store.read(f"{LOG_DIRECTORY}/{commit_name(0)}", 1 << 20).splitlines():
        action = msgspec.json.decode(line)
        if "metaData" in action:
            return str(action["metaData"]["id"])
    raise AssertionError("commit 0 has no metadata")


def now_ms() -> int:
    return time.time_ns() // 1_000_000
