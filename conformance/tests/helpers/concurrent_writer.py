"""A table whose writer goes on while it is read: a storage hook, and the writer that it wakes.

Between the listing of the log, which pins the version that is judged, and every later call of the store the writer may
go a step further: a commit, a checkpoint, a version checksum, a compaction, another hint, a vacuum or a clean-up of the
log. Its steps are files, so that a reader meets a vacuum that is half done.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

from hypothesis import strategies as st

from deltaspec.model.actions import DeletionVectorDescriptor
from deltaspec.model.json_values import parse_lossless
from deltaspec.model.log import canonical_json, file_names, paths
from deltaspec.model.rows import deletion_vectors
from deltaspec.wire.storage.block_reader import BlockReader
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.action_lines import Line, encode_json, encode_lines
from deltaspec_generators.checkpoint_writer import encode_checkpoint
from deltaspec_generators.logs import log_directory
from deltaspec_generators.logs.file_actions import build_uuid
from deltaspec_generators.logs.state import Body, TableState
from deltaspec_generators.table_files import CheckpointFiles, SidecarFile, TableFiles, write_table

OPERATIONS = ("commit", "checkpoint", "checksum", "compaction", "hint", "vacuum", "clean up")


class Writer(Protocol):
    """Whoever changes the table."""

    def begin(self, operation: str) -> Iterator[None]:
        """The steps of an operation, each of which leaves the table in a state that others may see."""
        ...


@dataclass(frozen=True)
class ScheduledOperation:
    """An operation of the writer, and when it comes."""

    operation: str
    calls_before: int
    """Calls of the store that pass before it begins, after the one before it has ended."""
    steps_per_call: int
    """Steps made before one call."""


@dataclass
class Schedule:
    """What the writer does, and how far it has come. Threads may ask for the next step."""

    writer: Writer
    scheduled_operations: list[ScheduledOperation]
    started_operations: list[str] = field(default_factory=list)
    """Operations that have begun."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._coming = iter(self.scheduled_operations)
        self._move = next(self._coming, None)
        self._waited = 0
        self._steps: Iterator[None] | None = None

    def advance(self) -> None:
        """The table moves, if its time has come."""
        with self._lock:
            if self._move is None:
                return
            if self._steps is None:
                self._waited += 1
                if self._waited <= self._move.calls_before:
                    return
                self._steps = self.writer.begin(self._move.operation)
                self.started_operations.append(self._move.operation)
            for _ in range(self._move.steps_per_call):
                if next(self._steps, self) is self:
                    self._steps, self._waited = None, 0
                    self._move = next(self._coming, None)
                    return


class ConcurrentlyWrittenStore(LocalStore):
    """A directory that moves before every call but the first, which pins the log.

    As object stores do, files that are open are asked for again at every read: what is gone is gone.
    """

    def __init__(self, path: str, advance: Callable[[], None], *, is_remote: bool) -> None:
        super().__init__(path)
        self.is_remote = is_remote
        self._go_on = advance
        self._is_pinned = False

    def list_log(self) -> list[Entry]:
        if self._is_pinned:
            self._go_on()
        self._is_pinned = True
        return super().list_log()

    def list_files(self) -> Iterator[Entry | StorageError]:
        self._go_on()
        for entry in super().list_files():
            yield entry
            self._go_on()

    def read(self, path: str, limit: int) -> bytes:
        self._go_on()
        return super().read(path, limit)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        self._go_on()
        return super().read_range(path, start, length)

    def size(self, path: str) -> int:
        self._go_on()
        return super().size(path)

    def chunks(self, path: str) -> Iterator[bytes]:
        self._go_on()
        yield from super().chunks(path)

    def open_seekable(self, path: str) -> Any:
        self._go_on()
        if not self.is_remote:
            return super().open_seekable(path)
        return BlockReader(super().size(path), lambda start, end: self.read_range(path, start, end - start), block=1)


