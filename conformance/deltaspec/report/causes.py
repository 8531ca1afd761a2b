"""Group the findings of a report under their causes."""

from itertools import groupby

from deltaspec.report.report_types import Finding, Report


def group_by_cause(report: Report) -> list[list[Finding]]:
    """Return the findings of each rule, most severe first; those that other rules cause follow the cause.

    A rule is moved only if all its findings have the same cause. The cause is as early as its first effect was.
    """
    groups = {rule: list(found) for rule, found in groupby(report.findings, key=lambda finding: finding.rule)}
    causes = {rule: cause for rule, found in groups.items() if (cause := find_common_cause(found)) in groups}
    ordered: list[str] = []
    for rule in groups:
        _place(_find_root(rule, causes), causes, list(groups), ordered)
    return [groups[rule] for rule in ordered]


def find_common_cause(findings: list[Finding]) -> str | None:
    """Return the code of the rule that causes all these findings; None if there is none."""
    causes = {each.cause for each in findings}
    return causes.pop() if len(causes) == 1 else None


def describe_fix(findings: list[Finding], fix: str) -> str:
    """Return the fix of the findings of a rule, or a reference to the rule with the fix."""
    cause = find_common_cause(findings)
    return fix if cause is None else f"Follow the fix of {cause}, which reports the same damage."


def _find_root(rule: str, causes: dict[str, str | None]) -> str:
    seen = [rule]
    while (cause := causes.get(seen[-1])) is not None and cause not in seen:
        seen.append(cause)
    return seen[-1]


def _place(rule: str, causes: dict[str, str | None], rules: list[str], ordered: list[str]) -> None:
    """Append a rule and then the rules that it causes."""
    if rule in ordered:
        return
    ordered.append(rule)
    for effect in rules:
        if causes.get(effect) == rule:
            _place(effect, causes, rules, ordered)
