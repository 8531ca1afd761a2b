"""What is asked of the JVM in few calls, since each call of py4j costs a millisecond, and what its exceptions say."""

import os
import tempfile
import weakref
from contextlib import suppress
from typing import Any

from deltaspec.wire.storage import StorageError
from deltaspec.wire.store_client import reason

_CAUSES = 8
"""How far the causes of a Java exception are followed."""


class Scratch:
    """A file without a name that the JVM appends to and Python takes from: both run on the driver's machine."""

    def __init__(self, jvm: Any) -> None:
        handle, name = tempfile.mkstemp(prefix="deltaspec-")
        self._handle = handle
        weakref.finalize(self, os.close, handle)
        try:
            self.sink = jvm.java.io.FileOutputStream(name, True)
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
    """What a listing says of files, fact by fact in one text each: a call of py4j for each file takes milliseconds.

    No name holds the NUL between two.
    """

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        proxies, self._types = jvm.java.lang.invoke.MethodHandleProxies, jvm.java.lang.invoke.MethodType
        lookup, function = jvm.java.lang.invoke.MethodHandles.publicLookup(), self._class("java.util.function.Function")
        status, path = self._class("org.apache.hadoop.fs.FileStatus"), self._class("org.apache.hadoop.fs.Path")
        text, whatever = self._class("java.lang.String"), self._class("java.lang.Object")
        long, boolean = jvm.java.lang.Long.TYPE, jvm.java.lang.Boolean.TYPE

        def method(owner: Any, name: str, gives: Any) -> Any:
            handle = lookup.findVirtual(owner, name, self._types.methodType(gives))
            return proxies.asInterfaceInstance(function, handle)

        as_text = method(whatever, "toString", text)
        self._asked = (
            (method(status, "getPath", path), method(path, "getName", text)),
            (method(status, "getLen", long), as_text),
            (method(status, "getModificationTime", long), as_text),
            (method(status, "isDirectory", boolean), as_text),
        )

    def _class(self, name: str) -> Any:
        """A class, found by the loader that finds Hadoop's."""
        return self._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(name)

    def of(self, listing: Any) -> list[Listed]:
        """The files and directories of an iterator over `FileStatus`."""
        found = self._jvm.org.apache.hadoop.util.functional.RemoteIterators.toList(listing)
        if found.isEmpty():
            return []
        names, sizes, times, folders = (self._joined(found, ask) for ask in self._asked)
        return [
            (name, int(size), int(modified), is_folder == "true")
            for name, size, modified, is_folder in zip(names, sizes, times, folders, strict=True)
        ]

    def _joined(self, found: Any, ask: tuple[Any, Any]) -> list[str]:
        texts = found.stream().map(ask[0]).map(ask[1])
        answer: str = texts.collect(self._jvm.java.util.stream.Collectors.joining("\0"))
        return answer.split("\0")


GONE = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")
DENIED = ("org.apache.hadoop.security.AccessControlException", "java.nio.file.AccessDeniedException")


def causes_of(fault: Exception) -> list[tuple[str, str]]:
    """Class and message of a Java exception and of what caused it; of any other, its own."""
    java = getattr(fault, "java_exception", None) or getattr(fault, "_origin", None)
    found: list[tuple[str, str]] = []
    with suppress(Exception):  # the connection to the JVM may be what broke
        while java is not None and len(found) < _CAUSES:
            found.append((str(java.getClass().getName()), str(java.getMessage() or "")))
            java = java.getCause()
    return found or [(type(fault).__name__, str(fault))]


def said_by(causes: list[tuple[str, str]]) -> str:
    """The innermost cause in one line, without what may be secret."""
    name, said = causes[-1]
    if name == "java.lang.ClassNotFoundException" or name.endswith("UnsupportedFileSystemException"):
        return f"{reason(OSError(said))}; Spark needs the jar that reads this storage"
    if name.startswith(("Py4J", "Connection")):
        return "the connection to Spark's driver broke off"
    return f"{name.rpartition('.')[2]}: {reason(OSError(said))}" if said else name.rpartition(".")[2]
