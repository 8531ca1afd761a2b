"""Tables with table features: column mapping, row tracking, clustering, generated values, type widening, all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark.session import Writer, age_log_files, append, checkpoint, create, insert, run, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _set(**properties: object) -> str:
    texts = ", ".join(f"'delta.{name.replace('__', '.')}' = '{value}'" for name, value in properties.items())
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ({texts})"


def column_mapping_name(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, `a b` STRING, gone INT, s STRUCT<x: INT, y: INT>", columnMapping__mode="name")
    insert(spark, path, "(1, 'a', 1, named_struct('x', 1, 'y', 2))")
    run(
        spark,
        path,
        "ALTER TABLE {t} RENAME COLUMN `a b` TO `b,;{}()=`",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} DROP COLUMN s.x",
        "ALTER TABLE {t} ADD COLUMNS (gone STRING AFTER id)",
    )
    insert(spark, path, "(2, 'new', 'b', named_struct('y', 3))")
    run(spark, path, "DELETE FROM {t} WHERE id = 1")
    checkpoint(spark, path)


def column_mapping_id(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, p STRING, q INT", "PARTITIONED BY (p)", columnMapping__mode="id")
    insert(spark, path, "(1, 'é /', 1)")
    run(spark, path, "ALTER TABLE {t} RENAME COLUMN p TO part", "ALTER TABLE {t} DROP COLUMN q")
    insert(spark, path, "(2, 'x')")
    run(spark, path, "REPLACE TABLE {t} (id STRING) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'id')")
    insert(spark, path, "('x')")


def column_mapping_upgraded(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, p STRING", "PARTITIONED BY (p)")
    insert(spark, path, "(1, 'a')")
    run(spark, path, _set(columnMapping__mode="name"), "ALTER TABLE {t} RENAME COLUMN id TO key")
    insert(spark, path, "(2, 'b')")
    run(spark, path, "DELETE FROM {t} WHERE p = 'a'")


def column_mapping_removed(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, p STRING", columnMapping__mode="name")
    insert(spark, path, "(1, 'a')")
    run(spark, path, _set(columnMapping__mode="none"))
    insert(spark, path, "(2, 'b')")


def row_tracking(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, name STRING", enableRowTracking=True)
    insert(spark, path, "(1, 'a'), (2, 'b')", "(3, 'c')")
    run(
        spark,
        path,
        "UPDATE {t} SET name = 'x' WHERE id = 1",
        "OPTIMIZE {t}",
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 'm'), (9, 'n') AS v(id, name)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    checkpoint(spark, path)
    run(spark, path, "RESTORE TABLE {t} TO VERSION AS OF 2")
    insert(spark, path, "(4, 'd')")


def row_tracking_backfilled(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT")
    insert(spark, path, "(1), (2)", "(3)")
    run(spark, path, _set(enableRowTracking="true"))
    insert(spark, path, "(4)")
    run(spark, path, "DELETE FROM {t} WHERE id = 1", _set(enableRowTracking="false"))
    insert(spark, path, "(5)")


def row_tracking_cloned(spark: SparkSession, path: str) -> None:
    create(spark, f"{path}-source", "id BIGINT", enableRowTracking=True)
    insert(spark, f"{path}-source", "(1), (2)", "(3)")
    run(spark, path, f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{path}-source`")
    insert(spark, path, "(4)")


def clustering(spark: SparkSession, path: str) -> None:
    create(spark, path, "a INT, b STRING, c INT", "CLUSTER BY (a, b)")
    insert(spark, path, "(1, 'x', 1)", "(2, 'y', 2)")
    run(spark, path, "OPTIMIZE {t}", "ALTER TABLE {t} CLUSTER BY (c)")
    checkpoint(spark, path)
    run(spark, path, "ALTER TABLE {t} CLUSTER BY NONE")
    insert(spark, path, "(3, 'z', 3)")


def clustering_by_mapped_columns(spark: SparkSession, path: str) -> None:
    create(spark, path, "a INT, s STRUCT<x: INT>", "CLUSTER BY (s.x)", columnMapping__mode="name")
    insert(spark, path, "(1, named_struct('x', 1))")
    run(spark, path, "ALTER TABLE {t} RENAME COLUMN s TO `t.u`", "OPTIMIZE {t}")


def in_commit_timestamps(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", enableInCommitTimestamps=True)
    insert(spark, path, "(1)", "(2)")
    checkpoint(spark, path)
    insert(spark, path, "(3)")


def in_commit_timestamps_later(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT")
    insert(spark, path, "(1)")
    run(spark, path, _set(enableInCommitTimestamps="true"))
    insert(spark, path, "(2)")
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')")
    insert(spark, path, "(3)")
    run(spark, path, _set(enableInCommitTimestamps="true"))
    insert(spark, path, "(4)")


def generated_columns(spark: SparkSession, path: str) -> None:
    from delta.tables import DeltaTable

    (
        DeltaTable.create(spark)
        .location(path)
        .addColumn("id", "BIGINT")
        .addColumn("ts", "TIMESTAMP")
        .addColumn("day", "DATE", generatedAlwaysAs="CAST(ts AS DATE)")
        .partitionedBy("day")
        .execute()
    )
    append(spark, path, "SELECT 1L AS id, TIMESTAMP'2024-01-02 03:04:05' AS ts")
    append(spark, path, "SELECT 2L AS id, CAST(NULL AS TIMESTAMP) AS ts")


def identity_columns(spark: SparkSession, path: str) -> None:
    from delta.tables import DeltaTable, IdentityGenerator
    from pyspark.sql.types import LongType

    (
        DeltaTable.create(spark)
        .location(path)
        .addColumn("always", LongType(), generatedAlwaysAs=IdentityGenerator())
        .addColumn("down", LongType(), generatedByDefaultAs=IdentityGenerator(start=100, step=-7))
        .addColumn("name", "STRING")
        .execute()
    )
    append(spark, path, "SELECT 'a' AS name")
    append(spark, path, "SELECT 'b' AS name UNION ALL SELECT 'c'")
    run(spark, path, "ALTER TABLE {t} ALTER COLUMN always SYNC IDENTITY")


def column_defaults(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "a INT, b STRING DEFAULT 'it''s', c DATE DEFAULT current_date()",
        feature__allowColumnDefaults="supported",
    )
    run(
        spark,
        path,
        "INSERT INTO {t} (a) VALUES (1)",
        "ALTER TABLE {t} ALTER COLUMN b DROP DEFAULT",
        "ALTER TABLE {t} ALTER COLUMN a SET DEFAULT 7",
    )
    insert(spark, path, "(DEFAULT, 'x', NULL)")


def type_widening(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "a TINYINT, b SMALLINT, c INT, d FLOAT, e DECIMAL(5, 2), f DATE, s STRUCT<x: SMALLINT>, l ARRAY<TINYINT>, "
        "m MAP<SMALLINT, ARRAY<SMALLINT>>, p TINYINT",
        "PARTITIONED BY (p)",
        enableTypeWidening=True,
        feature__timestampNtz="supported",
    )
    row = "1, 2, 3, 0.5, 1.25, DATE'2024-01-02', named_struct('x', 1), array(1), map(1, array(2)), 1"
    insert(spark, path, f"({row})")
    changes = {
        "a": "INT",
        "b": "BIGINT",
        "c": "DOUBLE",
        "d": "DOUBLE",
        "e": "DECIMAL(10, 4)",
        "f": "TIMESTAMP_NTZ",
        "s.x": "INT",
        "l.element": "INT",
        "m.key": "INT",
        "m.value.element": "INT",
        "p": "SMALLINT",
    }
    run(
        spark,
        path,
        *(f"ALTER TABLE {{t}} ALTER COLUMN {name} TYPE {kind}" for name, kind in changes.items()),
        "ALTER TABLE {t} ALTER COLUMN a TYPE BIGINT",
    )
    insert(spark, path, f"({row})")
    checkpoint(spark, path)


def _iceberg(version: int) -> Writer:
    def write(spark: SparkSession, path: str) -> None:
        properties = {f"enableIcebergCompatV{version}": True, "columnMapping__mode": "name"}
        create(
            spark,
            path,
            "id BIGINT, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>, p STRING"
            if version > 1
            else "id BIGINT, p STRING",
            "PARTITIONED BY (p)",
            **properties,
        )
        value = "array(named_struct('x', 1)), map('k', 1), " if version > 1 else ""
        insert(spark, path, f"(1, {value}'a')", f"(2, {value}NULL)")
        run(spark, path, "DELETE FROM {t} WHERE id = 1")

    return write


def feature_flags(spark: SparkSession, path: str) -> None:
    names = ("domainMetadata", "vacuumProtocolCheck", "checkpointProtection", "materializePartitionColumns")
    create(
        spark, path, "id BIGINT, p STRING", "PARTITIONED BY (p)", **{f"feature__{name}": "supported" for name in names}
    )
    insert(spark, path, "(1, 'a')")


def feature_dropped(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", enableDeletionVectors=True)
    append(spark, path, "SELECT id FROM range(5)")
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "ALTER TABLE {t} DROP FEATURE deletionVectors")
    insert(spark, path, "(9)")


def feature_dropped_with_history(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "id BIGINT",
        checkpointPolicy="v2",
        dropFeatureTruncateHistory__retentionDuration="interval 0 hours",
        logRetentionDuration="interval 0 hours",
        deletedFileRetentionDuration="interval 0 hours",
    )
    insert(spark, path, "(1)")
    checkpoint(spark, path)
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointPolicy' = 'classic')")
    drop = "ALTER TABLE {t} DROP FEATURE v2Checkpoint TRUNCATE HISTORY"
    try:
        run(spark, path, drop)
    except Exception as error:  # the first call only prepares the drop
        if "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD" not in str(error):
            raise
        age_log_files(spark, path)
        run(spark, path, drop)
    insert(spark, path, "(2)")


def writer_feature_dropped(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", enableInCommitTimestamps=True)
    insert(spark, path, "(1)")
    run(spark, path, "ALTER TABLE {t} DROP FEATURE inCommitTimestamp")
    insert(spark, path, "(2)")


def every_feature(spark: SparkSession, path: str) -> None:
    flags: dict[str, Any] = {
        f"feature__{name}": "supported"
        for name in (
            "allowColumnDefaults",
            "checkConstraints",
            "generatedColumns",
            "timestampNtz",
            "variantType",
            "vacuumProtocolCheck",
            "identityColumns",
        )
    }
    create(
        spark,
        path,
        "id BIGINT, name STRING DEFAULT 'x', n INT, p STRING",
        "CLUSTER BY (p)",
        enableDeletionVectors=True,
        enableRowTracking=True,
        enableChangeDataFeed=True,
        enableTypeWidening=True,
        enableInCommitTimestamps=True,
        columnMapping__mode="name",
        checkpointPolicy="v2",
        checkpointInterval=3,
        **flags,
    )
    insert(spark, path, "(1, 'a', 1, 'p'), (2, 'b', 2, 'q'), (3, 'c', 3, 'q')")
    with settings(spark, checkpointV2__topLevelFileFormat="json"):
        run(
            spark,
            path,
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)",
            "DELETE FROM {t} WHERE id = 1",
            "UPDATE {t} SET name = 'u' WHERE id = 2",
            "ALTER TABLE {t} RENAME COLUMN n TO m",
            "ALTER TABLE {t} ALTER COLUMN m TYPE BIGINT",
            "MERGE INTO {t} t USING (SELECT * FROM VALUES (3L), (4L) AS v(id)) s ON t.id = s.id "
            "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name, m, p) VALUES (s.id, 'm', 9, 'r')",
            "OPTIMIZE {t}",
        )


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        column_mapping_name,
        column_mapping_id,
        column_mapping_upgraded,
        column_mapping_removed,
        row_tracking,
        row_tracking_backfilled,
        row_tracking_cloned,
        clustering,
        clustering_by_mapped_columns,
        in_commit_timestamps,
        in_commit_timestamps_later,
        generated_columns,
        identity_columns,
        column_defaults,
        type_widening,
        feature_flags,
        feature_dropped,
        feature_dropped_with_history,
        writer_feature_dropped,
        every_feature,
    )
} | {f"iceberg_compat_v{version}": _iceberg(version) for version in (1, 2, 3)}
