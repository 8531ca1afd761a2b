"""Column mapping, clustering, and columns of the schema."""

import json
from typing import Any

from known_bugs.registry import known_bug, no_finding, no_table

from deltaspec_generators.table_files import TableFiles, domain_action, get_action, metadata_action, protocol_action
from planted_tables.bases import log_only

no_table("cm-012", "limits of char and varchar are Spark's own metadata, which the protocol does not define")


@no_finding("cm-003", "without a mode, or with mode none, mapping annotations of fields have no meaning")
def mapping_annotations_in_mode_none() -> TableFiles:
    """The mode is none, fields still have ids and physical names, and data files use the display names."""
    return _build_mapped_table(
        _two_fields(), {"delta.columnMapping.mode": "none", "delta.columnMapping.maxColumnId": "2"}
    )


@no_finding("cm-003", "without a mode, or with mode none, mapping annotations of fields have no meaning")
def mapping_annotations_without_mode() -> TableFiles:
    """No mode is set, but fields have ids and physical names."""
    return _build_mapped_table(_two_fields(), {})


@known_bug("cm-003", CMP001=1, CMP002=1)
def nested_field_without_mapping(is_sound: bool) -> TableFiles:
    """In name mode, a nested field has neither id nor physical name."""
    inner = _field("x", "long", 2) if is_sound else {"name": "x", "type": "long", "nullable": True, "metadata": {}}
    return _build_mapped_table([_field("s", _struct(inner), 1)], _mapping_properties("name", 2))


@no_finding("cm-004", "only the full path must be unique; a name may occur again below another parent")
def same_leaf_names_below_different_parents() -> TableFiles:
    """A table upgraded to column mapping uses its names as physical names, so `a.b.c` and `x.y.c` end in the same
    name."""
    fields = [
        _field("a", _struct(_field("b", _struct(_field("c", "long", 3, "c")), 2, "b")), 1, "a"),
        _field("x", _struct(_field("y", _struct(_field("c", "long", 6, "c")), 5, "y")), 4, "x"),
    ]
    return _build_mapped_table(fields, _mapping_properties("name", 6))


@known_bug("cm-004", CMP004=2)
def siblings_with_the_same_physical_name(is_sound: bool) -> TableFiles:
    """Two columns have the same physical name, so both read the same column of the file."""
    second = _field("b", "long", 2) if is_sound else _field("b", "long", 2, "col-1")
    return _build_mapped_table([_field("a", "long", 1), second], _mapping_properties("name", 2))


@known_bug("cm-004", CMP003=2)
def columns_with_the_same_id(is_sound: bool) -> TableFiles:
    """Two columns have the same id, so both read the same column of the file."""
    second = _field("b", "long", 2 if is_sound else 1, "col-b")
    return _build_mapped_table([_field("a", "long", 1), second], _mapping_properties("id", 2))


@known_bug("cm-004", CMP005=1)
def max_column_id_too_low(is_sound: bool) -> TableFiles:
    """The maximum column id is recorded as 1 although a column has id 2, so the next column gets 2 again."""
    return _build_mapped_table(_two_fields(), _mapping_properties("name", 2 if is_sound else 1))


@known_bug("cm-005", DOM005=1)
def clustered_by_the_display_name(is_sound: bool) -> TableFiles:
    """The domain contains the display name of a clustering column; after a rename, no column has that name."""
    files = _build_mapped_table([_field("region", "string", 1)], _mapping_properties("name", 1))
    files.commits[0][1] = protocol_action(2, 7, None, ["columnMapping", "domainMetadata", "clustering"])
    clustered = json.dumps({"clusteringColumns": [["col-1" if is_sound else "region"]]})
    files.commits[0].append(domain_action("delta.clustering", clustered))
    for version, index in ((1, 0), (1, 1), (2, 0)):
        stats = {"numRecords": 10, "minValues": {}, "maxValues": {}, "nullCount": {"col-1": 10}}
        get_action(files, version, "add", index)["stats"] = json.dumps(stats)
    return files


