"""Type changes that column metadata records: the record of a column, and what it may contain.

Source: Type Widening (current).
"""

from typing import Literal, TypeAlias

import msgspec

from deltaspec.protocol.schema.data_types import (
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    UndefinedType,
    descend,
    get_type_name,
    is_widening,
)
from deltaspec.protocol.schema.schema_string import SchemaError, TypeChange, get_type_change_record, read_type_change

FEATURE = "typeWidening"
ICEBERG = ("icebergCompatV1", "icebergCompatV2")
_FLAT = ("byte", "short", "integer")

FaultKind: TypeAlias = Literal["text", "no list", "no object", "types", "place"]


# legal changes


def is_supported_by_iceberg(before: DataType, after: DataType) -> bool:
    """Return whether Iceberg also supports a legal change. Source: Writer Requirements for Type Widening."""
    match before, after:
        case Primitive(old), Primitive("double") if old in _FLAT:
            return False
        case Primitive("date"), Primitive("timestamp_ntz"):
            return False
        case Decimal(), Decimal():
            return before.scale == after.scale
        case Primitive(), Decimal():
            return False
    return True


def is_covered(data_type: DataType) -> bool:
    """Return whether the chapter covers a type: not void, which may become any type, and not undefined types."""
    return not isinstance(data_type, UndefinedType) and data_type != Primitive("void")


# the record of a column


class RecordFault(msgspec.Struct, frozen=True):
    """A malformed part of `delta.typeChanges`."""

    kind: FaultKind
    """`text`: a string that contains the list (E30); `no list`: another value; `no object`: an entry that is not an
    object; `types` or `place`: an invalid type or field path in an entry.
    """
    what: str


def read_type_change_record(field: Field) -> tuple[tuple[TypeChange, ...], tuple[RecordFault, ...]]:
    """Return the valid recorded changes, oldest first, and the faults of the others.

    Unknown keys of an entry are ignored: previews stored the table version there.
    """
    recorded, is_text = get_type_change_record(field)
    if recorded is None:
        return (), ()
    if not isinstance(recorded, list):
        return (), (RecordFault("no list", "an object" if isinstance(recorded, dict) else "a single value"),)
    changes: list[TypeChange] = []
    faults = [RecordFault("text", "a string")] if is_text else []
    for index, entry in enumerate(recorded):
        try:
            change = read_type_change(entry, f"/{index}")
        except SchemaError as error:
            faults.append(RecordFault(_kind(entry, error), str(error)))
            continue
        misplaced = find_field_path_fault(field.type, change.field_path)
        if misplaced is not None:
            faults.append(RecordFault("place", f"/{index}: {misplaced}"))
        else:
            changes.append(change)
    return tuple(changes), tuple(faults)


def _kind(entry: object, error: SchemaError) -> FaultKind:
    if not isinstance(entry, dict):
        return "no object"
    return "place" if error.pointer.endswith("/fieldPath") else "types"


def find_field_path_fault(data_type: DataType, path: tuple[str, ...]) -> str | None:
    """Return why a field path does not lead to a type that may be widened; None if it does."""
    data_type, missing = descend(data_type, path)
    if missing is not None:
        return f"{get_type_name(data_type)} has no {missing}"
    if isinstance(data_type, Struct | Array | Map):
        return f"{'.'.join(path) or 'the column'} is of type {get_type_name(data_type)}"
    return None


def has_type_change_record(field: Field) -> bool:
    """Return whether a column records changes: neither null nor an empty list is a record."""
    return get_type_change_record(field)[0] not in (None, [])


def may_be_recorded(change: TypeChange) -> bool:
    """Return whether a record may contain a change: it is listed, or the chapter does not cover one of the types."""
    old, new = change.before, change.after
    return old == new or not is_covered(old) or not is_covered(new) or is_widening(old, new)
