"""Rules over deletion-vector descriptors, and inline vectors. Source: chapter Deletion Vectors."""

import polars as pl

from deltaspec.rules.registry import rule
from deltaspec.views.files.added_vectors import added_vectors
from deltaspec.views.files.file_actions import deletion_vectors


@rule("DVX001", requires="deletion-vectors.storage-type", view=deletion_vectors)
def unknown_storage_type() -> pl.Expr:
    """A deletion vector has a storage type other than `u`, `i` and `p`.

    Readers cannot find the vector: they fail, or return deleted rows.
    Fix: rewrite the data file without its deleted rows, if they are known.

    Conforms::
        storage_type: u
        storage_type: i
        storage_type: p
    Violates::
        storage_type: x
    """
    return ~pl.col("storage_type").is_in(["u", "i", "p"])


@rule("DVX002", requires="deletion-vectors.path", view=deletion_vectors)
def invalid_vector_path() -> pl.Expr:
    """A stored deletion vector does not name a file: no UUID in Z85, or no absolute path.

    Readers cannot find the vector: they fail, or return deleted rows.
    Fix: restore the version before; the writer must encode the UUID in the last 20 characters.

    Conforms::
        path_fault: null
    Violates::
        path_fault: "5 characters are too few for a UUID in Z85"
    """
    return pl.col("path_fault").is_not_null()


@rule("DVX003", requires="deletion-vectors.offset", view=deletion_vectors)
def inline_vector_with_offset() -> pl.Expr:
    """An inline deletion vector has an offset.

    The offset is part of the vector's id, so the same vector gets two ids and a remove does not find its add.
    Fix: the writer must leave the offset out.

    Conforms::
        storage_type: i, offset: null
        storage_type: u, offset: 1
    Violates::
        storage_type: i, offset: 0
    """
    return (pl.col("storage_type") == "i") & pl.col("offset").is_not_null()


@rule("DVX004", requires="deletion-vectors.offset-start", view=deletion_vectors, divergence="S05")
def stored_vector_without_offset() -> pl.Expr:
    """A stored deletion vector has no offset, or offset 0.

    It is to be read as 0, where the file's version byte is and no vector can begin.
    Fix: the writer must give the offset of the vector's size, at least 1.

    Conforms::
        storage_type: u, offset: 1
        storage_type: i, offset: null
    Violates::
        storage_type: u, offset: null
        storage_type: p, offset: 0
    """
    return pl.col("storage_type").is_in(["u", "p"]) & (pl.col("offset").fill_null(0) < 1)


@rule("DVX005", requires="deletion-vectors.size", view=deletion_vectors)
def invalid_vector_size() -> pl.Expr:
    """The size of a deletion vector is not that of what it describes.

    An inline vector is cut or padded to another bitmap; a stored one cannot be shorter than an empty bitmap.
    Fix: restore the version before; the writer must count the bytes before Z85 padding.

    Conforms::
        storage_type: i, size_in_bytes: 34, decoded_size: 36
        storage_type: u, size_in_bytes: 34, decoded_size: null
    Violates::
        storage_type: i, size_in_bytes: 40, decoded_size: 44
        storage_type: u, size_in_bytes: 0, decoded_size: null
    """
    padding = pl.col("decoded_size") - pl.col("size_in_bytes")
    inline_differs = (pl.col("storage_type") == "i") & ~padding.is_between(0, 3)
    return inline_differs.fill_null(False) | (pl.col("size_in_bytes") < 12)


@rule("DVX006", requires="deletion-vectors.cardinality", view=deletion_vectors)
def vector_cardinality_differs() -> pl.Expr:
    """The cardinality of a deletion vector is not the number of rows it holds, or negative.

    Readers that count rows from the log return a wrong count.
    Fix: commit the file again with the right cardinality.

    Conforms::
        cardinality: 3, decoded_cardinality: 3
        cardinality: 3, decoded_cardinality: null
    Violates::
        cardinality: 3, decoded_cardinality: 4
        cardinality: -1, decoded_cardinality: null
    """
    differs = (pl.col("cardinality") != pl.col("decoded_cardinality")).fill_null(False)
    return differs | (pl.col("cardinality") < 0)


