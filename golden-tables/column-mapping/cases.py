"""Columns that are identified by physical name or id."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.parquet_encodings import ParquetEncoding
from deltaspec_generators.table_history.columns import array, column, map_of, struct
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("column-mapping")
COLUMNS = [("id", "long"), ("item", "string"), ("price", "double")]
NESTED = [
    ("id", "long"),
    ("who", struct(("name", "string"), ("age", "integer"))),
    ("tags", array(struct(("key", "string"), ("n", "long")))),
    ("more", map_of("string", struct(("x", "long")))),
]
READ = {"name": "column-mapping.read-by-physical-name", "id": "column-mapping.read-by-id"}
Build = Callable[[str], WrittenTable]


def both_modes(name: str, title: str, *requires: str, **options: Any) -> Callable[[Build], Build]:
    """Register a case for each mode."""

    def register(build: Build) -> Build:
        for mode, read in READ.items():
            chapter.case(f"{mode}.{name}", f"{title} (mode {mode})", read, *requires, **options)(
                lambda m=mode: build(m)
            )
        return build

    return register


def build_mapped(mode: str, **options: Any) -> WrittenTable:
    table = WrittenTable(COLUMNS, mapping=mode, **options)
    table.append([(1, "apple", 1.5), (2, None, 2.5)])
    return table


@both_modes("plain", "Columns with physical names.", "column-mapping.log-read-by-physical-name")
def build_plain(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.append([(3, "pear", None)])
    return table


@both_modes("renamed", "A column is renamed between two files.", "column-mapping.modes")
def build_renamed(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.rename_column("item", "fruit")
    table.append([(3, "pear", None)])
    return table


@both_modes("swapped", "Two columns exchange their names.", "column-mapping.physical-names-unique")
def build_swapped(mode: str) -> WrittenTable:
    table = WrittenTable([("a", "long"), ("b", "long")], mapping=mode)
    table.append([(1, 2)])
    with table.commit("exchange two names"):
        table.rename_column("a", "c")
        table.actions.pop()
        table.rename_column("b", "a")
        table.actions.pop()
        table.rename_column("c", "b")
    table.append([(3, 4)])
    return table


@both_modes("dropped", "A column is dropped.", "column-mapping.modes")
def build_dropped(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.drop_column("item")
    table.append([(3, 4.5)])
    return table


@both_modes(
    "name-reused",
    "A dropped column's name is used by a new column of another type.",
    "column-mapping.physical-paths-unique",
)
def build_reused(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.drop_column("item")
    table.add_column("item", "long")
    table.append([(3, 4.5, 77)])
    return table


@both_modes("added", "A column is added in the middle.", "consistency.missing-columns-null")
def build_added(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.add_column("day", "date", at=1)
    table.append([(3, 20_000, "pear", 1.0)])
    return table


@both_modes("reordered", "The columns are reordered.", "column-mapping.modes")
def build_reordered(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.reorder_columns("price", "item", "id")
    table.append([(1.0, "pear", 3)])
    return table


@both_modes("partitioned", "A partition column is renamed.", "column-mapping.log-read-by-physical-name")
def build_partitioned(mode: str) -> WrittenTable:
    table = WrittenTable([("id", "long"), ("part", "string")], mapping=mode, partition_by=["part"])
    table.append([(1, "a"), (2, None)])
    table.rename_column("part", "region")
    table.append([(3, "b")])
    return table


@both_modes(
    "nested",
    "Fields of structs in lists and maps are renamed, dropped and added.",
    "column-mapping.field-paths",
    bugs=("cm-007",),
)
def build_nested(mode: str) -> WrittenTable:
    table = WrittenTable(NESTED, mapping=mode, nested_ids=mode == "id")
    old = {"name": "Ann", "age": 7}
    table.append([(1, old, [{"key": "k", "n": 1}, None], [("m", {"x": 1})]), (2, None, [], None)])
    table.rename_column("name", "called", path=["who"])
    table.rename_column("key", "label", path=["tags", "element"])
    table.drop_column("age", path=["who"])
    table.add_column("y", "string", path=["more", "value"])
    table.append([(3, {"called": "Bob"}, [{"label": "l", "n": None}], [("m", {"x": None, "y": "z"})])])
    return table


@both_modes(
    "strange-names",
    "Names with dots, commas, spaces and characters beyond ASCII.",
    "column-mapping.physical-names-assigned",
    bugs=("cm-007", "cm-013"),
)
def build_strange(mode: str) -> WrittenTable:
    table = WrittenTable([("a.b", "long"), ("a", struct(("b", "long")))], mapping=mode)
    table.append([(1, {"b": 2})])
    for old, new in (("a.b", "c#2, {x}"), ("a", "😀 ;=")):
        table.rename_column(old, new)
    table.append([(3, {"b": 4})])
    return table


@both_modes("case-changed", "A column is renamed to upper case.", "column-mapping.modes")
def build_case_changed(mode: str) -> WrittenTable:
    table = build_mapped(mode)
    table.rename_column("item", "ITEM")
    table.append([(3, "pear", None)])
    return table


@both_modes("checkpointed", "Renamed columns in a checkpoint, earlier commits deleted.", "checkpoint.equals-replay")
def build_checkpointed(mode: str) -> WrittenTable:
    table = build_mapped(mode, properties={"delta.checkpoint.writeStatsAsStruct": "true"})
    table.rename_column("item", "fruit")
    table.append([(3, "pear", None)])
    table.checkpoint()
    table.clean_up(3)
    return table


@both_modes("change-data", "Changes before and after a column is renamed.", "cdc.preferred", bugs=("cdf-007",))
def build_changes(mode: str) -> WrittenTable:
    table = build_mapped(mode, features=["changeDataFeed"])
    table.update(lambda row: row["id"] == 1, lambda row: {**row, "item": "nut"})
    table.rename_column("item", "fruit")
    table.delete(lambda row: row["id"] == 2)
    return table


@both_modes(
    "old-protocol",
    "Reader version 2 and writer version 5.",
    "column-mapping.reader-versions",
    "column-mapping.writer-versions",
    bugs=("proto-006",),
)
def build_old_protocol(mode: str) -> WrittenTable:
    return build_mapped(mode, protocol={"minReaderVersion": 2, "minWriterVersion": 5})


@both_modes(
    "writer-features-only",
    "Reader version 2 with columnMapping among the writer features.",
    "protocol.columns-mapped-by-either",
    bugs=("proto-002",),
)
def build_writer_features(mode: str) -> WrittenTable:
    protocol = {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": ["columnMapping"]}
    return build_mapped(mode, protocol=protocol)


@chapter.case(
    "enabled-later",
    "Column mapping by name is enabled on an existing table; old files have logical names.",
    "column-mapping.read-by-physical-name",
    "column-mapping.mode-consulted",
)
def build_enabled_later() -> WrittenTable:
    table = WrittenTable(COLUMNS)
    table.append([(1, "apple", 1.5)])
    table.enable_mapping()
    table.rename_column("item", "fruit")
    table.append([(2, "pear", None)])
    table.drop_column("price")
    table.add_column("price", "string")
    table.append([(3, "fig", "new")])
    return table


@chapter.case(
    "supported-without-mode",
    "The protocol supports column mapping; no mode is set.",
    "column-mapping.read-by-display-name",
    "table-features.supported-not-active",
    bugs=("cm-003",),
)
def build_without_mode() -> WrittenTable:
    table = WrittenTable(COLUMNS, features=["columnMapping"])
    table.append([(1, "apple", 1.5)])
    return table


@chapter.case(
    "mode-none",
    "The mode is none although columns have physical names.",
    "column-mapping.read-by-display-name",
    bugs=("cm-003",),
)
def build_mode_none() -> WrittenTable:
    metadata = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}
    table = WrittenTable(
        [column("id", "long", **metadata), ("item", "string")],
        features=["columnMapping"], properties={"delta.columnMapping.mode": "none"},
    )  # fmt: skip
    table.append([(1, "apple")])
    return table


@chapter.case(
    "id.names-in-files-differ",
    "Columns of a file have arbitrary names and the right ids.",
    "column-mapping.read-by-id",
    bugs=("cm-001",),
)
def build_other_names() -> WrittenTable:
    table = WrittenTable(COLUMNS, mapping="id")

    def rename(rows: pa.Table) -> pa.Table:
        return rows.rename_columns([f"any {number}" for number in range(rows.num_columns)])

    table.append([(1, "apple", 1.5)], change=rename)
    return table


@chapter.case(
    "id.column-missing",
    "A file lacks a column; another has the columns in reverse order.",
    "column-mapping.read-by-id",
    "consistency.missing-columns-null",
    bugs=("cm-001",),
)
def build_missing_column() -> WrittenTable:
    table = WrittenTable(COLUMNS, mapping="id")
    table.append([(1, None, 1.5)], left_out=[table.find_physical_name("item")])
    table.append([(2, "pear", 2.5)], encoding=ParquetEncoding(reversed_columns=True))
    return table


@chapter.case(
    "name.without-field-ids",
    "Files have no field ids in mode name.",
    "column-mapping.read-by-physical-name",
    meaning=2,
)
def build_without_field_ids() -> WrittenTable:
    table = WrittenTable(COLUMNS)
    table.append([(1, "apple", 1.5)])
    table.enable_mapping()  # files that were written while columns are mapped must have ids
    return table
