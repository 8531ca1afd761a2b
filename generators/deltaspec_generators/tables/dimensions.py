"""Names of everything that a table can exercise, and the names that a table exercises.

Most names are observed in the finished table, so a generator that stops drawing something cannot hide it. Only names
that the finished table does not show are recorded while it is drawn.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from deltaspec.protocol.property_names import COLUMN_MAPPING_MODE, PHYSICAL_NAME
from deltaspec.protocol.schema.data_types import Array, DataType, Decimal, Field, Map, Primitive, Struct
from deltaspec.protocol.schema.schema_string import parse_schema
from deltaspec_generators.data_files.parquet_encodings import COMPRESSIONS
from deltaspec_generators.operations.all_operations import list_operations
from deltaspec_generators.schemas.drawing import PARTITION_TYPES
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_state import WrittenState
from deltaspec_generators.tables.history import GeneratedTable
from deltaspec_generators.tables.table_specs import ALL_FEATURES, EXTRAS
from deltaspec_generators.values.arrow_values import PRIMITIVES

_TYPES = (*PRIMITIVES, "decimal", "struct", "array", "map")
_DEPTHS = ("column", "struct", "list", "map")
NAMES: dict[str, Iterable[str]] = {
    "type": (*_TYPES, "void"),
    "in-struct": (*_TYPES, "void"),
    "in-array": _TYPES,
    "in-map": _TYPES,
    "map-key": [name for name in (*PRIMITIVES, "decimal") if name != "variant"],
    "partition": (*PARTITION_TYPES, "decimal"),
    "depth": ("0", "1", "2", "3"),
    "nullability": ("column", "field"),
    "values": (
        "null-collection",
        "empty-collection",
        "single-element",
        "large-collection",
        "nan",
        "negative-zero",
        "only-negative-zeros",
    ),
    "partition-text": ("null", "empty", "timestamp-without-zone"),
    "feature": (*ALL_FEATURES, "none"),
    "enabled-later": ("deletionVectors", "changeDataFeed", "inCommitTimestamp", "rowTracking", "v2Checkpoint"),
    "mapping": ("name", "id", "later"),
    "operation": [each.name.replace("_", "-") for each in list_operations(EXTRAS)],
    "field-added": ("struct", "list", "map"),
    "field-dropped": _DEPTHS,
    "field-renamed": _DEPTHS,
    "field-reordered": _DEPTHS,
    "widened": ("column", "field", "element", "key", "value"),
    "column": ("name-reused",),
    "vector": ("inline", "relative", "absolute", "shared-file", "replaced", "all-rows"),
    "statistics": ("absent", "row-count", "partial", "truncated", "wide"),
    "compression": COMPRESSIONS,
    "encoding": ("dictionary", "plain", "delta", "lengths", "split"),
    "parquet": (
        *("int96", "fixed-decimals", "older-list-names", "small-pages", "row-groups", "page-v2", "page-index"),
        *("optional-columns", "reordered-columns", "reordered-fields", "partition-columns", "unknown-column"),
        *("without-statistics", "arrow-schema", "page-checksums", "row-ids", "empty-file"),
    ),
    "checkpoint": (
        *("classic", "multipart", "classic-v2", "v2-parquet", "v2-json", "v2-sidecars", "parsed-statistics"),
        *("parsed-only", "last-version", "older-version"),
    ),
    "hint": ("present", "stale", "absent", "dangling"),
    "log": ("compaction", "checksum", "cleaned-up", "unknown-field", "unknown-action", "unknown-file", "explicit-null"),
    "path": ("escaped", "fragment-and-query", "absolute", "partition-folder", "elsewhere"),
    "state": (
        "transaction",
        "transaction-with-removal",
        "domain",
        "no-rows",
        "twenty-rows",
        "several-partition-columns",
    ),
    "domain": ("removed",),
    "variant": ("shredded",),
    "changes": ("files", "implied", "with-schema-change", "insert", "delete", "update_preimage", "update_postimage"),
    "rows": ("id-kept", "version-kept"),
}
"""Second part of the names by their first part."""
DIMENSIONS = frozenset(f"{kind}:{name}" for kind, names in NAMES.items() for name in names)
"""All names."""


def observe(drawn: GeneratedTable) -> frozenset[str]:
    """Return the names of everything that a table exercises."""
    found = {
        *drawn.reached,
        *_observe_schemas(drawn),
        *_observe_values(drawn),
        *_observe_adds(drawn),
        *_observe_encodings(drawn),
        *_observe_log(drawn.files, drawn.states),
        *_observe_changes(drawn),
    }
    assert found <= DIMENSIONS, f"unknown dimensions {sorted(found - DIMENSIONS)}"
    return frozenset(found)


def _type_name(data_type: DataType) -> str:
    if isinstance(data_type, Decimal):
        return "decimal"
    return data_type.name if isinstance(data_type, Primitive) else type(data_type).__name__.lower()


def _observe_schemas(drawn: GeneratedTable) -> Iterator[str]:
    modes = []
    for state, version in zip(drawn.states, drawn.versions, strict=True):
        partition = state.metadata["partitionColumns"]
        for each in version.schema.fields:
            yield f"{'partition' if each.name in partition else 'type'}:{_type_name(each.type)}"
            yield f"depth:{min(_measure_depth(each.type), 3)}"
            yield from ("nullability:column",) if not each.nullable else ()
            yield from _observe_type(each.type)
        yield from ("state:several-partition-columns",) if len(partition) > 1 else ()
        yield from (f"feature:{name}" for name in state.features if name in ALL_FEATURES)
        yield from () if state.features else ("feature:none",)
        modes.append(state.configuration.get(COLUMN_MAPPING_MODE))
        yield from (f"mapping:{modes[-1]}",) if modes[-1] else ()
        yield from ("state:transaction",) if state.transactions else ()
        yield from ("state:domain",) if any(not name.startswith("delta.") for name in state.domains) else ()
    yield from ("mapping:later",) if modes[-1] and not modes[0] else ()


def _observe_type(data_type: DataType) -> Iterator[str]:
    match data_type:
        case Struct(fields):
            for each in fields:
                yield f"in-struct:{_type_name(each.type)}"
                yield from ("nullability:field",) if not each.nullable else ()
                yield from _observe_type(each.type)
        case Array(element):
            yield f"in-array:{_type_name(element)}"
            yield from _observe_type(element)
        case Map(key, value):
            yield f"map-key:{_type_name(key)}"
            yield f"in-map:{_type_name(value)}"
            yield from _observe_type(value)


def _measure_depth(data_type: DataType) -> int:
    match data_type:
        case Struct(fields):
            return 1 + max(_measure_depth(each.type) for each in fields)
        case Array(element):
            return 1 + _measure_depth(element)
        case Map(_, value):
            return 1 + _measure_depth(value)
    return 0


def _observe_values(drawn: GeneratedTable) -> Iterator[str]:
    for stored in drawn.stored:
        for each in stored.schema.fields:
            for row in stored.rows[:8]:
                yield from _observe_value(each.type, row.get(each.name))
            values = {repr(row.get(each.name)) for row in stored.rows} - {"None"}
            yield from ("values:only-negative-zeros",) if values == {"-0.0"} else ()
    for version in drawn.versions:
        yield from ("state:no-rows",) if not version.plain_rows else ()
        yield from ("state:twenty-rows",) if len(version.plain_rows) >= 20 else ()


def _observe_value(data_type: DataType, value: Any) -> Iterator[str]:
    match data_type:
        case Array() | Map():
            if value is None:
                yield "values:null-collection"
            elif not value:
                yield "values:empty-collection"
            elif len(value) == 1:
                yield "values:single-element"
            elif len(value) > 3:
                yield "values:large-collection"
        case Primitive("double" | "float") if value is not None:
            if value != value:
                yield "values:nan"
            elif repr(value) == "-0.0":
                yield "values:negative-zero"


def _observe_adds(drawn: GeneratedTable) -> Iterator[str]:
    vectors: dict[str, set[str]] = {}
    for stored in drawn.stored:
        add = stored.add
        vector = add.get("deletionVector")
        vectors.setdefault(add["path"], set()).update(() if vector is None else (json.dumps(vector),))
        if vector is not None:
            yield f"vector:{ {'i': 'inline', 'u': 'relative', 'p': 'absolute'}[vector['storageType']] }"
        yield from ("path:escaped",) if "%" in add["path"] else ()
        yield from ("path:partition-folder",) if "=" in add["path"] and add["partitionValues"] else ()
        yield from _observe_statistics(stored.add.get("stats"), stored.style.string_length)
        for text in add["partitionValues"].values():
            yield from ("partition-text:null",) if text is None else ("partition-text:empty",) if text == "" else ()
    yield from ("vector:replaced",) if any(len(found) > 1 for found in vectors.values()) else ()
    offsets: dict[str, set[int]] = {}
    for stored in drawn.stored:
        vector = stored.add.get("deletionVector") or {}
        if "offset" in vector:
            offsets.setdefault(vector["pathOrInlineDv"], set()).add(vector["offset"])
    yield from ("vector:shared-file",) if any(len(found) > 1 for found in offsets.values()) else ()
    for state in drawn.states:
        schema = parse_schema(state.metadata["schemaString"])
        yield from _observe_timestamp_texts(schema.fields, state)


def _observe_timestamp_texts(fields: Iterable[Field], state: WrittenState) -> Iterator[str]:
    names = {
        each.metadata.get(PHYSICAL_NAME, each.name)
        for each in fields
        if each.type == Primitive("timestamp") and each.name in state.metadata["partitionColumns"]
    }
    for add in state.live.values():
        if any(text and not text.endswith("Z") for name, text in add["partitionValues"].items() if name in names):
            yield "partition-text:timestamp-without-zone"


def _observe_statistics(text: str | None, string_length: int | None) -> Iterator[str]:
    if text is None:
        yield "statistics:absent"
        return
    found = json.loads(text)
    if set(found) == {"numRecords"}:
        yield "statistics:row-count"
    elif not {"minValues", "nullCount"} <= set(found):
        yield "statistics:partial"
    if found.get("tightBounds") is False:
        yield "statistics:wide"
    if string_length is not None:
        lengths = [len(each) for each in found.get("maxValues", {}).values() if isinstance(each, str)]
        yield from ("statistics:truncated",) if any(length == string_length + 1 for length in lengths) else ()


def _observe_encodings(drawn: GeneratedTable) -> Iterator[str]:
    for stored in drawn.stored:
        used = stored.parquet_encoding
        if not stored.rows:
            yield "parquet:empty-file"
            continue
        kinds = {kind for each in stored.schema.fields for kind in _iter_types(each.type)}
        yield f"compression:{used.compression}"
        yield f"encoding:{used.encoding}"
        observed = {
            "int96": used.times == "int96" and bool({"timestamp", "timestamp_ntz"} & kinds),
            "fixed-decimals": not used.decimals_as_integers and "decimal" in kinds,
            "older-list-names": used.list_element != "element" and "array" in kinds,
            "small-pages": used.rows_per_page is not None and len(stored.rows) > 1,
            "row-groups": used.rows_per_group is not None and len(stored.rows) > used.rows_per_group,
            "page-v2": used.page_version == "2.0",
            "page-index": used.page_index and used.statistics,
            "optional-columns": not used.required and any(not each.nullable for each in stored.schema.fields),
            "reordered-columns": used.reversed_columns and len(stored.schema.fields) > 1,
            "reordered-fields": used.reversed_fields and "struct" in kinds,
            "partition-columns": used.partition_columns and bool(stored.partition),
            "unknown-column": used.extra_column,
            "without-statistics": not used.statistics,
            "arrow-schema": used.arrow_schema,
            "page-checksums": used.checksums,
            "row-ids": bool(stored.row_ids) and stored.row_ids[0] != stored.add.get("baseRowId"),
        }
        yield from (f"parquet:{name}" for name, seen in observed.items() if seen)
        if stored.row_ids and stored.row_ids[0] != stored.add.get("baseRowId"):
            yield "rows:id-kept"
        if any(each != stored.add["defaultRowCommitVersion"] for each in stored.row_commit_versions):
            yield "rows:version-kept"


def _iter_types(data_type: DataType) -> Iterator[str]:
    yield _type_name(data_type)
    match data_type:
        case Struct(fields):
            for each in fields:
                yield from _iter_types(each.type)
        case Array(element):
            yield from _iter_types(element)
        case Map(key, value):
            yield from _iter_types(key)
            yield from _iter_types(value)


def _observe_log(files: TableFiles, states: list[WrittenState]) -> Iterator[str]:
    last = len(states) - 1
    for each in files.checkpoints:
        kind = {"uuid-parquet": "v2-parquet", "uuid-json": "v2-json"}.get(each.naming, each.naming)
        yield f"checkpoint:{kind}{'-v2' if each.v2 and kind == 'classic' else ''}"
        yield "checkpoint:last-version" if each.version == last else "checkpoint:older-version"
        adds = [row["add"] for row in _iter_rows(each) if "add" in row]
        yield from ("checkpoint:v2-sidecars",) if any(sidecar.rows for sidecar in each.sidecars) else ()
        if any(add.get("stats_parsed") for add in adds):
            yield "checkpoint:parsed-statistics"
            yield from ("checkpoint:parsed-only",) if not any("stats" in add for add in adds) else ()
    newest = max((each.version for each in files.checkpoints), default=None)
    if isinstance(files.last_checkpoint, dict | str):
        hint = files.last_checkpoint if isinstance(files.last_checkpoint, dict) else json.loads(files.last_checkpoint)
        yield "hint:present" if hint["version"] == newest else "hint:stale"
        yield from ("hint:dangling",) if all(each.version != hint["version"] for each in files.checkpoints) else ()
    elif newest is not None:
        yield "hint:absent"
    yield from ("log:compaction",) if files.compactions else ()
    yield from ("log:checksum",) if files.checksums else ()
    yield from ("log:cleaned-up",) if 0 not in files.commits else ()
    yield from ("log:unknown-file",) if any("vector" not in path for path in files.extra) else ()
    for lines in files.commits.values():
        kinds = {kind for line in lines if isinstance(line, dict) for kind in line}
        yield from ("state:transaction-with-removal",) if {"txn", "remove"} <= kinds and "add" not in kinds else ()
    for line in (line for lines in files.commits.values() for line in lines if isinstance(line, dict)):
        yield from ("log:unknown-action",) if "futureAction" in line else ()
        for body in line.values():
            yield from ("log:unknown-field",) if "futureField" in body else ()
            yield from ("log:explicit-null",) if None in body.values() else ()


def _iter_rows(checkpoint: Any) -> Iterator[dict[str, Any]]:
    yield from (row for row in checkpoint.rows if isinstance(row, dict))
    for sidecar in checkpoint.sidecars:
        yield from sidecar.rows


def _observe_changes(drawn: GeneratedTable) -> Iterator[str]:
    before = None
    for version in drawn.versions:
        if version.plain_changes is not None:
            changes = version.plain_changes
            yield from (f"changes:{kind}" for kind, _ in changes)
            yield from (f"changes:{'files' if version.has_change_files else 'implied'}",) if changes else ()
            if before is not None and before != version.schema:
                yield "changes:with-schema-change"
        before = version.schema
