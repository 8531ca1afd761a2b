"""A directory that keeps what a run has done, so that another one goes on where it was killed.

What is done is kept in *records*: values, pickled, in files of their own that are there whole or not at all. Pickles
are programs: the directory has to be the user's own, nobody else may write to it, and a record whose digest is not that
of this state is not loaded. Who gives somebody else a state directory gives him a program to run.
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
from deltaspec.validation.output_location import require_outside_table
from deltaspec.validation.resume.resume_key import Key, check_key, to_bytes
from deltaspec.wire.storage.interface import Store

KEY_FILE = "key.json"
_LOCK, _REPORT = "lock", "report"
_RECORD, _ROWS, _PART = ".record", ".rows", ".part"
_MAGIC = b"deltaspec record\n"


@contextmanager
def open_resume_folder(place: str, key: Key, store: Store, *, resume: bool) -> Iterator[ResumeFolder]:
    """Open a state directory for one run; it is made where it is not there.

    Args:
        place: a local directory.
        key: of the run.
        store: the table, in which nothing is kept.
        resume: go on with the state that the directory holds. Where it holds none the run begins.

    Raises:
        InvalidUsage: the directory holds a state, and it is not to be gone on with, or is that of another run; another
            run is at work in it; it is not the user's own; it lies in a table, or cannot be made.
    """
    if "://" in place:
        raise InvalidUsage(f"{place}: the embedded engine keeps its state in a local directory")
    folder = require_private_directory(place, store)
    names = set(os.listdir(folder))
    if KEY_FILE not in names and names - {_LOCK, f"{KEY_FILE}{_PART}"}:
        raise InvalidUsage(f"{place}: holds files that are no state; name an empty directory, or one to be made")
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise InvalidUsage(f"{place}: cannot be written to: {fault.strerror}") from fault
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            raise InvalidUsage(f"{place}: another run keeps its state there; wait for it, or stop it") from fault
        if (folder / KEY_FILE).exists():
            if not resume:
                raise InvalidUsage(f"{place}: holds a state; add --resume to go on with it, or name another directory")
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
            if path.suffix == _PART or (path.suffix == _ROWS and path.stem not in done):
                path.unlink()  # of what was not ended
        if _REPORT in done:
            self._let_go()

    def load(self, name: str) -> Any:
        """The value of a record; None where there is none. Raises `InvalidUsage` where it is damaged."""
        try:
            data = (self._folder / f"{name}{_RECORD}").read_bytes()
        except FileNotFoundError:
            return None
        head = len(_MAGIC)
        digest, content = data[head : head + 32], data[head + 32 :]
        if data[:head] != _MAGIC or digest != self._digest(name, content):
            raise self.damaged_error()
        return pickle.loads(content)

    def save(self, name: str, value: Any) -> None:
        """Keep a value, which is no None."""
        content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
        self._write(f"{name}{_RECORD}", b"".join((_MAGIC, self._digest(name, content), content)))

    def rows(self, name: str) -> Path:
        """The file of the rows that belong to a record, which tells that they are whole."""
        return self._folder / f"{name}{_ROWS}"

    def sync(self) -> None:
        """Return when all records so far outlast a loss of power."""
        place = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(place)
        finally:
            os.close(place)

    @property
    def report(self) -> Any:
        """What the run gave that has ended; None of one that has not."""
        return self.load(_REPORT)

    def save_report(self, report: Any) -> None:
        """Keep what a run gave, and let go of what led to it."""
        self.save(_REPORT, report)
        self.sync()
        self._let_go()

    def damaged_error(self) -> InvalidUsage:
        """Says that the state cannot be gone on with."""
        return InvalidUsage(f"{self._place}: its state is damaged; name another directory")

    def _let_go(self) -> None:
        for path in self._folder.iterdir():
            if path.suffix == _ROWS or (path.suffix == _RECORD and path.stem != _REPORT):
                path.unlink(missing_ok=True)

    def _digest(self, name: str, content: bytes) -> bytes:
        return sha256(b"\0".join((self._salt, name.encode(), content))).digest()

    @contextmanager
    def translate_write_errors(self) -> Iterator[None]:
        """Turn what a file system refuses into a message. Raises `InvalidUsage`."""
        try:
            yield
        except OSError as fault:
            raise InvalidUsage(f"{self._place}: cannot be written to: {fault.strerror}") from fault

    def _write(self, name: str, data: bytes) -> None:
        part = self._folder / f"{name}{_PART}"
        with self.translate_write_errors(), part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            part.replace(self._folder / name)


def require_private_directory(place: str, store: Store) -> Path:
    """A directory of the user's own that lies outside of tables; it is made where it is not there.

    Raises:
        InvalidUsage: it is none.
    """
    require_outside_table(place, store.root)
    folder = Path(os.path.realpath(place))
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        facts = folder.stat()
    except OSError as fault:
        raise InvalidUsage(f"{place}: cannot be made, or read: {fault.strerror}") from fault
    if not stat.S_ISDIR(facts.st_mode):
        raise InvalidUsage(f"{place}: is no directory")
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise InvalidUsage(f"{place}: others may write to it, whose states are not trusted; name one of mode 0700")
    return folder
