"""What a commit of a drawn table does: rows come, change and go, files are rewritten, columns change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from deltaspec.model import column_mapping
from deltaspec.model.data_types import Field, Primitive, Struct
from deltaspec_generators.data_files import (
    Row,
    StoredFile,
    drawn_partition,
    drawn_rows,
    mark_deleted,
    removed,
    rows_as_of,
    store,
    store_changes,
)
from deltaspec_generators.data_schemas import VOID, mapped, replaced, widened, widening_choices
from deltaspec_generators.data_values import column_of

if TYPE_CHECKING:
    from deltaspec_generators.data_tables import DataDraft

Act = Callable[["DataDraft"], None]


@dataclass(frozen=True)
class Operation:
    """Something that a commit may do, and when it may."""

    name: str
    act: Act
    applies: Callable[[DataDraft], bool]


OPERATIONS: list[Operation] = []
"""Every operation, the plainest first."""


def _operation(applies: Callable[[DataDraft], bool], weight: int = 1) -> Callable[[Act], Act]:
    """Register an operation; `weight`: how often it stands in the list, for those that few tables allow."""

    def register(act: Act) -> Act:
        OPERATIONS.extend([Operation(getattr(act, "__name__", "").strip("_"), act, applies)] * weight)
        return act

    return register


def _always(draft: DataDraft) -> bool:
    return True


def _has_rows(draft: DataDraft) -> bool:
    return draft.version > 0 and any(stored.kept for stored in draft.live.values())


def _vectors_on(draft: DataDraft) -> bool:
    return draft.on("delta.enableDeletionVectors") and bool(_markable(draft)) and draft.version > 0


def _later(draft: DataDraft) -> bool:
    return draft.version > 0


def _markable(draft: DataDraft) -> list[StoredFile]:
    """Files that can lose a row and still have one."""
    return [stored for stored in draft.live.values() if len(stored.kept) > 1]


def _one_file(draft: DataDraft) -> StoredFile:
    return draft.draw(st.sampled_from([stored for stored in draft.live.values() if stored.kept]))


def _some(draft: DataDraft, indexes: Sequence[int], *, all_but: int = 0) -> list[int]:
    """Some of these row indexes, at least one, and at least `all_but` fewer than there are."""
    most = len(indexes) - all_but
    chosen: list[int] = draft.draw(st.lists(st.sampled_from(indexes), min_size=1, max_size=most, unique=True))
    return sorted(chosen)


def _feeds(draft: DataDraft) -> bool:
    return draft.on("delta.enableChangeDataFeed")


def _tell(draft: DataDraft, changes: Sequence[tuple[str, Row]], partition: dict[str, Any]) -> None:
    """Change data of the commit at hand, where the table has a feed of it."""
    if _feeds(draft) and changes:
        store_changes(draft, changes, partition)
        draft.changes += [(kind, {**row, **partition}) for kind, row in changes]


def _add_rows(draft: DataDraft) -> None:
    count = draft.draw(st.integers(0, 5))
    rows = drawn_rows(draft, count) * draft.draw(st.sampled_from((1, 1, 1, 20)))
    store(draft, rows, drawn_partition(draft))


@_operation(_always)
def _append(draft: DataDraft) -> None:
    for _ in range(draft.draw(st.integers(1, 2))):
        _add_rows(draft)


@_operation(_vectors_on, weight=2)
def _delete_by_vector(draft: DataDraft) -> None:
    """Rows of one or two files are marked as deleted."""
    files = _markable(draft)[: draft.draw(st.sampled_from((2, 1)))]
    gone = {stored.add["path"]: _some(draft, stored.kept, all_but=1) for stored in files}
    mark_deleted(draft, gone)
    for stored in files:
        rows = rows_as_of(stored, draft.data_schema)
        _tell(draft, [("delete", rows[index]) for index in gone[stored.add["path"]]], stored.partition)


@_operation(_has_rows)
def _delete_by_rewriting(draft: DataDraft) -> None:
    """A file gives way to one without some of its rows, or to none."""
    stored = _one_file(draft)
    gone = _some(draft, stored.kept)
    removed(draft, stored)
    left = [index for index in stored.kept if index not in gone]
    if left:
        _rewritten(draft, stored, left)
    rows = rows_as_of(stored, draft.data_schema)
    told: bool = bool(left) or draft.draw(st.booleans())
    if told:
        # A file that goes as a whole needs no change data: its remove says it all.
        _tell(draft, [("delete", rows[index]) for index in gone], stored.partition)


@_operation(_has_rows)
def _update_by_rewriting(draft: DataDraft) -> None:
    """A file gives way to one in which some rows have another value, and perhaps new rows follow."""
    stored = _one_file(draft)
    changed = _some(draft, stored.kept)
    removed(draft, stored)
    new = drawn_rows(draft, draft.draw(st.integers(0, 1)))
    updates = _updated(draft, stored, changed)
    _rewritten(draft, stored, stored.kept, updates, new)
    _tell(draft, [*_images(draft, stored, updates), *(("insert", row) for row in new)], stored.partition)


@_operation(_vectors_on)
def _update_by_vector(draft: DataDraft) -> None:
    """Rows of a file are marked as deleted, and stand with another value in a new file."""
    stored = draft.draw(st.sampled_from(_markable(draft)))
    changed = _some(draft, stored.kept, all_but=1)
    updates = _updated(draft, stored, changed)
    mark_deleted(draft, {stored.add["path"]: changed})
    _rewritten(draft, stored, changed, updates)
    _tell(draft, _images(draft, stored, updates), stored.partition)


def _updated(draft: DataDraft, stored: StoredFile, indexes: Sequence[int]) -> dict[int, Row]:
    """Rows with another value in one column, by index in their file."""
    rows = rows_as_of(stored, draft.data_schema)
    column = draft.draw(st.sampled_from(draft.data_schema.fields))
    values = draft.draw(column_of(column.type, len(indexes), nullable=column.nullable))
    return {index: {**rows[index], column.name: value} for index, value in zip(indexes, values, strict=True)}


def _images(draft: DataDraft, stored: StoredFile, updates: dict[int, Row]) -> list[tuple[str, Row]]:
    rows = rows_as_of(stored, draft.data_schema)
    images = []
    for index, row in updates.items():
        images += [("update_preimage", rows[index]), ("update_postimage", row)]
    return images


def _rewritten(
    draft: DataDraft,
    stored: StoredFile,
    indexes: Sequence[int],
    updates: dict[int, Row] | None = None,
    new: Sequence[Row] = (),
) -> None:
    """Rows of a file in a new one: those that stay as they are keep id and version, changed ones their id."""
    changed = updates or {}
    old = rows_as_of(stored, draft.data_schema)
    rows = [changed.get(index, old[index]) for index in indexes]
    ids: list[int | None] = []
    versions: list[int | None] = []
    if stored.row_ids:
        ids = [*(stored.row_ids[index] for index in indexes), *(None for _ in new)]
        versions = [None if index in changed else stored.row_versions[index] for index in indexes]
        versions += [None for _ in new]
    store(draft, [*rows, *new], stored.partition, row_ids=ids, row_versions=versions)


@_operation(_has_rows)
def _optimize(draft: DataDraft) -> None:
    """Files of one partition give way to one that holds the rows they have left; no row changes."""
    first = _one_file(draft)
    partition = first.add["partitionValues"]
    files = [each for each in draft.live.values() if each.add["partitionValues"] == partition and each is not first]
    chosen = [first, *files[: draft.draw(st.integers(0, 2))]]
    rows: list[Row] = []
    ids: list[int | None] = []
    versions: list[int | None] = []
    for stored in chosen:
        every = rows_as_of(stored, draft.data_schema)
        rows += [every[index] for index in stored.kept]
        ids += [stored.row_ids[index] for index in stored.kept] if stored.row_ids else []
        versions += [stored.row_versions[index] for index in stored.kept] if stored.row_ids else []
        removed(draft, stored, data_change=False)
    store(draft, rows, first.partition, data_change=False, row_ids=ids, row_versions=versions)


def _new_field(draft: DataDraft) -> Field:
    new = Field(f"new{draft.next_number()}", Primitive(draft.draw(st.sampled_from(("string", "long")))), True)
    if not draft.mapping:
        return new
    numbered: Struct = mapped(Struct((new,)), draft.numbering, own_names=True, nested=draft.outline.nested_ids)
    return numbered.fields[0]


@_operation(_later)
def _add_column(draft: DataDraft) -> None:
    draft.schema = Struct((*draft.schema.fields, _new_field(draft)))
    draft.actions.append(draft.metadata_action())


def _structs(draft: DataDraft) -> list[Field]:
    return [each for each in draft.schema.fields if isinstance(each.type, Struct)]


@_operation(lambda draft: draft.version > 0 and bool(_structs(draft)))
def _add_field(draft: DataDraft) -> None:
    """A struct column gets one more field: in files of before it is null wherever the struct is not."""
    column, new = draft.draw(st.sampled_from(_structs(draft))), _new_field(draft)

    def grown(field: Field) -> Field:
        assert isinstance(field.type, Struct)
        return replace(field, type=Struct((*field.type.fields, new)))

    draft.schema = replaced(draft.schema, column.name, grown)
    draft.actions.append(draft.metadata_action())


def _droppable(draft: DataDraft) -> list[Field]:
    held = [each for each in draft.schema.fields if each.name not in draft.outline.partition_columns]
    return [each for each in held if each.type != VOID and each.name != "id"]


@_operation(lambda draft: draft.version > 0 and draft.mapping is not None and bool(_droppable(draft)))
def _drop_column(draft: DataDraft) -> None:
    gone = draft.draw(st.sampled_from(_droppable(draft)))
    draft.schema = replaced(draft.schema, gone.name, lambda _: None)
    draft.actions.append(draft.metadata_action())


@_operation(lambda draft: draft.version > 0 and draft.mapping is not None and bool(_droppable(draft)))
def _rename_column(draft: DataDraft) -> None:
    old = draft.draw(st.sampled_from(_droppable(draft)))
    name = f"re named.{draft.next_number()}"
    draft.schema = replaced(draft.schema, old.name, lambda each: replace(each, name=name))
    draft.actions.append(draft.metadata_action())


def _widenable(draft: DataDraft) -> list[tuple[str, str | None]]:
    """Columns that can become wider, and fields of struct columns, each with the name of its column."""
    ntz = "timestampNtz" in draft.features
    found: list[tuple[str, str | None]] = []
    for column in draft.schema.fields:
        if column.name not in draft.outline.partition_columns:
            found += [(column.name, None)] if widening_choices(column, ntz=ntz) else []
            inner = column.type.fields if isinstance(column.type, Struct) else ()
            found += [(column.name, each.name) for each in inner if widening_choices(each, ntz=ntz)]
    return found


@_operation(
    lambda draft: draft.version > 0 and draft.on("delta.enableTypeWidening") and bool(_widenable(draft)), weight=3
)
def _widen(draft: DataDraft) -> None:
    """A column, or a field of one, gets a wider type; files of before keep the narrower one."""
    column, inner = draft.draw(st.sampled_from(_widenable(draft)))

    def wider(field: Field) -> Field:
        if inner is not None and field.name == column and isinstance(field.type, Struct):
            return replace(field, type=replaced(field.type, inner, wide))
        return wide(field)

    def wide(field: Field) -> Field:
        choices = widening_choices(field, ntz="timestampNtz" in draft.features)
        return widened(field, draft.draw(st.sampled_from(choices)))

    draft.schema = replaced(draft.schema, column, wider)
    draft.actions.append(draft.metadata_action())


@_operation(lambda draft: draft.version > 0 and "columnMapping" in draft.features and draft.mapping is None)
def _begin_mapping(draft: DataDraft) -> None:
    """A table that is there already gets column mapping: files of before have its names, but no ids."""
    draft.schema = mapped(draft.schema, draft.numbering, own_names=False, nested=False)
    draft.configuration[column_mapping.MODE] = "name"
    draft.actions.append(draft.metadata_action())


@_operation(_later)
def _describe(draft: DataDraft) -> None:
    draft.description = f"described {draft.next_number()}"
    draft.actions.append(draft.metadata_action())
