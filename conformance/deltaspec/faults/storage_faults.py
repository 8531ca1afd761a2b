"""Deny a writer disk space or permissions during one operation.

The operation must fail with category `io` and leave the rows as they were, or succeed. Afterwards the same process must
be able to write again. None of this needs privileges:

- full disk: a small tmpfs in a separate user and mount namespace (`small_disk`).
- file size: RLIMIT_FSIZE of the running processes, so that a write fails in the middle of a file.
- read-only: permissions of directories. Root ignores them, so the candidate of root runs without that capability.
"""

import os
import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from deltaspec.candidates.host import Died, Host, Refused
from deltaspec.candidates.process import Launch
from deltaspec.candidates.process_groups import list_group
from deltaspec.faults.bench import Trial, request
from deltaspec.faults.small_disk import PAGE_BYTES, SmallDisk
from deltaspec.faults.workload import apply_step, get_title
from deltaspec.suites.checks import NotAsked
from deltaspec.suites.write_judging import LOG
from deltaspec_generators.histories.drawing import Step

_FORBIDDEN = ("the log directory", "the data directories", "every directory")
_CAPABILITIES = "-dac_override,-dac_read_search,-fowner"
_DROP_CAPABILITIES = ("setpriv", f"--bounding-set={_CAPABILITIES}", f"--inh-caps={_CAPABILITIES}")
_IGNORE_SIGNAL = ("sh", "-c", 'trap "" XFSZ; exec "$@"', "sh")
"""Without it, a write beyond RLIMIT_FSIZE kills the process instead of failing."""


def wrap_launch(launch: Launch) -> Launch:
    """Return how to start a candidate that obeys permissions and survives a limit of file sizes."""
    drop = _DROP_CAPABILITIES if os.geteuid() == 0 and shutil.which("setpriv") else ()
    return msgspec.structs.replace(launch, command=(*_IGNORE_SIGNAL, *drop, *launch.command))


def run_full_disk(trial: Trial, host: Host, disk: SmallDisk) -> None:
    """Perform an operation on a disk with room for a part of its files."""
    step = trial.workload.draw_step(trial.base.content)
    written, seen = disk.path / trial.name, disk.host_path / trial.name
    sizes = trial.bench.file_sizes.get(step.kind, [])
    pages = sum(-(-size // PAGE_BYTES) for size in sizes) // len(trial.bench.bases)
    room = trial.rng.randint(0, pages + 1)
    trial.history.append(f"the disk has room for {room} pages of {PAGE_BYTES:,} bytes")
    shutil.copytree(trial.table, seen)
    try:
        host.ensure_started()
        with disk.fill(room):
            result = _perform(trial, host, written, step)
        _judge(trial, host, step, result, written, seen)
        shutil.rmtree(trial.table)
        shutil.copytree(seen, trial.table)
    finally:
        shutil.rmtree(seen, ignore_errors=True)


def run_file_size(trial: Trial, host: Host) -> None:
    """Perform an operation whose writes fail after a number of bytes of a file."""
    if not hasattr(resource, "prlimit"):
        raise NotAsked("limiting the file size of a running process needs Linux")
    step = trial.workload.draw_step(trial.base.content)
    limit = int(trial.rng.random() * trial.rng.choice(trial.bench.file_sizes.get(step.kind) or [1000]))
    trial.history.append(f"no file may grow beyond {limit:,} bytes")
    host.ensure_started()
    with _limit_file_size(host, limit):
        result = _perform(trial, host, trial.table, step)
    _judge(trial, host, step, result, trial.table, trial.table)


def run_read_only(trial: Trial, host: Host) -> None:
    """Perform an operation without write permission on directories of the table."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        raise NotAsked("root ignores permissions, and there is no setpriv to drop that capability")
    step = trial.workload.draw_step(trial.base.content)
    what = trial.rng.choice(_FORBIDDEN)
    trial.history.append(f"no permission to write in {what}")
    host.ensure_started()
    with _forbid_writes(trial.table, what):
        result = _perform(trial, host, trial.table, step)
    _judge(trial, host, step, result, trial.table, trial.table)


def _perform(trial: Trial, host: Host, table: Path, step: Step) -> Refused | Died | None:
    """Return how an operation failed, or None."""
    try:
        trial.note(step, request(host, table, step, trial.directory, note=trial.bench.note))
    except (Refused, Died) as error:
        trial.note(step, error)
        return error
    return None


def _judge(trial: Trial, host: Host, step: Step, failure: Refused | Died | None, written: Path, seen: Path) -> None:
    """Judge the answer and the table, and write once more.

    Args:
        written: the table, as the candidate sees it.
        seen: the table, as this process sees it.
    """
    before, after = trial.base.content, apply_step(trial.base.content, step)
    if isinstance(failure, Died):
        trial.record_death(failure, get_title(step))
    found = trial.judge([after] if failure is None else [before, after], seen)
    if isinstance(failure, Refused):
        if failure.refusal.category != "io":
            trial.weak.append(f"{get_title(step)}: expected the category io, found {failure}")
        if found == 1:
            trial.weak.append(f"{get_title(step)} failed, but the table has the rows after it")
    if found is not None:
        trial.check_recovery(host, before if failure is not None and found == 0 else after, written, lambda: seen)


@contextmanager
def _limit_file_size(host: Host, limit: int) -> Iterator[None]:
    assert host.process_group is not None
    assert sys.platform == "linux"
    changed = {pid: resource.prlimit(pid, resource.RLIMIT_FSIZE) for pid in list_group(host.process_group)}
    for pid, (_, hard) in changed.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        for pid, limits in changed.items():
            try:
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
            except ProcessLookupError:  # the operation killed it, which is part of the result
                continue


@contextmanager
def _forbid_writes(table: Path, what: str) -> Iterator[None]:
    directories = [table, *(each for each in table.rglob("*") if each.is_dir())]
    in_log = {each: each.relative_to(table).parts[:1] == (LOG,) for each in directories}
    chosen = {
        each: each.stat().st_mode
        for each in directories
        if what == "every directory" or in_log[each] == (what == "the log directory")
    }
    for each in chosen:
        each.chmod(0o555)
    try:
        yield
    finally:
        for each, mode in chosen.items():
            each.chmod(mode)
