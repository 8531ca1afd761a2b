"""Which actions of the log are in force."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_files import TableFiles

chapter = Chapter("reconciliation")


@chapter.broken(
    "added-twice",
    "A commit adds one path twice.",
    "reconciliation.no-repeated-actions",
    twin="log.append-remove",
    defect="the add of commit 2 is there twice",
)
def repeat_an_add(files: TableFiles) -> None:
    files.commits[2].append(files.commits[2][1])
