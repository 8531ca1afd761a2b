"""Type widening: legal changes, their record in column metadata, and the evolution of that record.

A *location* is where a type occurs: a struct field, or a key, value or element below one. The metadata of the nearest
struct field records its changes. Source: Type Widening (current).
"""

from collections.abc import Hashable, Iterator

import msgspec

from deltaspec.model.decisions import Refused
from deltaspec.model.log.proposed_commit import CommitCheck, ProposedCommit, TableVersion, refuse_illegal_state
from deltaspec.model.log.reconciliation import Snapshot
from deltaspec.protocol.features.supported_features import get_supported_features, has_known_features
from deltaspec.protocol.features.table_features import strip_preview_suffix
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, TYPE_CHANGES, TYPE_WIDENING
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema.column_mapping import column_id
from deltaspec.protocol.schema.data_types import (
    Array,
    DataType,
    Map,
    Primitive,
    Struct,
    get_type_name,
    is_widening,
    iter_fields,
)
from deltaspec.protocol.schema.schema_string import TypeChange
from deltaspec.protocol.schema.type_changes import (
    FEATURE,
    ICEBERG,
    is_covered,
    is_supported_by_iceberg,
    may_be_recorded,
    read_type_change_record,
)

_NARROW_INTEGERS = frozenset(map(Primitive, ("byte", "short", "integer")))


class TypeLocation(msgspec.Struct, frozen=True):
    """A type in a schema with its recorded changes."""

    column: tuple[str, ...]
    """Logical path of the nearest struct field."""
    id: int | None
    """Column id of that field."""
    field_path: tuple[str, ...]
    type: DataType
    changes: tuple[TypeChange, ...]

    def key(self, *, by_id: bool) -> Hashable:
        """Return the identity of the location across schemas: the column id with column mapping, otherwise the name."""
        return (self.id if by_id and self.id is not None else self.column, self.field_path)


def list_type_locations(schema: Struct) -> list[TypeLocation]:
    """Return every location of a schema, columns before their nested types."""
    found = []
    for path, field in iter_fields(schema):
        recorded: dict[tuple[str, ...], list[TypeChange]] = {}
        for change in read_type_change_record(field)[0]:
            recorded.setdefault(change.field_path, []).append(change)
        for below, kind in _types(field.type, ()):
            found.append(TypeLocation(path, column_id(field), below, kind, tuple(recorded.get(below, ()))))
    return found


