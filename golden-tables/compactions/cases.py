"""Log compactions and version checksums."""

from deltaspec.golden.builder.table import GoldenTable
from deltaspec.golden.definition import Chapter

chapter = Chapter("compactions")
SALES = [("id", "long"), ("item", "string")]


def build_three_commits() -> GoldenTable:
    table = GoldenTable(SALES)
    table.append([(1, "apple"), (2, "pear"), (3, None)], name="part-0.parquet")
    with table.commit("append one row"):
        table.append([(4, "fig")], name="part 1.parquet")
        table.set_transaction("loader", 7)
    table.remove("part-0.parquet")
    return table


@chapter.case(
    "with-checksums",
    "A log compaction is next to its commits, and each of them has a version checksum.",
    "compaction.equals-replay",
    "checksum.table-size",
    "checksum.num-files",
)
def build_with_checksums() -> GoldenTable:
    table = build_three_commits()
    table.compact(1, 3)
    table.checksum(1, 2, 3)
    return table
