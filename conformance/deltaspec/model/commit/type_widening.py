"""Checks of type changes in a commit. Source: Type Widening (current)."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeAlias

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit, TableVersion, refuse_illegal_state
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.features.supported_features import get_supported_features, has_known_features
from deltaspec.protocol.features.table_features import strip_preview_suffix
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, TYPE_CHANGES, TYPE_WIDENING
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import column_id
from deltaspec.protocol.schema.data_types import Array, DataType, Map, Struct, get_type_name, is_widening, iter_fields
from deltaspec.protocol.schema.schema_string import TypeChange
from deltaspec.protocol.schema.type_changes import (
    FEATURE,
    ICEBERG,
    is_covered,
    is_supported_by_iceberg,
    may_be_recorded,
    read_type_change_record,
)

_Location: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Logical path of a struct field, and path of a key, value or element below it; empty for the field."""


class _Type(NamedTuple):
    type: DataType
    changes: tuple[TypeChange, ...]
    """Recorded changes, oldest first."""
    column_id: int | None


def list_types(schema: Struct) -> dict[_Location, _Type]:
    """Return the types of all fields, and of what arrays and maps in them contain."""
    found = {}
    for path, field in iter_fields(schema):
        record, _ = read_type_change_record(field)
        pending: list[tuple[tuple[str, ...], DataType]] = [((), field.type)]
        while pending:
            below, kind = pending.pop(0)
            changes = tuple(each for each in record if each.field_path == below)
            found[path, below] = _Type(kind, changes, column_id(field))
            if isinstance(kind, Array):
                pending.append(((*below, "element"), kind.element))
            elif isinstance(kind, Map):
                pending += [((*below, "key"), kind.key), ((*below, "value"), kind.value)]
    return found


def check_recorded_changes(table: TableVersion) -> Iterator[Refused]:
    """Type Change Metadata: require a valid record. The feature is checked with the other features in use."""
    schema = table.schema
    if schema is None or table.revision is not Revision.CURRENT:  # [Changed in current]
        return
    for path, field in iter_fields(schema):
        changes, faults = read_type_change_record(field)
        for fault in faults:
            if fault.kind != "text":  # undecided (E30)
                yield Refused(_OF_FAULT[fault.kind], f"{'.'.join(path)}: {fault.what}")
        for change in changes:
            if not may_be_recorded(change):
                yield Refused(
                    "type-widening.supported-changes", f"{'.'.join(path)}: {change.before} became {change.after}"
                )
    for name, each in list_types(schema).items():
        following = [*(change.before for change in each.changes[1:]), each.type]
        for change, next_type in zip(each.changes, following, strict=False):
            if change.after != next_type and is_covered(change.after) and is_covered(next_type):
                old, new = get_type_name(change.after), get_type_name(next_type)
                yield Refused("type-widening.recorded", f"{'.'.join(name[0])}: {old} is followed by {new}")
                break


_OF_FAULT = {
    "no list": "type-widening.changes-are-list",
    "no object": "type-widening.changes-are-list",
    "types": "type-widening.changes-name-types",
    "place": "type-widening.changes-name-place",
}


def check_changed_types(proposal: ProposedCommit) -> Iterator[Refused]:
    """Writer Requirements: require legal, recorded type changes of columns whose files stay.

    If no file stays, the table is rewritten, and its schema does not continue the old one.
    """
    before, after = proposal.schema_before, proposal.schema
    if before is None or after is None or proposal.revision is not Revision.CURRENT:  # [Changed in current]
        return
    protocol = proposal.after.protocol
    if protocol is None or not _is_supported(proposal.after) or not proposal.remaining_files:
        return
    enabled = _is_enabled(proposal.before) or _is_enabled(proposal.after)
    for_iceberg = not get_supported_features(protocol).isdisjoint(ICEBERG)
    known = {_identify(proposal, location, each): each for location, each in list_types(before).items()}
    for location, new in list_types(after).items():
        old, name = known.get(_identify(proposal, location, new)), ".".join(location[0])
        if old is None:
            continue
        kept = old.changes[: len(new.changes)] == new.changes
        is_undone = kept and len(new.changes) < len(old.changes) and old.changes[len(new.changes)].before == new.type
        if _is_changed(old.type, new.type) and not may_be_recorded(TypeChange(old.type, new.type)) and not is_undone:
            yield Refused("type-widening.supported-changes", name)
        # dropping the complete record is legal once every file has the current types, which a snapshot does not show
        if new.changes and new.changes[: len(old.changes)] != old.changes and not is_undone:
            yield Refused("type-widening.kept", name)
        if not is_widening(old.type, new.type):
            continue
        if not enabled:
            yield Refused("type-widening.only-when-enabled", name)
        if for_iceberg and not is_supported_by_iceberg(old.type, new.type):
            yield Refused("type-widening.changes-for-iceberg", name)
        if old.type not in [each.before for each in new.changes] or new.changes[-1].after != new.type:
            yield Refused("type-widening.recorded", name)


def _is_changed(old: DataType, new: DataType) -> bool:
    """Return whether types differ; types below structs, arrays and maps are locations of their own."""
    is_nested = isinstance(old, Struct | Array | Map)
    return type(old) is not type(new) if is_nested else old != new


def _identify(proposal: ProposedCommit, location: _Location, found: _Type) -> Hashable:
    """Return what identifies a location in both versions: the column id if both map columns, otherwise the path."""
    column, below = location
    settings = proposal.version_before.configuration
    is_mapped = proposal.mapping is not None and settings.get(COLUMN_MAPPING_MODE) in ("id", "name")
    return (found.column_id if is_mapped and found.column_id is not None else column, below)


def check_dropped_feature(proposal: ProposedCommit) -> Iterator[Refused]:
    """Writer Requirements: require that dropping the feature leaves no trace of it (E41)."""
    old, new, schema = proposal.before.protocol, proposal.after.protocol, proposal.schema
    if old is None or new is None or schema is None or proposal.after.metadata is None:
        return
    if proposal.revision is not Revision.CURRENT or not (has_known_features(old) and has_known_features(new)):
        return
    if not _has_feature(get_supported_features(old)) or _has_feature(get_supported_features(new)):
        return
    for path, field in iter_fields(schema):
        if field.metadata.get(TYPE_CHANGES) is not None:
            yield Refused("type-widening.gone-with-feature", ".".join(path))
    if _is_enabled(proposal.after):  # a property that is not true has no effect
        yield Refused("type-widening.gone-with-feature", TYPE_WIDENING)


def _has_feature(supported: set[str]) -> bool:
    """Return whether the feature or a preview of it is supported."""
    return any(strip_preview_suffix(name) == FEATURE for name in supported)


def _is_supported(snapshot: Snapshot) -> bool:
    known = snapshot.protocol is not None and has_known_features(snapshot.protocol)
    return known and snapshot.protocol is not None and _has_feature(get_supported_features(snapshot.protocol))


def _is_enabled(snapshot: Snapshot) -> bool:
    return snapshot.metadata is not None and is_property_true(snapshot.metadata.configuration, TYPE_WIDENING)


CHECKS: tuple[CommitCheck, ...] = (
    refuse_illegal_state(check_recorded_changes),
    check_changed_types,
    check_dropped_feature,
)
"""In the order in which `validation.check_commit` evaluates them."""
