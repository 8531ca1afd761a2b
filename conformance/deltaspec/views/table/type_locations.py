"""Locations of types in a schema, their recorded changes, and the differences between two schemas.

A *location* is where a type occurs: a struct field, or a key, value or element below one. The metadata of the nearest
struct field records its changes. Source: Type Widening (current).
"""

from collections.abc import Hashable, Iterator

import msgspec

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
from deltaspec.protocol.schema.type_changes import is_covered, read_type_change_record

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


def _types(data_type: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Yield a type and its nested types down to struct fields, which are separate columns."""
    yield path, data_type
    match data_type:
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
