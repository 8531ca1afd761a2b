"""Log files that make up a version. Source: chapters Checkpoints, Log Compaction Files, Last Checkpoint File."""

from collections.abc import Collection, Iterable

import msgspec

from deltaspec.protocol.log.file_names import (
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    MultipartCheckpoint,
    UuidCheckpoint,
    classic_checkpoint_name,
    multipart_checkpoint_name,
    parse_log_file_name,
    uuid_checkpoint_name,
)


class SegmentError(ValueError):
    """The listed files cannot produce the requested version."""


class NoCommits(SegmentError):
    """Neither a commit nor a complete checkpoint is listed."""


class VersionMissing(SegmentError):
    """The requested version is outside of the listed versions."""

    def __init__(self, version: int, earliest: int, latest: int) -> None:
        super().__init__(f"version {version} is not readable; readable versions: {earliest} to {latest}")
        self.earliest = earliest
        self.latest = latest


class BrokenLog(SegmentError):
    """A commit that the version needs is not listed."""

    def __init__(self, missing: int, version: int) -> None:
        super().__init__(f"commit {missing} is missing; version {version} needs it")
        self.missing = missing
        self.version = version


class Checkpoint(msgspec.Struct, frozen=True):
    """A checkpoint with all its parts listed."""

    version: int
    naming: str
    """`classic`, `multipart` or `uuid`."""
    files: tuple[str, ...]
    """Names relative to `_delta_log`, parts in order."""


class Segment(msgspec.Struct, frozen=True):
    """The files that produce one version."""

    version: int
    checkpoint: Checkpoint | None
    compactions: tuple[CompactionName, ...]
    commits: tuple[int, ...]
    """Commits to replay, ascending, without those that a compaction covers."""


def list_commits(names: Iterable[str]) -> list[int]:
    """Return the versions of the commits among the names, ascending."""
    candidates = (name for name in names if name.endswith(".json"))
    return sorted(name.version for name in map(parse_log_file_name, candidates) if isinstance(name, CommitName))


def find_complete_checkpoints(names: Iterable[str]) -> list[Checkpoint]:
    """Return every complete checkpoint, by version; within a version classic, then multipart, then UUID-named.

    A multipart checkpoint needs all parts of one part count; parts beyond the count are ignored (S27). A checkpoint
    with a single part is accepted although its name violates the protocol. Any checkpoint of a version may be used.
    """
    parts: dict[tuple[int, int], set[int]] = {}
    found: list[Checkpoint] = []
    for name in dict.fromkeys(name for name in names if ".checkpoint." in name):
        match parse_log_file_name(name):
            case ClassicCheckpoint(version):
                found.append(Checkpoint(version, "classic", (classic_checkpoint_name(version),)))
            case UuidCheckpoint(version, uuid, kind):
                found.append(Checkpoint(version, "uuid", (uuid_checkpoint_name(version, uuid, kind),)))
            case MultipartCheckpoint(version, part, of):
                parts.setdefault((version, of), set()).add(part)
    for (version, of), seen in parts.items():
        if of >= 1 and sum(1 <= part <= of for part in seen) == of:
            files = tuple(multipart_checkpoint_name(version, part, of) for part in range(1, of + 1))
            found.append(Checkpoint(version, "multipart", files))
    order = ("classic", "multipart", "uuid")
    return sorted(found, key=lambda each: (each.version, order.index(each.naming), each.files))


def choose_segment(
    names: Iterable[str], *, at: int | None = None, use_compactions: bool = False, ratified: Collection[int] = ()
) -> Segment:
    """Choose the files of a version: the newest complete checkpoint up to it, and every later commit.

    `_last_checkpoint` is only a hint and cannot change the result, so it is not an input.

    Args:
        names: Every listed name, relative to `_delta_log`.
        at: The version; None for the latest.
        use_compactions: Use compactions that fit completely in place of their commits. They have no commitInfo; read it
            from the last commit even if a compaction covers it.
        ratified: Versions of the commits that a managing catalog returns; they need not be listed. The highest one is
            the latest version, regardless of what is listed. Staged commits alone are ignored.
            Source: Reading Catalog-managed Tables (current).

    Raises:
        NoCommits, VersionMissing, BrokenLog: See there.
    """
    names = list(names)
    commits = {*list_commits(names), *ratified}
    checkpoints = find_complete_checkpoints(names)
    if ratified:
        commits = {version for version in commits if version <= max(ratified)}
        checkpoints = [checkpoint for checkpoint in checkpoints if checkpoint.version <= max(ratified)]
    if not commits and not checkpoints:
        raise NoCommits("neither a commit nor a complete checkpoint is listed")
    latest = max(commits | {checkpoint.version for checkpoint in checkpoints})
    version = latest if at is None else at
    earliest = min({checkpoint.version for checkpoint in checkpoints} | ({0} & commits), default=None)
    if version > latest or version < 0 or (at is not None and earliest is not None and version < earliest):
        raise VersionMissing(version, latest if earliest is None else earliest, latest)
    usable = [checkpoint for checkpoint in checkpoints if checkpoint.version <= version]
    newest = usable[-1] if usable else None
    start = newest.version + 1 if newest else 0
    for needed in range(start, version + 1):
        if needed not in commits:
            raise BrokenLog(needed, version)
    chosen = _compactions(names, start, version) if use_compactions else ()
    covered = {each for compaction in chosen for each in range(compaction.start, compaction.end + 1)}
    left = tuple(each for each in range(start, version + 1) if each not in covered)
    return Segment(version, newest, chosen, left)


