"""Defects that make a drawn table one that no reader may read.

A defect applies only where it certainly prevents reading: a missing commit, for example, where nothing replaces it.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from deltaspec.candidates.messages import DAMAGED, DAMAGED_LOG, UNSUPPORTED, AcceptedErrors
from deltaspec.protocol.files import paths
from deltaspec_generators.action_lines import Line
from deltaspec_generators.table_files import LOG, TableFiles, protocol_action
from deltaspec_generators.tables.readable import ReadableTable

Damage: TypeAlias = Callable[[TableFiles], None]
"""Damages the files of a table in place."""
_UNKNOWN = ("deltaspecUnknownFeature",)


class DrawnDefect(msgspec.Struct, frozen=True):
    """A way to make a drawn table unreadable."""

    name: str
    requirement: str
    text: str
    """Difference to the sound table, as a clause."""
    accepted: AcceptedErrors
    """Errors with which a reader must refuse the table."""
    plan: Callable[[ReadableTable], Damage | None]
    """Return how to damage a table; None if a reader may still read it afterwards."""


def _must_read(table: ReadableTable, version: int) -> bool:
    """Return whether every reader of the newest version must read the commit of a version."""
    is_in_checkpoint = any(each.version >= version for each in table.files.checkpoints)
    return not is_in_checkpoint and not any(first <= version <= last for first, last in table.files.compactions)


def _has_file_action(line: Line) -> bool:
    return isinstance(line, dict) and bool({"add", "remove"} & line.keys())


def _plan_missing_commit(table: ReadableTable) -> Damage | None:
    if max(table.files.commits) < 2 or not _must_read(table, 1):
        return None

    def damage(files: TableFiles) -> None:
        del files.commits[1]
        files.checksums.pop(1, None)

    return damage


def _plan_cut_commit(table: ReadableTable) -> Damage | None:
    newest = max(table.files.commits)
    actions = [number for number, line in enumerate(table.files.commits[newest]) if _has_file_action(line)]
    if not actions or not _must_read(table, newest):
        return None

    def damage(files: TableFiles) -> None:
        cut = '{"add":{"path":"cut-off.parquet","partitionValues":{},"size":1,"modif'
        files.commits[newest] = [*files.commits[newest][: actions[-1]], cut]
        files.checksums.pop(newest, None)

    return damage


def _plan_unknown_feature(table: ReadableTable) -> Damage | None:
    newest = max(table.files.commits)
    if not _must_read(table, newest):
        return None

    def damage(files: TableFiles) -> None:
        kept = [line for line in files.commits[newest] if not (isinstance(line, dict) and "protocol" in line)]
        files.commits[newest] = [*kept, protocol_action(3, 7, _UNKNOWN, _UNKNOWN)]
        files.checksums.pop(newest, None)

    return damage


def _plan_missing_file(table: ReadableTable) -> Damage | None:
    name = _find_needed_file(table)
    return None if name is None else lambda files: files.missing.add(name)


def _plan_cut_file(table: ReadableTable) -> Damage | None:
    name = _find_needed_file(table)
    data = None if name is None else table.files.data[name]
    if not isinstance(name, str) or not isinstance(data, bytes):
        return None

    def damage(files: TableFiles) -> None:
        files.data[name] = data[: len(data) // 2]

    return damage


def _find_needed_file(table: ReadableTable) -> str | None:
    """Return a file of which every reader of the newest version needs rows."""
    for body in table.versions[-1].state.live.values():
        name = paths.decode(body["path"])
        is_empty = '"numRecords":0' in (body.get("stats") or "").replace(" ", "")
        if name in table.files.data and not body.get("deletionVector") and not is_empty:
            return name
    return None


def _plan_missing_checkpoints(table: ReadableTable) -> Damage | None:
    if not table.files.checkpoints or min(table.files.commits) == 0:
        return None
    names = [LOG + name for checkpoint in table.files.checkpoints for name in checkpoint.names]
    return lambda files: files.missing.update(names)


DRAWN_DEFECTS = (
    DrawnDefect("commit-missing", "log.versions-contiguous", "commit 1 is missing", DAMAGED_LOG, _plan_missing_commit),
    DrawnDefect(
        "commit-cut-off", "log.commit-lines", "the newest commit ends within a line", DAMAGED_LOG, _plan_cut_commit
    ),
    DrawnDefect(
        "unknown-feature",
        "table-features.reader-supports-all",
        "the newest commit adds an unknown reader feature",
        UNSUPPORTED,
        _plan_unknown_feature,
    ),
    DrawnDefect("file-missing", "add.file-exists", "a live data file is missing", DAMAGED, _plan_missing_file),
    DrawnDefect("file-cut-off", "parquet.format", "a live data file is cut off", DAMAGED, _plan_cut_file),
    DrawnDefect(
        "checkpoints-missing",
        "log.versions-contiguous",
        "all checkpoints are missing, and so are the commits before them",
        DAMAGED_LOG,
        _plan_missing_checkpoints,
    ),
)
"""Defects of drawn tables."""
