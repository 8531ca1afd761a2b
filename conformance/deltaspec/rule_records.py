"""Explanations of rules and requirements as plain values, for JSON, Markdown and the pages of a site."""

from __future__ import annotations

from typing import Any

import msgspec

from deltaspec.fix_cases import list_steps
from deltaspec.log_examples import LogExample, find_marks, load_log_examples
from deltaspec.requirements import Requirement, load_requirements
from deltaspec.rules import Rule
from deltaspec.validation.rule_docs import build_requirement_url
from deltaspec.views.view_sources import VIEW_SOURCES


def describe_rule(rule: Rule) -> dict[str, Any]:
    """Return the explanation of a rule as plain values."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "harm": rule.harm,
        "level": rule.level,
        "view": rule.view.name,
        "filled_by": list(VIEW_SOURCES[rule.view.name].filled_by),
        "steps": list(VIEW_SOURCES[rule.view.name].steps),
        "revisions": list(rule.revisions),
        "message": rule.message,
        "why": rule.why,
        "fix": rule.fix,
        "fix_class": rule.fix_class,
        "fix_cases": msgspec.to_builtins(rule.fix_cases),
        "repair_steps": msgspec.to_builtins(list_steps(rule.code, rule.level)),
        "divergence": rule.divergence or None,
        "requires": [describe_requirement(load_requirements()[each]) for each in rule.requires],
        "log_example": _describe_log_example(load_log_examples().get(rule.code)),
        "conforms": rule.conforms,
        "violates": [{"row": row, "differs": list_differences(rule, row)} for row in rule.violates],
    }


def _describe_log_example(example: LogExample | None) -> dict[str, Any] | None:
    """Return lines of a sound table and of one that violates the rule, and the characters that differ."""
    if example is None:
        return None
    lines = []
    for pair in example.pairs:
        marks = find_marks(pair.conforms, pair.violates)
        for outcome, text, differs in zip(("conforms", "violates"), (pair.conforms, pair.violates), marks, strict=True):
            lines.append({"table": outcome, "file": pair.file, "line": text, "differs": differs})
    return {"planted_fault": example.planted_fault, "lines": lines, "more": example.more}


def describe_requirement(requirement: Requirement) -> dict[str, Any]:
    """Return a requirement as plain values."""
    return {
        "id": requirement.id,
        "strength": requirement.strength,
        "level": requirement.strength,
        "actor": requirement.actor,
        "check": requirement.check,
        "revisions": list(requirement.revisions),
        "section": requirement.section,
        "url": build_requirement_url(requirement.section, requirement.notes, requirement.revisions),
        "statement": requirement.statement,
        "reading": requirement.reading or None,
        "notes": list(requirement.notes),
    }


def list_differences(rule: Rule, row: dict[str, Any]) -> list[str]:
    """Return the columns in which a violating example differs from the most similar conforming one."""
    differences = [[name for name in row if row[name] != other.get(name)] for other in rule.conforms]
    return min(differences, key=len, default=list(row))
