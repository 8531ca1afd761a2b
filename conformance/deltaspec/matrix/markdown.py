"""Render the matrix as Markdown, for repositories and step summaries. Text of reports is escaped."""

from collections.abc import Iterable, Sequence

from deltaspec.matrix.causes import group_failures
from deltaspec.matrix.model import Comparison, Counts, Engine, Matrix, Row, sum_counts
from deltaspec.matrix.wording import SECTIONS, describe_change, describe_run, get_row_title
from deltaspec.report.text import count, escape_text

_CHARACTERS = 300
_CHANGES_SHOWN = 50
_BREAKS_SHOWN = 2
LEGEND = (
    "A cell has the right answers of all cases that were asked; then how many tables were *refused* as declared, and "
    "how many cases *crashed* or were *not asked*. A case that was not asked never counts as passed. A table counts "
    "for each of its features, so the rows do not add up."
)


def render_markdown(matrix: Matrix) -> str:
    """Return the document: engines, each kind of row by engine, causes of failures, gaps of reports."""
    read = [row for row in matrix.rows if row.kind in ("all", "feature")]
    lines = ["# Conformance matrix", "", LEGEND, "", *_engines(matrix)]
    if matrix.comparison:
        lines += ["", "## Changes", "", *_comparison(matrix.comparison)]
    lines += ["", "## Features", "", *_rows(matrix.engines, read)]
    lines += ["", "## Suites", "", *_suites(matrix)]
    for kind, title, note in SECTIONS:
        if rows := [row for row in matrix.rows if row.kind == kind]:
            engines = [each for each in matrix.engines if any(each.id in row.cells for row in rows)]
            lines += ["", f"## {title}", "", note, "", *_rows(engines, rows)]
    lines += ["", "## Failures", "", *_failures(matrix)]
    if matrix.gaps:
        lines += ["", "## What the reports do not hold", ""]
        lines += [f"- {_escape(gap.what, keep='`')} ({', '.join(map(_escape, gap.reports))})" for gap in matrix.gaps]
    return "\n".join(lines) + "\n"


def _engines(matrix: Matrix) -> Iterable[str]:
    yield from _table("engine", "language", "asked")
    for engine in matrix.engines:
        runs = "; ".join(_escape(describe_run(run)) for run in engine.runs)
        yield f"| {_escape(engine.id)} | {_escape(engine.language)} | {runs} |"


def _rows(engines: Sequence[Engine], rows: Sequence[Row]) -> Iterable[str]:
    yield from _table("", *(_escape(engine.id) for engine in engines))
    for row in rows:
        cells = (_describe(sum_counts(row.cells.get(engine.id, {}))) for engine in engines)
        yield f"| {_escape(get_row_title(row))} | {' | '.join(cells)} |"


def _suites(matrix: Matrix) -> Iterable[str]:
    cells = matrix.rows[0].cells if matrix.rows else {}
    suites = [suite for suite in matrix.suites if any(suite in found for found in cells.values())]
    yield from _table("", *(_escape(engine.id) for engine in matrix.engines))
    for suite in suites:
        found = (_describe(cells.get(engine.id, {}).get(suite, Counts())) for engine in matrix.engines)
        yield f"| {_escape(suite)} | {' | '.join(found)} |"


def _describe(counts: Counts) -> str:
    parts = [f"{counts.right:,}/{counts.asked:,}"] if counts.asked else []
    named = ((counts.refused, "refused"), (counts.crashed, "crashed"), (counts.not_asked, "not asked"))
    return ", ".join([*parts, *(f"{number:,} {name}" for number, name in named if number)])


def _failures(matrix: Matrix) -> Iterable[str]:
    """Yield each cause with its simplest case."""
    engine = None
    for cause in group_failures(matrix):
        if cause.engine != engine:
            engine = cause.engine
            yield from ["", f"### {_escape(engine)}", ""]
        first = matrix.failures[cause.failures[0]]
        link = f" ([details]({cause.link}))" if cause.link.startswith("https://") and " " not in cause.link else ""
        listed = "" if cause.is_listed else " **(not listed)**"
        yield f"- {count(len(cause.failures), 'case')}: {_escape(cause.title)}{listed}{link}"
        breaks = ", ".join(f"`{_code(each)}`" for each in cause.breaks[:_BREAKS_SHOWN])
        yield f"  `{_code(first.replay)}`" + (f" breaks {breaks}" if breaks else "")


def _comparison(comparison: Comparison) -> Iterable[str]:
    yield f"Compared with {_escape(comparison.earlier)}."
    yield ""
    yield from _table("engine", "version", "right", "wrong", "not asked")
    for each in comparison.engines:
        old, new = each.counts_before or Counts(), each.counts_after or Counts()
        version = f"{each.before or 'none'} → {each.after or 'none'}"
        numbers = ((old.right, new.right), (old.wrong, new.wrong), (old.not_asked, new.not_asked))
        cells = " | ".join(f"{before:,} → {after:,}" for before, after in numbers)
        yield f"| {_escape(each.name)} | {_escape(version)} | {cells} |"
    yield ""
    for change in comparison.changes[:_CHANGES_SHOWN]:
        what = _escape(change.after or change.before)
        yield f"- {describe_change(change)}: {_escape(change.engine)}, `{_code(change.case)}`: {what}"
    if len(comparison.changes) > _CHANGES_SHOWN:
        yield f"- and {len(comparison.changes) - _CHANGES_SHOWN:,} more; `matrix.json` has all"
    if not comparison.changes:
        yield "No case changed."


def _table(*titles: str) -> list[str]:
    return [f"| {' | '.join(titles)} |", "|-" * len(titles) + "|"]


def _escape(text: str, keep: str = "") -> str:
    shown = escape_text(text, _CHARACTERS)
    return "".join(f"\\{each}" if each in r"\`*_{}[]()<>#|&~!" and each not in keep else each for each in shown)


def _code(text: str) -> str:
    return escape_text(text, _CHARACTERS).replace("`", "'")
