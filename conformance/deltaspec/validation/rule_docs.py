"""Documentation of rules, as reports carry it."""

import re
from collections.abc import Collection, Iterable

from deltaspec.protocol.revisions import Revision
from deltaspec.report.report_types import RuleDoc
from deltaspec.rules import RULES

_PROTOCOL = "https://github.com/delta-io/delta/blob/master/PROTOCOL.md"
_PROPOSALS = "https://github.com/delta-io/delta/tree/master/protocol_rfcs"
_PROPOSAL_NOTE = "S44"
"""Silent point that says how proposals are read; each requirement of a proposal names it."""
_WRITERS = " (Requirements for Writers)"
"""Marks a heading that occurs for the second time in the chapter with the requirements for writers."""
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


def build_rule_doc(code: str) -> RuleDoc:
    """Return the documentation of a rule that reports print with its findings.

    The address leads to the section in the current protocol; for a proposal, to the directory of all proposals; for a
    section that only older revisions have, to the protocol.
    """
    rule = RULES[code]
    requirement = rule.requirement
    strength = f"diverge {rule.divergence}" if rule.divergence else requirement.strength
    url = build_requirement_url(requirement.section, requirement.notes, requirement.revisions)
    return RuleDoc(
        requirement.statement,
        requirement.section,
        strength,
        rule.why,
        rule.fix,
        url,
        requirement.reading or "",
        rule.fix_class,
        rule.fix_cases,
        rule.harm,
    )


def list_requirements_of_rules(codes: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements that rules check, the most important of each first; unknown codes are ignored."""
    return tuple(dict.fromkeys(name for code in codes if code in RULES for name in RULES[code].requires))


def build_requirement_url(section: str, notes: Collection[str], revisions: Collection[str]) -> str:
    """Return the address of the section of a requirement, of all proposals, or of the protocol.

    Args:
        section: headings of the requirement.
        notes: errata and silent points that it names.
        revisions: those that contain it.
    """
    if _PROPOSAL_NOTE in notes:
        return _PROPOSALS
    return build_section_url(section) if Revision.CURRENT in revisions else _PROTOCOL


def build_section_url(section: str) -> str:
    """Return the address of a section of the current protocol; of the first, if semicolons separate several."""
    first = section.partition(";")[0]
    heading = first.removesuffix(_WRITERS)
    anchor = _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")
    return f"{_PROTOCOL}#{anchor}" + ("" if heading == first else "-1")
