"""Statistics in the forms that engines write; each table is read with conditions."""

import json
from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("statistics")
MOMENT = 1_767_225_600_000_000
COLUMNS = [
    ("id", "long"),
    ("item", "string"),
    ("price", "decimal(9,2)"),
    ("at", "timestamp"),
    ("ratio", "double"),
    ("day", "date"),
]
STYLES: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("no statistics", {"content": "none"}),
    "only-row-count": ("only the number of rows", {"content": "rows"}),
    "without-bounds": ("no bounds", {"bounds": False}),
    "without-null-counts": ("no null counts", {"null_counts": False}),
    "tight": ("bounds that are called tight", {"tightness": "tight"}),
    "wide": ("bounds that are called wide", {"tightness": "wide"}),
    "slack": ("wide bounds that are not exact", {"tightness": "wide", "slack": True}),
    "first-column": ("statistics of the first column", {"first_columns": 1}),
    "short-strings": ("bounds of strings cut to five characters", {"string_length": 5}),
    "long-strings": ("bounds of strings that are not cut", {"string_length": None}),
    "times-spaced": ("timestamps with a space", {"times": "spaced"}),
    "times-zoned": ("timestamps with another offset", {"times": "zoned"}),
    "decimals-java": ("decimals as Java writes them", {"decimals": "java"}),
    "all-null-as-null": ("null bounds of columns that are only null", {"all_null": "null"}),
}
CONDITIONS = (
    ("id", ">=", 4), ("item", "=", "a long name of an item with forty letters"), ("item", "is null"),
    ("at", "=", MOMENT + 80_758), ("at", ">", MOMENT + 80_000), ("day", "<", 20_001), ("day", "is not null"),
)  # fmt: skip


def build_rows() -> list[list[tuple[Any, ...]]]:
    from decimal import Decimal

    price = Decimal("1.50")
    return [
        [(1, "apple", price, MOMENT, 0.5, 20_000), (2, None, None, MOMENT + 80_758, None, None)],
        [(3, "a long name of an item with forty letters", price, None, 1.5, 20_001)],
        [(4, None, None, None, None, None), (5, None, None, None, None, None)],
    ]


for name, (text, options) in STYLES.items():

    def build(options: dict[str, Any] = options) -> WrittenTable:
        table = WrittenTable(COLUMNS)
        with table.commit("append three files"):
            for rows in build_rows():
                table.append(rows, style=StatisticsStyle(**options))
        return table

    chapter.case(
        name, f"Files with {text}.", "statistics.skipping", "statistics.optional", "statistics.tight-by-default",
        where=CONDITIONS,
        bugs=("stat-002",) if name == "tight" else ("stat-018",) if name == "none" else (),
    )(build)  # fmt: skip


@chapter.broken(
    "count-is-text",
    "The number of rows in the statistics is a text.",
    "statistics.form",
    twin="tight",
    defect="`numRecords` of a file is a text",
    bugs=("stat-007",),
)
def write_count_as_text(files: TableFiles) -> None:
    position = next(number for number, line in enumerate(files.commits[1]) if "add" in line)
    add = json.loads(json.dumps(files.commits[1][position]))
    add["add"]["stats"] = json.dumps({**json.loads(add["add"]["stats"]), "numRecords": "two"})
    files.commits[1][position] = add


@chapter.case(
    "timestamp-cut",
    "The largest timestamp has more digits than its bound.",
    "statistics.timestamp-milliseconds",
    bugs=("stat-002",),
    where=CONDITIONS[3:5],
)
def build_timestamp_cut() -> WrittenTable:
    table = WrittenTable(COLUMNS)
    for rows in build_rows():
        table.append(rows)
    table.checkpoint()
    return table


@chapter.case(
    "extreme-times",
    "Bounds at the first and the last timestamp, next to ordinary ones.",
    "statistics.bound-form",
    bugs=("stat-006",),
    where=(("at", "=", MOMENT),),
)
def build_extreme_times() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("at", "timestamp")])
    for number, value in enumerate((-62_135_596_800_000_000, 253_402_300_799_999_999, MOMENT)):
        table.append([(number, value)])
    return table


@chapter.case(
    "some-files-without", "Some files have statistics, others none.", "statistics.optional", bugs=("stat-018",)
)
def build_some_without() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("item", "string")])
    for number, content in enumerate(("all", "none", "rows", "all")):
        table.append([(number, f"item {number}")], style=StatisticsStyle(content=content))  # type: ignore[arg-type]
    return table


