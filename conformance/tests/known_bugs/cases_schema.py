"""Column mapping, clustering, and what a schema says of its columns."""

import json
from typing import Any

from known_bugs.registry import known_bug, no_finding, no_table

from deltaspec_generators.bases import log_only
from deltaspec_generators.bases.log_only import get_action
from deltaspec_generators.table_files import TableFiles, domain_action, metadata_action, protocol_action

no_table("cm-012", "limits of char and varchar are metadata of Spark's own, of which the text says nothing")


@no_finding("cm-003", "without a mode, or with mode none, what fields say of a mapping has no meaning")
def annotations_of_a_mapping_that_is_off() -> TableFiles:
    """Mode is none while fields still have ids and physical names, and data files use the displayed names."""
    return _mapped(_two_fields(), {"delta.columnMapping.mode": "none", "delta.columnMapping.maxColumnId": "2"})


@no_finding("cm-003", "without a mode, or with mode none, what fields say of a mapping has no meaning")
def annotations_without_a_mode() -> TableFiles:
    """No mode is set while fields have ids and physical names."""
    return _mapped(_two_fields(), {})


@known_bug("cm-003", CMP001=1, CMP002=1)
def nested_field_without_mapping(right: bool) -> TableFiles:
    """Under name mapping a nested field has neither id nor physical name."""
    inner = _field("x", "long", 2) if right else {"name": "x", "type": "long", "nullable": True, "metadata": {}}
    return _mapped([_field("s", _struct(inner), 1)], _mode("name", 2))


@no_finding("cm-004", "unique is the path, and a name may come again below another parent")
def same_leaf_names_below_different_parents() -> TableFiles:
    """A table upgraded to mapping keeps its names as physical ones, and both `a.b.c` and `x.y.c` end in one name."""
    fields = [
        _field("a", _struct(_field("b", _struct(_field("c", "long", 3, "c")), 2, "b")), 1, "a"),
        _field("x", _struct(_field("y", _struct(_field("c", "long", 6, "c")), 5, "y")), 4, "x"),
    ]
    return _mapped(fields, _mode("name", 6))


@known_bug("cm-004", CMP004=2)
def siblings_of_one_physical_name(right: bool) -> TableFiles:
    """Two columns have one physical name, so both read the same column of the file."""
    second = _field("b", "long", 2) if right else _field("b", "long", 2, "col-1")
    return _mapped([_field("a", "long", 1), second], _mode("name", 2))


@known_bug("cm-004", CMP003=2)
def columns_of_one_id(right: bool) -> TableFiles:
    """Two columns have one id, so both read the same column of the file."""
    second = _field("b", "long", 2 if right else 1, "col-b")
    return _mapped([_field("a", "long", 1), second], _mode("id", 2))


@known_bug("cm-004", CMP005=1)
def highest_id_not_recorded(right: bool) -> TableFiles:
    """The highest id ever given is recorded as 1 while a column has id 2, so the next column gets 2 again."""
    return _mapped(_two_fields(), _mode("name", 2 if right else 1))


@known_bug("cm-005", DOM005=1)
def clustered_by_the_name_before_a_rename(right: bool) -> TableFiles:
    """The domain holds the displayed name of a clustering column, which a rename turns into that of no column."""
    files = _mapped([_field("region", "string", 1)], _mode("name", 1))
    files.commits[0][1] = protocol_action(2, 7, None, ["columnMapping", "domainMetadata", "clustering"])
    clustered = json.dumps({"clusteringColumns": [["col-1" if right else "region"]]})
    files.commits[0].append(domain_action("delta.clustering", clustered))
    for version, which in ((1, 0), (1, 1), (2, 0)):
        stats = {"numRecords": 10, "minValues": {}, "maxValues": {}, "nullCount": {"col-1": 10}}
        get_action(files, version, "add", which)["stats"] = json.dumps(stats)
    return files


@known_bug("cm-005", FIL023=1)
def clustering_column_beyond_the_indexed_ones(right: bool) -> TableFiles:
    """Statistics are limited to the first columns, and the writer makes no exception for the clustering column."""
    files = _clustered("id", [])
    get_action(files, 0, "metaData")["configuration"]["delta.dataSkippingNumIndexedCols"] = "0"
    if not right:
        get_action(files, 2, "add")["stats"] = '{"numRecords":10}'
    return files


@known_bug("lc-001", FIL023=1)
def file_of_a_clustered_table_without_statistics(right: bool) -> TableFiles:
    """An engine appends to a clustered table and writes no statistics at all."""
    files = _clustered("id", [])
    if not right:
        del get_action(files, 2, "add")["stats"]
    return files


@known_bug("lc-001", DOM004=1)
def clustered_and_partitioned(right: bool) -> TableFiles:
    """A partitioned table gets clustering columns, or a clustered one partition columns."""
    return _clustered("id", ["day"] if not right else [])


@no_finding("lc-001", "the feature may be listed before there are clustering columns, and stays when they are gone")
def clustering_without_its_domain() -> TableFiles:
    """The protocol lists clustering, and no domain says by which columns."""
    files = _clustered("id", [])
    del files.commits[0][-1]
    return files


@no_finding("cm-007", "any name may be a physical one or a displayed one, quoted or not")
def columns_renamed_to_odd_names() -> TableFiles:
    """Columns are renamed to names with dots, commas, hashes and signs, and engines fail to project them."""
    names = ("c#2", "a.b", "x,y", "😀")
    fields = [_field(name, "long", number) for number, name in enumerate(names, 1)]
    return _mapped([*fields, _field("s", _struct(_field("x.y", "long", 6)), 5)], _mode("id", 6))


@no_finding("cm-009", "an owner may turn a generated column into a plain one; whether it was meant is not in the log")
def generation_expression_lost_by_schema_evolution() -> TableFiles:
    """A writer adds a column and writes the schema anew without what it did not know: the expression is gone."""
    generated = {"delta.generationExpression": "CAST(at AS DATE)"}
    fields = [("at", "timestamp"), {"name": "day", "type": "date", "nullable": True, "metadata": generated}]
    files = log_only.build_table(protocol=protocol_action(1, 4), fields=fields)
    files.commits[2].append(metadata_action([("at", "timestamp"), ("day", "date"), ("price", "double")]))
    return files


def _clustered(column: str, partition_columns: list[str]) -> TableFiles:
    """A table clustered by one of its columns, every file with statistics of `id`."""
    files = log_only.build_table(
        protocol=protocol_action(1, 7, None, ["domainMetadata", "clustering"]),
        fields=[("id", "long"), ("day", "date")],
        partition_columns=partition_columns,
        partition=dict.fromkeys(partition_columns, "2024-02-29"),
    )
    files.commits[0].append(domain_action("delta.clustering", json.dumps({"clusteringColumns": [[column]]})))
    for version, which in ((1, 0), (1, 1), (2, 0)):
        stats = {"numRecords": 10, "minValues": {"id": 0}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
        get_action(files, version, "add", which)["stats"] = json.dumps(stats)
    return files


def _mapped(fields: list[dict[str, Any]], configuration: dict[str, str]) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(2, 5), fields=fields, configuration=configuration)


def _mode(mode: str, highest: int) -> dict[str, str]:
    return {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": str(highest)}


def _two_fields() -> list[dict[str, Any]]:
    return [_field("a", "long", 1), _field("b", "string", 2)]


def _field(name: str, kind: Any, number: int, physical: str | None = None) -> dict[str, Any]:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical or f"col-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}
