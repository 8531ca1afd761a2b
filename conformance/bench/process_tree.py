"""Sample resident memory and CPU time of a process tree from Linux's `/proc`.

Resident sets are added over the tree, so shared pages count more than once and memory is overestimated. A peak between
two samples may be missed; the kernel's true peak of the root process is a lower bound. CPU time covers every process
seen, up to its last sample.
"""

import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

INTERVAL = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")
ROLES = ("python", "jvm", "workers")


@dataclass
class Sample:
    """One sample of a process tree."""

    at: float
    """Seconds of the monotonic clock, which all processes share."""
    resident: dict[str, int]
    """Bytes by role: the process itself, Java, all other processes."""
    cpu_seconds: float
    """CPU seconds so far."""

    @property
    def total(self) -> int:
        return sum(self.resident.values())


@dataclass
class ProcessUsage:
    """Resource usage of a finished process."""

    output: bytes
    seconds: float
    cpu_seconds: float
    peak: int
    """Peak resident bytes of the process tree."""
    failure: str | None = None
    """Command, exit code and last error output if it failed."""
    samples: list[Sample] = field(default_factory=list)

    def measure_interval(self, begin: float, end: float) -> tuple[float, dict[str, int]]:
        """Return CPU seconds and peak bytes by role, and of `all`, in an interval of the monotonic clock."""
        inside = [each for each in self.samples if begin <= each.at <= end]
        if not inside:
            return 0.0, dict.fromkeys((*ROLES, "all"), 0)
        peaks = {role: max(each.resident[role] for each in inside) for role in ROLES}
        return inside[-1].cpu_seconds - inside[0].cpu_seconds, {**peaks, "all": max(each.total for each in inside)}


def run_and_sample(command: list[str]) -> ProcessUsage:
    """Run a process to its end and sample its tree; kill it if this process is interrupted."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        tree = _TreeSampler(process.pid)
        sampler_thread = threading.Thread(target=tree.sample_until_stopped)
        sampler_thread.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            tree.stopped.set()
        seconds = time.perf_counter() - start
        sampler_thread.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        found, error_output = output.read(), errors.read()[-2000:].decode(errors="replace")
    failure = f"{' '.join(command)}: exit {process.returncode}: {error_output}" if process.returncode else None
    peak = max(usage.ru_maxrss * 1024, *(each.total for each in tree.samples))
    cpu_seconds = max(usage.ru_utime + usage.ru_stime, tree.cpu_seconds)
    return ProcessUsage(found, seconds, cpu_seconds, peak, failure, tree.samples)


class _TreeSampler:
    """Sampler of a process and its descendants."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.members = {root}
        self.ticks: dict[int, int] = {}
        self.samples: list[Sample] = []
        self.stopped = threading.Event()

    @property
    def cpu_seconds(self) -> float:
        return sum(self.ticks.values()) / _TICK

    def sample_until_stopped(self) -> None:
        rounds = 0
        while True:
            if rounds % 5 == 0:
                self._find_members()
            self._take_sample()
            rounds += 1
            if self.stopped.wait(INTERVAL):
                return

    def _find_members(self) -> None:
        parents = {int(entry): _read_stat(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()}
        size = 0
        while size < len(self.members):
            size = len(self.members)
            self.members |= {pid for pid, stat in parents.items() if stat and int(stat[1]) in self.members}

    def _take_sample(self) -> None:
        resident = dict.fromkeys(ROLES, 0)
        at = time.perf_counter()
        for pid in list(self.members):
            stat = _read_stat(pid)
            if stat is None:
                self.members.discard(pid)
                continue
            role = "python" if pid == self.root else "jvm" if _read_name(pid) == "java" else "workers"
            resident[role] += int(stat[21]) * _PAGE
            self.ticks[pid] = int(stat[11]) + int(stat[12])
        self.samples.append(Sample(at, resident, self.cpu_seconds))


def _read_stat(pid: int) -> list[str] | None:
    """Read the fields of `/proc/PID/stat` after the name, which may contain any character; None if it ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:  # the process has ended
        return None
    return text[text.rindex(")") + 2 :].split()


def _read_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""
