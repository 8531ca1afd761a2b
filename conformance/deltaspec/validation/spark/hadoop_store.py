"""Read a table through Hadoop's FileSystem in the JVM of a classic Spark session.

It reaches everything that Spark is configured for, with Spark's credentials, but only from the driver. Spark Connect
has no JVM in reach. The only files written are unlinked temporary files on the driver: py4j transfers 7 MB/s, a file
that both processes have open some hundreds.
"""

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

from deltaspec.errors import InvalidUsage, TableUnreadable
from deltaspec.validation.spark.java_bridge import (
    DENIED,
    GONE,
    FileFacts,
    Listed,
    Transfer,
    collect_causes,
    format_cause,
)
from deltaspec.validation.spark.log_fetch import build_hadoop_uri
from deltaspec.wire.storage.block_reader import BlockReader
from deltaspec.wire.storage.client import check_size
from deltaspec.wire.storage.interface import (
    CHUNK_BYTES,
    LISTED_FOLDERS,
    LOG_DIRECTORY,
    Entry,
    FileGone,
    NoPermission,
    StorageError,
    Store,
    check_inside_table,
    describe_irregular_file,
    has_log_file_name,
    redact_uri,
)
from deltaspec.wire.storage.local import LocalStore
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARALLEL_LISTINGS = 8
_READ_POLICY = "fs.option.openfile.read.policy"
_RANDOM, _SEQUENTIAL = "random", "whole-file, sequential"


def driver_store(spark: "SparkSession", uri: str, settings: StorageSettings = ENVIRONMENT) -> Store:
    """Return the store through which the driver of a classic session reads a table.

    A local directory is read without Java, which skips names it cannot decode and reports files without permission as
    missing. The settings are only for files outside of the table; for the table itself, Spark's are used.

    Raises:
        InvalidUsage: the session has no JVM in reach, as on Spark Connect.
        TableUnreadable: Spark has no file system for the URI, or its client rejects the URI.
    """
    store = HadoopStore(spark, uri, settings)
    return LocalStore(store.local_path, settings) if store.local_path is not None else store