@known_bug("cm-005", FIL023=1)
def clustering_column_beyond_the_indexed_ones(is_sound: bool) -> TableFiles:
    """Statistics are limited to the first columns, and the writer does not except the clustering column."""
    files = _build_clustered_table("id", [])
    get_action(files, 0, "metaData")["configuration"]["delta.dataSkippingNumIndexedCols"] = "0"
    if not is_sound:
        get_action(files, 2, "add")["stats"] = '{"numRecords":10}'
    return files


@known_bug("lc-001", FIL023=1)
def file_of_a_clustered_table_without_statistics(is_sound: bool) -> TableFiles:
    """An engine appends to a clustered table without any statistics."""
    files = _build_clustered_table("id", [])
    if not is_sound:
        del get_action(files, 2, "add")["stats"]
    return files


@known_bug("lc-001", DOM004=1)
def clustered_and_partitioned(is_sound: bool) -> TableFiles:
    """A partitioned table gets clustering columns, or a clustered table partition columns."""
    return _build_clustered_table("id", ["day"] if not is_sound else [])


@known_bug("lc-001", CLU004=1)
def clustering_without_its_domain(is_sound: bool) -> TableFiles:
    """The protocol lists clustering, but no domain names the columns."""
    files = _build_clustered_table("id", [])
    if not is_sound:
        del files.commits[0][-1]
    return files


@no_finding("cm-007", "any string is a valid physical or display name")
def columns_with_special_characters() -> TableFiles:
    """Columns are renamed to names with dots, commas, hashes and emoji, and engines fail to read them."""
    names = ("c#2", "a.b", "x,y", "😀")
    fields = [_field(name, "long", number) for number, name in enumerate(names, 1)]
    return _build_mapped_table(
        [*fields, _field("s", _struct(_field("x.y", "long", 6)), 5)], _mapping_properties("id", 6)
    )


@no_finding(
    "cm-009", "users may turn a generated column into a plain one; the log does not show whether it was intended"
)
def generation_expression_lost_by_schema_evolution() -> TableFiles:
    """A writer adds a column and rewrites the schema without properties it does not know: the expression is lost."""
    generated = {"delta.generationExpression": "CAST(at AS DATE)"}
    fields = [("at", "timestamp"), {"name": "day", "type": "date", "nullable": True, "metadata": generated}]
    files = log_only.build_table(protocol=protocol_action(1, 4), fields=fields)
    files.commits[2].append(metadata_action([("at", "timestamp"), ("day", "date"), ("price", "double")]))
    return files


def _build_clustered_table(column: str, partition_columns: list[str]) -> TableFiles:
    """A table clustered by one of its columns; every file has statistics of `id`."""
    files = log_only.build_table(
        protocol=protocol_action(1, 7, None, ["domainMetadata", "clustering"]),
        fields=[("id", "long"), ("day", "date")],
        partition_columns=partition_columns,
        partition=dict.fromkeys(partition_columns, "2024-02-29"),
    )
    files.commits[0].append(domain_action("delta.clustering", json.dumps({"clusteringColumns": [[column]]})))
    for version, index in ((1, 0), (1, 1), (2, 0)):
        stats = {"numRecords": 10, "minValues": {"id": 0}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
        get_action(files, version, "add", index)["stats"] = json.dumps(stats)
    return files


def _build_mapped_table(fields: list[dict[str, Any]], configuration: dict[str, str]) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(2, 5), fields=fields, configuration=configuration)


def _mapping_properties(mode: str, max_column_id: int) -> dict[str, str]:
    return {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": str(max_column_id)}


def _two_fields() -> list[dict[str, Any]]:
    return [_field("a", "long", 1), _field("b", "string", 2)]


def _field(name: str, kind: Any, number: int, physical: str | None = None) -> dict[str, Any]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical or f"col-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}