@rule("DVX007", requires="deletion-vectors.cardinality", view=deletion_vectors, divergence="S06")
def empty_vector() -> pl.Expr:
    """A deletion vector deletes nothing.

    The text does not forbid it, but then the file needs none, and two logical files have the same rows.
    Fix: the writer should leave the vector out.

    Conforms::
        cardinality: 1
    Violates::
        cardinality: 0
    """
    return pl.col("cardinality") == 0


@rule("DVX008", requires="deletion-vectors.rows-exist", view=deletion_vectors)
def vector_deletes_rows_beyond_file_end() -> pl.Expr:
    """A deletion vector deletes more rows than its file has, or a row beyond the file's end.

    The vector belongs to another file, or the statistics are wrong: rows come back or vanish.
    Fix: restore the version before; find out which of the two is wrong.

    Conforms::
        num_records: 10, cardinality: 3, decoded_last_row: 9
        num_records: null, cardinality: 3, decoded_last_row: 12
    Violates::
        num_records: 10, cardinality: 11, decoded_last_row: null
        num_records: 10, cardinality: 3, decoded_last_row: 10
    """
    beyond = (pl.col("decoded_last_row") >= pl.col("num_records")).fill_null(False)
    return beyond | (pl.col("cardinality") > pl.col("num_records"))


@rule(
    "DVX009",
    requires=(
        "deletion-vectors.bitmap-format",
        "deletion-vectors.magic",
        "deletion-vectors.little-endian",
        "deletion-vectors.buckets-ascend",
        "deletion-vectors.keys-are-positive",
        "deletion-vectors.inline",
    ),
    view=deletion_vectors,
)
def vector_undecodable() -> pl.Expr:
    """A deletion vector cannot be decoded: an inline one, or one whose file is sound around it.

    Readers fail, or return deleted rows. (The text's own example of an inline vector is of a form that it does not
    describe, E08.)
    Fix: restore the version before; the writer must write the portable 64-bit format.

    Conforms::
        decode_fault: null
    Violates::
        decode_fault: "magic number is 3503503716, not 1681511377"
    """
    return pl.col("decode_fault").is_not_null()


@rule("DVX010", requires=("deletion-vectors.path-resolved", "deletion-vectors.prefix"), view=deletion_vectors)
def vector_file_missing() -> pl.Expr:
    """The file that holds the deletion vector of a live file is not there.

    Readers fail, or return rows that were deleted.
    Fix: restore the file from a copy; without one, nobody knows which rows were deleted since the file was added.

    Conforms::
        file_exists: true, removed_since: null
        file_exists: null, removed_since: null
        file_exists: false, removed_since: true
    Violates::
        file_exists: false, removed_since: false
    """
    return ~pl.col("file_exists") & ~pl.col("removed_since")


@rule("DVX011", requires=("deletion-vectors.file-version", "deletion-vectors.file-format"), view=deletion_vectors)
def unsupported_vector_file_version() -> pl.Expr:
    """The file of a deletion vector does not begin with the version 1.

    Readers refuse it, and with it the data file.
    Fix: restore the file from a copy; find out what wrote over it.

    Conforms::
        version_fault: null
    Violates::
        version_fault: "file version is 2, not 1"
    """
    return pl.col("version_fault").is_not_null()


@rule("DVX012", requires=("deletion-vectors.file-entry", "deletion-vectors.offset-start"), view=deletion_vectors)
def vector_not_at_its_offset() -> pl.Expr:
    """No deletion vector of the size that the descriptor gives stands at its offset.

    The offset or the size is wrong, or the file is cut: readers fail, or decode another file's vector.
    Fix: restore the version before, or the file from a copy.

    Conforms::
        entry_fault: null
    Violates::
        entry_fault: "the file says 44 bytes, the descriptor 40"
    """
    return pl.col("entry_fault").is_not_null()


@rule("DVX013", requires="deletion-vectors.file-checksum", view=deletion_vectors)
def vector_checksum_differs() -> pl.Expr:
    """The CRC-32 of a stored deletion vector is not that of its bytes.

    The file was damaged: readers that check fail, others delete the wrong rows.
    Fix: restore the file from a copy.

    Conforms::
        checksum_fault: null
    Violates::
        checksum_fault: "CRC-32 does not match"
    """
    return pl.col("checksum_fault").is_not_null()


