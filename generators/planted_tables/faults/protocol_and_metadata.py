"""Planted faults of protocol, features, metadata, schema, configuration, domains and malformed actions."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.property_names import (
    APPEND_ONLY,
    CHANGE_DATA_FEED,
    COLUMN_ID,
    COLUMN_MAPPING_MODE,
    DELETION_VECTORS,
    FILE_RETENTION,
    LOG_RETENTION,
    MAX_COLUMN_ID,
    PHYSICAL_NAME,
    STATS_AS_JSON,
)
from deltaspec_generators.table_files import (
    TableFiles,
    commit_info_action,
    domain_action,
    get_action,
    metadata_action,
    protocol_action,
    schema_string,
    txn_action,
)
from planted_tables.bases import log_only
from planted_tables.faults.registry import PLANTED_FAULTS, PlantedFault, draw_one, planted_fault

_NO_CLUSTERING = '{"clusteringColumns":[]}'


def _build_table_with_protocol(*arguments: Any) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(*arguments))


@planted_fault("protocol.reader-features-only-at-3")
def reader_list_without_version(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(draw_one(draw, 1, 2), 7, ["columnMapping"], ["columnMapping"])


@planted_fault("protocol.writer-features-only-at-7")
def writer_list_without_version(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(1, draw_one(draw, 2, 4), None, ["appendOnly"])


@planted_fault("protocol.reader-features-at-3")
def reader_list_absent(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(3, 7, None, ["appendOnly"])


@planted_fault("protocol.writer-features-at-7")
def writer_list_absent(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(draw_one(draw, 1, 2), 7)


@planted_fault("protocol.reader-3-needs-writer-7")
def reader_3_with_old_writer(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(3, draw_one(draw, 2, 5, 6), [])


@planted_fault("protocol.features-stay")
def feature_taken_out(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_protocol(1, 7, None, ["appendOnly", "invariants"])
    files.commits[2].append(protocol_action(1, 7, None, [draw_one(draw, "appendOnly", "invariants")]))
    return files


@planted_fault("protocol.features-stay")
def version_lowered(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_protocol(1, 2)
    files.commits[0][1] = protocol_action(3, 7, [], ["appendOnly", "invariants"])
    files.commits[2].append(protocol_action(1, 2))
    return files


@planted_fault("table-features.none-for-readers-alone")
def feature_in_readers_list_only(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(3, 7, ["deletionVectors"], [])


@planted_fault("table-features.writer-feature-for-writers")
def writer_feature_in_both_lists(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "appendOnly", "domainMetadata")
    return _build_table_with_protocol(3, 7, [name], [name])


@planted_fault("table-features.reader-feature-on-both-sides")
def reader_feature_in_one_list(draw: st.DrawFn) -> TableFiles:
    versions = draw_one(draw, (3, []), (1, None))
    return _build_table_with_protocol(versions[0], 7, versions[1], ["deletionVectors"])


@planted_fault("table-features.required-features")
def requirement_of_feature_absent(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(1, 7, None, ["clustering"])


@planted_fault("table-features.required-features")
def requirement_of_feature_dropped(draw: st.DrawFn) -> TableFiles:
    """The table also has a domain, which needs the dropped feature."""
    files = _build_table_with_protocol(1, 7, None, ["clustering", "domainMetadata"])
    files.commits[0].append(domain_action("delta.clustering", _NO_CLUSTERING))
    files.commits[1] += draw_one(draw, [], [domain_action("com.example.mine", _NO_CLUSTERING)])
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["clustering"])]
    return files


@planted_fault("table-features.lists-are-sets")
def feature_twice(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_protocol(1, 7, None, ["appendOnly", "appendOnly"])


@planted_fault("table-features.names")
def feature_misspelt(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "deletionvectors", "Invariants", "AppendOnly")
    return _build_table_with_protocol(3, 7, [name] if name == "deletionvectors" else [], [name])


def _build_table_with_metadata(**changes: Any) -> TableFiles:
    files = log_only.build_table()
    get_action(files, 0, "metaData").update(changes)
    return files


@planted_fault("metadata.id-is-guid")
def id_made_up(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_metadata(id=draw_one(draw, "my-table", "", "11111111-2222-4333-8444-55555555555g"))


@planted_fault("metadata.schema-string")
def schema_broken(draw: st.DrawFn) -> TableFiles:
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    absent = draw_one(draw, "name", "type", "nullable")
    cut = {key: value for key, value in field.items() if key != absent}
    texts = ("", "{", "[]", '{"type":"array"}', json.dumps({"type": "struct", "fields": [cut]}))
    return _build_table_with_metadata(schemaString=draw_one(draw, *texts))


@planted_fault("schema.primitive-types")
def type_unknown(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_metadata(schemaString=schema_string([("id", draw_one(draw, "int", "bigint", "Long", ""))]))


@planted_fault("schema.primitive-types")
def type_of_a_proposal_without_its_feature(draw: st.DrawFn) -> TableFiles:
    types = ("geometry(OGC:CRS84)", "geography", "timestamp_nanos", "interval month to day", "time(6)", "file")
    kind: Any = draw_one(draw, *types, {"type": "udt", "class": "Point"})
    nested = {"type": "array", "elementType": kind, "containsNull": True}
    return log_only.build_table(fields=[("id", "long"), ("g", draw_one(draw, kind, nested))])


@planted_fault("schema.primitive-types", revisions=("r1", "r2", "r3"))
def variant_before_its_revision(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(fields=[("id", "long"), ("v", "variant")])


@planted_fault("schema.decimal-range")
def decimal_too_wide(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_metadata(
        schemaString=schema_string([("id", draw_one(draw, "decimal(39,0)", "decimal(5,6)", "decimal(0,0)"))])
    )


@planted_fault("metadata.partition-columns")
def partition_column_unknown(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_metadata(partitionColumns=["day"])


@planted_fault("metadata.partition-columns")
def partition_column_twice(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(partition_columns=["name", "name"], partition={"name": "x"})


@planted_fault("partition-values.serialization")
def partition_column_nested(draw: st.DrawFn) -> TableFiles:
    kind = draw_one(
        draw, {"type": "array", "elementType": "long", "containsNull": True}, {"type": "struct", "fields": []}
    )
    return log_only.build_table(fields=[("id", "long"), ("n", kind)], partition_columns=["n"], partition={"n": None})


@planted_fault("schema.names-unique")
def column_name_twice(draw: st.DrawFn) -> TableFiles:
    name = draw_one(draw, "id", "ID")
    inner = {"type": "struct", "fields": json.loads(schema_string([("x", "long"), ("X", "long")]))["fields"]}
    columns = draw_one(draw, [("id", "long"), (name, "string")], [("id", "long"), ("s", inner)])
    return _build_table_with_metadata(schemaString=schema_string(columns))


@planted_fault("metadata.format-parquet")
def format_of_another_kind(draw: st.DrawFn) -> TableFiles:
    return _build_table_with_metadata(format={"provider": draw_one(draw, "orc", "csv"), "options": {}})


@planted_fault("schema.types-need-features")
def type_without_feature(draw: st.DrawFn) -> TableFiles:
    inner = {"type": "array", "elementType": "timestamp_ntz", "containsNull": True}
    return log_only.build_table(fields=[("id", "long"), ("t", draw_one(draw, "timestamp_ntz", "variant", inner))])


def _change_field(files: TableFiles, change: Callable[[dict[str, Any]], object]) -> TableFiles:
    """Edit the metadata of the first column."""
    body = get_action(files, 0, "metaData")
    schema = json.loads(body["schemaString"])
    change(schema["fields"][0]["metadata"])
    body["schemaString"] = json.dumps(schema)
    return files


@planted_fault("column-mapping.ids-assigned")
def column_without_id(draw: st.DrawFn) -> TableFiles:
    return _change_field(
        log_only.build_table_with_column_mapping(draw_one(draw, "id", "name")),
        lambda own: own.pop(COLUMN_ID),
    )


@planted_fault("column-mapping.physical-names-assigned")
def column_without_physical_name(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping(draw_one(draw, "id", "name"))
    return _change_field(files, lambda own: own.pop(PHYSICAL_NAME))


@planted_fault("column-mapping.ids-unique")
def column_id_twice(draw: st.DrawFn) -> TableFiles:
    return _change_field(log_only.build_table_with_column_mapping(), lambda own: own.update({COLUMN_ID: 2}))


@planted_fault("column-mapping.physical-paths-unique")
def physical_name_twice(draw: st.DrawFn) -> TableFiles:
    return _change_field(
        log_only.build_table_with_column_mapping(),
        lambda own: own.update({PHYSICAL_NAME: "col-2"}),
    )


@planted_fault("column-mapping.max-column-id")
def max_column_id_behind(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_column_mapping()
    configuration = get_action(files, 0, "metaData")["configuration"]
    if draw_one(draw, True, False):
        configuration[MAX_COLUMN_ID] = "3"
    else:
        del configuration[MAX_COLUMN_ID]
    return files


@planted_fault("configuration.values")
def property_value_impossible(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(configuration={MAX_COLUMN_ID: draw_one(draw, "many", "1.5", "-1")})


@planted_fault("configuration.values")
def property_value_undefined(draw: st.DrawFn) -> TableFiles:
    name, value = draw_one(
        draw,
        (APPEND_ONLY, "yes"),
        (CHANGE_DATA_FEED, ""),
        (STATS_AS_JSON, "1"),
        (FILE_RETENTION, "interval 1 month"),
        (LOG_RETENTION, "for ever"),
    )
    return log_only.build_table(configuration={name: value})


@planted_fault("protocol.fields")
def version_below_one(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(protocol=protocol_action(*draw_one(draw, (0, 2), (-1, 2), (0, 0), (1, 0))))


@planted_fault("table-features.active")
def property_without_feature(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(configuration={draw_one(draw, DELETION_VECTORS, CHANGE_DATA_FEED): "true"})


@planted_fault("configuration.properties-need-features")
def constraint_without_feature(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(configuration={"delta.constraints.positive": "id > 0"})


@planted_fault("configuration.names")
def property_without_prefix(draw: st.DrawFn) -> TableFiles:
    return log_only.build_table(configuration={"appendOnly": "true"})


@planted_fault("domain.needs-feature")
def domain_without_feature(draw: st.DrawFn) -> TableFiles:
    files: TableFiles = draw_one(draw, log_only.build_table(), _build_table_with_protocol(1, 7, None, ["appendOnly"]))
    files.commits[1].append(domain_action("mine"))
    return files


@planted_fault("domain.reserved-prefix")
def domain_of_reserved_name(draw: st.DrawFn) -> TableFiles:
    files = _build_table_with_protocol(1, 7, None, ["domainMetadata"])
    files.commits[1].append(domain_action("delta.mine"))
    return files


@planted_fault("domain.system-configuration")
def system_domain_malformed(draw: st.DrawFn) -> TableFiles:
    protocol = protocol_action(1, 7, None, ["domainMetadata", "rowTracking", "clustering"])
    files = TableFiles()
    files.commits[0] = [
        commit_info_action(0),
        protocol,
        metadata_action([("id", "long")]),
    ]  # no files, so that no row ids are required
    broken = draw_one(
        draw,
        domain_action("delta.rowTracking", "{}"),
        domain_action("delta.rowTracking", '{"rowIdHighWaterMark":"7"}'),
        domain_action("delta.rowTracking", '{"rowIdHighWaterMark":null,"domainName":"delta.rowTracking"}'),
        domain_action("delta.clustering", "x"),
        domain_action("delta.clustering", '{"clusteringColumns":{}}'),
    )
    others = domain_action("delta.clustering", _NO_CLUSTERING)
    files.commits[0] += [broken] if broken["domainMetadata"]["domain"] == "delta.clustering" else [broken, others]
    return files


@planted_fault("domain.system-configuration", revisions=("current",))
def further_key_in_system_domain(draw: st.DrawFn) -> TableFiles:
    files = TableFiles()
    further = draw_one(draw, '"highWaterMark":7', '"note":""', '"domainName":"delta.clustering"')
    files.commits[0] = [
        commit_info_action(0),
        protocol_action(1, 7, None, ["domainMetadata", "rowTracking"]),
        metadata_action([("id", "long")]),
        domain_action("delta.rowTracking", f'{{"rowIdHighWaterMark":7,{further}}}'),
    ]
    return files


def _build_clustered_table(column: Any, **more: Any) -> TableFiles:
    """Build a table clustered by a column; its files have statistics of `id`."""
    text = json.dumps({"clusteringColumns": [column]})
    protocol = protocol_action(2, 7, None, ["columnMapping", "domainMetadata", "clustering"])
    files = log_only.build_table(protocol=protocol, **more)
    files.commits[0].append(domain_action("delta.clustering", text))
    for version, which in ((1, 0), (1, 1), (2, 0)):
        stats = {"numRecords": 10, "minValues": {"id": 0}, "maxValues": {"id": 9}, "nullCount": {"id": 0}}
        get_action(files, version, "add", which)["stats"] = json.dumps(stats)
    return files


@planted_fault("clustering.not-partitioned")
def partitioned_beside_clustering(draw: st.DrawFn) -> TableFiles:
    fields = [("id", "long"), ("p", "string")]
    return _build_clustered_table(
        draw_one(draw, "id", ["id"]), fields=fields, partition_columns=["p"], partition={"p": "x"}
    )


@planted_fault("clustering.columns-by-physical-name", revisions=("current",))
def clustered_by_displayed_name(draw: st.DrawFn) -> TableFiles:
    """Statistics use the physical name, so only the domain is wrong."""
    metadata = {COLUMN_ID: 1, PHYSICAL_NAME: "col-1"}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": metadata}
    configuration = {COLUMN_MAPPING_MODE: draw_one(draw, "id", "name"), MAX_COLUMN_ID: "1"}
    files = _build_clustered_table(draw_one(draw, "id", ["id"]), fields=[field], configuration=configuration)
    for version, which in ((1, 0), (1, 1), (2, 0)):
        body = get_action(files, version, "add", which)
        body["stats"] = body["stats"].replace('"id"', '"col-1"')
    return files


@planted_fault("clustering.statistics")
def clustered_without_statistics(draw: st.DrawFn) -> TableFiles:
    files = _build_clustered_table(draw_one(draw, "id", ["id"]))
    added = get_action(files, 2, "add")
    stats = json.loads(added["stats"])
    bare = {"numRecords": 10, "minValues": {"name": "a"}, "nullCount": {"name": 0, "id": None}}
    added["stats"] = draw_one(draw, None, "{}", json.dumps({"numRecords": stats["numRecords"]}), json.dumps(bare))
    return files


def _build_identity_table(**changes: Any) -> TableFiles:
    """Build a table with an identity column; properties are given by the last word of their keys."""
    valid = {"start": 100, "step": 2, "highWaterMark": 104, "allowExplicitInsert": True}
    metadata = {f"delta.identity.{name}": value for name, value in {**valid, **changes}.items()}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": metadata}
    return log_only.build_table(protocol=protocol_action(1, 6), fields=[field])


@planted_fault("identity-columns.properties")
def identity_malformed(draw: st.DrawFn) -> TableFiles:
    choices = ({"step": 0}, {"start": "100"}, {"highWaterMark": 104.5}, {"allowExplicitInsert": "true"})
    return _build_identity_table(**draw_one(draw, *choices))


@planted_fault("identity-columns.mark-in-sequence")
def identity_mark_elsewhere(draw: st.DrawFn) -> TableFiles:
    return _build_identity_table(
        **draw_one(draw, {"highWaterMark": 98}, {"highWaterMark": 103}, {"highWaterMark": 102, "step": -2})
    )


_SOUND: dict[str, tuple[str, dict[str, Any]]] = {
    "add": ("path", {"path": "z", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}),
    "remove": ("path", {"path": "z", "dataChange": True}),
    "cdc": ("path", {"path": "_change_data/z", "partitionValues": {}, "size": 1, "dataChange": False}),
    "txn": ("appId", txn_action("app", 1)["txn"]),
    "domainMetadata": ("domain", domain_action("mine")["domainMetadata"]),
}
"""A required field and a valid body by action kind, for kinds that may be alone in a commit."""

_REQUIREMENTS = {"add": "add", "remove": "remove", "cdc": "cdc", "txn": "transaction", "domainMetadata": "domain"}


def _make_breaker(kind: str) -> Any:
    required, body = _SOUND[kind]

    def breaks(draw: st.DrawFn) -> TableFiles:
        files = _build_table_with_protocol(1, 7, None, ["domainMetadata"])
        fault = draw_one(draw, "absent", "null", "number", "object")
        broken = {name: value for name, value in body.items() if name != required}
        if fault != "absent":
            broken[required] = {"null": None, "number": 1, "object": {}}[fault]
        files.commits[2].append({kind: broken})
        return files

    return breaks


for _kind in _SOUND:
    _name = f"malformed_{_kind}"
    PLANTED_FAULTS[_name] = PlantedFault(_name, f"{_REQUIREMENTS[_kind]}.fields", _make_breaker(_kind))


@planted_fault("metadata.fields")
def malformed_metadata(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    body = dict(get_action(files, 0, "metaData"))
    changes = draw_one(
        draw,
        {"schemaString": None},
        {"partitionColumns": "id"},
        {"configuration": {"a": True}},
        {"id": None},
        {"format": {"provider": "parquet"}},  # Delta Spark fails with a NullPointerException
    )
    files.commits[2].append({"metaData": {**body, **changes}})
    return files


@planted_fault("metadata.fields")
def schema_that_is_no_text(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    body = get_action(files, 0, "metaData")
    body["schemaString"] = json.loads(body["schemaString"])
    return files


@planted_fault("transaction.fields")
def transaction_version_as_text(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    files.commits[2].append({"txn": {"appId": "app", "version": draw_one(draw, "1", 1.5)}})
    return files


@planted_fault("protocol.fields")
def malformed_protocol(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table()
    body = draw_one(
        draw,
        {"readerVersion": 1, "writerVersion": 2},
        {"minReaderVersion": "1", "minWriterVersion": 2},
        {"minReaderVersion": 1, "minWriterVersion": 2.0},
        {"minReaderVersion": 1, "minWriterVersion": 2**31},
    )
    files.commits[2].append({"protocol": body})
    return files
