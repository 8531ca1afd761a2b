"""Tables in object stores, read with obstore, which is imported on first use."""

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate, islice
from typing import Any, TypeVar
from urllib.parse import unquote

from deltaspec.errors import InvalidUsage, StorageUnavailable, TableUnreadable
from deltaspec.wire.storage.block_reader import TAIL_BYTES, BlockReader
from deltaspec.wire.storage.client import (
    MAX_UNANSWERED_REQUESTS,
    build_client_options,
    build_error,
    check_size,
    convert_panics,
    count_attempts,
    describe_error,
    is_unanswered,
    retry,
    translate_error,
)
from deltaspec.wire.storage.interface import (
    CHUNK_BYTES,
    LISTED_FOLDERS,
    LOG_DIRECTORY,
    Entry,
    StorageError,
    Unanswered,
    check_inside_table,
    describe_irregular_file,
    has_log_file_name,
    redact_uri,
)
from deltaspec.wire.storage.listing_parts import Listed, ListingPart, list_below, split_by_folders, split_by_names
from deltaspec.wire.storage.other_formats import recognize_format
from deltaspec.wire.storage.prefetch import MAX_CONCURRENT_READS
from deltaspec.wire.storage.rate_limit import get_rate_limit
from deltaspec.wire.storage.retries import Attempts, RetryPolicy, identify_store, mark_available
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

_T = TypeVar("_T")

PAGE = 1000
"""Objects that a response lists."""
_PLAIN_NAME = re.compile(r"[\w=.-]+(/[\w=.-]+)*", re.ASCII)
"""Names that every store accepts as the begin of a listing."""
_ORDERED_SCHEMES = ("s3", "s3a", "gs", "gcs")
"""Schemes of stores that can begin a listing after any name; others would list all names before it, too."""
_RANGE_PAST_END = ("status: 416", "Range started after")
_UNKNOWN_KEY = re.compile(r"Configuration key: '(\w+)' is not valid")


def _is_log_file(name: str) -> bool:
    folder, slash, rest = name.partition("/")
    return bool(name) and (not slash or (folder in LISTED_FOLDERS and "/" not in rest))


def _find_log_directory(name: str) -> str | None:
    """Return the parent directory of an object that has the name of a log file; None if it has no such parent."""
    parents = accumulate(name.split("/")[:-1], "{}/{}".format)
    return next(filter(has_log_file_name, parents), None)


