"""What readers must ignore: unknown actions, fields and files."""

from collections.abc import Callable
from typing import Any

from deltaspec.golden.definition import Chapter
from deltaspec_generators.table_history.written_table import WrittenTable
from deltaspec_generators.tables.readable import ReadableTable

chapter = Chapter("unknown")
SALES = [("id", "long"), ("item", "string")]


def build_base() -> WrittenTable:
    table = WrittenTable(SALES, features=["domainMetadata"])
    table.append([(1, "apple"), (2, "pear")])
    table.append([(3, "fig")])
    table.set_transaction("app", 1)
    table.delete(lambda row: row["id"] == 3)
    return table


def change_lines(change: Callable[[dict[str, Any]], list[Any]]) -> ReadableTable:
    """Build the table with other lines in its commits, which mean the same to a reader."""
    described = build_base().describe()
    for version, lines in described.files.commits.items():
        described.files.commits[version] = [new for line in lines if isinstance(line, dict) for new in change(line)]
    return described


def add_field(line: dict[str, Any]) -> list[Any]:
    return [{kind: {**body, "futureField": {"a": [1, None]}} for kind, body in line.items()}]


LINES: dict[str, tuple[str, Callable[[dict[str, Any]], list[Any]]]] = {
    "fields": ("Every action has an unknown field.", add_field),
    "action": ("Every commit has unknown actions.", lambda line: [line, {"futureAction": {"path": "a.parquet"}}]),
    "null-fields": (
        "Optional fields are null.",
        lambda line: [
            {kind: {**body, "tags": None} if kind in ("add", "remove") else body for kind, body in line.items()}
        ],
    ),
    "empty-tags": (
        "Files have empty tags.",
        lambda line: [
            {kind: {**body, "tags": {}} if kind in ("add", "remove") else body for kind, body in line.items()}
        ],
    ),
    "tags": (
        "Files have tags.",
        lambda line: [
            {
                kind: {**body, "tags": {"é": "x", "n": "1"}} if kind in ("add", "remove") else body
                for kind, body in line.items()
            }
        ],
    ),
    "without-commit-info": ("No commit has a commitInfo.", lambda line: [] if "commitInfo" in line else [line]),
    "rich-commit-info": (
        "commitInfo has any JSON.",
        lambda line: (
            [{"commitInfo": {"a": {"b": [1.5, None, {"c": "é"}]}, "operation": 7}}] if "commitInfo" in line else [line]
        ),
    ),
}
for name, (title, change) in LINES.items():
    chapter.case(
        name, title, "commit-info.free-form" if "info" in name else "action.unknown-ignored",
        "action.unknown-without-error", "action.unknown-not-required", bugs=("log-011",) if "info" in name else (),
    )(lambda change=change: change_lines(change))  # fmt: skip


@chapter.case(
    "order-of-actions",
    "The actions of each commit are in reverse order.",
    "add.order-does-not-matter",
    bugs=("log-007",),
)
def build_reversed() -> ReadableTable:
    described = build_base().describe()
    for lines in described.files.commits.values():
        lines.reverse()
    return described


@chapter.case("only-commit-info", "A commit has nothing but a commitInfo.", "commit-info.optional", bugs=("log-011",))
def build_only_commit_info() -> WrittenTable:
    table = build_base()
    with table.commit("nothing"):
        pass
    return table


FILES: dict[str, dict[str, bytes]] = {
    "hadoop-checksums": {"_delta_log/.00000000000000000000.json.crc": b"crc\x00\x00\x02\x00"},
    "temporary-files": {"_delta_log/.00000000000000000005.json.tmp": b"{", "_delta_log/_tmp": b""},
    "unrelated-files": {"_delta_log/README": b"x", "notes.txt": b"x", "_SUCCESS": b""},
    "unreferenced-data": {"part-99999.parquet": b"PAR1 not a file PAR1", "p=1/x.parquet": b""},
    "staged-commits": {
        f"_delta_log/_staged_commits/{5:020}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json": b'{"commitInfo":{}}\n'
    },
    "iceberg-metadata": {"metadata/v1.metadata.json": b"{}"},
}
for name, extra in FILES.items():

    def build_files(extra: dict[str, bytes] = extra) -> WrittenTable:
        table = build_base()
        table.files.extra |= extra
        return table

    chapter.case(
        f"files.{name}", f"Files that readers ignore: {name.replace('-', ' ')}.", "table.snapshot-isolation",
        "reconciliation.queries-see-live-files",
        *(["log.staged-not-interpreted"] if name == "staged-commits" else []),
    )(build_files)  # fmt: skip
