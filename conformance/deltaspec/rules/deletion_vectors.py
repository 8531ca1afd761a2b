"""Rules over deletion-vector descriptors, vector files and inline vectors. Source: chapter Deletion Vectors."""

import polars as pl

from deltaspec.rules.file_fixes import (
    PURGE_OR_RESTORE_VECTOR,
    RESTORE_VECTOR,
    RESTORE_VECTOR_IF_ROW_COUNT_IS_RIGHT,
    RESTORE_VERSION_NOT_DELETED_ROWS,
)
from deltaspec.rules.registry import rule
from deltaspec.views.files.added_vectors import added_vectors
from deltaspec.views.files.file_actions import deletion_vectors


@rule("DVX001", requires="deletion-vectors.storage-type", view=deletion_vectors, fix=RESTORE_VERSION_NOT_DELETED_ROWS)
def unknown_storage_type() -> pl.Expr:
    """A deletion vector has a storage type other than `u`, `i` and `p`.

    Readers cannot load the vector. They fail, or return deleted rows.

    Conforms::
        storage_type: u
        storage_type: i
        storage_type: p
    Violates::
        storage_type: x
    """
    return ~pl.col("storage_type").is_in(["u", "i", "p"])


@rule("DVX002", requires="deletion-vectors.path", view=deletion_vectors, fix=RESTORE_VERSION_NOT_DELETED_ROWS)
def invalid_vector_path() -> pl.Expr:
    """A stored deletion vector does not name a file: it has no UUID in Z85 or no absolute path.

    Readers cannot load the vector. They fail, or return deleted rows.

    Conforms::
        path_fault: null
    Violates::
        path_fault: "5 characters are too few for a UUID in Z85"
    """
    return pl.col("path_fault").is_not_null()


@rule("DVX003", requires="deletion-vectors.offset", view=deletion_vectors, fix=PURGE_OR_RESTORE_VECTOR)
def inline_vector_with_offset() -> pl.Expr:
    """An inline deletion vector has an offset.

    The offset is part of the vector's id. The same vector gets two ids, and a remove action does not match its add
    action.

    Conforms::
        storage_type: i, offset: null
        storage_type: u, offset: 1
    Violates::
        storage_type: i, offset: 0
    """
    return (pl.col("storage_type") == "i") & pl.col("offset").is_not_null()


@rule(
    "DVX004",
    requires="deletion-vectors.offset-start",
    view=deletion_vectors,
    divergence="S05",
    fix=PURGE_OR_RESTORE_VECTOR,
)
def stored_vector_without_offset() -> pl.Expr:
    """A stored deletion vector has no offset, or offset 0.

    A missing offset means 0. The version byte of the file is there, so no vector can start at it.

    Conforms::
        storage_type: u, offset: 1
        storage_type: i, offset: null
    Violates::
        storage_type: u, offset: null
        storage_type: p, offset: 0
    """
    return pl.col("storage_type").is_in(["u", "p"]) & (pl.col("offset").fill_null(0) < 1)


@rule("DVX005", requires="deletion-vectors.size", view=deletion_vectors, fix=RESTORE_VECTOR)
def invalid_vector_size() -> pl.Expr:
    """The size of a deletion vector does not match its content.

    An inline vector of another size is truncated or padded to another bitmap. A stored vector cannot be smaller than an
    empty bitmap.

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
    """The cardinality of a deletion vector is negative or differs from the number of rows that it deletes.

    Readers that count rows from the log return a wrong count.
    Fix (decide): Compare the vector with the operation that wrote it. If the vector is right, `REORG TABLE t APPLY
    (PURGE)` rewrites the file without it. If it may be damaged, restore the version before it.

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
    """A deletion vector deletes no rows.

    The protocol does not forbid it, but the vector only costs time, and it makes two logical files with the same rows.
    Fix (none): No repair is needed. `REORG TABLE t APPLY (PURGE)` may remove the vector; the writer should omit
    empty vectors.

    Conforms::
        cardinality: 1
    Violates::
        cardinality: 0
    """
    return pl.col("cardinality") == 0


