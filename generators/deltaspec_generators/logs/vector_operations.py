"""Draw deletes by deletion vectors, stored inline, in one relative file, or at an absolute path."""

from uuid import UUID

from hypothesis import strategies as st

from deltaspec.model.rows import deletion_vectors, z85
from deltaspec_generators import names
from deltaspec_generators.logs import file_actions
from deltaspec_generators.logs.builder import LogBuilder
from deltaspec_generators.table_state import Body, vector_id


def is_applicable(builder: LogBuilder) -> bool:
    """Return whether vectors may be written and some untouched file has rows to delete."""
    property_name = "delta.enableDeletionVectors"
    return (
        "deletionVectors" in builder.features
        and builder.is_enabled(property_name)
        and (builder.version == 0 or builder.state.is_enabled(property_name))
        and not builder.append_only
        and bool(_list_candidates(builder))
    )


def delete_rows(builder: LogBuilder, timestamp: int) -> None:
    """Delete rows: remove each file with its old vector and add it with a larger one."""
    draw = builder.draw
    chosen = _list_candidates(builder)[: draw(st.integers(1, 2))]
    rows = [_draw_deleted_rows(builder, add) for add in chosen]
    storage = draw(st.sampled_from(("i", "u", "p")))
    for add, deleted, vector in zip(chosen, rows, _write_vectors(builder, storage, rows), strict=True):
        stats = _mark_bounds_wide(builder, add["stats"]) if "nullCount" in add["stats"] else add["stats"]
        changed = {**add, "deletionVector": vector, "dataChange": True, "stats": stats, "modificationTime": timestamp}
        file_actions.reassign_row_ids(builder, changed)
        builder.actions.append({"remove": file_actions.draw_remove(builder, add, timestamp, data_change=True)})
        builder.actions.append({"add": changed})
        builder.deleted[add["path"], vector_id(changed)] = deleted


def _list_candidates(builder: LogBuilder) -> list[Body]:
    return [
        add
        for add in builder.untouched_files()
        if len(_get_deleted_rows(builder, add)) + 1 < file_actions.read_row_count(add)
    ]


def _get_deleted_rows(builder: LogBuilder, add: Body) -> frozenset[int]:
    return builder.deleted.get((add["path"], vector_id(add)), frozenset())


def _draw_deleted_rows(builder: LogBuilder, add: Body) -> frozenset[int]:
    """Draw the rows deleted so far and at least one more, but not all rows."""
    count = file_actions.read_row_count(add)
    before = _get_deleted_rows(builder, add)
    row = st.integers(0, count - 1).filter(lambda each: each not in before)
    most = min(3, count - 1 - len(before))
    return before | builder.draw(st.frozensets(row, min_size=1, max_size=most))


def _mark_bounds_wide(builder: LogBuilder, stats: str) -> str:
    typed = {**builder.parsed_stats[stats], "tightBounds": False}
    wide = stats.replace(',"tightBounds":true', "").replace(',"tightBounds":false', "")
    wide = wide[:-1] + ',"tightBounds":false}'
    builder.parsed_stats[wide] = typed
    return wide


def _write_vectors(builder: LogBuilder, storage: str, rows: list[frozenset[int]]) -> list[Body]:
    bitmaps = [deletion_vectors.encode_bitmap(each, runs=builder.draw(st.booleans())) for each in rows]
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
    data, offsets = deletion_vectors.build_file(bitmaps)
    uuid = UUID(names.build_uuid(builder.next_number()))
    prefix = builder.draw(st.sampled_from(("", "ab")))
    if storage == "u":
        builder.vector_files[f"{prefix}/deletion_vector_{uuid}.bin".removeprefix("/")] = data
        location = prefix + z85.encode(uuid.bytes)
    else:
        location = f"s3://other/table/deletion_vector_{uuid}.bin"
    return [
        {
            "storageType": storage,
            "pathOrInlineDv": location,
            "offset": offset,
            "sizeInBytes": len(bitmap),
            "cardinality": len(each),
        }
        for bitmap, offset, each in zip(bitmaps, offsets, rows, strict=True)
    ]
