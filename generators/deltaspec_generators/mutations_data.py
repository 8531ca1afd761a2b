"""Tables broken in files of the table: presence, size, deletion-vector files; level `files` shows it."""

from hypothesis import strategies as st

from deltaspec.model import deletion_vectors
from deltaspec_generators.bases import action
from deltaspec_generators.builder import TableFiles
from deltaspec_generators.data_bases import VECTOR_FILE, changed, rows, with_data, with_stored_vectors
from deltaspec_generators.mutations import mutation, pick

_VECTORS = f"deletion_vector_{VECTOR_FILE}.bin"


@mutation("add.file-exists", "files")
def live_file_gone(draw: st.DrawFn) -> TableFiles:
    files = with_data()
    files.missing.add(pick(draw, "b.parquet", "c.parquet"))
    return files


@mutation("add.size", "files")
def file_shorter_or_longer(draw: st.DrawFn) -> TableFiles:
    files = with_data()
    body = action(files, 2, "add")
    body["size"] += pick(draw, -1, 1, 1000)
    return files


@mutation("cdc.size", "files")
def change_file_shorter_or_longer(draw: st.DrawFn) -> TableFiles:
    files = changed()
    action(files, 3, "cdc")["size"] += pick(draw, -1, 1)
    return files


@mutation("cdc.file-exists", "files")
def change_file_gone(draw: st.DrawFn) -> TableFiles:
    files = changed()
    files.missing.add(action(files, 3, "cdc")["path"])
    return files


@mutation("deletion-vectors.path-resolved", "files")
def vector_file_gone(draw: st.DrawFn) -> TableFiles:
    files = with_stored_vectors()
    files.missing.add(_VECTORS)
    return files


@mutation("deletion-vectors.file-version", "files")
def vector_file_of_other_version(draw: st.DrawFn) -> TableFiles:
    files = with_stored_vectors()
    files.extra[_VECTORS] = bytes([pick(draw, 0, 2, 255)]) + files.extra[_VECTORS][1:]
    return files


@mutation("deletion-vectors.file-entry", "files")
def vector_entry_elsewhere(draw: st.DrawFn) -> TableFiles:
    """The offset is shifted, the size that the file says is another one, or the file is cut."""
    files = with_stored_vectors()
    data = files.extra[_VECTORS]
    match pick(draw, "shifted", "resized", "cut", "beyond the end"):
        case "shifted":
            action(files, 3, "add", 1)["deletionVector"]["offset"] += pick(draw, 8, 12)
        case "resized":
            files.extra[_VECTORS] = data[:4] + bytes([data[4] + 1]) + data[5:]
        case "cut":
            files.extra[_VECTORS] = data[: len(data) - draw(st.integers(1, 8))]
        case _:
            action(files, 3, "add", 1)["deletionVector"]["offset"] = len(data)
    return files


@mutation("deletion-vectors.file-entry", "files")
def vector_entries_overlap(draw: st.DrawFn) -> TableFiles:
    """A vector begins within another one, some of whose bytes happen to look like an entry."""
    inner = deletion_vectors.layout_file([deletion_vectors.encode_bitmap([2])])[0][1:]
    bits = b"\xff" * 600 + bytes(400) + inner  # more than 4096 rows stand as bits: 8192 bytes that may be any
    outer = [8 * at + bit for at, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1]
    files = with_stored_vectors((outer, (2,)), tables=(rows(0), rows(10, 1 << 16), rows(20)))
    data = deletion_vectors.layout_file([deletion_vectors.encode_bitmap(outer)])[0]
    files.extra[_VECTORS] = data
    action(files, 3, "add", 1)["deletionVector"]["offset"] = data.index(inner)
    return files


@mutation("deletion-vectors.file-checksum", "files")
def vector_bit_flipped(draw: st.DrawFn) -> TableFiles:
    files = with_stored_vectors()
    data = bytearray(files.extra[_VECTORS])
    size = int.from_bytes(data[1:5], "big")
    data[5 + draw(st.integers(0, size + 3))] ^= 1 << draw(st.integers(0, 7))
    files.extra[_VECTORS] = bytes(data)
    return files


@mutation("deletion-vectors.cardinality", "files")
def stored_vector_counts_otherwise(draw: st.DrawFn) -> TableFiles:
    files = with_stored_vectors()
    action(files, 3, "add")["deletionVector"]["cardinality"] += pick(draw, -1, 1)
    return files


@mutation("deletion-vectors.rows-exist", "files")
def stored_vector_beyond_file(draw: st.DrawFn) -> TableFiles:
    return with_stored_vectors(((1, draw(st.integers(10, 1 << 40))), (2,)))


@mutation("deletion-vectors.bitmap-format", "files")
def stored_vector_undecodable(draw: st.DrawFn) -> TableFiles:
    """File and checksum are sound, the bitmap is not: another magic number, or no Roaring bitmap behind it."""
    files = with_stored_vectors()
    bodies = [action(files, 3, "add", which)["deletionVector"] for which in (0, 1)]
    bitmaps = [deletion_vectors.encode_bitmap(each) for each in ((1, 3), (2,))]
    wrong = bytearray(bitmaps[0])
    wrong[pick(draw, 0, 4, 16)] ^= 0xFF
    data, offsets = deletion_vectors.layout_file([bytes(wrong), bitmaps[1]])
    assert offsets == [body["offset"] for body in bodies]
    files.extra[_VECTORS] = data
    return files
