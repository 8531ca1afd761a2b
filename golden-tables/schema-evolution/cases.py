"""Schemas that change while files keep theirs."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.columns import array, map_of, parse_columns, required, struct
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("schema-evolution")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "column-added", "A column is added; older files lack it.", "consistency.missing-columns-null", bugs=("stat-018",)
)
def build_added() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    table.add_column("price", "double")
    table.append([(2, "pear", 1.5), (3, "fig", None)])
    return table


@chapter.case(
    "column-added-first", "A column is added at the front, another in the middle.", "consistency.missing-columns-null"
)
def build_added_first() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    table.add_column("day", "date", at=0)
    table.add_column("size", "integer", at=2)
    table.append([(20_000, 2, 7, "pear")])
    return table


@chapter.case(
    "fields-added", "Fields are added to structs, also in lists and maps.", "consistency.missing-columns-null"
)
def build_fields_added() -> WrittenTable:
    inner = struct(("a", "long"))
    table = WrittenTable([("id", "long"), ("one", inner), ("many", array(inner)), ("named", map_of("string", inner))])
    table.append([(1, {"a": 1}, [{"a": 2}, None], [("k", {"a": 3})]), (2, None, None, None)])
    for path in (["one"], ["many", "element"], ["named", "value"]):
        table.add_column("b", "string", path=path)
    table.append([(3, {"a": 4, "b": "x"}, [{"a": None, "b": "y"}], [("k", None)])])
    return table


@chapter.case("reordered", "Columns and fields are reordered.", "parquet.names")
def build_reordered() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("item", "string"), ("inside", struct(("a", "long"), ("b", "long")))])
    table.append([(1, "apple", {"a": 1, "b": 2})])
    table.reorder_columns("inside", "id", "item")
    table.reorder_columns("b", "a", path=["inside"])
    table.append([({"b": 4, "a": 3}, 2, "pear")])
    return table


@chapter.case("made-nullable", "A required column becomes nullable.", "data-files.required-columns")
def build_made_nullable() -> WrittenTable:
    table = WrittenTable([required("id", "long"), ("item", "string")])
    table.append([(1, "apple")])
    table.make_nullable("id")
    table.append([(None, "pear")])
    return table


@chapter.case(
    "replaced", "The table is replaced by one with other columns of the same names.", "metadata.replaces-whole"
)
def build_replaced() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    with table.commit("replace the table"):
        for stored in list(table.live.values()):
            table.remove_file(stored)
        table.change_schema("", lambda _: parse_columns([("item", "double"), ("id", "string")]).fields)
    table.append([(1.5, "a")])
    return table


@chapter.case("files-without-columns", "Files lack columns that the schema always had.", "consistency.missing-columns")
def build_without_columns() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("item", "string"), ("size", "integer")])
    table.append([(1, None, 5)], left_out=["item"])
    table.append([(2, "pear", None)], left_out=["size"])
    table.append([(None, None, 6)], left_out=["id", "item"])
    return table


@chapter.case(
    "column-dropped-and-added",
    "A dropped column is added again; the old values stay hidden.",
    "column-mapping.physical-paths-unique",
)
def build_dropped_and_added() -> WrittenTable:
    table = WrittenTable(SALES, mapping="name")
    table.append([(1, "apple")])
    table.drop_column("item")
    table.add_column("item", "string")
    table.append([(2, "pear")])
    return table


@chapter.case(
    "comments-and-defaults",
    "Columns have comments and defaults, which do not apply to reading.",
    "default-columns.not-for-reading",
    "schema.column-metadata",
)
def build_comments() -> WrittenTable:
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {"comment": "é"}},
        {"name": "size", "type": "integer", "nullable": True, "metadata": {"CURRENT_DEFAULT": "7"}},
    ]
    table = WrittenTable(fields, features=["allowColumnDefaults"])
    table.append([(1, 5)])
    table.append([(2, None)], left_out=["size"])
    return table


@chapter.case(
    "generated-and-identity",
    "Generated and identity columns are read like others.",
    "generated-columns.in-force",
    "identity-columns.in-force",
)
def build_generated() -> WrittenTable:
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {
            "delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.highWaterMark": 2,
            "delta.identity.allowExplicitInsert": False}},
        {"name": "twice", "type": "long", "nullable": True, "metadata": {"delta.generationExpression": "id * 2"}},
    ]  # fmt: skip
    table = WrittenTable(fields, protocol={"minReaderVersion": 1, "minWriterVersion": 6})
    table.append([(1, 2), (2, 4)])
    return table


@chapter.case(
    "dots-in-names", "A column `a.b` next to a struct `a` with a field `b`.", "parquet.names", bugs=("cm-013",)
)
def build_dots() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("a", struct(("b", "long"))), ("c", "long")], mapping="name")
    table.rename_column("c", "a.b")
    table.append([(1, {"b": 5}, 50), (2, None, 60)])
    table.append([(3, {"b": 100}, 1)])
    return table
