"""What is asked of the JVM in few calls, since each call of py4j costs a millisecond, and what its exceptions say."""

import os
import tempfile
import weakref
from collections import deque
from contextlib import suppress
from typing import Any

from deltaspec.wire.storage.client import describe_error
from deltaspec.wire.storage.interface import StorageError

_CAUSES = 8
"""How far the causes of a Java exception are followed."""


class Transfer:
    """Brings bytes of Java's streams over, by files without a name: py4j itself brings 7 MB a second.

    The JVM appends to such a file and Python takes from it, for both run on the driver's machine.
    """

    def __init__(self, jvm: Any) -> None:
        # each step of a dotted name is a call of its own
        self._copy, self._limited = (
            jvm.org.apache.hadoop.io.IOUtils.copyBytes,
            jvm.org.apache.hadoop.util.LimitInputStream,
        )
        self._new_sink = jvm.java.io.FileOutputStream
        self._scratches: deque[_Scratch] = deque()

    def read_next(self, stream: Any, length: int) -> bytes:
        """The next bytes of a stream, fewer where it ends. The buffer is of their length, so they are one request."""
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = _Scratch(self._new_sink)
        self._copy(self._limited(stream, length), scratch.sink, length, False)
        data = scratch.taken()
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
        if self.taken() != b"\0":
            raise StorageError("Spark's driver does not share the directory for temporary files with this process")

    def taken(self) -> bytes:
        """What was appended, which is taken away: what is appended next stands at the beginning."""
        data = os.pread(self._handle, os.fstat(self._handle).st_size, 0)
        os.ftruncate(self._handle, 0)
        return data


Listed = tuple[str, int, int, bool]
"""Name, length in bytes, time of the last change in milliseconds, whether it is a directory."""


class FileFacts:
    """What a listing says of files, fact by fact in one text each, which takes as many calls for a million as for one.

    No name holds the NUL between two.
    """

    def __init__(self, jvm: Any) -> None:
        proxies, types = jvm.java.lang.invoke.MethodHandleProxies, jvm.java.lang.invoke.MethodType
        lookup, loader = jvm.java.lang.invoke.MethodHandles.publicLookup(), jvm.java.lang.Thread.currentThread()
        load = loader.getContextClassLoader().loadClass
        function, text = load("java.util.function.Function"), load("java.lang.String")
        status, path = load("org.apache.hadoop.fs.FileStatus"), load("org.apache.hadoop.fs.Path")

        def method(owner: Any, name: str, gives: Any) -> Any:
            return proxies.asInterfaceInstance(function, lookup.findVirtual(owner, name, types.methodType(gives)))

        as_text = method(load("java.lang.Object"), "toString", text)
        self._asked = (
            method(status, "getPath", path).andThen(method(path, "getName", text)),
            method(status, "getLen", jvm.java.lang.Long.TYPE).andThen(as_text),
            method(status, "getModificationTime", jvm.java.lang.Long.TYPE).andThen(as_text),
            method(status, "isDirectory", jvm.java.lang.Boolean.TYPE).andThen(as_text),
        )
        self._to_list = jvm.org.apache.hadoop.util.functional.RemoteIterators.toList
        self._joined = jvm.java.util.stream.Collectors.joining("\0")

    def of(self, listing: Any) -> list[Listed]:
        """The files and directories of an iterator over `FileStatus`."""
        found = self._to_list(listing)
        if found.isEmpty():
            return []
        names, sizes, times, folders = (
            found.stream().map(ask).collect(self._joined).split("\0") for ask in self._asked
        )
        return [
            (name, int(size), int(modified), is_folder == "true")
            for name, size, modified, is_folder in zip(names, sizes, times, folders, strict=True)
        ]


GONE = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")
DENIED = ("org.apache.hadoop.security.AccessControlException", "java.nio.file.AccessDeniedException")


def collect_causes(fault: Exception) -> list[tuple[str, str]]:
    """Class and message of a Java exception and of what caused it; of any other, its own."""
    java = getattr(fault, "java_exception", None) or getattr(fault, "_origin", None)
    found: list[tuple[str, str]] = []
    with suppress(Exception):  # the connection to the JVM may be what broke
        while java is not None and len(found) < _CAUSES:
            found.append((str(java.getClass().getName()), str(java.getMessage() or "")))
            java = java.getCause()
    return found or [(type(fault).__name__, str(fault))]


def format_cause(causes: list[tuple[str, str]]) -> str:
    """The innermost cause in one line, without what may be secret."""
    name, said = causes[-1]
    if name == "java.lang.ClassNotFoundException" or name.endswith("UnsupportedFileSystemException"):
        return f"{describe_error(OSError(said))}; Spark needs the jar that reads this storage"
    if name.startswith(("Py4J", "Connection")):
        return "the connection to Spark's driver broke off"
    return f"{name.rpartition('.')[2]}: {describe_error(OSError(said))}" if said else name.rpartition(".")[2]
