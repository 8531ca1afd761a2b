"""Tables with edge values of every type in different Parquet encodings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark.session import Writer, append, checkpoint, create, insert, run, settings, with_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NINES = "9" * 38
COLUMNS = {
    "by": "TINYINT",
    "sh": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "d9": "DECIMAL(9, 2)",
    "d18": "DECIMAL(18, 9)",
    "d38": "DECIMAL(38, 0)",
    "f38": "DECIMAL(38, 38)",
    "s": "STRING",
    "bi": "BINARY",
    "bo": "BOOLEAN",
    "da": "DATE",
    "ts": "TIMESTAMP",
    "tn": "TIMESTAMP_NTZ",
}
LOWEST = (
    "-128Y, -32768S, -2147483648, CAST('-9223372036854775808' AS BIGINT), CAST('-Infinity' AS FLOAT), "
    f"CAST('-Infinity' AS DOUBLE), -9999999.99, -999999999.999999999, CAST('-{NINES}' AS DECIMAL(38, 0)), "
    f"CAST('-0.{NINES}' AS DECIMAL(38, 38)), '', X'', false, DATE'0001-01-01', "
    "TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00.000001'"
)
HIGHEST = (
    "127Y, 32767S, 2147483647, 9223372036854775807, CAST('Infinity' AS FLOAT), CAST('Infinity' AS DOUBLE), "
    f"9999999.99, 999999999.999999999, CAST('{NINES}' AS DECIMAL(38, 0)), CAST('0.{NINES}' AS DECIMAL(38, 38)), "
    "'\U0010ffff', X'FFFFFF', true, DATE'9999-12-31', TIMESTAMP'9999-12-31 23:59:59.999999', "
    "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'"
)
BEFORE = (
    "-1Y, -1S, -1, -1, CAST('-0.0' AS FLOAT), CAST('-0.0' AS DOUBLE), -0.01, -0.000000001, -1, "
    f"CAST('0.{'0' * 37}1' AS DECIMAL(38, 38)), 'é', X'00', false, DATE'1582-10-04', "
    "TIMESTAMP'1969-12-31 23:59:59.999999', TIMESTAMP_NTZ'1582-10-15 00:00:00.000001'"
)
NOT_A_NUMBER = (
    "0Y, 0S, 0, 0, CAST('NaN' AS FLOAT), CAST('NaN' AS DOUBLE), 0, 0, 0, 0, 'a', X'61', NULL, DATE'1970-01-01', "
    "TIMESTAMP'1900-01-01 00:00:00.000999', TIMESTAMP_NTZ'1969-12-31 23:59:59.000001'"
)
NULLS = ", ".join(["NULL"] * len(COLUMNS))
LISTED = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
ROWS = (LOWEST, HIGHEST, BEFORE, NOT_A_NUMBER, NULLS)


def edge_values(spark: SparkSession, path: str) -> None:
    """One file with all edge rows, and one file per edge row."""
    create(spark, path, f"id INT, {LISTED}")
    all_rows = " UNION ALL ".join(
        f"SELECT {number}, {', '.join(_to_typed_values(row))}" for number, row in enumerate(ROWS)
    )
    run(spark, path, f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM ({all_rows})")
    insert(spark, path, *(f"({number}, {row})" for number, row in enumerate(ROWS)))
    checkpoint(spark, path)


def edge_values_nested(spark: SparkSession, path: str) -> None:
    """Edge values below a struct, an array and a map; null and empty structs, arrays and maps."""
    create(
        spark,
        path,
        f"id INT, st STRUCT<{', '.join(f'{name}: {kind}' for name, kind in COLUMNS.items())}>, "
        "li ARRAY<STRUCT<d: DOUBLE, s: STRUCT<x: DECIMAL(38, 38)>>>, m MAP<TIMESTAMP, ARRAY<MAP<DATE, BINARY>>>, "
        "deep STRUCT<a: STRUCT<b: STRUCT<c: INT, l: ARRAY<ARRAY<INT>>>>>",
    )
    pairs = [f"named_struct({', '.join(_to_named_struct_arguments(row))})" for row in ROWS[:4]]
    full = (
        "array(named_struct('d', CAST('NaN' AS DOUBLE), 's', named_struct('x', NULL)), NULL), "
        "map(TIMESTAMP'1500-01-01 00:00:00', array(map(DATE'1582-10-04', X'00'), NULL)), "
        "named_struct('a', named_struct('b', named_struct('c', 1, 'l', array(array(1, NULL), NULL, array()))))"
    )
    others = (
        full,
        "array(), map(), named_struct('a', NULL)",
        "NULL, NULL, named_struct('a', named_struct('b', NULL))",
        "array(NULL), map(TIMESTAMP'2024-01-01 00:00:00', NULL), NULL",
    )
    for number, (struct, rest) in enumerate(zip(pairs, others, strict=True)):
        run(spark, path, f"INSERT INTO {{t}} SELECT {number}, {struct}, {rest}")
    run(spark, path, "INSERT INTO {t} SELECT 4, NULL, NULL, NULL, NULL", "OPTIMIZE {t}")
    checkpoint(spark, path)


def _to_typed_values(row: str) -> list[str]:
    """Return the values of a row with casts; otherwise a union widens them to a type that cannot hold them."""
    return [f"CAST({value} AS {kind})" for value, kind in zip(_split_values(row), COLUMNS.values(), strict=True)]


def _to_named_struct_arguments(row: str) -> list[str]:
    """Return the values of a row as arguments of `named_struct`."""
    return [f"'{name}', {value}" for name, value in zip(COLUMNS, _split_values(row), strict=True)]


def _split_values(row: str) -> list[str]:
    """Split a row into values; commas in parentheses do not separate values."""
    values, depth = [""], 0
    for character in row:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            values.append("")
        else:
            values[-1] += character
    return [value.strip() for value in values]


def strings_at_the_truncation_limit(spark: SparkSession, path: str) -> None:
    """Strings of 31, 32 and 33 characters that end in the last characters of a plane; one file for each and one for
    all."""
    create(spark, path, "s STRING, st STRUCT<s: STRING>")
    last = [chr(point) for point in (0x61, 0x7F, 0x7FF, 0xD7FF, 0xFFFD, 0xFFFF, 0x10000, 0x10FFFF)]
    texts = [f"{'a' * (length - 2)}{each}{each}" for length in (31, 32, 33, 34) for each in last]
    texts += [chr(0xFFFF) * 33, chr(0x10FFFF) * 33, chr(0x10FFFF) * 32, "a" * 32, "a" * 33]
    for group in (texts, *([each] for each in texts[-13:])):
        values = " UNION ALL ".join(f"SELECT '{each}', named_struct('s', '{each}')" for each in group)
        run(spark, path, f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM ({values})")
    checkpoint(spark, path)


def not_a_number(spark: SparkSession, path: str) -> None:
    """Files with only NaN, NaN with other values and with nulls, and both zeros."""
    create(spark, path, "d DOUBLE, f FLOAT")
    nan = "(CAST('NaN' AS DOUBLE), CAST('NaN' AS FLOAT))"
    for rows in (nan, f"{nan}, (1, 1)", f"{nan}, (NULL, NULL)", "(-0.0D, CAST(-0.0D AS FLOAT)), (0.0D, 0)"):
        run(spark, path, f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
    checkpoint(spark, path)


def far_years(spark: SparkSession, path: str) -> None:
    """Years of five digits and before year 1, which ISO 8601 writes with a sign."""
    create(spark, path, "da DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ")
    insert(
        spark,
        path,
        "(DATE'-0044-03-15', TIMESTAMP'-0044-03-15 12:00:00', TIMESTAMP_NTZ'-0044-03-15 12:00:00.000001')",
        "(DATE'12345-01-01', TIMESTAMP'12345-01-01 00:00:00.123456', TIMESTAMP_NTZ'12345-01-01 00:00:00')",
        "(DATE'0000-12-31', TIMESTAMP'0000-12-31 00:00:00', TIMESTAMP_NTZ'0000-12-31 00:00:00')",
    )


def extreme_floats(spark: SparkSession, path: str) -> None:
    """The smallest and largest numbers of both widths, and floats that are printed as doubles."""
    create(spark, path, "f FLOAT, d DOUBLE")
    for low, high in (("1.4E-45", "4.9E-324"), ("3.4028235E38", "1.7976931348623157E308"), ("0.1", "0.1")):
        insert(spark, path, f"(CAST('{low}' AS FLOAT), {high}D)", f"(CAST('-{low}' AS FLOAT), -{high}D)")
    run(spark, path, "OPTIMIZE {t}")


def strings_with_escapes(spark: SparkSession, path: str) -> None:
    """Control characters, quotes and lone surrogates, which JSON escapes."""
    create(spark, path, "s STRING")
    for points in ((0,), (1, 0x1F), (0x22, 0x5C), (0x7F, 0x80), (0x2028,), (0xFEFF,), (0xFFFD,), (0x1F600,)):
        hexadecimal = "".join(map(chr, points)).encode().hex()
        insert(spark, path, f"(CAST(X'{hexadecimal}' AS STRING))")
    run(spark, path, "OPTIMIZE {t}")


def strings_that_are_not_utf8(spark: SparkSession, path: str) -> None:
    """Spark casts any bytes to a string and writes them."""
    create(spark, path, "s STRING")
    insert(spark, path, "(CAST(X'61FF62' AS STRING))")


def widened_to_decimals(spark: SparkSession, path: str) -> None:
    create(spark, path, "a TINYINT, b INT, c BIGINT, d DECIMAL(10, 2), e SMALLINT", enableTypeWidening=True)
    insert(spark, path, "(-128, -2147483648, 9223372036854775807, -99999999.99, 7)", "(NULL, NULL, NULL, NULL, NULL)")
    changes = {"a": "DECIMAL(10, 0)", "b": "DECIMAL(12, 2)", "c": "DECIMAL(38, 4)", "d": "DECIMAL(38, 20)"}
    run(spark, path, *(f"ALTER TABLE {{t}} ALTER COLUMN {name} TYPE {kind}" for name, kind in changes.items()))
    run(spark, path, "ALTER TABLE {t} ALTER COLUMN e TYPE DOUBLE")
    insert(spark, path, "(1, 1.25, 0.0001, 0.00000000000000000001, 0.5)")
    checkpoint(spark, path)


def _edge_values_with(name: str, **values: str) -> Writer:
    """Build a writer of the edge values with some Spark settings."""

    def write(spark: SparkSession, path: str) -> None:
        with with_settings(spark, {key.replace("__", "."): value for key, value in values.items()}):
            edge_values(spark, path)
            run(spark, path, "DELETE FROM {t} WHERE id = 2")

    write.__name__ = name
    return write


def _old_dates_with(name: str, **values: str) -> Writer:
    """Build a writer of dates and timestamps before 1582 and before 1900 with some Spark settings."""

    def write(spark: SparkSession, path: str) -> None:
        create(spark, path, "id INT, da DATE, ts TIMESTAMP")
        with with_settings(spark, {key.replace("__", "."): value for key, value in values.items()}):
            insert(
                spark,
                path,
                "(1, DATE'1500-03-01', TIMESTAMP'1500-03-01 12:00:00.123456')",
                "(2, DATE'1582-10-15', TIMESTAMP'1899-12-31 23:59:59.999999')",
                "(3, DATE'0001-01-01', TIMESTAMP'0001-01-03 00:00:00')",
                "(4, DATE'2024-02-29', TIMESTAMP'2024-02-29 01:02:03.456789')",
            )
        insert(spark, path, "(5, DATE'1500-03-01', TIMESTAMP'1500-03-01 12:00:00.123456')")

    write.__name__ = name
    return write


def legacy_lists_and_maps(spark: SparkSession, path: str) -> None:
    """Two-level arrays and maps named `map` next to the current layout, in files of one table."""
    with with_settings(spark, {"spark.sql.parquet.writeLegacyFormat": "true"}):
        edge_values_nested(spark, path)
    insert(spark, path, "(9, NULL, array(), map(), NULL)")


def many_row_groups(spark: SparkSession, path: str) -> None:
    """Small row groups and pages, so that deleted rows and bounds are in several of them."""
    create(spark, path, "id BIGINT, s STRING, d DOUBLE", enableDeletionVectors=True)
    small = {"parquet.block.size": "20000", "parquet.page.size": "2000", "parquet.page.row.count.limit": "500"}
    query = (
        "SELECT id, concat('text ', id % 1000) AS s, CASE WHEN id % 7 = 0 THEN NULL ELSE id / 3 END AS d "
        "FROM range(20000)"
    )
    with with_settings(spark, {**small, "parquet.block.size.row.check.min": "100"}):
        append(spark, path, query)
    run(spark, path, "DELETE FROM {t} WHERE id % 997 = 5", "DELETE FROM {t} WHERE id < 3000")


def compression_codecs(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, s STRING")
    for codec in ("uncompressed", "snappy", "gzip", "zstd", "lz4_raw"):
        with with_settings(spark, {"spark.sql.parquet.compression.codec": codec}):
            append(spark, path, f"SELECT id, '{codec}' AS s FROM range(100)")


def statistics_of_the_first_columns(spark: SparkSession, path: str) -> None:
    """More columns than the default limit for statistics, including nested ones."""
    names = [f"c{number}" for number in range(36)]
    create(spark, path, f"st STRUCT<x: INT, y: STRING>, {', '.join(f'{name} INT' for name in names)}")
    insert(spark, path, f"(named_struct('x', 1, 'y', 'a'), {', '.join(map(str, range(36)))})")
    run(spark, path, "ALTER TABLE {t} SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '-1')")
    insert(spark, path, f"(NULL, {', '.join(['NULL'] * 36)})")


def char_and_varchar_of_every_nesting(spark: SparkSession, path: str) -> None:
    create(spark, path, "c CHAR(5), v VARCHAR(40), st STRUCT<c: CHAR(3)>, m MAP<VARCHAR(2), CHAR(2)>")
    insert(spark, path, f"('a', '{'é' * 40}', named_struct('c', 'x'), map('k', 'v'))", "(NULL, '', NULL, map())")


def not_null_below_structs(spark: SparkSession, path: str) -> None:
    """Spark requires a non-nullable field to have a value in every row, even if its struct is null."""
    create(
        spark,
        path,
        "id BIGINT NOT NULL, st STRUCT<a: INT NOT NULL, b: STRUCT<c: INT NOT NULL>>, p STRING NOT NULL",
        "PARTITIONED BY (p)",
    )
    insert(
        spark,
        path,
        "(1, named_struct('a', 1, 'b', named_struct('c', 2)), 'x')",
        "(2, named_struct('a', 0, 'b', named_struct('c', 0)), 'y')",
    )


def not_null_within_arrays(spark: SparkSession, path: str) -> None:
    """Spark accepts such a schema only if a setting disables its enforcement."""
    with settings(spark, constraints__allowUnenforcedNotNull__enabled=True):
        create(spark, path, "id BIGINT, li ARRAY<STRUCT<a: INT NOT NULL>>, m MAP<INT, STRUCT<b: INT NOT NULL>>")
        insert(spark, path, "(1, array(named_struct('a', 1)), map(1, named_struct('b', 1)))", "(2, array(), NULL)")


def partition_columns_in_the_files(spark: SparkSession, path: str) -> None:
    create(
        spark,
        path,
        "id BIGINT, p TIMESTAMP, q DECIMAL(38, 10), r STRING",
        "PARTITIONED BY (p, q, r)",
        feature__materializePartitionColumns="supported",
        enableMaterializePartitionColumnsFeature=True,
    )
    insert(spark, path, "(1, TIMESTAMP'2024-01-02 03:04:05.123456', 1.5, 'x y'), (2, NULL, NULL, NULL)")


def variants_of_every_kind(spark: SparkSession, path: str) -> None:
    create(spark, path, "id BIGINT, v VARIANT, st STRUCT<v: VARIANT>, li ARRAY<VARIANT>")
    texts = ("1", "null", '"text"', "[1, null]", '{"a": {"b": [1.5e300]}}', "true")
    for number, text in enumerate(texts):
        value = f"parse_json('{text}')"
        insert(spark, path, f"({number}, {value}, named_struct('v', {value}), array({value}, NULL))")
    insert(spark, path, "(9, NULL, NULL, NULL)")


def variants_shredded(spark: SparkSession, path: str) -> None:
    """Files that store parts of a variant in separate columns."""
    create(spark, path, "id BIGINT, v VARIANT", enableVariantShredding=True)
    forced = {
        "spark.sql.variant.allowReadingShredded": "true",
        "spark.sql.variant.writeShredding.enabled": "true",
        "spark.sql.variant.forceShreddingSchemaForTest": "a INT, b STRING",
    }
    with with_settings(spark, forced):
        insert(spark, path, '(1, parse_json(\'{"a": 1, "b": "x", "c": true}\')), (2, parse_json(\'{"a": "no"}\'))')
        insert(spark, path, "(3, NULL), (4, parse_json('null'))")


TABLES: dict[str, Writer] = {
    each.__name__: each
    for each in (
        edge_values,
        edge_values_nested,
        strings_at_the_truncation_limit,
        not_a_number,
        far_years,
        extreme_floats,
        strings_with_escapes,
        strings_that_are_not_utf8,
        widened_to_decimals,
        _edge_values_with("timestamps_int96", spark__sql__parquet__outputTimestampType="INT96"),
        _edge_values_with("timestamps_in_milliseconds", spark__sql__parquet__outputTimestampType="TIMESTAMP_MILLIS"),
        _edge_values_with("timestamps_in_microseconds", spark__sql__parquet__outputTimestampType="TIMESTAMP_MICROS"),
        _edge_values_with("legacy_parquet", spark__sql__parquet__writeLegacyFormat="true"),
        _edge_values_with("data_pages_v2", parquet__writer__version="v2"),
        _old_dates_with(
            "legacy_calendar",
            spark__sql__parquet__datetimeRebaseModeInWrite="LEGACY",
            spark__sql__parquet__outputTimestampType="TIMESTAMP_MICROS",
        ),
        _old_dates_with(
            "legacy_calendar_int96",
            spark__sql__parquet__int96RebaseModeInWrite="LEGACY",
            spark__sql__parquet__datetimeRebaseModeInWrite="LEGACY",
            spark__sql__parquet__outputTimestampType="INT96",
        ),
        _old_dates_with(
            "legacy_calendar_in_another_zone",
            spark__sql__parquet__datetimeRebaseModeInWrite="LEGACY",
            spark__sql__session__timeZone="America/Los_Angeles",
        ),
        legacy_lists_and_maps,
        many_row_groups,
        compression_codecs,
        statistics_of_the_first_columns,
        char_and_varchar_of_every_nesting,
        not_null_below_structs,
        not_null_within_arrays,
        partition_columns_in_the_files,
        variants_of_every_kind,
        variants_shredded,
    )
}
