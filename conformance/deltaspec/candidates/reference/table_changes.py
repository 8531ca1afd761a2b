"""Changes of protocol, schema and properties by operations of the reference writer."""

import re
import uuid
from collections.abc import Collection, Mapping, Sequence

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from deltaspec.candidates.serve import EngineError
from deltaspec.protocol.actions import Format, MetaData, Protocol
from deltaspec.protocol.features.constraints import DEFAULT, get_key_feature
from deltaspec.protocol.features.row_tracking import COLUMN_PROPERTIES
from deltaspec.protocol.features.supported_features import get_reader_features, get_supported_features
from deltaspec.protocol.features.table_features import get_feature, get_required_features
from deltaspec.protocol.features.table_properties import get_required_feature
from deltaspec.protocol.property_names import (
    CHECKPOINT_POLICY,
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    IN_COMMIT_TIMESTAMPS,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
    ROW_TRACKING,
    TYPE_CHANGES,
)
from deltaspec.protocol.schema.data_types import (
    PRIMITIVES,
    Array,
    DataType,
    Decimal,
    Field,
    Map,
    Primitive,
    Struct,
    get_type_name,
    is_widening,
    iter_leaf_types,
)
from deltaspec.protocol.schema.schema_string import parse_schema, serialize_schema

WRITER_FEATURES = (
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "clustering",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "rowTracking",
    "timestampNtz",
    "typeWidening",
    "v2Checkpoint",
    "vacuumProtocolCheck",
)
"""Features with which the reference writes tables."""
_BASE_FEATURES = frozenset({"appendOnly", "invariants"})
_FEATURE_PROPERTY = "delta.feature."
_POLICY, _ICT = CHECKPOINT_POLICY, IN_COMMIT_TIMESTAMPS
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_NAMES_OF_ARROW = {
    pa.int64(): "long",
    pa.int32(): "integer",
    pa.int16(): "short",
    pa.int8(): "byte",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}
"""Delta types of new columns; the others have the same name, or are not added."""
_ONLY_AT_CREATION = (ROW_TRACKING, _ICT, COLUMN_MAPPING_MODE)
"""Properties that need more than a new value in an existing table."""


def build_table(operation: Mapping[str, object], replaced: MetaData | None = None) -> tuple[Protocol, MetaData]:
    """Return protocol and metadata of a new table, or of one that replaces another and keeps its id."""
    old: Mapping[str, str] = {} if replaced is None else replaced.configuration
    schema = parse_schema(str(operation["schema"]))
    given: Mapping[str, str] = operation.get("properties") or {}  # type: ignore[assignment]
    features = find_needed_features(schema, given)
    configuration = {name: text for name, text in given.items() if not name.startswith(_FEATURE_PROPERTY)}
    if "columnMapping" in features:
        first = int(old.get(MAX_COLUMN_ID, 0)) + 1
        fields = tuple(map_column(each, number) for number, each in enumerate(schema.fields, first))
        schema = Struct(fields)
        configuration[MAX_COLUMN_ID] = str(first + len(fields) - 1)
    if configuration.get(ROW_TRACKING) == "true":
        configuration |= {name: old.get(name, f"_row-tracking-{uuid.uuid4()}") for name in COLUMN_PROPERTIES}
    metadata = MetaData(
        id=str(uuid.uuid4()) if replaced is None else replaced.id,
        format=Format(provider="parquet", options={}),
        schema_string=serialize_schema(schema),
        partition_columns=list(operation.get("partition_by") or ()),  # type: ignore[call-overload]
        configuration=configuration,
    )
    return build_protocol(features), metadata


def map_column(field: Field, number: int) -> Field:
    """Return a column with an id and a physical name."""
    metadata = {COLUMN_ID: number, PHYSICAL_NAME: f"col-{uuid.uuid4()}"}
    return replace(field, metadata={**field.metadata, **metadata})


def find_needed_features(schema: Struct, properties: Mapping[str, str]) -> set[str]:
    """Return the features that a schema and properties need. Raises `EngineError` for one that is not supported."""
    found = {name.removeprefix(_FEATURE_PROPERTY) for name in properties if name.startswith(_FEATURE_PROPERTY)}
    found |= {feature for each in properties.items() if (feature := get_required_feature(*each))}
    found |= {"v2Checkpoint"} if properties.get(_POLICY) == "v2" else set()
    for field in schema.fields:
        found |= {feature for key in field.metadata if (feature := get_key_feature(key))}
        for kind in iter_leaf_types(field.type):
            found |= {feature for feature in [PRIMITIVES.get(getattr(kind, "name", ""))] if feature}
    for feature in list(found):
        found |= set(get_required_features(feature))
    if unknown := sorted(found - set(WRITER_FEATURES)):
        raise EngineError("unsupported", f"features {', '.join(unknown)}", phase="commit", features=unknown)
    return found


