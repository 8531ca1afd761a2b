"""Fields in which two states of a table are compared, and when their values are equal.

`COMPARED_FIELDS` lists every field that is compared: all that the protocol gives to the actions of a state. Feature
sets are compared regardless of order, schemas and statistics as values, partition values by type (null equals the empty
string). Never compared: null versus absence, empty maps versus absence, unknown fields, and the formatting of JSON.
Source: Action Reconciliation, Checkpoints, Version Checksum File, State Validation.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal

import msgspec

from deltaspec.protocol.actions import Add, DomainMetadata, Remove
from deltaspec.protocol.files.deletion_vectors import get_vector_id
from deltaspec.protocol.files.partition_values import canonicalize_partition_value
from deltaspec.protocol.json_values import JsonError, Number, parse_lossless
from deltaspec.protocol.schema.data_types import DataType
from deltaspec.protocol.schema.schema_string import SchemaError, parse_schema, to_json

PartitionTypes = Mapping[str, DataType]
"""Partition columns by physical name."""
DerivedFileKind = Literal["checkpoint", "compaction", "checksum"]


def normalize_json(text: str) -> Any:
    """Parse JSON to a comparable value: objects without order, null as absence, exact numbers.

    Input that is not JSON is returned unchanged. An object without members counts as absent, like bounds of no column.
    """
    try:
        return _value(parse_lossless(text).value)
    except (JsonError, ArithmeticError):
        return text


def normalize_statistics(text: str | None) -> Any:
    """Return statistics as a comparable value; statistics without content count as absent."""
    return normalize_json(text or "{}") or None


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


def _configuration(action: DomainMetadata) -> Any:
    """Return the configuration of a domain as JSON; unlike in statistics, null and empty members have a meaning."""
    try:
        return _exact_value(parse_lossless(action.configuration).value)
    except (JsonError, ArithmeticError):
        return action.configuration


def _exact_value(value: Any) -> Any:
    match value:
        case dict():
            return {key: _exact_value(member) for key, member in value.items()}
        case list():
            return [_exact_value(member) for member in value]
        case _:
            return _value(value)


def _partition_values(action: Add | Remove, types: PartitionTypes) -> dict[str, str | None]:
    values = action.partition_values or {}
    return {
        name: canonicalize_partition_value(text, types[name]) if name in types else (text or None)
        for name, text in values.items()
    }


Read = Callable[[Any, PartitionTypes], Any]
"""Return the value of a field of an action, normalized so that equivalent values are equal."""


class ComparedField(msgspec.Struct, frozen=True):
    """A field that derived files are compared in."""

    read: Read
    replacements: Mapping[DerivedFileKind, Any] = msgspec.field(default_factory=dict)
    """Value that such derived files may have instead of the value of replay."""

    def is_replaced(self, file_kind: DerivedFileKind, value: Any) -> bool:
        """Return whether a derived file may have this value regardless of replay."""
        return file_kind in self.replacements and bool(value == self.replacements[file_kind])


def _attribute(name: str, **more: Any) -> ComparedField:
    """Compare an attribute as it is; dots lead into structs."""
    read = attrgetter(name)
    return ComparedField(lambda action, _: read(action), **more)


def _statistics(action: Add | Remove, _: PartitionTypes) -> Any:
    return normalize_statistics(action.stats)


def _vector_attribute(name: str) -> ComparedField:
    return ComparedField(lambda action, _: getattr(action.deletion_vector, name, None))


_MAY_BE_FALSE: Mapping[DerivedFileKind, Any] = dict.fromkeys(("checkpoint", "compaction", "checksum"), False)
"""A derived file commits no change, so writers may set its `dataChange` to false."""
_MAY_BE_ABSENT: Mapping[DerivedFileKind, Any] = {"checkpoint": None}
_TAGS = ComparedField(lambda action, _: action.tags or None)
_VECTOR = {
    "deletionVector": ComparedField(lambda action, _: get_vector_id(action)),
    "deletionVector.sizeInBytes": _vector_attribute("size_in_bytes"),
    "deletionVector.cardinality": _vector_attribute("cardinality"),
}
_ROW_IDS = {
    "baseRowId": _attribute("base_row_id"),
    "defaultRowCommitVersion": _attribute("default_row_commit_version"),
}
COMPARED_FIELDS: dict[str, dict[str, ComparedField]] = {
    "protocol": {
        "minReaderVersion": _attribute("min_reader_version"),
        "minWriterVersion": _attribute("min_writer_version"),
        "readerFeatures": ComparedField(lambda action, _: sorted(set(action.reader_features or ()))),
        "writerFeatures": ComparedField(lambda action, _: sorted(set(action.writer_features or ()))),
    },
    "metaData": {
        "id": _attribute("id"),
        "name": _attribute("name"),
        "description": _attribute("description"),
        "format.provider": _attribute("format.provider"),
        "format.options": _attribute("format.options"),
        "schemaString": ComparedField(lambda action, _: _schema(action.schema_string)),
        "partitionColumns": _attribute("partition_columns"),
        "configuration": _attribute("configuration"),
        "createdTime": _attribute("created_time"),
    },
    "txn": {"version": _attribute("version"), "lastUpdated": _attribute("last_updated")},
    "domainMetadata": {
        "configuration": ComparedField(lambda action, _: _configuration(action)),
        "removed": _attribute("removed"),
    },
    "rowIdHighWaterMark": {
        "highWaterMark": _attribute("high_water_mark"),
        "preservedRowIds": _attribute("preserved_row_ids"),
    },
    "add": {
        "partitionValues": ComparedField(_partition_values),
        "size": _attribute("size"),
        "modificationTime": _attribute("modification_time"),
        "dataChange": _attribute("data_change", replacements=_MAY_BE_FALSE),
        # table properties decide whether a checkpoint has them, and other rules check that
        "stats": ComparedField(_statistics, replacements=_MAY_BE_ABSENT),
        "tags": _TAGS,
        **_VECTOR,
        **_ROW_IDS,
        "clusteringProvider": _attribute("clustering_provider"),
    },
    "remove": {
        "deletionTimestamp": _attribute("deletion_timestamp"),
        "dataChange": _attribute("data_change", replacements=_MAY_BE_FALSE),
        "extendedFileMetadata": ComparedField(lambda action, _: bool(action.extended_file_metadata)),
        "partitionValues": ComparedField(_partition_values),
        "size": _attribute("size"),
        "stats": ComparedField(_statistics, replacements=_MAY_BE_ABSENT),
        "tags": ComparedField(_TAGS.read, replacements=_MAY_BE_ABSENT),
        **_VECTOR,
        **_ROW_IDS,
    },
}
"""Compared fields by the wire names of action and field; dots lead into structs."""
