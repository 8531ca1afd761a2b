"""Drawing deletes by deletion vector: files lose rows; vectors stand inline, in one file, or at an absolute path."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from hypothesis import strategies as st

from deltaspec.model import deletion_vectors, z85
from deltaspec_generators import files
from deltaspec_generators.log_state import Body, vector_id

if TYPE_CHECKING:
    from deltaspec_generators.log_draft import LogDraft


def applicable(draft: LogDraft) -> bool:
    """Whether new vectors may be made, and some untouched file has rows to lose."""
    wanted = "delta.enableDeletionVectors"
    return (
        "deletionVectors" in draft.features
        and draft.on(wanted)
        and (draft.version == 0 or draft.state.on(wanted))
        and not draft.append_only
        and bool(_candidates(draft))
    )


def delete_rows(draft: LogDraft, timestamp: int) -> None:
    """Rows of files are deleted: each file is removed with the vector it had and added with a larger one."""
    draw = draft.draw
    chosen = _candidates(draft)[: draw(st.integers(1, 2))]
    rows = [_more_rows(draft, add) for add in chosen]
    storage = draw(st.sampled_from(("i", "u", "p")))
    for add, deleted, vector in zip(chosen, rows, _descriptors(draft, storage, rows), strict=True):
        text = _with_wide_bounds(draft, add["stats"]) if "nullCount" in add["stats"] else add["stats"]
        changed = {**add, "deletionVector": vector, "dataChange": True, "stats": text, "modificationTime": timestamp}
        files.number_again(draft, changed)
        draft.actions.append({"remove": files.tombstone(draft, add, timestamp, data_change=True)})
        draft.actions.append({"add": changed})
        draft.deleted[add["path"], vector_id(changed)] = deleted


def _candidates(draft: LogDraft) -> list[Body]:
    return [add for add in draft.untouched() if len(_deleted(draft, add)) + 1 < files.row_count(add)]


def _deleted(draft: LogDraft, add: Body) -> frozenset[int]:
    return draft.deleted.get((add["path"], vector_id(add)), frozenset())


def _more_rows(draft: LogDraft, add: Body) -> frozenset[int]:
    """The rows deleted so far and at least one more, but not all there are."""
    count = files.row_count(add)
    before = _deleted(draft, add)
    row = st.integers(0, count - 1).filter(lambda each: each not in before)
    most = min(3, count - 1 - len(before))
    return before | draft.draw(st.frozensets(row, min_size=1, max_size=most))


def _with_wide_bounds(draft: LogDraft, text: str) -> str:
    typed = {**draft.typed_stats[text], "tightBounds": False}
    wide = text.replace(',"tightBounds":true', "").replace(',"tightBounds":false', "")
    wide = wide[:-1] + ',"tightBounds":false}'
    draft.typed_stats[wide] = typed
    return wide


def _descriptors(draft: LogDraft, storage: str, rows: list[frozenset[int]]) -> list[Body]:
    bitmaps = [deletion_vectors.encode_bitmap(each, runs=draft.draw(st.booleans())) for each in rows]
    if storage == "i":
        return [
            {
                "storageType": "i",
                "pathOrInlineDv": z85.encode(bitmap + bytes(-len(bitmap) % 4)),
                "sizeInBytes": len(bitmap),
                "cardinality": len(each),
            }
            for bitmap, each in zip(bitmaps, rows, strict=True)
        ]
    data, offsets = deletion_vectors.layout_file(bitmaps)
    uuid = UUID(files.identifier(draft.next_number()))
    prefix = draft.draw(st.sampled_from(("", "ab")))
    if storage == "u":
        draft.stored[f"{prefix}/deletion_vector_{uuid}.bin".removeprefix("/")] = data
        where = prefix + z85.encode(uuid.bytes)
    else:
        where = f"s3://other/table/deletion_vector_{uuid}.bin"
    return [
        {
            "storageType": storage,
            "pathOrInlineDv": where,
            "offset": offset,
            "sizeInBytes": len(bitmap),
            "cardinality": len(each),
        }
        for bitmap, offset, each in zip(bitmaps, offsets, rows, strict=True)
    ]
