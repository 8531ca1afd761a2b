"""Valid tables of protocol upgrades, table features and append-only tables."""

from deltaspec.protocol.property_names import APPEND_ONLY
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    protocol_action,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.permissions.registry import permission


@permission("protocol.feature-lists")
def lists_of_features() -> TableFiles:
    """First only writer features, then both lists, one of them empty."""
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["appendOnly", "invariants"]))
    files.commits[3] = [commit_info_action(3), protocol_action(3, 7, [], ["appendOnly", "invariants"])]
    return files


@permission("table-features.lists-are-sets")
def features_added() -> TableFiles:
    files = log_only.build_table()
    legacy = ["appendOnly", "invariants"]
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, legacy)]
    files.commits[4] = [commit_info_action(4), protocol_action(1, 7, None, [*legacy, "domainMetadata"])]
    both = [*legacy, "domainMetadata", "deletionVectors"]
    files.commits[5] = [commit_info_action(5), protocol_action(3, 7, ["deletionVectors"], both)]
    return files


@permission("table-features.enabled-for-readers-only")
def features_of_writers_and_of_both() -> TableFiles:
    files = log_only.build_table(protocol=protocol_action(2, 7, None, ["columnMapping"]))
    files.commits[3] = [commit_info_action(3), protocol_action(3, 7, ["columnMapping"], ["columnMapping"])]
    return files


@permission("table-features.supported-not-active")
def append_only_listed_and_not_active() -> TableFiles:
    """Data is removed while the feature is listed, with its property absent and then false."""
    files = log_only.build_table(protocol=protocol_action(1, 7, None, ["appendOnly", "changeDataFeed"]))
    metadata = {**get_action(files, 0, "metaData"), "configuration": {APPEND_ONLY: "false"}}
    files.commits[3] = [commit_info_action(3), {"metaData": metadata}]
    files.commits[4] = [commit_info_action(4), remove_action(add_action("b.parquet", rows=10))]
    return files


@permission("append-only.rearranged")
def append_only_table_rearranged() -> TableFiles:
    files = log_only.build_table(configuration={APPEND_ONLY: "true"}, last_remove=False)
    old = remove_action(add_action("a.parquet", rows=10), dataChange=False)
    files.commits[3] = [commit_info_action(3), old, add_action("d.parquet", rows=10, dataChange=False)]
    return files
