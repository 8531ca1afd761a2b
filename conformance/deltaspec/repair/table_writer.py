"""Write access to the log of a table: the only module of the kit that changes a table that a user named.

A writer creates files that do not exist, and deletes files; it never replaces one. Only `deltaspec.repair` uses it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeAlias

from deltaspec.repair.refusal import PlanRefused
from deltaspec.wire.storage.factory import OBJECT_SCHEMES, split_supported_uri
from deltaspec.wire.storage.interface import LOG_DIRECTORY, FileGone, StorageError, decode_file_uri
from deltaspec.wire.storage.object_store import ObjectStore
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

Stamp: TypeAlias = tuple[Any, ...]
"""Changes when a file is replaced: size with time of modification, inode number or entity tag."""
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_IS_LINK = (errno.ELOOP, errno.ENOTDIR)


class TableWriter(Protocol):
    """Write access to `_delta_log`. Names are relative to it. Methods raise `StorageError` if the store fails."""

    def create(self, name: str, data: bytes) -> bool:
        """Write a file that does not exist, completely or not at all; return whether it did not exist.

        Raises:
            PlanRefused: the store cannot do that, or the name leads through a link.
        """
        ...

    def delete(self, name: str) -> None:
        """Delete a file; a file that does not exist is no error."""
        ...

    def stamp(self, name: str) -> Stamp | None:
        """Return what identifies the content of a file without reading it; None if there is no file.

        Raises:
            PlanRefused: it is not a regular file.
        """
        ...

    def list_temporary(self) -> list[str]:
        """Return the names of the files that a killed process with the same token may have left."""
        ...

    def close(self) -> None:
        """Close what the writer holds open."""
        ...


@contextmanager
def open_table_writer(uri: str, token: str, settings: StorageSettings = ENVIRONMENT) -> Iterator[TableWriter]:
    """Open the log of a table for writing, for a block; nothing is written yet.

    Args:
        uri: path or URI of the table.
        token: part of the names of temporary files, which identifies them to a later process.
        settings: of the storage client.

    Raises:
        PlanRefused: the store cannot create a file only if it does not exist, or the log is a link.
        InvalidUsage: as `split_supported_uri`.
    """
    parts = split_supported_uri(uri)
    writer: TableWriter
    if parts is None or parts.scheme == "file":
        writer = LocalTableWriter(uri if parts is None else decode_file_uri(uri), token)
    elif parts.scheme in OBJECT_SCHEMES:
        writer = ObjectTableWriter(uri, token, settings)
    else:
        raise PlanRefused(
            f"a table in {parts.scheme} is not written: its client cannot create a file only if it does not exist"
        )
    try:
        yield writer
    finally:
        writer.close()


def require_exclusive_creation(writer: TableWriter, token: str) -> None:
    """Create a temporary file in the log twice, and delete it: a store that overwrites it would overwrite commits.

    Raises:
        PlanRefused: the second attempt succeeded.
        StorageError: the store cannot be written.
    """
    name = f".deltaspec-{token}-probe.tmp"
    writer.delete(name)
    try:
        if not writer.create(name, b"first") or writer.create(name, b"second"):
            raise PlanRefused("the store overwrites a file although it must not exist, so it could overwrite a commit")
    finally:
        writer.delete(name)


class LocalTableWriter:
    """The log in a local directory. A file is written under a temporary name and linked to its own.

    No link in the path below the table is followed.
    """

    def __init__(self, path: str, token: str) -> None:
        self._token = token
        self._temporary = f".deltaspec-{token}.tmp"
        try:
            table = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as fault:
            raise StorageError(f"{path}: {fault.strerror}") from fault
        try:
            self._log = _open_directory(LOG_DIRECTORY, table)
        finally:
            os.close(table)

    def close(self) -> None:
        os.close(self._log)

    def create(self, name: str, data: bytes) -> bool:
        if "/" in name:
            with suppress(FileExistsError):
                os.mkdir(name.rpartition("/")[0], dir_fd=self._log)
        folder, base = self._open_parent(name)
        try:
            with suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=folder)
            self._write_temporary(folder, data)
            try:
                os.link(self._temporary, base, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                return False
            except OSError as fault:
                if fault.errno in _NO_LINKS:
                    raise PlanRefused(
                        f"the file system of the table has no hard links ({fault.strerror}), so that deltaspec cannot "
                        "create a commit only if it does not exist"
                    ) from fault
                raise
            finally:
                os.unlink(self._temporary, dir_fd=folder)
                os.fsync(folder)
            return True
        except OSError as fault:
            raise StorageError(f"{LOG_DIRECTORY}/{name}: cannot be written: {fault.strerror}") from fault
        finally:
            os.close(folder)

    def delete(self, name: str) -> None:
        try:
            folder, base = self._open_parent(name)
        except FileGone:
            return
        try:
            os.unlink(base, dir_fd=folder)
            os.fsync(folder)
        except FileNotFoundError:
            return
        except OSError as fault:
            raise StorageError(f"{LOG_DIRECTORY}/{name}: cannot be deleted: {fault.strerror}") from fault
        finally:
            os.close(folder)

    def stamp(self, name: str) -> Stamp | None:
        try:
            folder, base = self._open_parent(name)
        except FileGone:
            return None
        try:
            facts = os.stat(base, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise StorageError(f"{LOG_DIRECTORY}/{name}: {fault.strerror}") from fault
        finally:
            os.close(folder)
        if not stat.S_ISREG(facts.st_mode):
            raise PlanRefused(f"{LOG_DIRECTORY}/{name}: is a link or not a regular file, so it is not changed")
        return facts.st_size, facts.st_mtime_ns, facts.st_ino

    def list_temporary(self) -> list[str]:
        found = [name for name in os.listdir(self._log) if name.startswith(f".deltaspec-{self._token}")]
        with suppress(StorageError, PlanRefused):
            folder = _open_directory("_sidecars", self._log)
            try:
                found += [f"_sidecars/{name}" for name in os.listdir(folder) if name == self._temporary]
            finally:
                os.close(folder)
        return found

    def _open_parent(self, name: str) -> tuple[int, str]:
        """Return a descriptor of the directory of a file, and its name in it. Raise `FileGone` if there is none."""
        parent, slash, base = name.rpartition("/")
        return (_open_directory(parent, self._log) if slash else os.dup(self._log)), base

    def _write_temporary(self, folder: int, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self._temporary, flags, 0o666, dir_fd=folder)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        except OSError:
            os.unlink(self._temporary, dir_fd=folder)
            raise
        finally:
            os.close(handle)


class ObjectTableWriter(ObjectStore):
    """The log in an object store that creates an object only if its name is free (`If-None-Match: *`)."""

    def __init__(self, uri: str, token: str, settings: StorageSettings = ENVIRONMENT) -> None:
        super().__init__(uri, settings)
        self._token = token

    def create(self, name: str, data: bytes) -> bool:
        path = f"{LOG_DIRECTORY}/{name}"
        is_new = self._request(path, lambda: self._put_new(path, data))
        if is_new is None:
            raise PlanRefused("the store cannot create an object only if its name is free")
        return is_new

    def _put_new(self, path: str, data: bytes) -> bool | None:
        """Return whether an object was created; None if the store does not know the condition."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError

        self._wait()
        try:
            obstore.put(self._store, path, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        except (NotImplementedError, NotSupportedError):
            return None
        return True

    def delete(self, name: str) -> None:
        import obstore

        path = f"{LOG_DIRECTORY}/{name}"
        self._wait()
        with suppress(FileGone):
            self._request(path, lambda: obstore.delete(self._store, path))

    def stamp(self, name: str) -> Stamp | None:
        path = f"{LOG_DIRECTORY}/{name}"
        try:
            meta = self._request(path, lambda: self._head(path))
        except FileGone:
            return None
        return meta["size"], meta["e_tag"], meta["last_modified"]

    def list_temporary(self) -> list[str]:
        start = f".deltaspec-{self._token}"
        return [entry.name for entry in self.list_log() if entry.name.startswith(start)]

    def close(self) -> None:
        """Do nothing: the client holds nothing open."""


def _open_directory(name: str, parent: int) -> int:
    """Open a directory that is not a link. Raise `PlanRefused` if it is one."""
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError as fault:
        if fault.errno in _IS_LINK:
            raise PlanRefused(f"{name}: is a link or not a directory; deltaspec writes only below the table") from fault
        if fault.errno == errno.ENOENT:
            raise FileGone(f"{name}: does not exist") from fault
        raise StorageError(f"{name}: {fault.strerror}") from fault
