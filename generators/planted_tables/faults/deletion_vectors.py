"""Planted faults of deletion vectors: the descriptor, the bytes of the bitmap, and the file."""

import json
from typing import Any

from hypothesis import strategies as st

from deltaspec.protocol.files import deletion_vectors, z85
from deltaspec.protocol.property_names import DELETION_VECTORS
from deltaspec_generators.small_tables import (
    VECTOR_FILE_UUID,
    build_rows,
    build_table_with_stored_vectors,
    encode_data_file,
)
from deltaspec_generators.table_files import (
    TableFiles,
    add_action,
    commit_info_action,
    get_action,
    inline_vector_descriptor,
    remove_action,
)
from planted_tables.bases import log_only
from planted_tables.bases.log_only import build_table_with_features
from planted_tables.faults.registry import draw_one, planted_fault

_FILE = f"deletion_vector_{VECTOR_FILE_UUID}.bin"
_MAGIC = deletion_vectors.MAGIC
_ENABLED = {DELETION_VECTORS: "true"}


def _build_inline_table(bitmap: bytes, cardinality: int, **more: Any) -> TableFiles:
    """Build a table with an inline vector of these bytes."""
    text = z85.encode(bitmap + bytes(-len(bitmap) % 4))
    vector = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(bitmap), "cardinality": cardinality}
    return log_only.build_table_with_vector({**vector, **more}, rows=30)


def _encode_bucket(key: int, row: int) -> bytes:
    return key.to_bytes(4, "little") + deletion_vectors.encode_bitmap([row])[16:]


# descriptor


@planted_fault("deletion-vectors.inline")
def inline_text_of_no_bitmap(draw: st.DrawFn) -> TableFiles:
    """Invalid Z85, or the protocol's example as printed (E08)."""
    printed = "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    text = draw_one(draw, printed, printed[:-1] + "~", printed[:-1], "é" * 50)
    return _build_inline_table(bytes(40), 6, pathOrInlineDv=text)


@planted_fault("deletion-vectors.unique-id")
def vector_removed_and_added_under_its_id(draw: st.DrawFn) -> TableFiles:
    """Storage type, value and offset are equal; other fields of the descriptor are not part of the id."""
    files = build_table_with_features("deletionVectors", configuration=_ENABLED)
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 1, "sizeInBytes": 44}
    first, second = ({**vector, "cardinality": each} for each in draw_one(draw, (6, 6), (6, 5)))
    added, removed = (add_action("d.parquet", rows=30, deletionVector=each) for each in (first, second))
    files.commits[3] = [commit_info_action(3), added, remove_action(removed)]
    return files


