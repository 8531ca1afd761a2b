"""Tables with odd things among their files: laid down, judged, and left as they were."""

from pathlib import Path
from typing import Any

from validate.raw_logs import fingerprint

from deltaspec.report.values import Report
from deltaspec.validate import validate_table
from deltaspec_generators.builder import TableFiles, write_table

LEVELS = ("files", "footers", "rows")
SECONDS = 60
"""How long a test may take."""
VECTORS = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def lay(files: TableFiles, tmp_path: Path) -> Path:
    root = tmp_path / "table"
    write_table(files, root)
    return root


def judge(root: Path, level: str, **options: Any) -> Report:
    """The report on a table, which is left as it was."""
    before = fingerprint(root)
    report = validate_table(str(root), level=level, **options)
    assert fingerprint(root) == before
    return report


def reasons(report: Report) -> str:
    return "\n".join(sorted({each.reason for each in report.checked.not_checked}))
