"""Operations of a commit: insert, update and delete rows, rewrite files, change columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deltaspec.model.schema import column_mapping
from deltaspec.model.schema.data_types import Field, Primitive, Struct
from deltaspec_generators.tables.builder import DataTableBuilder
from deltaspec_generators.tables.file_writer import (
    draw_partition,
    draw_rows,
    remove_file,
    write_change_file,
    write_data_file,
    write_deletion_vectors,
)
from deltaspec_generators.tables.schema_changes import (
    assign_column_ids,
    list_widening_choices,
    replace_column,
    widen_field,
)
from deltaspec_generators.tables.stored_files import Row, StoredFile, convert_rows
from deltaspec_generators.tables.values import VOID, draw_values

Apply = Callable[[DataTableBuilder], None]


@dataclass(frozen=True)
class Operation:
    """An operation of a commit and its precondition."""

    name: str
    act: Apply
    applies: Callable[[DataTableBuilder], bool]


OPERATIONS: list[Operation] = []
"""All operations, the simplest first."""


def _operation(applies: Callable[[DataTableBuilder], bool], weight: int = 1) -> Callable[[Apply], Apply]:
    """Register an operation; `weight` repeats it in the list, for operations that few tables allow."""

    def register(act: Apply) -> Apply:
        OPERATIONS.extend([Operation(getattr(act, "__name__", "").strip("_"), act, applies)] * weight)
        return act

    return register


def _always(builder: DataTableBuilder) -> bool:
    return True


def _has_rows(builder: DataTableBuilder) -> bool:
    return builder.version > 0 and any(stored.live_indexes for stored in builder.live.values())


def _can_delete_by_vector(builder: DataTableBuilder) -> bool:
    return (
        builder.is_enabled("delta.enableDeletionVectors")
        and bool(_list_files_with_spare_rows(builder))
        and builder.version > 0
    )


def _is_after_first_commit(builder: DataTableBuilder) -> bool:
    return builder.version > 0


def _list_files_with_spare_rows(builder: DataTableBuilder) -> list[StoredFile]:
    """List files with more than one live row."""
    return [stored for stored in builder.live.values() if len(stored.live_indexes) > 1]


def _draw_file(builder: DataTableBuilder) -> StoredFile:
    return builder.choices.pick([stored for stored in builder.live.values() if stored.live_indexes])


def _draw_indexes(builder: DataTableBuilder, indexes: Sequence[int], *, all_but: int = 0) -> list[int]:
    """Draw at least one of these row indexes, and leave out at least `all_but`."""
    most = len(indexes) - all_but
    return sorted(builder.choices.sample(indexes, 1, most))


def _has_change_feed(builder: DataTableBuilder) -> bool:
    return builder.is_enabled("delta.enableChangeDataFeed")


def _write_changes(builder: DataTableBuilder, changes: Sequence[tuple[str, Row]], partition: dict[str, Any]) -> None:
    """Write change data of the current commit if the change data feed is enabled."""
    if _has_change_feed(builder) and changes:
        write_change_file(builder, changes, partition)
        builder.changes += [(kind, {**row, **partition}) for kind, row in changes]


def _add_rows(builder: DataTableBuilder) -> None:
    count = builder.choices.integer(0, 5)
    rows = draw_rows(builder, count) * builder.choices.pick((1, 1, 1, 20))
    write_data_file(builder, rows, draw_partition(builder))


@_operation(_always)
def _append(builder: DataTableBuilder) -> None:
    for _ in range(builder.choices.integer(1, 2)):
        _add_rows(builder)


@_operation(_can_delete_by_vector, weight=2)
def _delete_by_vector(builder: DataTableBuilder) -> None:
    """Delete rows of one or two files by deletion vectors."""
    files = _list_files_with_spare_rows(builder)[: builder.choices.pick((2, 1))]
    deleted = {stored.add["path"]: _draw_indexes(builder, stored.live_indexes, all_but=1) for stored in files}
    write_deletion_vectors(builder, deleted)
    for stored in files:
        rows = convert_rows(stored, builder.data_schema)
        _write_changes(builder, [("delete", rows[index]) for index in deleted[stored.add["path"]]], stored.partition)


@_operation(_has_rows)
def _delete_by_rewriting(builder: DataTableBuilder) -> None:
    """Replace a file by one without some of its rows, or remove it."""
    stored = _draw_file(builder)
    deleted = _draw_indexes(builder, stored.live_indexes)
    remove_file(builder, stored)
    remaining = [index for index in stored.live_indexes if index not in deleted]
    if remaining:
        _rewrite_rows(builder, stored, remaining)
    rows = convert_rows(stored, builder.data_schema)
    has_change_data: bool = bool(remaining) or builder.choices.chance(1, 2)
    if has_change_data:
        # A completely removed file needs no change data.
        _write_changes(builder, [("delete", rows[index]) for index in deleted], stored.partition)


@_operation(_has_rows)
def _update_by_rewriting(builder: DataTableBuilder) -> None:
    """Replace a file by one with some updated rows and perhaps a new row."""
    stored = _draw_file(builder)
    changed = _draw_indexes(builder, stored.live_indexes)
    remove_file(builder, stored)
    new = draw_rows(builder, builder.choices.integer(0, 1))
    updates = _draw_updates(builder, stored, changed)
    _rewrite_rows(builder, stored, stored.live_indexes, updates, new)
    _write_changes(
        builder, [*_build_images(builder, stored, updates), *(("insert", row) for row in new)], stored.partition
    )


@_operation(_can_delete_by_vector)
def _update_by_vector(builder: DataTableBuilder) -> None:
    """Delete rows by a deletion vector and write their updated values to a new file."""
    stored = builder.choices.pick(_list_files_with_spare_rows(builder))
    changed = _draw_indexes(builder, stored.live_indexes, all_but=1)
    updates = _draw_updates(builder, stored, changed)
    write_deletion_vectors(builder, {stored.add["path"]: changed})
    _rewrite_rows(builder, stored, changed, updates)
    _write_changes(builder, _build_images(builder, stored, updates), stored.partition)


def _draw_updates(builder: DataTableBuilder, stored: StoredFile, indexes: Sequence[int]) -> dict[int, Row]:
    """Draw updated rows with another value in one column, by row index."""
    rows = convert_rows(stored, builder.data_schema)
    column = builder.choices.pick(builder.data_schema.fields)
    values = draw_values(builder.choices, column.type, len(indexes), nullable=column.nullable)
    return {index: {**rows[index], column.name: value} for index, value in zip(indexes, values, strict=True)}


def _build_images(builder: DataTableBuilder, stored: StoredFile, updates: dict[int, Row]) -> list[tuple[str, Row]]:
    rows = convert_rows(stored, builder.data_schema)
    images = []
    for index, row in updates.items():
        images += [("update_preimage", rows[index]), ("update_postimage", row)]
    return images


def _rewrite_rows(
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


@_operation(_has_rows)
def _optimize(builder: DataTableBuilder) -> None:
    """Compact files of one partition; no row changes."""
    first = _draw_file(builder)
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


def _draw_field(builder: DataTableBuilder) -> Field:
    new = Field(f"new{builder.next_number()}", Primitive(builder.choices.pick(("string", "long"))), True)
    if not builder.mapping:
        return new
    numbered: Struct = assign_column_ids(
        Struct((new,)), builder.column_ids, own_names=True, nested=builder.spec.nested_ids
    )
    return numbered.fields[0]


@_operation(_is_after_first_commit)
def _add_column(builder: DataTableBuilder) -> None:
    builder.schema = Struct((*builder.schema.fields, _draw_field(builder)))
    builder.actions.append(builder.metadata_action())


def _list_struct_columns(builder: DataTableBuilder) -> list[Field]:
    return [each for each in builder.schema.fields if isinstance(each.type, Struct)]


@_operation(lambda builder: builder.version > 0 and bool(_list_struct_columns(builder)))
def _add_field(builder: DataTableBuilder) -> None:
    """Add a field to a struct column; older files have null for it."""
    column, new = builder.choices.pick(_list_struct_columns(builder)), _draw_field(builder)

    def add_new_field(field: Field) -> Field:
        assert isinstance(field.type, Struct)
        return replace(field, type=Struct((*field.type.fields, new)))

    builder.schema = replace_column(builder.schema, column.name, add_new_field)
    builder.actions.append(builder.metadata_action())


def _list_droppable_columns(builder: DataTableBuilder) -> list[Field]:
    stored = [each for each in builder.schema.fields if each.name not in builder.spec.partition_columns]
    return [each for each in stored if each.type != VOID and each.name != "id"]


@_operation(
    lambda builder: builder.version > 0 and builder.mapping is not None and bool(_list_droppable_columns(builder))
)
def _drop_column(builder: DataTableBuilder) -> None:
    dropped = builder.choices.pick(_list_droppable_columns(builder))
    builder.schema = replace_column(builder.schema, dropped.name, lambda _: None)
    builder.actions.append(builder.metadata_action())


@_operation(
    lambda builder: builder.version > 0 and builder.mapping is not None and bool(_list_droppable_columns(builder))
)
def _rename_column(builder: DataTableBuilder) -> None:
    old = builder.choices.pick(_list_droppable_columns(builder))
    name = f"re named.{builder.next_number()}"
    builder.schema = replace_column(builder.schema, old.name, lambda each: replace(each, name=name))
    builder.actions.append(builder.metadata_action())


def _list_widenable_fields(builder: DataTableBuilder) -> list[tuple[str, str | None]]:
    """List columns that can be widened, and fields of struct columns with the name of their column."""
    ntz = "timestampNtz" in builder.features
    found: list[tuple[str, str | None]] = []
    for column in builder.schema.fields:
        if column.name not in builder.spec.partition_columns:
            found += [(column.name, None)] if list_widening_choices(column, ntz=ntz) else []
            inner = column.type.fields if isinstance(column.type, Struct) else ()
            found += [(column.name, each.name) for each in inner if list_widening_choices(each, ntz=ntz)]
    return found


@_operation(
    lambda builder: (
        builder.version > 0 and builder.is_enabled("delta.enableTypeWidening") and bool(_list_widenable_fields(builder))
    ),
    weight=3,
)
def _widen(builder: DataTableBuilder) -> None:
    """Widen a column or a field of a struct column; older files keep the narrower type."""
    column, inner = builder.choices.pick(_list_widenable_fields(builder))

    def widen_column(field: Field) -> Field:
        if inner is not None and field.name == column and isinstance(field.type, Struct):
            return replace(field, type=replace_column(field.type, inner, widen_one))
        return widen_one(field)

    def widen_one(field: Field) -> Field:
        choices = list_widening_choices(field, ntz="timestampNtz" in builder.features)
        return widen_field(field, builder.choices.pick(choices))

    builder.schema = replace_column(builder.schema, column, widen_column)
    builder.actions.append(builder.metadata_action())


@_operation(lambda builder: builder.version > 0 and "columnMapping" in builder.features and builder.mapping is None)
def _enable_mapping(builder: DataTableBuilder) -> None:
    """Enable column mapping on an existing table; older files have the names but no field ids."""
    builder.schema = assign_column_ids(builder.schema, builder.column_ids, own_names=False, nested=False)
    builder.configuration[column_mapping.MODE] = "name"
    builder.actions.append(builder.metadata_action())


@_operation(_is_after_first_commit)
def _describe(builder: DataTableBuilder) -> None:
    builder.description = f"described {builder.next_number()}"
    builder.actions.append(builder.metadata_action())
