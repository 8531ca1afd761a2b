"""Render the matrix as a self-contained HTML page.

The template shows matrix, causes and requirements. The details of the cases are data in the page, from which the script
builds a case when it is opened. If they are too large, the page describes only some cases of each cause.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from deltaspec.matrix.causes import Cause, group_failures
from deltaspec.matrix.explanation import explain_message
from deltaspec.matrix.matrix_file import compute_digest
from deltaspec.matrix.model import ALL_TABLES, Counts, Engine, Failure, Matrix, Row, RowKind, sum_counts
from deltaspec.matrix.wording import CHANGES, SECTIONS, describe_run, get_row_title
from deltaspec.pages.renderer import render_page
from deltaspec.report.text import escape_text
from deltaspec.requirements import load_requirements

MOST_DETAIL_BYTES = 1_200_000
"""Size of the details of all cases in a page. With more, only some cases of each cause are described."""
_DESCRIBED_CASES = (1000, 100, 30, 10, 3, 1)
"""Cases of each cause that are described: the first number whose details are not too large."""

READING_NOTE = (
    "Right answers of the cases that were asked. A table counts for each of its features, so the rows do not add up. "
    "Choose a cell to see its failures; the arrow keys move between cells."
)
CORNERS = {"check": "Check", "operation": "Operation", "revision": "Revision", "chapter": "Chapter", "fault": "Trials"}
OUTCOMES = {
    "passed": "right answer",
    "refused": "refused as declared: the engine does not declare a feature of the table",
    "failed": "wrong answer, or refused or read against the protocol",
    "crashed": "ended, gave no answer in time, or broke the candidate protocol",
    "not_asked": "the engine does not offer it; never counts as passed",
}


def render_html(matrix: Matrix) -> str:
    """Return the page."""
    causes = group_failures(matrix)
    described = next(
        (most for most in _DESCRIBED_CASES if len(_encode(matrix, causes, most)) <= MOST_DETAIL_BYTES),
        _DESCRIBED_CASES[-1],
    )
    features = [row for row in matrix.rows if row.kind in ("all", "feature")]
    named = sorted({requirement for each in matrix.failures for requirement in each.requirements})
    return render_page(
        "matrix",
        matrix=matrix,
        digest=compute_digest(matrix),
        outcomes=OUTCOMES,
        total=sum((matrix.get_total(engine.id) for engine in matrix.engines), Counts()),
        tables=[
            _build_table(matrix, "Reading and writing", "Tables", READING_NOTE, features, matrix.suites),
            *(_build_section(matrix, *section) for section in SECTIONS),
        ],
        not_asked=_group_not_asked(matrix),
        causes=causes,
        cause_rows=[_list_cause_rows(matrix, each) for each in causes],
        described=described,
        is_abridged=any(len(each.failures) > described for each in causes),
        statements={name: _get_statement(name) for name in named},
        row_titles={row.id: get_row_title(row) for row in matrix.rows},
        describe_run=describe_run,
        changes=CHANGES,
        details=msgspec.json.decode(_encode(matrix, causes, described)),
    )  # fmt: skip


class Line(msgspec.Struct, frozen=True):
    """A line of a table: a row in total, or one suite of it."""

    suite: str
    """Empty for all suites."""
    title: str
    cells: list[Counts]
    """One for each engine."""


class Group(msgspec.Struct, frozen=True):
    """A row with its suites."""

    id: str
    title: str
    is_all: bool
    lines: list[Line]


class Table(msgspec.Struct, frozen=True):
    """A table of the page."""

    title: str
    corner: str
    note: str
    engines: Sequence[Engine]
    groups: list[Group]

    @property
    def suites(self) -> list[str]:
        """Suites by which the table can be narrowed down."""
        return list(dict.fromkeys(line.suite for group in self.groups for line in group.lines if line.suite))


def _build_table(matrix: Matrix, title: str, corner: str, note: str, rows: list[Row], suites: Sequence[str]) -> Table:
    """Return a table of the matrix with the engines that it concerns: each row in total, and by suite."""
    engines = [engine for engine in matrix.engines if any(engine.id in row.cells for row in rows)]
    groups = []
    for row in rows:
        asked = [suite for suite in suites if any(suite in found for found in row.cells.values())]
        cells = [row.cells.get(engine.id, {}) for engine in engines]
        lines = [Line("", get_row_title(row), [sum_counts(each) for each in cells])]
        lines += [Line(suite, suite, [each.get(suite, Counts()) for each in cells]) for suite in asked]
        groups.append(Group(row.id, get_row_title(row), row.id == ALL_TABLES, lines))
    return Table(title, corner, note, engines, groups)


def _build_section(matrix: Matrix, kind: RowKind, title: str, note: str) -> Table:
    """Return the table of one kind of rows; only chapters and revisions have rows for suites."""
    rows = [row for row in matrix.rows if row.kind == kind]
    suites = matrix.suites if kind in ("chapter", "revision") else ()
    return _build_table(matrix, title, CORNERS[kind], note.replace("*", ""), rows, suites)


def _group_not_asked(matrix: Matrix) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Return suite, reason, and the number of cases of each engine, in the order of suites."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for each in matrix.not_asked:
        engines = found.setdefault((each.suite, each.reason), {})
        engines[each.engine] = engines.get(each.engine, 0) + each.count
    order = {suite: index for index, suite in enumerate(matrix.suites)}
    keys = sorted(found, key=lambda key: (order.get(key[0], len(order)), -sum(found[key].values()), key))
    return [(suite, reason, list(found[suite, reason].items())) for suite, reason in keys]


def _get_statement(requirement: str) -> str:
    """Return strength, statement and section of a requirement."""
    found = load_requirements().get(requirement)
    if found is None:
        return "not a requirement of this release"
    return f"{found.strength.upper()}: {found.statement} ({found.section})"


def _list_cause_rows(matrix: Matrix, cause: Cause) -> list[str]:
    """Return the features, chapters and faults in which a cause counts, by how often."""
    found: dict[str, int] = {}
    for index in cause.failures:
        for row in matrix.failures[index].rows:
            if row.startswith("check:"):
                continue
            found[row] = found.get(row, 0) + 1
    return sorted(found, key=lambda row: (-found[row], row))


def _encode(matrix: Matrix, causes: list[Cause], described: int) -> bytes:
    """Encode the cases for the script. Values that many cases share are stored once, and a case has their index."""
    histories: dict[tuple[str, ...], int] = {}
    requirements: dict[tuple[str, ...], int] = {}
    rows: dict[tuple[str, ...], int] = {}
    commands: dict[tuple[str, ...], int] = {}
    changes = _index_changes(matrix)
    cases = []
    for number, cause in enumerate(causes):
        for position, index in enumerate(cause.failures):
            each = matrix.failures[index]
            case: dict[str, Any] = {
                "cause": number,
                "case": escape_text(each.case),
                "suite": each.suite,
                "rows": rows.setdefault(each.rows, len(rows)),
                "requirements": requirements.setdefault(each.requirements, len(requirements)),
                "replay": commands.setdefault(_split_command(each), len(commands)),
            }
            case |= {"crashed": True} if each.outcome == "crashed" else {}
            case |= {"change": changes[each.engine, each.case]} if (each.engine, each.case) in changes else {}
            if position < described:
                case |= _describe(each)
                case["history"] = histories.setdefault(each.history, len(histories))
            cases.append(case)
    data = {
        "causes": [{"engine": each.engine, "listed": each.is_listed} for each in causes],
        "cases": cases,
        "histories": [[escape_text(line) for line in each] for each in histories],
        "requirements": [list(each) for each in requirements],
        "rows": [list(each) for each in rows],
        "commands": [list(each) for each in commands],
    }
    return msgspec.json.encode(data)


def _index_changes(matrix: Matrix) -> dict[tuple[str, str], str]:
    """Return the changes by engine (`Engine.id`) and case."""
    if matrix.comparison is None:
        return {}
    ids: dict[str, list[str]] = {}
    for engine in matrix.engines:
        for name in (engine.name, engine.id):
            ids.setdefault(name, []).append(engine.id)
    return {
        (engine, each.case): each.change for each in matrix.comparison.changes for engine in ids.get(each.engine, ())
    }


def _split_command(failure: Failure) -> tuple[str, ...]:
    """Return the parts of the command around the case, which other cases share."""
    replay, case = escape_text(failure.replay), escape_text(failure.case)
    return tuple(replay.split(case)) if case else (replay,)


def _describe(failure: Failure) -> dict[str, Any]:
    parts = explain_message(failure.message)
    found = {
        "text": [escape_text(line) for line in parts.text],
        "condition": escape_text(parts.condition),
        "columns": escape_text(parts.columns),
        "missing": [escape_text(row) for row in parts.missing],
        "surplus": [escape_text(row) for row in parts.surplus],
    }
    return {name: value for name, value in found.items() if value}
