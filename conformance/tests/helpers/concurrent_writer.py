"""Concurrent writes during a validation: a store that advances a writer, and the writer.

The first listing of the log pins the validated version. Before every later call of the store the writer may advance
its operation: a commit, checkpoint, version checksum, compaction, hint, vacuum or log cleanup. One step changes one
file, so a reader can observe an unfinished vacuum.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hypothesis import strategies as st

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files import deletion_vectors, paths
from deltaspec.protocol.json_values import parse_lossless
from deltaspec.protocol.log import canonical_json, file_names
from deltaspec.wire.storage.block_reader import BlockReader
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError
from deltaspec.wire.storage.local import LocalStore
from deltaspec_generators.action_lines import Line, encode_json, encode_lines
from deltaspec_generators.checkpoint_writer import encode_checkpoint
from deltaspec_generators.choices import DrawnChoices
from deltaspec_generators.layouts import log_directory
from deltaspec_generators.names import build_uuid
from deltaspec_generators.table_files import CheckpointFiles, SidecarFile, TableFiles, write_table
from deltaspec_generators.table_state import Body, WrittenState

OPERATIONS = ("commit", "checkpoint", "checksum", "compaction", "hint", "vacuum", "clean up")


class Writer(Protocol):
    """Writer of a table."""

    def begin(self, operation: str) -> Iterator[None]:
        """Yield after every step of an operation that readers can observe."""
        ...


@dataclass(frozen=True)
class ScheduledOperation:
    """Operation of the writer and its time."""

    operation: str
    calls_before: int
    """Calls of the store between the end of the previous operation and its start."""
    steps_per_call: int
    """Steps before each call."""


@dataclass
class Schedule:
    """Operations of the writer and their progress. Thread-safe."""

    writer: Writer
    scheduled_operations: list[ScheduledOperation]
    started_operations: list[str] = field(default_factory=list)
    """Operations started so far."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._remaining = iter(self.scheduled_operations)
        self._operation = next(self._remaining, None)
        self._waited = 0
        self._steps: Iterator[None] | None = None

    def advance(self) -> None:
        """Count a call of the store; run the steps that are due."""
        with self._lock:
            if self._operation is None:
                return
            if self._steps is None:
                self._waited += 1
                if self._waited <= self._operation.calls_before:
                    return
                self._steps = self.writer.begin(self._operation.operation)
                self.started_operations.append(self._operation.operation)
            for _ in range(self._operation.steps_per_call):
                if next(self._steps, self) is self:
                    self._steps, self._waited = None, 0
                    self._operation = next(self._remaining, None)
                    return


class ConcurrentlyWrittenStore(LocalStore):
    """A directory that is written to before every call except the first listing of the log.

    A remote store opens a file again for every read, so deleted files become unreadable.
    """

    def __init__(self, path: str, advance: Callable[[], None], *, is_remote: bool) -> None:
        super().__init__(path)
        self.is_remote = is_remote
        self._advance = advance
        self._is_pinned = False

    def list_log(self) -> list[Entry]:
        if self._is_pinned:
            self._advance()
        self._is_pinned = True
        return super().list_log()

    def list_files(self) -> Iterator[Entry | StorageError]:
        self._advance()
        for entry in super().list_files():
            yield entry
            self._advance()

    def read(self, path: str, limit: int) -> bytes:
        self._advance()
        return super().read(path, limit)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        self._advance()
        return super().read_range(path, start, length)

    def size(self, path: str) -> int:
        self._advance()
        return super().size(path)

    def chunks(self, path: str) -> Iterator[bytes]:
        self._advance()
        yield from super().chunks(path)

    def open_seekable(self, path: str) -> Any:
        self._advance()
        if not self.is_remote:
            return super().open_seekable(path)
        return BlockReader(super().size(path), lambda start, end: self.read_range(path, start, end - start), block=1)


