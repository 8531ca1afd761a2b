"""Fingerprints of findings: one fault has the same fingerprint in every report, whatever commits follow.

A fingerprint consists of the rule, the subject (data file, column, or a file in the log that the protocol does not
define) and the normalized fact. It does not contain versions, line numbers, counts, or the log file of an action: after
log cleanup, the action is in a checkpoint. So several findings may have the same fingerprint, and a
baseline counts them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import polars as pl

from deltaspec.protocol.files.paths import path_key
from deltaspec.protocol.log.file_names import OtherFile, parse_log_file_name
from deltaspec.report.report_types import Finding
from deltaspec.rules import RULES
from deltaspec.rules.registry import Rule
from deltaspec.validation.kept_findings import format_evidence
from deltaspec.views.base import LOCATION
from deltaspec.wire.storage.interface import LOG_DIRECTORY

_NAME = re.compile(r"[^\W\d][\w.\-]*")
_NUMBER = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CHARACTERS = 20
_ENCODER = json.JSONEncoder(sort_keys=True)


def compute_fingerprint(finding: Finding, table_root: str | None = None) -> str:
    """Return the fingerprint of a finding, 20 hexadecimal digits.

    Args:
        finding: the finding.
        table_root: decoded path or URI of the table, so that absolute and relative paths of a file are equal.
    """
    subject = _find_subject(finding.path, finding.column, finding.file, table_root)
    columns = _list_fact_columns(finding.rule)
    return _compute(finding.rule, subject, {name: finding.evidence[name] for name in finding.evidence.keys() & columns})


def compute_fingerprints(rule: Rule, rows: pl.DataFrame, table_root: str | None) -> pl.Series:
    """Return the fingerprint of each finding, given as a row of its rule's view."""
    texts = (pl.String, pl.List(pl.String))
    facts = [name for name in _list_fact_columns(rule.code) if rule.view.columns[name].dtype in texts]
    subject = ("path", "column", "file")
    columns = [rows[name].to_list() if name in rows.columns else [None] * len(rows) for name in (*subject, *facts)]
    known: dict[str, str] = {}
    found = []
    for path, column, file, *values in zip(*columns, strict=True):
        key = repr((path, column, file if path is None else None, values))
        if key not in known:
            evidence = {name: format_evidence(value) for name, value in zip(facts, values, strict=True)}
            known[key] = _compute(rule.code, _find_subject(path, column, file, table_root), evidence)
        found.append(known[key])
    return pl.Series(found, dtype=pl.String)


def describe_subject(finding: Finding, table_root: str | None) -> str:
    """Return the subject of a finding, without parts that later commits may change; empty for the table."""
    return " ".join(filter(None, _find_subject(finding.path, finding.column, finding.file, table_root)))


def _find_subject(path: str | None, column: str | None, file: str | None, table_root: str | None) -> list[str | None]:
    """Return the data file, the column, and the name of a file in the log that the protocol does not define."""
    key = None if path is None else path_key(path, table_root)
    undefined = _find_undefined_file(file) if path is None and file is not None else None
    return [key, column, undefined]


def _find_undefined_file(file: str) -> str | None:
    """Return the name of a file in the log that the protocol does not define, without its version."""
    name = file.removeprefix(f"{LOG_DIRECTORY}/")
    return _normalize_text(name) if isinstance(parse_log_file_name(name), OtherFile) else None


def _compute(code: str, subject: list[str | None], evidence: Mapping[str, Any]) -> str:
    """Hash a finding: its rule, its subject, and the evidence that says what is wrong.

    Only names and descriptions count. Numbers and booleans may change with later commits.
    """
    facts: dict[str, Any] = {}
    for name, value in evidence.items():
        if isinstance(value, str):
            facts[name] = _normalize_text(value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            facts[name] = sorted(map(_normalize_text, value))
    return hashlib.sha256(_ENCODER.encode([code, subject, facts]).encode()).hexdigest()[:_CHARACTERS]


@cache
def _list_fact_columns(code: str) -> frozenset[str]:
    """Return the columns that a rule reads and that later commits do not change."""
    rule = RULES.get(code)
    columns = {} if rule is None else {name: rule.view.columns[name] for name in rule.reads if name not in LOCATION}
    return frozenset(name for name, column in columns.items() if not column.varies)


def _normalize_text(text: str) -> str:
    """Replace UUIDs, and numbers except in names, because a text may cite versions, lines and counts."""
    plain = _UUID.sub("#", text)
    return plain if _NAME.fullmatch(plain) else _NUMBER.sub("#", plain)