def _types(kind: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Yield a type and its nested types down to struct fields, which are separate columns."""
    yield path, kind
    match kind:
        case Array(element):
            yield from _types(element, (*path, "element"))
        case Map(key, value):
            yield from _types(key, (*path, "key"))
            yield from _types(value, (*path, "value"))


def list_recorded_types(schema: Struct) -> dict[tuple[str, ...], frozenset[DataType] | None]:
    """Return the types before the recorded changes of each location that has any, by logical path.

    None means a record with faults or gaps. Bytes, shorts and integers have one physical type, so a record of one
    of them covers the others.
    """
    faulty = {path for path, field in iter_fields(schema) if read_type_change_record(field)[1]}
    found: dict[tuple[str, ...], frozenset[DataType] | None] = dict.fromkeys(faulty)
    for each in list_type_locations(schema):
        if each.changes and each.column not in faulty:
            before = {change.before for change in each.changes}
            before |= _NARROW_INTEGERS if before & _NARROW_INTEGERS else set()
            found[(*each.column, *each.field_path)] = None if find_gap(each) else frozenset(before)
    return found


def find_gap(place: TypeLocation) -> str | None:
    """Describe where recorded changes do not connect to each other or to the current type; None if they do."""
    after = [*(change.before for change in place.changes[1:]), place.type]
    for change, following in zip(place.changes, after, strict=False):
        if change.after != following and is_covered(change.after) and is_covered(following):
            return f"{get_type_name(change.after)} is followed by {get_type_name(following)}"
    return None


# from one schema to the next


class ChangedType(msgspec.Struct, frozen=True):
    """A location whose type differs between two schemas, or whose recorded changes are missing in the second."""

    before: TypeLocation
    after: TypeLocation

    @property
    def has_another_type(self) -> bool:
        """Whether the types differ; nested types of the same kind are equal, since their parts are locations too."""
        old, new = self.before.type, self.after.type
        if isinstance(old, Struct | Array | Map) and type(old) is type(new):
            return False
        return old != new

    @property
    def is_legal(self) -> bool:
        """Whether the change is listed, or one of the types is not covered by the chapter."""
        old, new = self.before.type, self.after.type
        if not self.has_another_type or not is_covered(old) or not is_covered(new):
            return True
        return is_widening(old, new)

    @property
    def is_widening(self) -> bool:
        return is_widening(self.before.type, self.after.type)

    @property
    def is_recorded(self) -> bool:
        """Whether the later schema records a path from the old type to the new one."""
        changes = self.after.changes
        return any(change.before == self.before.type for change in changes) and changes[-1].after == self.after.type

    @property
    def is_undone(self) -> bool:
        """Whether an old version is restored: type and record go back to an earlier state."""
        old, new = self.before.changes, self.after.changes
        return len(new) < len(old) and old[: len(new)] == new and old[len(new)].before == self.after.type

    @property
    def lost(self) -> tuple[TypeChange, ...]:
        """Recorded changes that the later schema does not start with."""
        old = self.before.changes
        return () if self.after.changes[: len(old)] == old else old


def find_changed_types(before: Struct, after: Struct, *, by_id: bool) -> list[ChangedType]:
    """Return the locations in both schemas whose type changed or whose record lost changes.

    Args:
        before: Schema before.
        after: Schema of the next metadata.
        by_id: Whether both schemas use column mapping.
    """
    known = {place.key(by_id=by_id): place for place in list_type_locations(before)}
    found = []
    for place in list_type_locations(after):
        old = known.get(place.key(by_id=by_id))
        if old is not None:
            change = ChangedType(old, place)
            found += [change] if change.has_another_type or change.lost else []
    return found


def find_traces(schema: Struct, configuration: dict[str, str]) -> list[str]:
    """Return remains of type widening, which the version that drops the feature must not have.

    A property that is not true has no effect and does not count.
    """
    found = [".".join(path) for path, field in iter_fields(schema) if field.metadata.get(TYPE_CHANGES) is not None]
    return [*found, TYPE_WIDENING] if is_property_true(configuration, TYPE_WIDENING) else found


def is_dropped(before: set[str], after: set[str]) -> bool:
    """Return whether the feature, or its preview, was supported before and no longer is."""
    return _has_feature(before) and not _has_feature(after)


def _has_feature(supported: set[str]) -> bool:
    return any(strip_preview_suffix(name) == FEATURE for name in supported)


# checks of a commit


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
    for place in list_type_locations(schema):
        missing = find_gap(place)
        if missing is not None:
            yield Refused("type-widening.recorded", f"{'.'.join(place.column)}: {missing}")


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
    if not _is_supported(proposal.after) or not proposal.remaining_files:
        return
    enabled = _is_enabled(proposal.before) or _is_enabled(proposal.after)
    for change in find_changed_types(before, after, by_id=_by_id(proposal)):
        name = ".".join(change.after.column)
        if not change.is_legal and not change.is_undone:
            yield Refused("type-widening.supported-changes", name)
        # dropping the complete record is legal once every file has the current types, which a snapshot does not show
        if change.lost and change.after.changes and not change.is_undone:
            yield Refused("type-widening.kept", name)
        if not change.is_widening:
            continue
        if not enabled:
            yield Refused("type-widening.only-when-enabled", name)
        if has_iceberg_compatibility(proposal.after) and not is_supported_by_iceberg(
            change.before.type, change.after.type
        ):
            yield Refused("type-widening.changes-for-iceberg", name)
        if not change.is_recorded:
            yield Refused("type-widening.recorded", name)


def check_dropped_feature(proposal: ProposedCommit) -> Iterator[Refused]:
    """Writer Requirements: require that dropping the feature leaves no trace of it (E41)."""
    old, new, schema = proposal.before.protocol, proposal.after.protocol, proposal.schema
    if old is None or new is None or schema is None or proposal.after.metadata is None:
        return
    if proposal.revision is not Revision.CURRENT or not (has_known_features(old) and has_known_features(new)):
        return
    if is_dropped(get_supported_features(old), get_supported_features(new)):
        for trace in find_traces(schema, proposal.after.metadata.configuration):
            yield Refused("type-widening.gone-with-feature", trace)


def _is_supported(snapshot: Snapshot) -> bool:
    known = snapshot.protocol is not None and has_known_features(snapshot.protocol)
    return known and snapshot.protocol is not None and _has_feature(get_supported_features(snapshot.protocol))


def _is_enabled(snapshot: Snapshot) -> bool:
    return snapshot.metadata is not None and is_property_true(snapshot.metadata.configuration, TYPE_WIDENING)


def has_iceberg_compatibility(snapshot: Snapshot) -> bool:
    """Return whether an Iceberg compatibility feature named by the chapter is supported."""
    return snapshot.protocol is not None and not get_supported_features(snapshot.protocol).isdisjoint(ICEBERG)


def _by_id(proposal: ProposedCommit) -> bool:
    settings = proposal.before.metadata.configuration if proposal.before.metadata else {}
    return proposal.mapping is not None and settings.get(COLUMN_MAPPING_MODE) in ("id", "name")


CHECKS: tuple[CommitCheck, ...] = (
    refuse_illegal_state(check_recorded_changes),
    check_changed_types,
    check_dropped_feature,
)
"""In the order in which `validation.check_commit` evaluates them."""
