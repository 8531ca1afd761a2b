"""Texts of partition values."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_history.columns import parse_columns
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("partition-values")


@chapter.case(
    "null",
    "Partition values of a date and a string: plain, beyond ASCII, null and the empty string, which is null too.",
    "partition-values.serialization",
    "partition-values.empty-is-null",
)
def build_null_values() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("day", "date"), ("place", "string")], partition_by=["day", "place"])
    with table.commit("append four rows"):
        table.append([(1, 20484, "Zürich"), (2, 20484, "Zürich")], name="day=2026-01-31/place=Z%C3%BCrich/a.parquet")
        texts = {"place": ""}
        table.append([(3, None, None)], name="day=__HIVE_DEFAULT_PARTITION__/b.parquet", texts=texts)
        table.append([(4, -719162, "a b/c")], name="c.parquet")
    return table


@chapter.broken(
    "key-missing",
    "An add of a partitioned table lacks the value of one partition column.",
    "add.partition-values",
    twin="null",
    defect="the second add has no value for `place`",
)
def leave_out_a_value(files: TableFiles) -> None:
    add = json.loads(json.dumps(files.commits[1][2]))
    del add["add"]["partitionValues"]["place"]
    files.commits[1][2] = add


@dataclass(frozen=True)
class Text:
    """A legal text of a partition value."""

    name: str
    type: str
    text: str | None
    value: Any
    requires: str = "partition-values.serialization"
    bugs: tuple[str, ...] = ()


MOMENT = 1_767_225_600_000_000
BEFORE_1970 = -2_342_342_342
TEXTS = (
    *(Text(f"{kind.partition('(')[0]}-{name}", kind, text, None, "partition-values.empty-is-null")
      for kind in ("long", "string", "date", "timestamp", "boolean", "double", "decimal(9,2)", "binary")
      for name, text in (("json-null", None), ("empty-text", ""))),
    Text("integer-negative", "integer", "-7", -7),
    Text("boolean-true", "boolean", "true", True),
    Text("double-integral", "double", "5.0", 5.0),
    Text("double-exponent", "double", "1.0E10", 1e10),
    Text("double-small", "double", "1.0E-5", 1e-5),
    Text("double-nan", "double", "NaN", float("nan")),
    Text("double-infinity", "double", "Infinity", float("inf")),
    Text("double-minus-infinity", "double", "-Infinity", float("-inf")),
    Text("float-nan", "float", "NaN", float("nan")),
    Text("float-short", "float", "0.1", 0.10000000149011612),
    Text("double-minus-zero", "double", "-0.0", -0.0),
    Text("decimal-scale", "decimal(9,2)", "3.50", Decimal("3.50")),
    Text("decimal-without-zeros", "decimal(9,2)", "3.5", Decimal("3.50")),
    Text("decimal-integral", "decimal(9,2)", "3", Decimal("3.00")),
    Text("date-first", "date", "0001-01-01", -719_162),
    Text("date-last", "date", "9999-12-31", 2_932_896),
    Text("timestamp-seconds", "timestamp", "2026-01-01 00:00:00", MOMENT, bugs=("part-003",)),
    Text("timestamp-micros", "timestamp", "2026-01-01 00:00:00.123456", MOMENT + 123_456, bugs=("part-003",)),
    Text("timestamp-iso", "timestamp", "2026-01-01T00:00:00.123456Z", MOMENT + 123_456,
         "partition-values.timestamp-in-utc", bugs=("part-003",)),
    Text("timestamp-iso-zeros", "timestamp", "2026-01-01T00:00:00.000000Z", MOMENT,
         "partition-values.timestamp-in-utc"),
    Text("timestamp-before-1970", "timestamp", "1969-12-31 23:20:57.657658", BEFORE_1970, bugs=("part-006",)),
    Text("timestamp-iso-before-1970", "timestamp", "1969-12-31T23:20:57.657658Z", BEFORE_1970,
         "partition-values.timestamp-in-utc", bugs=("part-006",)),
    Text("timestamp-ntz-before-1970", "timestamp_ntz", "1969-12-31 23:20:57.657658", BEFORE_1970, bugs=("part-006",)),
    Text("timestamp-ntz-seconds", "timestamp_ntz", "2026-01-01 00:00:00", MOMENT),
    Text("timestamp-ntz-micros", "timestamp_ntz", "2026-01-01 00:00:00.123456", MOMENT + 123_456),
    Text("string-space", "string", "a b", "a b", bugs=("path-001",)),
    Text("string-only-spaces", "string", "  ", "  "),
    Text("string-hive-default", "string", "__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
    Text("string-null-word", "string", "null", "null"),
    Text("string-slash", "string", "A/A", "A/A", bugs=("path-001",)),
    Text("string-percent", "string", "a%percent", "a%percent", bugs=("path-001",)),
    Text("string-encoded-percent", "string", "a%20b", "a%20b", bugs=("path-001",)),
    Text("string-colon", "string", "a:colon", "a:colon", bugs=("path-001",)),
    Text("string-plus", "string", "a+plus", "a+plus", bugs=("path-001",)),
    Text("string-equals", "string", "a=equal", "a=equal", bugs=("path-001",)),
    Text("string-parentheses", "string", "product 1 (beta)", "product 1 (beta)", bugs=("path-007",)),
    Text("string-quotes", "string", "it's \"so\"", "it's \"so\""),
    Text("string-backslash", "string", "a\\b", "a\\b"),
    Text("string-emoji", "string", "😀", "😀"),
    Text("string-decomposed", "string", "e\u0301", "e\u0301"),
    Text("string-newline", "string", "a\nb", "a\nb"),
    Text("string-number", "string", "007", "007"),
    Text("binary-control", "binary", "\u0001\u0002", b"\x01\x02"),
    Text("binary-letters", "binary", "abc", b"abc"),
)  # fmt: skip


def build_text(text: Text) -> WrittenTable:
    """Build a table with the text in the partition directory that Hive-style writers would use, and elsewhere."""
    table = WrittenTable([("id", "long"), ("part", text.type)], partition_by=["part"])
    folder = "__HIVE_DEFAULT_PARTITION__" if not text.text else quote(text.text, safe="")
    with table.commit("append to the partition twice"):
        table.append([(1, text.value), (2, text.value)], name=f"part={folder}/a.parquet", texts={"part": text.text})
        table.append([(3, text.value)], name="b.parquet", texts={"part": text.text})
    table.delete(lambda row: row["id"] == 3)
    return table


for each in TEXTS:
    chapter.case(
        f"text.{each.name}", f"The partition value {each.text!r} of type {each.type}.", each.requires,
        "add.partition-values-from-log", bugs=each.bugs, since="r3" if each.type == "timestamp_ntz" else "",
        predicates=each.value == each.value,
    )(lambda each=each: build_text(each))  # fmt: skip


@chapter.case(
    "directory-contradicts-log", "The directories name other values than the log, which decides.",
    "add.partition-values-from-log",
)  # fmt: skip
def build_contradiction() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "string")], partition_by=["part"])
    table.append([(1, "right")], name="part=wrong/a.parquet")
    return table


@chapter.case(
    "columns-in-files",
    "Data files store the partition columns, too.",
    "materialized-partitions.optional",
    "data-files.stored-partition-columns",
)
def build_stored_columns() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "string"), ("day", "date")], partition_by=["part", "day"])
    table.append([(1, "a", 20_000), (2, "b", None)], encoding=ParquetEncoding(partition_columns=True))
    table.append([(3, "a", 20_000)])
    return table


@chapter.case("three-columns", "Three partition columns between data columns.", "partition-values.serialization")
def build_three_columns() -> WrittenTable:
    columns = [("year", "integer"), ("id", "long"), ("month", "byte"), ("item", "string"), ("day", "date")]
    table = WrittenTable(columns, partition_by=["day", "year", "month"])
    table.append([(2026, 1, 1, "a", 20_454), (2026, 2, 1, "b", 20_455), (2025, 3, 12, None, None)])
    return table


@chapter.case(
    "only-column", "The only data column is all null, and one partition has no rows.", "partition-values.serialization"
)
def build_empty_partition() -> WrittenTable:
    table = WrittenTable([("value", "long"), ("part", "string")], partition_by=["part"])
    table.append([(None, "a"), (None, "a")])
    table.append([(1, "b")])
    table.delete(lambda row: row["part"] == "b")
    return table


@chapter.case(
    "repartitioned", "The table is replaced: a string partition column becomes an integer one.",
    "metadata.replaces-whole", "add.partition-values-from-log", bugs=("part-014",),
)  # fmt: skip
def build_repartitioned() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "string")], partition_by=["part"])
    table.append([(1, "a"), (2, "b")])
    with table.commit("replace the table"):
        for stored in list(table.live.values()):
            table.remove_file(stored)
        table.change_schema("", lambda fields: parse_columns([("id", "long"), ("part", "integer")]).fields)
    table.append([(3, 7)])
    return table


@chapter.case(
    "column-becomes-data", "The table is replaced: the partition column becomes a data column.",
    "metadata.partition-columns", bugs=("part-014",),
)  # fmt: skip
def build_column_becomes_data() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "string")], partition_by=["part"])
    table.append([(1, "a"), (2, "b")])
    with table.commit("replace the table"):
        for stored in list(table.live.values()):
            table.remove_file(stored)
        table.partition_columns = []
        table.change_schema("", lambda fields: fields)
    table.append([(3, "c")])
    return table


@chapter.case(
    "many-in-checkpoint", "Forty partitions in a checkpoint; conditions select by partition.",
    "partition-values.serialization", "checkpoint.equals-replay", bugs=("part-013",),
    where=(("part", "=", "p7"), ("part", ">=", "p38"), ("part", "is not null")),
)  # fmt: skip
def build_many_partitions() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "string")], partition_by=["part"])
    table.append([(number, f"p{number}" if number else None) for number in range(40)])
    table.checkpoint()
    return table


@chapter.case(
    "no-rows", "A partitioned table without files, and one version with rows.", "reconciliation.queries-see-live-files"
)
def build_without_rows() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "date")], partition_by=["part"])
    table.append([(1, 20_000), (2, None)])
    table.overwrite([])
    return table


@chapter.case("never-rows", "A partitioned table that never had a file.", "metadata.in-first-version")
def build_never_rows() -> WrittenTable:
    return WrittenTable([("id", "long"), ("part", "string")], partition_by=["part"])
