"""The same rows in the different encodings that writers use."""

from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.legacy_nesting import LegacyForm
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.table_history.columns import array, map_of, required, struct
from deltaspec_generators.table_history.written_table import WrittenTable
from deltaspec_generators.values.arrow_values import build_decimal

chapter = Chapter("parquet")
COLUMNS = [
    required("id", "long"),
    ("item", "string"),
    ("price", "decimal(9,2)"),
    ("large", "decimal(30,4)"),
    ("at", "timestamp"),
    ("day", "date"),
    ("flag", "boolean"),
    ("ratio", "double"),
    ("data", "binary"),
    ("inside", struct(("a", "integer"), ("b", "string"))),
    ("items", array("long")),
    ("pairs", map_of("string", "long")),
]
CODECS = ("none", "gzip", "zstd", "brotli", "lz4")
ENCODINGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"compression-{codec}": (f"compression {codec}", {"compression": codec}) for codec in CODECS},
    "plain": ("plain values", {"encoding": "plain"}),
    "delta": ("delta encodings", {"encoding": "delta"}),
    "lengths": ("DELTA_LENGTH_BYTE_ARRAY", {"encoding": "lengths"}),
    "byte-stream-split": ("BYTE_STREAM_SPLIT", {"encoding": "split"}),
    "pages-v2": ("data pages of version 2", {"page_version": "2.0"}),
    "format-1": ("format version 1.0", {"format_version": "1.0"}),
    "row-groups": ("a row group for every two rows", {"rows_per_group": 2}),
    "small-pages": ("a page for each row", {"encoding": "plain", "rows_per_page": 1, "page_index": True}),
    "int96": ("timestamps as INT96", {"times": "int96"}),
    "decimals-as-bytes": ("decimals as fixed-length bytes", {"decimals_as_integers": False}),
    "list-item": ("list elements called item", {"list_element": "item"}),
    "list-array": ("list elements called array", {"list_element": "array"}),
    "not-required": ("optional columns although the schema requires values", {"required": False}),
    "reversed-columns": ("columns in reverse order", {"reversed_columns": True}),
    "reversed-fields": ("fields of structs in reverse order", {"reversed_fields": True}),
    "without-statistics": ("no statistics in the footer", {"statistics": False}),
    "page-index": ("a page index", {"page_index": True}),
    "page-checksums": ("page checksums", {"checksums": True}),
    "arrow-schema": ("the Arrow schema in the footer", {"arrow_schema": True}),
}


def build_row(number: int) -> tuple[Any, ...]:
    inside = {"a": number, "b": f"b{number}"} if number % 2 else None
    return (
        number, f"item {number % 3}", build_decimal(25 * number, 2), build_decimal(number * 10**24, 4),
        1_767_225_600_000_001 + number, 20_000 + number, number % 2 == 0, number / 8, bytes([number]),
        inside, [number, None], [("k", number)],
    )  # fmt: skip


def build_rows() -> list[tuple[Any, ...]]:
    """Build five rows, and one with nulls."""
    return [*(build_row(number) for number in range(5)), (5, *(None,) * 11)]


for name, (text, options) in ENCODINGS.items():

    def build(options: dict[str, Any] = options) -> WrittenTable:
        table = WrittenTable(COLUMNS)
        table.append(build_rows(), encoding=ParquetEncoding(**options))
        return table

    chapter.case(
        name, f"A data file with {text}.", "parquet.column-types", "parquet.listed-encodings",
        *(["parquet.nested-types"] if name.startswith("list") else []),
        *(["configuration.codecs-mixed"] if name.startswith("compression") else []),
        *(["configuration.page-versions-read"] if name.startswith("pages") else []),
    )(build)  # fmt: skip


@chapter.case("extra-column", "A data file has a column that is not in the schema.", "parquet.names")
def build_extra_column() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("item", "string")])
    table.append([(1, "apple")], encoding=ParquetEncoding(extra_column=True))
    table.append([(2, "pear")])
    return table


@chapter.case("mixed", "Files with different encodings in one table.", "configuration.codecs-mixed")
def build_mixed() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("item", "string")])
    for number, name in enumerate(("none", "gzip", "zstd", "snappy")):
        table.append([(number, name)], encoding=ParquetEncoding(compression=name, page_version="2.0"))
    return table


LEGACY: dict[LegacyForm, str] = {
    "two-levels": "lists of two levels, with the name array",
    "tuples": "lists of two levels, with names that end with _tuple",
    "bags": "lists as Hive wrote them, with the name bag",
    "key-value-maps": "maps with the annotation MAP_KEY_VALUE",
    "map-groups": "maps whose repeated group is called map and annotated MAP_KEY_VALUE",
}
for form, text in LEGACY.items():

    def build_legacy(form: LegacyForm = form) -> WrittenTable:
        items = array("long", contains_null=False)
        columns = [
            required("id", "long"),
            ("items", items),
            ("inside", array(struct(("a", "integer"), ("b", "string")), contains_null=False)),
            ("lists", array(items, contains_null=False)),
            ("pairs", map_of("string", "long")),
        ]
        table = WrittenTable(columns)
        rows = [
            (1, [1, 2], [{"a": 1, "b": "one"}, {"a": None, "b": None}], [[1], [], [2, 3]], [("k", 1), ("l", None)]),
            (2, [], [], [], []),
            (3, None, None, None, None),
        ]
        table.append(rows, encoding=ParquetEncoding(legacy=(form,)))
        table.append([(4, [4], [{"a": 4, "b": "four"}], [[4]], [("k", 4)])])
        return table

    chapter.case(f"legacy-{form}", f"A data file with {text}.", "parquet.nested-types", "parquet.column-types")(
        build_legacy
    )


@chapter.case("plain-integers", "Bytes and shorts are INT32 without their size.", "parquet.column-types")
def build_plain_integers() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("small", "byte"), ("number", "short")])
    table.append(
        [(1, -128, -32768), (2, 127, 32767), (3, None, None)], encoding=ParquetEncoding(legacy=("plain-integers",))
    )
    table.append([(4, 1, 1)])
    return table
