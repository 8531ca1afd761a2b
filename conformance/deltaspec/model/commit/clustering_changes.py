"""Checks of commits on clustered tables. Source: Writer Requirements for Clustered Table."""

from collections.abc import Iterator

from deltaspec.model.actions import Add, DomainMetadata, MetaData
from deltaspec.model.features import clustering
from deltaspec.model.features.protocol import Refused, get_supported_features
from deltaspec.model.features.table_features import strip_preview_suffix
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.revisions import Revision


def _columns(proposal: ProposedCommit) -> tuple[clustering.Path, ...]:
    """Return the clustering columns after the commit; empty if clustering is not supported."""
    if not proposal.revision.since(Revision.R3) or not proposal.supports(clustering.FEATURE):  # [Changed in r3]
        return ()
    return clustering.read_clustering_columns(proposal.after.domains.get(clustering.DOMAIN))


def check_feature(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require the clustering feature when the domain defines clustering columns."""
    protocol = proposal.after.protocol
    if protocol is None or not proposal.revision.since(Revision.R3):  # [Changed in r3] clustering is new
        return
    if clustering.FEATURE in {strip_preview_suffix(name) for name in get_supported_features(protocol)}:
        return
    for action in proposal.actions_of_type(DomainMetadata):
        if clustering.read_clustering_columns(action):
            yield Refused("clustering.feature", action.configuration)


def check_columns(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require clustering columns to be columns of the table, by physical name, and the table to be unpartitioned."""
    schema, metadata, named = proposal.schema, proposal.after.metadata, _columns(proposal)
    is_new = proposal.actions_of_type(MetaData) != [] or any(
        each.domain == clustering.DOMAIN for each in proposal.actions_of_type(DomainMetadata)
    )
    if not named or schema is None or metadata is None or not is_new:
        return
    if metadata.partition_columns:
        yield Refused("clustering.not-partitioned", ", ".join(metadata.partition_columns))
    for name in clustering.find_unknown_columns(named, schema, proposal.mapping, proposal.revision):
        yield Refused("clustering.columns-by-physical-name", name)


def check_statistics(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require statistics of the clustering columns in added files, and of new clustering columns in all files.

    This follows the protocol literally: a snapshot does not show whether a file is older than a column.
    """
    named = clustering.resolve_columns(_columns(proposal), proposal.schema, proposal.mapping)
    before = clustering.read_clustering_columns(proposal.before.domains.get(clustering.DOMAIN))
    new = tuple(each for each in named if each not in before)
    added = proposal.actions_of_type(Add)
    for add in added:
        for name in clustering.find_columns_without_statistics(add.stats, named) or ():
            yield Refused("clustering.statistics", f"{add.path} has no statistics of {name}")
    for add in proposal.after.files.values() if new else ():
        for name in (clustering.find_columns_without_statistics(add.stats, new) or ()) if add not in added else ():
            yield Refused("clustering.statistics-of-new-columns", f"{add.path} stays live without statistics of {name}")


def check_provider(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a clustering provider that is not blank."""
    if not proposal.revision.since(Revision.R3):  # [Changed in r3] the field is new
        return
    for add in proposal.actions_of_type(Add):
        if clustering.has_blank_provider(add.clustering_provider):
            yield Refused("clustering.provider", add.path)


CHECKS: tuple[CommitCheck, ...] = (check_feature, check_columns, check_statistics, check_provider)
"""In the order in which `validation.check_commit` evaluates them."""