def build_protocol(features: Collection[str]) -> Protocol:
    """Return the lowest protocol that supports features."""
    if set(features) <= _BASE_FEATURES:
        return Protocol(min_reader_version=1, min_writer_version=2)
    names = sorted(_BASE_FEATURES | set(features))
    read = [name for name in names if (feature := get_feature(name)) and feature.kind == "reader-writer"]
    return Protocol(
        min_reader_version=3 if read else 1,
        min_writer_version=7,
        reader_features=read or None,
        writer_features=names,
    )


def upgrade_protocol(protocol: Protocol, features: Collection[str]) -> Protocol:
    """Return a protocol that also supports features; unchanged if it already does."""
    supported = get_supported_features(protocol) | get_reader_features(protocol)
    return protocol if set(features) <= supported else build_protocol(supported | set(features))


def change_properties(metadata: MetaData, changes: Mapping[str, str | None]) -> MetaData:
    """Return metadata with other properties."""
    merged = {**metadata.configuration, **changes}
    return msgspec.structs.replace(
        metadata, configuration={name: text for name, text in merged.items() if text is not None}
    )


def check_properties(changes: Mapping[str, str | None], metadata: MetaData) -> None:
    """Raise `EngineError` for a property that is not set by users, or only for a new table."""
    if MAX_COLUMN_ID in changes:
        raise EngineError("constraint", f"{MAX_COLUMN_ID} is not set by users", phase="commit")
    for name, text in changes.items():
        if name.startswith(_FEATURE_PROPERTY) or (
            name in _ONLY_AT_CREATION and text != metadata.configuration.get(name)
        ):
            raise EngineError("unsupported", f"{name} can be set only for a new table", phase="commit")


def replace_schema(metadata: MetaData, schema: Struct) -> MetaData:
    """Return metadata with another schema."""
    return msgspec.structs.replace(metadata, schema_string=serialize_schema(schema))


def widen_field(field: Field, path: Sequence[str], wider: DataType) -> Field:
    """Return a field with a wider type at a path below it; the nearest field of a struct records the change.

    Raises:
        EngineError: there is no such path, or the protocol does not list the change.
    """
    steps: list[str] = []
    changes: list[dict[str, str]] = []

    def change(data_type: DataType, rest: Sequence[str]) -> DataType:
        match data_type, rest:
            case Struct(fields), (name, *below) if name in [each.name for each in fields]:
                return Struct(tuple(widen_field(each, below, wider) if each.name == name else each for each in fields))
            case Array(element), ("element", *below):
                steps.append("element")
                return replace(data_type, element=change(element, below))
            case Map(key, _), ("key", *below):
                steps.append("key")
                return replace(data_type, key=change(key, below))
            case Map(_, value), ("value", *below):
                steps.append("value")
                return replace(data_type, value=change(value, below))
            case _, () if is_widening(data_type, wider):
                names = {"fromType": get_type_name(data_type), "toType": get_type_name(wider)}
                changes.append(names | ({"fieldPath": ".".join(steps)} if steps else {}))
                return wider
        text = f"{get_type_name(data_type)} does not change to {get_type_name(wider)}, or has no {'.'.join(rest)}"
        raise EngineError("unsupported", text, phase="commit")

    found = change(field.type, path)
    if not changes:
        return replace(field, type=found)
    return replace(field, type=found, metadata={
        **field.metadata, TYPE_CHANGES: [*field.metadata.get(TYPE_CHANGES, ()), *changes]
    })  # fmt: skip


def add_column(metadata: MetaData, schema: Struct, field: Field, *, mapped: bool) -> MetaData:
    """Return metadata with one more column at the end."""
    if mapped:
        number = int(metadata.configuration[MAX_COLUMN_ID]) + 1
        field = map_column(field, number)
        metadata = msgspec.structs.replace(
            metadata, configuration={**metadata.configuration, MAX_COLUMN_ID: str(number)}
        )
    return replace_schema(metadata, Struct((*schema.fields, field)))


def list_new_columns(rows: str, schema: Struct) -> list[Field]:
    """Return the columns of an Arrow file that a schema does not have."""
    with pa.ipc.open_file(rows) as source:
        given = source.schema
    known = {each.name.lower() for each in schema.fields}
    return [
        Field(each.name, parse_type(_name_type(each.type)), True) for each in given if each.name.lower() not in known
    ]


def _name_type(kind: pa.DataType) -> str:
    """Return the name of the Delta type of an Arrow type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES_OF_ARROW.get(kind, str(kind))


def set_default(field: Field, text: str | None) -> Field:
    """Return a column with another default, or without one."""
    metadata = {key: each for key, each in field.metadata.items() if key != DEFAULT}
    return replace(field, metadata=metadata if text is None else {**metadata, DEFAULT: text})


def parse_type(text: str) -> DataType:
    """Return the type of a name in SQL notation. Raises `EngineError`."""
    if found := _DECIMAL.fullmatch(text):
        return Decimal(int(found[1]), int(found[2]))
    if text not in PRIMITIVES:
        raise EngineError("unsupported", f"the type {text} is not supported", phase="commit")
    return Primitive(text)
