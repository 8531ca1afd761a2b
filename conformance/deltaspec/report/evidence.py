"""The evidence of a finding as text."""

import json

from deltaspec.report.report_types import Finding
from deltaspec.report.text import escape_text


def format_evidence(finding: Finding) -> str:
    """Return the values that a rule found, complete, in one line; values that are null or empty lists are left out."""
    return ", ".join(list_evidence(finding))


def list_evidence(finding: Finding) -> list[str]:
    """Return the values that a rule found, each as `name = value`, printable."""
    found = {name: value for name, value in finding.evidence.items() if value is not None and value != []}
    return [escape_text(f"{name} = {json.dumps(value, ensure_ascii=False)}") for name, value in found.items()]
