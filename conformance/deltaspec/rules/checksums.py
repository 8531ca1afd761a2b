"""Rules over version checksums. Source: chapter Version Checksum File (current)."""

import polars as pl

from deltaspec.rules.fixes import CHECK_HISTORY_BEFORE_CHECKSUM, DELETE_CHECKSUM, DELETE_CHECKSUM_IF_READERS_FAIL
from deltaspec.rules.registry import rule
from deltaspec.views.log.checkpoints import checksums, replay_differences
from deltaspec.views.log.log_files import listing


@rule("CRC001", requires="checksum.form", view=checksums, fix=DELETE_CHECKSUM)
def malformed_checksum() -> pl.Expr:
    """A version checksum is not a JSON object with every required field.

    Readers cannot check the version against it.

    Conforms::
        schema_error: null
    Violates::
        schema_error: "numFiles missing"
    """
    return pl.col("schema_error").is_not_null()


@rule("CRC016", requires="checksum.form", view=checksums, divergence="S54")
def checksum_of_older_form() -> pl.Expr:
    """A version checksum has only counts, as Delta wrote it before the protocol described the file.

    The protocol now requires protocol and metadata, and does not say what holds for older files. Readers that use the
    checksum for them ignore the file and read the log.
    Fix (none): No repair is needed. A newer writer adds complete checksums to later versions.

    Conforms::
        is_older_form: false
        is_older_form: null
    Violates::
        is_older_form: true
    """
    return pl.col("is_older_form")


@rule(
    "CRC002", requires=("checksum.table-size", "checksum.accurate"), view=checksums, fix=CHECK_HISTORY_BEFORE_CHECKSUM
)
def table_size_differs() -> pl.Expr:
    """The table size in a version checksum is not the sum of the sizes of the live files.

    The checksum or the log is wrong. If the log is wrong, readers return wrong rows.

    Conforms::
        table_size_bytes: 100, replayed_table_size_bytes: 100
        table_size_bytes: 100, replayed_table_size_bytes: null
    Violates::
        table_size_bytes: 100, replayed_table_size_bytes: 90
    """
    return pl.col("table_size_bytes") != pl.col("replayed_table_size_bytes")


@rule("CRC003", requires=("checksum.num-files", "checksum.accurate"), view=checksums, fix=CHECK_HISTORY_BEFORE_CHECKSUM)
def file_count_differs() -> pl.Expr:
    """The file count in a version checksum is not the number of live files.

    The checksum or the log is wrong. If the log is wrong, readers return wrong rows.

    Conforms::
        num_files: 3, replayed_num_files: 3
        num_files: 3, replayed_num_files: null
    Violates::
        num_files: 3, replayed_num_files: 4
    """
    return pl.col("num_files") != pl.col("replayed_num_files")


@rule("CRC004", requires="checksum.one-metadata-one-protocol", view=checksums, fix=DELETE_CHECKSUM)
def metadata_or_protocol_count_is_not_one() -> pl.Expr:
    """A version checksum counts a number of metaData or protocol actions other than 1.

    Every snapshot has exactly one of each, so clients that check the version fail.

    Conforms::
        num_metadata: 1, num_protocol: 1
    Violates::
        num_metadata: 0, num_protocol: 1
        num_metadata: 1, num_protocol: 2
    """
    return (pl.col("num_metadata") != 1) | (pl.col("num_protocol") != 1)


@rule("CRC005", requires="checksum.in-commit-timestamp", view=checksums, fix=DELETE_CHECKSUM)
def checksum_timestamp_differs() -> pl.Expr:
    """The in-commit timestamp in a version checksum differs from the commit, or is present or absent incorrectly.

    Readers that use the timestamp of the checksum travel to the wrong version.

    Conforms::
        in_commit_timestamps_enabled: true, in_commit_timestamp: 17, replayed_in_commit_timestamp: 17
        in_commit_timestamps_enabled: false, in_commit_timestamp: null, replayed_in_commit_timestamp: null
        in_commit_timestamps_enabled: null, in_commit_timestamp: 17, replayed_in_commit_timestamp: null
    Violates::
        in_commit_timestamps_enabled: true, in_commit_timestamp: 16, replayed_in_commit_timestamp: 17
        in_commit_timestamps_enabled: true, in_commit_timestamp: null, replayed_in_commit_timestamp: 17
        in_commit_timestamps_enabled: false, in_commit_timestamp: 17, replayed_in_commit_timestamp: null
    """
    differs = pl.col("in_commit_timestamp").ne_missing(pl.col("replayed_in_commit_timestamp"))
    enabled = pl.col("in_commit_timestamps_enabled")
    return (enabled & differs) | (~enabled & pl.col("in_commit_timestamp").is_not_null())


