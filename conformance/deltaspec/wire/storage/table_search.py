"""Find tables: all below a location, or all whose location matches a glob."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import unquote, unquote_to_bytes

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.wire.storage.factory import is_local, split_supported_uri
from deltaspec.wire.storage.interface import StorageError, Unanswered, decode_file_uri, escape_file_name, redact_uri
from deltaspec.wire.storage.settings import ENVIRONMENT, StorageSettings

if TYPE_CHECKING:
    from deltaspec.wire.storage.folders import Folders

_ANY_DEPTH = "**"
_GLOB = re.compile(r"\*|\[[^/]+\]")
_LOCAL_GLOB = re.compile(r"[*?]|\[[^/]+\]")
_ESCAPED_GLOB = re.compile("%(2A|3F|5B)", re.IGNORECASE)
_HIDDEN = ("_", ".")


class Unsearched(msgspec.Struct, frozen=True):
    """A folder that could not be searched for tables."""

    location: str
    """Without secrets."""
    reason: str
    is_outage: bool = False
    """The storage did not answer."""


def is_glob(location: str) -> bool:
    """Return whether a path or URI is a glob. A path that exists is none; in a URI, `?` begins the query."""
    if is_local(location):
        return _LOCAL_GLOB.search(location) is not None and not os.path.lexists(location)
    return _GLOB.search(location.partition("?")[0]) is not None


def find_tables(
    base: str, settings: StorageSettings = ENVIRONMENT, *, hidden: bool = False
) -> Iterator[str | Unsearched]:
    """Yield the location of each table at or below a location. Tables in tables are not looked for.

    Args:
        base: path or URI of a folder.
        settings: credentials, regions and endpoints of object stores.
        hidden: search also folders whose name begins with `_` or `.`.

    Raises:
        InvalidUsage, TableUnreadable: as `open_folders`.
    """
    from deltaspec.wire.storage.folders import open_folders

    return _search(open_folders(base, settings), [_ANY_DEPTH], hidden=hidden)


def expand_glob(pattern: str, settings: StorageSettings = ENVIRONMENT) -> Iterator[str | Unsearched]:
    """Yield the location of each table that a glob matches, folder by folder.

    `*`, `?` (only in paths) and `[...]` match within the name of a folder, `**` any number of folders. A folder whose
    name begins with `_` or `.` matches only a pattern that begins with this character.

    Raises:
        InvalidUsage: as `open_folders`, or the glob is in the scheme, bucket or host of a URI.
        TableUnreadable: as `open_folders`.
    """
    from deltaspec.wire.storage.folders import open_folders

    parts = split_supported_uri(pattern)
    if parts is None:
        head, path = "", pattern
    elif is_local(pattern):
        head, path = "", parts.path
    else:
        head, path = f"{parts.scheme}://{parts.netloc}", parts.path
        if _GLOB.search(parts.netloc):
            raise InvalidUsage(f"{redact_uri(pattern)}: a glob cannot choose a bucket or host; name it")
    segments = path.split("/")
    first = next(number for number, each in enumerate(segments) if _LOCAL_GLOB.search(each))
    base = head + ("/".join(segments[:first]) or ("/" if path.startswith("/") else "."))
    if parts is not None and not head:
        base = decode_file_uri(base)
    if head and parts is not None and parts.query:
        base += f"?{parts.query}"
    rest = [each for each in segments[first:] if each]
    return _search(open_folders(base, settings), rest if parts is None else [_decode(each) for each in rest])


def _decode(segment: str) -> str:
    """Decode a segment of a URI; escaped characters of globs stand for themselves."""
    escaped = _ESCAPED_GLOB.sub(lambda match: f"[{unquote(match[0])}]", segment)
    return os.fsdecode(unquote_to_bytes(os.fsencode(escaped)))


def _search(folders: Folders, segments: list[str], *, hidden: bool = False) -> Iterator[str | Unsearched]:
    """Search depth first, as many folders at a time as the storage can answer. The order is always the same.

    Links are followed last, and once with the same segments, so that loops end. A table is yielded once.
    """
    distinct = (each for number, each in enumerate(segments) if segments[number : number + 2] != [_ANY_DEPTH] * 2)
    stack = [_Step("", tuple(distinct))]
    links: list[_Step] = []
    followed: set[tuple[Hashable, tuple[str, ...]]] = set()
    yielded: set[Hashable] = set()
    with ThreadPoolExecutor(folders.concurrency) as pool:
        while stack:
            batch, stack = stack[-folders.concurrency :][::-1], stack[: -folders.concurrency]
            steps: list[_Step] = []
            for step, visit in zip(batch, pool.map(lambda each: _visit(folders, each, hidden), batch), strict=True):
                if visit.fault is not None:
                    location = escape_file_name(redact_uri(folders.get_location(step.folder)))
                    yield Unsearched(location, str(visit.fault), isinstance(visit.fault, Unanswered))
                elif visit.is_match and (identity := folders.identify(step.folder)) not in yielded:
                    yielded.add(identity)
                    yield folders.get_location(step.folder)
                for target, following in visit.steps:
                    if target is None:
                        steps.append(following)
                    elif (target, following.segments) not in followed:
                        followed.add((target, following.segments))
                        links.append(following)
            stack += reversed(steps)
            if not stack:
                stack, links = links[::-1], []


class _Step(msgspec.Struct, frozen=True):
    """A folder, and the segments of the glob that remain to be matched below it."""

    folder: str
    segments: tuple[str, ...]


class _Visit(msgspec.Struct, frozen=True):
    """Result of visiting a folder."""

    is_match: bool = False
    """It is a table, and all segments are matched."""
    steps: Sequence[tuple[Hashable | None, _Step]] = ()
    """The next folders; each with the target of the link that leads there."""
    fault: StorageError | None = None
    """Why the folder could not be read."""


def _visit(folders: Folders, step: _Step, hidden: bool) -> _Visit:
    folder, segments = step.folder, step.segments
    if segments and segments[0] != _ANY_DEPTH and not _LOCAL_GLOB.search(segments[0]):
        return _Visit(steps=[(None, _Step(_join(folder, segments[0]), segments[1:]))])
    try:
        if folders.is_table(folder):
            return _Visit(is_match=segments in ((), (_ANY_DEPTH,)))
        if not segments:
            return _Visit()
        found = folders.list_folders(folder)
    except StorageError as fault:
        return _Visit(fault=fault)
    if segments[0] == _ANY_DEPTH:
        below = [each for each in found if hidden or not each.name.startswith(_HIDDEN)]
        here = [(None, _Step(folder, segments[1:]))] if segments[1:] else []
        return _Visit(steps=[*here, *((each.link_target, _Step(_join(folder, each.name), segments)) for each in below)])
    return _Visit(
        steps=[
            (each.link_target, _Step(_join(folder, each.name), segments[1:]))
            for each in found
            if fnmatchcase(each.name, segments[0])
            and (not each.name.startswith(_HIDDEN) or segments[0][0] == each.name[0])
        ]
    )


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
