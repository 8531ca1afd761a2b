"""Planted faults of JSON in strings and files: a key occurs twice in one object."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, get_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.clustering import build_clustered_table
from planted_tables.faults.registry import draw_one, planted_fault


def _repeat(text: str, member: str) -> str:
    """Repeat a member of JSON text where it first occurs."""
    assert member in text
    return text.replace(member, f"{member},{member}", 1)


def _encode(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


@planted_fault("log.embedded-json")
def repeated_key_in_schema(draw: st.DrawFn) -> TableFiles:
    """In a field, in column metadata, or in an invariant."""
    invariant = {"delta.invariants": _encode({"expression": {"expression": "id > 0"}})}
    kind = {"type": "array", "elementType": "long", "containsNull": True}
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {"comment": "key"}},
        {"name": "list", "type": kind, "nullable": True, "metadata": {}},
    ]
    part = draw_one(draw, '"nullable":true', '"comment":"key"', '"containsNull":true', "invariant")
    if part == "invariant":
        expression = '"expression":"id > 0"'
        fields[0]["metadata"] = {"delta.invariants": _repeat(invariant["delta.invariants"], expression)}
    files = log_only.build_table(protocol=protocol_action(1, 2), fields=fields)
    body = get_action(files, 0, "metaData")
    schema = _encode(json.loads(body["schemaString"]))
    body["schemaString"] = schema if part == "invariant" else _repeat(schema, part)
    return files


@planted_fault("log.embedded-json", revisions=("r3", "current"))
def repeated_key_in_system_domain(draw: st.DrawFn) -> TableFiles:
    files = build_clustered_table()
    domain = get_action(files, 0, "domainMetadata")
    domain["configuration"] = _repeat(_encode({"clusteringColumns": ["id"]}), '"clusteringColumns":["id"]')
    return files


@planted_fault("log.embedded-json")
def repeated_key_in_statistics(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    statistics = {"numRecords": 10, "minValues": {"id": 1}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
    member = draw_one(draw, '"numRecords":10', '"id":1', '"id":9', '"id":0')
    get_action(files, 2, "add")["stats"] = _repeat(_encode(statistics), member)
    return files


@planted_fault("log.embedded-json", revisions=("current",))
def repeated_key_in_checksum(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_checksum()
    member = draw_one(draw, '"numFiles":2', '"minWriterVersion":2')
    files.checksums[2] = _repeat(_encode(files.checksums[2]), member)
    return files
