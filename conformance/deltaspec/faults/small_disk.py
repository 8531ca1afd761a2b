"""A disk that is full: a small tmpfs in a user and mount namespace, which Linux grants without privileges.

A process that does nothing keeps the namespace alive. The candidate enters the namespace with `nsenter`; this process
sees the files below `/proc/PID/root`.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from deltaspec.candidates.process import Launch
from deltaspec.suites.checks import NotAsked

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
"""A tmpfs assigns space in pages."""
_SIZE_BYTES = 64 * 1024 * 1024
_MOUNT = 'mount -t tmpfs -o size="$1" none "$2" && echo ready && read -r line'
_START = 'cd "$TMPDIR" && exec "$@"'
"""Entering a namespace changes the working directory; TMPDIR names the working directory of the candidate."""


class SmallDisk:
    """A mounted tmpfs.

    Args:
        path: mount point, which must be an empty directory.

    Raises:
        NotAsked: this system does not allow it.
    """

    def __init__(self, path: Path) -> None:
        missing = [name for name in ("unshare", "nsenter", "mount") if shutil.which(name) is None]
        if missing:
            raise NotAsked(f"a small disk needs {', '.join(missing)}")
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _MOUNT, "sh"]
        self._holder = subprocess.Popen(
            [*command, str(_SIZE_BYTES), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._holder.stdout is not None
        assert self._holder.stderr is not None
        if self._holder.stdout.readline() != "ready\n":
            reason = self._holder.stderr.read().strip()
            self.close()
            raise NotAsked(f"this system does not allow to mount a small disk: {reason}")
        self.path = path
        """The disk, as the candidate sees it."""
        self.host_path = Path(f"/proc/{self._holder.pid}/root{path}")
        """The disk, as this process sees it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wrap(self, launch: Launch) -> Launch:
        """Return how to start a candidate that sees the disk."""
        enter = ("nsenter", "--preserve-credentials", "--user", "--mount", "--target", str(self._holder.pid), "--")
        return msgspec.structs.replace(launch, command=(*enter, "sh", "-c", _START, "sh", *launch.command))

    @contextmanager
    def fill(self, pages: int) -> Iterator[None]:
        """Leave room for a number of pages."""
        ballast = self.host_path / "ballast"
        space = os.statvfs(self.host_path)
        with open(ballast, "wb") as file:
            if (size := space.f_bavail * space.f_frsize - pages * PAGE_BYTES) > 0:
                os.posix_fallocate(file.fileno(), 0, size)
        try:
            yield
        finally:
            ballast.unlink()

    def close(self) -> None:
        """End the process that keeps the namespace."""
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        self._holder.wait()
        for stream in (self._holder.stdout, self._holder.stderr):
            assert stream is not None
            stream.close()
