"""A small writer that is correct under faults, and variants with one fault each."""

import json
import os
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from deltaspec.candidates.serve import EngineError

PAUSE_SECONDS = 0.2
"""How long a faulty writer stays in the state in which it must not be killed."""


class Conflict(Exception):
    """The version exists already."""


class SmallWriter:
    """Creates, appends and deletes. Every commit is written to a temporary file and linked to its name."""

    note: str | None = None
    """User metadata of the commit."""

    def hello(self) -> dict[str, Any]:
        return {"name": type(self).__name__, "version": "1", "kinds": ["create", "append", "delete"]}

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        try:
            self.note = (commit or {}).get("user_metadata")
            return self.perform(Path(table), operation)
        except Conflict as error:
            raise EngineError("conflict", str(error), phase="commit") from error
        except OSError as error:
            raise EngineError("io", str(error), phase="commit") from error

    def perform(self, table: Path, operation: dict[str, Any]) -> dict[str, Any]:
        match operation["kind"]:
            case "create":
                if operation.get("partition_by") or operation.get("properties"):
                    raise EngineError("unsupported", "partitions and properties", phase="commit")
                return {"committed": True, "version": self.commit(table, 0, _create_actions(operation))}
            case "append":
                added = self.write_rows(table, pa.ipc.open_file(operation["rows"]).read_all())
                while True:
                    try:
                        return {"committed": True, "version": self.commit(table, _count_commits(table), [added])}
                    except Conflict:
                        continue
            case "delete":
                return self.delete(table, operation["where"]["tree"])
        raise EngineError("unsupported", operation["kind"], code="operation")

    def delete(self, table: Path, tree: list[Any]) -> dict[str, Any]:
        version = _count_commits(table)
        (_, _, (_, _, low)), (_, _, (_, _, high)) = tree[1:]
        actions: list[dict[str, Any]] = []
        for path in _list_files(table, version):
            rows = pq.read_table(table / path)
            kept = rows.filter(pa.array([not int(low) <= each < int(high) for each in rows["id"].to_pylist()]))
            if kept.num_rows != rows.num_rows:
                actions.append({"remove": {"path": path, "dataChange": True, "deletionTimestamp": _now_ms()}})
                actions += [self.write_rows(table, kept)] if kept.num_rows else []
        if not actions:
            return {"committed": False}
        return {"committed": True, "version": self.commit(table, version, actions)}

    def write_rows(self, table: Path, rows: pa.Table) -> dict[str, Any]:
        name = f"{uuid.uuid4()}.parquet"
        pq.write_table(rows, table / name)
        size = (table / name).stat().st_size
        add = {"path": name, "size": size, "partitionValues": {}, "modificationTime": _now_ms(), "dataChange": True}
        return {"add": add}

    def encode(self, actions: list[dict[str, Any]]) -> bytes:
        lines = [{"commitInfo": {"userMetadata": self.note}}, *actions]
        return b"".join(json.dumps(each).encode() + b"\n" for each in lines)

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        log = table / "_delta_log"
        log.mkdir(exist_ok=True)
        temporary = log / f".{uuid.uuid4()}.tmp"
        temporary.write_bytes(self.encode(actions))
        try:
            os.link(temporary, log / f"{version:020}.json")
        except FileExistsError as error:
            raise Conflict(f"version {version} exists") from error
        finally:
            temporary.unlink()
        return version


class ReadsOnly:
    """Declares no operation."""

    def hello(self) -> dict[str, Any]:
        return {"name": "ReadsOnly", "version": "1"}


class WritesCommitsInParts(SmallWriter):
    """A kill leaves half of a commit."""

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        log = table / "_delta_log"
        log.mkdir(exist_ok=True)
        data = self.encode(actions)
        try:
            with open(log / f"{version:020}.json", "xb", buffering=0) as file:
                file.write(data[: len(data) // 2])
                time.sleep(PAUSE_SECONDS)
                file.write(data[len(data) // 2 :])
        except FileExistsError as error:
            raise Conflict(f"version {version} exists") from error
        return version


class CommitsInTwoVersions(SmallWriter):
    """A kill leaves a delete done in part: the old files are removed, the new ones are not added."""

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        removes = [each for each in actions if "remove" in each]
        if removes and len(removes) < len(actions):
            super().commit(table, version, removes)
            time.sleep(PAUSE_SECONDS)
            return super().commit(table, version + 1, [each for each in actions if each not in removes])
        return super().commit(table, version, actions)


class LeavesLocks(SmallWriter):
    """A kill leaves a lock, so that nobody can write any more."""

    def perform(self, table: Path, operation: dict[str, Any]) -> dict[str, Any]:
        lock = table / "_lock"
        if lock.exists():
            raise EngineError("conflict", "the table is locked", phase="commit")
        lock.touch()
        time.sleep(PAUSE_SECONDS)
        answer = super().perform(table, operation)
        lock.unlink()
        return answer


class ReplacesCommits(SmallWriter):
    """Two writers of the same version both succeed; the second replaces the commit of the first."""

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        log = table / "_delta_log"
        log.mkdir(exist_ok=True)
        temporary = log / f".{uuid.uuid4()}.tmp"
        temporary.write_bytes(self.encode(actions))
        time.sleep(PAUSE_SECONDS)
        os.replace(temporary, log / f"{version:020}.json")
        return version


class AnswersBeforeCommitting(SmallWriter):
    """Acknowledges appends that are committed with the next operation; a kill loses them."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Path, dict[str, Any]]] = []

    def perform(self, table: Path, operation: dict[str, Any]) -> dict[str, Any]:
        waiting, self.waiting = self.waiting, []
        for path, append in waiting:
            super().perform(path, append)
        if operation["kind"] == "append":
            self.waiting.append((table, operation))
            return {"committed": True}
        return super().perform(table, operation)


class HidesTheCategory(SmallWriter):
    """Fails with an unspecific error if the store fails."""

    def apply(self, table: str, *, operation: dict[str, Any], commit: dict[str, Any] | None) -> dict[str, Any]:
        try:
            return super().apply(table, operation=operation, commit=commit)
        except EngineError as error:
            raise RuntimeError("write failed") from error


class StatesWrongSizes(SmallWriter):
    """Violates the protocol without any fault."""

    def write_rows(self, table: Path, rows: pa.Table) -> dict[str, Any]:
        added = super().write_rows(table, rows)
        return {"add": {**added["add"], "size": added["add"]["size"] + 1}}


class KeepsTornCommits(SmallWriter):
    """Writes the commit in place, so that a full disk leaves a part of it."""

    def commit(self, table: Path, version: int, actions: list[dict[str, Any]]) -> int:
        (table / "_delta_log").mkdir(exist_ok=True)
        (table / f"_delta_log/{version:020}.json").write_bytes(self.encode(actions))
        return version


def _create_actions(operation: dict[str, Any]) -> list[dict[str, Any]]:
    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": operation["schema"],
        "partitionColumns": [],
        "configuration": {},
    }
    return [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]


def _count_commits(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def _list_files(table: Path, version: int) -> list[str]:
    files: dict[str, None] = {}
    for number in range(version):
        for line in (table / f"_delta_log/{number:020}.json").read_text("utf-8").splitlines():
            for kind, action in json.loads(line).items():
                if kind == "add":
                    files[action["path"]] = None
                elif kind == "remove":
                    files.pop(action["path"], None)
    return list(files)


def _now_ms() -> int:
    return int(time.time() * 1000)