@rule(
    "CRC006",
    requires=("checksum.accurate", "checksum.deletion-vectors"),
    view=checksums,
    fix=CHECK_HISTORY_BEFORE_CHECKSUM,
)
def vector_counts_differ() -> pl.Expr:
    """The counts of deletion vectors or deleted rows in a version checksum differ from the live files.

    The checksum or the log is wrong. If the log is wrong, readers return deleted rows or lose others.

    Conforms::
        num_deletion_vectors: 1, replayed_num_deletion_vectors: 1, num_deleted_records: 5, replayed_num_deleted_records: 5
        num_deletion_vectors: null, replayed_num_deletion_vectors: 1, num_deleted_records: null, replayed_num_deleted_records: 5
    Violates::
        num_deletion_vectors: 2, replayed_num_deletion_vectors: 1, num_deleted_records: 5, replayed_num_deleted_records: 5
        num_deletion_vectors: 1, replayed_num_deletion_vectors: 1, num_deleted_records: 6, replayed_num_deleted_records: 5
    """
    vectors = (pl.col("num_deletion_vectors") != pl.col("replayed_num_deletion_vectors")).fill_null(False)
    return vectors | (pl.col("num_deleted_records") != pl.col("replayed_num_deleted_records"))


@rule("CRC007", requires=("checksum.accurate", "checksum.all-files"), view=checksums, fix=CHECK_HISTORY_BEFORE_CHECKSUM)
def all_files_differ() -> pl.Expr:
    """The list of files in a version checksum differs from the live files.

    Readers that take the files from the checksum return other rows.

    Conforms::
        all_files_fault: null
    Violates::
        all_files_fault: "part-1.parquet is a live file but is not listed"
    """
    return pl.col("all_files_fault").is_not_null()


@rule("CRC008", requires=("checksum.histogram-form", "checksum.deleted-rows-form"), view=checksums, fix=DELETE_CHECKSUM)
def malformed_histogram() -> pl.Expr:
    """A histogram in a version checksum does not have the prescribed structure.

    Its bins do not start at 0 or do not ascend, or its arrays have different lengths. Counts cannot be assigned to
    sizes.

    Conforms::
        histogram_schema_error: null, deleted_histogram_schema_error: null
    Violates::
        histogram_schema_error: "the first boundary is not 0", deleted_histogram_schema_error: null
        histogram_schema_error: null, deleted_histogram_schema_error: "has 9 bins, not 10"
    """
    return pl.col("histogram_schema_error").is_not_null() | pl.col("deleted_histogram_schema_error").is_not_null()


@rule(
    "CRC009",
    requires=(
        "checksum.histogram-values",
        "checksum.deleted-rows-values",
        "checksum.file-size-histogram",
        "checksum.deleted-rows-histogram",
        "checksum.accurate",
    ),
    view=checksums,
    fix=CHECK_HISTORY_BEFORE_CHECKSUM,
)
def histogram_differs() -> pl.Expr:
    """A histogram in a version checksum differs from the sizes or deleted rows of the live files.

    The checksum or the log is wrong. If the log is wrong, readers return wrong rows.

    Conforms::
        histogram_fault: null, deleted_histogram_fault: null
    Violates::
        histogram_fault: "bin from 0 bytes: expected 2 files with 20 bytes, found 3 files with 30 bytes", deleted_histogram_fault: null
        histogram_fault: null, deleted_histogram_fault: "bin 0: expected 2 files, found 3"
    """
    return pl.col("histogram_fault").is_not_null() | pl.col("deleted_histogram_fault").is_not_null()


def _differs(*kinds: str) -> pl.Expr:
    return (pl.col("derived_file_kind") == "checksum") & pl.col("kind").is_in(kinds)


@rule(
    "CRC010",
    requires=("checksum.protocol-and-metadata", "checksum.accurate"),
    view=replay_differences,
    fix=DELETE_CHECKSUM,
)
def checksum_state_differs() -> pl.Expr:
    """The protocol or metaData in a version checksum differs from the version.

    Readers that take them from the checksum use another schema or other features.

    Conforms::
        derived_file_kind: checkpoint, kind: protocol
        derived_file_kind: checksum, kind: txn
    Violates::
        derived_file_kind: checksum, kind: protocol
        derived_file_kind: checksum, kind: metaData
    """
    return _differs("protocol", "metaData")