def find_readable_ranges(names: Iterable[str]) -> list[tuple[int, int]]:
    """Return the first and last version of each range of readable versions, ascending.

    A version is readable if every commit from version 0, or from a complete checkpoint, up to it is listed. Cleanup may
    leave several ranges: those before the last one have lost the commits after them.
    """
    names = list(names)
    commits = list_commits(names)
    checkpoints = {checkpoint.version for checkpoint in find_complete_checkpoints(names)}
    ranges: list[tuple[int, int]] = []
    for version in sorted({*commits, *checkpoints}):
        follows = bool(ranges) and ranges[-1][1] == version - 1
        if follows:
            ranges[-1] = ranges[-1][0], version
        elif version == 0 or version in checkpoints:
            ranges.append((version, version))
    return ranges


def find_readable_versions(names: Iterable[str]) -> tuple[int, int]:
    """Return the oldest version from which every version can be read, and the latest version.

    Cleanup may leave earlier versions that are readable one by one; use `find_readable_ranges` for those.

    Raises:
        NoCommits, BrokenLog: The latest version cannot be read.
    """
    names = list(names)
    choose_segment(names)
    return find_readable_ranges(names)[-1]


def find_commit_ranges(names: Iterable[str]) -> list[tuple[int, int]]:
    """Return the first and last version of each range of consecutive commits, ascending."""
    ranges: list[tuple[int, int]] = []
    for version in list_commits(names):
        if ranges and ranges[-1][1] == version - 1:
            ranges[-1] = ranges[-1][0], version
        else:
            ranges.append((version, version))
    return ranges


def find_cleanup_version(names: Iterable[str]) -> int | None:
    """Return the oldest version that a cleanup kept; None if the log starts with version 0.

    This is the first commit or a checkpoint directly before it; without commits, the first complete checkpoint. Commits
    are deleted up to a checkpoint, so the cutoff checkpoint was not before this version. Source: Metadata Cleanup (r3,
    current).
    """
    names = list(names)
    commits = list_commits(names)
    bases = {each.version for each in find_complete_checkpoints(names)}
    first = min(commits, default=min(bases, default=0))
    if first - 1 in bases:  # older revisions allow deleting the checkpoint's own commit
        return first - 1 or None
    return first or None


def find_unreachable_commits(names: Iterable[str]) -> list[int]:
    """Return the commits at the start of a log that neither version 0 nor a complete checkpoint precedes, ascending.

    Cleanup deleted the checkpoint that they need, or should have deleted them as well.
    Source: Metadata Cleanup (r3, current).
    """
    names = list(names)
    commits = list_commits(names)
    bases = {each.version for each in find_complete_checkpoints(names)}
    if not commits or commits[0] == 0 or commits[0] - 1 in bases:
        return []
    base = min((each for each in bases if each >= commits[0]), default=None)
    return [version for version in commits if base is None or version < base]


def _compactions(names: list[str], start: int, version: int) -> tuple[CompactionName, ...]:
    """Choose compactions in the range that do not overlap, preferring those that reach furthest."""
    every = [
        name for name in map(parse_log_file_name, names) if isinstance(name, CompactionName) and name.start < name.end
    ]
    chosen: list[CompactionName] = []
    at = start
    while fitting := [each for each in every if at <= each.start and each.end <= version]:
        nearest = min(fitting, key=lambda each: (each.start, -each.end))
        chosen.append(nearest)
        at = nearest.end + 1
    return tuple(chosen)
