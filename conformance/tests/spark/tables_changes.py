"""Tables with deletion vectors or a change data feed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark.session import Writer, append, checkpoint, create, insert, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MERGE = (
    "MERGE INTO {t} t USING (SELECT * FROM VALUES (2L, 'm'), (90L, 'n') AS v(id, name)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)


def _create_numbered(spark: SparkSession, path: str, rows: int = 10, **properties: object) -> None:
    create(spark, path, "id BIGINT, name STRING", **properties)
    append(spark, path, f"SELECT id, 'a' AS name FROM range({rows})")


def deletion_vectors(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableDeletionVectors=True)
    run(
        spark,
        path,
        "DELETE FROM {t} WHERE id = 1",
        "DELETE FROM {t} WHERE id = 3",
        "UPDATE {t} SET name = 'u' WHERE id = 5",
        MERGE,
    )
    checkpoint(spark, path)
    run(spark, path, "DELETE FROM {t} WHERE id = 7")


def deletion_vectors_of_two_files(spark: SparkSession, path: str) -> None:
    """One commit writes the vectors of several data files to one file."""
    create(spark, path, "id BIGINT, p BIGINT", "PARTITIONED BY (p)", enableDeletionVectors=True)
    append(spark, path, "SELECT id, id % 3 AS p FROM range(30)")
    run(spark, path, "DELETE FROM {t} WHERE id < 9")


def deletion_vectors_purged(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableDeletionVectors=True)
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "REORG TABLE {t} APPLY (PURGE)")


def deletion_vectors_optimized(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableDeletionVectors=True)
    insert(spark, path, "(100, 'b')")
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "OPTIMIZE {t}")
    checkpoint(spark, path)


def deletion_vectors_restored(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableDeletionVectors=True)
    run(
        spark,
        path,
        "DELETE FROM {t} WHERE id = 1",
        "DELETE FROM {t} WHERE id = 2",
        "RESTORE TABLE {t} TO VERSION AS OF 2",
        "DELETE FROM {t} WHERE id = 4",
    )
    checkpoint(spark, path)


def deletion_vectors_enabled_later(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path)
    run(
        spark,
        path,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {t} WHERE id = 1",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
        "DELETE FROM {t} WHERE id = 2",
    )


def deletion_vectors_of_a_clone(spark: SparkSession, path: str) -> None:
    """The clone refers to data files and deletion vectors by absolute paths."""
    _create_numbered(spark, f"{path}-source", enableDeletionVectors=True)
    run(spark, f"{path}-source", "DELETE FROM {t} WHERE id = 1")
    run(spark, path, f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{path}-source`", "DELETE FROM {t} WHERE id = 2")
    checkpoint(spark, path)


def deletion_vectors_in_prefixed_directories(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableDeletionVectors=True, randomizeFilePrefixes=True, randomPrefixLength=4)
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "DELETE FROM {t}")


def change_data_feed(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableChangeDataFeed=True)
    run(
        spark,
        path,
        "UPDATE {t} SET name = 'u' WHERE id = 5",
        "DELETE FROM {t} WHERE id = 6",
        MERGE,
        "OPTIMIZE {t}",
        "DELETE FROM {t}",
    )


def change_data_feed_partitioned(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, p STRING", "PARTITIONED BY (p)", enableChangeDataFeed=True)
    insert(spark, path, "(1, 'a b'), (2, 'a b'), (3, NULL), (4, NULL)")
    run(spark, path, "UPDATE {t} SET id = 9 WHERE id = 1", "DELETE FROM {t} WHERE id = 3")


def change_data_feed_with_vectors(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableChangeDataFeed=True, enableDeletionVectors=True)
    run(spark, path, "UPDATE {t} SET name = 'u' WHERE id = 5", "DELETE FROM {t} WHERE id = 6", MERGE)


def change_data_feed_of_mapped_columns(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableChangeDataFeed=True, columnMapping__mode="name")
    run(
        spark,
        path,
        "ALTER TABLE {t} RENAME COLUMN name TO other",
        "UPDATE {t} SET other = 'u' WHERE id = 5",
        "DELETE FROM {t} WHERE id = 6",
    )


def change_data_feed_with_row_tracking(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableChangeDataFeed=True, enableRowTracking=True)
    run(spark, path, "UPDATE {t} SET name = 'u' WHERE id = 5", MERGE)


def change_data_feed_overwritten(spark: SparkSession, path: str) -> None:
    _create_numbered(spark, path, enableChangeDataFeed=True)
    append(spark, path, "SELECT 1L AS id, 'x' AS name", "overwrite", replaceWhere="id < 3", dataChange="true")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        deletion_vectors,
        deletion_vectors_of_two_files,
        deletion_vectors_purged,
        deletion_vectors_optimized,
        deletion_vectors_restored,
        deletion_vectors_enabled_later,
        deletion_vectors_of_a_clone,
        deletion_vectors_in_prefixed_directories,
        change_data_feed,
        change_data_feed_partitioned,
        change_data_feed_with_vectors,
        change_data_feed_of_mapped_columns,
        change_data_feed_with_row_tracking,
        change_data_feed_overwritten,
    )
}