@rule(
    "CRC011",
    requires=("checksum.accurate", "checksum.transactions-and-domains"),
    view=replay_differences,
    fix=DELETE_CHECKSUM,
)
def checksum_transactions_or_domains_differ() -> pl.Expr:
    """The transactions or domains in a version checksum differ from the version.

    Writers that take them from the checksum repeat data or reuse row ids.

    Conforms::
        derived_file_kind: checkpoint, kind: txn, difference: missing, may_have_expired: false
        derived_file_kind: checksum, kind: txn, difference: missing, may_have_expired: true
        derived_file_kind: checksum, kind: protocol, difference: missing, may_have_expired: false
        derived_file_kind: checksum, kind: txn, difference: repeated, may_have_expired: false
    Violates::
        derived_file_kind: checksum, kind: txn, difference: missing, may_have_expired: false
        derived_file_kind: checksum, kind: domainMetadata, difference: missing, may_have_expired: false
    """
    is_repeated = pl.col("difference") == "repeated"  # CRC014
    return _differs("txn", "domainMetadata") & ~pl.col("may_have_expired") & ~is_repeated.fill_null(False)


@rule("CRC012", requires="checksum.each-commit", view=listing)
def commit_without_checksum() -> pl.Expr:
    """A commit has no version checksum, although commits before and after it have one.

    Damage to the log between the two checksums cannot be dated to one commit.
    Fix (none): No repair is needed. Use a writer that writes a checksum for every commit, so that the next gap is
    noticed.

    Conforms::
        checksum_missing: false
        checksum_missing: null
    Violates::
        checksum_missing: true
    """
    return pl.col("checksum_missing")


@rule("CRC013", requires=("checksum.accurate", "checksum.transaction-id"), view=checksums, fix=DELETE_CHECKSUM)
def checksum_transaction_id_differs() -> pl.Expr:
    """The transaction id in a version checksum differs from the commit.

    The checksum was written for another attempt at this version, so its other fields may be wrong too.

    Conforms::
        txn_id: "a", commit_txn_id: "a", catalog_managed: true
        txn_id: "a", commit_txn_id: "b", catalog_managed: false
        txn_id: null, commit_txn_id: "a", catalog_managed: true
        txn_id: "a", commit_txn_id: null, catalog_managed: true
    Violates::
        txn_id: "a", commit_txn_id: "b", catalog_managed: true
    """
    return pl.col("catalog_managed") & (pl.col("txn_id") != pl.col("commit_txn_id"))


@rule(
    "CRC015", requires="checksum.transaction-id", view=checksums, divergence="S20", fix=DELETE_CHECKSUM_IF_READERS_FAIL
)
def free_form_transaction_id_differs() -> pl.Expr:
    """The transaction id in a version checksum differs from the commit of a table that is not catalog-managed.

    Only catalog-managed tables define txnId of commitInfo. Engines that write it elsewhere repeat it in the checksum, so
    the checksum was probably written for another attempt at this version.

    Conforms::
        txn_id: "a", commit_txn_id: "a", catalog_managed: false
        txn_id: "a", commit_txn_id: "b", catalog_managed: true
        txn_id: null, commit_txn_id: "a", catalog_managed: false
        txn_id: "a", commit_txn_id: null, catalog_managed: false
    Violates::
        txn_id: "a", commit_txn_id: "b", catalog_managed: false
        txn_id: "a", commit_txn_id: "b", catalog_managed: null
    """
    return ~pl.col("catalog_managed").fill_null(False) & (pl.col("txn_id") != pl.col("commit_txn_id"))


@rule(
    "CRC014",
    requires=("checksum.accurate", "checksum.transactions-and-domains"),
    view=replay_differences,
    fix=DELETE_CHECKSUM,
)
def repeated_transaction_or_domain_in_checksum() -> pl.Expr:
    """A version checksum lists an application or a domain more than once.

    A version has one transaction per application and one state per domain. Writers that take them from the checksum use
    either entry.

    Conforms::
        derived_file_kind: compaction, kind: txn, difference: repeated
        derived_file_kind: checksum, kind: txn, difference: differs
    Violates::
        derived_file_kind: checksum, kind: txn, difference: repeated
        derived_file_kind: checksum, kind: domainMetadata, difference: repeated
    """
    return _differs("txn", "domainMetadata") & (pl.col("difference") == "repeated")


@rule(
    "CRC017",
    requires="log.embedded-json",
    view=checksums,
    since="current",
    divergence="S19",
    fix=DELETE_CHECKSUM_IF_READERS_FAIL,
)
def repeated_key_in_checksum() -> pl.Expr:
    """A version checksum, or JSON in one of its strings, has the same key twice in one object.

    JSON parsers keep the first value or the last one, or fail. Engines read different checksums, or cannot open the table.

    Conforms::
        repeated_key: null
    Violates::
        repeated_key: "/numFiles"
    """
    return pl.col("repeated_key").is_not_null()
