"""Rows of `checkpoint_contents` and `checkpoint_columns`, built from a completely read checkpoint."""

from collections.abc import Mapping
from typing import Any

from deltaspec.protocol.actions import MetaData, Protocol
from deltaspec.protocol.features.supported_features import has_known_features, supports
from deltaspec.protocol.log.checkpoint_schema import find_column_faults
from deltaspec.protocol.property_names import STATS_AS_JSON, STATS_AS_STRUCT
from deltaspec.protocol.schema import column_mapping
from deltaspec.protocol.schema.data_types import Struct
from deltaspec.protocol.schema.schema_string import SchemaError, parse_schema
from deltaspec.views.data.write_settings import RequestedSettings
from deltaspec.wire.log.checkpoint_reader import ParsedCheckpoint
from deltaspec.wire.log.checkpoint_summary import CheckpointFileSummary

Row = dict[str, Any]
_MIN_ENFORCING_WRITER_VERSION = 3
"""Lowest writer version that enforces the checkpoint properties (E43)."""
MAX_COLUMNS_SHOWN = 10_000


def build_checkpoint_contents_rows(
    read: ParsedCheckpoint,
    known: Mapping[str, int] | None = None,
    *,
    is_base: bool = False,
    requested: RequestedSettings | None = None,
) -> list[Row]:
    """Return the rows of `checkpoint_contents`, one per file.

    Args:
        read: the checkpoint.
        known: file to the number of its adds that have statistics in replay; None if not compared with replay.
        is_base: whether the history starts from it; its protocol is then a row of `protocols`, and left out here.
        requested: write settings along the validated history; None if they are not known.
    """
    protocol, metadata = _first_table_actions(read)
    common: Row = {"version": read.checkpoint.version}
    if metadata is not None:
        common["is_partitioned"] = bool(metadata.partition_columns)
        if protocol is not None and protocol.min_writer_version >= _MIN_ENFORCING_WRITER_VERSION:
            common["write_stats_as_json"] = _boolean_property(metadata, "writeStatsAsJson", default="true")
            common["write_stats_as_struct"] = _boolean_property(metadata, "writeStatsAsStruct", default="")
            common["write_stats_as_struct_is_unset"] = STATS_AS_STRUCT not in metadata.configuration or None
        elif protocol is not None and STATS_AS_JSON not in metadata.configuration:
            common["write_stats_as_json"] = True  # the default, with or without support for the property
    protocols = {} if is_base else _protocol_rows(read)
    return [
        {
            **common,
            **_file_counts(each),
            **_write_settings(each, read.checkpoint.version, requested),
            **protocols.get(each.file, {}),
            "replayed_adds_with_stats": None if known is None else known.get(each.file, 0),
        }
        for each in read.contents
    ]


def column_rows(read: ParsedCheckpoint) -> list[Row]:
    """Return the rows of `checkpoint_columns`: one per faulty Parquet column, at most `MAX_COLUMNS_SHOWN`."""
    protocol, metadata = _first_table_actions(read)
    schema, mapping = _schema_facts(protocol, metadata)
    names = metadata.partition_columns if metadata else []
    rows: list[Row] = []
    for each in read.contents:
        if each.schema is None:
            continue
        faults = find_column_faults(each.schema, schema, names, mapping, read.revision)
        for fault in faults:
            rows.append(
                {
                    "version": read.checkpoint.version,
                    "file": each.file,
                    "column": ".".join(fault.path),
                    "belongs_to": fault.of,
                    "difference": fault.what,
                    "expected": fault.expected,
                    "stored": fault.stored,
                }
            )
    return rows[:MAX_COLUMNS_SHOWN]


def _first_table_actions(read: ParsedCheckpoint) -> tuple[Protocol | None, MetaData | None]:
    """Return the first protocol and metadata actions of the checkpoint."""
    found: dict[type, Any] = {}
    for _, _, action in read.actions:
        if isinstance(action, Protocol | MetaData):
            found.setdefault(type(action), action)
    return found.get(Protocol), found.get(MetaData)


def _schema_facts(protocol: Protocol | None, metadata: MetaData | None) -> tuple[Struct | None, str | None]:
    """Return schema and column mapping mode; the schema is None if the table state is unknown."""
    if protocol is None or metadata is None or not has_known_features(protocol):
        return None, None
    try:
        schema = parse_schema(metadata.schema_string)
    except SchemaError:
        return None, None
    mapping = column_mapping.get_mapping_mode(metadata.configuration, supported=supports(protocol, "columnMapping"))
    return schema, mapping


def _boolean_property(metadata: MetaData, name: str, *, default: str) -> bool | None:
    """Return a boolean checkpoint property; None if it is neither true nor false."""
    value = metadata.configuration.get(f"delta.checkpoint.{name}", default).lower()
    return value == "true" if value in ("true", "false") else None


def _file_counts(each: CheckpointFileSummary) -> Row:
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


def _write_settings(each: CheckpointFileSummary, version: int, requested: RequestedSettings | None) -> Row:
    """Return the columns of requested codec and page version. A sidecar may be older than its checkpoint."""
    if requested is None or each.chunks is None or each.source != "checkpoint":
        return {}
    found = requested.at(version, each.chunks.codecs, each.chunks.page_version) or {}
    return {name: value for name, value in found.items() if not name.endswith("_is_default")}


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
