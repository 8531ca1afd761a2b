"""Every type as a column, in nested types, as a partition column, and in files without a value."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.columns import array, map_of, required, struct
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("types")
DAY_US = 86_400_000_000
LAST_US = 253_402_300_799_999_999
FIRST_US = -62_135_596_800_000_000
LARGEST_FLOAT = 3.4028234663852886e38


@dataclass(frozen=True)
class Sample:
    """A type with ordinary and extreme values."""

    type: str
    ordinary: tuple[Any, Any]
    """Two values, the smaller first."""
    extremes: tuple[Any, ...]

    @property
    def name(self) -> str:
        return self.type.replace("(", "-").replace(",", "-").replace(")", "").replace("_", "-")


def decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


SAMPLES = (
    Sample("boolean", (False, True), (True, False)),
    Sample("byte", (3, 7), (-128, 127, 0, -1)),
    Sample("short", (300, 700), (-(2**15), 2**15 - 1, 0, -1)),
    Sample("integer", (70_000, 80_000), (-(2**31), 2**31 - 1, 0, -1)),
    Sample("long", (5_000_000_000, 6_000_000_000), (-(2**63), 2**63 - 1, 2**53 + 1, -(2**53) - 1, 0)),
    Sample("float", (1.5, 2.25), (LARGEST_FLOAT, -LARGEST_FLOAT, 1.401298464324817e-45, float("inf"), float("-inf"))),
    Sample("double", (1.5, 2.25), (1.7976931348623157e308, -1.7976931348623157e308, 5e-324, float("inf"))),
    Sample("string", ("apple", "pear"), ("", " ", "é", "e\u0301", "漢字", "😀", 'quote " and \\', "x" * 40, "\uffff")),
    Sample("binary", (b"abc", b"abd"), (b"", b"\x00", b"\xff" * 3, b"\xc3\x28", bytes(range(256)))),
    Sample("date", (20_454, 20_500), (-719_162, 2_932_896, -1, 0, -141_428, -141_427)),
    Sample("timestamp", (1_767_225_600_123_456, 1_767_225_600_123_457), (FIRST_US, LAST_US, -1, 0, -DAY_US - 1)),
    Sample("timestamp_ntz", (1_767_225_600_123_456, 1_767_225_600_123_457), (FIRST_US, LAST_US, -1, 0)),
    Sample("decimal(1,1)", decimals("0.3", "0.7"), decimals("0.9", "-0.9", "0.0")),
    Sample("decimal(9,2)", decimals("3.25", "7.50"), decimals("9999999.99", "-9999999.99", "0.01", "0.00")),
    Sample("decimal(18,6)", decimals("3.250000", "7.500000"), decimals("999999999999.999999", "-0.000001")),
    Sample("decimal(19,0)", decimals("3", "7"), decimals("9999999999999999999", "-9999999999999999999")),
    Sample("decimal(38,18)", decimals("3.25", "7.5"), decimals(f"{'9' * 20}.{'9' * 18}", f"-{'9' * 20}.{'9' * 18}")),
    Sample("decimal(38,38)", decimals("0.25", "0.5"), decimals(f"0.{'9' * 38}", f"-0.{'9' * 38}")),
    Sample("decimal(38,0)", decimals("3", "7"), decimals("9" * 38, "-" + "9" * 38)),
)


def add_case(
    sample: Sample, name: str, title: str, *requires: str, build: Callable[[], WrittenTable], **more: Any
) -> None:
    since = "r3" if sample.type == "timestamp_ntz" else ""
    chapter.case(f"{sample.name}.{name}", title, "schema.primitive-types", *requires, since=since, **more)(build)


def add_cases(sample: Sample) -> None:
    kind, (low, high) = sample.type, sample.ordinary

    def build_column() -> WrittenTable:
        table = WrittenTable([("id", "long"), ("value", kind)])
        table.append([(1, low), (2, high), (3, None)])
        table.append([(4, high), (5, high)])
        return table

    def build_extremes() -> WrittenTable:
        table = WrittenTable([("id", "long"), ("value", kind)])
        table.append([(number, value) for number, value in enumerate(sample.extremes)])
        table.append([(100, low), (101, None)])
        return table

    def build_empty() -> WrittenTable:
        table = WrittenTable([("id", "long"), ("value", kind)])
        table.append([(1, None), (2, None)])
        table.append([(3, low)])
        table.append([])
        return table

    def build_required() -> WrittenTable:
        table = WrittenTable([required("value", kind), ("id", "long")])
        table.append([(low, 1), (high, 2)])
        return table

    def build_struct() -> WrittenTable:
        inner = struct(("value", kind), ("deeper", struct(("value", kind))))
        table = WrittenTable([("id", "long"), ("inside", inner)])
        table.append(
            [
                (1, {"value": low, "deeper": {"value": high}}),
                (2, {"value": None, "deeper": None}),
                (3, None),
                (4, {"value": sample.extremes[0], "deeper": {"value": None}}),
            ]
        )
        return table

    def build_list() -> WrittenTable:
        table = WrittenTable([("id", "long"), ("items", array(kind)), ("nested", array(array(kind)))])
        table.append(
            [
                (1, [low, None, high], [[low], []]),
                (2, [], []),
                (3, None, None),
                (4, [None], [None, [None]]),
                (5, list(sample.extremes), [list(sample.extremes)]),
            ]
        )
        return table

    def build_map() -> WrittenTable:
        table = WrittenTable([("id", "long"), ("keys", map_of(kind, "long")), ("values", map_of("string", kind))])
        table.append(
            [
                (1, [(low, 1), (high, None)], [("a", low), ("b", None)]),
                (2, [], []),
                (3, None, None),
                (4, [(sample.extremes[0], 2)], [("é", sample.extremes[0])]),
            ]
        )
        return table

    add_case(sample, "column", f"Two files with a column of type {kind}.", build=build_column)
    add_case(sample, "extremes", f"The extreme values of {kind}.", "data-files.value-ranges", build=build_extremes)
    add_case(
        sample, "empty", f"A file in which {kind} is only null, and a file without rows.", "statistics.all-null",
        build=build_empty,
    )  # fmt: skip
    add_case(
        sample, "required", f"A column of type {kind} that is not nullable.", "data-files.required-columns",
        build=build_required,
    )  # fmt: skip
    add_case(
        sample, "in-struct", f"{kind} in structs, which may be null themselves.", "schema.struct", build=build_struct
    )
    add_case(
        sample, "in-list", f"{kind} in lists: empty, null, and with null elements.", "schema.array",
        "parquet.nested-types", build=build_list, bugs=("cm-014",) if kind == "long" else (),
    )  # fmt: skip
    add_case(
        sample, "in-map", f"{kind} as key and value of maps.", "schema.map", "parquet.nested-types", build=build_map
    )


for each in SAMPLES:
    add_cases(each)


def build_partitioned(sample: Sample) -> WrittenTable:
    low, high = sample.ordinary
    table = WrittenTable([("id", "long"), ("part", sample.type)], partition_by=["part"])
    with table.commit("append to three partitions"):
        table.append([(1, low), (2, low)])
        table.append([(3, high)])
        table.append([(4, None)])
    table.append([(5, low)])
    table.delete(lambda row: row["id"] == 3)
    return table


def build_extreme_partitions(sample: Sample) -> WrittenTable:
    table = WrittenTable([("part", sample.type), ("id", "long")], partition_by=["part"])
    values = [value for value in sample.extremes if value not in ("", b"")]
    if sample.type == "binary":
        values = [b"\x01\x02", "é".encode(), b"\x7f"]  # others have no text
    with table.commit("append one file for each value"):
        for number, value in enumerate(values):
            table.append([(value, number)])
    return table


for each in SAMPLES:
    add_case(
        each, "partition", f"A partition column of type {each.type}.", "partition-values.serialization",
        "add.partition-values-from-log", build=lambda each=each: build_partitioned(each),
    )  # fmt: skip
    add_case(
        each, "extreme-partitions", f"The extreme values of {each.type} as partition values.",
        "partition-values.serialization", build=lambda each=each: build_extreme_partitions(each),
    )  # fmt: skip


@chapter.case(
    "float.not-a-number", "NaN, infinities and both zeros of float and double.", "statistics.bounds-of-nan",
    "schema.number-widths", predicates=False,
)  # fmt: skip
def build_special_floats() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("single", "float"), ("number", "double")])
    values = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0)
    table.append([(number, value, value) for number, value in enumerate(values)])
    table.append([(10, 1.0, 2.0)])
    return table


@chapter.case(
    "void.column", "A column of type void, which files do not have.", "schema.void-read-as-null", bugs=("cm-011",)
)
def build_void() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("nothing", "void")])
    table.append([(1, None), (2, None)])
    return table


@chapter.case("void.in-struct", "A field of type void in a struct.", "schema.void-read-as-null", bugs=("cm-011",))
def build_void_field() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("inside", struct(("value", "long"), ("nothing", "void")))])
    table.append([(1, {"value": 5, "nothing": None}), (2, None)])
    return table


@chapter.case("nested.deep", "Lists of maps of structs of lists.", "parquet.nested-types", "schema.struct")
def build_deep() -> WrittenTable:
    leaf = struct(("a", "long"), ("b", array("string")))
    table = WrittenTable([("id", "long"), ("deep", array(map_of("string", leaf)))])
    table.append(
        [
            (1, [[("x", {"a": 1, "b": ["p", None]}), ("y", None)], []]),
            (2, [None, [("z", {"a": None, "b": []})]]),
            (3, []),
            (4, None),
        ]
    )
    return table


@chapter.case(
    "nested.required-parts", "Elements, map values and fields that are not nullable.", "schema.array", "schema.map"
)
def build_required_parts() -> WrittenTable:
    inner = struct(required("a", "long"), ("b", "string"))
    items, values = array("long", contains_null=False), map_of("string", "long", contains_null=False)
    table = WrittenTable([("id", "long"), ("items", items), ("values", values), ("inside", inner)])
    table.append([(1, [1, 2], [("a", 1)], {"a": 1, "b": None}), (2, None, None, None), (3, [], [], {"a": 2, "b": "x"})])
    return table


@chapter.case(
    "nested.empty-struct-values", "Structs whose fields are all null are not null themselves.", "schema.struct"
)
def build_null_fields() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("inside", struct(("a", "long"), ("b", struct(("c", "string")))))])
    table.append([(1, {"a": None, "b": None}), (2, None), (3, {"a": None, "b": {"c": None}})])
    return table


@chapter.case(
    "many-columns.forty",
    "Forty columns; files have statistics of the first 32.",
    "statistics.optional",
    bugs=("stat-015",),
    where=(("c39", "=", 139), ("c39", ">", 1038)),
)
def build_many_columns() -> WrittenTable:
    from deltaspec_generators.data_files.statistics import StatisticsStyle

    table = WrittenTable([(f"c{number}", "long") for number in range(40)])
    style = StatisticsStyle(first_columns=32)
    table.append([tuple(range(40)), tuple(range(100, 140))], style=style)
    table.append([tuple(range(1000, 1040))], style=style)
    return table
