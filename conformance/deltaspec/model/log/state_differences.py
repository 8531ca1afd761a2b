"""What two states of a table say differently, by protocol value.

Compared are the facts that the protocol gives a meaning: feature sets without order, schemas and statistics as values,
partition values by type (null equals the empty string). Never compared: `dataChange`, tags, null against absence,
unknown fields, the spelling of JSON. Source: Action Reconciliation, Checkpoints, Version Checksum File,
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
    """A place where a claim and replay part."""

    kind: str
    """Wire name of the action."""
    key: Hashable
    """Path key of an add, path key and vector id of a remove (and of an add before `current`), `appId`, domain;
    None for actions of which there is one."""
    what: Literal["missing", "extra", "differs"]
    """`missing`: replay has it and the claim has not."""
    field: str | None = None
    """Wire name; None where the action as a whole is missing or extra."""
    claimed: Any = None
    replayed: Any = None
    retained: bool | None = True
    """None where expiry may explain the difference: the log alone does not tell when tombstones and transactions go."""


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
"""Facts compared only where both sides hold them: tombstones need not carry what describes a live file."""


def partition_types(protocol: Protocol | None, metadata: MetaData | None) -> PartitionTypes:
    """Types of the partition columns; empty where the schema cannot be read, so that values are compared as text."""
    if protocol is None or metadata is None:
        return {}
    try:
        schema = parse_schema(metadata.schema_string)
    except SchemaError:
        return {}
    mapping = column_mapping.get_mapping_mode(metadata.configuration, supported=supports(protocol, "columnMapping"))
    return column_mapping.partition_types(schema, metadata.partition_columns, mapping)


def facts(action: Stated, types: PartitionTypes) -> dict[str, Any]:
    """What is compared of an action, by wire name; values are equal if and only if the protocol takes them as equal."""
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
    """A JSON text as a value: members without order, null as absence, exact numbers; what is no JSON is its own value.

    An object left without members counts as absent, as bounds of no column do.
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
    kind: str, claimed: Stated | None, replayed: Stated | None, types: PartitionTypes
) -> list[Difference]:
    """Differences of an action of which there is one at most."""
    ours = {} if claimed is None else {None: claimed}
    theirs = {} if replayed is None else {None: replayed}
    return compare_keyed(kind, ours, theirs, types)


def compare_keyed(
    kind: str, claimed: Mapping[_Key, Stated], replayed: Mapping[_Key, Stated], types: PartitionTypes
) -> list[Difference]:
    """Differences of actions of one kind, in the order of their keys."""
    found = []
    for key in sorted(claimed.keys() | replayed.keys(), key=repr):
        if key not in claimed:
            found.append(Difference(kind, key, "missing", replayed=replayed[key]))
        elif key not in replayed:
            found.append(Difference(kind, key, "extra", claimed=claimed[key]))
        else:
            found += _field_differences(kind, key, claimed[key], replayed[key], types)
    return found


def _field_differences(
    kind: str, key: Hashable, claimed: Stated, replayed: Stated, types: PartitionTypes
) -> list[Difference]:
    ours, theirs = facts(claimed, types), facts(replayed, types)
    where_both = _WHERE_BOTH.get(type(claimed), frozenset())
    return [
        Difference(kind, key, "differs", name, ours[name], theirs[name])
        for name in ours
        if ours[name] != theirs[name] and not (name in where_both and None in (ours[name], theirs[name]))
    ]
