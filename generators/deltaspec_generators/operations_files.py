"""What commits do with files: they add, remove, rewrite and restore them, and describe them anew."""

from __future__ import annotations

from hypothesis import strategies as st

from deltaspec_generators import files, vectors
from deltaspec_generators.log_draft import LogDraft, operation
from deltaspec_generators.log_state import Body, vector_id


def _rewritable(draft: LogDraft) -> bool:
    return bool(draft.untouched())


@operation(lambda draft: True)
def append(draft: LogDraft, timestamp: int) -> None:
    """New files."""
    for _ in range(draft.draw(st.integers(1, 2))):
        draft.actions.append({"add": files.new_file(draft, timestamp, data_change=True)})


@operation(lambda draft: _rewritable(draft) and not draft.append_only)
def remove(draft: LogDraft, timestamp: int) -> None:
    """A file goes as a whole."""
    removed = draft.draw(st.sampled_from(draft.untouched()))
    draft.actions.append({"remove": files.tombstone(draft, removed, timestamp, data_change=True)})


@operation(vectors.applicable, weight=2)
def delete_rows(draft: LogDraft, timestamp: int) -> None:
    """Rows go by deletion vectors."""
    vectors.delete_rows(draft, timestamp)


@operation(_rewritable)
def rewrite(draft: LogDraft, timestamp: int) -> None:
    """Optimize: files of one partition give way to one that holds the same rows."""
    first = draft.draw(st.sampled_from(draft.untouched()))
    partition = first["partitionValues"]
    others = [add for add in draft.untouched() if add["partitionValues"] == partition and add is not first]
    old = [first, *others[: draft.draw(st.integers(0, 1))]]
    for add in old:
        draft.actions.append({"remove": files.tombstone(draft, add, timestamp, data_change=False)})
    rows = sum(files.row_count(add) - len(draft.deleted.get((add["path"], vector_id(add)), ())) for add in old)
    new = files.new_file(draft, timestamp, data_change=False, rows=rows, partition=partition, old=old)
    draft.actions.append({"add": new})
    draft.copies = True


@operation(_rewritable)
def update_statistics(draft: LogDraft, timestamp: int) -> None:
    """An add for a logical file that is live already; it keeps everything but statistics and tags."""
    add = dict(draft.draw(st.sampled_from(draft.untouched())))
    add |= {"dataChange": False, "tags": {"refreshed": "true"}}
    files.number_again(draft, add)
    draft.touched.add(add["path"])
    draft.actions.append({"add": add})


def _restorable(draft: LogDraft) -> list[Body]:
    vectors_on = "deletionVectors" in draft.features and draft.on("delta.enableDeletionVectors")
    return [
        add
        for path, add in draft.removed.items()
        if path not in draft.touched
        and (vectors_on or "deletionVector" not in add)
        and ("stats" in add or not (draft.tracks_rows or draft.iceberg))
    ]


@operation(lambda draft: bool(_restorable(draft)))
def restore(draft: LogDraft, timestamp: int) -> None:
    """A file that was removed earlier is live again, with the deletion vector and row ids it had."""
    add = {**draft.draw(st.sampled_from(_restorable(draft))), "dataChange": True}
    if draft.tracks_rows and "baseRowId" not in add:
        files.give_row_ids(draft, add, files.row_count(add))
    draft.touched.add(add["path"])
    draft.actions.append({"add": add})
