"""Tables in object stores, by obstore. Imported only when a URI asks for it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import unquote

from deltaspec.errors import TableUnreadable
from deltaspec.wire.storage.block_reader import TAIL_BYTES, BlockReader
from deltaspec.wire.storage.client import (
    MAX_UNANSWERED_REQUESTS,
    RetryPolicy,
    build_client_options,
    check_size,
    convert_panics,
    describe_error,
    is_interrupted_transfer,
    is_unanswered,
    translate_error,
)
from deltaspec.wire.storage.interface import (
    CHUNK_BYTES,
    LISTED_FOLDERS,
    LOG_DIRECTORY,
    Entry,
    StorageError,
    check_inside_table,
    redact_uri,
)

_T = TypeVar("_T")

_PAUSE_SECONDS = 0.2
_BEYOND_THE_END = ("status: 416", "Range started after")


def _listed(name: str) -> bool:
    folder, slash, rest = name.partition("/")
    return bool(name) and (not slash or (folder in LISTED_FOLDERS and "/" not in rest))


class ObjectStore:
    """A prefix in S3, GCS or Azure. See `deltaspec.wire.storage.interface.Store`.

    How long it is waited for: `deltaspec.wire.storage.client`.
    """

    def __init__(self, uri: str) -> None:
        from obstore.store import from_url

        self.uri = redact_uri(uri)
        self._given = uri
        self.root: str | None = unquote(self.uri).rstrip("/")
        self.is_remote = True
        self._patience = RetryPolicy.from_environment()
        self._unanswered = 0
        self._lock = threading.Lock()
        scheme, _, rest = uri.partition("://")
        scheme = scheme.lower()
        settings = {} if scheme == "file" else build_client_options(scheme, self._patience)
        try:
            with convert_panics():
                self._store = from_url(f"gs://{rest}" if scheme == "gcs" else uri, **settings)
        except Exception as fault:  # noqa: BLE001 - whatever the client says
            raise TableUnreadable(f"{self.uri}: {describe_error(fault)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere it is opened anew, with what the environment there says."""
        return ObjectStore, (self._given,)

    def list_log(self) -> list[Entry]:
        found = []
        for entry in self._list(LOG_DIRECTORY):
            if isinstance(entry, StorageError):
                raise TableUnreadable(f"{self.uri}: {LOG_DIRECTORY} cannot be listed: {entry}")
            name = entry.name.removeprefix(f"{LOG_DIRECTORY}/")
            if name != entry.name and _listed(name):
                found.append(Entry(name, entry.size_bytes, entry.modified_ms))
        if not found:
            raise TableUnreadable(f"{self.uri}: holds no {LOG_DIRECTORY}; name the directory that does")
        return sorted(found, key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        before: Entry | None = None
        for entry in self._list(None):
            if isinstance(entry, StorageError):
                if before is not None:
                    yield before
                before = None
                yield StorageError(f"the table cannot be listed: {entry}")
            elif entry.name and entry.name != LOG_DIRECTORY and not entry.name.startswith(f"{LOG_DIRECTORY}/"):
                # an empty object with the name of a folder is how consoles make one; it is listed before its content
                if before is not None and (before.size_bytes or not entry.name.startswith(f"{before.name}/")):
                    yield before
                before = entry
        if before is not None:
            yield before

    def _list(self, prefix: str | None) -> Iterator[Entry | StorageError]:
        """Objects below a prefix; ends with an error where the listing breaks off, its tries used up.

        The client tries requests again, but no page whose transfer broke off. The listing then goes on after the last
        name, if names have come in order so far, as all stores but few give them.
        """
        last, tries, ordered = "", 0, True
        while True:
            try:
                for name, entry in self._pages(prefix, last or None):
                    ordered = ordered and name > last
                    if name != last:
                        yield entry
                    last, tries = name, 0
                return
            except Exception as fault:  # noqa: BLE001 - whatever the client says, the listing is not whole
                tries += 1
                if not (ordered and is_interrupted_transfer(fault) and tries <= self._patience.retries):
                    yield StorageError(describe_error(fault))
                    return
            time.sleep(_PAUSE_SECONDS)

    def _pages(self, prefix: str | None, offset: str | None) -> Iterator[tuple[str, Entry]]:
        import obstore

        with convert_panics():
            for batch in obstore.list(self._store, prefix=prefix, offset=offset, chunk_size=1000):
                for item in batch:
                    name = item["path"]
                    yield name, Entry(name, item["size"], _milliseconds(item["last_modified"]))

    def read_range(self, path: str, start: int, length: int) -> bytes:
        if length <= 0:
            return b""
        return self._ask(path, lambda: self._part(path, start, start + length, None))

    def _part(self, path: str, start: int, end: int, e_tag: str | None) -> bytes:
        import obstore

        options: dict[str, Any] = {"range": (start, end)} | ({"if_match": e_tag} if e_tag else {})
        try:
            return bytes(obstore.get(self._store, check_inside_table(path), options=options).bytes())  # type: ignore[arg-type]
        except Exception as fault:
            text = str(fault)
            if any(mark in text for mark in _BEYOND_THE_END):
                return b""
            if "NotPartial" in text and obstore.head(self._store, check_inside_table(path))["size"] == 0:
                return b""  # some stores give all of an empty file; those that take no ranges are not believed
            raise

    def size(self, path: str) -> int:
        import obstore

        return self._ask(path, lambda: int(obstore.head(self._store, check_inside_table(path))["size"]))

    def read(self, path: str, limit: int) -> bytes:
        import obstore

        def whole() -> bytes:
            answer = obstore.get(self._store, check_inside_table(path))
            check_size(path, answer.meta["size"], limit)
            return bytes(answer.bytes())

        return self._ask(path, whole)

    def chunks(self, path: str) -> Iterator[bytes]:
        import obstore

        answer = self._ask(path, lambda: obstore.get(self._store, check_inside_table(path)))
        with self._asking(path):
            for piece in answer.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(piece)

    def open_seekable(self, path: str) -> Any:
        size, e_tag, tail = self._ask(path, lambda: self._end_of(path))
        return BlockReader(size, lambda start, end: self.part(path, start, end, e_tag), tail)

    def _end_of(self, path: str) -> tuple[int, str | None, bytes]:
        """Length, tag and last bytes of a file, by one request where the store can count from the end."""
        import obstore

        try:
            answer = obstore.get(self._store, check_inside_table(path), options={"range": {"suffix": TAIL_BYTES}})
            return answer.meta["size"], answer.meta["e_tag"], bytes(answer.bytes())
        except Exception as fault:
            # of an empty file there is no part, and Azure does not count from the end
            if not any(mark in str(fault) for mark in (*_BEYOND_THE_END, "NotPartial", "not support")):
                raise
        meta = obstore.head(self._store, check_inside_table(path))
        size, e_tag = int(meta["size"]), meta["e_tag"]
        return size, e_tag, self._part(path, max(size - TAIL_BYTES, 0), size, e_tag) if size else b""

    def part(self, path: str, start: int, end: int, e_tag: str | None) -> bytes:
        """Bytes of a file, which has to be the one that was opened: the tag tells."""
        data = self._ask(path, lambda: self._part(path, start, end, e_tag))
        if len(data) != end - start:
            raise StorageError(f"{path}: is shorter than when it was opened")
        return data

    def _ask(self, path: str, request: Callable[[], _T]) -> _T:
        """The answer to a request. The client does not try again where a refusal breaks off."""
        with self._asking(path):
            for _ in range(self._patience.retries):
                try:
                    return request()
                except Exception as fault:
                    if not is_interrupted_transfer(fault):
                        raise
                time.sleep(_PAUSE_SECONDS)
            return request()

    @contextmanager
    def _asking(self, path: str) -> Iterator[None]:
        """What the client raises while it asks for `path`, as one of our own exceptions.

        Each request is patient; a store that answers none is not asked again for each of a million files.
        """
        if self._unanswered >= MAX_UNANSWERED_REQUESTS:
            raise StorageError(f"{path}: not asked for, since the store has stopped answering")
        try:
            with convert_panics():
                yield
        except StorageError:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever the client says
            with self._lock:
                self._unanswered = self._unanswered + 1 if is_unanswered(fault) else 0
            raise translate_error(path, fault) from None
        self._unanswered = 0


def _milliseconds(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
