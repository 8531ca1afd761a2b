"""Rows that deletion vectors mark."""

from deltaspec.golden.builder.file_options import VectorOptions
from deltaspec.golden.builder.table import GoldenTable
from deltaspec.golden.definition import Chapter

chapter = Chapter("deletion-vectors")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "inline-and-stored",
    "Rows deleted by an inline vector, and by the second vector of a file whose name has a prefix.",
    "deletion-vectors.bitmap-format",
    "deletion-vectors.cardinality",
    "deletion-vectors.path",
)
def build_inline_and_stored() -> GoldenTable:
    table = GoldenTable(SALES, features=["deletionVectors"])
    with table.commit("append two files"):
        table.append([(number, f"f{number}") for number in range(6)], name="inline.parquet")
        table.append([(number + 10, f"f{number}") for number in range(6)], name="stored.parquet")
    vectors = VectorOptions("stored", prefix="ab", first=[[0]])
    table.delete(lambda row: row["id"] in (11, 15), by="stored", vectors=vectors)
    table.delete(lambda row: row["id"] in (3, 4), by="inline")
    return table