class HadoopStore:
    """A `Store` over a directory of a Hadoop file system.

    Thread-safe. It cannot be pickled: executors have no JVM to read through.
    """

    def __init__(self, spark: "SparkSession", uri: str, settings: StorageSettings = ENVIRONMENT) -> None:
        """Open a table's file system without checking that the table exists. Raises as `driver_store` does."""
        self.settings = settings
        self.uri = redact_uri(uri)
        self.is_remote = True
        session: Any = spark
        try:
            jvm, hadoop = session._jvm, session._jsparkSession.sessionState().newHadoopConf()
        except Exception:  # noqa: BLE001 - each version of Connect raises a different error
            raise InvalidUsage(
                "Spark Connect cannot use Hadoop's file systems; use a classic session, or pass storage options"
            ) from None
        try:
            path = jvm.org.apache.hadoop.fs.Path(build_hadoop_uri(uri))
            system = path.getFileSystem(hadoop)
            qualified = system.makeQualified(path).toUri()
            self._scheme, self._authority = qualified.getScheme(), qualified.getAuthority()
            self._base = qualified.getPath().rstrip("/")
            if self._scheme == "file":
                # the default one verifies hidden `.crc` files, which are not part of the table, and rejects colons
                system = jvm.org.apache.hadoop.fs.RawLocalFileSystem()
                system.initialize(qualified, hadoop)
            self._system = system
            self._facts, self._new_path, self._transfer = FileFacts(jvm), jvm.org.apache.hadoop.fs.Path, Transfer(jvm)
        except Exception as fault:  # noqa: BLE001 - any error of the storage client
            raise TableUnreadable(f"{self.uri}: {format_cause(collect_causes(fault))}") from None
        self.local_path = (self._base or "/") if self._scheme == "file" else None
        """Path of the table on the driver's disk, or None."""
        if self.local_path is not None:
            self.root: str | None = self.local_path
        elif "://" in uri:
            self.root = unquote(self.uri).rstrip("/")
        else:
            self.root = f"{self._scheme}://{self._authority or ''}{self._base}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a HadoopStore cannot leave the driver: executors have no JVM to read through")

    def list_log(self) -> list[Entry]:
        found: list[Entry] = []
        for folder in ("", *(f"{each}/" for each in LISTED_FOLDERS)):
            try:
                items = self._list(f"{LOG_DIRECTORY}/{folder}")
            except FileGone:
                if not folder:
                    raise TableUnreadable(
                        f"{self.uri}: has no {LOG_DIRECTORY} directory; pass the root directory of the table"
                    ) from None
                continue
            except StorageError as fault:
                raise TableUnreadable(f"{self.uri}: {LOG_DIRECTORY} cannot be listed: {fault}") from None
            found += (
                Entry(folder + name, 0 if is_folder else size, modified)
                for name, size, modified, is_folder in items
                if not is_folder or has_log_file_name(folder + name)
            )
        return sorted(found, key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        """See `Store.list_files`. Several directories are listed in parallel; all names of one are in memory."""
        with ThreadPoolExecutor(PARALLEL_LISTINGS) as pool:
            folders, pending = [""], dict[Future[list[Listed]], str]()
            while folders or pending:
                while folders and len(pending) < 2 * PARALLEL_LISTINGS:
                    folder = folders.pop()
                    pending[pool.submit(self._list, folder)] = folder
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    folder = pending.pop(future)
                    try:
                        items = future.result()
                    except StorageError as fault:
                        shown = folder or "."
                        yield StorageError(f"{shown}: cannot be listed: {str(fault).removeprefix(f'{shown}: ')}")
                        continue
                    for name, size, modified, is_folder in items:
                        if not is_folder:
                            yield Entry(folder + name, size, modified)
                        elif folder or name != LOG_DIRECTORY:
                            folders.append(f"{folder}{name}/")

    def _list(self, folder: str) -> list[Listed]:
        with self._translate_errors(folder or "."):
            return self._facts.collect(self._system.listStatusIterator(self._path(folder)))

    def read(self, path: str, limit: int) -> bytes:
        with self._open_for_reading(path, _SEQUENTIAL) as (stream, size):
            check_size(path, size, limit)
            chunks: list[bytes] = []
            length = 0
            for chunk in self._iter_chunks(stream):
                chunks.append(chunk)
                length += len(chunk)
                check_size(path, length, limit)
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with self._open_for_reading(path, _RANDOM) as (stream, size):
            return self._read_range(stream, start, min(length, size - start))

    def size(self, path: str) -> int:
        with self._translate_errors(path):
            return int(self._status(path).getLen())

    def chunks(self, path: str) -> Iterator[bytes]:
        with self._open_for_reading(path, _SEQUENTIAL) as (stream, _):
            yield from self._iter_chunks(stream)

    def open_seekable(self, path: str) -> Any:
        with self._translate_errors(path):
            status = self._status(path)
            stream, size = self._open(status, _RANDOM), int(status.getLen())

        blocks = BlockReader(size, lambda start, end: self.read_open_range(path, stream, start, end), end=stream.close)
        blocks.fetch_tail()
        return blocks

    def read_open_range(self, path: str, stream: Any, start: int, end: int) -> bytes:
        """Read a range of an open file; raise `StorageError` if the file has become shorter."""
        with self._translate_errors(path):
            data = self._read_range(stream, start, end - start)
        if len(data) != end - start:
            raise StorageError(f"{path}: is shorter than when it was opened")
        return data

    @contextmanager
    def _open_for_reading(self, path: str, policy: str) -> Iterator[tuple[Any, int]]:
        with self._translate_errors(path):
            status = self._status(path)
            stream = self._open(status, policy)
            try:
                yield stream, int(status.getLen())
            finally:
                with suppress(Exception):
                    stream.close()

    def _path(self, path: str) -> Any:
        """Build a Hadoop path from parts: in a single string a colon would end the scheme."""
        return self._new_path(self._scheme, self._authority, f"{self._base}/{check_inside_table(path)}")

    def _status(self, path: str) -> Any:
        status = self._system.getFileStatus(self._path(path))
        regular = not status.isDirectory() and not path.endswith("/")
        if regular and self.local_path is not None:
            regular = os.path.isfile(f"{self._base}/{path}")  # opening a FIFO waits for a writer
        if not regular:
            raise StorageError(describe_irregular_file(path, is_directory=status.isDirectory()))
        return status

    def _open(self, status: Any, policy: str) -> Any:
        """Open a stream. Passing the status saves object stores a request and pins the version of the file."""
        builder = self._system.openFile(status.getPath()).opt(_READ_POLICY, policy)
        return builder.withFileStatus(status).build().get()

    def _iter_chunks(self, stream: Any) -> Iterator[bytes]:
        while chunk := self._transfer.read_next(stream, CHUNK_BYTES):
            yield chunk

    def _read_range(self, stream: Any, start: int, length: int) -> bytes:
        if length <= 0:
            return b""
        stream.seek(start)
        parts = []
        while length > 0 and (chunk := self._transfer.read_next(stream, min(length, CHUNK_BYTES))):
            parts.append(chunk)
            length -= len(chunk)
        return b"".join(parts)

    @contextmanager
    def _translate_errors(self, path: str) -> Iterator[None]:
        """Translate exceptions of Java or py4j about `path` into `StorageError`."""
        try:
            yield
        except StorageError:
            raise
        except Exception as fault:  # noqa: BLE001 - any error of the storage client
            causes = collect_causes(fault)
            if self.local_path is not None:
                self._check_local(path)
            if any(name in DENIED or message.endswith("(Permission denied)") for name, message in causes):
                raise NoPermission(f"{path}: no permission to read") from None
            if any(name in GONE for name, _ in causes) and self.local_path is None:
                raise FileGone(f"{path}: does not exist") from None
            raise StorageError(f"{path}: {format_cause(causes)}") from None

    def _check_local(self, path: str) -> None:
        """Raise the actual problem with a local path: Java reports everything it cannot open as missing."""

        try:
            os.stat(f"{self._base}/{path}")
        except FileNotFoundError:
            raise FileGone(f"{path}: does not exist") from None
        except PermissionError:
            raise NoPermission(f"{path}: no permission to read") from None
        except (OSError, ValueError) as fault:
            raise StorageError(f"{path}: {getattr(fault, 'strerror', None) or fault}") from None
