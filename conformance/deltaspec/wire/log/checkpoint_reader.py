"""Read checkpoints of every naming scheme, JSON or Parquet, with all parts and sidecars, as one stream of actions."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.errors import DeltaspecError
from deltaspec.protocol.actions import CheckpointMetadata, Sidecar, WireStruct
from deltaspec.protocol.files import paths
from deltaspec.protocol.log.segment import Checkpoint
from deltaspec.protocol.revisions import Revision
from deltaspec.wire.log.checkpoint_summary import (
    CheckpointFileSummary,
    compute_footer_checksum,
    start_parquet_summary,
    summarize_json_checkpoint,
)
from deltaspec.wire.log.line_decoder import MAX_LINE_BYTES, LogFile, decode_line_stream
from deltaspec.wire.log.line_validation import LineError
from deltaspec.wire.log.parquet_actions import (
    FILE_ACTION_KINDS,
    NonFileActions,
    UnreadableParquet,
    iter_file_action_tables,
    open_parquet,
    read_non_file_actions,
)
from deltaspec.wire.log.row_slices import RowSlice
from deltaspec.wire.log.stats_parsed import TypedColumns
from deltaspec.wire.parquet.footer_reader import UnsupportedFooter
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import prefetch_handles, read_lines

_KINDS_WITH_FILES = {"add", "remove", "sidecar"}
"""Kinds of actions that are file actions, or lead to some."""


class FileActionBatch(msgspec.Struct):
    """Consecutive file actions of one file."""

    source: str
    """`checkpoint` or `sidecar`."""
    file: str
    """Path relative to the table."""
    table: pa.Table
    """Columns of `FILE_ACTION_SCHEMA`."""
    typed: TypedColumns | None = None
    """Typed columns of the adds; None if the file has none."""


class SidecarFile(msgspec.Struct):
    """A sidecar action, and the state of its file."""

    file: str
    line: int
    action: Sidecar
    name: str | None
    """Name within `_sidecars`; None for a path outside of it."""
    actual_size: int | None = None
    """None for a file that is not listed."""
    unreadable: str | None = None
    storage_error: str | None = None
    """Why the file could not be read from storage, so that its listed size may be wrong."""
    unexpected_actions: list[str] = msgspec.field(default_factory=list)


class ParsedCheckpoint(msgspec.Struct):
    """Contents of a checkpoint. Counts are complete after `iter_file_action_batches` is exhausted."""

    checkpoint: Checkpoint
    revision: Revision = Revision.CURRENT
    """Protocol revision for decoding."""
    actions: list[tuple[str, int, WireStruct]] = msgspec.field(default_factory=list)
    """Actions other than file actions: file, line or row, action."""
    faults: list[tuple[str, int, LineError]] = msgspec.field(default_factory=list)
    """File, row and defect of the Parquet rows whose actions cannot be decoded."""
    undecoded_kinds: set[str | None] = msgspec.field(default_factory=set)
    """Kinds of the actions that cannot be decoded; None stands for a JSON line of unknown kind."""
    json_lines: list[tuple[str, LogFile]] = msgspec.field(default_factory=list)
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    """Number of actions by kind, without those in sidecars."""
    unreadable: str | None = None
    storage_error: str | None = None
    """Why a part could not be read from storage; this is not a defect of the table."""
    was_deleted_while_read: bool = False
    """The checkpoint was deleted while it was read, so its sidecars may be deleted too."""
    rows_without_action: int = 0
    rows_without_known_action: int = 0
    """Rows and JSON lines without an action that the revision defines, which may have another one."""
    rows_with_several_actions: int = 0
    misplaced_files: int | None = None
    """File actions in another part than their hash requires; set by the reader of multi-part checkpoints."""
    split_paths: int | None = None
    """Paths with actions in several parts; set by the same reader."""
    sidecars: list[SidecarFile] = msgspec.field(default_factory=list)
    actions_in_sidecars: int = 0
    adds_in_sidecars: int = 0
    parquet: list[tuple[str, NonFileActions]] = msgspec.field(default_factory=list)
    contents: list[CheckpointFileSummary] = msgspec.field(default_factory=list)
    """Summaries of its files and sidecars; complete after `iter_file_action_batches` is exhausted."""

    @property
    def unread_reason(self) -> str | None:
        """Why some actions of unknown kind could not be read; None if all could be read or have a known kind."""
        if self.unreadable is not None or self.storage_error is not None:
            return self.storage_error or self.unreadable
        return "a line of the checkpoint cannot be decoded" if None in self.undecoded_kinds else None

    @property
    def incomplete_reason(self) -> str | None:
        """Why some of its file actions are not known; None if all are."""
        if self.unread_reason is not None:
            return self.unread_reason
        if self.undecoded_kinds & _KINDS_WITH_FILES:
            return "a file action of the checkpoint cannot be decoded"
        broken = next((each for each in self.sidecars if each.unreadable or each.actual_size is None), None)
        if broken is None:
            return None
        return f"the sidecar {broken.action.path} {'cannot be read' if broken.unreadable else 'is not listed'}"

    @property
    def is_complete(self) -> bool:
        """Whether all its file actions are known."""
        return self.incomplete_reason is None

    @property
    def bytes_in_sidecars(self) -> int:
        """Size of the listed sidecars in bytes."""
        return sum({each.name: each.actual_size or 0 for each in self.sidecars}.values())

    @property
    def is_v2(self) -> bool:
        """Whether it has actions that only V2 checkpoints have."""
        return bool(self.kinds.get("checkpointMetadata") or self.kinds.get("sidecar"))

    @property
    def metadata_version(self) -> int | None:
        """Version in its checkpointMetadata action; None without one."""
        return next((a.version for _, _, a in self.actions if isinstance(a, CheckpointMetadata)), None)

    def without_actions(self) -> "ParsedCheckpoint":
        """Return the counts and files of the checkpoint, which take little memory."""
        return replace(self, actions=[], faults=[], json_lines=[], parquet=[])

    def take(self, other: "ParsedCheckpoint") -> None:
        """Add the contents of another file of the checkpoint."""
        self.actions += other.actions
        self.faults += other.faults
        self.undecoded_kinds |= other.undecoded_kinds
        self.json_lines += other.json_lines
        self.parquet += other.parquet
        _count(self.kinds, other.kinds)
        self.unreadable = self.unreadable or other.unreadable
        self.storage_error = self.storage_error or other.storage_error
        self.rows_without_action += other.rows_without_action
        self.rows_without_known_action += other.rows_without_known_action
        self.rows_with_several_actions += other.rows_with_several_actions

    def find_sidecars(self, table_root: str | None, sizes: dict[str, int]) -> None:
        """Resolve its sidecar actions to listed files; call this after all files were added."""
        for file, line, action in self.actions:
            if isinstance(action, Sidecar):
                name_in = sidecar_name(action.path, table_root)
                size = sizes.get(f"_sidecars/{name_in}") if name_in else None
                self.sidecars.append(SidecarFile(file, line, action, name_in, size))

    def add_part(self, part: "CheckpointPart", found: "PartSummary") -> None:
        """Add the summary of the file actions of one file; call this in the order of `list_parts`."""
        if found.contents is not None:
            self.contents.append(found.contents)
        self.storage_error = self.storage_error or found.storage_error
        self.actions_in_sidecars += found.actions
        self.adds_in_sidecars += found.adds
        if part.sidecar is None:
            self.unreadable = self.unreadable or (found.unreadable and f"{part.name}: {found.unreadable}")
        else:
            sidecar = self.sidecars[part.sidecar]
            sidecar.unexpected_actions, sidecar.unreadable = found.unexpected_actions, found.unreadable
            sidecar.storage_error = found.storage_error


def read_checkpoint(
    store: Store, checkpoint: Checkpoint, sizes: dict[str, int], revision: Revision = Revision.CURRENT
) -> ParsedCheckpoint:
    """Read a checkpoint except for its file actions, which `iter_file_action_batches` reads.

    Args:
        store: storage of the table.
        checkpoint: the checkpoint.
        sizes: name relative to `_delta_log` -> length of every listed file.
        revision: protocol revision for decoding.
    """
    read = ParsedCheckpoint(checkpoint, revision)
    sources = prefetch_handles(
        store, (f"{LOG_DIRECTORY}/{name}" for name in checkpoint.files if name.endswith(".parquet"))
    )
    for name in checkpoint.files:
        read.take(
            read_part_actions(store, checkpoint, name, revision, next(sources) if name.endswith(".parquet") else None)
        )
    complete_actions(store, read, sizes)
    return read


def complete_actions(store: Store, read: ParsedCheckpoint, sizes: dict[str, int]) -> None:
    """Complete a checkpoint after all its files were added: resolve its sidecar actions to listed files.

    A checkpoint without any action is unreadable. If a sidecar is not listed, the log is listed again. The sidecar may
    have been written during the listing, or log cleanup may have deleted it with its checkpoint, which is deleted
    first.

    Args:
        store: storage of the table.
        read: the checkpoint.
        sizes: name relative to `_delta_log` -> length of every listed file.
    """
    if not read.kinds and read.unread_reason is None:
        read.unreadable = f"{read.checkpoint.files[0]}: it has no action"
    read.find_sidecars(store.root, sizes)
    missing = [each for each in read.sidecars if each.name is not None and each.actual_size is None]
    if not missing:
        return
    try:
        now = {entry.name: entry.size_bytes for entry in store.list_log()}
    except DeltaspecError as fault:
        read.was_deleted_while_read, read.storage_error = True, read.storage_error or str(fault)
        return
    gone = next((name for name in read.checkpoint.files if name not in now), None)
    if gone is not None:
        read.was_deleted_while_read, read.storage_error = (
            True,
            read.storage_error or f"{LOG_DIRECTORY}/{gone}: was deleted while it was read",
        )
    for each in missing:
        each.actual_size = now.get(f"_sidecars/{each.name}")


def read_part_actions(
    store: Store, checkpoint: Checkpoint, name: str, revision: Revision, source: Any | StorageError = None
) -> ParsedCheckpoint:
    """Read the actions of one file of a checkpoint, except for file actions and the contents of sidecars.

    Args:
        store: storage of the table.
        checkpoint: the checkpoint.
        name: name of the file.
        revision: protocol revision for decoding.
        source: the open file, or the error of opening it; None opens it here.
    """
    read, file = ParsedCheckpoint(checkpoint, revision), f"{LOG_DIRECTORY}/{name}"
    try:
        if name.endswith(".json"):
            _read_json(read, store, file)
        else:
            handle = _unwrap(source or store.open_seekable(file))
            rows = read_non_file_actions(open_parquet(handle), revision)
            rows.footer_checksum = compute_footer_checksum(handle)
            read.parquet.append((name, rows))
            read.actions += [(file, line, action) for line, action in rows.actions]
            read.faults += [(file, line, fault) for line, fault in rows.faults.items()]
            read.undecoded_kinds |= {fault.kind for fault in rows.faults.values()}
            _count(read.kinds, rows.kinds)
            read.rows_without_action += rows.rows_without_action
            read.rows_without_known_action += rows.rows_without_known_action
            read.rows_with_several_actions += rows.rows_with_several_actions
    except UnreadableParquet as fault:
        read.unreadable = f"{name}: {fault}"
    except UnsupportedFooter as fault:
        read.storage_error = f"{name}: {fault}"
    except StorageError as fault:
        read.storage_error = str(fault)
    return read


class CheckpointPart(msgspec.Struct, frozen=True):
    """A file of a checkpoint with file actions."""

    name: str
    """Path relative to `_delta_log`."""
    rows: NonFileActions | None = None
    """Other actions of a Parquet file of the checkpoint itself; None for a JSON file or a sidecar."""
    checksum: int | None = None
    """CRC-32 of the lines or the footer when the other actions were read; None if it is not known."""
    sidecar: int | None = None
    """Index of the sidecar in the checkpoint; None for a file of the checkpoint itself."""

    @property
    def file(self) -> str:
        """Path relative to the table."""
        return f"{LOG_DIRECTORY}/{self.name}"


class PartSummary(msgspec.Struct):
    """Findings about a `CheckpointPart`; complete after its batches are exhausted."""

    contents: CheckpointFileSummary | None = None
    unreadable: str | None = None
    storage_error: str | None = None
    unexpected_actions: list[str] = msgspec.field(default_factory=list)
    actions: int = 0
    adds: int = 0
    checksum: int | None = None
    """CRC-32 of the footer of a Parquet file; None if it is not known."""

    def take(self, other: "PartSummary") -> None:
        """Add the summary of another slice of the same file. Both were read completely, with the same footer."""
        if self.contents is not None and other.contents is not None:
            self.contents.add_counts(other.contents)


def list_parts(read: ParsedCheckpoint) -> list[CheckpointPart]:
    """Return the readable files with file actions: the files of the checkpoint, then its sidecars, each once."""
    parts = [
        CheckpointPart(file.removeprefix(f"{LOG_DIRECTORY}/"), checksum=log.checksum) for file, log in read.json_lines
    ]
    parts += [CheckpointPart(name, rows, rows.footer_checksum) for name, rows in read.parquet]
    names: set[str] = set()
    for number, each in enumerate(read.sidecars):
        if each.name is not None and each.actual_size is not None and each.name not in names:
            names.add(each.name)
            parts.append(CheckpointPart(f"_sidecars/{each.name}", sidecar=number))
    return parts


def iter_file_action_batches(store: Store, read: ParsedCheckpoint, *, compared: bool) -> Iterator[FileActionBatch]:
    """Yield the file actions of a checkpoint in batches; defects and errors are recorded in `read`.

    `compared` is an argument of `iter_file_action_tables`.
    """
    parts, json_lines = list_parts(read), dict(read.json_lines)
    sources = prefetch_handles(store, [part.file for part in parts if part.file not in json_lines])
    for part in parts:
        found = PartSummary()
        source = json_lines.get(part.file) or next(sources)
        yield from iter_part_batches(part, source, found, read.revision, compared=compared)
        read.add_part(part, found)


def iter_part_batches(
    part: CheckpointPart,
    source: LogFile | Any | StorageError,
    found: PartSummary,
    revision: Revision,
    *,
    compared: bool,
    rows_of: RowSlice = RowSlice(),  # noqa: B008 - it is immutable
) -> Iterator[FileActionBatch]:
    """Yield the file actions of one file of a checkpoint in batches; none if the file has changed.

    Args:
        part: the file.
        source: the decoded file if it has JSON lines, else an open handle, or the error of opening it.
        found: filled during iteration.
        revision: protocol revision for decoding.
        compared: as in `iter_file_action_tables`.
        rows_of: the rows of a Parquet file to read.
    """
    if isinstance(source, LogFile):
        if source.checksum != part.checksum:
            found.storage_error = _describe_change(part)
            return
        found.contents = summarize_json_checkpoint(part.file, source)
        yield FileActionBatch("checkpoint", part.file, source.files.table())
        return
    kind = "checkpoint" if part.sidecar is None else "sidecar"
    try:
        source = _unwrap(source)
        found.checksum = compute_footer_checksum(source)
        if part.checksum not in (None, found.checksum):
            raise StorageError(_describe_change(part))
        parquet = open_parquet(source)
        rows = part.rows if part.rows is not None else _read_sidecar_actions(parquet, found, revision)
        found.contents = start_parquet_summary(kind, part.file, source)
        for table, typed in iter_file_action_tables(
            parquet, rows, found.contents, revision, compared=compared, part=rows_of
        ):
            yield FileActionBatch(kind, part.file, table, typed)
    except UnreadableParquet as fault:
        found.contents, found.unreadable = None, str(fault)
    except UnsupportedFooter as fault:
        found.contents, found.storage_error = None, f"{part.name}: {fault}"
    except StorageError as fault:
        found.contents, found.storage_error = None, str(fault)


def _describe_change(part: CheckpointPart) -> str:
    return f"{part.file}: changed while the run was reading it"


def _read_sidecar_actions(parquet: Any, found: PartSummary, revision: Revision) -> NonFileActions:
    others = read_non_file_actions(parquet, revision)
    if parquet.metadata.num_rows and not set(FILE_ACTION_KINDS) & set(parquet.schema_arrow.names):
        raise UnreadableParquet("it has neither a column add nor a column remove")
    found.unexpected_actions = sorted(others.kinds.keys() - set(FILE_ACTION_KINDS))
    found.actions, found.adds = sum(others.kinds.values()), others.kinds.get("add", 0)
    return others


def _unwrap(source: Any | StorageError) -> Any:
    if isinstance(source, StorageError):
        raise source
    return source


def _read_json(read: ParsedCheckpoint, store: Store, file: str) -> None:
    log = decode_line_stream(read_lines(store, file, MAX_LINE_BYTES), read.revision)
    read.json_lines.append((file, log))
    read.actions += [(file, line, action) for line, action in log.actions]
    read.undecoded_kinds |= log.lines.summary().undecoded_kinds
    for (kind, fault), number in log.lines.counts():
        if kind is not None:
            read.kinds[kind] = read.kinds.get(kind, 0) + number
        elif fault is None or not fault.is_blank:
            read.rows_without_known_action += number
        if fault is not None and fault.actions == 0 and not fault.is_blank:
            read.rows_without_action += number
    for reason in list(log.unread.values())[:1]:
        read.storage_error = f"{file}: {reason}"


def sidecar_name(path: str, table_root: str | None) -> str | None:
    """Return the name within `_sidecars` for the path of a sidecar action; None if it is outside of it."""
    key = paths.path_key(path, table_root)
    name = key.removeprefix(f"{LOG_DIRECTORY}/_sidecars/")
    return name if name and "/" not in name else None


def _count(total: dict[str, int], more: dict[str, int]) -> None:
    for kind, number in more.items():
        total[kind] = total.get(kind, 0) + number
