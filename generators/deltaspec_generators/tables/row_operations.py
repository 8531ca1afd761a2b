"""Operations that insert, update, delete and move rows."""

from collections.abc import Sequence
from typing import Any

from deltaspec_generators.data_files.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.tables.builder import DataTableBuilder
from deltaspec_generators.tables.file_writer import (
    draw_partition,
    draw_rows,
    remove_file,
    write_change_file,
    write_data_file,
    write_deletion_vectors,
)
from deltaspec_generators.tables.operations import always, has_rows, operation
from deltaspec_generators.values.plain_values import draw_values


def _can_delete_by_vector(builder: DataTableBuilder) -> bool:
    return (
        builder.is_enabled("delta.enableDeletionVectors")
        and bool(_list_files_with_spare_rows(builder))
        and builder.version > 0
    )


def _list_files_with_spare_rows(builder: DataTableBuilder) -> list[StoredFile]:
    """List files with more than one live row."""
    return [stored for stored in builder.live.values() if len(stored.live_indexes) > 1]


def draw_file(builder: DataTableBuilder) -> StoredFile:
    return builder.choices.pick([stored for stored in builder.live.values() if stored.live_indexes])


def draw_indexes(builder: DataTableBuilder, indexes: Sequence[int], *, all_but: int = 0) -> list[int]:
    """Draw at least one of these row indexes, and leave out at least `all_but`."""
    most = len(indexes) - all_but
    return sorted(builder.choices.sample(indexes, 1, most))


def has_change_feed(builder: DataTableBuilder) -> bool:
    return builder.is_enabled("delta.enableChangeDataFeed")


def write_changes(builder: DataTableBuilder, changes: Sequence[tuple[str, Row]], partition: dict[str, Any]) -> None:
    """Write change data of the current commit if the change data feed is enabled."""
    if has_change_feed(builder) and changes:
        write_change_file(builder, changes, partition)
        builder.changes += [(kind, {**row, **partition}) for kind, row in changes]


def add_rows(builder: DataTableBuilder) -> None:
    count = builder.choices.integer(0, builder.options.max_rows)
    rows = draw_rows(builder, count) * builder.choices.pick((1, 1, 1, 20))
    write_data_file(builder, rows, draw_partition(builder))


@operation(always)
def append(builder: DataTableBuilder) -> None:
    for _ in range(builder.choices.integer(1, 2)):
        add_rows(builder)


@operation(_can_delete_by_vector, weight=2)
def delete_by_vector(builder: DataTableBuilder) -> None:
    """Delete rows of one or two files by deletion vectors."""
    files = _list_files_with_spare_rows(builder)[: builder.choices.pick((2, 1))]
    deleted = {stored.add["path"]: draw_indexes(builder, stored.live_indexes, all_but=1) for stored in files}
    write_deletion_vectors(builder, deleted)
    for stored in files:
        rows = convert_rows(stored, builder.data_schema)
        write_changes(builder, [("delete", rows[index]) for index in deleted[stored.add["path"]]], stored.partition)


@operation(has_rows)
def delete_by_rewriting(builder: DataTableBuilder) -> None:
    """Replace a file by one without some of its rows, or remove it."""
    stored = draw_file(builder)
    deleted = draw_indexes(builder, stored.live_indexes)
    remove_file(builder, stored)
    remaining = [index for index in stored.live_indexes if index not in deleted]
    if remaining:
        rewrite_rows(builder, stored, remaining)
    rows = convert_rows(stored, builder.data_schema)
    has_change_data: bool = bool(remaining) or builder.choices.chance(1, 2)
    if has_change_data:
        # A completely removed file needs no change data.
        write_changes(builder, [("delete", rows[index]) for index in deleted], stored.partition)


@operation(has_rows)
def update_by_rewriting(builder: DataTableBuilder) -> None:
    """Replace a file by one with some updated rows and perhaps a new row."""
    stored = draw_file(builder)
    changed = draw_indexes(builder, stored.live_indexes)
    remove_file(builder, stored)
    new = draw_rows(builder, builder.choices.integer(0, 1))
    updates = draw_updates(builder, stored, changed)
    rewrite_rows(builder, stored, stored.live_indexes, updates, new)
    write_changes(
        builder, [*build_images(builder, stored, updates), *(("insert", row) for row in new)], stored.partition
    )


@operation(_can_delete_by_vector)
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
    ids: list[int | None] = []
    versions: list[int | None] = []
    if stored.row_ids:
        ids = [*(stored.row_ids[index] for index in indexes), *(None for _ in new)]
        versions = [None if index in changed else stored.row_commit_versions[index] for index in indexes]
        versions += [None for _ in new]
    write_data_file(builder, [*rows, *new], stored.partition, row_ids=ids, row_commit_versions=versions)


@operation(has_rows)
def optimize(builder: DataTableBuilder) -> None:
    """Compact files of one partition; no row changes."""
    first = draw_file(builder)
    partition = first.add["partitionValues"]
    files = [each for each in builder.live.values() if each.add["partitionValues"] == partition and each is not first]
    chosen = [first, *files[: builder.choices.integer(0, 2)]]
    rows: list[Row] = []
    ids: list[int | None] = []
    versions: list[int | None] = []
    for stored in chosen:
        converted = convert_rows(stored, builder.data_schema)
        rows += [converted[index] for index in stored.live_indexes]
        ids += [stored.row_ids[index] for index in stored.live_indexes] if stored.row_ids else []
        versions += [stored.row_commit_versions[index] for index in stored.live_indexes] if stored.row_ids else []
        remove_file(builder, stored, data_change=False)
    write_data_file(builder, rows, first.partition, data_change=False, row_ids=ids, row_commit_versions=versions)
