"""Files with a narrower type than their column."""

from decimal import Decimal
from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec.protocol.time_units import DAY_US
from deltaspec_generators.table_history.columns import array, map_of, struct
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("type-widening")
LARGEST = {"byte": 127, "short": 2**15 - 1, "integer": 2**31 - 1, "long": 2**63 - 1}
OLD: dict[str, tuple[Any, ...]] = {
    **{name: (1, largest, -largest - 1) for name, largest in LARGEST.items()},
    "float": (1.5, 3.4028234663852886e38, -0.5),
    "date": (20_454, 2_932_896, -719_162),
    "decimal(5,2)": (Decimal("1.25"), Decimal("999.99"), Decimal("-999.99")),
}
INTEGERS = ("byte", "short", "integer", "long")
PAIRS: list[tuple[str, str, Any, str]] = [
    *((old, new, LARGEST[new], "type-widening.integers")
      for index, old in enumerate(INTEGERS) for new in INTEGERS[index + 1 :]),
    *((old, "double", 2.5, "type-widening.floats") for old in ("byte", "short", "integer", "float")),
    *((old, "decimal(10,0)", Decimal(9_999_999_999), "type-widening.integers-to-decimals")
      for old in ("byte", "short", "integer")),
    *((old, "decimal(14,3)", Decimal("0.125"), "type-widening.integers-to-decimals")
      for old in ("byte", "short", "integer")),
    ("long", "decimal(20,0)", Decimal(99_999_999_999_999_999_999), "type-widening.integers-to-decimals"),
    ("long", "decimal(38,18)", Decimal("0.25"), "type-widening.integers-to-decimals"),
    ("date", "timestamp_ntz", 1_767_225_600_123_456, "type-widening.dates"),
    ("decimal(5,2)", "decimal(7,2)", Decimal("12345.25"), "type-widening.decimals"),
    ("decimal(5,2)", "decimal(8,4)", Decimal("1234.1250"), "type-widening.decimals"),
    ("decimal(5,2)", "decimal(38,10)", Decimal("0.0000000001"), "type-widening.decimals"),
]  # fmt: skip
SLUG = str.maketrans("(,_", "---", ")")


def build_table(columns: list[Any], **options: Any) -> WrittenTable:
    return WrittenTable(columns, features=["typeWidening", "timestampNtz"], **options)


for old, new, value, requires in PAIRS:
    name = f"{old}-to-{new}".translate(SLUG)

    def build_column(old: str = old, new: str = new, value: Any = value) -> WrittenTable:
        table = build_table([("id", "long"), ("value", old)])
        table.append([(number, each) for number, each in enumerate((*OLD[old], None))])
        table.widen("value", new)
        table.append([(10, value), (11, None)])
        return table

    def build_nested(old: str = old, new: str = new, value: Any = value) -> WrittenTable:
        inside = struct(("value", old), ("items", array(old)), ("pairs", map_of(old, old)))
        table = build_table([("id", "long"), ("inside", inside)])
        first = OLD[old][0]
        table.append([(1, {"value": first, "items": [first, None], "pairs": [(first, None)]}), (2, None)])
        with table.commit("widen at every depth"):
            table.widen("value", new, path=["inside"])
            table.actions.pop()
            table.widen("items", new, path=["inside"], steps=["element"])
            table.actions.pop()
            table.widen("pairs", new, path=["inside"], steps=["key"])
            table.actions.pop()
            table.widen("pairs", new, path=["inside"], steps=["value"])
        table.append([(3, {"value": value, "items": [value], "pairs": [(value, value)]})])
        return table

    chapter.case(
        f"{name}.column",
        f"A column of type {old} becomes {new}.",
        requires,
        "type-widening.converted",
        bugs=("cm-015",),
    )(build_column)
    chapter.case(
        f"{name}.nested", f"Fields, elements, keys and values of type {old} become {new}.", requires,
        "type-widening.converted", "type-widening.changes-name-place", bugs=("cm-015",),
    )(build_nested)  # fmt: skip

for old, new, value, requires in (
    ("byte", "long", 2**40, "type-widening.integers"),
    ("integer", "long", 2**40, "type-widening.integers"),
    ("short", "integer", 70_000, "type-widening.integers"),
    ("date", "timestamp_ntz", 1_767_225_600_123_456, "type-widening.dates"),
):

    def build_partition(old: str = old, new: str = new, value: int = value) -> WrittenTable:
        table = build_table([("id", "long"), ("part", old)], partition_by=["part"])
        table.append([(1, 7), (2, None)])
        table.widen("part", new)
        table.append([(3, value), (4, 7)])
        return table

    chapter.case(
        f"{old}-to-{new}.partition".translate(SLUG), f"A partition column of type {old} becomes {new}.", requires,
        "partition-values.serialization", bugs=("cm-015",),
    )(build_partition)  # fmt: skip


@chapter.case(
    "twice",
    "A column becomes wider twice; files have three types.",
    "type-widening.converted",
    "type-widening.changes-are-list",
)
def build_twice() -> WrittenTable:
    table = build_table([("id", "long"), ("value", "byte")])
    table.append([(1, 1)])
    table.widen("value", "short")
    table.append([(2, 300)])
    table.widen("value", "long")
    table.append([(3, 2**40)])
    return table


@chapter.case(
    "with-mapping", "A column becomes wider and is renamed.", "type-widening.converted", "column-mapping.modes"
)
def build_with_mapping() -> WrittenTable:
    table = build_table([("id", "long"), ("value", "byte")], mapping="name")
    table.append([(1, 1)])
    table.widen("value", "long")
    table.rename_column("value", "number")
    table.append([(2, 2**40)])
    return table


@chapter.case(
    "in-checkpoint",
    "Statistics of the narrower type are in a checkpoint as structs.",
    "type-widening.converted",
    "checkpoint.equals-replay",
)
def build_in_checkpoint() -> WrittenTable:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"}
    table = build_table([("id", "long"), ("value", "byte")], properties=properties)
    table.append([(1, 1), (2, 127)])
    table.widen("value", "long")
    table.append([(3, 2**40)])
    table.checkpoint()
    return table


@chapter.case(
    "preview-feature", "The feature has its name of before.", "type-widening.converted", "type-widening.integers"
)
def build_preview() -> WrittenTable:
    names = ["typeWidening-preview"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
    properties = {"delta.enableTypeWidening": "true"}
    table = WrittenTable([("id", "long"), ("value", "byte")], protocol=protocol, properties=properties)
    table.append([(1, 1)])
    table.widen("value", "integer")
    table.append([(2, 70_000)])
    return table


@chapter.case(
    "rewritten", "The narrower files are rewritten, and the recorded changes are kept.", "type-widening.may-be-dropped"
)
def build_rewritten() -> WrittenTable:
    table = build_table([("id", "long"), ("value", "date")])
    table.append([(1, 3)])
    table.widen("value", "timestamp_ntz")
    table.optimize()
    assert table.versions[-1].plain_rows[0]["value"] == 3 * DAY_US
    return table
