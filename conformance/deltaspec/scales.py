"""How much a run reads, how severe its findings are, and how they are repaired."""

from typing import Literal

Level = Literal["log", "files", "footers", "rows"]
LEVELS: tuple[Level, ...] = ("log", "files", "footers", "rows")
"""What a run may read. Each level includes the levels before it:

- `log`: only the Delta log.
- `files`: also directory listings of the table, and deletion-vector files.
- `footers`: also Parquet footers of data files.
- `rows`: also rows of data files.
"""

Severity = Literal["violation", "warning", "divergence"]
SEVERITIES: tuple[Severity, ...] = ("violation", "warning", "divergence")
"""From the most severe one."""

Harm = Literal["rows", "readers", "consumers", "format"]
HARMS: dict[Harm, str] = {
    "rows": "readers return wrong rows, or lose rows",
    "readers": "readers or writers fail, or refuse the table",
    "consumers": "consumers of changes, history, counts or row versions are misled",
    "format": "the format is not as it should be; rows are right",
}
"""What a defect does to the users of a table, worst first."""

FixClass = Literal["command", "repair", "restore", "rewrite", "decide", "none"]
FIX_CLASSES: dict[FixClass, str] = {
    "command": "commands of an engine repair the table; each was executed on a table with the defect",
    "repair": "`deltaspec repair` plans the repair",
    "restore": "a backup or an earlier version of the table is needed",
    "rewrite": "the writer must be corrected and the data written again",
    "decide": "the owner of the data must choose",
    "none": "the table needs no repair",
}
"""Who or what can repair a defect."""
