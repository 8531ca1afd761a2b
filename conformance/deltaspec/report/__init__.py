"""Types of validation reports, and the modules that render them."""

from deltaspec.report.report_types import Checked, DerivedFileNotCompared, Finding, NotChecked, Report, Verdict
from deltaspec.scales import Severity

__all__ = ["Checked", "DerivedFileNotCompared", "Finding", "NotChecked", "Report", "Severity", "Verdict"]
