"""What Iceberg compatibility asks of a table. Source: Iceberg Compatibility V1, Iceberg Compatibility V2: Writer
Requirements for IcebergCompatV1, Writer Requirements for IcebergCompatV2.

V3 is a proposal, known to `features` by its name: a table that has it enabled is asked for nothing here.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deltaspec.model.actions import Protocol
from deltaspec.model.commit.type_widening import allowed_by_iceberg, read_type_change_record
from deltaspec.model.features.table_properties import is_property_true
from deltaspec.model.revisions import Revision
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import (
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
    UndefinedType,
    get_type_name,
    iter_fields,
)

FEATURES = {"V1": "icebergCompatV1", "V2": "icebergCompatV2"}
"""What the text calls the two compatibilities, and the feature of each; each has a property of its own."""
_PROPERTIES = {"V1": "delta.enableIcebergCompatV1", "V2": "delta.enableIcebergCompatV2"}

_NOT_IN_V1 = ("array", "map", "void")
_OF_V2 = frozenset(
    {"byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary", "boolean"}
    | {"timestamp", "timestamp_ntz", "date", "array", "map", "struct"}
)
"""The text spells one of them `timestampNTZ` (E22)."""
_SPELLINGS = ("string", "char", "varchar", "udt")
"""How names of types begin that no text has and that may stand for one of the list."""


def enabled(
    features: Collection[str], configuration: Mapping[str, str], revision: Revision = Revision.CURRENT
) -> tuple[str, ...]:
    """Which compatibilities are enabled: `V1`, `V2`, both or none.

    Args:
        features: that the table supports.
        configuration: of the table's metadata.
        revision: of the text.
    """
    if not revision.since(Revision.R3):  # [Changed in r3] the features are new
        return ()
    settings = dict(configuration)
    return tuple(
        each for each, name in FEATURES.items() if name in features and is_property_true(settings, _PROPERTIES[each])
    )


def readers_support_mapping(protocol: Protocol) -> bool:
    """Whether the reader version is 2, or a later one that lists column mapping."""
    if protocol.min_reader_version >= 3:
        return "columnMapping" in (protocol.reader_features or ())
    return protocol.min_reader_version == 2


def conflicts_with_vectors(compatibility: str, features: Collection[str], configuration: Mapping[str, str]) -> bool:
    """Whether deletion vectors stand in the way: of V1 once they are supported, of V2 once they are enabled too."""
    if "deletionVectors" not in features:
        return False
    return compatibility == "V1" or is_property_true(dict(configuration), "delta.enableDeletionVectors")


# types


def forbidden_columns(schema: Struct, compatibility: str) -> list[tuple[tuple[str, ...], DataType]]:
    """Parts of a schema whose type the compatibility has no room for, with the path to each, parents first."""
    return [(path, kind) for path, kind in _parts(schema, ()) if not _has_room(compatibility, kind)]


def _parts(kind: DataType, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], DataType]]:
    """Every field, element, key and value of a type."""
    match kind:
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


def _has_room(compatibility: str, kind: DataType) -> bool:
    name = "decimal" if isinstance(kind, Decimal) else get_type_name(kind)
    if compatibility == "V1":
        return name not in _NOT_IN_V1
    return name in _OF_V2 or (isinstance(kind, UndefinedType) and (not name or name.startswith(_SPELLINGS)))


def forbidden_type_changes(schema: Struct) -> list[tuple[tuple[str, ...], DataType, DataType]]:
    """Changes of types that columns record and Iceberg V2 does not know: path of the column, type before, type after.

    Records that are not of the documented form are passed over: nothing can be told of them.
    """
    changes = [(path, change) for path, field in iter_fields(schema) for change in read_type_change_record(field)[0]]
    return [
        ((*path, *change.field_path), change.before, change.after)
        for path, change in changes
        if not allowed_by_iceberg(change.before, change.after)
    ]


# partition columns


def renamed_partition_columns(
    before: tuple[Struct, Sequence[str], str | None], after: tuple[Struct, Sequence[str], str | None]
) -> list[str]:
    """Partition columns by whose names a partition spec differs from the one before: new ones, then those it lacks.

    A column that was renamed is the same one: it keeps its physical name. A column that is replaced keeps its name.
    Empty where one of the two is no spec, for it has no columns; the order of columns is not their names.

    Args:
        before: schema, partition columns (logical names) and column mapping in force before.
        after: the same of what replaces it.
    """
    if not before[1] or not after[1]:
        return []
    old, new = (list(zip(each[1], _physical(each), strict=True)) for each in (before, after))
    return [*_unnamed_in(old, new), *_unnamed_in(new, old)]


def _physical(side: tuple[Struct, Sequence[str], str | None]) -> list[str]:
    schema, columns, mapping = side
    return column_mapping.physical_partition_columns(schema, [*columns], mapping)


def _unnamed_in(known: list[tuple[str, str]], columns: list[tuple[str, str]]) -> list[str]:
    """Names of the columns, each with its physical one, that share neither name with a known one."""
    names, physical = {name for name, _ in known}, {below for _, below in known}
    return [name for name, below in columns if name not in names and below not in physical]


# nested ids


@dataclass(frozen=True)
class NestedIdFaults:
    """What a struct field around arrays or maps has in place of the ids that their parts need."""

    path: tuple[str, ...]
    """Of the field, logical names."""
    missing: tuple[str, ...] = ()
    """Names of parts that have no id."""
    under_another_key: tuple[str, ...] = ()
    """Names whose ids the field has under a key, or by a name of the field, that the text does not give."""
    elsewhere: tuple[str, ...] = ()
    """Names whose ids are in the metadata of another field, or not in a map."""
    misnamed: tuple[str, ...] = ()
    """Names in the field's map that lead to no part of it, where a part has no id."""
    out_of_range: tuple[str, ...] = ()
    """`name=id` of ids that are no integers of 32 bits."""
    shared: tuple[str, ...] = ()
    """`name=id` of ids that a column or another part has as well."""


