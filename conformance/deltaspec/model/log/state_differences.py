"""Differences between two states of a table, compared by protocol value.

Only fields with a meaning in the protocol are compared: feature sets regardless of order, schemas and statistics as
values, partition values by type (null equals the empty string). Never compared: `dataChange`, tags, null versus
absence, unknown fields, and the formatting of JSON. Source: Action Reconciliation, Checkpoints, Version Checksum File,
State Validation.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeVar

from deltaspec.model.actions import (
    Add,
    DomainMetadata,
    MetaData,
    Protocol,
    Remove,
    RowIdHighWaterMark,
    Txn,
)
from deltaspec.model.features.protocol import supports
from deltaspec.model.json_values import JsonError, Number, parse_lossless
from deltaspec.model.log.reconciliation import get_vector_id
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import DataType
from deltaspec.model.schema.partition_values import canonicalize_partition_value
from deltaspec.model.schema.schema_string import SchemaError, parse_schema, to_json

PartitionTypes = Mapping[str, DataType]
"""Partition columns by physical name."""
Stated = Protocol | MetaData | Txn | DomainMetadata | RowIdHighWaterMark | Add | Remove
"""Actions that are part of a state."""


@dataclass(frozen=True)
class Difference:
    """A difference between a derived file and replay."""

    kind: str
    """Wire name of the action."""
    key: Hashable
    """Path key of an add; path key and vector id of a remove (and of an add before `current`); `appId`; domain;
    None for actions that occur at most once.
    """
    what: Literal["missing", "extra", "differs"]
    """`missing`: replay has it, the derived file does not."""
    field: str | None = None
    """Wire name; None if the complete action is missing or extra."""
    derived: Any = None
    replayed: Any = None
    retained: bool | None = True
    """None if expiry may explain the difference: the log does not say when tombstones and transactions expire."""


_Key = TypeVar("_Key", bound=Hashable)
_WHERE_BOTH: dict[type[Stated], frozenset[str]] = {
    Add: frozenset({"stats"}),
    Txn: frozenset({"lastUpdated"}),
    Remove: frozenset(
        {
            "deletionTimestamp",
            "size",
            "partitionValues",
            "baseRowId",
            "defaultRowCommitVersion",
        }
    ),
}
"""Fields compared only if both sides have them: tombstones need not repeat what describes a live file."""


def read_partition_types(protocol: Protocol | None, metadata: MetaData | None) -> PartitionTypes:
    """Return the types of the partition columns; empty if the schema is invalid, then values are strings."""
    if protocol is None or metadata is None:
        return {}
    try:
        schema = parse_schema(metadata.schema_string)
    except SchemaError:
        return {}
    mapping = column_mapping.get_mapping_mode(metadata.configuration, supported=supports(protocol, "columnMapping"))
    return column_mapping.get_partition_types(schema, metadata.partition_columns, mapping)


def get_compared_fields(action: Stated, types: PartitionTypes) -> dict[str, Any]:
    """Return the compared fields of an action by wire name, normalized so that equivalent values are equal."""
    match action:
        case Protocol():
            return {
                "minReaderVersion": action.min_reader_version,
                "minWriterVersion": action.min_writer_version,
                "readerFeatures": frozenset(action.reader_features or ()),
                "writerFeatures": frozenset(action.writer_features or ()),
            }
        case MetaData():
            return {
                "id": action.id,
                "name": action.name,
                "description": action.description,
                "format": (action.format.provider, action.format.options),
                "schemaString": _schema(action.schema_string),
                "partitionColumns": action.partition_columns,
                "configuration": action.configuration,
                "createdTime": action.created_time,
            }
        case Txn():
            return {"version": action.version, "lastUpdated": action.last_updated}
        case DomainMetadata():
            return {"configuration": normalize_json(action.configuration), "removed": action.removed}
        case RowIdHighWaterMark():
            return {"highWaterMark": action.high_water_mark}
        case Add():
            return {
                "deletionVector": get_vector_id(action),
                "size": action.size,
                "partitionValues": _partition_values(action.partition_values, types),
                "modificationTime": action.modification_time,
                "baseRowId": action.base_row_id,
                "defaultRowCommitVersion": action.default_row_commit_version,
                "stats": None if action.stats is None else normalize_json(action.stats),
            }
        case Remove():
            values = action.partition_values
            return {
                "deletionVector": get_vector_id(action),
                "deletionTimestamp": action.deletion_timestamp,
                "size": action.size,
                "partitionValues": None if values is None else _partition_values(values, types),
                "baseRowId": action.base_row_id,
                "defaultRowCommitVersion": action.default_row_commit_version,
            }


def normalize_json(text: str) -> Any:
    """Parse JSON to a comparable value: objects without order, null as absence, exact numbers.

    Input that is not JSON is returned unchanged. An object without members counts as absent, like bounds of no column.
    """
    try:
        return _value(parse_lossless(text).value)
    except (JsonError, ArithmeticError):
        return text


def _value(value: Any) -> Any:
    match value:
        case bool():
            return ("boolean", value)  # which Python takes as equal to 0 and 1
        case Number():
            return Decimal(value)
        case dict():
            members = {key: _value(member) for key, member in value.items()}
            return {key: member for key, member in members.items() if member is not None and member != {}}
        case list():
            return [_value(member) for member in value]
        case _:
            return value


def _schema(text: str) -> Any:
    try:
        return to_json(parse_schema(text))
    except SchemaError:
        return text


def _partition_values(values: Mapping[str, str | None], types: PartitionTypes) -> dict[str, str | None]:
    return {
        name: canonicalize_partition_value(text, types[name]) if name in types else (text or None)
        for name, text in values.items()
    }


def compare_single(
    kind: str, derived: Stated | None, replayed: Stated | None, types: PartitionTypes
) -> list[Difference]:
    """Compare actions of a type that occurs at most once."""
    ours = {} if derived is None else {None: derived}
    theirs = {} if replayed is None else {None: replayed}
    return compare_keyed(kind, ours, theirs, types)


def compare_keyed(
    kind: str, derived: Mapping[_Key, Stated], replayed: Mapping[_Key, Stated], types: PartitionTypes
) -> list[Difference]:
    """Compare actions of one type, in the order of their keys."""
    found = []
    for key in sorted(derived.keys() | replayed.keys(), key=repr):
        if key not in derived:
            found.append(Difference(kind, key, "missing", replayed=replayed[key]))
        elif key not in replayed:
            found.append(Difference(kind, key, "extra", derived=derived[key]))
        else:
            found += _field_differences(kind, key, derived[key], replayed[key], types)
    return found


def _field_differences(
    kind: str, key: Hashable, derived: Stated, replayed: Stated, types: PartitionTypes
) -> list[Difference]:
    ours, theirs = get_compared_fields(derived, types), get_compared_fields(replayed, types)
    where_both = _WHERE_BOTH.get(type(derived), frozenset())
    return [
        Difference(kind, key, "differs", name, ours[name], theirs[name])
        for name in ours
        if ours[name] != theirs[name] and not (name in where_both and None in (ours[name], theirs[name]))
    ]