@planted_fault("deletion-vectors.needs-num-records", "footers")
def records_without_the_deleted_ones(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_stored_vectors()
    body = get_action(files, 3, "add")
    body["stats"] = json.dumps({**json.loads(body["stats"]), "numRecords": draw_one(draw, 8, 11)})
    return files


@planted_fault("deletion-vectors.made-while-enabled")
def vector_made_while_disabled(draw: st.DrawFn) -> TableFiles:
    """The property is not set, false, or set to false by the commit that adds the vector."""
    files = log_only.build_table_with_vector()
    body = get_action(files, 0, "metaData")
    match draw_one(draw, "unset", "false", "set to false"):
        case "unset":
            body["configuration"] = {}
        case "false":
            body["configuration"] = {DELETION_VECTORS: "false"}
        case _:
            off = {**body, "configuration": {DELETION_VECTORS: "false"}}
            files.commits[2].append({"metaData": off})
    return files


@planted_fault("deletion-vectors.made-while-enabled")
def live_file_gets_a_vector_while_disabled(draw: st.DrawFn) -> TableFiles:
    """A first vector or a replacement; an existing vector may be added again."""
    files = log_only.build_table_with_vector()
    body = get_action(files, 0, "metaData")
    off = {**body, "configuration": {DELETION_VECTORS: "false"}}
    again = dict(get_action(files, 2, "add"))
    path, before = draw_one(draw, ("b.parquet", None), ("c.parquet", again["deletionVector"]))
    after = add_action(path, rows=10, deletionVector=inline_vector_descriptor([1, 3, 5]))
    removed = add_action(path, rows=10, **({"deletionVector": before} if before else {}))
    files.commits[3] = [commit_info_action(3), {"metaData": off}]
    files.commits[4] = [draw_one(draw, commit_info_action(4), {"commitInfo": {}}), after, remove_action(removed)]
    if before is None:
        files.commits[3].append({"add": again})
    return files


# bitmap


@planted_fault("deletion-vectors.magic")
def bitmap_of_another_magic(draw: st.DrawFn) -> TableFiles:
    bitmap = deletion_vectors.encode_bitmap([1, 3])
    magic = draw_one(draw, _MAGIC - 1, _MAGIC + 1, 0, 3503503716)
    return _build_inline_table(magic.to_bytes(4, "little") + bitmap[4:], 2)


@planted_fault("deletion-vectors.little-endian")
def bitmap_of_big_endian_numbers(draw: st.DrawFn) -> TableFiles:
    bitmap = deletion_vectors.encode_bitmap([1, 3])
    swapped = draw_one(draw, slice(0, 4), slice(4, 12), slice(16, 20))
    return _build_inline_table(bitmap[: swapped.start] + bitmap[swapped][::-1] + bitmap[swapped.stop :], 2)


@planted_fault("deletion-vectors.buckets-ascend")
def buckets_out_of_order(draw: st.DrawFn) -> TableFiles:
    first, second = draw_one(draw, (1, 0), (0, 0))
    head = _MAGIC.to_bytes(4, "little") + (2).to_bytes(8, "little")
    return _build_inline_table(head + _encode_bucket(first, 1) + _encode_bucket(second, 3), 2)


@planted_fault("deletion-vectors.keys-are-positive")
def bucket_key_with_its_highest_bit(draw: st.DrawFn) -> TableFiles:
    head = _MAGIC.to_bytes(4, "little") + (1).to_bytes(8, "little")
    return _build_inline_table(head + _encode_bucket(draw_one(draw, 1 << 31, (1 << 32) - 1), 1), 1)


# file


@planted_fault("deletion-vectors.offset-start", "files")
def offset_of_the_bitmap(draw: st.DrawFn) -> TableFiles:
    """The offset points to the bitmap after the size, or equals the offset in the protocol's examples (E06)."""
    files = build_table_with_stored_vectors()
    get_action(files, 3, "add")["deletionVector"]["offset"] = draw_one(draw, 4, 5)
    del files.commits[3][3:]
    return files


@planted_fault("deletion-vectors.path-resolved", "files")
def vector_file_of_another_name(draw: st.DrawFn) -> TableFiles:
    """With the hyphen of the protocol's listing (E05), without its extension, or in the log directory."""
    files = build_table_with_stored_vectors()
    name = draw_one(draw, _FILE.replace("vector_", "vector-"), _FILE.removesuffix(".bin"), f"_delta_log/{_FILE}")
    files.extra[name] = files.extra.pop(_FILE)
    return files


@planted_fault("deletion-vectors.prefix", "files")
def vector_file_outside_its_prefix(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_stored_vectors()
    for which in (0, 1):
        vector = get_action(files, 3, "add", which)["deletionVector"]
        vector["pathOrInlineDv"] = "ab" + vector["pathOrInlineDv"]
    files.extra[draw_one(draw, "", "a/", "AB/") + _FILE] = files.extra.pop(_FILE)
    return files


@planted_fault("deletion-vectors.file-format", "files")
def vector_file_of_another_kind(draw: st.DrawFn) -> TableFiles:
    files = build_table_with_stored_vectors()
    bitmap = deletion_vectors.encode_bitmap([1, 3])
    files.extra[_FILE] = draw_one(draw, encode_data_file(build_rows(0)), bitmap, b"")
    return files


@planted_fault("deletion-vectors.file-version", "files", revisions=("r1", "r2", "r3"))
def version_as_the_table_of_bytes_reads(draw: st.DrawFn) -> TableFiles:
    return _build_two_byte_version_table()


@planted_fault("deletion-vectors.file-version-byte", "files")
def version_of_two_bytes(draw: st.DrawFn) -> TableFiles:
    return _build_two_byte_version_table()


def _build_two_byte_version_table() -> TableFiles:
    files = build_table_with_stored_vectors()
    files.extra[_FILE] = b"\0" + files.extra[_FILE]
    for which in (0, 1):
        get_action(files, 3, "add", which)["deletionVector"]["offset"] += 1
    return files


@planted_fault("deletion-vectors.file-big-endian", "files")
def numbers_of_the_file_are_little_endian(draw: st.DrawFn) -> TableFiles:
    return _build_little_endian_table(draw_one(draw, "size", "checksum", "both"))


@planted_fault("deletion-vectors.file-entry", "files", revisions=("r1", "r2"))
def numbers_of_the_file_in_an_unsaid_order(draw: st.DrawFn) -> TableFiles:
    return _build_little_endian_table(draw_one(draw, "size", "checksum", "both"))


def _build_little_endian_table(which: str) -> TableFiles:
    files = build_table_with_stored_vectors()
    data = files.extra[_FILE]
    end = 5 + int.from_bytes(data[1:5], "big")
    size, check = data[1:5], data[end : end + 4]
    size = size if which == "checksum" else size[::-1]
    check = check if which == "size" else check[::-1]
    files.extra[_FILE] = data[:1] + size + data[5:end] + check + data[end + 4 :]
    return files


@planted_fault("deletion-vectors.inline")
def inline_vector_filled_up_with_ones(draw: st.DrawFn) -> TableFiles:
    bitmap = deletion_vectors.encode_bitmap(range(draw_one(draw, 1, 5, 7)), runs=True)
    padding = bytes(-len(bitmap) % 4)
    text = z85.encode(bitmap + padding[:-1] + b"\1")
    rows_deleted = len(deletion_vectors.decode_bitmap(bitmap))
    return _build_inline_table(bitmap, rows_deleted, pathOrInlineDv=text)