def nested_ids(schema: Struct, mapping: str, revision: Revision = Revision.CURRENT) -> list[NestedIdFaults]:
    """Every struct field that arrays or maps are directly below, and what is wrong with the ids of their parts.

    Args:
        schema: of a table with V2 enabled.
        mapping: column mapping in force.
        revision: of the text.
    """
    fields = [(path, field, _needed(field, mapping, revision)) for path, field in iter_fields(schema)]
    given = [
        {name: number for name, number in _ids(field, revision).items() if name in set(needed)}
        for _, field, needed in fields
    ]
    numbers = Counter(column_mapping.column_id(field) for _, field, _ in fields)
    numbers.update(number for ids in given for number in ids.values())
    names = Counter(name for _, field, _ in fields for name in _names(field))
    found = []
    for (path, field, needed), ids in zip(fields, given, strict=True):
        if not needed:
            continue
        found.append(
            NestedIdFaults(
                path,
                out_of_range=tuple(f"{name}={number}" for name, number in ids.items() if not _has_32_bits(number)),
                shared=tuple(f"{name}={n}" for name, n in ids.items() if n is not None and numbers[n] > 1),
                **_instead(field, [name for name in needed if name not in ids], mapping, names, revision),
            )
        )
    return found


def _has_32_bits(number: int | None) -> bool:
    """Whether it is an integer of 32 bits (E29)."""
    return number is not None and -(2**31) <= number < 2**31


def _root(field: Field, mapping: str, revision: Revision) -> str:
    # [Changed in current] the physical name of the field, where its name stood
    return column_mapping.physical_name(field, mapping) if revision is Revision.CURRENT else field.name


def _needed(field: Field, mapping: str, revision: Revision) -> list[str]:
    return column_mapping.build_nested_names(field, _root(field, mapping, revision))


def _key(revision: Revision) -> str:
    # [Changed in current] the name of the key
    return column_mapping.NESTED_IDS if revision is Revision.CURRENT else column_mapping.NESTED_IDS_R3


def _ids(field: Field, revision: Revision) -> dict[str, int | None]:
    return column_mapping.nested_ids(field, _key(revision))


def _names(field: Field) -> list[str]:
    """Names of the ids that a field has under the key of either text."""
    keys = (column_mapping.NESTED_IDS, column_mapping.NESTED_IDS_R3)
    return [name for key in keys for name in column_mapping.nested_ids(field, key)]


def _instead(
    field: Field, missing: list[str], mapping: str, everywhere: Counter[str], revision: Revision
) -> dict[str, tuple[str, ...]]:
    """Under which heading of `NestedIdFaults` the names without an id stand: the first that accounts for all of them.

    Args:
        field: that lacks them.
        missing: the names.
        mapping: column mapping in force.
        everywhere: how often a name of an id stands in the schema.
        revision: of the text.
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
    given = field.metadata.get(_key(revision))
    if given is not None and not isinstance(given, dict):
        return {"elsewhere": tuple(missing)}
    if all(any(everywhere[name] > own[name] for name in names) for names in spelled):
        return {"elsewhere": tuple(missing)}
    strange = _ids(field, revision).keys() - {*_needed(field, mapping, revision)}
    return {"misnamed": tuple(sorted(strange))} if strange else {"missing": tuple(missing)}
