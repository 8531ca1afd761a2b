"""Measure the memory of a process group, and kill all processes that a candidate started.

The memory limit is enforced by repeated measurements, which can miss a peak between two of them. RLIMIT_AS is no
alternative: it limits the address space, and a JVM, jemalloc and memory-mapped files reserve many times what they use.
It also applies to each process separately, not to the group.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

MARKER = "DELTASPEC_CANDIDATE"
"""Environment variable that marks all processes of a candidate, including those that leave its process group."""
_MIN_INTERVAL_SECONDS = 0.1
_COST_SHARE = 0.05
"""Maximum fraction of the time that is spent on measurements."""
_KILL_ROUNDS = 20


class MemoryWatch:
    """Measure the memory of a process group from time to time."""

    def __init__(self, group: int, limit: int) -> None:
        self.limit = limit
        self._group = group
        self._next = time.monotonic() + _MIN_INTERVAL_SECONDS

    def find_excess(self, now: float) -> int | None:
        """Measure if a measurement is due. Return the bytes in use if they exceed the limit, and otherwise None."""
        if now < self._next:
            return None
        used = measure_group_memory(self._group)
        done = time.monotonic()
        self._next = done + max(_MIN_INTERVAL_SECONDS, (done - now) / _COST_SHARE)
        return used if used > self.limit else None


def list_group(group: int) -> list[int]:
    """Return the processes of a group; Linux only."""
    return [pid for pid in _list_processes() if _read_group(pid) == group]


def measure_group_memory(group: int) -> int:
    """Return the bytes of memory that a process group uses; on Linux without memory-mapped files."""
    if sys.platform != "linux":
        return measure_with_ps(group)
    return sum(_read_memory(pid) for pid in list_group(group))


def kill_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group, if it exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill_marked_processes(marker: str) -> None:
    """Kill the processes that have the marker in their environment; Linux only, because others do not show it."""
    if sys.platform != "linux":
        return
    for _ in range(_KILL_ROUNDS):  # a process may start another before it is killed
        found = find_marked_processes(marker)
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return
        time.sleep(0.005)


def find_marked_processes(marker: str) -> list[int]:
    """Return running processes of this user with the marker in their environment."""
    text = f"{MARKER}={marker}".encode()
    return [pid for pid in _list_processes() if text in _read_bytes(f"/proc/{pid}/environ").split(b"\0")]


def find_pipe_descriptors(group: int, inode: int) -> set[int]:
    """Return the file descriptors through which processes of a group have a pipe open; Linux only."""
    found = set()
    for pid in list_group(group):
        with suppress(OSError):
            names = os.listdir(f"/proc/{pid}/fd")
            found |= {int(each) for each in names if _read_link(f"/proc/{pid}/fd/{each}") == f"pipe:[{inode}]"}
    return found


def _read_link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _list_processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _read_group(pid: int) -> int | None:
    """Return the process group of a process, from the fields after its name: `(name)` may contain any characters."""
    fields = _read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[2]) if len(fields) > 2 else None


def _read_memory(pid: int) -> int:
    fields = dict(line.split(b":", 1) for line in _read_bytes(f"/proc/{pid}/status").splitlines() if b":" in line)
    return sum(int(fields.get(name, b"0").split()[0]) * 1024 for name in (b"RssAnon", b"RssShmem"))


def _read_bytes(path: str) -> bytes:
    """Return the content, or nothing if the process ended or belongs to another user."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def measure_with_ps(group: int) -> int:
    """Return the resident memory of a process group in bytes, measured with the command `ps`."""
    listed = subprocess.run(["ps", "-A", "-o", "pgid=,rss="], capture_output=True, check=False, text=True).stdout
    rows = (line.split() for line in listed.splitlines())
    return sum(int(row[1]) * 1024 for row in rows if len(row) == 2 and row[0] == str(group))
