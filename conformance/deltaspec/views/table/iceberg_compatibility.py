"""Requirements of Iceberg compatibility for a table. Source: Iceberg Compatibility V1, V2 and V3: Writer Requirements
for IcebergCompatV1, V2 and V3. V3 is a proposal.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from deltaspec.protocol.features.iceberg_compat import PROPOSED, is_supported_type
from deltaspec.protocol.features.table_properties import is_property_true
from deltaspec.protocol.property_names import DELETION_VECTORS, NESTED_IDS
from deltaspec.protocol.revisions import Revision
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import (
    Array,
    DataType,
    Field,
    Map,
    Struct,
    iter_fields,
)
from deltaspec.protocol.schema.type_changes import (
    is_supported_by_iceberg,
    read_type_change_record,
)


def conflicts_with_vectors(compatibility: str, features: Collection[str], configuration: Mapping[str, str]) -> bool:
    """Return whether deletion vectors conflict: with V1 if they are supported, with V2 if enabled; never with V3."""
    if "deletionVectors" not in features or compatibility == PROPOSED:
        return False
    return compatibility == "V1" or is_property_true(dict(configuration), DELETION_VECTORS)


# types


def find_forbidden_columns(schema: Struct, compatibility: str) -> list[tuple[tuple[str, ...], DataType]]:
    """Return the parts of a schema with a type that the compatibility does not support, with paths, parents first."""
    return [(path, kind) for path, kind in _parts(schema, ()) if not is_supported_type(compatibility, kind)]


def _parts(data_type: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Yield every field, element, key and value of a type."""
    match data_type:
        case Struct(fields):
            below = [(field.name, field.type) for field in fields]
        case Array(element):
            below = [("element", element)]
        case Map(key, value):
            below = [("key", key), ("value", value)]
        case _:
            below = []
    for name, each in below:
        yield (*path, name), each
        yield from _parts(each, (*path, name))


def find_forbidden_type_changes(schema: Struct) -> list[tuple[tuple[str, ...], DataType, DataType]]:
    """Return the recorded type changes that Iceberg V2 does not support: column path, type before, type after.

    The list of V3 permits the same changes. Malformed records are ignored.
    """
    changes = [(path, change) for path, field in iter_fields(schema) for change in read_type_change_record(field)[0]]
    return [
        ((*path, *change.field_path), change.before, change.after)
        for path, change in changes
        if not is_supported_by_iceberg(change.before, change.after)
    ]


# partition columns


def find_renamed_partition_columns(
    before: tuple[Struct, Sequence[str], str | None], after: tuple[Struct, Sequence[str], str | None]
) -> list[str]:
    """Return the partition columns whose names differ between two partition specs: new names first, then missing ones.

    A renamed column counts as the same one, because it keeps its physical name. A replaced column keeps its name. The
    result is empty if either table is unpartitioned; the order of columns does not matter.

    Args:
        before: Schema, partition columns (logical names) and column mapping mode before.
        after: The same values after.
    """
    if not before[1] or not after[1]:
        return []
    old, new = (list(zip(each[1], _physical(each), strict=True)) for each in (before, after))
    return [*_unnamed_in(old, new), *_unnamed_in(new, old)]


def _physical(side: tuple[Struct, Sequence[str], str | None]) -> list[str]:
    schema, columns, mapping = side
    return column_mapping.list_physical_partition_columns(schema, [*columns], mapping)


def _unnamed_in(known: list[tuple[str, str]], columns: list[tuple[str, str]]) -> list[str]:
    """Return the names of columns (logical, physical) that share neither name with a known column."""
    names, physical = {name for name, _ in known}, {below for _, below in known}
    return [name for name, below in columns if name not in names and below not in physical]


# nested ids


