"""Documentation of rules, as reports carry it."""

import re

from deltaspec.report.report_types import RuleDoc
from deltaspec.rules import RULES

_PROTOCOL = "https://github.com/delta-io/delta/blob/master/PROTOCOL.md"
_SUFFIX = re.compile(r" \(Requirements for [^)]*\)\Z")
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


def build_rule_doc(code: str) -> RuleDoc:
    """Return the documentation of a rule that reports print with its findings."""
    rule = RULES[code]
    requirement = rule.requirement
    level = f"diverge {rule.divergence}" if rule.divergence else requirement.level
    url = build_protocol_url(requirement.section)
    return RuleDoc(requirement.statement, requirement.section, level, rule.why, rule.fix, url)


def build_protocol_url(section: str) -> str:
    """Return the address of a section of the protocol; of the first, if several are separated by semicolons."""
    heading = _SUFFIX.sub("", section.partition(";")[0].strip())
    anchor = _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")
    return f"{_PROTOCOL}#{anchor}"
