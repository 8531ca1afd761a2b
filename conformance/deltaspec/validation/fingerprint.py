"""Fingerprints of findings: the same for one fault in every report, whatever commits come later.

A fingerprint consists of the rule, the subject (data file, column, or a file in the log that the protocol does not
define) and the normalized fact. It has no version, line number or count, and not the log file in which an action was
found: after log cleanup, the action is in a checkpoint. So several findings may have the same fingerprint, and a
baseline counts them.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from typing import Any

from deltaspec.model.log.file_names import OtherFile, parse_log_file_name
from deltaspec.model.log.paths import path_key
from deltaspec.report.report_types import Finding
from deltaspec.rules import RULES
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_NUMBER = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CHARACTERS = 20


def compute_fingerprint(finding: Finding, table_root: str | None = None) -> str:
    """Return the fingerprint of a finding, 20 hexadecimal digits.

    Args:
        finding: the finding.
        table_root: decoded path or URI of the table, so that absolute and relative paths of a file are equal.
    """
    subject = [
        None if finding.path is None else path_key(finding.path, table_root),
        finding.column,
        _find_undefined_file(finding),
    ]
    parts = json.dumps([finding.rule, subject, _normalize_facts(finding)], sort_keys=True)
    return hashlib.sha256(parts.encode()).hexdigest()[:_CHARACTERS]


def _find_undefined_file(finding: Finding) -> str | None:
    """Return the name of a file in the log that the protocol does not define, without its version."""
    if finding.path is not None or finding.file is None:
        return None
    name = finding.file.removeprefix(f"{LOG_DIRECTORY}/")
    return _normalize_text(name) if isinstance(parse_log_file_name(name), OtherFile) else None


def _normalize_facts(finding: Finding) -> dict[str, Any]:
    """Return the evidence that says what is wrong: names and descriptions, without what later commits may change."""
    facts: dict[str, Any] = {}
    columns = _list_fact_columns(finding.rule)
    for name, value in finding.evidence.items():
        if name not in columns:
            continue
        if isinstance(value, str):
            facts[name] = _normalize_text(value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            facts[name] = sorted(map(_normalize_text, value))
    return facts


@cache
def _list_fact_columns(code: str) -> frozenset[str]:
    """Return the columns that a rule reads and that later commits do not change."""
    rule = RULES.get(code)
    return frozenset() if rule is None else frozenset(n for n in rule.reads if not rule.view.columns[n].varies)


def _normalize_text(text: str) -> str:
    """Replace UUIDs, and numbers except in names, because a text may cite versions, lines and counts."""
    plain = _UUID.sub("#", text)
    return plain if _NAME.fullmatch(plain) else _NUMBER.sub("#", plain)
