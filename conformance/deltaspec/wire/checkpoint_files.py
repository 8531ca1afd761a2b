"""A checkpoint of any naming as one stream of actions: JSON or Parquet, one part or many, sidecars behind it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltaspec.model import paths
from deltaspec.model.actions import CheckpointMetadata, Sidecar, Wire
from deltaspec.model.revisions import Revision
from deltaspec.model.segment import Checkpoint
from deltaspec.wire.checkpoint_contents import FileContents, of_json, of_parquet
from deltaspec.wire.form import LineFault
from deltaspec.wire.log_lines import MAX_LINE_BYTES, LogFile, read_line_stream
from deltaspec.wire.parquet_rows import (
    FILE_KINDS,
    TableRows,
    UnreadableParquet,
    file_batches,
    open_parquet,
    table_rows,
)
from deltaspec.wire.storage import LOG, StorageError, Store, open_in_order, read_lines


@dataclass
class FileRun:
    """A run of file actions of one file."""

    source: str
    """`checkpoint` or `sidecar`."""
    file: str
    """Relative to the table."""
    table: pa.Table
    """Columns of `FILE_ROWS`."""


@dataclass
class SidecarRead:
    """A sidecar action, and what was found of the file it names."""

    file: str
    line: int
    action: Sidecar
    name: str | None
    """Name within `_sidecars`; None for a path that leads elsewhere."""
    actual_size: int | None = None
    """None for a file that is not listed."""
    unreadable: str | None = None
    other_actions: list[str] = field(default_factory=list)


@dataclass
class CheckpointRead:
    """What a checkpoint holds; the counts are complete once `runs` has been read to its end."""

    checkpoint: Checkpoint
    revision: Revision = Revision.CURRENT
    """The text it is read by."""
    actions: list[tuple[str, int, Wire]] = field(default_factory=list)
    """Actions that are no file actions: file, line or row, action."""
    faults: list[tuple[str, int, LineFault]] = field(default_factory=list)
    json_lines: list[tuple[str, LogFile]] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    """Actions by kind, sidecars left out."""
    unreadable: str | None = None
    not_read: str | None = None
    """Why storage did not give a part: no fault of the table."""
    rows_without_action: int = 0
    rows_with_several_actions: int = 0
    misplaced_files: int | None = None
    """File actions that stand in another part than their hash says; told by whoever reads the runs of several parts."""
    split_paths: int | None = None
    """Paths whose actions stand in several parts; told by the same."""
    sidecars: list[SidecarRead] = field(default_factory=list)
    actions_in_sidecars: int = 0
    adds_in_sidecars: int = 0
    parquet: list[tuple[str, TableRows]] = field(default_factory=list)
    contents: list[FileContents] = field(default_factory=list)
    """What else its files hold, sidecars among them; complete once `runs` has been read to its end."""

    @property
    def is_whole(self) -> bool:
        """Every part and sidecar could be read."""
        broken = any(each.unreadable or each.actual_size is None for each in self.sidecars)
        return self.unreadable is None and self.not_read is None and not broken

    @property
    def is_v2(self) -> bool:
        """It holds actions that only V2 content has."""
        return bool(self.kinds.get("checkpointMetadata") or self.kinds.get("sidecar"))

    @property
    def metadata_version(self) -> int | None:
        """Version that its checkpointMetadata claims."""
        return next((a.version for _, _, a in self.actions if isinstance(a, CheckpointMetadata)), None)


def read_checkpoint(
    store: Store, checkpoint: Checkpoint, sizes: dict[str, int], revision: Revision = Revision.CURRENT
) -> CheckpointRead:
    """Read all of a checkpoint but its file actions, which `runs` gives.

    Args:
        store: the table.
        checkpoint: its parts.
        sizes: length of every listed file, by name relative to `_delta_log`.
        revision: the text it is read by.
    """
    read = CheckpointRead(checkpoint, revision)
    sources = open_in_order(store, (f"{LOG}/{name}" for name in checkpoint.files if name.endswith(".parquet")))
    for name in checkpoint.files:
        file = f"{LOG}/{name}"
        try:
            if name.endswith(".json"):
                _read_json(read, store, file)
            else:
                parquet = open_parquet(_given(next(sources)))
                rows = table_rows(parquet, revision)
                read.parquet.append((name, rows))
                read.actions += [(file, line, action) for line, action in rows.actions]
                read.faults += [(file, line, fault) for line, fault in rows.faults.items()]
                _count(read.kinds, rows.kinds)
                read.rows_without_action += rows.rows_without_action
                read.rows_with_several_actions += rows.rows_with_several_actions
        except UnreadableParquet as fault:
            read.unreadable = read.unreadable or f"{name}: {fault}"
        except StorageError as fault:
            read.not_read = read.not_read or str(fault)
    for file, line, action in read.actions:
        if isinstance(action, Sidecar):
            name_in = sidecar_name(action.path, store.root)
            size = sizes.get(f"_sidecars/{name_in}") if name_in else None
            read.sidecars.append(SidecarRead(file, line, action, name_in, size))
    return read


def runs(store: Store, read: CheckpointRead) -> Iterator[FileRun]:
    """The file actions of a checkpoint, in batches; faults met on the way are noted in `read`."""
    for file, log in read.json_lines:
        read.contents.append(of_json(file, log))
        yield FileRun("checkpoint", file, log.files.table())
    sources = open_in_order(store, [f"{LOG}/{name}" for name, _ in read.parquet])
    for (name, others), source in zip(read.parquet, sources, strict=True):
        file = f"{LOG}/{name}"
        try:
            parquet = open_parquet(_given(source))
            read.contents.append(of_parquet("checkpoint", file, source))
            for table in file_batches(parquet, others, read.contents[-1]):
                yield FileRun("checkpoint", file, table)
        except UnreadableParquet as fault:
            _forget(read, file)
            read.unreadable = read.unreadable or f"{name}: {fault}"
        except StorageError as fault:
            _forget(read, file)
            read.not_read = read.not_read or str(fault)
    sidecars = [each for each in read.sidecars if each.name is not None and each.actual_size is not None]
    sources = open_in_order(store, [f"{LOG}/_sidecars/{each.name}" for each in sidecars])
    for sidecar, source in zip(sidecars, sources, strict=True):
        yield from _sidecar_runs(read, sidecar, source)


def _given(source: Any | StorageError) -> Any:
    if isinstance(source, StorageError):
        raise source
    return source


def _sidecar_runs(read: CheckpointRead, sidecar: SidecarRead, source: Any | StorageError) -> Iterator[FileRun]:
    file = f"{LOG}/_sidecars/{sidecar.name}"
    try:
        parquet = open_parquet(_given(source))
        others = table_rows(parquet, read.revision)
        if parquet.metadata.num_rows and not set(FILE_KINDS) & set(parquet.schema_arrow.names):
            raise UnreadableParquet("it has neither a column add nor a column remove")
        sidecar.other_actions = sorted(others.kinds.keys() - set(FILE_KINDS))
        read.actions_in_sidecars += sum(others.kinds.values())
        read.adds_in_sidecars += others.kinds.get("add", 0)
        read.contents.append(of_parquet("sidecar", file, source))
        for table in file_batches(parquet, others, read.contents[-1]):
            yield FileRun("sidecar", file, table)
    except UnreadableParquet as fault:
        _forget(read, file)
        sidecar.unreadable = str(fault)
    except StorageError as fault:
        _forget(read, file)
        read.not_read = read.not_read or str(fault)


def _forget(read: CheckpointRead, file: str) -> None:
    """What a file holds is not judged where a part of it cannot be read."""
    read.contents = [each for each in read.contents if each.file != file]


def _read_json(read: CheckpointRead, store: Store, file: str) -> None:
    log = read_line_stream(read_lines(store, file, MAX_LINE_BYTES), read.revision)
    read.json_lines.append((file, log))
    read.actions += [(file, line, action) for line, action in log.actions]
    for kind in log.kinds:
        if kind is not None:
            read.kinds[kind] = read.kinds.get(kind, 0) + 1
    read.rows_without_action += sum(fault.actions == 0 and not fault.is_blank for fault in log.faults.values())
    for reason in list(log.unread.values())[:1]:
        read.not_read = f"{file}: {reason}"


def sidecar_name(path: str, table_root: str | None) -> str | None:
    """The name within `_sidecars` that the path of a sidecar action leads to; None where it leads elsewhere."""
    key = paths.path_key(path, table_root)
    name = key.removeprefix(f"{LOG}/_sidecars/")
    return name if name and "/" not in name else None


def _count(total: dict[str, int], more: dict[str, int]) -> None:
    for kind, number in more.items():
        total[kind] = total.get(kind, 0) + number
