"""Mutations of tables that use proposals which engines write."""

from hypothesis import strategies as st

from deltaspec_generators.bases.log_only import commit_info_action
from deltaspec_generators.bases.proposals import build_materialized_table, build_protected_table
from deltaspec_generators.mutations.registry import draw_one, mutation
from deltaspec_generators.table_files import TableFiles, protocol_action


@mutation("materialized-partitions.stored", "footers")
def partition_column_not_materialized(draw: st.DrawFn) -> TableFiles:
    return build_materialized_table(last_is_cut=True)


@mutation("checkpoint-protection.removal")
def protection_dropped_before_history(draw: st.DrawFn) -> TableFiles:
    files = build_protected_table(draw_one(draw, 1, 2, 3))
    files.commits[3] = [commit_info_action(3), protocol_action(1, 7, None, [])]
    return files
