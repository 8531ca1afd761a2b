"""Run `deltaspec` with a full disk, or with permissions, which root otherwise ignores."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from deltaspec.candidates.process import Launch
from deltaspec.faults.small_disk import SmallDisk
from deltaspec.faults.storage_faults import wrap_launch

Done: TypeAlias = "subprocess.CompletedProcess[str]"


def _start(launch: Launch, directory: Path) -> Done:
    environment = {**os.environ, "TMPDIR": str(directory)}
    return subprocess.run(
        launch.command, capture_output=True, text=True, env=environment, cwd=directory, timeout=120, check=False
    )


def _build_launch(arguments: tuple[object, ...]) -> Launch:
    return Launch((sys.executable, "-m", "deltaspec", *map(str, arguments)))


def run_with_permissions(directory: Path, *arguments: object) -> Done:
    """Run a command in a directory. Permissions apply to it, even if this process is of root."""
    return _start(wrap_launch(_build_launch(arguments)), directory)


class FullDisk(msgspec.Struct, frozen=True):
    """A small disk, and a directory on another disk, in which commands run."""

    disk: SmallDisk
    directory: Path

    @property
    def path(self) -> Path:
        """The disk, as commands see it."""
        return self.disk.path

    def run(self, pages: int, *arguments: object) -> Done:
        """Run a command while the disk has room for a number of pages."""
        with self.disk.fill(pages):
            return _start(self.disk.wrap(_build_launch(arguments)), self.directory)

    def write(self, name: str, data: bytes) -> None:
        """Write a file on the disk."""
        (self.disk.host_path / name).write_bytes(data)

    def clear(self) -> None:
        """Remove everything from the disk."""
        for each in self.disk.host_path.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    def read_files(self) -> dict[str, bytes]:
        """Return the content of all files on the disk, by path."""
        root = self.disk.host_path
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@contextmanager
def open_full_disk(directory: Path) -> Iterator[FullDisk]:
    """Mount a small disk in a directory."""
    for name in ("disk", "work"):
        (directory / name).mkdir()
    with SmallDisk(directory / "disk") as disk:
        yield FullDisk(disk, directory / "work")
