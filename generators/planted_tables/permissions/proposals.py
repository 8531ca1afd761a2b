"""Permitted uses of proposals which engines write."""

from deltaspec_generators.table_files import TableFiles, commit_info_action, protocol_action
from planted_tables.bases.proposals import build_materialized_table
from planted_tables.permissions.registry import permission


@permission("materialized-partitions.optional")
def partition_columns_stored_in_some_files() -> TableFiles:
    return build_materialized_table(feature=False, last_is_cut=True)


@permission("materialized-partitions.optional")
def file_from_before_materialization() -> TableFiles:
    files = build_materialized_table(feature=False, last_is_cut=True)
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, ["materializePartitionColumns"])]
    return files
