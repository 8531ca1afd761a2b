"""Tables with special partition values, statistics and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark.session import Writer, append, checkpoint, create, insert, run, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY_TYPE = (
    "by TINYINT, sh SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, de DECIMAL(20, 4), s STRING, bi BINARY, "
    "bo BOOLEAN, da DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ"
)
USUAL = (
    "127Y, 32767S, 1, 9007199254740993, CAST('0.1' AS FLOAT), CAST('NaN' AS DOUBLE), 12345678901234.5678, 'a', "
    "X'6162', true, DATE'2024-02-29', TIMESTAMP'2024-01-02 03:04:05.123456', TIMESTAMP_NTZ'2024-01-02 03:04:05.123456'"
)
EXTREME = (
    "-128Y, -32768S, -1, -9007199254740993, CAST('-Infinity' AS FLOAT), -0.0D, -0.0001, 'e%2F=:/\\\\ b', X'', "
    "false, DATE'0001-01-01', TIMESTAMP'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
)
NULLS = ", ".join(["NULL"] * 13)
SEPARATORS = ("'a/b'", "'a=b'", "'a:b'", "'#?&+'", "'\\''", "'\\t'", "'\"{}\\\\|<>^`'")
ODD = ("NULL", "''", "' '", "'a b'", "'a%20b'", "'é'", "'日本😀'", *SEPARATORS)


def partitioned(spark: SparkSession, path: str) -> None:
    """A null, an empty string, and characters that paths, URIs and Hive-style directories treat specially."""
    create(spark, path, "id BIGINT, s STRING", "PARTITIONED BY (s)")
    insert(spark, path, ", ".join(f"({index}, {text})" for index, text in enumerate(ODD)))
    run(spark, path, "DELETE FROM {t} WHERE s = 'a=b'")
    checkpoint(spark, path)
    run(spark, path, "DELETE FROM {t} WHERE s = '日本😀'")


def partitioned_by_every_type(spark: SparkSession, path: str) -> None:
    names = "by, sh, i, l, f, d, de, s, bi, bo, da, ts, tn"
    create(spark, path, f"id BIGINT, {EVERY_TYPE}", f"PARTITIONED BY ({names})")
    insert(spark, path, ", ".join(f"({index}, {row})" for index, row in enumerate((USUAL, EXTREME, NULLS))))
    checkpoint(spark, path)
    run(spark, path, "DELETE FROM {t} WHERE id = 1")


def partitioned_by_binary(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, bi BINARY", "PARTITIONED BY (bi)")
    insert(spark, path, "(1, X'61FE'), (2, X'62')")


def partitioned_by_timestamp_in_another_zone(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, ts TIMESTAMP", "PARTITIONED BY (ts)")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        insert(spark, path, "(1, TIMESTAMP'2024-01-02 03:04:05.5'), (2, TIMESTAMP'2024-07-02 03:04:05')")
        with settings(spark, write__utcTimestampPartitionValues=False):
            insert(spark, path, "(3, TIMESTAMP'2024-01-02 03:04:05.123456')")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def partitioned_in_another_case(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "`Id` BIGINT, `Part Key` STRING, `Other` INT",
        "PARTITIONED BY (`part key`, `OTHER`)",
        columnMapping__mode="name",
    )
    insert(spark, path, "(1, 'x', 2)")


def every_type(spark: SparkSession, path: str) -> None:
    create(spark, path, EVERY_TYPE)
    insert(spark, path, f"({USUAL}), ({EXTREME}), ({NULLS})", f"({NULLS})")
    checkpoint(spark, path)


def long_strings(spark: SparkSession, path: str) -> None:
    """Bounds are truncated at 32 characters; one string is truncated before a supplementary character."""
    create(spark, path, "s STRING")
    insert(spark, path, f"('{'a' * 40}'), ('{'é' * 40}')", f"('{'x' * 31}😀😀')", f"('{chr(0x10FFFF) * 40}')")


def nested(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "id BIGINT, s STRUCT<a: INT, b: STRUCT<c: STRING, `d.e`: DOUBLE>>, l ARRAY<STRUCT<x: INT>>, "
        "m MAP<STRING, ARRAY<MAP<INT, STRING>>>",
        columnMapping__mode="name",
    )
    insert(
        spark,
        path,
        "(1, named_struct('a', 1, 'b', named_struct('c', 'x', 'd.e', 0.5D)), array(named_struct('x', 1)), "
        "map('k', array(map(1, 'v'))))",
        "(2, NULL, NULL, NULL)",
    )
    run(spark, path, "ALTER TABLE {t} ADD COLUMNS (l.element.y STRING)", "ALTER TABLE {t} RENAME COLUMN s.b TO bb")
    checkpoint(spark, path)


def statistics_columns(spark: SparkSession, path: str) -> None:
    create(spark, path, "a INT, s STRUCT<x: INT, y: STRING>, c STRING", dataSkippingStatsColumns="s.x,c")
    insert(spark, path, "(1, named_struct('x', 1, 'y', 'q'), 'c')")
    checkpoint(spark, path)


def no_statistics_columns(spark: SparkSession, path: str) -> None:
    create(spark, path, "a INT, c STRING", dataSkippingNumIndexedCols=0)
    insert(spark, path, "(1, 'c')")
    checkpoint(spark, path)


def statistics_off(spark: SparkSession, path: str) -> None:
    with settings(spark, stats__collect=False):
        create(spark, path, "a INT, c STRING")
        insert(spark, path, "(1, 'c')")
        run(spark, path, "DELETE FROM {t}")
        insert(spark, path, "(2, 'c')")
        checkpoint(spark, path)


def void_column(spark: SparkSession, path: str) -> None:
    append(spark, path, "SELECT 1L AS id, NULL AS nothing")
    append(spark, path, "SELECT 2L AS id")


def char_and_varchar(spark: SparkSession, path: str) -> None:
    create(spark, path, "c CHAR(5), v VARCHAR(5), l ARRAY<VARCHAR(3)>, p CHAR(3)", "PARTITIONED BY (p)")
    insert(spark, path, "('a', 'b', array('xyz'), 'p')")


def timestamp_ntz(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT")
    insert(spark, path, "(1)")
    run(
        spark,
        path,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')",
        "ALTER TABLE {t} ADD COLUMNS (t TIMESTAMP_NTZ)",
    )
    insert(spark, path, "(2, TIMESTAMP_NTZ'1582-10-04 00:00:00.000001')")


def variant(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, v VARIANT")
    insert(spark, path, '(1, parse_json(\'{"a": [1, null, "x"]}\')), (2, NULL)', "(3, parse_json('1.5'))")
    checkpoint(spark, path)


def variant_shredded(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, v VARIANT", enableVariantShredding=True)
    insert(spark, path, "(1, parse_json('{\"a\": 1}'))")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        partitioned,
        partitioned_by_every_type,
        partitioned_by_binary,
        partitioned_by_timestamp_in_another_zone,
        partitioned_in_another_case,
        every_type,
        long_strings,
        nested,
        statistics_columns,
        no_statistics_columns,
        statistics_off,
        void_column,
        char_and_varchar,
        timestamp_ntz,
        variant,
        variant_shredded,
    )
}
