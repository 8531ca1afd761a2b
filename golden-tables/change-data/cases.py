"""Changes of rows between versions."""

import pyarrow as pa

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("change-data")
SALES = [("id", "long"), ("item", "string")]


def build_feed(*features: str, **options: object) -> WrittenTable:
    table = WrittenTable(SALES, features=["changeDataFeed", *features], **options)  # type: ignore[arg-type]
    table.append([(1, "a"), (2, "b"), (3, None), (4, "d")])
    return table


@chapter.case(
    "inserts",
    "Only inserts: there are no change files.",
    "cdc.read-alone",
    "cdc.none-for-whole-files",
    "cdc.no-commit-columns",
)
def build_inserts() -> WrittenTable:
    table = build_feed()
    table.append([(5, "e")])
    return table


@chapter.case("updates", "Updates have images before and after.", "cdc.preferred", "cdc.images-in-pairs")
def build_updates() -> WrittenTable:
    table = build_feed()
    table.update(lambda row: row["id"] in (2, 3), lambda row: {**row, "item": "new"})
    return table


@chapter.case("deletes-with-files", "Deleted rows are in change files.", "cdc.preferred")
def build_deletes() -> WrittenTable:
    table = build_feed()
    table.delete(lambda row: row["id"] == 2)
    return table


@chapter.case(
    "deletes-without-files", "A complete file is removed: its rows are deletes.", "cdc.read-alone", bugs=("cdf-004",)
)
def build_removed() -> WrittenTable:
    table = build_feed()
    table.append([(5, "e")])
    table.remove("part-00001.parquet")
    return table


@chapter.case("overwrite", "An overwrite deletes and inserts.", "cdc.read-alone", bugs=("cdf-004",))
def build_overwrite() -> WrittenTable:
    table = build_feed()
    table.overwrite([(1, "z"), (9, None)])
    return table


@chapter.case("compaction", "Compacting files changes no row.", "add.rearranged-skipped", "cdc.read-alone")
def build_compaction() -> WrittenTable:
    table = build_feed()
    table.append([(5, "e")])
    table.optimize()
    return table


@chapter.case(
    "enabled-later",
    "The change data feed is enabled in version 2, and disabled in version 5.",
    "cdc.enabled-with-feature",
)
def build_enabled_later() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "a")])
    table.enable("changeDataFeed")
    table.append([(2, "b")])
    table.delete(lambda row: row["id"] == 1)
    table.change_properties({"delta.enableChangeDataFeed": "false"})
    table.append([(3, "c")])
    return table


@chapter.case("old-protocol", "The change data feed at writer version 4.", "cdc.enabled-before-features")
def build_old_protocol() -> WrittenTable:
    table = build_feed(protocol={"minReaderVersion": 1, "minWriterVersion": 4})
    table.update(lambda row: row["id"] == 1, lambda row: {**row, "item": "new"})
    return table


@chapter.case(
    "partitioned",
    "Changes in a partitioned table; a row changes its partition to null.",
    "cdc.stored-partition-values",
    bugs=("cdf-003",),
)
def build_partitioned() -> WrittenTable:
    table = build_feed(partition_by=["item"])
    table.update(lambda row: row["id"] in (1, 2), lambda row: {**row, "item": None if row["id"] == 1 else "c"})
    table.delete(lambda row: row["id"] == 4)
    return table


@chapter.case("column-added", "Changes after a column is added.", "cdc.preferred")
def build_column_added() -> WrittenTable:
    table = build_feed()
    table.add_column("price", "double")
    table.update(lambda row: row["id"] == 1, lambda row: {**row, "price": 1.5})
    return table


@chapter.case("cleaned-up", "The first commits are deleted; later changes can be read.", "cdc.read-alone")
def build_cleaned_up() -> WrittenTable:
    table = build_feed()
    table.append([(5, "e")])
    table.checkpoint()
    table.delete(lambda row: row["id"] == 5)
    table.update(lambda row: row["id"] == 1, lambda row: {**row, "item": "new"})
    table.clean_up(2)
    return table


@chapter.case(
    "everything",
    "Inserts, updates, deletes, vectors and a compaction, each in a version of its own.",
    "cdc.preferred",
    "cdc.read-alone",
    "cdc.timestamp-of-file",
)
def build_everything() -> WrittenTable:
    table = build_feed("deletionVectors")
    table.update(lambda row: row["id"] == 1, lambda row: {**row, "item": "new"})
    table.delete(lambda row: row["id"] == 2, by="inline")
    table.delete(lambda row: row["id"] == 3, by="stored", change_files=False)
    table.append([(6, "f"), (7, "g")])
    table.optimize()
    table.overwrite([(1, "last")])
    return table


@chapter.case(
    "change-type-column-in-data",
    "A data file has a column `_change_type` that is only null.",
    "data-files.change-type-column-ignored",
    "data-files.change-type-column-allowed",
)
def build_change_type_column() -> WrittenTable:
    table = build_feed()
    nothing = pa.nulls(2, pa.string())
    table.append([(5, "e"), (6, "f")], change=lambda rows: rows.append_column("_change_type", nothing))
    return table
