"""The document of a proved plan, and the files that it writes."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from deltaspec.repair.changes import Draft
from deltaspec.repair.overlay_store import digest_listing
from deltaspec.repair.plan_format import LogFileDigest, RepairPlan
from deltaspec.version import __version__
from deltaspec.wire.storage.factory import is_uri
from deltaspec.wire.storage.interface import LOG_DIRECTORY, Entry, Store, format_local_path


class ProvedPlan(msgspec.Struct, frozen=True):
    """A plan, and the content of the new files of the log by name relative to `_delta_log`."""

    plan: RepairPlan
    files: dict[str, bytes]


def build_plan(store: Store, entries: Iterable[Entry], draft: Draft, **fields: Any) -> ProvedPlan:
    """Build the plan of a draft.

    Args:
        store: the table.
        entries: the listing of its log from which the plan was made.
        draft: the files that the plan writes and sets aside.
        fields: the other fields of `RepairPlan`.

    Raises:
        StorageError: a file that is set aside cannot be read.
    """
    plan = RepairPlan(
        deltaspec=__version__,
        table=_get_location(store),
        listing=digest_listing(entries),
        commit=None if draft.commit is None else _digest(*draft.commit),
        writes=[_digest(name, content) for name, content in draft.writes.items()],
        set_aside=[_digest_listed(store, name) for name in draft.set_aside],
        set_aside_after=[_digest_listed(store, name) for name in draft.set_aside_after],
        **fields,
    )
    return ProvedPlan(plan, draft.new_files)


def _get_location(store: Store) -> str:
    """Return the URI or the absolute path of a table."""
    return store.uri if is_uri(store.uri) or store.root is None else format_local_path(store.root)


def _digest(name: str, content: bytes) -> LogFileDigest:
    return LogFileDigest(name=name, size_bytes=len(content), sha256=sha256(content).hexdigest())


def _digest_listed(store: Store, name: str) -> LogFileDigest:
    """Return the digest of a file that is set aside."""
    digest, size = sha256(), 0
    for chunk in store.chunks(f"{LOG_DIRECTORY}/{name}"):
        digest.update(chunk)
        size += len(chunk)
    return LogFileDigest(name=name, size_bytes=size, sha256=digest.hexdigest())
