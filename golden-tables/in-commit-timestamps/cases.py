"""In-commit timestamps. The modification times of the commits are misleading: the table was copied."""

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.written_table import WrittenTable

chapter = Chapter("in-commit-timestamps")
SALES = [("id", "long"), ("item", "string")]


def append_three(table: WrittenTable) -> WrittenTable:
    for number in range(3):
        table.append([(number, "abc"[number])])
    return table


@chapter.case(
    "from-the-start",
    "In-commit timestamps since version 0.",
    "in-commit-timestamp.used-for-time-travel",
    "reconciliation.commit-info-of-its-version",
)
def build_from_the_start() -> WrittenTable:
    return append_three(WrittenTable(SALES, features=["inCommitTimestamp"]))


@chapter.case(
    "enabled-midway",
    "In-commit timestamps are enabled in version 2.",
    "in-commit-timestamp.used-for-time-travel",
    "in-commit-timestamp.enabled",
    bugs=("ict-001",),
)
def build_enabled_midway() -> WrittenTable:
    table = WrittenTable(SALES)
    table.append([(10, "z")])
    table.enable("inCommitTimestamp")
    return append_three(table)


@chapter.case(
    "in-checkpoint",
    "In-commit timestamps, a checkpoint, and deleted commits.",
    "in-commit-timestamp.used-for-time-travel",
    "checkpoint.equals-replay",
    bugs=("clean-002",),
)
def build_in_checkpoint() -> WrittenTable:
    table = append_three(WrittenTable(SALES, features=["inCommitTimestamp"]))
    table.checkpoint(2)
    table.clean_up(2)
    return table


@chapter.case("with-change-data", "The timestamp of changes is the in-commit timestamp.", "cdc.timestamp-in-commit")
def build_with_changes() -> WrittenTable:
    table = append_three(WrittenTable(SALES, features=["inCommitTimestamp", "changeDataFeed"]))
    table.delete(lambda row: row["id"] == 1)
    return table


@chapter.case(
    "supported-not-enabled",
    "The feature is supported and not enabled: modification times count.",
    "in-commit-timestamp.enabled",
    "table-features.supported-not-active",
)
def build_supported() -> WrittenTable:
    properties = {"delta.enableInCommitTimestamps": "false"}
    return append_three(WrittenTable(SALES, features=["inCommitTimestamp"], properties=properties))
