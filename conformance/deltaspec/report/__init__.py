"""The answer of a run as one value, and the writers that render it."""

from deltaspec.report.values import Checked, Finding, NotChecked, Report, RouteNotCompared, Severity, Verdict

__all__ = ["Checked", "Finding", "NotChecked", "Report", "RouteNotCompared", "Severity", "Verdict"]
