"""Tables with all kinds of checkpoints, and with log cleanup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark.session import Writer, age_log_files, append, checkpoint, create, insert, run, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _write_history(spark: SparkSession, path: str, **properties: object) -> None:
    """Write adds, tombstones, a transaction and a partition, with a checkpoint every second version."""
    create(spark, path, "id BIGINT, name STRING, p STRING", "PARTITIONED BY (p)", checkpointInterval=2, **properties)
    insert(spark, path, "(1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', NULL)")
    append(spark, path, "SELECT 4L AS id, 'd' AS name, 'x' AS p", txnAppId="app", txnVersion="1")
    run(spark, path, "DELETE FROM {t} WHERE id = 2")
    insert(spark, path, "(5, NULL, 'z')", "(6, 'f', 'z')")


def checkpoint_classic(spark: SparkSession, path: str) -> None:
    _write_history(spark, path)


def checkpoint_multipart(spark: SparkSession, path: str) -> None:
    with settings(spark, checkpoint__partSize=2):
        _write_history(spark, path)


def checkpoint_v2_json(spark: SparkSession, path: str) -> None:
    with settings(spark, checkpointV2__topLevelFileFormat="json"):
        _write_history(spark, path, checkpointPolicy="v2")


def checkpoint_v2_parquet(spark: SparkSession, path: str) -> None:
    with settings(spark, checkpointV2__topLevelFileFormat="parquet"):
        _write_history(spark, path, checkpointPolicy="v2")


def checkpoint_v2_sidecars(spark: SparkSession, path: str) -> None:
    with settings(spark, checkpoint__partSize=2, checkpointV2__topLevelFileFormat="json"):
        _write_history(spark, path, checkpointPolicy="v2", enableDeletionVectors=True)


def checkpoint_v2_then_classic(spark: SparkSession, path: str) -> None:
    _write_history(spark, path, checkpointPolicy="v2")
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointPolicy' = 'classic')")
    insert(spark, path, "(7, 'g', 'z')", "(8, 'h', 'z')")


def checkpoint_struct_statistics(spark: SparkSession, path: str) -> None:
    _write_history(spark, path, checkpoint__writeStatsAsStruct=True, checkpoint__writeStatsAsJson=False)


def checkpoint_json_statistics(spark: SparkSession, path: str) -> None:
    _write_history(spark, path, checkpoint__writeStatsAsStruct=False, checkpoint__writeStatsAsJson=True)


def checkpoint_no_statistics(spark: SparkSession, path: str) -> None:
    _write_history(spark, path, checkpoint__writeStatsAsStruct=False, checkpoint__writeStatsAsJson=False)


def checkpoint_at_creation(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT")
    checkpoint(spark, path)


def checkpoint_of_every_action(spark: SparkSession, path: str) -> None:
    """Active and removed domains, transactions, tombstones with and without vectors, mapped columns."""
    create(
        spark,
        path,
        "id BIGINT, name STRING",
        "CLUSTER BY (name)",
        enableRowTracking=True,
        enableDeletionVectors=True,
        columnMapping__mode="id",
    )
    append(spark, path, "SELECT id, 'a' AS name FROM range(6)", txnAppId="app", txnVersion="1")
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id = 2", "ALTER TABLE {t} CLUSTER BY NONE")
    checkpoint(spark, path)
    run(spark, path, "DELETE FROM {t} WHERE id = 3")


def log_cleaned_up(spark: SparkSession, path: str) -> None:
    """Commits before a checkpoint are deleted.

    Spark deletes log files by modification time, so the test first makes the files older.
    """
    create(
        spark,
        path,
        "id BIGINT",
        checkpointInterval=3,
        logRetentionDuration="interval 1 days",
        deletedFileRetentionDuration="interval 1 days",
    )
    insert(spark, path, "(1)", "(2)", "(3)", "(4)")
    age_log_files(spark, path)
    insert(spark, path, "(5)", "(6)")


def log_cleaned_up_v2(spark: SparkSession, path: str) -> None:
    """Like `log_cleaned_up`, with sidecars."""
    with settings(spark, checkpointV2__topLevelFileFormat="json"):
        create(
            spark,
            path,
            "id BIGINT",
            checkpointInterval=3,
            checkpointPolicy="v2",
            logRetentionDuration="interval 1 days",
            deletedFileRetentionDuration="interval 1 days",
        )
        insert(spark, path, "(1)", "(2)", "(3)", "(4)", "(5)")
        age_log_files(spark, path)
        insert(spark, path, "(6)", "(7)", "(8)", "(9)")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        checkpoint_classic,
        checkpoint_multipart,
        checkpoint_v2_json,
        checkpoint_v2_parquet,
        checkpoint_v2_sidecars,
        checkpoint_v2_then_classic,
        checkpoint_struct_statistics,
        checkpoint_json_statistics,
        checkpoint_no_statistics,
        checkpoint_at_creation,
        checkpoint_of_every_action,
        log_cleaned_up,
        log_cleaned_up_v2,
    )
}