class ObjectStore:
    """A prefix in S3, GCS or Azure. See `deltaspec.wire.storage.interface.Store`.

    Retries: `deltaspec.wire.storage.retries`. Timeouts: `deltaspec.wire.storage.client`.
    """

    def __init__(self, uri: str, settings: StorageSettings = ENVIRONMENT) -> None:
        from obstore.store import from_url

        self.uri = redact_uri(uri)
        self._unredacted_uri = uri
        self.root: str | None = unquote(self.uri).rstrip("/")
        self.is_remote = True
        self.settings = settings
        self._policy = RetryPolicy.from_settings(settings)
        self._place = identify_store(uri, settings)
        self._limit = get_rate_limit(settings)
        self._unanswered = 0
        self._log_directories: frozenset[str] = frozenset()
        """Listed directories with the names of log files, relative to the table."""
        self._lock = threading.Lock()
        scheme, _, rest = uri.partition("://")
        scheme = scheme.lower()
        self._begins_after_any_name = scheme in _ORDERED_SCHEMES
        arguments = {} if scheme == "file" else build_client_options(scheme, self._policy, settings)
        try:
            with convert_panics():
                self._store = from_url(f"gs://{rest}" if scheme == "gcs" else uri, **arguments)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            unknown = _UNKNOWN_KEY.search(str(fault))
            if unknown is not None:
                raise InvalidUsage(f"unknown storage option for {scheme}: {unknown[1].upper()}") from None
            raise TableUnreadable(f"{self.uri}: {self._describe_error(fault)}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Open the store again after unpickling, with the given settings and the environment of that process."""
        return ObjectStore, (self._unredacted_uri, self.settings), {"_log_directories": self._log_directories}

    def _describe_error(self, fault: BaseException) -> str:
        return describe_error(fault, self.settings)

    def list_log(self) -> list[Entry]:
        found: dict[str, Entry] = {}
        folders: dict[str, Entry] = {}
        for entry in self._list(LOG_DIRECTORY):
            if isinstance(entry, StorageError):
                error = StorageUnavailable if isinstance(entry, Unanswered) else TableUnreadable
                raise error(f"{self.uri}: {LOG_DIRECTORY} cannot be listed: {entry}")
            name = entry.name.removeprefix(f"{LOG_DIRECTORY}/")
            if name != entry.name and _is_log_file(name):
                found[name] = Entry(name, entry.size_bytes, entry.modified_ms)
            elif (folder := _find_log_directory(name)) is not None:
                folders.setdefault(folder, Entry(folder, 0, entry.modified_ms))
        if not found:
            names = (entry.name for entry in self._list(None) if isinstance(entry, Entry))
            hint = recognize_format(names) or "pass the root directory of the table"
            raise TableUnreadable(f"{self.uri}: has no {LOG_DIRECTORY} directory; {hint}")
        self._log_directories = frozenset(f"{LOG_DIRECTORY}/{folder}" for folder in folders.keys() - found.keys())
        return sorted((folders | found).values(), key=lambda entry: entry.name)

    def list_files(self) -> Iterator[Entry | StorageError]:
        return self._drop_folder_objects(self._list(None))

    def split_listing(self, names: Sequence[str], count: int) -> Iterator[Listed]:
        if self._begins_after_any_name and names:
            first = [entry.name for entry in islice(self._list(None), PAGE) if isinstance(entry, Entry)]
            if first == sorted(first):
                return split_by_names(filter(_PLAIN_NAME.fullmatch, names), count)
        return split_by_folders(self._list_folder, count, MAX_CONCURRENT_READS)

    def list_part(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        if part.folder:
            return list_below(self._list_folder, part)
        return self._drop_folder_objects(self._list_range(part), part.until)

    def _list_range(self, part: ListingPart) -> Iterator[Entry | StorageError]:
        """Yield the objects of a range of names, and the first one after it."""
        last = part.after
        for entry in self._list(None, last):
            if isinstance(entry, Entry) and entry.name <= last:
                yield StorageError("the store does not list names in order, so that its ranges are incomplete")
                return
            yield entry
            if isinstance(entry, Entry) and part.until is not None and entry.name > part.until:
                return
            last = entry.name if isinstance(entry, Entry) else last

    def _list_folder(self, part: ListingPart) -> Iterator[Listed]:
        import obstore

        shown = part.folder or "."
        try:
            found: Any = self._request(
                shown, lambda: obstore.list_with_delimiter(self._store, prefix=part.folder.rstrip("/") or None)
            )
        except StorageError as fault:
            yield StorageError(f"{shown}: cannot be listed: {str(fault).removeprefix(f'{shown}: ')}")
            return
        folders = {name for name in found["common_prefixes"] if name != LOG_DIRECTORY}
        for item in found["objects"]:
            name = item["path"]
            # consoles create a folder as an empty object with its name
            if name and name != LOG_DIRECTORY and (item["size"] or name not in folders):
                yield Entry(name, item["size"], _milliseconds(item["last_modified"]))
        for name in sorted(folders):
            yield ListingPart(f"{name}/")

    def _drop_folder_objects(
        self, entries: Iterator[Entry | StorageError], until: str | None = None
    ) -> Iterator[Entry | StorageError]:
        """Yield the files of the table up to a name. One entry after them says whether the last one is a folder."""
        before: Entry | None = None
        for entry in entries:
            if isinstance(entry, StorageError):
                if before is not None:
                    yield before
                before = None
                yield StorageError(f"the table cannot be listed: {entry}")
            elif entry.name and entry.name != LOG_DIRECTORY and not entry.name.startswith(f"{LOG_DIRECTORY}/"):
                # consoles create a folder as an empty object with its name, which is listed before the content
                if before is not None and (before.size_bytes or not entry.name.startswith(f"{before.name}/")):
                    yield before
                before = entry
        if before is not None and (until is None or before.name <= until):
            yield before

    def _list(self, prefix: str | None, after: str = "") -> Iterator[Entry | StorageError]:
        """Yield the objects below a prefix; the last item is an error if the listing is incomplete after all retries.

        The client does not retry a page whose transfer broke off. The listing then continues after the last name, if
        all names so far were sorted, as in most stores.
        """
        last, ordered = after, True
        attempts: Attempts | None = self._start_attempts()
        while True:
            try:
                for name, entry in self.iter_entries(prefix, last or None):
                    ordered = ordered and name > last
                    if name != last:
                        yield entry
                    last, attempts = name, None
                mark_available(self._place)
                return
            except Exception as fault:  # noqa: BLE001 - clients raise any type
                attempts = attempts or self._start_attempts()
                if not (ordered and is_unanswered(fault) and attempts.wait(count_attempts(fault, self._policy))):
                    yield build_error("", fault, self.settings, attempts)
                    return

    def iter_entries(self, prefix: str | None, offset: str | None) -> Iterator[tuple[str, Entry]]:
        """Yield name and entry of each object below a prefix, after an offset."""
        import obstore

        with convert_panics():
            self._wait()
            for batch in obstore.list(self._store, prefix=prefix, offset=offset, chunk_size=PAGE):
                for item in batch:
                    name = item["path"]
                    yield name, Entry(name, item["size"], _milliseconds(item["last_modified"]))
                self._wait()  # for the next page

    def _wait(self) -> None:
        """Wait until a request may be sent, if requests are limited."""
        if self._limit is not None:
            self._limit.wait()

    def _get(self, path: str, options: dict[str, Any] | None = None) -> Any:
        import obstore

        location = check_inside_table(path)
        self._wait()
        return obstore.get(self._store, location, options=options)  # type: ignore[arg-type]

    def _head(self, path: str) -> Any:
        import obstore

        location = check_inside_table(path)
        self._wait()
        return obstore.head(self._store, location)

    def read_range(self, path: str, start: int, length: int) -> bytes:
        if length <= 0:
            return b""
        return self._request(path, lambda: self._get_range(path, start, start + length, None))

    def _get_range(self, path: str, start: int, end: int, e_tag: str | None) -> bytes:
        options: dict[str, Any] = {"range": (start, end)} | ({"if_match": e_tag} if e_tag else {})
        try:
            return bytes(self._get(path, options).bytes())
        except Exception as fault:
            text = str(fault)
            if any(marker in text for marker in _RANGE_PAST_END):
                return b""
            if "NotPartial" in text and self._head(path)["size"] == 0:
                return b""  # some stores ignore the range for an empty file; for any other file that is an error
            raise

    def size(self, path: str) -> int:
        return self._request(path, lambda: int(self._head(path)["size"]))

    def read(self, path: str, limit: int) -> bytes:
        def get() -> bytes:
            response = self._get(path)
            check_size(path, response.meta["size"], limit)
            return bytes(response.bytes())

        return self._request(path, get)

    def chunks(self, path: str) -> Iterator[bytes]:
        response = self._request(path, lambda: self._get(path))
        size, e_tag, done = int(response.meta["size"]), response.meta["e_tag"], 0
        try:
            for piece in response.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(piece)
                done += len(piece)
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            if not is_unanswered(fault):
                raise translate_error(path, fault, self.settings) from None
        while done < size:  # after the response broke off
            rest = self._read_unchanged(path, done, min(done + CHUNK_BYTES, size), e_tag)
            yield rest
            done += len(rest)

    def open_seekable(self, path: str) -> Any:
        size, e_tag, tail = self._request(path, lambda: self._get_tail(path))
        return BlockReader(size, lambda start, end: self._read_unchanged(path, start, end, e_tag), tail)

    def _get_tail(self, path: str) -> tuple[int, str | None, bytes]:
        """Return length, tag and last bytes of a file, in one request if the store supports suffix ranges."""
        try:
            response = self._get(path, {"range": {"suffix": TAIL_BYTES}})
            return response.meta["size"], response.meta["e_tag"], bytes(response.bytes())
        except Exception as fault:
            # an empty file has no range, and Azure does not support suffix ranges
            if not any(marker in str(fault) for marker in (*_RANGE_PAST_END, "NotPartial", "not support")):
                raise
        meta = self._head(path)
        size, e_tag = int(meta["size"]), meta["e_tag"]
        return size, e_tag, self._get_range(path, max(size - TAIL_BYTES, 0), size, e_tag) if size else b""

    def _read_unchanged(self, path: str, start: int, end: int, e_tag: str | None) -> bytes:
        """Read a range of a file; the tag ensures that it did not change after it was opened."""
        data = self._request(path, lambda: self._get_range(path, start, end, e_tag))
        if len(data) != end - start:
            raise StorageError(f"{path}: is shorter than when it was opened")
        return data

    def _start_attempts(self) -> Attempts:
        return Attempts(self._policy, self._place)

    def _request(self, path: str, request: Callable[[], _T]) -> _T:
        """Return the response to a request, with retries. Translate exceptions of the client into `StorageError`.

        Each request is retried for a long time, which must not happen for each of a million files: a store that
        stopped responding is given up.
        """
        if self._unanswered >= MAX_UNANSWERED_REQUESTS:
            raise Unanswered(f"{path}: not requested, because the store stopped responding")
        if path in self._log_directories:
            raise StorageError(describe_irregular_file(path, is_directory=True))
        attempts = self._start_attempts()
        try:
            response = retry(request, attempts)
        except StorageError:
            raise
        except Exception as fault:  # noqa: BLE001 - clients raise any type
            with self._lock:
                self._unanswered = self._unanswered + 1 if is_unanswered(fault) else 0
            raise translate_error(path, fault, self.settings, attempts) from None
        self._unanswered = 0
        mark_available(self._place)
        return response


def _milliseconds(moment: datetime) -> int:
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)
