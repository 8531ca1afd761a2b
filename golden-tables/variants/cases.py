"""Variants, shredded or not. Expected values are the two binaries that the writer encoded."""

from typing import Any

import pyarrow as pa

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.columns import array, struct
from deltaspec_generators.table_history.written_table import WrittenTable
from deltaspec_generators.values.variant_encoder import Shape, build_shredded_variants, encode_variant

chapter = Chapter("variants")
VALUES: dict[str, tuple[str, list[Any]]] = {
    "scalars": ("scalars", [1, -7, True, False, "text", ""]),
    "objects": ("objects", [{"a": 1, "b": "x"}, {"b": None}, {}, {"a": {"c": [1]}}]),
    "arrays": ("arrays", [[1, 2], [], ["x", None], [[True]]]),
    "mixed": ("values of different kinds", [1, "x", {"a": 1}, [1, "y"], {"a": "z", "d": False}]),
}
SHAPES: dict[str, tuple[str, Shape]] = {
    "long": ("an integer", pa.int64()),
    "text": ("a string", pa.string()),
    "flag": ("a boolean", pa.bool_()),
    "object": ("an object with the fields a and b", {"a": pa.int64(), "b": pa.string()}),
    "list": ("a list of integers", [pa.int64()]),
    "untyped-field": ("an object with an untyped field", {"a": None}),
}


def encode(value: Any) -> dict[str, bytes]:
    metadata, data = encode_variant(value)
    return {"metadata": metadata, "value": data}


def build_rows(values: list[Any]) -> list[tuple[int, Any]]:
    return [*((number, encode(each)) for number, each in enumerate(values)), (100, None)]


for name, (text, values) in VALUES.items():

    def build_unshredded(values: list[Any] = values) -> WrittenTable:
        table = WrittenTable([("id", "long"), ("v", "variant")])
        table.append(build_rows(values))
        return table

    chapter.case(f"unshredded.{name}", f"Variants with {text}.", "variant.tolerated", bugs=("cm-016",))(
        build_unshredded
    )
    for shape_name, (shape_text, shape) in SHAPES.items():

        def build_shredded(values: list[Any] = values, shape: Shape = shape) -> WrittenTable:
            table = WrittenTable([("id", "long"), ("v", "variant")], features=["variantType", "variantShredding"])

            def shred(rows: pa.Table) -> pa.Table:
                column = build_shredded_variants([*values, None], shape)
                return rows.set_column(1, pa.field("v", column.type), column)

            table.append(build_rows(values), change=shred)
            table.append([(200, encode(5))])
            return table

        chapter.case(
            f"shredded.{name}-as-{shape_name}", f"Variants with {text}, shredded as {shape_text}.",
            "variant-shredding.both-read", "variant-shredding.mixed", "variant-shredding.stored-once",
        )(build_shredded)  # fmt: skip


@chapter.case("nested", "Variants in structs and lists.", "variant.tolerated")
def build_nested() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("inside", struct(("v", "variant"))), ("many", array("variant"))])
    table.append([(1, {"v": encode({"a": 1})}, [encode(1), None]), (2, {"v": None}, []), (3, None, None)])
    return table


@chapter.case(
    "with-vector",
    "Variants in a file with a deletion vector.",
    "variant.tolerated",
    "deletion-vectors.honoured",
    bugs=("cm-016",),
)
def build_with_vector() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("v", "variant")], features=["deletionVectors"])
    table.append(build_rows([1, "x", {"a": 1}]))
    table.delete(lambda row: row["id"] == 1, by="inline")
    return table


@chapter.case(
    "shredding-disabled-later",
    "Shredding is no longer enabled, and older files are shredded.",
    "variant-shredding.older-files",
)
def build_disabled_later() -> WrittenTable:
    table = WrittenTable([("id", "long"), ("v", "variant")], features=["variantType", "variantShredding"])
    column = build_shredded_variants([1, "x"], pa.int64())
    rows = [(1, encode(1)), (2, encode("x"))]
    table.append(rows, change=lambda rows: rows.set_column(1, pa.field("v", column.type), column))
    table.change_properties({"delta.enableVariantShredding": "false"})
    table.append([(3, encode(True))])
    return table
