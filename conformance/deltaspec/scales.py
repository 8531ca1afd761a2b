"""How much a run reads, and how severe its findings are."""

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
