"""Rows that deletion vectors mark."""

from collections.abc import Callable
from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.file_actions import VectorOptions
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.table_history.layout import FORMS, V2_FORMS, CheckpointForm
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("deletion-vectors")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "inline-and-stored",
    "Rows deleted by an inline vector, and by the second vector of a file whose name has a prefix.",
    "deletion-vectors.bitmap-format",
    "deletion-vectors.cardinality",
    "deletion-vectors.path",
    "deletion-vectors.prefix",
    "deletion-vectors.example-of-a-path",
    bugs=("dv-010",),
)
def build_inline_and_stored() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    with table.commit("append two files"):
        table.append([(number, f"f{number}") for number in range(6)], name="inline.parquet")
        table.append([(number + 10, f"f{number}") for number in range(6)], name="stored.parquet")
    vectors = VectorOptions("stored", prefix="ab", first=[[0]], uuid="d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    table.delete(lambda row: row["id"] in (11, 15), by="stored", vectors=vectors)
    table.delete(lambda row: row["id"] in (3, 4), by="inline")
    return table


def build_letters(**options: Any) -> WrittenTable:
    """Build a table with ten rows in one file, and two in another."""
    table = WrittenTable(SALES, features=["deletionVectors"], **options)
    with table.commit("append two files"):
        table.append([(number, "abcdefghij"[number]) for number in range(10)])
        table.append([(20, "y"), (21, None)])
    return table


SHAPES: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "first-row": ("the first row", lambda row: row["id"] == 0),
    "last-rows": ("the last rows of both files", lambda row: row["id"] in (8, 9, 21)),
    "all-but-one": ("all rows but one", lambda row: row["id"] not in (5, 20)),
    "every-row-of-a-file": ("every row of a file", lambda row: row["id"] >= 20),
    "every-row": ("every row", lambda row: True),
}
PLACES: dict[str, VectorOptions] = {
    "inline": VectorOptions("inline"),
    "inline-runs": VectorOptions("inline", runs=True),
    "stored": VectorOptions("stored"),
    "stored-in-folder": VectorOptions("stored", prefix="a/b"),
    "stored-late": VectorOptions("stored", first=[[0, 1], list(range(500))], runs=True),
}
for place, options in PLACES.items():
    for shape, (text, where) in SHAPES.items():

        def build_shape(options: VectorOptions = options, where: Any = where) -> WrittenTable:
            table = build_letters()
            table.delete(where, by=options.storage, vectors=options)
            return table

        chapter.case(
            f"{place}.{shape}", f"Deletion vectors ({place.replace('-', ' ')}) mark {text}.",
            "deletion-vectors.honoured", "deletion-vectors.bitmap-format",
            bugs=("dv-017",) if place == "inline" else (),
        )(build_shape)  # fmt: skip


@chapter.case(
    "absolute.stored",
    "A deletion vector with an absolute path.",
    "deletion-vectors.path-resolved",
    "deletion-vectors.storage-type",
    portability=("absolute-paths",),
    bugs=("path-009",),
)
def build_absolute() -> WrittenTable:
    table = build_letters()
    table.delete(lambda row: row["id"] in (2, 3, 20), by="absolute", vectors=VectorOptions("absolute", prefix="v w"))
    return table


@chapter.case(
    "replaced-twice",
    "A file gets a larger deletion vector twice.",
    "add.replaced-vector",
    "add.live-vector-removed",
    bugs=("dv-004",),
)
def build_replaced() -> WrittenTable:
    table = build_letters()
    for number, storage in ((1, "inline"), (4, "stored"), (7, "stored")):
        table.delete(lambda row, number=number: row["id"] == number, by=storage)
    return table


@chapter.case(
    "restored",
    "The file without its deletion vector is added again.",
    "add.logical-file-key",
    "reconciliation.file-under-several-vectors",
    bugs=("dv-013", "log-003"),
)
def build_restored() -> WrittenTable:
    table = build_letters()
    before = table.live["part-00001.parquet"]
    table.delete(lambda row: row["id"] in (1, 2), by="inline")
    with table.commit("restore version 1"):
        table.remove_file(table.live["part-00001.parquet"])
        table.live[before.add["path"]] = before
        table.actions.append({"add": before.add})
    return table


@chapter.case(
    "then-rewritten",
    "A file with a deletion vector is rewritten without its deleted rows.",
    "deletion-vectors.honoured",
)
def build_rewritten() -> WrittenTable:
    table = build_letters()
    table.delete(lambda row: row["id"] in (1, 2, 21), by="stored")
    table.optimize()
    return table


@chapter.case(
    "updated", "Rows are updated: deleted by a vector, and added in another file.", "deletion-vectors.honoured"
)
def build_updated() -> WrittenTable:
    table = build_letters()
    table.update(lambda row: row["id"] in (3, 20), lambda row: {**row, "item": "changed"}, by="stored")
    return table


@chapter.case(
    "partitioned",
    "Deletion vectors in a partitioned table, read with every projection.",
    "deletion-vectors.honoured",
    bugs=("dv-006",),
)
def build_partitioned() -> WrittenTable:
    columns = [("id", "long"), ("item", "string"), ("part", "string")]
    table = WrittenTable(columns, partition_by=["part"], features=["deletionVectors"])
    table.append([(1, "a", "p"), (2, "b", "p"), (3, "c", "q"), (4, "d", None)])
    table.delete(lambda row: row["id"] in (1, 3), by="inline")
    return table


@chapter.case(
    "row-groups-and-pages",
    "Marked rows are in later row groups and pages of a sorted file.",
    "deletion-vectors.honoured",
    bugs=("dv-007",),
    where=(("id", "=", 57), ("id", ">", 55), ("id", "<=", 3)),
)
def build_row_groups() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    encoding = ParquetEncoding(encoding="plain", rows_per_group=20, rows_per_page=5, page_index=True)
    table.append([(number, f"item {number}") for number in range(60)], encoding=encoding)
    table.delete(lambda row: row["id"] in (0, 19, 20, 39, 56, 59), by="stored")
    return table


