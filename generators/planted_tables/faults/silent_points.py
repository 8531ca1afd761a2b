"""Planted faults of names, types and modes about which the protocol is silent, so that engines differ."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec_generators.table_files import TableFiles, commit_info_action, get_action, protocol_action
from planted_tables.bases import catalog_managed, log_only
from planted_tables.faults.registry import draw_one, planted_fault


@planted_fault("configuration.names")
def property_in_another_case(draw: st.DrawFn) -> TableFiles:
    """Constraints whose prefix or name differs in case, or a known property."""
    configuration = draw_one(
        draw,
        {"DELTA.CONSTRAINTS.c": "id > 0"},
        {"delta.Constraints.positive": "id > 0"},
        {"delta.appendonly": "true"},
        {"DELTA.COLUMNMAPPING.MODE": "id"},
        {"delta.logretentionduration": "interval 1 days"},
        {"delta.Feature.appendOnly": "supported"},
    )
    return log_only.build_table(protocol=protocol_action(1, 3), configuration=configuration)


@planted_fault("configuration.names")
def constraints_that_differ_in_case(draw: st.DrawFn) -> TableFiles:
    """One of them is added with the table, or by a later commit."""
    files = log_only.build_table(protocol=protocol_action(1, 3), configuration={"delta.constraints.c": "id > 0"})
    metadata = get_action(files, 0, "metaData")
    both = {**metadata["configuration"], draw_one(draw, "delta.constraints.C", "delta.Constraints.c"): "id > 1"}
    if draw(st.booleans()):
        metadata["configuration"] = both
    else:
        files.commits[3] = [commit_info_action(3), {"metaData": {**metadata, "configuration": both}}]
    return files


@planted_fault("table-features.supported-not-active")
def feature_request_left_in_the_table(draw: st.DrawFn) -> TableFiles:
    name, value = draw_one(draw, ("deletionVectors", "supported"), ("appendOnly", "enabled"), ("mine", "supported"))
    return log_only.build_table(configuration={f"delta.feature.{name}": value})


@planted_fault("column-mapping.modes")
def mapping_mode_switched(draw: st.DrawFn) -> TableFiles:
    before, after = draw_one(draw, ("id", "name"), ("name", "id"))
    files = log_only.build_table_with_column_mapping(before)
    metadata = get_action(files, 0, "metaData")
    configuration = {**metadata["configuration"], "delta.columnMapping.mode": after}
    files.commits[3] = [commit_info_action(3), {"metaData": {**metadata, "configuration": configuration}}]
    return files


def _build_table_without_files(fields: list[Any], partition_columns: list[str] | None = None) -> TableFiles:
    files = log_only.build_table(fields=fields, partition_columns=partition_columns or [])
    files.commits = {0: files.commits[0]}
    return files


@planted_fault("schema.void")
def void_that_is_not_nullable(draw: st.DrawFn) -> TableFiles:
    """The column is at top level or nested, or the elements of an array or the values of a map are void."""
    void = {"name": "v", "type": "void", "nullable": False, "metadata": {}}
    struct = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}, void]}
    field = draw_one(
        draw,
        void,
        ("s", struct),
        ("a", {"type": "array", "elementType": "void", "containsNull": False}),
        ("m", {"type": "map", "keyType": "string", "valueType": "void", "valueContainsNull": False}),
    )
    return _build_table_without_files([("id", "long"), field])


@planted_fault("schema.void")
def void_partition_column(_: st.DrawFn) -> TableFiles:
    return _build_table_without_files([("id", "long"), ("v", "void")], ["v"])


@planted_fault("in-commit-timestamp.present")
def commit_infos_with_different_timestamps(draw: st.DrawFn) -> TableFiles:
    files = log_only.build_table_with_timestamps()
    version = draw_one(draw, 0, 1, 2)
    time = draw_one(draw, {}, {"inCommitTimestamp": 1_700_000_009_000}, {"inCommitTimestamp": 1_600_000_000_000})
    files.commits[version].insert(draw_one(draw, 1, len(files.commits[version])), commit_info_action(version, **time))
    return files


@planted_fault("commit-info.transaction-id")
def commit_infos_with_different_transactions(draw: st.DrawFn) -> TableFiles:
    files = catalog_managed.build_managed_table()
    other = json.loads(json.dumps(files.commits[1][0]))
    other["commitInfo"]["txnId"] = draw_one(draw, "another", "txn-01")
    files.commits[1].append(other)
    return files