@rule("DVX014", requires="deletion-vectors.file-entry", view=deletion_vectors)
def vectors_overlap_in_file() -> pl.Expr:
    """Two entries of a deletion-vector file share bytes without being the same.

    Entries stand one behind the other: one of the two descriptors has a wrong offset or size.
    Fix: restore the version before; the writer must give each vector its own place.

    Conforms::
        overlapping_entry: null
    Violates::
        overlapping_entry: "offset 1, 44 bytes"
    """
    return pl.col("overlapping_entry").is_not_null()


@rule("DVX020", requires="deletion-vectors.made-while-enabled", view=added_vectors)
def vector_created_while_disabled() -> pl.Expr:
    """A commit adds a new deletion vector, and delta.enableDeletionVectors is not true.

    Whoever turned vectors off, for readers that cannot take them or to get rid of the feature, finds new ones. (A vector
    that is restored, or comes with the files of a clone, is not new.)
    Fix: rewrite the file without its deleted rows, or set the property to true.

    Conforms::
        may_predate_commit: true
    Violates::
        may_predate_commit: false
    """
    return ~pl.col("may_predate_commit")


@rule("DVX021", requires="deletion-vectors.file-version", view=deletion_vectors, divergence="S02", until="r3")
def ambiguous_two_byte_version() -> pl.Expr:
    """The version of a deletion-vector file stands in two bytes, as the text's table of bytes can be read.

    Engines write and read one byte, and refuse this file as one of version 0.
    Fix: write the file again with one byte for the version, and its vectors from offset 1 on.

    Conforms::
        version_width_fault: null
    Violates::
        version_width_fault: "file version 1 stands in two bytes"
    """
    return pl.col("version_width_fault").is_not_null()


@rule("DVX022", requires="deletion-vectors.file-version-byte", view=deletion_vectors)
def two_byte_version() -> pl.Expr:
    """The version of a deletion-vector file stands in two bytes.

    Readers take the first for the version 0 and refuse the file, and with it the data file.
    Fix: write the file again with one byte for the version, and its vectors from offset 1 on.

    Conforms::
        version_width_fault: null
    Violates::
        version_width_fault: "file version 1 stands in two bytes"
    """
    return pl.col("version_width_fault").is_not_null()


@rule("DVX023", requires="deletion-vectors.file-big-endian", view=deletion_vectors)
def little_endian_entry() -> pl.Expr:
    """Size or checksum of an entry of a deletion-vector file is little endian.

    Readers take the size for another number and refuse the vector, and with it the data file.
    Fix: write the file again with big-endian numbers around the vectors.

    Conforms::
        byte_order_fault: null
    Violates::
        byte_order_fault: "size or checksum around the vector is little endian"
    """
    return pl.col("byte_order_fault").is_not_null()


@rule("DVX024", requires="deletion-vectors.file-entry", view=deletion_vectors, divergence="S01", until="r2")
def unspecified_entry_byte_order() -> pl.Expr:
    """Size or checksum of an entry of a deletion-vector file is little endian, which the text does not rule out.

    It gives no order of bytes for the file, only for the bitmap; engines and later texts use big endian.
    Fix: write the file again with big-endian numbers around the vectors.

    Conforms::
        byte_order_fault: null
    Violates::
        byte_order_fault: "size or checksum around the vector is little endian"
    """
    return pl.col("byte_order_fault").is_not_null()


@rule("DVX025", requires="deletion-vectors.inline", view=deletion_vectors, divergence="S04")
def nonzero_inline_padding() -> pl.Expr:
    """The bytes that fill an inline deletion vector up to a multiple of four are not zeros.

    The text does not say what they are; a reader that decodes them with the bitmap refuses it.
    Fix: the writer should fill up with zeros.

    Conforms::
        decoded_size: 44, size_in_bytes: 41, padding_is_zero: true
        decoded_size: 80, size_in_bytes: 44, padding_is_zero: false
    Violates::
        decoded_size: 44, size_in_bytes: 41, padding_is_zero: false
    """
    is_padding = (pl.col("decoded_size") - pl.col("size_in_bytes")).is_between(1, 3)
    return is_padding & ~pl.col("padding_is_zero")
