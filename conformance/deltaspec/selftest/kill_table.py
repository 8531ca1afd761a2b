"""The kill table: the suites that caught each mutant, and the number of tables that it took."""

import statistics
from collections.abc import Sequence
from typing import Any

import msgspec

from deltaspec.selftest.mutants import MUTANTS
from deltaspec.selftest.runner import MutantResult

AIMS = (100, 300)
"""95 % of the mutants are to be caught within the first number of drawn tables, histories or races, all within the
second."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant and how it was caught."""

    mutant: str
    title: str
    requires: tuple[str, ...]
    origin: str | None
    killed: bool
    suites: tuple[str, ...] = ()
    check: str | None = None
    table: str | None = None
    tables: int | None = None
    """Drawn tables, histories or races until it was caught; null if only a written or golden one caught it."""
    message: str | None = None


class KillTable(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a self-test."""

    seed: int
    tables: int
    """Number of drawn tables, histories and races."""
    mutants: int
    killed: int
    killed_by_written_tables: int
    median_tables: float | None
    """Median number of drawn tables until a mutant was caught, among mutants that drawn tables caught."""
    rows: tuple[Row, ...]

    @property
    def verdict(self) -> str:
        """The last line of every form of the report."""
        return f"{self.killed} of {self.mutants} killed"


def build_kill_table(
    results: Sequence[MutantResult], seed: int, tables: int, earlier: KillTable | None = None
) -> KillTable:
    """Build the kill table of results.

    Args:
        results: results of some or all mutants.
        seed: seed of the run.
        tables: number of drawn tables, histories and races.
        earlier: report whose rows are kept for the mutants without a result.
    """
    found = {each.mutant: _build_row(each) for each in results}
    kept = {} if earlier is None else {each.mutant: each for each in earlier.rows}
    rows = tuple((kept | found)[name] for name in MUTANTS if name in found or name in kept)
    counts = [row.tables for row in rows if row.tables is not None]
    return KillTable(
        seed=seed,
        tables=tables,
        mutants=len(rows),
        killed=sum(row.killed for row in rows),
        killed_by_written_tables=sum(row.killed and row.tables is None for row in rows),
        median_tables=statistics.median(counts) if counts else None,
        rows=rows,
    )


def _build_row(result: MutantResult) -> Row:
    mutant, kill = MUTANTS[result.mutant], result.kill
    shared: dict[str, Any] = {
        "mutant": mutant.id, "title": mutant.title, "requires": mutant.requires, "origin": mutant.origin
    }  # fmt: skip
    if kill is None:
        return Row(**shared, killed=False)
    return Row(
        **shared, killed=True, suites=kill.suites, check=kill.check, table=kill.table, tables=kill.tables,
        message=kill.message,
    )  # fmt: skip


def summarize(table: KillTable) -> list[str]:
    """Return sentences about the time to detection and the survivors."""
    counts = [row.tables for row in table.rows if row.tables is not None]
    written = f"{table.killed_by_written_tables} only by written or golden ones"
    lines = [f"{len(counts)} by tables, histories and races drawn from seed {table.seed}, {written}"]
    if counts:
        within = ", ".join(
            f"{sum(count <= aim for count in counts)} within {aim}" for aim in AIMS if aim <= table.tables
        )
        lines.append(
            f"until a mutant is caught: median {table.median_tables:g}, 95 % within {compute_percentile(counts, 95)}, "
            f"most {max(counts)}" + (f"; {within}" if within else "")
        )
    lines += [f"survived: {row.mutant}: {row.title}" for row in table.rows if not row.killed]
    return lines


def compute_percentile(counts: Sequence[int], percent: int) -> int:
    """Return the smallest number that `percent` percent of the counts do not exceed."""
    return sorted(counts)[-(-len(counts) * percent // 100) - 1]


def render_text(table: KillTable) -> str:
    """Render the kill table for a terminal."""
    width = max((len(row.mutant) for row in table.rows), default=0)
    lines = [
        f"{row.mutant:{width}}  {_show_tables(row):>12}  {', '.join(row.suites) or '-'}  ({', '.join(row.requires)})"
        for row in table.rows
    ]
    return "\n".join([*lines, "", *summarize(table), table.verdict, ""])


def render_markdown(table: KillTable) -> str:
    """Render the kill table as a page."""
    lines = [
        "# Self-test: faulty engines must be caught",
        "",
        f"`deltaspec selftest --tables {table.tables} --seed {table.seed} --format markdown` writes this page.",
        "Each mutant is the reference reader or writer with one fault.",
        "*Tables* is the number of drawn tables until a suite caught it, of histories for writers, and of races for",
        "faults of concurrent writers; or the written or golden table that did.",
        "",
        *(f"- {line}" for line in summarize(table)),
        "",
        "| mutant | fault | requirement | caught by | tables | like bug |",
        "|-|-|-|-|-:|-|",
        *(
            f"| {row.mutant} | {row.title} | {', '.join(row.requires)} | {', '.join(row.suites) or '**nothing**'} "
            f"| {_show_tables(row)} | {row.origin or ''} |"
            for row in table.rows
        ),
        "",
        table.verdict,
        "",
    ]
    return "\n".join(lines)


def _show_tables(row: Row) -> str:
    if not row.killed:
        return "survived"
    return str(row.tables) if row.tables is not None else str(row.table)
