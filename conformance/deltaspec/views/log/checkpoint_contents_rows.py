"""Fills `checkpoint_contents` and `checkpoint_columns` from a checkpoint that was read to its end."""

from collections.abc import Mapping
from typing import Any

from deltaspec.model.actions import MetaData, Protocol
from deltaspec.model.features.protocol import features_are_known, supports
from deltaspec.model.log.checkpoint_schema import find_column_faults
from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Struct
from deltaspec.model.schema.schema_string import SchemaError, parse_schema
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.checkpoint_summary import CheckpointFileSummary

Row = dict[str, Any]
_FIRST_TO_ENFORCE = 3
"""Writer version from which the checkpoint properties are in force (E43)."""
MAX_COLUMNS_SHOWN = 10_000


def build_checkpoint_contents_rows(
    read: ParsedCheckpoint, known: Mapping[str, int] | None = None, *, is_base: bool = False
) -> list[Row]:
    """Rows of `checkpoint_contents`.

    Args:
        read: the checkpoint.
        known: how many adds of each file replay has with statistics; None where it is not compared with replay.
        is_base: its protocol is a row of `protocols`, and told there.
    """
    protocol, metadata = _table(read)
    common: Row = {"version": read.checkpoint.version}
    if metadata is not None:
        common["is_partitioned"] = bool(metadata.partition_columns)
        if protocol is not None and protocol.min_writer_version >= _FIRST_TO_ENFORCE:
            common["write_stats_as_json"] = _wish(metadata, "writeStatsAsJson", default="true")
            common["write_stats_as_struct"] = _wish(metadata, "writeStatsAsStruct", default="")
    protocols = {} if is_base else _protocol_rows(read)
    return [
        {
            **common,
            **_counts(each),
            **protocols.get(each.file, {}),
            "replayed_adds_with_stats": None if known is None else known.get(each.file, 0),
        }
        for each in read.contents
    ]


def column_rows(read: ParsedCheckpoint) -> list[Row]:
    """Rows of `checkpoint_columns`: what is wrong with the Parquet columns of its files."""
    protocol, metadata = _table(read)
    schema, mapping, widening = _schema(protocol, metadata)
    names = metadata.partition_columns if metadata else []
    rows: list[Row] = []
    for each in read.contents:
        if each.schema is None:
            continue
        for fault in find_column_faults(each.schema, schema, names, mapping, widening=widening):
            rows.append(
                {
                    "version": read.checkpoint.version,
                    "file": each.file,
                    "column": ".".join(fault.path),
                    "of": fault.of,
                    "differs": fault.what,
                    "expected": fault.expected,
                    "stored": fault.stored,
                }
            )
    return rows[:MAX_COLUMNS_SHOWN]


def _table(read: ParsedCheckpoint) -> tuple[Protocol | None, MetaData | None]:
    """The protocol and the metadata that the checkpoint itself holds."""
    found: dict[type, Any] = {}
    for _, _, action in read.actions:
        if isinstance(action, Protocol | MetaData):
            found.setdefault(type(action), action)
    return found.get(Protocol), found.get(MetaData)


def _schema(protocol: Protocol | None, metadata: MetaData | None) -> tuple[Struct | None, str | None, bool]:
    """Schema, column mapping and whether types may have been widened; no schema where one of them is not known."""
    if protocol is None or metadata is None or not features_are_known(protocol):
        return None, None, False
    try:
        schema = parse_schema(metadata.schema_string)
    except SchemaError:
        return None, None, False
    mapping = column_mapping.get_mapping_mode(metadata.configuration, supported=supports(protocol, "columnMapping"))
    widening = any(supports(protocol, name) for name in ("typeWidening", "typeWidening-preview"))
    return schema, mapping, widening


def _wish(metadata: MetaData, name: str, *, default: str) -> bool | None:
    """What a checkpoint property is set to; None where it is neither true nor false."""
    value = metadata.configuration.get(f"delta.checkpoint.{name}", default).lower()
    return value == "true" if value in ("true", "false") else None


def _counts(each: CheckpointFileSummary) -> Row:
    return {
        "file": each.file,
        "is_parquet": each.is_parquet,
        "adds": each.adds,
        "adds_with_json": each.adds_with_json,
        "adds_with_columns": each.adds_with_columns,
        "adds_with_json_only": each.adds_with_json_only,
        "adds_with_columns_only": each.adds_with_columns_only,
        "adds_with_parsed_partition_values": each.adds_with_parsed_partition_values,
        "removes_with_statistics": each.removes_with_statistics,
        "removes_with_tags": each.removes_with_tags,
    }


def _protocol_rows(read: ParsedCheckpoint) -> dict[str, Row]:
    return {
        file: {
            "min_reader_version": action.min_reader_version,
            "min_writer_version": action.min_writer_version,
            "has_reader_features": action.reader_features is not None,
            "has_writer_features": action.writer_features is not None,
        }
        for file, _, action in read.actions
        if isinstance(action, Protocol)
    }
