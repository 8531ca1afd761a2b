"""Operations that insert, update, delete and move rows."""

from collections.abc import Sequence

from deltaspec_generators.data_files.file_actions import list_kept_row_ids
from deltaspec_generators.data_files.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.operations.registry import always, has_rows, operation
from deltaspec_generators.tables.builder import DataTableBuilder, TableBuilder
from deltaspec_generators.tables.features import DELETION_VECTORS
from deltaspec_generators.tables.file_writer import (
    draw_indexes,
    draw_rows,
    write_changes,
    write_data_file,
    write_deletion_vectors,
)
from deltaspec_generators.values.plain_values import draw_values

NEEDS_ROWS = "it is defined by the rows that it changes"


def _can_delete_by_vector(builder: TableBuilder) -> bool:
    return (
        builder.is_enabled(DELETION_VECTORS)
        and builder.state.is_enabled(DELETION_VECTORS)
        and bool(_list_files_with_spare_rows(builder))
        and not builder.append_only
    )


def _list_files_with_spare_rows(builder: TableBuilder) -> list[StoredFile]:
    """List files with more than one live row."""
    return [stored for stored in builder.list_files() if stored.live_count > 1]


def draw_file(builder: TableBuilder) -> StoredFile:
    return builder.choices.pick([stored for stored in builder.list_files() if stored.live_count])


@operation(always, log_weight=5)
def append(builder: TableBuilder) -> None:
    for _ in range(builder.choices.integer(1, 2)):
        builder.writer.draw_new_file()


@operation(_can_delete_by_vector, weight=2, log_weight=16)
def delete_by_vector(builder: TableBuilder) -> None:
    """Delete rows of one or two files by deletion vectors."""
    files = _list_files_with_spare_rows(builder)[: builder.choices.pick((2, 1))]
    builder.writer.delete_rows({stored.add["path"]: builder.writer.draw_deleted_rows(stored) for stored in files})


@operation(has_rows, data_only=NEEDS_ROWS)
def delete_by_rewriting(builder: DataTableBuilder) -> None:
    """Replace a file by one without some of its rows, or remove it."""
    stored = draw_file(builder)
    deleted = draw_indexes(builder, stored.live_indexes)
    builder.remove_file(stored)
    remaining = [index for index in stored.live_indexes if index not in deleted]
    if remaining:
        rewrite_rows(builder, stored, remaining)
    rows = convert_rows(stored, builder.data_schema)
    has_change_data: bool = bool(remaining) or builder.choices.chance(1, 2)
    if has_change_data:
        # A completely removed file needs no change data.
        write_changes(builder, [("delete", rows[index]) for index in deleted], stored.partition)


@operation(has_rows, data_only=NEEDS_ROWS)
def update_by_rewriting(builder: DataTableBuilder) -> None:
    """Replace a file by one with some updated rows and perhaps a new row."""
    stored = draw_file(builder)
    changed = draw_indexes(builder, stored.live_indexes)
    builder.remove_file(stored)
    new = draw_rows(builder, builder.choices.integer(0, 1))
    updates = draw_updates(builder, stored, changed)
    rewrite_rows(builder, stored, stored.live_indexes, updates, new)
    write_changes(
        builder, [*build_images(builder, stored, updates), *(("insert", row) for row in new)], stored.partition
    )


@operation(_can_delete_by_vector, data_only=NEEDS_ROWS)
def update_by_vector(builder: DataTableBuilder) -> None:
    """Delete rows by a deletion vector and write their updated values to a new file."""
    stored = builder.choices.pick(_list_files_with_spare_rows(builder))
    changed = draw_indexes(builder, stored.live_indexes, all_but=1)
    updates = draw_updates(builder, stored, changed)
    write_deletion_vectors(builder, {stored.add["path"]: changed})
    rewrite_rows(builder, stored, changed, updates)
    write_changes(builder, build_images(builder, stored, updates), stored.partition)


def draw_updates(builder: DataTableBuilder, stored: StoredFile, indexes: Sequence[int]) -> dict[int, Row]:
    """Draw updated rows with another value in one column, by row index."""
    rows = convert_rows(stored, builder.data_schema)
    column = builder.choices.pick(builder.data_schema.fields)
    values = draw_values(builder.choices, column.type, len(indexes), nullable=column.nullable)
    return {index: {**rows[index], column.name: value} for index, value in zip(indexes, values, strict=True)}


def build_images(builder: DataTableBuilder, stored: StoredFile, updates: dict[int, Row]) -> list[tuple[str, Row]]:
    rows = convert_rows(stored, builder.data_schema)
    images = []
    for index, row in updates.items():
        images += [("update_preimage", rows[index]), ("update_postimage", row)]
    return images


def rewrite_rows(
    builder: DataTableBuilder,
    stored: StoredFile,
    indexes: Sequence[int],
    updates: dict[int, Row] | None = None,
    new: Sequence[Row] = (),
) -> None:
    """Write rows of a file to a new file; unchanged rows keep id and version, changed rows keep their id."""
    changed = updates or {}
    old = convert_rows(stored, builder.data_schema)
    rows = [changed.get(index, old[index]) for index in indexes]
    ids, versions = list_kept_row_ids(stored, indexes, changed, len(new))
    write_data_file(builder, [*rows, *new], stored.partition, row_ids=ids, row_versions=versions)


@operation(has_rows, log_weight=5)
def optimize(builder: TableBuilder) -> None:
    """Compact files of one partition; no row changes."""
    first = draw_file(builder)
    partition = first.add["partitionValues"]
    others = [each for each in builder.list_files() if each.add["partitionValues"] == partition and each is not first]
    builder.writer.merge_files([first, *others[: builder.choices.integer(0, 2)]])
