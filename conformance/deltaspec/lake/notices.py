"""What is new or gone since the last run, as a message for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from deltaspec.lake.overview import TableEntry, build_entry, rank_rule
from deltaspec.lake.state import LETTERS, Change, LakeState, StoredReport
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult
from deltaspec.report.text import count, escape_text
from deltaspec.rules import RULES
from deltaspec.scales import SEVERITIES

_TABLES_SHOWN = 20
_RULES_SHOWN = 10
_VERDICTS = {letter: verdict for verdict, letter in LETTERS.items()}
_REPORTED_VERDICTS = ("incomplete", "refused", "unreadable", "unavailable", "failed", "not run")
"""Verdicts of which the message tells although there is no finding."""


class Notice(msgspec.Struct, frozen=True):
    """What changed in a table."""

    entry: TableEntry
    new: Sequence[Change]
    gone: Sequence[Change]
    verdict_before: str
    """Empty if there was no run before."""


def record_run(
    state: LakeState, results: Iterable[tuple[int, str, TableResult, Report | None]], get_severity: Callable[[str], str]
) -> list[Notice]:
    """Record the results of a run, and return what changed since the one before.

    A table without an earlier result has new findings only. Rules of a severity that the table's owner does not want to
    hear of are left out.

    Args:
        state: what was known; changed in place.
        results: time in milliseconds since the epoch, location, result, and report of each table.
        get_severity: returns the least severity of findings of a table that are sent.
    """
    notices = []
    for time_ms, table, result, report in results:
        earlier = state.tables.get(table)
        before = {} if earlier is None else earlier.known
        letter = "" if earlier is None else LETTERS[earlier.last.verdict]
        stored = None if report is None else msgspec.convert(report, StoredReport, from_attributes=True)
        known = state.record(table, time_ms, result, stored)
        known.before, known.verdict_before = before, letter or "."  # of the last run, not of the last night
        entry = build_entry(table, state, "", "")
        least = SEVERITIES.index(get_severity(table))
        new, gone = ([each for each in found if rank_rule(each.rule)[0] <= least] for found in (entry.new, entry.gone))
        now = result.verdict
        has_other_verdict = letter != LETTERS[now] and (
            now in _REPORTED_VERDICTS or _VERDICTS.get(letter) in _REPORTED_VERDICTS
        )
        if new or gone or (has_other_verdict and (letter or now in _REPORTED_VERDICTS)):
            notices.append(Notice(entry, new, gone, _VERDICTS.get(letter, "")))
    state.finish()
    return sorted(notices, key=lambda each: each.entry.rank)


def render_title(notices: Sequence[Notice]) -> str:
    """Return the title of a message."""
    new = sum(bool(each.new) for each in notices)
    gone = sum(bool(each.gone) and not each.new for each in notices)
    other = len(notices) - new - gone
    parts = [
        f"{count(new, 'table')} with new findings" if new else "",
        f"findings of {count(gone, 'table')} gone" if gone else "",
        f"another verdict of {count(other, 'table')}" if other else "",
    ]
    return f"deltaspec: {', '.join(filter(None, parts))}"


def render_body(notices: Sequence[Notice], get_owner: Callable[[str], str]) -> str:
    """Return the text of a message: a paragraph for each table."""
    lines = []
    for each in notices[:_TABLES_SHOWN]:
        owner = get_owner(each.entry.table)
        verdict = each.entry.last.verdict
        was = f", was {each.verdict_before}" if each.verdict_before not in ("", verdict) else ""
        lines.append(f"{escape_text(each.entry.table, 300)}{f' ({owner})' if owner else ''}: {verdict}{was}")
        lines += _describe_changes("new", each.new)
        lines += _describe_changes("gone", each.gone)
        if each.entry.last.reason:
            lines.append(f"  {escape_text(each.entry.last.reason, 300)}")
        lines.append("")
    if len(notices) > _TABLES_SHOWN:
        lines.append(f"and {count(len(notices) - _TABLES_SHOWN, 'table')} more")
    return "\n".join(lines).rstrip()


def _describe_changes(kind: str, changes: Sequence[Change]) -> Iterator[str]:
    for each in sorted(changes, key=lambda change: rank_rule(change.rule))[:_RULES_SHOWN]:
        rule = RULES.get(each.rule)
        name = f" {rule.name} ({rule.severity}): {rule.message}" if rule else ""
        yield f"  {kind} {each.number:,} {each.rule}{name}"
    if len(changes) > _RULES_SHOWN:
        yield f"  and {count(len(changes) - _RULES_SHOWN, 'rule')} more {kind}"
