"""Folders above tables: which folder is a table, and which folders are in it. Of a log, at most one page is listed.

A folder is named by its path relative to a base location, with `/` as separator; the base itself is the empty path.
Memory is bounded by the listing of one folder that is not a table, without the folders in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import msgspec

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.client import build_client_options, build_error, convert_panics, describe_error, retry
from deltaspec.wire.storage.factory import OBJECT_SCHEMES, is_local, is_uri, split_supported_uri
from deltaspec.wire.storage.interface import (
    LOG_DIRECTORY,
    NoPermission,
    StorageError,
    build_file_uri,
    decode_file_uri,
    escape_file_name,
    quote_path,
    redact_uri,
)
from deltaspec.wire.storage.rate_limit import get_rate_limit
from deltaspec.wire.storage.retries import Attempts, RetryPolicy, identify_store, mark_available
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_NO_PERMISSION = "no permission to read"


class Subfolder(msgspec.Struct, frozen=True):
    """A folder in a folder."""

    name: str
    link_target: Hashable | None = None
    """Identifies the folder that a link leads to; None for a folder."""


class Folders(Protocol):
    """The folders below a base location."""

    concurrency: int
    """How many requests should run concurrently, because they wait for a network."""

    def is_table(self, folder: str) -> bool:
        """Return whether a folder has a log.

        Raises:
            StorageError: it cannot be read.
        """
        ...

    def list_folders(self, folder: str) -> list[Subfolder]:
        """Return the folders in a folder, sorted by name; none if it does not exist.

        Raises:
            StorageError: it cannot be listed.
        """
        ...

    def get_location(self, folder: str) -> str:
        """Return the path or URI of a folder, as `open_store` accepts it."""
        ...

    def identify(self, folder: str) -> Hashable:
        """Return an identity that is the same for all paths of one folder."""
        ...


def open_folders(base: str, settings: StorageSettings = ENVIRONMENT) -> Folders:
    """Open the folders below a path or URI; nothing is read yet.

    Raises:
        InvalidUsage: the URI is malformed, its scheme is not supported, or its client has no such setting.
        TableUnreadable: the path is not a directory, or the storage client rejects the URI.
    """
    parts = split_supported_uri(base)
    if parts is None or is_local(base):
        return LocalFolders(base if parts is None else decode_file_uri(base))
    return ObjectFolders(base, settings) if parts.scheme in OBJECT_SCHEMES else ArrowFolders(base)


class LocalFolders:
    """Directories of this machine, and links to directories."""

    concurrency = 1

    def __init__(self, base: str) -> None:
        try:
            is_directory = _is_directory(base)
        except StorageError as fault:
            raise TableUnreadable(f"{escape_file_name(base)}: {fault}") from fault
        if not is_directory:
            what = "is a file; name a directory" if os.path.exists(base) else "no such file or directory"
            raise TableUnreadable(f"{escape_file_name(base)}: {what}")
        self._base = base

    def get_location(self, folder: str) -> str:
        path = self._get_path(folder)
        # a list of tables has one a line, without white space at its ends and without comments; `-` begins an option
        if path.isprintable() and path == path.strip() and not path.startswith(("#", "-")) and not is_uri(path):
            return path
        return build_file_uri(path)

    def identify(self, folder: str) -> Hashable:
        return os.path.realpath(self._get_path(folder))

    def is_table(self, folder: str) -> bool:
        return _is_directory(os.path.join(self._base, folder, LOG_DIRECTORY))

    def list_folders(self, folder: str) -> list[Subfolder]:
        try:
            with os.scandir(self._get_path(folder)) as entries:
                found = [_read_subfolder(entry) for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except PermissionError as fault:
            raise NoPermission(_NO_PERMISSION) from fault
        except OSError as fault:
            raise StorageError(fault.strerror or str(fault)) from fault
        return sorted((each for each in found if each is not None), key=lambda each: each.name)

    def _get_path(self, folder: str) -> str:
        return os.path.join(self._base, folder) if folder else self._base


def _is_directory(path: str) -> bool:
    """Return whether a path is a directory. Raise `NoPermission` if this cannot be found out."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except PermissionError as fault:
        raise NoPermission(_NO_PERMISSION) from fault
    except (OSError, ValueError):
        return False


