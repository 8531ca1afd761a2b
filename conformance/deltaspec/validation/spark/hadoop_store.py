"""A table's bytes by Hadoop's FileSystem in the JVM of a classic Spark session: the one module that talks to the JVM.

It reaches whatever Spark was set up to reach, with Spark's own credentials, but from the driver alone. On Spark
Connect there is no JVM at hand. Nothing is written but scratch files without a name on the driver: py4j brings bytes
over at 7 MB/s, a file that both processes hold open at some hundred.
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
    redact_uri,
)
from deltaspec.wire.storage.local import LocalStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTINGS_AT_ONCE = 8
_READ_POLICY = "fs.option.openfile.read.policy"
_RANDOM, _WHOLE = "random", "whole-file, sequential"


def driver_store(spark: "SparkSession", uri: str) -> Store:
    """The store through which the driver of a classic session reads a table.

    A local directory is read directly: Java leaves out names that are no text to it, and takes what it may not see
    for absent.

    Raises:
        InvalidUsage: the session has no JVM at hand, as on Spark Connect.
        TableUnreadable: Spark has no file system for the URI, or its client does not take it.
    """
    store = HadoopStore(spark, uri)
    return LocalStore(store.local_path) if store.local_path is not None else store


class HadoopStore:
    """A directory of a Hadoop file system. See `deltaspec.wire.storage.interface.Store`.

    Threads may share it. It stays on the driver: a copy elsewhere would have no JVM to talk to.
    """

    def __init__(self, spark: "SparkSession", uri: str) -> None:
        """Open a table's file system; whether there is a table is not asked for yet. Raises as `driver_store`."""
        self.uri = redact_uri(uri)
        self.is_remote = True
        session: Any = spark
        try:
            jvm, settings = session._jvm, session._jsparkSession.sessionState().newHadoopConf()
        except Exception:  # noqa: BLE001 - each version of Connect says it in its own way
            raise InvalidUsage(
                "Spark Connect has no way to Hadoop's file systems; take a classic session, or give storage options"
            ) from None
        try:
            path = jvm.org.apache.hadoop.fs.Path(build_hadoop_uri(uri))
            system = path.getFileSystem(settings)
            place = system.makeQualified(path).toUri()
            self._scheme, self._authority = place.getScheme(), place.getAuthority()
            self._base = place.getPath().rstrip("/")
            if self._scheme == "file":
                # the usual one checks hidden `.crc` files, which say nothing of the table, and takes no colon in a name
                system = jvm.org.apache.hadoop.fs.RawLocalFileSystem()
                system.initialize(place, settings)
            self._system = system
            self._facts, self._new_path, self._transfer = FileFacts(jvm), jvm.org.apache.hadoop.fs.Path, Transfer(jvm)
        except Exception as fault:  # noqa: BLE001 - whatever the client says
            raise TableUnreadable(f"{self.uri}: {format_cause(collect_causes(fault))}") from None
        self.local_path = (self._base or "/") if self._scheme == "file" else None
        """Where the table lies on disks of the driver, or None."""
        if self.local_path is not None:
            self.root: str | None = self.local_path
        elif "://" in uri:
            self.root = unquote(self.uri).rstrip("/")
        else:
            self.root = f"{self._scheme}://{self._authority or ''}{self._base}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a HadoopStore stays on the driver: executors have no JVM that they could read through")

    def list_log(self) -> list[Entry]:
        found: list[Entry] = []
        for folder in ("", *(f"{each}/" for each in LISTED_FOLDERS)):
            try:
                items = self._list(f"{LOG_DIRECTORY}/{folder}")
            except FileGone:
                if not folder:
                    raise TableUnreadable(
                        f"{self.uri}: holds no {LOG_DIRECTORY}; name the directory that does"
                    ) from None
                continue
            except StorageError as fault:
                raise TableUnreadable(f"{self.uri}: {LOG_DIRECTORY} cannot be listed: {fault}") from None
            found += (
                Entry(folder + name, size, modified) for name, size, modified, is_folder in items if not is_folder
            )
        return sorted(found, key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        """See `Store.list_files`. Some directories are listed at once; of one, all names are held."""
        with ThreadPoolExecutor(LISTINGS_AT_ONCE) as pool:
            folders, asked = [""], dict[Future[list[Listed]], str]()
            while folders or asked:
                while folders and len(asked) < 2 * LISTINGS_AT_ONCE:
                    folder = folders.pop()
                    asked[pool.submit(self._list, folder)] = folder
                for answer in wait(asked, return_when=FIRST_COMPLETED).done:
                    folder = asked.pop(answer)
                    try:
                        items = answer.result()
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
        with self._faults(folder or "."):
            return self._facts.of(self._system.listStatusIterator(self._path(folder)))

    def read(self, path: str, limit: int) -> bytes:
        with self._reading(path, _WHOLE) as (stream, size):
            check_size(path, size, limit)
            pieces: list[bytes] = []
            length = 0
            for piece in self._pieces(stream):
                pieces.append(piece)
                length += len(piece)
                check_size(path, length, limit)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        with self._reading(path, _RANDOM) as (stream, size):
            return self._part(stream, start, min(length, size - start))

    def size(self, path: str) -> int:
        with self._faults(path):
            return int(self._status(path).getLen())

    def chunks(self, path: str) -> Iterator[bytes]:
        with self._reading(path, _WHOLE) as (stream, _):
            yield from self._pieces(stream)

    def open_seekable(self, path: str) -> Any:
        with self._faults(path):
            status = self._status(path)
            stream, size = self._open(status, _RANDOM), int(status.getLen())

        blocks = BlockReader(size, lambda start, end: self.part(path, stream, start, end), end=stream.close)
        blocks.fetch_tail()
        return blocks

    def part(self, path: str, stream: Any, start: int, end: int) -> bytes:
        """Bytes of a file that is open; raises `StorageError` where it has become shorter."""
        with self._faults(path):
            data = self._part(stream, start, end - start)
        if len(data) != end - start:
            raise StorageError(f"{path}: is shorter than when it was opened")
        return data

    @contextmanager
    def _reading(self, path: str, policy: str) -> Iterator[tuple[Any, int]]:
        with self._faults(path):
            status = self._status(path)
            stream = self._open(status, policy)
            try:
                yield stream, int(status.getLen())
            finally:
                with suppress(Exception):
                    stream.close()

    def _path(self, path: str) -> Any:
        """A path for Hadoop, given in parts: of one text, it takes a colon for the end of a scheme."""
        return self._new_path(self._scheme, self._authority, f"{self._base}/{check_inside_table(path)}")

    def _status(self, path: str) -> Any:
        status = self._system.getFileStatus(self._path(path))
        regular = not status.isDirectory() and not path.endswith("/")
        if regular and self.local_path is not None:
            regular = os.path.isfile(f"{self._base}/{path}")  # opening a FIFO waits for a writer
        if not regular:
            raise StorageError(f"{path}: is not a regular file")
        return status

    def _open(self, status: Any, policy: str) -> Any:
        """An open stream. The status spares object stores a request, and holds them to the file that it was of."""
        builder = self._system.openFile(status.getPath()).opt(_READ_POLICY, policy)
        return builder.withFileStatus(status).build().get()

    def _pieces(self, stream: Any) -> Iterator[bytes]:
        while piece := self._transfer.read_next(stream, CHUNK_BYTES):
            yield piece

    def _part(self, stream: Any, start: int, length: int) -> bytes:
        if length <= 0:
            return b""
        stream.seek(start)
        parts = []
        while length > 0 and (piece := self._transfer.read_next(stream, min(length, CHUNK_BYTES))):
            parts.append(piece)
            length -= len(piece)
        return b"".join(parts)

    @contextmanager
    def _faults(self, path: str) -> Iterator[None]:
        """What Java or py4j raises over `path`, as one of our own exceptions."""
        try:
            yield
        except StorageError:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever the client says
            causes = collect_causes(fault)
            if self.local_path is not None:
                self._check_local(path)
            if any(name in DENIED or said.endswith("(Permission denied)") for name, said in causes):
                raise NoPermission(f"{path}: no permission to read") from None
            if any(name in GONE for name, _ in causes) and self.local_path is None:
                raise FileGone(f"{path}: is not there") from None
            raise StorageError(f"{path}: {format_cause(causes)}") from None

    def _check_local(self, path: str) -> None:
        """Raises what is known of a local path: Java calls absent whatever it cannot see or open."""
        try:
            os.stat(f"{self._base}/{path}")
        except FileNotFoundError:
            raise FileGone(f"{path}: is not there") from None
        except PermissionError:
            raise NoPermission(f"{path}: no permission to read") from None
        except (OSError, ValueError) as fault:
            raise StorageError(f"{path}: {getattr(fault, 'strerror', None) or fault}") from None
