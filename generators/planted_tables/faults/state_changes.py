"""Changes of one side of the table's state that make the other side illegal: one action alone changes in a commit."""

import json

from hypothesis import strategies as st

from deltaspec.protocol.property_names import TYPE_CHANGES
from deltaspec_generators.table_files import TableFiles, domain_action, get_action, metadata_action, protocol_action
from planted_tables.bases import log_only
from planted_tables.bases.clustering import build_clustered_table
from planted_tables.bases.feature_uses import append_commit
from planted_tables.bases.iceberg import NESTED_ID_KEYS, build_nested_fields, build_nested_table
from planted_tables.faults.registry import draw_one, planted_fault

_CONSTRAINT = {"delta.constraints.c": "flag"}


@planted_fault("clustering.columns-by-physical-name")
def clustering_column_dropped(draw: st.DrawFn) -> TableFiles:
    files = build_clustered_table()
    append_commit(files, metadata_action([("name", "string")]))
    return files


@planted_fault("check-constraints.columns")
def column_of_a_constraint_dropped(draw: st.DrawFn) -> TableFiles:
    fields = [("id", "long"), ("flag", "boolean")]
    files = log_only.build_table(protocol=protocol_action(1, 3), fields=fields, configuration=_CONSTRAINT)
    append_commit(files, metadata_action(fields[:1], configuration=_CONSTRAINT))
    return files


@planted_fault("check-constraints.value")
def column_of_a_constraint_with_another_type(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table(
        protocol=protocol_action(1, 3), fields=[("flag", "boolean")], configuration=_CONSTRAINT
    )
    append_commit(files, metadata_action([("flag", draw_one(draw, "long", "date"))], configuration=_CONSTRAINT))
    return files


@planted_fault("variant.not-clustering")
def variant_becomes_a_clustering_column(draw: st.DrawFn) -> TableFiles:
    features = ["clustering", "domainMetadata"]
    files = TableFiles()
    protocol = protocol_action(3, 7, ["variantType"], ["variantType", *features])
    unclustered = domain_action("delta.clustering", json.dumps({"clusteringColumns": []}))
    append_commit(files, protocol, metadata_action([("id", "long"), ("v", "variant")]), unclustered)
    append_commit(files, domain_action("delta.clustering", json.dumps({"clusteringColumns": [["v"]]})))
    return files


@planted_fault("type-widening.changes-name-types")
def recorded_type_lost(draw: st.DrawFn) -> TableFiles:
    change = {"fromType": "short", "toType": "long"}
    files = TableFiles()
    for changes in ([change], [{name: kind for name, kind in change.items() if name != "fromType"}]):
        field = {"name": "id", "type": "long", "nullable": True, "metadata": {TYPE_CHANGES: changes}}
        protocol = [] if files.commits else [protocol_action(3, 7, ["typeWidening"], ["typeWidening"])]
        append_commit(files, *protocol, metadata_action([field]))
    return files


@planted_fault("table-features.reader-feature-on-both-sides")
def reader_feature_left_out_by_an_upgrade(draw: st.DrawFn) -> TableFiles:
    """Reader version 2 needs no list, version 3 does."""
    files = log_only.build_table(protocol=protocol_action(2, 7, None, ["columnMapping"]))
    append_commit(files, protocol_action(3, 7, [], ["columnMapping"]))
    return files


@planted_fault("iceberg-v2.nested-ids")
def nested_id_lost(draw: st.DrawFn) -> TableFiles:
    files = build_nested_table()
    configuration = get_action(files, 0, "metaData")["configuration"]
    fields = build_nested_fields()
    for key in NESTED_ID_KEYS:
        fields[1]["metadata"][key].popitem()
    append_commit(files, metadata_action(fields, configuration=configuration))
    return files