def _read_subfolder(entry: os.DirEntry[str]) -> Subfolder | None:
    """Return an entry of a directory if it is a directory or leads to one."""
    try:
        if not entry.is_dir():
            return None
        if not entry.is_symlink():
            return Subfolder(entry.name)
        facts = entry.stat()
    except PermissionError:
        return Subfolder(entry.name)  # a link to a folder that cannot be read, which its visit reports
    except OSError:
        return None  # gone since, or a link into nothing or itself
    return Subfolder(entry.name, (facts.st_dev, facts.st_ino))


class ObjectFolders:
    """Prefixes in an object store, listed with a delimiter."""

    concurrency = 16

    def __init__(self, base: str, settings: StorageSettings) -> None:
        from obstore.store import from_url

        scheme, _, rest = base.partition("://")
        self._base = base
        self._settings = settings
        self._limit = get_rate_limit(settings)
        self._policy = RetryPolicy.from_settings(settings)
        self._place = identify_store(base, settings)
        options = build_client_options(scheme.lower(), self._policy, settings)
        try:
            with convert_panics():
                self._store = from_url(f"gs://{rest}" if scheme.lower() == "gcs" else base, **options)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            raise TableUnreadable(f"{redact_uri(base)}: {describe_error(fault, settings)}") from None

    def get_location(self, folder: str) -> str:
        return _append(self._base, folder)

    def identify(self, folder: str) -> Hashable:
        return folder

    def is_table(self, folder: str) -> bool:
        import obstore

        log = f"{folder}/{LOG_DIRECTORY}".lstrip("/")
        return any(self._request(lambda: next(iter(obstore.list(self._store, prefix=log)), [])))

    def list_folders(self, folder: str) -> list[Subfolder]:
        import obstore

        found = self._request(lambda: obstore.list_with_delimiter(self._store, prefix=folder)["common_prefixes"])
        return [Subfolder(name) for name in sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found)]

    def _request(self, request: Callable[[], Any]) -> Any:
        attempts = Attempts(self._policy, self._place)

        def send() -> Any:
            if self._limit is not None:
                self._limit.wait()
            return request()

        try:
            found = retry(send, attempts)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            raise build_error("", fault, self._settings, attempts) from None
        mark_available(self._place)
        return found


class ArrowFolders:
    """Directories in a file system of pyarrow, such as HDFS."""

    concurrency = 16

    def __init__(self, base: str) -> None:
        from pyarrow import fs

        self._base = base
        try:
            self._system, path = fs.FileSystem.from_uri(base)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            raise TableUnreadable(f"{redact_uri(base)}: {describe_error(fault)}") from None
        self._path = path.rstrip("/")

    def get_location(self, folder: str) -> str:
        return _append(self._base, folder)

    def identify(self, folder: str) -> Hashable:
        return folder

    def is_table(self, folder: str) -> bool:
        from pyarrow import fs

        (found,) = self._request(lambda: self._system.get_file_info([f"{self._path}/{folder}/{LOG_DIRECTORY}"]))
        return bool(found.type == fs.FileType.Directory)

    def list_folders(self, folder: str) -> list[Subfolder]:
        from pyarrow import fs

        selector = fs.FileSelector(f"{self._path}/{folder}".rstrip("/") or "/", allow_not_found=True)
        found = self._request(lambda: self._system.get_file_info(selector))
        return [
            Subfolder(name) for name in sorted(item.base_name for item in found if item.type == fs.FileType.Directory)
        ]

    def _request(self, request: Callable[[], Any]) -> Any:
        try:
            return request()
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            raise StorageError(describe_error(fault)) from None


def _append(uri: str, folder: str) -> str:
    """Return the URI of a folder below another, with the query of the parent's URI."""
    path, mark, query = uri.partition("?")
    return f"{path.rstrip('/')}/{quote_path(folder)}".rstrip("/") + mark + query
