"""Checks of commits with Iceberg compatibility V3, a proposal: its writers must refuse them.

The protocol does not require that, so `validation.check_commit` does not refuse them (S44). Two requirements are not
checked here: whether a default is a literal, which needs a SQL parser, and what files store (`iceberg_files`).

Source: Iceberg Compatibility V3, Writer Requirements for IcebergCompatV3.
"""

from collections.abc import Iterator

from deltaspec.model.commit.file_changes import has_row_count
from deltaspec.model.commit.iceberg_changes import (
    find_nested_id_faults,
    find_renamed_columns,
    list_forbidden_type_changes,
    list_forbidden_types,
)
from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit, TableVersion, refuse_illegal_state
from deltaspec.protocol.actions import Add, Protocol
from deltaspec.protocol.features import iceberg_compat, row_tracking
from deltaspec.protocol.features.supported_features import get_supported_features
from deltaspec.protocol.features.table_features import strip_preview_suffix
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.property_names import ICEBERG_COMPAT_V3
from deltaspec.protocol.revisions import Revision

FEATURE, PROPERTY = "icebergCompatV3", ICEBERG_COMPAT_V3


def collect_refusals(proposal: ProposedCommit) -> Iterator[Refused]:
    """Yield every reason why a writer that supports the proposal must refuse a commit of the current revision."""
    for check in CHECKS if proposal.revision is Revision.CURRENT else ():
        yield from check(proposal)


def _get_enabled(table: TableVersion) -> tuple[str, ...]:
    if table.protocol is None or table.metadata is None:
        return ()
    features = get_supported_features(table.protocol)
    return iceberg_compat.get_enabled_compatibilities(features, table.configuration, table.revision)


def _is_enabled(table: TableVersion) -> bool:
    return iceberg_compat.PROPOSED in _get_enabled(table)


def check_readers(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require a protocol under which readers support column mapping."""
    for action in proposal.actions_of_type(Protocol):
        if FEATURE in (action.writer_features or ()) and not iceberg_compat.readers_support_mapping(action):
            yield Refused("iceberg-v3.readers", FEATURE)


def check_feature(table: TableVersion) -> Iterator[Refused]:
    """Require the feature of the property. The proposal does not say whether it may be set without (E43)."""
    if table.features is not None and is_property_true(table.configuration, PROPERTY) and not table.supports(FEATURE):
        yield Refused("iceberg-v3.feature", PROPERTY)


def check_state(table: TableVersion) -> Iterator[Refused]:
    """Require column mapping, row tracking and supported types; forbid the other compatibilities."""
    if table.protocol is None or table.metadata is None or not _is_enabled(table):
        return
    if table.mapping is None:
        yield Refused("iceberg-v3.mapped", "columns are not mapped")
    if not row_tracking.is_enabled(table.protocol, table.metadata, table.revision):
        yield Refused("iceberg-v3.row-tracking", "row tracking is not enabled")
    for other in _get_enabled(table):
        if other != iceberg_compat.PROPOSED:
            yield Refused("iceberg-v3.not-with-others", f"{other} is enabled too")
    if table.schema is None:
        return
    for found in list_forbidden_types(table.schema, iceberg_compat.PROPOSED):
        yield Refused("iceberg-v3.types", found)
    if "typeWidening" in {strip_preview_suffix(name) for name in table.features or ()}:
        for found in list_forbidden_type_changes(table.schema):
            yield Refused("iceberg-v3.type-changes", found)


def check_nested_ids(table: TableVersion) -> Iterator[Refused]:
    """Require unique ids of elements, keys and values, as V2 does; if V2 is enabled, too, it decides."""
    enabled = _get_enabled(table)
    if iceberg_compat.PROPOSED not in enabled or "V2" in enabled or table.schema is None or table.mapping is None:
        return
    for found in find_nested_id_faults(table.schema, table.mapping, table.revision):
        for name in (*found.names, *found.faulty_ids):
            yield Refused("iceberg-v3.nested-ids", f"{'.'.join(found.column)}: {name}")


def check_partitioning(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require that replacing a table keeps the names of its partition columns."""
    if _is_enabled(proposal.version_before) and _is_enabled(proposal.version_after):
        for name in find_renamed_columns(proposal):
            yield Refused("iceberg-v3.partitions-keep-names", name)


def check_added_files(proposal: ProposedCommit) -> Iterator[Refused]:
    """Require the number of records in new files; V1 and V2 have their own checks."""
    known = {path for path, _ in (*proposal.before.files, *proposal.before.tombstones)}
    enabled = _get_enabled(proposal.version_after)
    for add in proposal.actions_of_type(Add) if enabled[-1:] == (iceberg_compat.PROPOSED,) else ():
        if not has_row_count(add) and path_key(add.path) not in known:
            yield Refused("iceberg-v3.numbers-of-records", add.path)


CHECKS: tuple[CommitCheck, ...] = (
    check_readers,
    refuse_illegal_state(check_feature),
    refuse_illegal_state(check_state),
    refuse_illegal_state(check_nested_ids),
    check_partitioning,
    check_added_files,
)
"""In the order in which `collect_refusals` evaluates them."""
