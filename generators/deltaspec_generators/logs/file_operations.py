"""Operations on files: add, remove, rewrite, restore, and update statistics."""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec_generators.logs import file_actions, vector_operations
from deltaspec_generators.logs.builder import LogBuilder, operation
from deltaspec_generators.table_state import Body, vector_id


def _has_untouched_files(builder: LogBuilder) -> bool:
    return bool(builder.untouched_files())


@operation(lambda builder: True)
def append(builder: LogBuilder, timestamp: int) -> None:
    """Add new files."""
    for _ in range(builder.draw(st.integers(1, 2))):
        builder.actions.append({"add": file_actions.draw_add(builder, timestamp, data_change=True)})


@operation(lambda builder: _has_untouched_files(builder) and not builder.append_only)
def remove(builder: LogBuilder, timestamp: int) -> None:
    """Remove a complete file."""
    removed = builder.draw(st.sampled_from(builder.untouched_files()))
    builder.actions.append({"remove": file_actions.draw_remove(builder, removed, timestamp, data_change=True)})


@operation(vector_operations.is_applicable, weight=2)
def delete_rows(builder: LogBuilder, timestamp: int) -> None:
    """Delete rows by deletion vectors."""
    vector_operations.delete_rows(builder, timestamp)


@operation(_has_untouched_files)
def rewrite(builder: LogBuilder, timestamp: int) -> None:
    """Compact files of one partition into one file with the same rows."""
    first = builder.draw(st.sampled_from(builder.untouched_files()))
    partition = first["partitionValues"]
    others = [add for add in builder.untouched_files() if add["partitionValues"] == partition and add is not first]
    old = [first, *others[: builder.draw(st.integers(0, 1))]]
    for add in old:
        builder.actions.append({"remove": file_actions.draw_remove(builder, add, timestamp, data_change=False)})
    rows = sum(
        file_actions.read_row_count(add) - len(builder.deleted.get((add["path"], vector_id(add)), ())) for add in old
    )
    new = file_actions.draw_add(builder, timestamp, data_change=False, rows=rows, partition=partition, old=old)
    builder.actions.append({"add": new})
    builder.copies_rows = True


@operation(_has_untouched_files)
def update_statistics(builder: LogBuilder, timestamp: int) -> None:
    """Add a live logical file again with other tags; the rest stays the same."""
    add = dict(builder.draw(st.sampled_from(builder.untouched_files())))
    add |= {"dataChange": False, "tags": {"refreshed": "true"}}
    file_actions.reassign_row_ids(builder, add)
    builder.touched.add(add["path"])
    builder.actions.append({"add": add})


def _list_restorable_files(builder: LogBuilder) -> list[Body]:
    vectors_enabled = "deletionVectors" in builder.features and builder.is_enabled("delta.enableDeletionVectors")
    return [
        add
        for path, add in builder.removed.items()
        if path not in builder.touched
        and (vectors_enabled or "deletionVector" not in add)
        and ("stats" in add or not (builder.tracks_rows or builder.iceberg_version))
    ]


@operation(lambda builder: bool(_list_restorable_files(builder)))
def restore(builder: LogBuilder, timestamp: int) -> None:
    """Add a removed file again, with its deletion vector and row ids."""
    add = {**builder.draw(st.sampled_from(_list_restorable_files(builder))), "dataChange": True}
    if builder.tracks_rows and "baseRowId" not in add:
        file_actions.assign_row_ids(builder, add, file_actions.read_row_count(add))
    builder.touched.add(add["path"])
    builder.actions.append({"add": add})
