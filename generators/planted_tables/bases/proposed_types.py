"""Tables with columns of types that only proposals define."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaspec_generators.small_tables import build_rows, build_table_with_data, encode_data_file
from deltaspec_generators.table_files import TableFiles, domain_action, get_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.column_mapping import build_mapped_field
from planted_tables.bases.iceberg import build_compatible_table
from planted_tables.bases.row_ids import ENABLED, row_id_mark_domain

MONTHS, SECONDS = "interval year to month", "interval day to second"
VECTOR = {"type": "udt", "class": "org.example.Vector", "pyClass": None, "sqlType": "string"}
GEOMETRY, GEOGRAPHY = "geometry(OGC:CRS84)", "geography(EPSG:4326, spherical)"
NANOS, LOCAL_NANOS = "timestamp_nanos", "timestamp_nanos_ntz"
_FEATURES = {
    MONTHS: ("intervalTypes",),
    SECONDS: ("intervalTypes",),
    GEOMETRY: ("geospatial",),
    GEOGRAPHY: ("geospatial",),
    NANOS: ("timestampNanos", "timestampNtz"),
    LOCAL_NANOS: ("timestampNanos", "timestampNtz"),
}


def build_protocol(*features: str, writer: Sequence[str] = ()) -> dict[str, Any]:
    """Build a protocol that supports reader-writer features and writer-only features."""
    return protocol_action(3, 7, features, (*features, *writer))


def build_typed_table(kind: Any, statistics: Mapping[str, Any] | None = None, **more: Any) -> TableFiles:
    """Build a table with a column `x` of a proposed type and its features; the last file has these statistics."""
    features = _FEATURES.get(kind, ()) if isinstance(kind, str) else ()
    files = log_only.build_table(
        **{"protocol": build_protocol(*features), "fields": [("id", "long"), ("x", kind)], **more}
    )
    if statistics is not None:
        get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": 10, **statistics})
    return files


def build_partitioned_table(kind: str, value: str) -> TableFiles:
    """Build a table partitioned by a column `x` of a proposed type with one value."""
    return build_typed_table(kind, partition_columns=["x"], partition={"x": value})


def build_stored_table(kind: Any, stored: pa.Array) -> TableFiles:
    """Build a table with a column `x` of a proposed type, whose last file stores these ten values."""
    features = _FEATURES.get(kind, ()) if isinstance(kind, str) else ()
    files = build_table_with_data(
        protocol=build_protocol(*features),
        fields=[("id", "long"), ("name", "string"), ("price", "double"), ("x", kind)],
    )
    table = build_rows(20).append_column("x", stored)
    files.data["c.parquet"] = encode_data_file(table, version="2.6")
    get_action(files, 2, "add")["size"] = len(files.data["c.parquet"])
    return files


def build_collated_table(collated: Any) -> TableFiles:
    """Build a table with a collated column `x`, whose last file has this value of statsWithCollation."""
    field = {"name": "x", "type": "string", "nullable": True, "metadata": {"__COLLATIONS": {"x": "ICU.de_DE"}}}
    protocol = protocol_action(1, 7, None, ["collations", "domainMetadata"])
    files = log_only.build_table(protocol=protocol, fields=[("id", "long"), field])
    get_action(files, 2, "add")["stats"] = json.dumps({"numRecords": 10, "statsWithCollation": collated})
    return files


def build_versioned_table(configuration: str, domain: str = "delta.collations") -> TableFiles:
    """Build a table whose domain of collations has this configuration."""
    files = build_collated_table({})
    files.commits[2].append(domain_action(domain, configuration))
    return files


def build_writer_compatible_table(*features: str, fields: Sequence[Any] | None = None) -> TableFiles:
    """Build a table with Iceberg writer compatibility V1 and further writer features."""
    fields = fields or [build_mapped_field("id", 1), build_mapped_field("name", 2, "string")]
    files = build_compatible_table("V2", fields=fields)
    get_action(files, 0, "protocol")["writerFeatures"] += ["icebergWriterCompatV1", *features]
    get_action(files, 0, "metaData")["configuration"] |= {
        "delta.columnMapping.mode": "id",
        "delta.enableIcebergWriterCompatV1": "true",
    }
    return files


def build_adaptive_table(*, last_remove: bool = True) -> TableFiles:
    """Build a table with adaptiveMetadata and every feature that it requires."""
    features = ("adaptiveMetadata", "columnMapping", "deletionVectors")
    files = log_only.build_table(
        protocol=build_protocol(*features, writer=["rowTracking", "domainMetadata", "inCommitTimestamp"]),
        fields=[build_mapped_field("id", 1), build_mapped_field("name", 2, "string")],
        configuration={
            **ENABLED,
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": "2",
            "delta.enableInCommitTimestamps": "true",
        },
        last_remove=last_remove,
    )
    first_ids: dict[str, dict[str, int]] = {}
    for version, lines in files.commits.items():
        actions = [line for line in lines if isinstance(line, dict)]
        for action in actions:
            for kind, body in action.items():
                if kind == "commitInfo":
                    action[kind] = {"inCommitTimestamp": 1_700_000_000_000 + version, **body}
                elif kind in ("add", "remove"):
                    ids = {"baseRowId": 10 * len(first_ids), "defaultRowCommitVersion": version}
                    body |= first_ids.setdefault(body["path"], ids)
        for action in actions:
            if "remove" in action:
                action["remove"].pop("deletionTimestamp", None)
                action["remove"]["stats"] = json.dumps({"numRecords": 10})
        if version:
            lines.append(row_id_mark_domain(10 * len(first_ids) - 1))
    return files
