"""Decide whether a commit may follow a snapshot. Source: Requirements for Writers, chapter by chapter.

The form of lines is checked when they are parsed, data files are not opened, and SQL is not parsed. Neither violating a
SHOULD nor a divergence, which is a point that the protocol leaves undecided, refuses a commit.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from deltaspec.model.commit import (
    catalog_managed,
    clustering_changes,
    constraint_changes,
    file_changes,
    file_form,
    iceberg_changes,
    in_commit_timestamps,
    row_id_changes,
    table_changes,
    type_widening,
    variant_columns,
)
from deltaspec.model.decisions import Accepted, Decision, Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import (
    Action,
    CheckpointMetadata,
    DomainMetadata,
    MetaData,
    Protocol,
    Remove,
    Sidecar,
    Txn,
)
from deltaspec.protocol.features import clustering, system_domains
from deltaspec.protocol.features.table_properties import is_append_only
from deltaspec.protocol.revisions import Revision


def check_commit(
    snapshot: Snapshot,
    version: int,
    actions: Sequence[Action],
    revision: Revision = Revision.CURRENT,
    earlier: Sequence[Snapshot] = (),
) -> Decision:
    """Decide whether a commit with these actions may follow the snapshot.

    Args:
        snapshot: Table before the commit; `reconciliation.EMPTY_SNAPSHOT` for a new table.
        version: Proposed version.
        actions: Actions of the commit, in the order of the lines.
        revision: Protocol revision.
        earlier: Snapshots before `snapshot`, ascending. Requirements on the history, such as names that no column ever
            had, are checked as far as they go.

    Returns:
        `Accepted`, or the first `Refused` in the order of `CHECKS`; see `collect_refusals` for all.
    """
    return next(collect_refusals(snapshot, version, actions, revision, earlier), Accepted())


def collect_refusals(
    snapshot: Snapshot,
    version: int,
    actions: Sequence[Action],
    revision: Revision = Revision.CURRENT,
    earlier: Sequence[Snapshot] = (),
) -> Iterator[Refused]:
    """Yield every reason to refuse the commit. Arguments as `check_commit`."""
    proposal = ProposedCommit(snapshot, version, actions, revision, earlier)
    for check in CHECKS:
        yield from check(proposal)


def check_next_version(proposal: ProposedCommit) -> Iterator[Refused]:
    """Delta Log Entries: require contiguous versions."""
    if proposal.version != proposal.before.version + 1:
        yield Refused(
            "log.versions-contiguous",
            f"version {proposal.version} after {proposal.before.version}, expected {proposal.before.version + 1}",
        )


def check_first_version(proposal: ProposedCommit) -> Iterator[Refused]:
    """Change Metadata, Action Reconciliation: require a protocol and metadata in the first version."""
    if proposal.before.version >= 0:
        return
    if proposal.after.metadata is None:
        yield Refused("metadata.in-first-version", "no metaData")
    if proposal.after.protocol is None:
        yield Refused("reconciliation.one-protocol", "no protocol")


def check_single_actions(proposal: ProposedCommit) -> Iterator[Refused]:
    """Delta Log Entries: forbid actions that replace each other, because the actions of a commit have no order.

    Whether a commit may contain a domain or a high-water mark twice is undecided (E37).
    """
    if len(proposal.actions_of_type(Protocol)) > 1:
        yield Refused("protocol.one-a-version", "two protocol actions")
    if len(proposal.actions_of_type(MetaData)) > 1:
        yield Refused("metadata.one-a-version", "two metaData actions")
    for app in find_repeated_keys(action.app_id for action in proposal.actions_of_type(Txn)):
        yield Refused("reconciliation.no-repeated-actions", f"two txn actions of {app}")
    if any(isinstance(action, CheckpointMetadata | Sidecar) for action in proposal.actions):
        yield Refused("reconciliation.checkpoint-actions-not-in-commits", "checkpointMetadata or sidecar in a commit")


def find_repeated_keys(keys: Iterable[Hashable]) -> list[Hashable]:
    """Return the keys that occur more than once, in order of first occurrence."""
    return [key for key, times in Counter(keys).items() if times > 1]


def check_append_only(proposal: ProposedCommit) -> Iterator[Refused]:
    """Append-only Tables: forbid removing data if the property is true before and after the commit (S33)."""
    for state in (proposal.before, proposal.after):
        if state.protocol is None or state.metadata is None or not is_append_only(state.protocol, state.metadata):
            return
    for remove in proposal.actions_of_type(Remove):
        if remove.data_change:
            yield Refused("append-only.no-removal", remove.path)


def check_domains(proposal: ProposedCommit) -> Iterator[Refused]:
    """Domain Metadata: require the features of written domains, and the format of those that the protocol defines."""
    table = proposal.version_after
    for action in proposal.actions_of_type(DomainMetadata):
        if table.features is not None and not table.supports("domainMetadata"):
            yield Refused("domain.needs-feature", action.domain)
        if action.removed:
            continue
        feature = system_domains.find_domain_feature(action.domain, proposal.revision)
        if feature is not None and table.supports_feature_or_preview(feature) is False:
            yield Refused(
                "clustering.feature" if action.domain == clustering.DOMAIN else "domain.demands-on-writers",
                action.domain,
            )
        fault = system_domains.find_domain_fault(action, proposal.revision)
        is_undecided = fault in (system_domains.LONE_SURROGATE, system_domains.TOO_DEEP)
        if fault and not is_undecided and proposal.revision.since(Revision.R3):  # [Changed in r3] the domains are new
            yield Refused("domain.system-configuration", f"{action.domain} {fault}")


CHECKS: tuple[CommitCheck, ...] = (
    check_next_version,
    check_single_actions,
    check_first_version,
    *table_changes.CHECKS,
    *type_widening.CHECKS,
    *variant_columns.CHECKS,
    *constraint_changes.CHECKS,
    check_append_only,
    check_domains,
    *in_commit_timestamps.CHECKS,
    *catalog_managed.CHECKS,
    *iceberg_changes.CHECKS,
    *clustering_changes.CHECKS,
    *file_form.CHECKS,
    *file_changes.CHECKS,
    *row_id_changes.CHECKS,
)
"""In the order in which `check_commit` evaluates them."""
