"""Find earlier versions of lost or damaged files of the log, which a versioned bucket keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from deltaspec.protocol.log.file_names import CommitName, commit_name
from deltaspec.repair.plan_format import NotRepaired
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, StorageError, Store, escape_file_name
from deltaspec.wire.storage.object_versions import ObjectVersions

_LOSSES = ("LIN", "LOG001", "LOG010", "CKP001", "CKP022", "COP001", "CRC001")
"""Prefixes of the rules that find a file of the log missing or damaged."""
_GAPS = ("LOG001", "LOG010")
"""Rules that find commits missing before the file that the finding names."""
_MAX_FILES = 50


def locate_log_files(store: Store, entries: Mapping[str, Entry], not_repaired: list[NotRepaired]) -> list[NotRepaired]:
    """Return the entries; entries of lost files of the log have the earlier versions of the objects.

    Args:
        store: the table.
        entries: the listing of its log, by name.
        not_repaired: what a plan does not repair.
    """
    lost = {number: _list_names(each, entries) for number, each in enumerate(not_repaired) if _is_loss(each)}
    if not store.is_remote or not lost:
        return not_repaired
    found: dict[str, list[str]] = {}
    try:
        versions = ObjectVersions(store)
        for name in sorted({name for names in lost.values() for name in names})[:_MAX_FILES]:
            listed = versions.list_versions(f"{LOG_DIRECTORY}/{name}")
            found[name] = [escape_file_name(each.uri) for each in listed if not each.is_latest]
    except StorageError as fault:
        return [
            replace(each, reason=f"{each.reason}; {fault}") if number in lost else each
            for number, each in enumerate(not_repaired)
        ]
    return [
        replace(each, found_elsewhere=[uri for name in lost.get(number, ()) for uri in found.get(name, ())])
        if number in lost
        else each
        for number, each in enumerate(not_repaired)
    ]


def _is_loss(entry: NotRepaired) -> bool:
    return entry.rule.startswith(_LOSSES) and entry.location.startswith(f"{LOG_DIRECTORY}/")


def _list_names(entry: NotRepaired, entries: Mapping[str, Entry]) -> list[str]:
    """Return the names of the lost files that an entry is about."""
    name = entry.location.removeprefix(f"{LOG_DIRECTORY}/").split(" ", 1)[0]
    return list(_iter_missing(entries)) if entry.rule in _GAPS else [name]


def _iter_missing(entries: Mapping[str, Entry]) -> Iterator[str]:
    """Yield the names of the commits that are missing between the first and the last one, the newest first."""
    versions = {entry.log_name.version for entry in entries.values() if isinstance(entry.log_name, CommitName)}
    missing = (each for each in range(max(versions, default=0), -1, -1) if each not in versions)
    for _, version in zip(range(_MAX_FILES), missing, strict=False):
        yield commit_name(version)
