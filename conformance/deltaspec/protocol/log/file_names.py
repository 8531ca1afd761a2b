"""Names of the files in the log directory. Source: chapters File Types and Checkpoint Naming Scheme: Classic
checkpoint, Multi-part checkpoint, UUID-named checkpoint.

Any other name is an `OtherFile`, which clients ignore.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from deltaspec.protocol.revisions import Revision

MAX_VERSION = 2**63 - 1
SIDECARS = "_sidecars/"
STAGED_COMMITS = "_staged_commits/"


class CommitName(msgspec.Struct, frozen=True):
    version: int


class ClassicCheckpoint(msgspec.Struct, frozen=True):
    version: int


class MultipartCheckpoint(msgspec.Struct, frozen=True):
    version: int
    part: int
    """Counted from 1."""
    parts: int


class UuidCheckpoint(msgspec.Struct, frozen=True):
    version: int
    uuid: str
    format: str
    """`json` or `parquet`."""


class CompactionName(msgspec.Struct, frozen=True):
    start: int
    end: int
    """Inclusive."""


class ChecksumName(msgspec.Struct, frozen=True):
    version: int


class LastCheckpointName(msgspec.Struct, frozen=True):
    pass


class SidecarName(msgspec.Struct, frozen=True):
    name: str


class StagedCommit(msgspec.Struct, frozen=True):
    version: int
    uuid: str


class OtherFile(msgspec.Struct, frozen=True):
    name: str


CheckpointName: TypeAlias = ClassicCheckpoint | MultipartCheckpoint | UuidCheckpoint
LogFileName: TypeAlias = (
    CommitName
    | CheckpointName
    | CompactionName
    | ChecksumName
    | LastCheckpointName
    | SidecarName
    | StagedCommit
    | OtherFile
)

_VERSION = r"(?P<version>\d{20})"
_UUID = r"(?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
_COMMIT = re.compile(rf"{_VERSION}\.json", re.ASCII)
_CHECKSUM = re.compile(rf"{_VERSION}\.crc", re.ASCII)
_CLASSIC = re.compile(rf"{_VERSION}\.checkpoint\.parquet", re.ASCII)
_MULTIPART = re.compile(rf"{_VERSION}\.checkpoint\.(?P<part>\d{{10}})\.(?P<parts>\d{{10}})\.parquet", re.ASCII)
_UUID_NAMED = re.compile(rf"{_VERSION}\.checkpoint\.{_UUID}\.(?P<format>json|parquet)", re.ASCII)
_COMPACTION = re.compile(r"(?P<start>\d{20})\.(?P<end>\d{20})\.compacted\.json", re.ASCII)
_STAGED = re.compile(rf"{STAGED_COMMITS}{_VERSION}\.{_UUID}\.json", re.ASCII)
_PATTERNS: dict[re.Pattern[str], Callable[..., LogFileName]] = {
    _COMMIT: CommitName,
    _CHECKSUM: ChecksumName,
    _CLASSIC: ClassicCheckpoint,
    _MULTIPART: MultipartCheckpoint,
    _UUID_NAMED: UuidCheckpoint,
    _COMPACTION: CompactionName,
    _STAGED: StagedCommit,
}
"""Pattern of each kind of name; its groups are the fields, in order."""


def parse_log_file_name(name: str) -> LogFileName:
    """Parse the name of a file relative to `_delta_log`.

    A version beyond 64 bits, or a part number beyond the part count, makes the name an `OtherFile`.
    Source: Delta Log Entries, Checkpoints, Sidecar Files, Log Compaction Files, Last Checkpoint File,
    Version Checksum File (current).
    """
    if name == "_last_checkpoint":
        return LastCheckpointName()
    if name.startswith(SIDECARS) and name.endswith(".parquet"):
        rest = name.removeprefix(SIDECARS)
        return OtherFile(name) if "/" in rest or rest.startswith(".") else SidecarName(rest)
    for pattern, form in _PATTERNS.items():
        if match := pattern.fullmatch(name):
            fields = [int(text) if text.isdigit() else text for text in match.groups()]
            numbers = [each for each in fields if isinstance(each, int)]
            has_valid_part = form is not MultipartCheckpoint or 1 <= numbers[1] <= numbers[2]
            return form(*fields) if max(numbers) <= MAX_VERSION and has_valid_part else OtherFile(name)
    return OtherFile(name)


_FIRST_REVISIONS: dict[type[LogFileName], Revision] = {
    UuidCheckpoint: Revision.R3,
    SidecarName: Revision.R3,
    CompactionName: Revision.R3,
    ChecksumName: Revision.CURRENT,
    StagedCommit: Revision.CURRENT,
}
"""First revision that defines a kind of file; kinds that are not listed are in every revision."""


def is_defined(name: str, revision: Revision) -> bool:
    """Return whether a revision defines files of this kind; clients of an older revision ignore them.

    True for an `OtherFile`, which no revision defines.
    """
    if revision is Revision.CURRENT:
        return True
    first = _FIRST_REVISIONS.get(type(parse_log_file_name(name)))
    return first is None or revision.since(first)


def describe_near_miss(name: str) -> str | None:
    """Describe what the name of an `OtherFile` probably should be; None if it resembles nothing.

    Clients ignore such files, which is rarely what their writer intended.
    """
    if not isinstance(parse_log_file_name(name), OtherFile):
        return None
    if name.lower().lstrip("_") in ("last_checkpoint", "last_checkpoint.json"):
        return "the checkpoint hint, whose name is `_last_checkpoint`"
    staged = name.removeprefix(STAGED_COMMITS)
    if staged.startswith((".", "_")) or "/" in staged:
        return None
    head, _, tail = staged.partition(".")
    if not head.isascii() or not head.isdigit():
        return None
    if staged != name:
        return _staged_miss(head, tail) if tail.endswith("json") else None
    if parse_log_file_name(STAGED_COMMITS + name) != OtherFile(STAGED_COMMITS + name):
        return "a staged commit outside of `_staged_commits`"
    if tail == "json":
        return _padded("a commit", head)
    if tail == "crc":
        return _padded("a version checksum", head)
    if tail == "checkpoint.parquet":
        return _padded("a classic checkpoint", head)
    if tail.startswith("checkpoint.") and tail.endswith((".parquet", ".json")):
        return _checkpoint_miss(name)
    if tail.endswith("compacted.json"):
        if _COMPACTION.fullmatch(name):
            return "a log compaction beyond 64 bits"
        return "a log compaction whose versions do not have 20 digits each"
    return None


def _checkpoint_miss(name: str) -> str:
    if match := _MULTIPART.fullmatch(name) or _UUID_NAMED.fullmatch(name):
        if int(match["version"]) > MAX_VERSION:
            return "a checkpoint beyond 64 bits"
        return f"part {int(match['part'])} of a checkpoint of {int(match['parts'])} parts"
    if _UUID_NAMED.fullmatch(name.lower()):
        return "a checkpoint whose UUID is not in lower case"
    return "a checkpoint whose name matches none of the three naming schemes"


def _staged_miss(head: str, tail: str) -> str:
    if re.fullmatch(rf"{_UUID}\.json", tail, re.ASCII):
        return _padded("a staged commit", head)
    return "a staged commit whose name is not a version and a UUID"


def _padded(what: str, digits: str) -> str:
    return f"{what} whose version has {len(digits)} digits" if len(digits) != 20 else f"{what} beyond 64 bits"


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def checksum_name(version: int) -> str:
    return f"{version:020d}.crc"


def classic_checkpoint_name(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def multipart_checkpoint_name(version: int, part: int, parts: int) -> str:
    return f"{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def uuid_checkpoint_name(version: int, uuid: str, format: str) -> str:  # noqa: A002 - name of the field
    return f"{version:020d}.checkpoint.{uuid}.{format}"


def compaction_name(start: int, end: int) -> str:
    return f"{start:020d}.{end:020d}.compacted.json"


def staged_commit_name(version: int, uuid: str) -> str:
    return f"{STAGED_COMMITS}{version:020d}.{uuid}.json"