@chapter.case(
    "footer-without-statistics",
    "The footer has no null counts, and the condition asks for nulls.",
    "statistics.skipping",
    bugs=("stat-024",),
    where=(("item", "is null"),),
)
def build_footer_without() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("item", "string")])
    encoding = ParquetEncoding(statistics=False, rows_per_group=2)
    table.append([(1, "a"), (2, None), (3, "c"), (4, "d")], encoding=encoding, style=StatisticsStyle(content="none"))
    return table


@chapter.case(
    "case-of-names", "Statistics of columns with upper case letters.", "statistics.mirrors-schema", bugs=("stat-023",)
)
def build_case_of_names() -> WrittenTable:
    table = WrittenTable([("Id", "long"), ("Value", "long")], properties={"delta.dataSkippingStatsColumns": "value"})
    table.append([(1, 5), (2, None)])
    return table


@chapter.case(
    "negative-zero",
    "Files of -0.0 and of 0.0, which are equal, with conditions at zero.",
    "statistics.skipping",
    "statistics.bound-form",
    where=tuple(("ratio", sign, 0.0) for sign in ("=", ">=", "<=", "<", ">")),
)
def build_negative_zero() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("ratio", "double"), ("small", "float")])
    for number, value in enumerate((-0.0, 0.0, -1.5, 1.5)):
        table.append([(number, value, value), (number + 10, value, value)])
    return table


@chapter.case(
    "nan",
    "Files with NaN, which no bound mentions or which is the bound.",
    "statistics.skipping",
    "statistics.bound-form",
    where=(("ratio", "=", 1.5), ("ratio", "<", 2.0), ("ratio", "is null")),
    bugs=("stat-009",),
)
def build_nan() -> WrittenTable:
    nan = float("nan")
    table = WrittenTable([("id", "long"), ("ratio", "double")])
    table.append([(1, 1.5), (2, nan)])
    table.append([(3, nan), (4, nan)])
    table.append([(5, None), (6, 2.5)])
    return table


@chapter.case(
    "offset-with-seconds",
    "Bounds of timestamps have an offset with seconds, as of local mean time.",
    "statistics.bound-form",
    "statistics.skipping",
    where=(("at", "=", MOMENT), ("at", "<", MOMENT), ("at", ">", MOMENT)),
)
def build_offset_with_seconds() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("at", "timestamp")])
    for number, (value, text) in enumerate(
        (
            (MOMENT, "2026-01-01T00:53:28.000+00:53:28"),
            (MOMENT - 60_000_000, "2025-12-31T18:26:58.000-05:32:02"),
        )
    ):
        bounds = {"numRecords": 1, "minValues": {"id": number, "at": text}, "maxValues": {"id": number, "at": text}}
        table.append([(number, value)], stats=json.dumps({**bounds, "nullCount": {"id": 0, "at": 0}}))
    return table


@chapter.case(
    "of-partition-columns",
    "Statistics also have the partition column.",
    "statistics.skipping",
    "partition-values.serialization",
)
def build_of_partition_columns() -> WrittenTable:
    properties = {"delta.dataSkippingNumIndexedCols": "-1"}
    table = WrittenTable([("id", "long"), ("part", "integer")], partition_by=["part"], properties=properties)
    for number in (1, 2):
        values = {"id": number, "part": number}
        bounds = {"numRecords": 1, "minValues": values, "maxValues": values, "nullCount": {"id": 0, "part": 0}}
        table.append([(number, number)], stats=json.dumps(bounds))
    return table


@chapter.case(
    "columns-without-statistics-in-a-checkpoint",
    "Only one column has statistics, also in the structs of a checkpoint; a filter on another keeps all files.",
    "statistics.skipping",
    "checkpoint.equals-replay",
    where=(("day", "=", 19_000), ("day", ">", 19_001), ("ref_day", "=", 18_000)),
    bugs=("stat-014",),
)
def build_columns_without_statistics() -> WrittenTable:
    properties = {
        "delta.dataSkippingStatsColumns": "ref_day",
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
    }
    table = WrittenTable([("ref_day", "date"), ("day", "date")], properties=properties)
    for number, text in enumerate(("2019-04-14", "2019-04-15")):
        bounds = {"minValues": {"ref_day": text}, "maxValues": {"ref_day": text}, "nullCount": {"ref_day": 0}}
        table.append([(18_000 + number, 19_000 + number)], stats=json.dumps({"numRecords": 1, **bounds}))
    table.checkpoint(2)
    table.clean_up(2)
    table.append([(18_002, 19_002)])
    return table