class InconsistentListingStore(ConcurrentlyWrittenStore):
    """A directory that is also written to during listings, which may then omit new and deleted files."""

    def __init__(self, path: str, advance: Callable[[], None], order: random.Random) -> None:
        super().__init__(path, advance, is_remote=False)
        self._order = order

    def list_log(self) -> list[Entry]:
        found: list[Entry] = []
        seen: set[str] = set()
        for folder in ("", "_sidecars"):
            for first in (True, False):  # finally, some of the files that appeared meanwhile
                names = [name for name in self._names(folder) if name not in seen]
                self._order.shuffle(names)
                for name in names if first else names[: self._order.randrange(len(names) + 1)]:
                    self._advance()
                    seen.add(name)
                    found += self._entry(name)
        return sorted(found, key=lambda entry: entry.name)

    def _names(self, folder: str) -> list[str]:
        root = Path(self._path) / LOG_DIRECTORY
        return sorted(str(file.relative_to(root)) for file in (root / folder).glob("*") if file.is_file())

    def _entry(self, name: str) -> list[Entry]:
        try:
            status = (Path(self._path) / LOG_DIRECTORY / name).stat()
        except FileNotFoundError:
            return []
        return [Entry(name, status.st_size, status.st_mtime_ns // 1_000_000)]


class DrawnTableWriter:
    """Write a drawn table commit by commit, with its derived files; delete files that are no longer needed.

    All values are drawn in advance, because threads call the store.
    """

    def __init__(self, draw: st.DrawFn, files: TableFiles, states: list[WrittenState], root: Path) -> None:
        self._files, self._states, self._root = files, states, root
        self._log = root / LOG_DIRECTORY
        self.version = -1
        """Newest version written."""
        commits = [[line for line in lines if isinstance(line, dict)] for _, lines in sorted(files.commits.items())]
        actions = [[each for each in lines if "commitInfo" not in each] for lines in commits]
        choices = DrawnChoices(draw)
        self._checkpoints = [_checkpoint(draw, state) for state in states]
        self._checksums: list[Body] = [log_directory.draw_checksum(choices, state) for state in states]
        self._compactions: dict[tuple[int, int], list[Line]] = {}
        if len(states) > 2:
            for end in range(2, len(states)):
                start = draw(st.integers(1, end - 1))
                self._compactions[start, end] = log_directory.draw_compaction(choices, actions[start : end + 1])
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
        """Run all steps of an operation."""
        for _ in self.begin(operation):
            pass

    def _put(self, path: str, data: bytes) -> None:
        """Write a file atomically."""
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # outside the table, so that no listing contains it
        half = self._root.parent / "half written"
        half.write_bytes(data)
        half.replace(target)

    def _commit(self) -> Iterator[None]:
        if self.version + 1 == len(self._states):
            return
        version = self.version + 1
        lines = self._files.commits[version]
        needed = {path for line in lines if isinstance(line, dict) for path in _collect_paths(line)}
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
        checkpoint = self._checkpoints[self.version]
        # sidecars must exist before their checkpoint
        for name, data in sorted(encode_checkpoint(checkpoint).items(), key=lambda each: "_sidecars" not in each[0]):
            self._put(f"{LOG_DIRECTORY}/{name}", data)
            yield
        self._written = checkpoint

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
        """Write all missing checksums in order of versions, so that there are no gaps."""
        for version in range(self.version + 1):
            name = file_names.checksum_name(version)
            if (self._log / file_names.commit_name(version)).exists() and not (self._log / name).exists():
                self._put(f"{LOG_DIRECTORY}/{name}", encode_json(self._checksums[version]).encode())
                yield

    def _compaction(self) -> Iterator[None]:
        for (start, end), lines in self._compactions.items():
            name = file_names.compaction_name(start, end)
            exists = (self._log / file_names.commit_name(start)).exists()
            if exists and end <= self.version and not (self._log / name).exists():
                self._put(f"{LOG_DIRECTORY}/{name}", encode_lines(lines))
                yield

    def _vacuum(self) -> Iterator[None]:
        """Delete every data file that the newest version does not need, without a commit."""
        needed = {path for body in self._states[self.version].live.values() for path in _collect_paths({"add": body})}
        for file in sorted(self._root.rglob("*")):
            name = file.relative_to(self._root).as_posix()
            if file.is_file() and not name.startswith(f"{LOG_DIRECTORY}/") and name not in needed:
                file.unlink()
                yield

    def _clean_up(self) -> Iterator[None]:
        """Delete log files older than the newest checkpoint, then unreferenced sidecars."""
        if self._written is None:
            return
        needed = {f"_sidecars/{each.name}" for each in self._written.sidecars} | {"_last_checkpoint"}
        for file in sorted(self._log.iterdir()):
            if file.is_file() and file.name not in needed and _parse_version(file.name) < self._written.version:
                file.unlink()
                yield
        for file in sorted((self._log / "_sidecars").glob("*")):
            if f"_sidecars/{file.name}" not in needed:
                file.unlink()
                yield


def _parse_version(name: str) -> int:
    return int(name[:20]) if name[:20].isdigit() else 1 << 62


def _collect_paths(line: Body) -> set[str]:
    """Return the files that an action references, relative to the table."""
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


def _checkpoint(draw: st.DrawFn, state: WrittenState) -> CheckpointFiles:
    """Draw a checkpoint of a state in a form that the table allows."""
    rows: list[Line] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
    rows += [{"domainMetadata": body} for body in state.domains.values()]
    files: list[Body] = [{"add": {**body, "dataChange": False}} for body in state.live.values()]
    files += [{"remove": {**body, "dataChange": False}} for body in state.tombstones.values()]
    if "v2Checkpoint" not in state.features:
        if len(files) > 1 and draw(st.booleans()):
            return CheckpointFiles(state.version, "multipart", rows=[*rows, *files], parts=2)
        return CheckpointFiles(state.version, "classic", rows=[*rows, *files])
    naming = draw(st.sampled_from(("classic", "uuid-json", "uuid-parquet")))
    checkpoint = CheckpointFiles(state.version, naming, v2=True, uuid=build_uuid(1000 + state.version))
    checkpoint.rows = [{"checkpointMetadata": {"version": state.version}}, *rows]
    half = (len(files) + 1) // 2
    for number, sidecar_rows in enumerate((files[:half], files[half:])):
        name = f"{build_uuid(2000 + 2 * state.version + number)}.parquet"
        checkpoint.sidecars.append(SidecarFile(name, sidecar_rows, modification_time=state.timestamp_ms))
    return checkpoint


def add_v2_checkpoint_feature(files: TableFiles, states: list[WrittenState]) -> None:
    """Add the feature v2Checkpoint to a drawn table if its protocol lists features."""
    bodies = [line["protocol"] for lines in files.commits.values() for line in lines if "protocol" in line]  # type: ignore[index]
    for body in {id(each): each for each in (*bodies, *(state.protocol for state in states))}.values():
        for name in ("readerFeatures", "writerFeatures"):
            if body.get("minReaderVersion") == 3 and "v2Checkpoint" not in body[name]:
                body[name] = [*body[name], "v2Checkpoint"]


def scheduled_operations(
    *, operations: tuple[str, ...] = OPERATIONS, most: int = 12
) -> st.SearchStrategy[list[ScheduledOperation]]:
    """Draw operations of a writer, mostly with sequences that let a vacuum or cleanup delete something."""
    waits = st.integers(0, 6) | st.integers(0, 40)
    each = st.builds(ScheduledOperation, st.sampled_from(operations), waits, st.sampled_from((1, 3, 1000)))
    deleting = st.tuples(waits, st.sampled_from(("vacuum", "clean up"))).map(_build_deleting_sequence)
    return st.lists(each | deleting, min_size=1, max_size=most).map(
        lambda drawn: [operation for entry in drawn for operation in (entry if isinstance(entry, list) else [entry])]
    )


def _build_deleting_sequence(drawn: tuple[int, str]) -> list[ScheduledOperation]:
    wait, last = drawn
    before = ("commit",) * 3 if last == "vacuum" else ("commit", "checkpoint", "hint")
    return [
        ScheduledOperation(before[0], wait, 1000),
        *(ScheduledOperation(each, 0, 1000) for each in (*before[1:], last)),
    ]
