"""Which functions fill each view, and in which step of a run its rules are evaluated."""

import msgspec


class ViewSource(msgspec.Struct, frozen=True):
    """Where the rows of a view come from. Functions are named with their module below `deltaspec`."""

    filled_by: tuple[str, ...]
    """Functions that build the rows, or the part of their columns that the step does not add."""
    steps: tuple[str, ...]
    """Functions that run them and evaluate the rules."""


VIEW_SOURCES: dict[str, ViewSource] = {
    "added_vectors": ViewSource(
        ("views.files.added_vectors.build_added_vector_rows",),
        ("validation.log.added_vector_checks.check_added_vectors",),
    ),
    "adds_without_stats": ViewSource(
        ("views.files.adds_without_stats.build_adds_without_stats_rows",),
        ("validation.log.adds_without_stats_checks.check_adds_without_stats",),
    ),
    "change_commits": ViewSource(
        ("validation.data.change_data_checks.check_change_data",),
        ("validation.data.change_data_checks.check_change_data",),
    ),
    "change_files": ViewSource(
        ("validation.data.change_data_checks.check_change_data",),
        ("validation.data.change_data_checks.check_change_data",),
    ),
    "checkpoint_columns": ViewSource(
        ("views.log.checkpoint_contents_rows.column_rows",), ("validation.log.checkpoint_checks.check_checkpoint",)
    ),
    "checkpoint_contents": ViewSource(
        ("views.log.checkpoint_contents_rows.build_checkpoint_contents_rows",),
        ("validation.log.checkpoint_checks.check_checkpoint",),
    ),
    "checkpoints": ViewSource(
        ("views.log.derived_file_rows.build_checkpoint_row",), ("validation.log.checkpoint_checks.check_checkpoint",)
    ),
    "checksums": ViewSource(
        ("views.log.derived_file_rows.build_checksum_row",), ("validation.log.derived_files.compare_derived_files",)
    ),
    "clustered_files": ViewSource(
        ("views.files.clustered_files.build_clustered_file_rows",),
        ("validation.data.clustered_file_checks.check_clustered_files",),
    ),
    "clustering": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "column_facts": ViewSource(
        ("views.data.column_facts.build_column_fact_rows",), ("validation.data.row_value_checks.check_row_values",)
    ),
    "commits": ViewSource(
        ("views.log.log_file_rows.build_commit_row",), ("validation.log.history_reader.read_history",)
    ),
    "configuration": ViewSource(
        ("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)
    ),
    "constraint_checks": ViewSource(
        ("views.data.constraint_checks.build_constraint_check_row",),
        (
            "validation.data.row_constraint_checks.check_row_constraints",
            "validation.data.earlier_requirement_checks.check_earlier_requirements",
        ),
    ),
    "constraint_columns": ViewSource(
        ("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)
    ),
    "data_files": ViewSource(
        ("views.data.footer_facts.build_data_file_rows", "validation.data.data_bucket.DataBucket.check_files_exist"),
        ("validation.data.data_bucket.DataBucket.check_files_exist", "validation.data.footer_checks.check_footers"),
    ),
    "deletion_vectors": ViewSource(
        ("views.files.file_action_facts.select_deletion_vectors",),
        ("validation.log.file_action_checks.check_file_action_facts", "validation.data.data_stages.check_data"),
    ),
    "domains": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "features": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "file_actions": ViewSource(
        ("views.files.file_action_facts.select_file_actions",),
        ("validation.log.file_action_checks.check_file_action_facts",),
    ),
    "file_columns": ViewSource(
        ("views.data.footer_facts.column_rows",), ("validation.data.footer_checks.check_footers",)
    ),
    "file_history": ViewSource(
        (
            "views.files.file_history_rows.build_commit_file_history",
            "views.files.file_history_rows.build_derived_file_history",
        ),
        ("validation.log.replay_stage.check_paths",),
    ),
    "iceberg": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "iceberg_v3": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "identity_values": ViewSource(
        ("views.data.identity_values.build_identity_value_row",),
        ("validation.data.value_comparison.EvaluateFiles.__call__",),
    ),
    "idle_removes": ViewSource(
        ("views.files.idle_removes.build_idle_remove_rows",), ("validation.log.replay_stage.check_paths",)
    ),
    "last_checkpoint": ViewSource(
        ("views.log.derived_file_rows.build_hint_row",), ("validation.log.hint_checks.check_hint",)
    ),
    "lines": ViewSource(
        ("views.log.log_file_rows.iter_line_frames",),
        ("validation.log.file_action_checks.check_lines", "validation.log.file_action_checks.check_checkpoint_lines"),
    ),
    "listing": ViewSource(
        ("views.log.log_file_rows.build_listing_rows",), ("validation.log.log_listing_checks.check_log_listing",)
    ),
    "log_starts": ViewSource(
        ("validation.log.log_start_checks.check_log_start",), ("validation.log.log_start_checks.check_log_start",)
    ),
    "metadata": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "nested_ids": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "new_row_ids": ViewSource(
        ("views.files.row_id_history.build_new_row_id_rows",),
        ("validation.log.row_id_history_checks.check_row_id_history_of_paths",),
    ),
    "null_columns": ViewSource(
        ("views.files.null_columns.iter_null_columns",), ("validation.log.null_column_checks.check_null_columns",)
    ),
    "outdated_files": ViewSource(
        ("views.files.outdated_files.build_outdated_file_rows",),
        ("validation.log.outdated_file_checks.check_outdated_files",),
    ),
    "proposals": ViewSource(
        ("views.table.proposals.build_proposal_rows",), ("validation.log.history_reader.read_history",)
    ),
    "proposed_files": ViewSource(
        ("views.table.proposals.build_proposed_file_rows",),
        ("validation.log.file_action_checks.check_file_action_facts",),
    ),
    "protocols": ViewSource(("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)),
    "rearranged_rows": ViewSource(
        ("validation.data.rearranged_row_checks.check_rearranged_rows",),
        ("validation.data.rearranged_row_checks.check_rearranged_rows",),
    ),
    "rearrangements": ViewSource(
        ("views.files.rearrangements.build_rearrangement_rows",), ("validation.log.replay_stage.replay_and_check",)
    ),
    "recorded_type_changes": ViewSource(
        ("validation.log.type_change_checks.check_type_changes",),
        ("validation.log.type_change_checks.check_type_changes",),
    ),
    "removed_files": ViewSource(
        ("validation.data.retention_checks.check_removed_files",),
        ("validation.data.retention_checks.check_removed_files",),
    ),
    "replay_differences": ViewSource(
        ("views.log.replay_differences.compare_files", "views.log.replay_differences.compare_table_actions"),
        (
            "validation.log.derived_file_comparison.compare_derived_file",
            "validation.log.derived_files.compare_derived_files",
            "validation.log.earlier_commit_checks.check_earlier_files",
            "validation.log.earlier_commit_checks.check_earlier_table_actions",
        ),
    ),
    "row_checks": ViewSource(
        ("views.data.row_checks.build_row_check_rows",), ("validation.data.row_value_checks.check_row_values",)
    ),
    "row_id_columns": ViewSource(
        ("validation.log.row_id_history_checks.check_row_id_history",),
        ("validation.log.row_id_history_checks.check_row_id_history",),
    ),
    "row_id_commits": ViewSource(
        ("views.files.row_id_history.build_row_id_commit_rows",),
        ("validation.log.row_id_history_checks.check_row_id_history",),
    ),
    "row_id_conflicts": ViewSource(
        ("views.files.row_id_history.build_row_id_conflict_rows",),
        ("validation.log.row_id_range_checks.check_row_ids",),
    ),
    "row_id_files": ViewSource(
        ("validation.data.row_id_checks.check_live_row_ids",),
        ("validation.data.value_comparison.EvaluateFiles.__call__",),
    ),
    "row_id_marks": ViewSource(
        ("views.files.row_id_marks.build_row_id_mark_rows",),
        ("validation.log.row_id_history_checks.check_row_id_history",),
    ),
    "row_id_ranges": ViewSource(
        (
            "views.files.row_ids.build_row_id_ranges",
            "validation.log.row_id_history_checks.check_row_id_history_of_paths",
        ),
        (
            "validation.log.row_id_range_checks.check_row_ids",
            "validation.log.row_id_range_checks.check_row_ids_of_paths",
            "validation.log.row_id_history_checks.check_row_id_history_of_paths",
        ),
    ),
    "row_id_rewrites": ViewSource(
        ("validation.data.row_id_checks.check_rewritten_row_ids",),
        ("validation.data.row_id_checks.check_rewritten_row_ids",),
    ),
    "row_id_states": ViewSource(
        ("validation.log.row_id_history_checks.check_row_id_history",),
        ("validation.log.row_id_history_checks.check_row_id_history",),
    ),
    "schema_fields": ViewSource(
        ("views.table.state.TableState.apply",), ("validation.log.history_reader.read_history",)
    ),
    "sidecars": ViewSource(
        ("views.log.derived_file_rows.build_sidecar_rows",), ("validation.log.checkpoint_checks.check_checkpoint",)
    ),
    "staged_commits": ViewSource(
        ("validation.log.staged_commit_checks.check_staged_commits",),
        ("validation.log.staged_commit_checks.check_staged_commits",),
    ),
    "type_changes": ViewSource(
        ("validation.log.type_change_checks.check_type_changes",),
        ("validation.log.type_change_checks.check_type_changes",),
    ),
    "typed_copies": ViewSource(
        ("views.files.typed_copies.merge_typed_columns",),
        ("validation.log.file_action_checks.check_file_action_facts",),
    ),
    "variant_columns": ViewSource(
        ("views.data.variants.build_variant_column_rows",), ("validation.data.variant_checks.check_variants",)
    ),
    "variant_paths": ViewSource(
        ("validation.data.variant_bound_checks.check_variant_paths",),
        ("validation.data.variant_bound_checks.check_variant_paths",),
    ),
    "variant_uses": ViewSource(
        ("views.data.variants.build_variant_use_rows",), ("validation.log.variant_use_checks.check_variant_uses",)
    ),
    "write_settings": ViewSource(
        ("validation.data.write_settings_checks.check_write_settings",),
        ("validation.data.write_settings_checks.check_write_settings",),
    ),
}
"""By name of the view."""
