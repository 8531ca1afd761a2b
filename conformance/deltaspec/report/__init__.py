"""The answer of a run as one value, and the writers that render it."""

from deltaspec.report.report_types import (
    Checked,
    DerivedFileNotCompared,
    Finding,
    NotChecked,
    Report,
    Severity,
    Verdict,
)

__all__ = ["Checked", "DerivedFileNotCompared", "Finding", "NotChecked", "Report", "Severity", "Verdict"]