@chapter.case(
    "large-positions",
    "Deletion vectors with 70,000 rows have array, bitmap and run containers.",
    "deletion-vectors.bitmap-format",
    meaning=2,
)
def build_large() -> WrittenTable:
    """Build a table whose values repeat, so that files with 70,000 rows stay small."""
    table = WrittenTable([("id", "long")], features=["deletionVectors"])
    table.append(
        [(number % 509,) for number in range(70_000)], encoding=ParquetEncoding(compression="zstd", encoding="delta")
    )
    table.delete(lambda row: row["id"] % 100 < 50, by="stored", vectors=VectorOptions("stored", runs=True))
    table.delete(lambda row: row["id"] % 2 == 0, by="stored")
    return table


@chapter.case(
    "protocol-example-inline",
    "The rows 3, 4, 7, 11, 18 and 29, as in the protocol's inline example.",
    "deletion-vectors.example-of-an-inline-vector",
    bugs=("dv-017",),
)
def build_example() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    table.append([(number, None) for number in range(32)])
    table.delete(lambda row: row["id"] in (3, 4, 7, 11, 18, 29), by="inline")
    return table


@chapter.case(
    "property-off", "Deletion vectors apply although the property is off.", "deletion-vectors.honoured-without-property"
)
def build_property_off() -> WrittenTable:
    table = build_letters()
    table.delete(lambda row: row["id"] in (1, 20), by="inline")
    table.change_properties({"delta.enableDeletionVectors": "false"})
    return table


@chapter.case(
    "enabled-later",
    "The feature is added to an existing table.",
    "deletion-vectors.needs-feature",
    "protocol.latest-holds",
)
def build_enabled_later() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "a"), (2, "b"), (3, "c")])
    table.enable("deletionVectors")
    table.delete(lambda row: row["id"] == 2, by="stored")
    return table


@chapter.case(
    "only-row-count",
    "Files with deletion vectors have no statistics but the row count.",
    "deletion-vectors.honoured",
    bugs=("dv-012",),
)
def build_only_counts() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors"])
    table.append([(1, "a"), (2, "b"), (3, None)], style=StatisticsStyle(content="rows"))
    table.delete(lambda row: row["id"] == 3, by="inline")
    return table


@chapter.case(
    "bounds-of-deleted-rows",
    "Bounds are those of all rows, deleted ones included.",
    "statistics.tight-flag",
    "statistics.wide-null-count-else",
    where=(("id", "=", 9), ("id", "<", 2), ("item", "is null")),
)
def build_wide_bounds() -> WrittenTable:
    table = build_letters()
    table.delete(lambda row: row["id"] in (0, 9, 21), by="stored")
    return table


@chapter.case(
    "change-data",
    "The changes of vectors, with and without change data files.",
    "cdc.read-alone",
    "deletion-vectors.honoured",
    bugs=("cdf-006",),
)
def build_changes() -> WrittenTable:
    table = WrittenTable(SALES, features=["deletionVectors", "changeDataFeed"])
    table.append([(number, "abcdef"[number]) for number in range(6)])
    table.delete(lambda row: row["id"] == 1, by="inline")
    table.delete(lambda row: row["id"] == 2, by="stored", change_files=False)
    table.update(lambda row: row["id"] == 3, lambda row: {**row, "item": "changed"}, by="inline")
    return table


for form in FORMS:

    def build_checkpointed(form: CheckpointForm = form) -> WrittenTable:
        table = WrittenTable(SALES, features=["deletionVectors", *(["v2Checkpoint"] if form in V2_FORMS else [])])
        table.append([(number, "abcdef"[number]) for number in range(6)])
        table.delete(lambda row: row["id"] == 1, by="inline")
        table.delete(lambda row: row["id"] == 2, by="stored")
        table.checkpoint(form=form, sidecars=1 if form == "uuid-parquet" else 0)
        table.delete(lambda row: row["id"] == 3, by="stored")
        table.clean_up(3)
        return table

    chapter.case(
        f"in-checkpoint.{form}", f"Deletion vectors in a checkpoint ({form}), and a replaced one after it.",
        "checkpoint.equals-replay", "add.logical-file-key", bugs=("dv-011",),
    )(build_checkpointed)  # fmt: skip

for mode in ("name", "id"):

    def build_mapped(mode: str = mode) -> WrittenTable:
        table = WrittenTable(SALES, features=["deletionVectors"], mapping=mode)
        table.append([(number, "abcdef"[number]) for number in range(6)])
        table.delete(lambda row: row["id"] in (1, 5), by="stored")
        table.rename_column("item", "thing")
        table.delete(lambda row: row["thing"] == "d", by="inline")
        return table

    chapter.case(
        f"column-mapping-{mode}", f"Deletion vectors with column mapping by {mode}.", "deletion-vectors.honoured",
        "column-mapping.modes", bugs=("dv-016",),
    )(build_mapped)  # fmt: skip


@chapter.case(
    "many-row-groups",
    "A vector deletes rows of several row groups, at their borders and in their middle.",
    "deletion-vectors.honoured",
)
def build_many_row_groups() -> WrittenTable:
    table = WrittenTable([("id", "long")], features=["deletionVectors"])
    table.append([(number,) for number in range(5_000)], encoding=ParquetEncoding(rows_per_group=1_000))
    gone = {0, 999, 1_000, 1_001, 2_500, *range(2_990, 3_010), 4_999}
    table.delete(lambda row: row["id"] in gone, by="stored")
    return table
