"""Explanations of rules, requirements, chapters and notes as JSON and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from deltaspec.log_examples import load_log_examples, render_log_example
from deltaspec.requirement_pages import WIDTH
from deltaspec.rule_pages import find_explained
from deltaspec.rule_records import describe_requirement, describe_rule


def render_record(name: str, output_format: str) -> str:
    """Return an explanation as JSON or as Markdown.

    Args:
        name: as for `deltaspec.rule_pages.render_explanation`.
        output_format: `json` or `markdown`.

    Raises:
        InvalidUsage: the name is unknown; the message suggests the nearest name.
    """
    found = find_explained(name)
    record = {"title": found.title, "rules": list(map(describe_rule, found.rules))}
    record["requirements"] = list(map(describe_requirement, found.requirements))
    if found.kind == "notes":
        record["notes"] = [
            {
                "number": note.title,
                "requirements": list(map(describe_requirement, note.requirements)),
                "divergences": [rule.code for rule in note.rules],
            }
            for note in found.notes
        ]
    if output_format == "json":
        return json.dumps(record, ensure_ascii=False, indent=2)
    return "\n".join(_iter_markdown(record))


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
