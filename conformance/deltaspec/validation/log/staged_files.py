"""Staged commits whose version is not published, and the files that they name. The catalog may have ratified them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deltaspec.protocol.actions import DeletionVectorDescriptor
from deltaspec.protocol.files import paths
from deltaspec.protocol.files.deletion_vectors import DeletionVectorError
from deltaspec.protocol.log.file_names import CommitName, StagedCommit, commit_name, parse_log_file_name
from deltaspec.protocol.log.segment import find_complete_checkpoints
from deltaspec.validation.plan import Plan
from deltaspec.views.log.staged_commits import iter_documents
from deltaspec.wire.data.deletion_vector_reader import find_vector_key
from deltaspec.wire.storage.data_access import normalize_key
from deltaspec.wire.storage.interface import LOG_DIRECTORY, StorageError, Store
from deltaspec.wire.storage.prefetch import prefetch_contents

MAX_STAGED_BYTES = 64 << 20
"""Longest staged commit that is read."""


class StagedFiles(msgspec.Struct, frozen=True):
    """Files that staged commits of unpublished versions name, by their name in a listing."""

    named: frozenset[str] = frozenset()
    """Data files, change data files and files of deletion vectors."""
    removed: frozenset[str] = frozenset()
    """Path keys of the data files that they remove."""
    is_complete: bool = True
    """Every line of them could be decoded."""


def find_published_version(names: Iterable[str]) -> int | None:
    """Return the highest version of a published commit, or of a checkpoint that replaced it; None without any."""
    names = list(names)
    commits = (name.version for name in map(parse_log_file_name, names) if isinstance(name, CommitName))
    return max([*commits, *(each.version for each in find_complete_checkpoints(names))], default=None)


def list_unpublished(names: Iterable[str]) -> list[tuple[str, int]]:
    """Return name and version of the staged commits whose version is not published, sorted by name.

    A commit that log cleanup deleted was published.
    """
    names = set(names)
    commits = [name.version for name in map(parse_log_file_name, names) if isinstance(name, CommitName)]
    checkpoints = (each.version + 1 for each in find_complete_checkpoints(names))
    first = min([*commits, *checkpoints], default=0)
    staged = ((name, parse_log_file_name(name)) for name in sorted(names))
    return [
        (name, parsed.version)
        for name, parsed in staged
        if isinstance(parsed, StagedCommit) and parsed.version >= first and commit_name(parsed.version) not in names
    ]


def read_staged_files(store: Store, plan: Plan) -> StagedFiles:
    """Read which files the staged commits of unpublished versions name. Files that cannot be read name none."""
    files = [f"{LOG_DIRECTORY}/{name}" for name, _ in list_unpublished(plan.entries)]
    named: set[str] = set()
    removed: set[str] = set()
    is_complete = True
    for content in prefetch_contents(store, iter(files), MAX_STAGED_BYTES):
        if isinstance(content, StorageError):
            is_complete = False
            continue
        try:
            for document in iter_documents(content):
                for kind in ("add", "remove", "cdc"):
                    action = document.get(kind)
                    if isinstance(action, dict) and isinstance(action.get("path"), str):
                        key = paths.path_key(action["path"], store.root)
                        named |= {normalize_key(key), *_find_vector_files(action.get("deletionVector"), store.root)}
                        removed |= {key} if kind == "remove" else set()
        except RecursionError:
            is_complete = False
    return StagedFiles(frozenset(named), frozenset(removed), is_complete)


def _find_vector_files(value: object, root: str | None) -> set[str]:
    """Return the file of a stored deletion vector, if an action has one."""
    try:
        descriptor = msgspec.convert(value, DeletionVectorDescriptor)
        return {normalize_key(find_vector_key(descriptor, root))}
    except (msgspec.ValidationError, DeletionVectorError):
        return set()
