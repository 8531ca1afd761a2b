"""Checks of the file actions in a commit. Source: Add File and Remove File, Add CDC File, Deletion Vectors."""

from collections import Counter
from collections.abc import Iterator

from deltaspec.model.actions import Add, Cdc, DeletionVectorDescriptor, MetaData, Remove
from deltaspec.model.features.protocol import Refused
from deltaspec.model.features.table_properties import is_property_true
from deltaspec.model.log.paths import is_absolute, path_key
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit
from deltaspec.model.log.reconciliation import get_file_key, get_vector_id
from deltaspec.model.revisions import Revision
from deltaspec.model.rows import change_data
from deltaspec.model.rows.statistics import parse_statistics
from deltaspec.model.schema import column_mapping


def check_repeated_actions(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: forbid repeated adds or removes, and add plus remove of a logical file (E36)."""
    adds, removes = proposal.actions_of_type(Add), proposal.actions_of_type(Remove)
    for path in _twice(adds):
        yield Refused("reconciliation.no-repeated-actions", f"{path} is added twice")
    for path in _twice(removes):
        yield Refused("reconciliation.no-repeated-actions", f"{path} is removed twice")
    for path, _ in sorted({get_file_key(add) for add in adds} & {get_file_key(remove) for remove in removes}, key=str):
        yield Refused("reconciliation.live-and-dead-disjoint", f"{path} is added and removed")


def _twice(actions: list[Add] | list[Remove]) -> list[str]:
    return [path for path, times in Counter(path_key(action.path) for action in actions).items() if times > 1]


def check_replaced_vectors(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: require that a new vector of a live file replaces the previous one."""
    if proposal.revision is not Revision.CURRENT:  # [Changed in current] earlier revisions do not say
        return
    removed = {get_file_key(remove) for remove in proposal.actions_of_type(Remove)}
    for add in proposal.actions_of_type(Add):
        path, vector = get_file_key(add)
        for key in find_conflicting_vectors(path, vector, {*proposal.before.files}, removed):
            yield Refused("add.live-vector-removed", f"{path} stays live with {key[1]}")


def find_conflicting_vectors(
    path: str, vector: str | None, live: set[tuple[str, str | None]], removed: set[tuple[str, str | None]]
) -> list[tuple[str, str | None]]:
    """Return the live logical files of the added path with another vector that the commit does not remove.

    Args:
        path: Key of the added path.
        vector: Id of its vector.
        live: Keys of the logical files before the commit.
        removed: Keys that the commit removes.
    """
    return [key for key in live if key[0] == path and key[1] != vector and key not in removed]


def check_deletion_vectors(proposal: ProposedCommit) -> Iterator[Refused]:
    """Deletion Vectors: require the feature, enablement for new vectors, and a record count."""
    files: list[Add | Remove] = [*proposal.actions_of_type(Add), *proposal.actions_of_type(Remove)]
    for action in files:
        if action.deletion_vector is not None and not proposal.supports("deletionVectors"):
            yield Refused("deletion-vectors.needs-feature", action.path)
    settings = proposal.after.metadata.configuration if proposal.after.metadata else {}
    for add in proposal.actions_of_type(Add):
        if add.deletion_vector is None:
            continue
        # [Changed in r3] the property is new
        enabled = is_property_true(settings, "delta.enableDeletionVectors") or not proposal.revision.since(Revision.R3)
        if not enabled and _is_new(proposal, add, add.deletion_vector):
            yield Refused("deletion-vectors.made-while-enabled", add.path)
        if not has_row_count(add):
            yield Refused("deletion-vectors.needs-num-records", add.path)


def _is_new(proposal: ProposedCommit, add: Add, vector: DeletionVectorDescriptor) -> bool:
    """Return whether a vector is new. Restored vectors, and vectors cloned with their table, are not."""
    if proposal.before.version < 0:
        return False
    known = {key[1] for key in (*proposal.before.files, *proposal.before.tombstones)}
    known |= {get_vector_id(add) for add in proposal.before.files.values()}
    return vector.unique_id not in known


def has_row_count(add: Add) -> bool:
    """Return whether the statistics of a file include the number of records."""
    try:
        return add.stats is not None and parse_statistics(add.stats).num_records is not None
    except ValueError:
        return False


def check_partition_values(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: require a value for each partition column, under its physical name."""
    schema, metadata = proposal.schema, proposal.after.metadata
    if schema is None or metadata is None:
        return
    columns = set(column_mapping.list_physical_partition_columns(schema, metadata.partition_columns, proposal.mapping))
    files: list[Add | Cdc] = [*proposal.actions_of_type(Add), *proposal.actions_of_type(Cdc)]
    for action in files:
        if not columns <= set(action.partition_values):
            yield Refused("add.partition-values", action.path)
    for add in proposal.after.files.values() if proposal.actions_of_type(MetaData) else ():
        if add not in files and is_illegal_partitioning(columns, add):
            yield Refused("add.partition-values", f"{add.path} stays live without a value for a new partition column")


def is_illegal_partitioning(columns: set[str], add: Add) -> bool:
    """Return whether a live file has no value for a partition column (physical names) of the new metadata."""
    return not columns <= set(add.partition_values)


def check_removes(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add File and Remove File: require the metadata that a remove says it includes."""
    for remove in proposal.actions_of_type(Remove):
        if remove.extended_file_metadata and (remove.partition_values is None or remove.size is None):
            yield Refused("remove.extended-file-metadata", remove.path)


def check_change_files(proposal: ProposedCommit) -> Iterator[Refused]:
    """Add CDC File, Change Data Files: forbid `dataChange=true`, and require the location `_change_data`."""
    added = {path_key(add.path) for add in proposal.actions_of_type(Add)}
    for cdc in proposal.actions_of_type(Cdc):
        if cdc.data_change:
            yield Refused("cdc.no-data-change", cdc.path)
        is_added = path_key(cdc.path) in added
        if not change_data.is_in_allowed_location(cdc.path, is_absolute=is_absolute(cdc.path), is_added=is_added):
            yield Refused("cdc.location", cdc.path)


CHECKS: tuple[CommitCheck, ...] = (
    check_repeated_actions,
    check_replaced_vectors,
    check_deletion_vectors,
    check_partition_values,
    check_removes,
    check_change_files,
)
"""In the order in which `validation.check_commit` evaluates them."""
