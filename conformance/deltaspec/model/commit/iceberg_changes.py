"""Checks of commits with Iceberg compatibility. Source: Iceberg Compatibility V1, Iceberg Compatibility V2.

A proposal forbids nothing, so V3 is not checked here, but in `iceberg_proposal`.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from deltaspec.model.commit.file_changes import has_row_count
from deltaspec.model.commit.type_widening import list_types
from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import (
    CommitCheck,
    ProposedCommit,
    TableVersion,
    refuse_illegal_files,
    refuse_illegal_state,
)
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.actions import Add, CommitInfo, MetaData, Protocol
from deltaspec.protocol.features import iceberg_compat
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.operations import reuses_existing_files
from deltaspec.protocol.property_names import DELETION_VECTORS, NESTED_IDS
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Field, Struct, get_type_name, iter_fields
from deltaspec.protocol.schema.type_changes import is_supported_by_iceberg


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
        # V1 forbids the feature, V2 its property
        may_add_vectors = each == "V1" or is_property_true(table.configuration, DELETION_VECTORS)
        if table.supports("deletionVectors") and may_add_vectors:
            yield Refused(_requirement(each, "no-deletion-vectors"), "deletionVectors")
        if each == "V2" and len(enabled) > 1:
            yield Refused("iceberg-v2.not-with-first", "V1 is enabled too")
        if schema is None:
            continue
        for found in list_forbidden_types(schema, each):
            yield Refused(_requirement(each, "types"), found)
        if table.supports("typeWidening") and table.revision is Revision.CURRENT:  # [Changed in current]
            for found in list_forbidden_type_changes(schema):
                yield Refused(_requirement(each, "type-changes"), found)


def list_forbidden_types(schema: Struct, compatibility: str) -> list[str]:
    """Return `path: type` of each field, element, key and value with a type that the compatibility does not support."""
    return [
        f"{'.'.join((*column, *below))}: {get_type_name(each.type)}"
        for (column, below), each in list_types(schema).items()
        if not iceberg_compat.is_supported_type(compatibility, each.type)
    ]


def list_forbidden_type_changes(schema: Struct) -> list[str]:
    """Return `path: type before, type after` of each recorded change that Iceberg V2 and V3 do not support."""
    return [
        f"{'.'.join((*column, *below))}: {get_type_name(change.before)}, {get_type_name(change.after)}"
        for (column, below), each in list_types(schema).items()
        for change in each.changes
        if not is_supported_by_iceberg(change.before, change.after)
    ]


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
    old, new = (_map_partition_columns(each) for each in (proposal.version_before, proposal.version_after))
    if not old or not new or not proposal.actions_of_type(MetaData):
        return []
    return [
        name
        for known, columns in ((old, new), (new, old))
        for name, physical in columns.items()
        if name not in known and physical not in known.values()
    ]


def _map_partition_columns(table: TableVersion) -> dict[str, str]:
    """Return the physical name of each partition column by its logical name; empty if the schema is unknown."""
    if table.schema is None or table.metadata is None:
        return {}
    columns = table.metadata.partition_columns
    names = column_mapping.list_physical_partition_columns(table.schema, columns, table.mapping)
    return dict(zip(columns, names, strict=True))


def check_nested_ids(table: TableVersion) -> Iterator[Refused]:
    """Require unique ids of elements, keys and values under V2, in the location that the protocol defines."""
    schema, mapping = table.schema, table.mapping
    if schema is None or mapping is None or "V2" not in _enabled(table.snapshot, table.revision):
        return
    for found in find_nested_id_faults(schema, mapping, table.revision):
        complaints = {found.aspect: found.names, "nested-ids": found.faulty_ids}
        if found.aspect == "nested-ids":
            complaints = {"nested-ids": [*found.names, *found.faulty_ids]}
        for aspect, names in complaints.items():
            if names:
                yield Refused(f"iceberg-v2.{aspect}", ", ".join(names))


class NestedIdFaults(NamedTuple):
    """What is wrong with the nested ids of a struct field that contains arrays or maps."""

    column: tuple[str, ...]
    aspect: str
    """Requirement of V2 that explains why parts have no id."""
    names: list[str]
    faulty_ids: list[str]
    """`name=id` for ids that are not 32-bit integers, then for ids that occur more than once."""


def find_nested_id_faults(schema: Struct, mapping: str, revision: Revision) -> Iterator[NestedIdFaults]:
    """Yield the faults of each struct field that directly contains arrays or maps.

    Args:
        schema: Schema of a table with V2 or V3 enabled.
        mapping: Column mapping mode.
        revision: Protocol revision.
    """
    # [Changed in current] key and names
    is_current = revision is Revision.CURRENT
    key = NESTED_IDS if is_current else column_mapping.NESTED_IDS_R3
    needed, ids = {}, {}
    for path, field in iter_fields(schema):
        root = column_mapping.physical_name(field, mapping) if is_current else field.name
        needed[path] = column_mapping.build_nested_names(field, root)
        stored = column_mapping.read_nested_ids(field, key)
        ids[path] = {name: number for name, number in stored.items() if name in needed[path]}
    used = Counter(column_mapping.column_id(field) for _, field in iter_fields(schema))
    used.update(number for each in ids.values() for number in each.values())
    for path, field in iter_fields(schema):
        missing = [name for name in needed[path] if name not in ids[path]]
        faulty = [f"{name}={n}" for name, n in ids[path].items() if n is None or not -(2**31) <= n < 2**31]  # E29
        faulty += [f"{name}={n}" for name, n in ids[path].items() if n is not None and used[n] > 1]
        if missing:
            yield NestedIdFaults(path, *_explain_missing_ids(field, missing, schema, mapping, key), faulty)
        elif faulty:
            yield NestedIdFaults(path, "nested-ids", [], faulty)


def _explain_missing_ids(
    field: Field, missing: list[str], schema: Struct, mapping: str, key: str
) -> tuple[str, list[str]]:
    """Return the requirement that best explains why parts of a field have no id, and the names to report."""
    is_current = key == NESTED_IDS
    physical = column_mapping.physical_name(field, mapping)
    root = physical if is_current else field.name
    spellings = [{each + name.removeprefix(root) for each in (physical, field.name)} for name in missing]
    others = {name for _, each in iter_fields(schema) if each is not field for name in _list_id_names(each)}
    if all(names & _list_id_names(field) for names in spellings):
        return "nested-ids-key" if is_current else "nested-ids-key-by-name", missing
    stored = field.metadata.get(key)
    if (stored is not None and not isinstance(stored, dict)) or all(names & others for names in spellings):
        return "nested-ids-place", missing
    unknown = column_mapping.read_nested_ids(field, key).keys() - {*column_mapping.build_nested_names(field, root)}
    return ("nested-ids-path", sorted(unknown)) if unknown else ("nested-ids", missing)


def _list_id_names(field: Field) -> set[str]:
    """Return the names of the ids that a field has under either key."""
    keys = (NESTED_IDS, column_mapping.NESTED_IDS_R3)
    return {name for key in keys for name in column_mapping.read_nested_ids(field, key)}


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
