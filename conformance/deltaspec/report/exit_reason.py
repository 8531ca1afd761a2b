"""Explain an exit code of a command that differs from the exit code of the verdict."""

from __future__ import annotations

from deltaspec.exit_codes import ExitCode
from deltaspec.report.report_types import EXIT_CODES_OF_VERDICTS, Report
from deltaspec.scales import SEVERITIES, Severity


def explain_exit_code(report: Report, exit_code: ExitCode, fail_on: Severity) -> str | None:
    """Return why the exit code of a command differs from the exit code of the verdict; None if they are equal.

    Args:
        report: the report.
        exit_code: exit code of the command.
        fail_on: the least severe findings that fail.
    """
    if exit_code == EXIT_CODES_OF_VERDICTS[report.verdict]:
        return None
    if exit_code == ExitCode.OK:
        return "--exit-zero"
    if exit_code == ExitCode.FAILED:
        return "; ".join([f"--fail-on {fail_on}", *_list_expired(report, fail_on)])
    if report.verdict == "violations" and exit_code == ExitCode.INCOMPLETE:  # without --exit-zero, it would be 1
        return f"--exit-zero; {report.stopped or 'not everything was checked'}"
    return report.stopped or "not everything was checked"


def _list_expired(report: Report, fail_on: Severity) -> list[str]:
    """Return the expired entries whose rules have findings that fail the run."""
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    rules = {each.rule for each in report.findings if each.severity in failing}
    return [
        f"{each.description} was accepted until {each.until}"
        for each in report.accept
        if each.status == "expired" and any(rule.startswith(each.rule) for rule in rules)
    ]
