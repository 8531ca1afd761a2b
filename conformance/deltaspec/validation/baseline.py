"""Baselines: JSON files with the findings that are known, one line for each fault of each table."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Collection, Iterable
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.output_files import write_file
from deltaspec.validation.output_location import normalize_scheme, require_outside_table

BASELINE_VERSION = 1
"""Increases when the format or the fingerprints change."""
MAX_FINDINGS = 100_000
"""Maximum number of different findings in a baseline, because a run keeps all of them in memory."""
_MAX_BYTES = 256 << 20


class KnownFinding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Findings of one table with the same fingerprint."""

    table: str
    """URI, or path relative to the directory of the baseline."""
    rule: str
    subject: str
    """Data file, column or log file, for readers of the baseline."""
    fingerprint: Annotated[str, Meta(min_length=1, max_length=100)]
    count: Annotated[int, Meta(ge=1)]
    """Number of findings that are known, without those that repeat an action in a checkpoint or other derived file."""


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    baseline_version: int
    findings: list[KnownFinding]


def read_baseline(file: str) -> list[KnownFinding]:
    """Read a baseline. If lines repeat a fault, as after a merge, the line with the highest count remains.

    Raises:
        InvalidUsage: the file does not exist, or is not a baseline that this release can read.
    """
    if not os.path.lexists(file):
        raise InvalidUsage(f"{file}: not found; `deltaspec baseline update {file} TABLE` creates a baseline")
    data = read_input_file(file, _MAX_BYTES)
    try:
        found = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise InvalidUsage(f"{file}: not a baseline: {fault}") from fault
    if found.baseline_version != BASELINE_VERSION:
        raise InvalidUsage(
            f"{file}: has version {found.baseline_version}, this release reads {BASELINE_VERSION}; "
            f"create it again with `deltaspec baseline update`"
        )
    unique: dict[tuple[str, str], KnownFinding] = {}
    for each in found.findings:
        key = each.table, each.fingerprint
        if key not in unique or unique[key].count < each.count:
            unique[key] = each
    _check_number(file, len(unique))
    return list(unique.values())


def write_baseline(file: str, findings: Iterable[KnownFinding]) -> None:
    """Write a baseline in a stable order. The file is replaced in one step.

    Raises:
        InvalidUsage: the file is in a table or cannot be written, or there are too many findings.
    """
    require_outside_table(file, None)
    ordered = sorted(findings, key=lambda each: (each.table, each.rule, each.subject, each.fingerprint))
    _check_number(file, len(ordered))
    lines = ",\n".join(f"    {json.dumps(msgspec.to_builtins(each))}" for each in ordered)
    text = f'{{\n  "baseline_version": {BASELINE_VERSION},\n  "findings": [\n{lines}\n  ]\n}}\n'
    write_file(file, text.encode("ascii"))


def update_findings(
    before: Iterable[KnownFinding],
    table: str,
    found: Iterable[KnownFinding],
    decided: Collection[str],
    *,
    adds: bool,
) -> list[KnownFinding]:
    """Return the findings of a baseline after a run over one of its tables.

    Args:
        before: findings of the baseline.
        table: the table, as the baseline names it.
        found: what the run found; their `table` is not read.
        decided: codes of the rules whose findings are all known. Other findings remain, and may increase.
        adds: whether findings are added; otherwise they are only removed.
    """
    known = {each.fingerprint: each for each in before if each.table == table}
    current = {each.fingerprint: each for each in found}
    updated = [each for each in before if each.table != table]
    for name in known.keys() | current.keys() if adds else known.keys():
        old, new = known.get(name), current.get(name)
        either = new or old
        assert either is not None
        number, least = 0 if new is None else new.count, 0 if old is None else old.count
        if either.rule not in decided:
            number = max(number, least)
        if number := number if adds else min(number, least):
            updated.append(replace(either, table=table, count=number))
    return updated


def build_table_key(root: str, file: str) -> str:
    """Return the name of a table in a baseline: relative if possible, so that the directory with both may be moved.

    Args:
        root: decoded path or URI of the table, from its store.
        file: file of the baseline.
    """
    if "://" in root:
        return posixpath.normpath(normalize_scheme(root)).replace(":/", "://", 1)
    relative = os.path.relpath(os.path.realpath(root), os.path.dirname(os.path.realpath(file)))
    return relative.replace(os.sep, "/")


def _check_number(file: str, number: int) -> None:
    if number > MAX_FINDINGS:
        raise InvalidUsage(
            f"{file}: more than {MAX_FINDINGS:,} different findings; accept the rules that find most of them "
            "with [[accept]] in deltaspec.toml"
        )
