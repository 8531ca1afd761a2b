"""A directory with the progress of a run, from which another run can resume.

Progress is saved as *records*: pickled values, each in its own file that is written atomically. Loading a pickle
executes code. Therefore the user must own the directory, nobody else may write to it, and a record is loaded only if
its digest matches this state. Never resume from a state directory that somebody else gave you.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from deltaspec.errors import InvalidUsage
from deltaspec.output_files import is_temporary, translate_write_errors, write_file
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.resume.resume_key import Key, check_key, to_bytes
from deltaspec.wire.storage.interface import Store

KEY_FILE = "key.json"
_LOCK, _REPORT = "lock", "report"
_RECORD, _ROWS = ".record", ".rows"
_MAGIC = b"deltaspec record\n"


@contextmanager
def open_resume_folder(place: str, key: Key, store: Store, *, resume: bool) -> Iterator[ResumeFolder]:
    """Open a state directory for one run, and create it if it does not exist.

    Args:
        place: a local directory.
        key: of the run.
        store: the table, in which nothing may be written.
        resume: continue from the state in the directory. Without a state, the run starts from the beginning.

    Raises:
        InvalidUsage: the directory has a state and `resume` is false; the state belongs to another run; another run is
            using the directory; the user does not own it; it is in a table; or it cannot be created.
    """
    if "://" in place:
        raise InvalidUsage(f"{place}: the embedded backend saves its state in a local directory only")
    folder = require_private_directory(place, store)
    names = set(os.listdir(folder))
    if KEY_FILE not in names and any(name != _LOCK and not is_temporary(name) for name in names):
        raise InvalidUsage(f"{place}: contains files that belong to no state; name an empty or new directory")
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise InvalidUsage(f"{place}: cannot be written: {fault.strerror}") from fault
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise InvalidUsage(f"{place}: another run is using this directory; wait for it, or stop it") from fault
        if (folder / KEY_FILE).exists():
            if not resume:
                raise InvalidUsage(
                    f"{place}: contains a state; add --resume to continue from it, or name another directory"
                )
            check_key(place, (folder / KEY_FILE).read_bytes(), key)
        yield ResumeFolder(place, folder, key)
    finally:
        os.close(lock)


class ResumeFolder:
    """The records of one state."""

    def __init__(self, place: str, folder: Path, key: Key) -> None:
        self._place = place
        self._folder = folder
        self._salt = sha256(to_bytes(key)).digest()
        if not (folder / KEY_FILE).exists():
            self._write(KEY_FILE, to_bytes(key))
        done = {path.stem for path in folder.glob(f"*{_RECORD}")}
        for path in folder.iterdir():
            if is_temporary(path.name) or (path.suffix == _ROWS and path.stem not in done):
                path.unlink()  # left by a step that did not finish
        if _REPORT in done:
            self._delete_all_but_report()

    def load(self, name: str) -> Any:
        """Load the value of a record; None if there is none. Raise `InvalidUsage` if it is damaged."""
        try:
            data = (self._folder / f"{name}{_RECORD}").read_bytes()
        except FileNotFoundError:
            return None
        start = len(_MAGIC)
        digest, content = data[start : start + 32], data[start + 32 :]
        if data[:start] != _MAGIC or digest != self._digest(name, content):
            raise self.damaged_error()
        return pickle.loads(content)

    def save(self, name: str, value: Any) -> None:
        """Save a value, which must not be None."""
        content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        self._write(f"{name}{_RECORD}", b"".join((_MAGIC, self._digest(name, content), content)))

    def rows(self, name: str) -> Path:
        """Return the file with the rows of a record. It is complete if the record exists."""
        return self._folder / f"{name}{_ROWS}"

    def sync(self) -> None:
        """Flush all records to disk, so that they survive a power failure."""
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @property
    def report(self) -> Any:
        """Report of the finished run; None if it has not finished."""
        return self.load(_REPORT)

    def save_report(self, report: Any) -> None:
        """Save the report of a finished run, and delete all other records."""
        self.save(_REPORT, report)
        self.sync()
        self._delete_all_but_report()

    def damaged_error(self) -> InvalidUsage:
        """Return the error for a state from which no run can resume."""
        return InvalidUsage(f"{self._place}: its state is damaged; name another directory")

    def _delete_all_but_report(self) -> None:
        for path in self._folder.iterdir():
            if path.suffix == _ROWS or (path.suffix == _RECORD and path.stem != _REPORT):
                path.unlink(missing_ok=True)

    def _digest(self, name: str, content: bytes) -> bytes:
        return sha256(b"\0".join((self._salt, name.encode(), content))).digest()

    @contextmanager
    def translate_write_errors(self) -> Iterator[None]:
        """Translate errors of the file system into `InvalidUsage`."""
        with translate_write_errors(self._place):
            yield

    def _write(self, name: str, data: bytes) -> None:
        write_file(self._folder / name, data, self._place)


def require_private_directory(place: str, store: Store) -> Path:
    """Return a directory outside of tables that only the user can write to, and create it if it does not exist.

    Raises:
        InvalidUsage: it is in a table, others can write to it, or it cannot be created.
    """
    require_outside_table(place, store.root)
    folder = Path(os.path.realpath(place))
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.stat()
    except OSError as fault:
        raise InvalidUsage(f"{place}: cannot be created or read: {fault.strerror}") from fault
    if not stat.S_ISDIR(status.st_mode):
        raise InvalidUsage(f"{place}: is not a directory")
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise InvalidUsage(
            f"{place}: other users can write to this directory, so its state is not trusted; name one with mode 0700"
        )
    return folder
