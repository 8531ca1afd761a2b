"""Add to findings what to do: the case of the fix, its commands, and the finding that is the cause."""

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from deltaspec.fix_cases import Step, fill_commands, list_steps, select_case
from deltaspec.report.report_types import Finding
from deltaspec.rules import RULES
from deltaspec.rules.causes import CAUSES, Cause
from deltaspec.scales import LEVELS


def add_advice(findings: Sequence[Finding], table: str) -> list[Finding]:
    """Return the findings with their case, commands, cause and related rules, in the same order.

    Args:
        findings: of one report.
        table: path or URI of the table.
    """
    causes = _find_causes(findings)
    related = defaultdict(set)
    for effect, cause in causes.items():
        related[cause].add(findings[effect].rule)
    return [
        replace(
            _add_case(finding, table),
            cause=findings[causes[number]].rule if number in causes else None,
            related=sorted(related[number]),
        )
        for number, finding in enumerate(findings)
    ]


def list_report_steps(findings: Sequence[Finding]) -> list[Step]:
    """Return the steps of a repair of all violations and warnings; empty if none needs a repair."""
    faults = {each.rule for each in findings if each.severity != "divergence"}
    codes = sorted(code for code in faults if any(case.fix_class != "none" for case in RULES[code].fix_cases))
    return list_steps(",".join(codes), max((RULES[code].level for code in codes), key=LEVELS.index)) if codes else []


def _add_case(finding: Finding, table: str) -> Finding:
    cases = RULES[finding.rule].fix_cases
    case = select_case(cases, finding.evidence)
    if case is None:
        return finding
    values = finding.evidence | {"column": finding.column}
    return replace(finding, fix_case=cases.index(case), fix_commands=fill_commands(case, table, values))


def _find_causes(findings: Sequence[Finding]) -> dict[int, int]:
    """Return the position of the cause of each finding that has one. A cause may have a cause itself."""
    by_subject: dict[tuple[str, str, object], int] = {}
    for number, finding in enumerate(findings):
        for cause in CAUSES:
            if cause.rule == finding.rule:
                by_subject.setdefault((cause.rule, cause.subject, _get_subject(finding, cause)), number)
    found = {}
    for number, finding in enumerate(findings):
        for cause in CAUSES:
            key = (cause.rule, cause.subject, _get_subject(finding, cause))
            if finding.rule in cause.effects and key[2] is not None and key in by_subject:
                found[number] = by_subject[key]
                break
    return found


def _get_subject(finding: Finding, cause: Cause) -> object:
    """Return what a finding is about, as far as the cause compares it; None if it is not known."""
    return True if cause.subject == "table" else getattr(finding, cause.subject)
