"""Features over the life of a table: enabled on an existing table, used by all operations, dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark.session import Writer, age_log_files, append, checkpoint, create, insert, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSERTED = "SELECT * FROM VALUES (2L, 'm'), (9L, 'n') AS v(id, name)"
MERGE = f"MERGE INTO {{t}} t USING ({INSERTED}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name "


def _set(property_name: str, value: object) -> str:
    return f"ALTER TABLE {{t}} SET TBLPROPERTIES ('delta.{property_name}' = '{value}')"


def identity_columns_merged(spark: SparkSession, path: str) -> None:
    """Explicit values beyond the high-water mark, which only SYNC moves; steps of both signs; a merge that inserts."""
    from delta.tables import DeltaTable, IdentityGenerator
    from pyspark.sql.types import LongType

    (
        DeltaTable.create(spark)
        .location(path)
        .addColumn("up", LongType(), generatedByDefaultAs=IdentityGenerator(start=-3, step=5))
        .addColumn("down", LongType(), generatedAlwaysAs=IdentityGenerator(start=0, step=-2))
        .addColumn("id", "BIGINT")
        .addColumn("name", "STRING")
        .execute()
    )
    run(spark, path, "INSERT INTO {t} (id, name) VALUES (1, 'a'), (2, 'b')")
    run(spark, path, "INSERT INTO {t} (up, id, name) VALUES (1001, 3, 'explicit')")
    run(spark, path, MERGE + "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)")
    run(spark, path, "ALTER TABLE {t} ALTER COLUMN up SYNC IDENTITY")
    run(spark, path, "INSERT INTO {t} (id, name) VALUES (4, 'after')")
    checkpoint(spark, path)


def generated_columns_of_every_operation(spark: SparkSession, path: str) -> None:
    from delta.tables import DeltaTable

    (
        DeltaTable.create(spark)
        .location(path)
        .addColumn("id", "BIGINT")
        .addColumn("name", "STRING")
        .addColumn("at", "TIMESTAMP")
        .addColumn("twice", "BIGINT", generatedAlwaysAs="id * 2")
        .addColumn("upper_name", "STRING", generatedAlwaysAs="UPPER(name)")
        .addColumn("year", "INT", generatedAlwaysAs="YEAR(at)")
        .partitionedBy("year")
        .execute()
    )
    append(spark, path, "SELECT id, concat('n', id) AS name, TIMESTAMP'2024-06-01 00:00:00' AS at FROM range(4)")
    run(spark, path, "UPDATE {t} SET name = 'other' WHERE id = 1")
    run(spark, path, MERGE + "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)")
    run(spark, path, "ALTER TABLE {t} ADD COLUMNS (plain STRING)")


def column_defaults_of_added_columns(spark: SparkSession, path: str) -> None:
    """A column cannot be added with a default. It gets one later, which does not change existing rows."""
    create(spark, path, "id BIGINT, name STRING")
    insert(spark, path, "(1, 'a'), (2, 'b')")
    run(
        spark,
        path,
        _set("feature.allowColumnDefaults", "supported"),
        "ALTER TABLE {t} ADD COLUMNS (n DECIMAL(5, 2), at TIMESTAMP, b BINARY)",
        "ALTER TABLE {t} ALTER COLUMN n SET DEFAULT -1.5",
        "ALTER TABLE {t} ALTER COLUMN at SET DEFAULT current_timestamp()",
        "ALTER TABLE {t} ALTER COLUMN b SET DEFAULT X'00FF'",
        "INSERT INTO {t} VALUES (3, 'c', DEFAULT, NULL, DEFAULT)",
        MERGE + "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)",
    )


def constraints_and_their_features(spark: SparkSession, path: str) -> None:
    """Constraints on nested fields and nulls in a table with feature lists, dropped with the feature."""
    create(
        spark,
        path,
        "id BIGINT, name STRING, s STRUCT<x: INT NOT NULL, `y-z`: STRING>",
        feature__checkConstraints="supported",
        appendOnly=False,
    )
    insert(spark, path, "(1, 'a', named_struct('x', 1, 'y-z', 'q'))")
    run(
        spark,
        path,
        "ALTER TABLE {t} ADD CONSTRAINT Nested_1 CHECK (s.x >= 0 AND s.`y-z` IN ('q', 'r'))",
        "ALTER TABLE {t} ADD CONSTRAINT `odd name` CHECK (name IS NULL OR length(name) < 10)",
        "INSERT INTO {t} VALUES (2, NULL, named_struct('x', 2, 'y-z', 'r'))",
        "ALTER TABLE {t} DROP CONSTRAINT nested_1",
        "ALTER TABLE {t} DROP CONSTRAINT `odd name`",
        _set("appendOnly", "true"),
        "OPTIMIZE {t}",
    )


def iceberg_compat_changed(spark: SparkSession, path: str) -> None:
    """V1 on an existing table with mapped columns; V2 with nested columns on an empty table."""
    create(spark, path, "id BIGINT, p STRING", "PARTITIONED BY (p)", columnMapping__mode="name")
    insert(spark, path, "(1, 'a')")
    run(spark, path, _set("enableIcebergCompatV1", "true"))
    insert(spark, path, "(2, NULL)")
    run(spark, path, "ALTER TABLE {t} ADD COLUMNS (n INT)", "ALTER TABLE {t} RENAME COLUMN id TO key", "OPTIMIZE {t}")
    run(spark, path, _set("enableIcebergCompatV1", "false"))


def iceberg_compat_v2_evolved(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "id BIGINT, m MAP<STRING, ARRAY<INT>>",
        columnMapping__mode="name",
        enableIcebergCompatV2=True,
        enableTypeWidening=True,
    )
    insert(spark, path, "(1, map('a', array(1)))")
    run(
        spark,
        path,
        "ALTER TABLE {t} ADD COLUMNS (l ARRAY<ARRAY<STRUCT<x: MAP<INT, STRING>>>>, n SMALLINT)",
        "ALTER TABLE {t} RENAME COLUMN m TO `m.n`",
        "INSERT INTO {t} VALUES (2, map('b', array(2)), array(array(named_struct('x', map(1, 'v')))), 3)",
        "ALTER TABLE {t} ALTER COLUMN n TYPE INT",
        "ALTER TABLE {t} DROP COLUMN l",
        "INSERT INTO {t} VALUES (3, NULL, 70000)",
    )
    checkpoint(spark, path)


def clustering_later(spark: SparkSession, path: str) -> None:
    """An unclustered table gets clustering columns, then other ones, and is optimized in between."""
    create(spark, path, "id BIGINT, s STRUCT<x: INT, `y.z`: STRING>, c DATE")
    row = "named_struct('x', 1, 'y.z', 'q'), DATE'2024-01-02'"
    insert(spark, path, f"(1, {row})")
    run(spark, path, "ALTER TABLE {t} CLUSTER BY (s.x, s.`y.z`)")
    insert(spark, path, f"(3, {row})")
    run(spark, path, "OPTIMIZE {t} FULL", "ALTER TABLE {t} CLUSTER BY (c, id)")
    run(spark, path, "DELETE FROM {t} WHERE id = 3")
    checkpoint(spark, path)


def type_widening_dropped(spark: SparkSession, path: str) -> None:
    """Appends widen types; dropping the feature rewrites the files."""
    create(spark, path, "id INT, n SMALLINT, s STRUCT<x: FLOAT>", enableTypeWidening=True)
    append(spark, path, "SELECT 1 AS id, CAST(2 AS SMALLINT) AS n, named_struct('x', CAST(1 AS FLOAT)) AS s")
    append(spark, path, "SELECT 5000000000L AS id, 70000 AS n, named_struct('x', 0.1D) AS s", mergeSchema="true")
    run(spark, path, "ALTER TABLE {t} DROP FEATURE typeWidening")


def row_tracking_suspended(spark: SparkSession, path: str) -> None:
    """Files get no ids while row tracking is suspended; it is then resumed and enabled with a backfill."""
    create(spark, path, "id BIGINT, name STRING", enableRowTracking=True)
    insert(spark, path, "(1, 'a'), (2, 'b')")
    run(spark, path, _set("enableRowTracking", "false"), _set("rowTrackingSuspended", "true"))
    insert(spark, path, "(3, 'c')")
    run(spark, path, "UPDATE {t} SET name = 'u' WHERE id = 1", _set("rowTrackingSuspended", "false"))
    run(spark, path, _set("enableRowTracking", "true"), MERGE + "WHEN NOT MATCHED THEN INSERT *")


def row_tracking_dropped(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", enableRowTracking=True)
    insert(spark, path, "(1), (2)", "(3)")
    run(spark, path, "ALTER TABLE {t} DROP FEATURE rowTracking")
    insert(spark, path, "(4)")


def in_commit_timestamps_restored(spark: SparkSession, path: str) -> None:
    """Timestamps are enabled midway; the table is restored to an earlier version, log files are dated back, and it
    is replaced."""
    create(spark, path, "id BIGINT")
    insert(spark, path, "(1)")
    run(spark, path, _set("enableInCommitTimestamps", "true"))
    insert(spark, path, "(2)")
    run(spark, path, "RESTORE TABLE {t} TO VERSION AS OF 1")
    age_log_files(spark, path)
    insert(spark, path, "(3)")
    run(
        spark,
        path,
        "REPLACE TABLE {t} (id STRING) USING delta TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
    )
    checkpoint(spark, path)


def preview_features(spark: SparkSession, path: str) -> None:
    """Preview names of features, which older tables still have."""
    names = ("variantType-preview", "variantShredding-preview", "typeWidening-preview")
    create(
        spark,
        path,
        "id SMALLINT, v VARIANT",
        enableTypeWidening=True,
        enableVariantShredding=True,
        **{f"feature__{name}": "supported" for name in names},
    )
    insert(spark, path, "(1, parse_json('{\"a\": 1}'))")
    run(spark, path, "ALTER TABLE {t} ALTER COLUMN id TYPE INT")
    insert(spark, path, "(2, NULL)")


def partition_columns_materialized(spark: SparkSession, path: str) -> None:
    """Files also store partition values once the feature is supported."""
    create(spark, path, "id BIGINT, p STRING, q INT", "PARTITIONED BY (p, q)")
    insert(spark, path, "(1, 'a', 1)")
    run(spark, path, _set("feature.materializePartitionColumns", "supported"))
    insert(spark, path, "(2, 'a', 1), (3, NULL, NULL)")
    run(spark, path, "UPDATE {t} SET q = 2 WHERE id = 2", "OPTIMIZE {t}")


def catalog_managed(spark: SparkSession, path: str) -> None:
    """A table managed by an in-memory catalog: commits are staged, then published three at a time.

    Delta Spark creates such tables only for catalogs that it knows, and for its own tests.
    """
    java: Any = spark._jvm
    commits = java.org.apache.spark.sql.delta.coordinatedcommits
    provider = getattr(getattr(commits, "CatalogOwnedCommitCoordinatorProvider$"), "MODULE$")
    provider.registerBuilder("spark_catalog", commits.InMemoryCommitCoordinatorBuilder(3))
    java.java.lang.System.setProperty("spark.testing", "true")
    try:
        spark.sql(
            f"CREATE TABLE catalog_managed (id BIGINT, name STRING) USING delta LOCATION '{path}' "
            "TBLPROPERTIES ('delta.feature.catalogManaged' = 'supported')"
        )
        for number in range(3):
            spark.sql(f"INSERT INTO catalog_managed VALUES ({number}, 'a')")
        spark.sql("UPDATE catalog_managed SET name = 'b' WHERE id = 1")
        spark.sql("DROP TABLE catalog_managed")
    finally:
        java.java.lang.System.clearProperty("spark.testing")
        provider.clearBuilders()


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        identity_columns_merged,
        generated_columns_of_every_operation,
        column_defaults_of_added_columns,
        constraints_and_their_features,
        iceberg_compat_changed,
        iceberg_compat_v2_evolved,
        clustering_later,
        type_widening_dropped,
        row_tracking_suspended,
        row_tracking_dropped,
        in_commit_timestamps_restored,
        preview_features,
        partition_columns_materialized,
        catalog_managed,
    )
}
