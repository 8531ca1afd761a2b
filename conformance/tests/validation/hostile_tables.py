"""Helpers that write tables with irregular files and validate them without changes."""

from pathlib import Path
from typing import Any

from helpers.raw_logs import compute_fingerprint

import deltaspec
from deltaspec.report.report_types import Report
from deltaspec_generators.table_files import TableFiles, write_table

LEVELS = ("files", "footers", "rows")
TIME_LIMIT_SECONDS = 60
"""Limit of one test."""
VECTORS = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def write_table_below(files: TableFiles, tmp_path: Path) -> Path:
    root = tmp_path / "table"
    write_table(files, root)
    return root


def validate_unchanged(root: Path, level: str, **options: Any) -> Report:
    """Validate a table, and assert that its files did not change."""
    before = compute_fingerprint(root)
    report = deltaspec.validate(str(root), level=level, **options)
    assert compute_fingerprint(root) == before
    return report


def join_unchecked_reasons(report: Report) -> str:
    return "\n".join(sorted({entry.reason for entry in report.checked.not_checked}))
