"""Commits and their order."""

from deltaspec.golden.builder.table import GoldenTable
from deltaspec.golden.definition import DAMAGED_LOG, Chapter
from deltaspec_generators.table_files import TableFiles

chapter = Chapter("log")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "append-remove",
    "Two files are appended, the first is removed; one path has an escape.",
    "reconciliation.live-and-dead-disjoint",
    "add.path-encoding",
)
def build_append_and_remove() -> GoldenTable:
    table = GoldenTable(SALES)
    table.append([(1, "apple"), (2, "pear"), (3, None)], name="part-0.parquet")
    with table.commit("append one row"):
        table.append([(4, "fig")], name="part 1.parquet")
        table.set_transaction("loader", 7)
    table.remove("part-0.parquet")
    return table


@chapter.broken(
    "commit-gap",
    "A commit between others is missing, and no checkpoint stands in for it.",
    "log.versions-contiguous",
    twin="append-remove",
    defect="commit 1 is missing",
    accepted=DAMAGED_LOG,
)
def leave_out_a_commit(files: TableFiles) -> None:
    del files.commits[1]
