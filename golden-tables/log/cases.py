"""Commits and their order."""

from deltaspec.candidates.messages import DAMAGED_LOG
from deltaspec.golden.definition import Chapter
from deltaspec_generators.data_files.statistics import StatisticsStyle
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("log")
SALES = [("id", "long"), ("item", "string")]


@chapter.case(
    "append-remove",
    "Two files are appended, the first is removed; one path has an escape.",
    "reconciliation.live-and-dead-disjoint",
    "add.path-encoding",
)
def build_append_and_remove() -> WrittenTable:
    table = WrittenTable(SALES)
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
    bugs=("log-009",),
)
def leave_out_a_commit(files: TableFiles) -> None:
    del files.commits[1]


@chapter.case("only-metadata", "A table without files.", "metadata.in-first-version", "log.replay-in-order")
def build_empty() -> WrittenTable:
    return WrittenTable(SALES)


@chapter.case("all-deleted", "Every file is removed again.", "reconciliation.queries-see-live-files")
def build_all_deleted() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    table.append([(2, "pear")])
    table.overwrite([])
    table.remove("part-00003.parquet")
    return table


@chapter.case(
    "added-again",
    "A removed file is added again, and removed, and added.",
    "add.replaces-same-file",
    "log.replay-in-order",
    bugs=("log-003",),
)
def build_added_again() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")], name="a.parquet")
    for _ in range(2):
        table.remove("a.parquet")
        table.add_again("a.parquet")
    return table


@chapter.case(
    "statistics-replaced",
    "A live file is added again with other statistics and tags.",
    "add.committed-again",
    "add.replaces-same-file",
)
def build_statistics_replaced() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple"), (2, "pear")], name="a.parquet", style=StatisticsStyle(content="none"))
    table.add_again("a.parquet", stats='{"numRecords":2}', tags={"a": "b"}, dataChange=False)
    return table


@chapter.case("twenty-commits", "Twenty commits without a checkpoint.", "checkpoint.not-counted-on")
def build_twenty_commits() -> WrittenTable:
    table = WrittenTable([("id", "long")], metadata={"description": "many"})
    with table.commit("append one file"):
        table.append([(1,), (2,)])
    for number in range(18):
        table.set_transaction("app", number)
    return table


@chapter.case("overwritten", "All rows are replaced twice.", "reconciliation.queries-see-live-files")
def build_overwritten() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")])
    table.overwrite([(2, "pear")])
    table.overwrite([(3, "fig"), (4, None)])
    return table


@chapter.case(
    "old-file-matches",
    "A removed file matches the condition.",
    "reconciliation.queries-see-live-files",
    bugs=("ckpt-020",),
    where=(("id", "=", 1), ("id", "<", 5)),
)
def build_old_file_matches() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(1, "apple")], name="a.parquet")
    table.append([(9, "pear")])
    table.remove("a.parquet")
    return table
