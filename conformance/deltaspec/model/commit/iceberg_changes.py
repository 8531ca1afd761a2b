"""Checks of commits with Iceberg compatibility. Source: Iceberg Compatibility V1, Iceberg Compatibility V2.

A proposal forbids nothing, so V3 is not checked here, but in `iceberg_proposal`.
"""

from collections.abc import Iterator

from deltaspec.model.commit import iceberg_compat
from deltaspec.model.commit.file_changes import has_row_count
from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    read_mapping_mode,
    read_schema,
    refuse_illegal_files,
    refuse_illegal_state,
)
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Add, CommitInfo, MetaData, Protocol
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.data_types import get_type_name


def _enabled(snapshot: Snapshot, revision: Revision) -> tuple[str, ...]:
    if snapshot.protocol is None or snapshot.metadata is None:
        return ()
    features = get_supported_features(snapshot.protocol)
    enabled = iceberg_compat.get_enabled_compatibilities(features, snapshot.metadata.configuration, revision)
    return tuple(each for each in enabled if each in iceberg_compat.FEATURES)


def _requirement(compatibility: str, name: str) -> str:
    """Return the requirement id; both chapters use the same names."""
    return f"iceberg-{compatibility.lower()}.{name}"


def check_readers(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a protocol under which readers support column mapping."""
    for action in proposal.actions_of_type(Protocol):
        for compatibility, feature in iceberg_compat.FEATURES.items():
            listed = feature in (action.writer_features or ()) and proposal.revision.since(Revision.R3)
            if listed and not iceberg_compat.readers_support_mapping(action):
                yield Refused(_requirement(compatibility, "readers"), feature)


def check_state(table: TableVersion) -> Iterator[Refused]:
    """Require column mapping and supported types; forbid deletion vectors and the other compatibility."""
    schema = table.schema
    enabled = _enabled(table.snapshot, table.revision)
    for each in enabled:
        if table.mapping is None:
            yield Refused(_requirement(each, "mapped"), "columns are not mapped")
        if iceberg_compat.conflicts_with_vectors(each, table.features or (), table.configuration):
            yield Refused(_requirement(each, "no-deletion-vectors"), "deletionVectors")
        if each == "V2" and len(enabled) > 1:
            yield Refused("iceberg-v2.not-with-first", "V1 is enabled too")
        if schema is None:
            continue
        for path, kind in iceberg_compat.find_forbidden_columns(schema, each):
            yield Refused(_requirement(each, "types"), f"{'.'.join(path)}: {get_type_name(kind)}")
        if table.supports("typeWidening") and table.revision is Revision.CURRENT:  # [Changed in current]
            for path, old, new in iceberg_compat.find_forbidden_type_changes(schema):
                yield Refused(
                    _requirement(each, "type-changes"), f"{'.'.join(path)}: {get_type_name(old)}, {get_type_name(new)}"
                )


def check_partitioning(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require that replacing a table keeps the names of its partition columns."""
    enabled = _enabled(proposal.after, proposal.revision)
    if enabled and _enabled(proposal.before, proposal.revision):
        for name in find_renamed_columns(proposal):
            yield Refused(_requirement(enabled[0], "partitions-keep-names"), name)


def find_renamed_columns(proposal: ProposedCommit) -> list[str]:
    """Return the partition columns whose names a commit changes. A restored table had them before."""
    operations = [each.operation for each in proposal.actions_of_type(CommitInfo)]
    if any(isinstance(each, str) and reuses_existing_files(each) for each in operations):
        return []
    sides = []
    for snapshot in (proposal.before, proposal.after) if proposal.actions_of_type(MetaData) else ():
        schema = read_schema(snapshot.metadata)
        if schema is None or snapshot.metadata is None:
            return []
        sides.append((schema, snapshot.metadata.partition_columns, read_mapping_mode(snapshot)))
    return iceberg_compat.find_renamed_partition_columns(*sides) if sides else []


def check_nested_ids(table: TableVersion) -> Iterator[Refused]:
    """Require unique ids of elements, keys and values under V2, in the location that the protocol defines."""
    schema, mapping = table.schema, table.mapping
    if schema is None or mapping is None or "V2" not in _enabled(table.snapshot, table.revision):
        return
    is_current = table.revision is Revision.CURRENT
    # [Changed in current] key and names
    key = "iceberg-v2.nested-ids-key" if is_current else "iceberg-v2.nested-ids-key-by-name"
    for found in iceberg_compat.find_nested_id_faults(schema, mapping, table.revision):
        for requirement, names in (
            (key, found.under_another_key),
            ("iceberg-v2.nested-ids-place", found.elsewhere),
            ("iceberg-v2.nested-ids-path", found.misnamed),
            ("iceberg-v2.nested-ids", (*found.missing, *found.out_of_range, *found.shared)),
        ):
            if names:
                yield Refused(requirement, ", ".join(names))


def check_added_files(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require the number of records in new files under V2."""
    known = {path for path, _ in (*proposal.before.files, *proposal.before.tombstones)}
    for add in proposal.actions_of_type(Add) if "V2" in _enabled(proposal.after, proposal.revision) else ():
        if not has_row_count(add) and path_key(add.path) not in known:
            yield Refused("iceberg-v2.numbers-of-records", add.path)


def check_live_files(table: TableVersion, add: Add) -> Iterator[Refused]:
    """Require the number of records in all files under V1."""
    if "V1" in _enabled(table.snapshot, table.revision) and not has_row_count(add):
        yield Refused("iceberg-v1.numbers-of-records", add.path)


CHECKS: tuple[CommitCheck, ...] = (
    check_readers,
    refuse_illegal_state(check_state),
    check_partitioning,
    refuse_illegal_state(check_nested_ids),
    check_added_files,
    refuse_illegal_files(check_live_files),
)
"""In the order in which `validation.check_commit` evaluates them."""
