"""Read a plan folder: `plan.json`, and the files that it lists. Nothing of it is trusted."""

import os
import stat
from hashlib import sha256
from pathlib import Path

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.repair.plan_format import LogFileDigest, RepairPlan
from deltaspec.repair.plan_writer import FILES, PLAN_FILE

MAX_PLAN_BYTES = 64 << 20
MAX_CONTENT_BYTES = 1 << 30
"""Limit of all files of a plan together, because they are in memory while the plan is applied."""


class LoadedPlan(msgspec.Struct, frozen=True):
    """A plan with the content of the files that it writes."""

    folder: Path
    plan: RepairPlan
    sha256: str
    """Of `plan.json`, which has the digests of all other files."""
    contents: dict[str, bytes]
    """By name relative to `_delta_log`: the commit and the other new files."""

    @property
    def token(self) -> str:
        """Part of the names of temporary files, by which a later process with this plan knows them."""
        return self.sha256[:16]


def load_plan(place: str | os.PathLike[str]) -> LoadedPlan:
    """Read a plan folder, and compare the size and digest of each of its files with the plan.

    Raises:
        InvalidUsage: there is no plan, it does not match the schema or its files, or other users can write to it.
    """
    folder = Path(os.path.realpath(place))
    _require_private(place, folder)
    data = _read(folder / PLAN_FILE, MAX_PLAN_BYTES)
    try:
        plan = msgspec.json.decode(data, type=RepairPlan)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise InvalidUsage(f"{folder / PLAN_FILE}: is not a plan: {fault}") from fault
    listed = [*([] if plan.commit is None else [plan.commit]), *plan.writes]
    if sum(each.size_bytes for each in listed) > MAX_CONTENT_BYTES:
        raise InvalidUsage(f"{folder / PLAN_FILE}: its files have more than {MAX_CONTENT_BYTES:,} bytes")
    contents = {each.name: _read_content(folder, each) for each in listed}
    return LoadedPlan(folder, plan, sha256(data).hexdigest(), contents)


def _require_private(place: str | os.PathLike[str], folder: Path) -> None:
    """Raise `InvalidUsage` unless only the user can change a folder: the plan decides what is written."""
    try:
        facts = folder.stat()
    except OSError as fault:
        raise InvalidUsage(f"{place}: cannot be read: {fault.strerror}") from fault
    if not stat.S_ISDIR(facts.st_mode):
        raise InvalidUsage(f"{place}: is not a directory; name the folder that `deltaspec repair` wrote")
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise InvalidUsage(f"{place}: other users can change this plan; own it, and run `chmod go-w {place}`")


def _read_content(folder: Path, listed: LogFileDigest) -> bytes:
    """Return the content of a new file of the log."""
    parts = listed.name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in listed.name:
        raise InvalidUsage(f"{folder / PLAN_FILE}: {listed.name!r} is not the name of a file")
    data = _read(folder.joinpath(FILES, *parts), listed.size_bytes)
    if len(data) != listed.size_bytes or sha256(data).hexdigest() != listed.sha256:
        raise InvalidUsage(f"{folder / FILES / listed.name}: differs from the size or digest in the plan")
    return data


def _read(path: Path, limit: int) -> bytes:
    """Return the content of a regular file that no link leads to."""
    try:
        if os.path.realpath(path) != str(path):
            raise InvalidUsage(f"{path}: leads through a link")
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InvalidUsage(f"{path}: is not a regular file")
            data = file.read(limit + 1)
    except OSError as fault:
        raise InvalidUsage(f"{path}: cannot be read: {fault.strerror}") from fault
    if len(data) > limit:
        raise InvalidUsage(f"{path}: has more than {limit:,} bytes")
    return data