class NestedIdFaults(msgspec.Struct, frozen=True):
    """Faults in the nested ids of a struct field that contains arrays or maps."""

    path: tuple[str, ...]
    """Path of the field by logical names."""
    missing: tuple[str, ...] = ()
    """Names of parts without an id."""
    under_another_key: tuple[str, ...] = ()
    """Names whose ids are under another key, or use another name of the field, than the protocol defines."""
    elsewhere: tuple[str, ...] = ()
    """Names whose ids are in the metadata of another field, or not in a map."""
    misnamed: tuple[str, ...] = ()
    """Names in the field's map that match no part, if some part has no id."""
    out_of_range: tuple[str, ...] = ()
    """`name=id` for ids that are not 32-bit integers."""
    shared: tuple[str, ...] = ()
    """`name=id` for ids that a column or another part also has."""


def find_nested_id_faults(schema: Struct, mapping: str, revision: Revision = Revision.CURRENT) -> list[NestedIdFaults]:
    """Return the faults of every struct field that directly contains arrays or maps.

    Args:
        schema: Schema of a table with V2 or V3 enabled.
        mapping: Column mapping mode.
        revision: Protocol revision.
    """
    fields = [(path, field, _needed(field, mapping, revision)) for path, field in iter_fields(schema)]
    ids_by_field = [
        {name: number for name, number in _ids(field, revision).items() if name in set(needed)}
        for _, field, needed in fields
    ]
    numbers = Counter(column_mapping.column_id(field) for _, field, _ in fields)
    numbers.update(number for ids in ids_by_field for number in ids.values())
    names = Counter(name for _, field, _ in fields for name in _names(field))
    found = []
    for (path, field, needed), ids in zip(fields, ids_by_field, strict=True):
        if not needed:
            continue
        found.append(
            NestedIdFaults(
                path,
                out_of_range=tuple(f"{name}={number}" for name, number in ids.items() if not _has_32_bits(number)),
                shared=tuple(f"{name}={n}" for name, n in ids.items() if n is not None and numbers[n] > 1),
                **_classify_missing(field, [name for name in needed if name not in ids], mapping, names, revision),
            )
        )
    return found


def _has_32_bits(number: int | None) -> bool:
    """Return whether a number is a 32-bit integer (E29)."""
    return number is not None and -(2**31) <= number < 2**31


def _root(field: Field, mapping: str, revision: Revision) -> str:
    # [Changed in current] the physical name replaces the logical name
    return column_mapping.physical_name(field, mapping) if revision is Revision.CURRENT else field.name


def _needed(field: Field, mapping: str, revision: Revision) -> list[str]:
    return column_mapping.build_nested_names(field, _root(field, mapping, revision))


def _key(revision: Revision) -> str:
    # [Changed in current] the name of the key
    return NESTED_IDS if revision is Revision.CURRENT else column_mapping.NESTED_IDS_R3


def _ids(field: Field, revision: Revision) -> dict[str, int | None]:
    return column_mapping.read_nested_ids(field, _key(revision))


def _names(field: Field) -> list[str]:
    """Return the names of the ids that a field has under either key."""
    keys = (NESTED_IDS, column_mapping.NESTED_IDS_R3)
    return [name for key in keys for name in column_mapping.read_nested_ids(field, key)]


def _classify_missing(
    field: Field, missing: list[str], mapping: str, everywhere: Counter[str], revision: Revision
) -> dict[str, tuple[str, ...]]:
    """Choose the field of `NestedIdFaults` for names without an id: the first that explains all of them.

    Args:
        field: Field without these ids.
        missing: Names without an id.
        mapping: Column mapping mode.
        everywhere: Number of occurrences of each id name in the schema.
        revision: Protocol revision.
    """
    if not missing:
        return {}
    own = Counter(_names(field))
    root = _root(field, mapping, revision)
    spelled = [
        [each + name.removeprefix(root) for each in (column_mapping.physical_name(field, mapping), field.name)]
        for name in missing
    ]
    if all(any(own[name] for name in names) for names in spelled):
        return {"under_another_key": tuple(missing)}
    stored = field.metadata.get(_key(revision))
    if stored is not None and not isinstance(stored, dict):
        return {"elsewhere": tuple(missing)}
    if all(any(everywhere[name] > own[name] for name in names) for names in spelled):
        return {"elsewhere": tuple(missing)}
    unknown = _ids(field, revision).keys() - {*_needed(field, mapping, revision)}
    return {"misnamed": tuple(sorted(unknown))} if unknown else {"missing": tuple(missing)}
