"""Tables whose commits a catalog ratifies. Source: Catalog-managed Tables (current).

Only the catalog knows which commits are ratified. A commit in the log under its version is published and therefore
ratified; a staged commit may be ratified, rejected or incomplete.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from deltaspec.model.commit.in_commit_timestamps import is_enabled
from deltaspec.model.decisions import Accepted, Decision, Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit, TableVersion, refuse_illegal_state
from deltaspec.protocol.actions import CommitInfo, Protocol
from deltaspec.protocol.features.catalog_managed import FEATURE, list_published_versions
from deltaspec.protocol.revisions import Revision


def check_transaction_id(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a transaction id that no known commit has.

    Source: Writer Requirements for Catalog-managed tables (current).
    """
    if proposal.revision is not Revision.CURRENT or not proposal.supports(FEATURE):  # [Changed in current]
        return
    used = {snapshot.commit_info.txn_id for snapshot in proposal.history if snapshot.commit_info is not None}
    ids = [info.txn_id for info in proposal.actions_of_type(CommitInfo) if info.txn_id is not None]
    if not ids:
        yield Refused("commit-info.transaction-id", "no txnId")
    elif ids[0] in used:
        yield Refused("commit-info.transaction-id-unique", f"an earlier commit has the txnId {ids[0]}")


def check_timestamps(table: TableVersion) -> Iterator[Refused]:
    """Require in-commit timestamps. Source: Writer Requirements for Catalog-managed tables (current)."""
    if table.revision is not Revision.CURRENT or not table.supports(FEATURE):  # [Changed in current]
        return
    if not is_enabled(table.snapshot):
        yield Refused("catalog-managed.in-commit-timestamps", "in-commit timestamps are not enabled")


CHECKS: tuple[CommitCheck, ...] = (check_transaction_id, refuse_illegal_state(check_timestamps))


def is_catalog_managed(protocol: Protocol) -> bool:
    """Return whether a catalog manages the table: both lists contain the feature; no property is involved.

    Source: Catalog-managed Table Enablement (current).
    """
    versions = (protocol.min_reader_version, protocol.min_writer_version)
    listed = FEATURE in (protocol.reader_features or ()) and FEATURE in (protocol.writer_features or ())
    return versions == (3, 7) and listed


def may_ratify(version: int, latest: int) -> Decision:
    """Decide whether the catalog may ratify a commit; versions are ratified once and in order, `latest` starts at -1.

    Source: Commit Protocol (current).
    """
    if version == latest + 1:
        return Accepted()
    return Refused("catalog-managed.ratified-in-order", f"version {version} after {latest}, expected {latest + 1}")


def may_publish(version: int, names: Iterable[str]) -> Decision:
    """Decide whether the next ratified commit may be published. Source: Publishing Commits (current)."""
    if version == 0 or version - 1 in list_published_versions(names):
        return Accepted()
    return Refused("catalog-managed.published-copies-ratified", f"version {version - 1} is not published")


def may_checkpoint(version: int, names: Iterable[str]) -> Decision:
    """Decide whether a version may be checkpointed. Source: Maintenance Operations on Catalog-managed Tables."""
    return may_compact(version, version, names)


def may_compact(start: int, end: int, names: Iterable[str]) -> Decision:
    """Decide whether a range may be compacted: all its commits must be published. Source: as `may_checkpoint`."""
    published_versions = set(list_published_versions(names))
    missing = [version for version in range(start, end + 1) if version not in published_versions]
    if not missing:
        return Accepted()
    return Refused("catalog-managed.published-before-maintenance", f"version {missing[0]} is not published")


Maintenance = Literal["checkpoint", "compaction", "checksum", "cleanup", "vacuum", "layout"]
_ALWAYS = ("checkpoint", "compaction", "checksum")


def may_maintain(operation: Maintenance, permitted: Iterable[str] = ()) -> Decision:
    """Decide whether a client may run an operation; `permitted` lists the ones that the catalog explicitly allows.

    Source: Maintenance Operations on Catalog-managed Tables (current).
    """
    if operation in _ALWAYS or operation in permitted:
        return Accepted()
    return Refused("catalog-managed.maintenance-permitted", operation)
