"""Operations that replace or restore large parts of a table."""

from deltaspec.protocol.schema.data_types import Decimal, Primitive
from deltaspec_generators.data_files.stored_files import convert_rows
from deltaspec_generators.operations.registry import has_rows, is_after_first_commit, operation
from deltaspec_generators.operations.row_operations import (
    NEEDS_ROWS,
    build_images,
    draw_file,
    draw_updates,
    rewrite_rows,
)
from deltaspec_generators.schemas.drawing import PARTITION_TYPES
from deltaspec_generators.tables.builder import DataTableBuilder
from deltaspec_generators.tables.features import CHANGE_FEED, DELETION_VECTORS
from deltaspec_generators.tables.file_writer import (
    draw_indexes,
    draw_partition,
    draw_rows,
    write_changes,
    write_data_file,
    write_deletion_vectors,
)


@operation(is_after_first_commit, extra="rows", data_only=NEEDS_ROWS)
def overwrite(builder: DataTableBuilder) -> None:
    """Replace all files, or all files of one partition, by a new file."""
    files = list(builder.live.values())
    if files and builder.choices.chance(1, 2):
        partition = builder.choices.pick(files).partition
        files = [stored for stored in files if stored.partition == partition]
    else:
        partition = draw_partition(builder)
    for stored in files:
        builder.remove_file(stored)
    write_data_file(builder, draw_rows(builder, builder.choices.integer(0, 4)), partition)


@operation(has_rows, extra="rows", data_only=NEEDS_ROWS)
def merge(builder: DataTableBuilder) -> None:
    """Update, delete and insert rows in one commit."""
    changes = []
    for stored in builder.choices.sample([each for each in builder.live.values() if each.live_indexes], 1, 2):
        chosen = draw_indexes(builder, stored.live_indexes)
        deleted = chosen[: builder.choices.integer(0, len(chosen))]
        updates = draw_updates(builder, stored, [index for index in chosen if index not in deleted])
        remaining = [index for index in stored.live_indexes if index not in deleted]
        rows = convert_rows(stored, builder.data_schema)
        builder.remove_file(stored)
        if remaining:
            rewrite_rows(builder, stored, remaining, updates)
        found = [("delete", rows[index]) for index in deleted] + build_images(builder, stored, updates)
        changes.append((found, stored.partition))
    inserted, partition = draw_rows(builder, builder.choices.integer(0, 3)), draw_partition(builder)
    if inserted:
        write_data_file(builder, inserted, partition)
        changes.append(([("insert", row) for row in inserted], partition))
    for found, values in changes:
        write_changes(builder, found, values)


@operation(
    lambda builder: has_rows(builder) and builder.is_enabled(DELETION_VECTORS),
    extra="rows",
    weight=2,
    data_only=NEEDS_ROWS,
)
def delete_all_by_vector(builder: DataTableBuilder) -> None:
    """Delete all remaining rows of a file by a deletion vector."""
    stored = draw_file(builder)
    deleted = stored.live_indexes
    write_deletion_vectors(builder, {stored.add["path"]: deleted})
    rows = convert_rows(stored, builder.data_schema)
    write_changes(builder, [("delete", rows[index]) for index in deleted], stored.partition)
    builder.record("vector:all-rows")


def _list_restorable_versions(builder: DataTableBuilder) -> list[int]:
    """List versions with the same metadata but other files.

    With change data feed, no file may differ only in its vector: its changes would need change data files.
    """
    found = []
    for version, live in enumerate(builder.live_by_version):
        state = builder.states[version]
        same_metadata = state.metadata == builder.state.metadata and state.protocol == builder.state.protocol
        changed = {path for path in live.keys() & builder.live.keys() if live[path].add != builder.live[path].add}
        differs = live.keys() != builder.live.keys() or changed
        if same_metadata and differs and not (changed and builder.is_enabled(CHANGE_FEED)):
            found.append(version)
    return found


@operation(
    lambda builder: bool(_list_restorable_versions(builder)),
    extra="rows",
    weight=2,
    data_only="logs add single files again, also with other metadata",
)
def restore(builder: DataTableBuilder) -> None:
    """Restore the files of an older version."""
    target = builder.live_by_version[builder.choices.pick(_list_restorable_versions(builder))]
    for path, stored in list(builder.live.items()):
        if path not in target or target[path].add != stored.add:
            builder.remove_file(stored)
    for path, stored in target.items():
        if path not in builder.live:
            builder.add_stored_file(stored)


def _can_repartition(builder: DataTableBuilder) -> bool:
    return builder.version > 0 and "clustering" not in builder.features and builder.options.partitioned


@operation(_can_repartition, extra="rows", data_only=NEEDS_ROWS)
def repartition(builder: DataTableBuilder) -> None:
    """Replace all rows of the table, and its partition columns."""
    for stored in list(builder.live.values()):
        builder.remove_file(stored)
    names = [
        each.name
        for each in builder.schema.fields
        if each.nullable
        and each.name != "id"
        and (isinstance(each.type, Decimal) or (isinstance(each.type, Primitive) and each.type.name in PARTITION_TYPES))
    ]
    builder.partition_columns[:] = builder.choices.sample(names, 0, 2)
    builder.actions.append(builder.metadata_action())
    builder.writer.draw_new_file()
