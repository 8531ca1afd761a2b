"""Tables without table features: legacy protocol versions and common operations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark.session import Writer, append, checkpoint, create, insert, run, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plain(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, name STRING")
    insert(spark, path, "(1, 'a'), (2, 'b')", "(3, NULL)")
    run(spark, path, "DELETE FROM {t} WHERE id = 1", "UPDATE {t} SET name = 'c' WHERE id = 3")


def empty(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT")


def no_columns(spark: SparkSession, path: str) -> None:
    from delta.tables import DeltaTable

    DeltaTable.create(spark).location(path).execute()


def overwritten(spark: SparkSession, path: str) -> None:
    append(spark, path, "SELECT 1L AS id")
    append(spark, path, "SELECT 2L AS id", "overwrite")
    append(spark, path, "SELECT 3L AS id", "overwrite", overwriteSchema="true", userMetadata="third")


def deleted_completely(spark: SparkSession, path: str) -> None:
    append(spark, path, "SELECT id FROM range(3)")
    run(spark, path, "DELETE FROM {t}")
    checkpoint(spark, path)


def merged(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, name STRING")
    insert(spark, path, "(1, 'a'), (2, 'b')")
    run(
        spark,
        path,
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 'B'), (3, 'C') AS v(id, name)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )


def schema_evolution(spark: SparkSession, path: str) -> None:
    append(spark, path, "SELECT 1L AS id")
    append(spark, path, "SELECT 2L AS id, 'x' AS added", mergeSchema="true")
    run(spark, path, "ALTER TABLE {t} ADD COLUMNS (s STRUCT<a: INT, b: ARRAY<STRING>> COMMENT 'a struct' FIRST)")
    insert(spark, path, "(named_struct('a', 1, 'b', array('p', NULL)), 3, 'y')")


def replaced(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, p STRING", "PARTITIONED BY (p)")
    insert(spark, path, "(1, 'a')")
    run(spark, path, "REPLACE TABLE {t} USING delta AS SELECT 'x' AS other")
    run(spark, path, "CREATE OR REPLACE TABLE {t} USING delta PARTITIONED BY (n) AS SELECT 3 AS m, 5 AS n")
    insert(spark, path, "(4, 5)")


def replace_where(spark: SparkSession, path: str) -> None:
    append(spark, path, "SELECT id, id % 2 AS p FROM range(4)")
    append(spark, path, "SELECT 7L AS id, 1L AS p", "overwrite", replaceWhere="p = 1")


def dynamic_overwrite(spark: SparkSession, path: str) -> None:
    spark.sql("SELECT id, id % 2 AS p FROM range(4)").write.format("delta").partitionBy("p").save(path)
    append(spark, path, "SELECT 9L AS id, 0L AS p", "overwrite", partitionOverwriteMode="dynamic")


def restored(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT")
    insert(spark, path, "(1)", "(2)")
    run(spark, path, "RESTORE TABLE {t} TO VERSION AS OF 1")
    insert(spark, path, "(3)")


def optimized(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, z BIGINT")
    insert(spark, path, "(1, 5)", "(2, 4)", "(3, 3)")
    run(spark, path, "OPTIMIZE {t}")
    insert(spark, path, "(4, 2)")
    run(spark, path, "OPTIMIZE {t} ZORDER BY (z)")


def vacuumed(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", deletedFileRetentionDuration="interval 0 hours")
    insert(spark, path, "(1)", "(2)")
    run(spark, path, "DELETE FROM {t} WHERE id = 1")
    with settings(spark, retentionDurationCheck__enabled=False):
        run(spark, path, "VACUUM {t} RETAIN 0 HOURS")
    insert(spark, path, "(3)")


def transactions(spark: SparkSession, path: str) -> None:
    append(spark, path, "SELECT 1L AS id", txnAppId="first", txnVersion="1")
    append(spark, path, "SELECT 2L AS id", txnAppId="first", txnVersion="2")
    append(spark, path, "SELECT 2L AS id", txnAppId="first", txnVersion="2")
    append(spark, path, "SELECT 3L AS id", txnAppId="second/ü", txnVersion="7")
    checkpoint(spark, path)


def streamed(spark: SparkSession, path: str) -> None:
    append(spark, f"{path}-source", "SELECT id FROM range(3)")
    for count in range(2):
        if count:
            append(spark, f"{path}-source", "SELECT 10L AS id")
        stream = spark.readStream.format("delta").load(f"{path}-source").writeStream.format("delta")
        options = {"checkpointLocation": f"{path}-progress"}
        stream.options(**options).trigger(availableNow=True).start(path).awaitTermination()


def append_only(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", appendOnly=True)
    insert(spark, path, "(1)")
    append(spark, path, "SELECT 2L AS id")
    run(spark, path, "OPTIMIZE {t}")


def properties(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT COMMENT 'a ü comment'", "COMMENT 'about'", logRetentionDuration="interval 60 days")
    run(
        spark,
        path,
        "ALTER TABLE {t} SET TBLPROPERTIES ('foo.bar' = 'ü \\' x', 'delta.randomizeFilePrefixes' = 'true')",
        "ALTER TABLE {t} UNSET TBLPROPERTIES ('foo.bar')",
        "COMMENT ON TABLE {t} IS 'other'",
    )
    insert(spark, path, "(1)")


def shallow_clone(spark: SparkSession, path: str) -> None:
    append(spark, f"{path}-source", "SELECT id, id % 2 AS p FROM range(4)", partitionBy="p")
    run(spark, path, f"CREATE TABLE {{t}} SHALLOW CLONE delta.`{path}-source`")
    run(spark, path, "DELETE FROM {t} WHERE id = 1")
    insert(spark, path, "(9, 1)")


def converted(spark: SparkSession, path: str) -> None:
    spark.sql("SELECT id, id % 2 AS p, 'x y' AS q FROM range(4)").write.partitionBy("p", "q").parquet(path)
    spark.sql(f"CONVERT TO DELTA parquet.`{path}` PARTITIONED BY (p BIGINT, q STRING)").collect()
    run(spark, path, "DELETE FROM {t} WHERE id = 2")


def protocol_1_1(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", minReaderVersion=1, minWriterVersion=1)
    insert(spark, path, "(1)")


def protocol_1_3(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", minReaderVersion=1, minWriterVersion=1)
    run(spark, path, "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)")
    insert(spark, path, "(1)")


def protocol_1_4(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", minReaderVersion=1, minWriterVersion=4, enableChangeDataFeed=True)
    insert(spark, path, "(1), (2)")
    run(spark, path, "UPDATE {t} SET id = 3 WHERE id = 2")


def protocol_2_5(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", minReaderVersion=2, minWriterVersion=5)
    insert(spark, path, "(1)")
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    insert(spark, path, "(2)")


def protocol_2_6(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", minReaderVersion=2, minWriterVersion=6)
    insert(spark, path, "(1)")


def protocol_3_7(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT", minReaderVersion=3, minWriterVersion=7)
    insert(spark, path, "(1)")


def check_constraints(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, name STRING")
    insert(spark, path, "(1, 'a')")
    run(spark, path, "ALTER TABLE {t} ADD CONSTRAINT Positive CHECK (id > 0 AND name <> '`')")
    insert(spark, path, "(2, 'b')")
    run(spark, path, "ALTER TABLE {t} DROP CONSTRAINT positive")


def not_null(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL, b: STRING> NOT NULL")
    insert(spark, path, "(1, named_struct('a', 1, 'b', NULL))")
    run(spark, path, "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL")
    insert(spark, path, "(NULL, named_struct('a', 2, 'b', 'x'))")


def invariants(spark: SparkSession, path: str) -> None:
    from pyspark.sql.types import LongType, StructField, StructType

    rule = json.dumps({"expression": {"expression": "id > 3"}})
    schema = StructType([StructField("id", LongType(), True, {"delta.invariants": rule})])
    spark.createDataFrame([(4,), (5,)], schema).write.format("delta").save(path)
    insert(spark, path, "(6)")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        plain,
        empty,
        no_columns,
        overwritten,
        deleted_completely,
        merged,
        schema_evolution,
        replaced,
        replace_where,
        dynamic_overwrite,
        restored,
        optimized,
        vacuumed,
        transactions,
        streamed,
        append_only,
        properties,
        shallow_clone,
        converted,
        protocol_1_1,
        protocol_1_3,
        protocol_1_4,
        protocol_2_5,
        protocol_2_6,
        protocol_3_7,
        check_constraints,
        not_null,
        invariants,
    )
}