@rule("DVX008", requires="deletion-vectors.rows-exist", view=deletion_vectors, fix=RESTORE_VECTOR_IF_ROW_COUNT_IS_RIGHT)
def vector_deletes_rows_beyond_file_end() -> pl.Expr:
    """A deletion vector deletes more rows than its file has, or a row after the end of the file.

    The vector belongs to another file, or the statistics are wrong. Readers return deleted rows or lose others.

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
    fix=RESTORE_VECTOR,
)
def vector_undecodable() -> pl.Expr:
    """A deletion vector cannot be decoded.

    Readers fail, or return deleted rows. (The inline example of the protocol has a format that it does not describe,
    E08.)

    Conforms::
        decode_fault: null
    Violates::
        decode_fault: "magic number is 3503503716, expected 1681511377"
    """
    return pl.col("decode_fault").is_not_null()


@rule(
    "DVX010",
    requires=("deletion-vectors.path-resolved", "deletion-vectors.prefix"),
    view=deletion_vectors,
    fix=RESTORE_VECTOR,
)
def vector_file_missing() -> pl.Expr:
    """The file that contains the deletion vector of a live file does not exist.

    Readers fail, or return deleted rows.

    Conforms::
        file_exists: true, removed_since: null
        file_exists: null, removed_since: null
        file_exists: false, removed_since: true
    Violates::
        file_exists: false, removed_since: false
    """
    return ~pl.col("file_exists") & ~pl.col("removed_since")


@rule(
    "DVX011",
    requires=("deletion-vectors.file-version", "deletion-vectors.file-format"),
    view=deletion_vectors,
    fix=RESTORE_VECTOR,
)
def unsupported_vector_file_version() -> pl.Expr:
    """The file of a deletion vector does not start with version 1.

    Readers refuse the vector and with it the data file.

    Conforms::
        version_fault: null
    Violates::
        version_fault: "file version is 2, expected 1"
    """
    return pl.col("version_fault").is_not_null()


@rule(
    "DVX012",
    requires=("deletion-vectors.file-entry", "deletion-vectors.offset-start"),
    view=deletion_vectors,
    fix=RESTORE_VECTOR,
)
def vector_not_at_its_offset() -> pl.Expr:
    """The file of a deletion vector has no vector of the stated size at the stated offset.

    The offset or the size is wrong, or the file is truncated. Readers fail, or decode the vector of another file.

    Conforms::
        entry_fault: null
    Violates::
        entry_fault: "the file says 44 bytes, the descriptor 40"
    """
    return pl.col("entry_fault").is_not_null()


@rule("DVX013", requires="deletion-vectors.file-checksum", view=deletion_vectors, fix=RESTORE_VECTOR)
def vector_checksum_differs() -> pl.Expr:
    """The CRC-32 of a stored deletion vector does not match its bytes.

    The file is damaged. Readers that check the CRC fail, and others delete the wrong rows.

    Conforms::
        checksum_fault: null
    Violates::
        checksum_fault: "CRC-32 does not match"
    """
    return pl.col("checksum_fault").is_not_null()


@rule("DVX014", requires="deletion-vectors.file-entry", view=deletion_vectors, fix=RESTORE_VECTOR)
def vectors_overlap_in_file() -> pl.Expr:
    """Two entries of a deletion-vector file overlap.

    Entries follow each other without overlap, so one of the descriptors has a wrong offset or size and deletes the
    wrong rows.

    Conforms::
        overlapping_entry: null
    Violates::
        overlapping_entry: "offset 1, 44 bytes"
    """
    return pl.col("overlapping_entry").is_not_null()


@rule("DVX020", requires="deletion-vectors.made-while-enabled", view=added_vectors)
def vector_created_while_disabled() -> pl.Expr:
    """A commit adds a new deletion vector although delta.enableDeletionVectors is not true.

    The table's owner disabled vectors for clients that cannot read them. (Vectors of restored or cloned files are not
    new and are not reported.)
    Fix (decide): Run `REORG TABLE t APPLY (PURGE)` to rewrite files with vectors, or set the property to true. Fix
    the writer.

    Conforms::
        may_predate_commit: true
    Violates::
        may_predate_commit: false
    """
    return ~pl.col("may_predate_commit")


@rule("DVX021", requires="deletion-vectors.file-version", view=deletion_vectors, divergence="S02", until="r3")
def ambiguous_two_byte_version() -> pl.Expr:
    """The version of a deletion-vector file takes two bytes, as the byte table of the protocol can be read.

    Engines write and read one byte. They refuse this file as version 0.
    Fix (none): Use a writer that stores the version in one byte. An engine that reads the file can remove its
    vectors with `REORG TABLE t APPLY (PURGE)`.

    Conforms::
        version_width_fault: null
    Violates::
        version_width_fault: "file version 1 is stored in two bytes, expected one"
    """
    return pl.col("version_width_fault").is_not_null()


@rule("DVX022", requires="deletion-vectors.file-version-byte", view=deletion_vectors, fix=PURGE_OR_RESTORE_VECTOR)
def two_byte_version() -> pl.Expr:
    """The version of a deletion-vector file takes two bytes instead of one.

    Readers read version 0, and refuse the file and with it the data file.

    Conforms::
        version_width_fault: null
    Violates::
        version_width_fault: "file version 1 is stored in two bytes, expected one"
    """
    return pl.col("version_width_fault").is_not_null()


@rule("DVX023", requires="deletion-vectors.file-big-endian", view=deletion_vectors, fix=PURGE_OR_RESTORE_VECTOR)
def little_endian_entry() -> pl.Expr:
    """The size or checksum of an entry in a deletion-vector file is little-endian.

    Readers expect big-endian numbers. They refuse the vector and with it the data file.

    Conforms::
        byte_order_fault: null
    Violates::
        byte_order_fault: "size or checksum around the vector is little endian"
    """
    return pl.col("byte_order_fault").is_not_null()


@rule("DVX024", requires="deletion-vectors.file-entry", view=deletion_vectors, divergence="S01", until="r2")
def unspecified_entry_byte_order() -> pl.Expr:
    """The size or checksum of an entry in a deletion-vector file is little-endian, which the revision permits.

    This revision defines the byte order only for the bitmap. Engines and later revisions use big-endian numbers.
    Fix (none): Use a writer that stores big-endian numbers. An engine that reads the file can remove its vectors
    with `REORG TABLE t APPLY (PURGE)`.

    Conforms::
        byte_order_fault: null
    Violates::
        byte_order_fault: "size or checksum around the vector is little endian"
    """
    return pl.col("byte_order_fault").is_not_null()


@rule("DVX025", requires="deletion-vectors.inline", view=deletion_vectors, divergence="S04")
def nonzero_inline_padding() -> pl.Expr:
    """The padding of an inline deletion vector is not zero.

    The protocol does not define the padding bytes. Readers that decode them with the bitmap refuse the vector.
    Fix (none): No repair is needed if your readers accept the vector. Use a writer that pads with zeros; `REORG
    TABLE t APPLY (PURGE)` removes the vector.

    Conforms::
        decoded_size: 44, size_in_bytes: 41, padding_is_zero: true
        decoded_size: 80, size_in_bytes: 44, padding_is_zero: false
    Violates::
        decoded_size: 44, size_in_bytes: 41, padding_is_zero: false
    """
    is_padding = (pl.col("decoded_size") - pl.col("size_in_bytes")).is_between(1, 3)
    return is_padding & ~pl.col("padding_is_zero")
