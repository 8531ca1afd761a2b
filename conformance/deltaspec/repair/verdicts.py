"""Validate a table before and after a plan, and compare what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from deltaspec.repair.plan_format import VerdictSummary
from deltaspec.report.report_types import Finding, Report
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import Progress, ignore_progress
from deltaspec.validation.run import run_on_store
from deltaspec.wire.storage.interface import Store

MAX_FINDINGS = 100_000
"""Findings of one rule that a plan can take into account."""
ENDS_NOTHING = "it would end no finding"
"""Why a plan is refused that adds no finding and ends none."""
_RANKS = {"conforms": 0, "incomplete": 1, "violations": 2, "refused": 3}


Validate = Callable[[Store, Options, Progress], Report]
"""Validates the table that a store shows, as `validate_store` does."""


def validate_store(store: Store, options: Options, progress: Progress = ignore_progress) -> Report:
    """Validate the table that a store shows."""
    return run_on_store(store, options, RunSettings(progress))


def summarize(report: Report) -> VerdictSummary:
    """Return what a plan says about a report."""
    violations = Counter(each.rule for each in report.findings if each.severity == "violation")
    return VerdictSummary(
        level=report.level,
        verdict=report.verdict,
        violations={code: report.totals[code] for code in sorted(violations)},
        not_checked=sum(not each.accepted for each in report.checked.not_checked),
    )


def find_new_findings(before: Report, after: Report) -> list[Finding]:
    """Return the findings of the second report that the first does not have, by fingerprint.

    Warnings and divergences of derived files of the log are left out.
    """
    known = Counter(each.fingerprint for each in before.findings)
    new = []
    for each in after.findings:
        known[each.fingerprint] -= 1
        if known[each.fingerprint] < 0 and not _was_unseen(each):
            new.append(each)
    return new


def _was_unseen(finding: Finding) -> bool:
    """Return whether a finding may be older than the plan: a run compares only some derived files of the log.

    If a plan writes a derived file, its warnings do not count either: they concern its form.
    """
    return finding.severity != "violation" and finding.rule.startswith(("CKP", "COP", "CRC"))


def find_newly_unchecked(before: Report, after: Report) -> list[str]:
    """Return the rules that the second report could not decide although the first did."""
    return sorted(after.checked.undecided_rules - before.checked.undecided_rules)


def explain_lost_return(before: Report, after: Report) -> str | None:
    """Return why a return to an earlier version is refused: the verdict does not improve; None if it does.

    Findings of the earlier version may be new, because the run could not see them before.
    """
    counts = [sum(each.counts.values()) + len(each.checked.not_checked) for each in (before, after)]
    if _RANKS[after.verdict] > _RANKS[before.verdict] or counts[1] >= counts[0]:
        return f"the verdict would be {after.verdict}, with {after.counts['violation']} violations"
    return None


def explain_refusal(before: Report, after: Report) -> str | None:
    """Return why a plan is refused: it adds a finding, or does not improve the verdict; None if it is good."""
    new = find_new_findings(before, after)
    if new:
        first = new[0]
        more = f" and {len(new) - 1} more" if len(new) > 1 else ""
        return f"it would add {first.rule} {first.name} in {first.location}{more}"
    if after.verdict == "refused" or _RANKS[after.verdict] > _RANKS[before.verdict]:
        return f"the verdict would be {after.verdict}"
    if unchecked := find_newly_unchecked(before, after):
        return f"{', '.join(unchecked)} could not be checked any more"
    ended = Counter(each.fingerprint for each in before.findings) - Counter(each.fingerprint for each in after.findings)
    fewer = len(before.checked.not_checked) - len(after.checked.not_checked)
    if not ended and fewer <= 0:
        return ENDS_NOTHING
    return None


def describe_summary(summary: VerdictSummary) -> str:
    """Return a verdict in a few words."""
    found = ", ".join(f"{code} {number:,}" for code, number in sorted(summary.violations.items()))
    unchecked = f"{summary.not_checked:,} not checked" if summary.not_checked else ""
    details = "; ".join(each for each in (found, unchecked) if each)
    return f"{summary.verdict.upper()} at level {summary.level}{f' ({details})' if details else ''}"
