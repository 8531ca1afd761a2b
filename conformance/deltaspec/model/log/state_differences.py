"""Differences between two states of a table, compared by protocol value.

`COMPARED_FIELDS` lists every field that is compared: all that the protocol gives to the actions of a state. Feature
sets are compared regardless of order, schemas and statistics as values, partition values by type (null equals the empty
string). Never compared: null versus absence, empty maps versus absence, unknown fields, and the formatting of JSON.
Source: Action Reconciliation, Checkpoints, Version Checksum File, State Validation.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from deltaspec.protocol.actions import Add, DomainMetadata, MetaData, Protocol, Remove, RowIdHighWaterMark, Txn
from deltaspec.protocol.features.supported_features import supports
from deltaspec.protocol.log.compared_fields import COMPARED_FIELDS, DerivedFileKind, PartitionTypes
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.schema_string import SchemaError, parse_schema

Stated = Protocol | MetaData | Txn | DomainMetadata | RowIdHighWaterMark | Add | Remove
"""Actions that are part of a state."""


class Difference(msgspec.Struct, frozen=True):
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


def compare_single(
    file_kind: DerivedFileKind,
    kind: str,
    derived: Stated | None,
    replayed: Stated | None,
    types: PartitionTypes,
) -> list[Difference]:
    """Compare actions of a type that occurs at most once."""
    ours = {} if derived is None else {None: derived}
    theirs = {} if replayed is None else {None: replayed}
    return compare_keyed(file_kind, kind, ours, theirs, types)


def compare_keyed(
    file_kind: DerivedFileKind,
    kind: str,
    derived: Mapping[_Key, Stated],
    replayed: Mapping[_Key, Stated],
    types: PartitionTypes,
    inherited: Mapping[_Key, Stated] | None = None,
) -> list[Difference]:
    """Compare actions of one type, in the order of their keys.

    Args:
        file_kind: what the derived actions come from.
        kind: wire name of the actions.
        derived: actions of the derived file.
        replayed: actions that replay leaves.
        types: partition columns.
        inherited: actions of the checkpoint that replay started from; a value that may come from the checkpoint says
            nothing about the commits.
    """
    found = []
    for key in sorted(derived.keys() | replayed.keys(), key=repr):
        if key not in derived:
            found.append(Difference(kind, key, "missing", replayed=replayed[key]))
        elif key not in replayed:
            found.append(Difference(kind, key, "extra", derived=derived[key]))
        else:
            from_checkpoint = inherited is not None and replayed[key] is inherited.get(key)
            for name, each in COMPARED_FIELDS[kind].items():
                ours, theirs = each.read(derived[key], types), each.read(replayed[key], types)
                is_unknown = from_checkpoint and each.is_replaced("checkpoint", theirs)
                if ours != theirs and not each.is_replaced(file_kind, ours) and not is_unknown:
                    found.append(Difference(kind, key, "differs", name, ours, theirs))
    return found
