"""Concurrent writes: decide what the pinned listing of the log cannot answer.

A run lists the log once and validates that listing. It cannot tell whether a commit after the listing removed a missing
file, or whether a writer has overwritten an object since. Before such a finding is reported, the log is listed again.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from itertools import pairwise

from deltaspec.errors import DeltaspecError
from deltaspec.protocol.files import paths
from deltaspec.protocol.log.file_names import (
    ChecksumName,
    ClassicCheckpoint,
    CommitName,
    CompactionName,
    MultipartCheckpoint,
    UuidCheckpoint,
    commit_name,
    is_defined,
    parse_log_file_name,
)
from deltaspec.protocol.log.segment import find_complete_checkpoints, find_unreachable_commits
from deltaspec.validation.data.commit_reader import MAX_COMMIT_BYTES
from deltaspec.validation.log.staged_files import StagedFiles, read_staged_files
from deltaspec.validation.plan import Plan
from deltaspec.wire.log.line_decoder import decode_lines
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store
from deltaspec.wire.storage.ratified_store import RatifiedStore

HINT = "_last_checkpoint"
LISTINGS = 5
"""Maximum number of listings of a log whose listings have gaps."""


def load_pinned_listing(store: Store) -> list[Entry]:
    """Return the listing of the log that a run validates.

    No store lists a directory in one moment: the listing may miss a file that is written meanwhile, and contain a later
    one. A log with gaps is therefore listed again, until two listings agree on the gaps and on all files up to the last
    gap.

    Raises:
        TableUnreadable: there is no table.
    """
    listed = store.list_log()
    for _ in range(LISTINGS - 1):
        gaps = find_gaps(listed)
        if not gaps:
            break
        before, listed = listed, store.list_log()
        end = max(last for _, _, last in gaps) + 1
        if find_gaps(listed) == gaps and _list_up_to(end, before) == _list_up_to(end, listed):
            break
    return listed


def _list_up_to(version: int, listed: list[Entry]) -> set[str]:
    """Return the names of files of versions up to this one, and of files without a version."""
    versions = {entry.name: getattr(entry.log_name, "version", -1) for entry in listed}
    return {name for name, each in versions.items() if each <= version}


def find_gaps(listed: list[Entry]) -> set[tuple[str, int, int]]:
    """Return the gaps of a listing that has later files: kind of file, first and last missing version.

    Files that a cleanup deletes last also show a gap: during the cleanup they are listed without the files that it
    deleted first.
    """
    names = [entry.name for entry in listed]
    complete = [each.version for each in find_complete_checkpoints(names)]
    commits: set[int] = set()
    checksums: set[int] = set()
    compactions: set[int] = set()
    latest = -1
    for entry in listed:
        match entry.log_name:
            case CommitName(version):
                commits.add(version)
            case ChecksumName(version):
                checksums.add(version)
            case CompactionName(start, end):
                compactions.add(start)
                latest = max(latest, end)
            case ClassicCheckpoint(version) | MultipartCheckpoint(version) | UuidCheckpoint(version):
                latest = max(latest, version)
    latest = max([latest, *checksums])
    newest = max(commits or complete, default=-1)
    # a checkpoint replaces the commits up to its version
    known = sorted({*commits, *(complete[-1:] or [-1])})
    gaps = {("commit", before + 1, after - 1) for before, after in pairwise(known) if after - before > 1}
    gaps |= {("commit", newest + 1, latest)} if latest > newest else set()
    if newest < 0:  # a cleanup may have removed every commit that was about to be listed
        gaps.add(("commit", 0, max(latest, 0)))
    if 0 not in commits and (unreachable := find_unreachable_commits(names)):
        gaps.add(("base of commits", unreachable[0], unreachable[-1]))
    oldest = min(commits, default=0)
    gaps |= {("start of a compaction", start, oldest - 1) for start in compactions if start < oldest}
    first, last = min(checksums, default=0), max(checksums, default=0)
    return gaps | {("checksum", each, each) for each in commits - checksums if first < each < last}


class LaterCommits:
    """Commits after the validated version, including those written after the log was listed."""

    def __init__(self, store: Store, plan: Plan, *, catalog_managed: bool | None = False) -> None:
        """Begin with the pinned listing.

        Args:
            store: the table.
            plan: of the run.
            catalog_managed: whether staged commits of unpublished versions may be part of the table.
        """
        self._store = store
        self._plan = plan
        self._catalog_managed = catalog_managed
        self._revision = plan.revision
        self._version = plan.version
        self._newest = plan.version
        self._listed: set[int] = set()
        self._is_known = True
        """No commit after the validated version can have been cleaned up before it was listed."""
        self._removed: dict[int, frozenset[str] | None] = {}
        """Path keys that each commit removes; None if it cannot be read."""
        own = commit_name(plan.version)
        checkpoints = (each.files[0] for each in plan.all_checkpoints if each.version == plan.version)
        self._own = own if own in plan.entries else next(checkpoints, own)
        """A file of the validated version."""
        self._add_names({*plan.entries, *(entry.name for entry in plan.listed or ())})

    def find_removed(self, keys: Collection[str]) -> dict[str, bool | None]:
        """Return for each path whether a later commit removes it; None if some later commit cannot be read.

        Call this after the files were not found. VACUUM deletes a file only after the commit that removes it, so the
        commit is in a listing that is made now, if it is in none of the earlier ones.
        """
        found = self._find_in_listed_commits(keys)
        if all(found.values()):
            return found
        self.refresh()
        found = self._find_in_listed_commits(keys)
        return self._mark_removed_by_staged(found) if self._catalog_managed else found

    def _mark_removed_by_staged(self, found: dict[str, bool | None]) -> dict[str, bool | None]:
        """Mark the paths that a staged commit removes, because the catalog may have ratified it."""
        if False not in found.values():
            return found
        staged = self._staged_files
        return {
            key: None if removed is False and (key in staged.removed or not staged.is_complete) else removed
            for key, removed in found.items()
        }

    @cached_property
    def _staged_files(self) -> StagedFiles:
        return read_staged_files(self._store, self._plan)

    def refresh(self) -> None:
        """List the log again."""
        try:
            store = self._store
            entries = store.list_with_later() if isinstance(store, RatifiedStore) else store.list_log()
            self._add_names([entry.name for entry in entries if is_defined(entry.name, self._revision)])
            self._store.size(f"{LOG_DIRECTORY}/{self._own}")  # a cleanup deletes older files first
        except DeltaspecError:  # the table may have been deleted
            self._is_known = False

    @property
    def is_latest(self) -> bool:
        """No version after the validated one has been listed."""
        return self._is_known and self._newest == self._version

    def _add_names(self, names: Collection[str]) -> None:
        commits = {name.version for name in map(parse_log_file_name, names) if isinstance(name, CommitName)}
        self._listed |= {version for version in commits if version > self._version}
        self._newest = max([self._newest, *self._listed, *(each.version for each in find_complete_checkpoints(names))])

    def _find_in_listed_commits(self, keys: Collection[str]) -> dict[str, bool | None]:
        """Return for each path whether a listed commit removes it; None if that is not known."""
        if not keys:
            return {}
        for version in self._listed - self._removed.keys():
            self._removed[version] = self._read_removed(version)
        removed = self._removed.values()
        is_complete = self._is_known and None not in removed and len(removed) == self._newest - self._version
        found: dict[str, bool | None] = dict.fromkeys(keys, False if is_complete else None)
        for each in removed:
            found.update(dict.fromkeys((each or frozenset()) & found.keys(), True))
        return found

    def _read_removed(self, version: int) -> frozenset[str] | None:
        try:
            log = decode_lines(self._store.read(f"{LOG_DIRECTORY}/{commit_name(version)}", MAX_COMMIT_BYTES))
        except StorageError:
            return None
        if log.undecoded_kinds & {"remove", None}:
            return None
        root = self._store.root
        return frozenset(paths.path_key(each.path, root) for each in log.files.select("remove"))


def is_hint_unchanged(store: Store, plan: Plan) -> bool:
    """Return whether `_last_checkpoint` has its listed size and time, and the checkpoints are still as planned.

    Writers overwrite the file, and may have done so after the checkpoints were listed.
    """
    try:
        entries = {entry.name: entry for entry in store.list_log() if is_defined(entry.name, plan.revision)}
    except DeltaspecError:
        return False
    return entries.get(HINT) == plan.entries[HINT] and tuple(find_complete_checkpoints(entries)) == plan.all_checkpoints


def describe_missing_file(removed: bool | None) -> str:
    """Describe a missing file for the ledger, by whether a later commit removes its path."""
    return (
        "is missing; a later commit may have removed it" if removed is None else "is missing; a later commit removed it"
    )
