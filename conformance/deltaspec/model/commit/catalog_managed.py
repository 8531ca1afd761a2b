"""Tables whose commits a catalog ratifies. Source: Catalog-managed Tables (current).

What is ratified the catalog alone knows. A commit that lies in the log under its version is published, and so
ratified; a staged commit may be ratified, rejected, or half written.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deltaspec.model.actions import CommitInfo, Protocol
from deltaspec.model.commit.in_commit_timestamps import is_enabled
from deltaspec.model.features.protocol import Accepted, Decision, Refused
from deltaspec.model.log.file_names import CommitName, StagedCommit, commit_name, parse_log_file_name
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.revisions import Revision

FEATURE = "catalogManaged"


def catalog_managed(proposal: ProposedCommit) -> Iterator[Refused]:
    """Commits name their transaction and carry their own time.

    Source: Writer Requirements for Catalog-managed tables (current).
    """
    if proposal.revision is not Revision.CURRENT or not proposal.supports(FEATURE):  # [Changed in current]
        return
    if not any(info.txn_id is not None for info in proposal.of(CommitInfo)):
        yield Refused("commit-info.transaction-id", "no txnId")
    if not is_enabled(proposal.after):
        yield Refused("catalog-managed.in-commit-timestamps", "in-commit timestamps are not enabled")


CHECKS: tuple[CommitCheck, ...] = (catalog_managed,)


def is_catalog_managed(protocol: Protocol) -> bool:
    """Whether a catalog manages the table: both lists name the feature, and no property is asked.

    Source: Catalog-managed Table Enablement (current).
    """
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    listed = FEATURE in (protocol.reader_features or ()) and FEATURE in (protocol.writer_features or ())
    return versions == (3, 7) and listed


def published(names: Iterable[str]) -> list[int]:
    """Versions whose commits are published, ascending; names are relative to `_delta_log`.

    Source: Terminology: Commits (current).
    """
    return sorted(name.version for name in map(parse_log_file_name, names) if isinstance(name, CommitName))


def find_commits_to_read(
    names: Iterable[str], ratified: Mapping[int, str | None], latest: int
) -> dict[int, str | None]:
    """Where a reader takes each commit from, by version: a file below `_delta_log`, or None for the catalog's own copy.

    Args:
        names: what is listed, relative to `_delta_log`. Staged commits among them say nothing by themselves.
        ratified: what the catalog returns: the name of a staged commit, or None where it holds the content.
        latest: the latest version, as the catalog has it; whatever is listed beyond it is not there.

    Source: Reading Catalog-managed Tables; Reader Requirements for Catalog-managed tables (current).
    """
    sources: dict[int, str | None] = {version: commit_name(version) for version in published(names)}
    sources |= ratified  # the catalog's word goes before what is published
    return {version: sources[version] for version in sorted(sources) if version <= latest}


def may_ratify(version: int, latest: int) -> Decision:
    """Whether the catalog may ratify a commit: once, and after the one before; `latest` is -1 before the first.

    Source: Commit Protocol (current).
    """
    if version == latest + 1:
        return Accepted()
    return Refused("catalog-managed.ratified-in-order", f"version {version} after {latest}")


def may_publish(version: int, names: Iterable[str]) -> Decision:
    """Whether a ratified commit may be published now: after the one before. Source: Publishing Commits (current)."""
    if version == 0 or version - 1 in published(names):
        return Accepted()
    return Refused("catalog-managed.published-copies-ratified", f"version {version - 1} is not published")


def may_checkpoint(version: int, names: Iterable[str]) -> Decision:
    """Whether a checkpoint of a version may be made. Source: Maintenance Operations on Catalog-managed Tables."""
    return may_compact(version, version, names)


def may_compact(start: int, end: int, names: Iterable[str]) -> Decision:
    """Whether a range of commits, both ends in it, may be compacted: all are published. Source: as `may_checkpoint`."""
    there = set(published(names))
    absent = [version for version in range(start, end + 1) if version not in there]
    if not absent:
        return Accepted()
    return Refused("catalog-managed.published-before-maintenance", f"version {absent[0]} is not published")


Maintenance = Literal["checkpoint", "compaction", "checksum", "cleanup", "vacuum", "layout"]
_ALWAYS = ("checkpoint", "compaction", "checksum")


def may_maintain(operation: Maintenance, permitted: Iterable[str] = ()) -> Decision:
    """Whether a client may run an operation; `permitted` are those that the catalog explicitly lets it run.

    Source: Maintenance Operations on Catalog-managed Tables (current).
    """
    if operation in _ALWAYS or operation in permitted:
        return Accepted()
    return Refused("catalog-managed.maintenance-permitted", operation)


def group_versions_by_uuid(names: Iterable[str]) -> dict[str, list[int]]:
    """Versions of the staged commits that have a UUID in their name, by UUID: each commit is to have one of its own.

    Source: Terminology: Commits (current).
    """
    found: dict[str, set[int]] = {}
    for name in map(parse_log_file_name, names):
        if isinstance(name, StagedCommit):
            found.setdefault(name.uuid, set()).add(name.version)
    return {uuid: sorted(versions) for uuid, versions in sorted(found.items())}


@dataclass(frozen=True)
class CommitContent:
    """What a commit holds, as far as one copy is compared with another."""

    transaction: str | None
    """Its txnId."""
    actions: Sequence[Hashable]
    """Its actions but commitInfo, in any form in which equal ones are equal."""


def is_illegal_copy(published: CommitContent, staged: CommitContent) -> bool:
    """Whether a published commit is of the transaction of a staged one of its version, and holds other actions.

    A transaction that is tried again at the same version does the same, so that only its commitInfo may differ. One
    that has no txnId cannot be told from another. A staged commit may break off, where it was never proposed: what it
    lacks says nothing.

    Source: Publishing Commits (current).
    """
    if published.transaction is None or published.transaction != staged.transaction:
        return False
    return bool(Counter(staged.actions) - Counter(published.actions))
