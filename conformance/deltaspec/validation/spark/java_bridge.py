"""Transfer bytes and listings from the JVM in few calls, as each py4j call costs 1 ms; interpret Java exceptions."""

import os
import tempfile
import weakref
from collections import deque
from contextlib import suppress
from typing import Any

from deltaspec.wire.storage.client import describe_error
from deltaspec.wire.storage.interface import StorageError

_CAUSES = 8
"""Maximum length of a chain of Java causes that is followed."""


class Transfer:
    """Copy bytes of Java streams to Python through unlinked temporary files: py4j itself transfers 7 MB/s.

    The JVM appends to such a file and Python reads it. Both run on the driver's machine.
    """

    def __init__(self, jvm: Any) -> None:
        # resolved once: py4j makes one call per part of a dotted name
        self._copy, self._limited = (
            jvm.org.apache.hadoop.io.IOUtils.copyBytes,
            jvm.org.apache.hadoop.util.LimitInputStream,
        )
        self._new_sink = jvm.java.io.FileOutputStream
        self._scratches: deque[_Scratch] = deque()

    def read_next(self, stream: Any, length: int) -> bytes:
        """Read up to `length` bytes; fewer only at the end of the stream. The buffer fits them all in one request."""
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = _Scratch(self._new_sink)
        self._copy(self._limited(stream, length), scratch.sink, length, False)
        data = scratch.drain()
        self._scratches.append(scratch)
        return data


class _Scratch:
    def __init__(self, new_sink: Any) -> None:
        self._handle, name = tempfile.mkstemp(prefix="deltaspec-")
        weakref.finalize(self, os.close, self._handle)
        try:
            self.sink = new_sink(name, True)
            self.sink.write(0)
        finally:
            os.unlink(name)
        if self.drain() != b"\0":
            raise StorageError("Spark's driver does not share the directory for temporary files with this process")

    def drain(self) -> bytes:
        """Return the appended bytes and empty the file."""
        data = os.pread(self._handle, os.fstat(self._handle).st_size, 0)
        os.ftruncate(self._handle, 0)
        return data


Listed = tuple[str, int, int, bool]
"""Name, length in bytes, modification time in milliseconds, whether it is a directory."""


class FileFacts:
    """Read the facts of a listing as one NUL-separated string per fact.

    This takes the same number of calls for a million files as for one. No file name contains NUL.
    """

    def __init__(self, jvm: Any) -> None:
        proxies, types = jvm.java.lang.invoke.MethodHandleProxies, jvm.java.lang.invoke.MethodType
        lookup, loader = jvm.java.lang.invoke.MethodHandles.publicLookup(), jvm.java.lang.Thread.currentThread()
        load = loader.getContextClassLoader().loadClass
        function, text = load("java.util.function.Function"), load("java.lang.String")
        status, path = load("org.apache.hadoop.fs.FileStatus"), load("org.apache.hadoop.fs.Path")

        def method(owner: Any, name: str, return_type: Any) -> Any:
            return proxies.asInterfaceInstance(function, lookup.findVirtual(owner, name, types.methodType(return_type)))

        as_text = method(load("java.lang.Object"), "toString", text)
        self._getters = (
            method(status, "getPath", path).andThen(method(path, "getName", text)),
            method(status, "getLen", jvm.java.lang.Long.TYPE).andThen(as_text),
            method(status, "getModificationTime", jvm.java.lang.Long.TYPE).andThen(as_text),
            method(status, "isDirectory", jvm.java.lang.Boolean.TYPE).andThen(as_text),
        )
        self._to_list = jvm.org.apache.hadoop.util.functional.RemoteIterators.toList
        self._joined = jvm.java.util.stream.Collectors.joining("\0")

    def collect(self, listing: Any) -> list[Listed]:
        """Return the files and directories of a Java iterator over `FileStatus`."""
        found = self._to_list(listing)
        if found.isEmpty():
            return []
        names, sizes, times, folders = (
            found.stream().map(getter).collect(self._joined).split("\0") for getter in self._getters
        )
        return [
            (name, int(size), int(modified), is_folder == "true")
            for name, size, modified, is_folder in zip(names, sizes, times, folders, strict=True)
        ]


GONE = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")
DENIED = ("org.apache.hadoop.security.AccessControlException", "java.nio.file.AccessDeniedException")


def collect_causes(fault: Exception) -> list[tuple[str, str]]:
    """Return class and message of a Java exception and its causes, or of the Python exception itself."""
    java = getattr(fault, "java_exception", None) or getattr(fault, "_origin", None)
    found: list[tuple[str, str]] = []
    with suppress(Exception):  # the failure may be a broken connection to the JVM
        while java is not None and len(found) < _CAUSES:
            found.append((str(java.getClass().getName()), str(java.getMessage() or "")))
            java = java.getCause()
    return found or [(type(fault).__name__, str(fault))]


def format_cause(causes: list[tuple[str, str]]) -> str:
    """Format the innermost cause as one line without secrets."""
    name, message = causes[-1]
    if name == "java.lang.ClassNotFoundException" or name.endswith("UnsupportedFileSystemException"):
        return f"{describe_error(OSError(message))}; Spark needs the jar that reads this storage"
    if name.startswith(("Py4J", "Connection")):
        return "the connection to Spark's driver was lost"
    return f"{name.rpartition('.')[2]}: {describe_error(OSError(message))}" if message else name.rpartition(".")[2]
