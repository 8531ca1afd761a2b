"""Tables whose files were written with an older schema, rewritten, cloned, converted or vacuumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark.session import Writer, age_log_files, append, checkpoint, create, insert, run, settings, with_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYTHING_CHANGES = (
    "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT",
    "ALTER TABLE {t} ALTER COLUMN st.x TYPE INT",
    "ALTER TABLE {t} ALTER COLUMN de TYPE DECIMAL(20, 4)",
    "ALTER TABLE {t} RENAME COLUMN name TO title",
    "ALTER TABLE {t} RENAME COLUMN st.y TO z",
    "ALTER TABLE {t} DROP COLUMN gone",
    "ALTER TABLE {t} ADD COLUMNS (gone DATE AFTER id, st.added STRING, li.element.added INT)",
)


def _older_schema_with(name: str, mode: str) -> Writer:
    """Build a writer of files from before columns were added, dropped, renamed and widened, with vectors; finally
    rewrite all."""

    def write(spark: SparkSession, path: str) -> None:
        create(
            spark,
            path,
            "id BIGINT, gone INT, name STRING, n SMALLINT, de DECIMAL(10, 2), f FLOAT, "
            "st STRUCT<x: TINYINT, y: STRING>, li ARRAY<STRUCT<k: INT>>, p INT",
            "PARTITIONED BY (p)",
            columnMapping__mode=mode,
            enableDeletionVectors=True,
            enableTypeWidening=True,
        )
        rows = (
            "SELECT /*+ COALESCE(1) */ id, CAST(id AS INT), concat('n', id), CAST(id AS SMALLINT), "
            "CAST(id AS DECIMAL(10, 2)), CAST(id AS FLOAT) / 3, named_struct('x', CAST(id AS TINYINT), 'y', 'q'), "
            "array(named_struct('k', 1)), CAST(id % 2 AS INT) FROM range(10)"
        )
        run(spark, path, f"INSERT INTO {{t}} {rows}", "DELETE FROM {t} WHERE id = 3", *EVERYTHING_CHANGES)
        run(spark, path, "ALTER TABLE {t} ALTER COLUMN p TYPE BIGINT", "ALTER TABLE {t} RENAME COLUMN p TO part")
        run(
            spark,
            path,
            "DELETE FROM {t} WHERE title = 'n4'",
            "INSERT INTO {t} SELECT 100, DATE'1500-01-01', 't', 4294967296, 99999999999999.9999, CAST(1 AS FLOAT), "
            "named_struct('x', 70000, 'z', 'q', 'added', 'a'), array(named_struct('k', 1, 'added', 2)), 5000000000",
            "UPDATE {t} SET n = 8589934592 WHERE id = 6",
        )
        checkpoint(spark, path)
        run(spark, path, "DELETE FROM {t} WHERE id = 5", "REORG TABLE {t} APPLY (PURGE)", "OPTIMIZE {t}")

    write.__name__ = name
    return write


def older_schema_evolved_by_merge(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, st STRUCT<a: INT>", enableChangeDataFeed=True)
    insert(spark, path, "(1, named_struct('a', 1)), (2, NULL)")
    with settings(spark, schema__autoMerge__enabled=True):
        run(
            spark,
            path,
            "MERGE INTO {t} t USING (SELECT 2L AS id, named_struct('a', 2, 'b', 'x') AS st, 1.5D AS more) s "
            "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        )
    run(spark, path, "UPDATE {t} SET more = 2 WHERE id = 1")


def mapping_enabled_on_old_files(spark: SparkSession, path: str) -> None:
    """Files from before column mapping have no field ids and are matched by name."""
    create(spark, path, "id BIGINT, `Name` STRING, st STRUCT<x: INT>", enableDeletionVectors=True)
    append(spark, path, "SELECT id, concat('n', id) AS Name, named_struct('x', CAST(id AS INT)) AS st FROM range(6)")
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    run(
        spark,
        path,
        "ALTER TABLE {t} RENAME COLUMN `Name` TO other",
        "ALTER TABLE {t} ADD COLUMNS (`Name` INT)",
        "DELETE FROM {t} WHERE id = 2",
        "INSERT INTO {t} VALUES (9, 'x', named_struct('x', 9), 9)",
    )


def converted_without_partitions(spark: SparkSession, path: str) -> None:
    """Files that Spark wrote before the log existed, with INT96 and INT64 timestamps; statistics are collected."""
    query = (
        "SELECT id, concat('n', id) AS s, TIMESTAMP'1500-01-01 00:00:00.123456' AS ts, "
        "CAST(id AS DECIMAL(38, 18)) AS de"
    )
    for kind in ("INT96", "TIMESTAMP_MICROS"):
        with with_settings(spark, {"spark.sql.parquet.outputTimestampType": kind}):
            spark.sql(f"{query} FROM range(5)").write.mode("append").parquet(path)
    spark.sql(f"CONVERT TO DELTA parquet.`{path}`").collect()
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    run(spark, path, "DELETE FROM {t} WHERE id = 2")


def converted_without_statistics(spark: SparkSession, path: str) -> None:
    spark.sql("SELECT id, id % 2 AS p FROM range(4)").write.partitionBy("p").parquet(path)
    spark.sql(f"CONVERT TO DELTA parquet.`{path}` NO STATISTICS PARTITIONED BY (p BIGINT)").collect()
    insert(spark, path, "(9, 1)")


def converted_in_another_case(spark: SparkSession, path: str) -> None:
    """Column names in files and schema differ in case; Spark finds the columns anyway."""
    spark.sql("SELECT id AS Id, 'a' AS Name FROM range(3)").coalesce(1).write.parquet(path)
    spark.sql(f"CONVERT TO DELTA parquet.`{path}`").collect()
    spark.sql("SELECT id, 'b' AS NAME FROM range(3)").coalesce(1).write.format("delta").mode("append").save(path)


def shallow_clone_of_mapped_columns(spark: SparkSession, path: str) -> None:
    create(spark, f"{path}-source", "id BIGINT, name STRING", columnMapping__mode="id", enableDeletionVectors=True)
    append(spark, f"{path}-source", "SELECT id, 'a' AS name FROM range(5)")
    run(spark, f"{path}-source", "ALTER TABLE {t} RENAME COLUMN name TO title", "DELETE FROM {t} WHERE id = 1")
    run(spark, path, f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{path}-source`", "DELETE FROM {t} WHERE id = 3")
    insert(spark, path, "(9, 'own')")


def struct_statistics_cleaned_up(spark: SparkSession, path: str) -> None:
    """Most statistics exist only as structs in a checkpoint."""
    create(
        spark,
        path,
        "id BIGINT, d DOUBLE, ts TIMESTAMP, de DECIMAL(38, 18), st STRUCT<s: STRING>, p STRING",
        "PARTITIONED BY (p)",
        enableDeletionVectors=True,
        checkpointInterval=3,
        logRetentionDuration="interval 1 days",
        deletedFileRetentionDuration="interval 1 days",
        checkpoint__writeStatsAsStruct=True,
        checkpoint__writeStatsAsJson=False,
    )
    row = "TIMESTAMP'1969-12-31 23:59:59.999999', 1.5, named_struct('s', 'x'), 'p'"
    append(
        spark,
        path,
        "SELECT id, CAST('NaN' AS DOUBLE) AS d, TIMESTAMP'2024-01-02 03:04:05.123456' AS ts, "
        "CAST(id AS DECIMAL(38, 18)) AS de, named_struct('s', repeat('é', 40)) AS st, 'q' AS p FROM range(6)",
    )
    insert(spark, path, f"(1, 1, {row})")
    run(spark, path, "DELETE FROM {t} WHERE id = 4")
    insert(spark, path, f"(2, 2, {row})")
    age_log_files(spark, path)
    insert(spark, path, f"(3, 3, {row})", f"(4, NULL, {row})")


def vacuumed_since(spark: SparkSession, path: str) -> None:
    """Files of old versions and their deletion vectors were vacuumed."""
    create(spark, path, "id BIGINT", enableDeletionVectors=True, deletedFileRetentionDuration="interval 0 hours")
    append(spark, path, "SELECT id FROM range(5)")
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id = 2")
    append(spark, path, "SELECT 9L AS id", "overwrite")
    with settings(spark, retentionDurationCheck__enabled=False):
        run(spark, path, "VACUUM {t} RETAIN 0 HOURS")
    insert(spark, path, "(3)")


def vacuumed_change_data_feed(spark: SparkSession, path: str) -> None:
    """Vacuum deletes change files together with removed files; only those of the last update remain."""
    create(spark, path, "id BIGINT", enableChangeDataFeed=True, deletedFileRetentionDuration="interval 0 hours")
    append(spark, path, "SELECT id FROM range(5)")
    run(spark, path, "UPDATE {t} SET id = 7 WHERE id = 1", "DELETE FROM {t} WHERE id = 2")
    with settings(spark, retentionDurationCheck__enabled=False):
        run(spark, path, "VACUUM {t} RETAIN 0 HOURS")
    run(spark, path, "UPDATE {t} SET id = 8 WHERE id = 3")


MERGE = (
    "MERGE INTO {t} t USING (SELECT * FROM VALUES (2L, 'm', 'y'), (3L, 'd', 'x'), (90L, 'n', 'z') AS v(id, name, p)) s "
    "ON t.id = s.id WHEN MATCHED AND s.name = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND t.id = 4 THEN UPDATE SET name = 'rest'"
)


def _history_with(name: str, **properties: object) -> Writer:
    """Build a writer that updates, merges, deletes and optimizes across partitions."""

    def write(spark: SparkSession, path: str) -> None:
        create(spark, path, "id BIGINT, name STRING, p STRING", "PARTITIONED BY (p)", **properties)
        append(
            spark,
            path,
            "SELECT id, concat('n', id) AS name, CASE WHEN id < 5 THEN 'x' END AS p FROM range(12)",
        )
        insert(spark, path, "(20, 'a', 'x'), (21, 'b', 'x')")
        run(
            spark,
            path,
            "UPDATE {t} SET name = 'u' WHERE id IN (1, 7)",
            MERGE,
            "DELETE FROM {t} WHERE id IN (0, 8)",
            "UPDATE {t} SET p = 'moved' WHERE id = 9",
            "OPTIMIZE {t}",
            "UPDATE {t} SET name = 'again' WHERE id < 6",
        )
        checkpoint(spark, path)
        run(spark, path, "DELETE FROM {t} WHERE p = 'moved'", "OPTIMIZE {t} ZORDER BY (id)")

    write.__name__ = name
    return write


def change_data_of_every_operation(spark: SparkSession, path: str) -> None:
    """Some commits have change files; the changes of others follow from adds and removes."""
    create(spark, path, "id BIGINT, d DOUBLE, li ARRAY<INT>", enableChangeDataFeed=True)
    append(spark, path, "SELECT id, CAST('NaN' AS DOUBLE) AS d, array(1) AS li FROM range(6)")
    append(spark, path, "SELECT 50L AS id, 0.0D AS d, array(2) AS li", "overwrite", replaceWhere="id > 3")
    run(
        spark,
        path,
        "UPDATE {t} SET d = -0.0D WHERE id = 1",
        "UPDATE {t} SET id = id + 1000",
        "DELETE FROM {t} WHERE id = 1002",
        "RESTORE TABLE {t} TO VERSION AS OF 1",
        "DELETE FROM {t}",
    )


def row_tracking_across_restore_and_clone(spark: SparkSession, path: str) -> None:
    create(spark, f"{path}-source", "id BIGINT", enableRowTracking=True, enableDeletionVectors=True)
    append(spark, f"{path}-source", "SELECT id FROM range(6)")
    run(spark, f"{path}-source", "UPDATE {t} SET id = 50 WHERE id = 5", "OPTIMIZE {t}")
    run(spark, path, f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{path}-source`", "UPDATE {t} SET id = 40 WHERE id = 4")
    run(spark, path, "OPTIMIZE {t}", "RESTORE TABLE {t} TO VERSION AS OF 0", "DELETE FROM {t} WHERE id = 2")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        _older_schema_with("older_schema_by_name", "name"),
        _older_schema_with("older_schema_by_id", "id"),
        older_schema_evolved_by_merge,
        mapping_enabled_on_old_files,
        converted_without_partitions,
        converted_without_statistics,
        converted_in_another_case,
        shallow_clone_of_mapped_columns,
        struct_statistics_cleaned_up,
        vacuumed_since,
        vacuumed_change_data_feed,
        _history_with("rewritten_with_row_tracking", enableRowTracking=True),
        _history_with("rewritten_with_row_tracking_and_vectors", enableRowTracking=True, enableDeletionVectors=True),
        _history_with("rewritten_with_changes", enableChangeDataFeed=True),
        _history_with("rewritten_with_changes_and_vectors", enableChangeDataFeed=True, enableDeletionVectors=True),
        _history_with("rewritten_with_changes_of_mapped_columns", enableChangeDataFeed=True, columnMapping__mode="id"),
        _history_with(
            "rewritten_with_everything",
            enableChangeDataFeed=True,
            enableDeletionVectors=True,
            enableRowTracking=True,
            columnMapping__mode="name",
        ),
        change_data_of_every_operation,
        row_tracking_across_restore_and_clone,
    )
}
