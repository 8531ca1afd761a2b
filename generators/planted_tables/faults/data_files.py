"""Planted faults of files: presence, size, deletion-vector files; visible at level `files`."""

from hypothesis import strategies as st

from deltaspec.protocol.files import deletion_vectors
from deltaspec_generators.small_tables import (
    VECTOR_FILE_UUID,
    build_rows,
    build_table_with_change_data,
    build_table_with_data,
    build_table_with_stored_vectors,
)
from deltaspec_generators.table_files import TableFiles, get_action
from planted_tables.faults.registry import draw_one, planted_fault

_VECTORS = f"deletion_vector_{VECTOR_FILE_UUID}.bin"


@planted_fault("add.size", "files")
def file_shorter_or_longer(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_data()
    body = get_action(files, 2, "add")
    body["size"] += draw_one(draw, -1, 1, 1000)
    return files


@planted_fault("cdc.size", "files")
def change_file_shorter_or_longer(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_change_data()
    get_action(files, 3, "cdc")["size"] += draw_one(draw, -1, 1)
    return files


@planted_fault("add.file-exists", "files")
def file_with_a_slash_too_many(_: st.DrawFn) -> TableFiles:
    """The path is absolute, and the file is in the table."""
    files = build_table_with_data()
    body = get_action(files, 2, "add")
    body["path"] = f"/{body['path']}"
    return files


@planted_fault("cdc.file-exists", "files")
def change_file_gone(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_change_data()
    files.missing.add(get_action(files, 3, "cdc")["path"])
    return files


@planted_fault("deletion-vectors.file-version", "files")
def vector_file_of_other_version(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_stored_vectors()
    files.extra[_VECTORS] = bytes([draw_one(draw, 0, 2, 255)]) + files.extra[_VECTORS][1:]
    return files


@planted_fault("deletion-vectors.file-entry", "files")
def vector_entry_elsewhere(draw: st.DrawFn) -> TableFiles:
    """The offset is shifted, the size in the file is wrong, or the file is truncated."""
    files = build_table_with_stored_vectors()
    data = files.extra[_VECTORS]
    match draw_one(draw, "shifted", "resized", "cut", "beyond the end"):
        case "shifted":
            get_action(files, 3, "add", 1)["deletionVector"]["offset"] += draw_one(draw, 8, 12)
        case "resized":
            files.extra[_VECTORS] = data[:4] + bytes([data[4] + 1]) + data[5:]
        case "cut":
            files.extra[_VECTORS] = data[: len(data) - draw(st.integers(1, 8))]
        case _:
            get_action(files, 3, "add", 1)["deletionVector"]["offset"] = len(data)
    return files


@planted_fault("deletion-vectors.file-entry", "files")
def vector_entries_overlap(draw: st.DrawFn) -> TableFiles:
    """A vector starts within another one whose bytes contain a valid entry."""
    inner = deletion_vectors.build_file([deletion_vectors.encode_bitmap([2])])[0][1:]
    bits = b"\xff" * 600 + bytes(400) + inner  # more than 4096 rows are stored as a bitmap of 8192 arbitrary bytes
    outer = [8 * at + bit for at, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1]
    files = build_table_with_stored_vectors(
        (outer, (2,)), tables=(build_rows(0), build_rows(10, 1 << 16), build_rows(20))
    )
    data = deletion_vectors.build_file([deletion_vectors.encode_bitmap(outer)])[0]
    files.extra[_VECTORS] = data
    get_action(files, 3, "add", 1)["deletionVector"]["offset"] = data.index(inner)
    return files


@planted_fault("deletion-vectors.file-checksum", "files")
def vector_bit_flipped(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_stored_vectors()
    data = bytearray(files.extra[_VECTORS])
    size = int.from_bytes(data[1:5], "big")
    data[5 + draw(st.integers(0, size + 3))] ^= 1 << draw(st.integers(0, 7))
    files.extra[_VECTORS] = bytes(data)
    return files


@planted_fault("deletion-vectors.cardinality", "files")
def stored_vector_counts_otherwise(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_stored_vectors()
    get_action(files, 3, "add")["deletionVector"]["cardinality"] += draw_one(draw, -1, 1)
    return files


@planted_fault("deletion-vectors.rows-exist", "files")
def stored_vector_beyond_file(draw: st.DrawFn) -> TableFiles:
    return build_table_with_stored_vectors(((1, draw(st.integers(10, 1 << 40))), (2,)))


@planted_fault("deletion-vectors.bitmap-format", "files")
def stored_vector_undecodable(draw: st.DrawFn) -> TableFiles:
    """File and checksum are valid, but the bitmap has a wrong magic number or is not a Roaring bitmap."""
    files = build_table_with_stored_vectors()
    bodies = [get_action(files, 3, "add", which)["deletionVector"] for which in (0, 1)]
    bitmaps = [deletion_vectors.encode_bitmap(each) for each in ((1, 3), (2,))]
    wrong = bytearray(bitmaps[0])
    wrong[draw_one(draw, 0, 4, 16)] ^= 0xFF
    data, offsets = deletion_vectors.build_file([bytes(wrong), bitmaps[1]])
    assert offsets == [body["offset"] for body in bodies]
    files.extra[_VECTORS] = data
    return files