class InconsistentListingStore(ConcurrentlyWrittenStore):
    """A directory that also moves while its log is listed: what comes meanwhile may be left out, and what goes too."""

    def __init__(self, path: str, advance: Callable[[], None], order: random.Random) -> None:
        super().__init__(path, advance, is_remote=False)
        self._order = order

    def list_log(self) -> list[Entry]:
        found: list[Entry] = []
        seen: set[str] = set()
        for folder in ("", "_sidecars"):
            for first in (True, False):  # at its end, some of what came since
                names = [name for name in self._names(folder) if name not in seen]
                self._order.shuffle(names)
                for name in names if first else names[: self._order.randrange(len(names) + 1)]:
                    self._go_on()
                    seen.add(name)
                    found += self._entry(name)
        return sorted(found, key=lambda entry: entry.name)

    def _names(self, folder: str) -> list[str]:
        root = Path(self._path) / LOG_DIRECTORY
        return sorted(str(file.relative_to(root)) for file in (root / folder).glob("*") if file.is_file())

    def _entry(self, name: str) -> list[Entry]:
        try:
            facts = (Path(self._path) / LOG_DIRECTORY / name).stat()
        except FileNotFoundError:
            return []
        return [Entry(name, facts.st_size, facts.st_mtime_ns // 1_000_000)]


class DrawnTableWriter:
    """Lays a drawn table down commit by commit, with all that belongs beside its commits, and takes away what it may.

    Everything is drawn beforehand: the store is asked by threads.
    """

    def __init__(self, draw: st.DrawFn, files: TableFiles, states: list[TableState], root: Path) -> None:
        self._files, self._states, self._root = files, states, root
        self._log = root / LOG_DIRECTORY
        self.version = -1
        """The newest version laid down."""
        commits = [[line for line in lines if isinstance(line, dict)] for _, lines in sorted(files.commits.items())]
        drafted = SimpleNamespace(
            draw=draw, commits=[[each for each in c if "commitInfo" not in each] for c in commits]
        )
        self._checkpoints = [_checkpoint(draw, state) for state in states]
        self._checksums: list[Body] = [log_directory.draw_checksum(drafted, state) for state in states]  # type: ignore[arg-type]
        self._compactions: dict[tuple[int, int], list[Line]] = {}
        if len(states) > 2:
            for end in range(2, len(states)):
                start = draw(st.integers(1, end - 1))
                self._compactions[start, end] = log_directory.build_compaction(drafted, start, end)  # type: ignore[arg-type]
        self._written: CheckpointFiles | None = None
        self._has_checksums = False
        self._log.mkdir(parents=True)

    def begin(self, operation: str) -> Iterator[None]:
        steps: dict[str, Callable[[], Iterator[None]]] = {
            "commit": self._commit,
            "checkpoint": self._checkpoint,
            "checksum": self._checksum,
            "compaction": self._compaction,
            "hint": self._hint,
            "vacuum": self._vacuum,
            "clean up": self._clean_up,
        }
        return steps[operation]()

    def run_operation(self, operation: str) -> None:
        """All steps of an operation."""
        for _ in self.begin(operation):
            pass

    def _put(self, path: str, data: bytes) -> None:
        """Write a file as writers do, who let nobody see half of it."""
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # beside the table, lest a listing names it
        half = self._root.parent / "half written"
        half.write_bytes(data)
        half.replace(target)

    def _commit(self) -> Iterator[None]:
        if self.version + 1 == len(self._states):
            return
        version = self.version + 1
        lines = self._files.commits[version]
        needed = {path for line in lines if isinstance(line, dict) for path in _named(line)}
        part = TableFiles(
            data={path: data for path, data in self._files.data.items() if path in needed},
            extra={path: data for path, data in self._files.extra.items() if path in needed},
        )
        for path in (*part.data, *part.extra):
            only = TableFiles(
                data={path: part.data[path]} if path in part.data else {},
                extra={path: part.extra[path]} if path in part.extra else {},
            )
            write_table(only, self._root)
            yield
        self.version = version
        self._put(f"{LOG_DIRECTORY}/{file_names.commit_name(version)}", encode_lines(lines))
        yield

    def _checkpoint(self) -> Iterator[None]:
        made = self._checkpoints[self.version]
        # the checkpoint itself comes when all it needs is there
        for name, data in sorted(encode_checkpoint(made).items(), key=lambda each: "_sidecars" not in each[0]):
            self._put(f"{LOG_DIRECTORY}/{name}", data)
            yield
        self._written = made

    def _hint(self) -> Iterator[None]:
        if self._written is None:
            return
        rows = [row for row in self._written.rows if isinstance(row, dict)]
        for sidecar in self._written.sidecars:
            rows += sidecar.rows
        listed = [self._log / name for name in self._written.names]
        hint: Body = {
            "version": self._written.version,
            "size": len(rows) + len(self._written.sidecars),
            "numOfAddFiles": sum("add" in row for row in rows),
        }
        if not self._written.sidecars:
            hint["sizeInBytes"] = sum(file.stat().st_size for file in listed)
        if self._written.naming == "multipart":
            hint["parts"] = self._written.parts
        hint["checksum"] = canonical_json.compute_checksum(parse_lossless(encode_json(hint)).value)
        self._put(f"{LOG_DIRECTORY}/_last_checkpoint", encode_json(hint).encode())
        yield

    def _checksum(self) -> Iterator[None]:
        """Of every commit that has none, in order: none between two that have one goes without."""
        for version in range(self.version + 1):
            name = file_names.checksum_name(version)
            if (self._log / file_names.commit_name(version)).exists() and not (self._log / name).exists():
                self._put(f"{LOG_DIRECTORY}/{name}", encode_json(self._checksums[version]).encode())
                yield

    def _compaction(self) -> Iterator[None]:
        for (start, end), lines in self._compactions.items():
            name = file_names.compaction_name(start, end)
            there = (self._log / file_names.commit_name(start)).exists()
            if there and end <= self.version and not (self._log / name).exists():
                self._put(f"{LOG_DIRECTORY}/{name}", encode_lines(lines))
                yield

    def _vacuum(self) -> Iterator[None]:
        """Everything that the newest version does not need, without a commit that says so."""
        kept = {path for body in self._states[self.version].live.values() for path in _named({"add": body})}
        for file in sorted(self._root.rglob("*")):
            name = file.relative_to(self._root).as_posix()
            if file.is_file() and not name.startswith(f"{LOG_DIRECTORY}/") and name not in kept:
                file.unlink()
                yield

    def _clean_up(self) -> Iterator[None]:
        """What is older than the newest checkpoint, and then the sidecars that no checkpoint needs any more."""
        if self._written is None:
            return
        needed = {f"_sidecars/{each.name}" for each in self._written.sidecars} | {"_last_checkpoint"}
        for file in sorted(self._log.iterdir()):
            if file.is_file() and file.name not in needed and _version_of(file.name) < self._written.version:
                file.unlink()
                yield
        for file in sorted((self._log / "_sidecars").glob("*")):
            if f"_sidecars/{file.name}" not in needed:
                file.unlink()
                yield


def _version_of(name: str) -> int:
    return int(name[:20]) if name[:20].isdigit() else 1 << 62


def _named(line: Body) -> set[str]:
    """The files that an action names, relative to the table."""
    found = set()
    for kind in ("add", "cdc"):
        body = line.get(kind)
        if body is None:
            continue
        found.add(paths.decode(body["path"]))
        vector = body.get("deletionVector")
        if vector is not None and vector["storageType"] == "u":
            descriptor = DeletionVectorDescriptor("u", vector["pathOrInlineDv"], 0, 0)
            found.add(deletion_vectors.build_relative_path(descriptor))
    return found


def _checkpoint(draw: st.DrawFn, state: TableState) -> CheckpointFiles:
    """A checkpoint of a state in any form that the table allows."""
    rows: list[Line] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
    rows += [{"domainMetadata": body} for body in state.domains.values()]
    files: list[Body] = [{"add": {**body, "dataChange": False}} for body in state.live.values()]
    files += [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]
    if "v2Checkpoint" not in state.features:
        if len(files) > 1 and draw(st.booleans()):
            return CheckpointFiles(state.version, "multipart", rows=[*rows, *files], parts=2)
        return CheckpointFiles(state.version, "classic", rows=[*rows, *files])
    naming = draw(st.sampled_from(("classic", "uuid-json", "uuid-parquet")))
    made = CheckpointFiles(state.version, naming, v2=True, uuid=build_uuid(1000 + state.version))
    made.rows = [{"checkpointMetadata": {"version": state.version}}, *rows]
    half = (len(files) + 1) // 2
    for number, share in enumerate((files[:half], files[half:])):
        name = f"{build_uuid(2000 + 2 * state.version + number)}.parquet"
        made.sidecars.append(SidecarFile(name, share, modification_time=state.timestamp_ms))
    return made


def add_v2_checkpoint_feature(files: TableFiles, states: list[TableState]) -> None:
    """Give a drawn table the feature v2Checkpoint, if its protocol lists features."""
    bodies = [line["protocol"] for lines in files.commits.values() for line in lines if "protocol" in line]  # type: ignore[index]
    for body in {id(each): each for each in (*bodies, *(state.protocol for state in states))}.values():
        for name in ("readerFeatures", "writerFeatures"):
            if body.get("minReaderVersion") == 3 and "v2Checkpoint" not in body[name]:
                body[name] = [*body[name], "v2Checkpoint"]


def scheduled_operations(
    *, operations: tuple[str, ...] = OPERATIONS, most: int = 12
) -> st.SearchStrategy[list[ScheduledOperation]]:
    """What a writer does: usually what is needed for a vacuum or a clean-up to take something away."""
    waits = st.integers(0, 6) | st.integers(0, 40)
    each = st.builds(ScheduledOperation, st.sampled_from(operations), waits, st.sampled_from((1, 3, 1000)))
    harmful = st.tuples(waits, st.sampled_from(("vacuum", "clean up"))).map(_harm)
    return st.lists(each | harmful, min_size=1, max_size=most).map(
        lambda drawn: [move for entry in drawn for move in (entry if isinstance(entry, list) else [entry])]
    )


def _harm(drawn: tuple[int, str]) -> list[ScheduledOperation]:
    wait, last = drawn
    before = ("commit",) * 3 if last == "vacuum" else ("commit", "checkpoint", "hint")
    return [
        ScheduledOperation(before[0], wait, 1000),
        *(ScheduledOperation(each, 0, 1000) for each in (*before[1:], last)),
    ]
