"""A table on disk, and the ways to damage it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Action = dict[str, Any]


class LakeTable:
    """A table whose paths are relative and need no decoding."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def log(self) -> Path:
        """The log directory."""
        return self.path / "_delta_log"

    @property
    def latest(self) -> int:
        """The latest version with a commit."""
        return max(int(each.stem) for each in self.log.glob("*.json") if each.stem.isdigit())

    def commit(self, version: int) -> Path:
        """Return the path of a commit."""
        return self.log / f"{version:020}.json"

    def checksum(self, version: int) -> Path:
        """Return the path of a version checksum."""
        return self.log / f"{version:020}.crc"

    def find_in_log(self, pattern: str) -> Path:
        """Return the last file of the log whose relative path matches a pattern."""
        return sorted(self.log.glob(pattern))[-1]

    def read_commit(self, version: int) -> list[Action]:
        """Return the actions of a commit."""
        return [json.loads(line) for line in self.commit(version).read_text().splitlines()]

    def write_commit(self, version: int, actions: list[Action]) -> None:
        """Write a commit, without Hadoop's checksum of its earlier content, which Spark would compare."""
        path = self.commit(version)
        path.write_text("".join(f"{json.dumps(each)}\n" for each in actions))
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def live_adds(self) -> list[Action]:
        """Return the bodies of the live add actions, in the order of their commits; all commits must exist."""
        live: dict[str, Action] = {}
        for version in range(self.latest + 1):
            actions = self.read_commit(version)
            for removed in (each["remove"] for each in actions if "remove" in each):
                live.pop(removed["path"], None)
            live |= {each["add"]["path"]: each["add"] for each in actions if "add" in each}
        return list(live.values())

    def live_files(self) -> list[Path]:
        """Return the live data files, in the order of their commits."""
        return [self.path / add["path"] for add in self.live_adds()]

    def edit(self, kind: str, change: Callable[[Action], None]) -> None:
        """Change the body of the last action of a kind in the log."""
        for version in range(self.latest, -1, -1):
            actions = self.read_commit(version)
            bodies = [each[kind] for each in actions if kind in each]
            if bodies:
                change(bodies[-1])
                self.write_commit(version, actions)
                return
        raise AssertionError(f"no commit has an action {kind}")

    def edit_statistics(self, change: Callable[[Action], None]) -> None:
        """Change the statistics of the last added file."""

        def change_text(add: Action) -> None:
            statistics = json.loads(add["stats"])
            change(statistics)
            add["stats"] = json.dumps(statistics)

        self.edit("add", change_text)

    def rewrite_last_file(self, change: Callable[[pa.Table], pa.Table]) -> None:
        """Write the last added file with other rows, and commit its new size; the statistics do not change."""
        file = self.live_files()[-1]
        pq.write_table(change(pq.ParquetFile(file).read()), file)
        self.edit("add", lambda add: add.update(size=file.stat().st_size))

    def move(self) -> None:
        """Move the table to another directory."""
        target = self.path.with_name("moved")
        shutil.move(self.path, target)
        self.path = target


def flip_bit(file: Path, offset: int) -> None:
    """Flip the lowest bit of a byte; a negative offset counts from the end."""
    content = bytearray(file.read_bytes())
    content[offset] ^= 1
    file.write_bytes(content)


def flip_bit_of_column(file: Path, name: str) -> None:
    """Flip the lowest bit of the last byte of a column in the first row group of a Parquet file."""
    columns = pq.read_metadata(file).row_group(0).to_dict()["columns"]
    (column,) = [each for each in columns if each["path_in_schema"] == name]
    start = column["dictionary_page_offset"] or column["data_page_offset"]
    flip_bit(file, start + column["total_compressed_size"] - 1)


def truncate(file: Path) -> None:
    """Cut off the second half of a file."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
