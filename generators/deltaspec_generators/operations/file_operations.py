"""Operations of logs on single files: remove, add again with the same rows, update tags."""

from deltaspec_generators.data_files.stored_files import StoredFile
from deltaspec_generators.operations.registry import SEEDS_KEEP_TABLES, operation
from deltaspec_generators.tables.features import DELETION_VECTORS
from deltaspec_generators.tables.log_builder import LogBuilder
from deltaspec_generators.tables.log_files import add_again, assign_row_ids, remove_logged_file


@operation(
    lambda builder: bool(builder.list_files()) and not builder.append_only,
    log_only="tables with data remove files with `delete_by_rewriting` and `overwrite`",
    weight=4,
)
def remove_file(builder: LogBuilder) -> None:
    """Remove a complete file."""
    remove_logged_file(builder, builder.choices.pick(builder.list_files()), data_change=True)


@operation(lambda builder: bool(builder.list_files()), log_only=SEEDS_KEEP_TABLES, weight=3)
def update_tags(builder: LogBuilder) -> None:
    """Add a live logical file again with other tags; the rest stays the same."""
    stored = builder.choices.pick(builder.list_files())
    add_again(builder, stored, {**stored.add, "dataChange": False, "tags": {"refreshed": "true"}})


def _list_removed_files(builder: LogBuilder) -> list[StoredFile]:
    """List removed files that the table may have again."""
    removed = {action["remove"]["path"] for action in builder.actions if "remove" in action}
    vectors_enabled = "deletionVectors" in builder.features and builder.is_enabled(DELETION_VECTORS)
    return [
        stored
        for path, stored in builder.removed.items()
        if path not in removed
        and (vectors_enabled or "deletionVector" not in stored.add)
        and ("stats" in stored.add or not (builder.tracks_rows or builder.iceberg_version))
    ]


@operation(
    lambda builder: bool(_list_removed_files(builder)), log_only="tables with data restore complete versions", weight=4
)
def restore_file(builder: LogBuilder) -> None:
    """Add a removed file again, with its deletion vector and row ids."""
    stored = builder.choices.pick(_list_removed_files(builder))
    add = {**stored.add, "dataChange": True}
    if builder.tracks_rows and "baseRowId" not in add:
        assign_row_ids(builder, add, stored.row_count)
    add_again(builder, stored, add)
