"""Explanations of rules, requirements, chapters and notes as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from deltaspec.fix_cases import list_steps
from deltaspec.log_examples import LogExample, find_marks, load_log_examples, render_log_example
from deltaspec.requirement_pages import WIDTH, build_url
from deltaspec.requirements import Requirement, load_requirements
from deltaspec.rule_pages import find_explained, list_differences
from deltaspec.rules import Rule
from deltaspec.views.view_sources import VIEW_SOURCES


def render_record(name: str, output_format: str) -> str:
    """Return an explanation as JSON or as Markdown.

    Args:
        name: as for `deltaspec.rule_pages.render_explanation`.
        output_format: `json` or `markdown`.

    Raises:
        InvalidUsage: the name is unknown; the message suggests the nearest name.
    """
    found = find_explained(name)
    record = {"title": found.title, "rules": list(map(_describe_rule, found.rules))}
    record["requirements"] = list(map(_describe_requirement, found.requirements))
    if found.kind == "notes":
        record["notes"] = [
            {
                "number": note.title,
                "requirements": list(map(_describe_requirement, note.requirements)),
                "divergences": [rule.code for rule in note.rules],
            }
            for note in found.notes
        ]
    if output_format == "json":
        return json.dumps(record, ensure_ascii=False, indent=2)
    return "\n".join(_iter_markdown(record))


def _describe_rule(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
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
        "requires": [_describe_requirement(load_requirements()[each]) for each in rule.requires],
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


def _describe_requirement(requirement: Requirement) -> dict[str, Any]:
    return {
        "id": requirement.id,
        "strength": requirement.strength,
        "level": requirement.strength,
        "actor": requirement.actor,
        "check": requirement.check,
        "revisions": list(requirement.revisions),
        "section": requirement.section,
        "url": build_url(requirement),
        "statement": requirement.statement,
        "reading": requirement.reading or None,
        "notes": list(requirement.notes),
    }


def _iter_markdown(record: Mapping[str, Any]) -> Sequence[str]:
    lines = [f"# {record['title']}", ""]
    for rule in record["rules"]:
        lines += [f"## {rule['code']} {rule['name']}", ""]
        lines += [f"{rule['severity']} · level {rule['level']} · revisions {', '.join(rule['revisions'])}", ""]
        lines += [rule["message"], "", f"**Why** {rule['why']}", "", f"**Fix** ({rule['fix_class']}) {rule['fix']}", ""]
        lines += [_format_requirement(each) for each in rule["requires"]]
        if example := load_log_examples().get(rule["code"]):
            lines += ["", "In the log:", "", "```text", *render_log_example(example, WIDTH), "```"]
        lines += ["", "Conforms:", "", "```json", *(_format_row(row) for row in rule["conforms"]), "```", ""]
        lines += ["Violates:", "", "```json", *(_format_row(each["row"]) for each in rule["violates"]), "```", ""]
    lines += [_format_requirement(each) for each in record["requirements"]]
    for note in record.get("notes", ()):
        lines += [f"## {note['number']}", "", *(_format_requirement(each) for each in note["requirements"])]
        lines += [f"- Reported as a divergence: {code}" for code in note["divergences"]] + [""]
    return lines


def _format_requirement(requirement: Mapping[str, Any]) -> str:
    reading = f" Reading: {requirement['reading']}" if requirement["reading"] else ""
    source = f"[{requirement['section']}]({requirement['url']})"
    return (
        f"- **{requirement['strength'].upper()}** {requirement['statement']} ({source}; `{requirement['id']}`){reading}"
    )


def _format_row(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)
