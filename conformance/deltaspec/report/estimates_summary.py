"""Cost estimates of several tables: a line for each, and the totals of each level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from deltaspec.report.estimate import Amount, Estimate, Reads, format_sum, format_time, sum_amounts
from deltaspec.report.text import count, escape_text, size, wrap_text

if TYPE_CHECKING:
    from rich.console import Console

ESTIMATES_VERSION = 1
"""Increases when a field is removed or changes its meaning. A new field keeps it."""


class NotEstimated(msgspec.Struct, frozen=True):
    """A table without an estimate."""

    table: str
    """Path or URI, without secrets."""
    reason: str


class LevelTotal(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of runs over all tables at one level, including the levels before it."""

    level: str
    requests: Amount
    bytes: Amount
    seconds: float | None
    """Likely time, one table after the other; None if it is not known for everything that is read."""


class EstimatesSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Estimates of several tables, and their totals."""

    estimates_version: int
    deltaspec: str
    exit_code: int
    """2 if a table has no estimate, 5 if the only reason is that its storage did not answer, otherwise 0."""
    tables: list[Estimate]
    not_estimated: list[NotEstimated]
    totals: list[LevelTotal]


def compute_totals(estimates: Sequence[Estimate]) -> list[LevelTotal]:
    """Return the totals of each level."""
    totals = []
    for level, reads in _list_reads(estimates):
        known = [each.seconds for each in reads if each.seconds is not None]
        totals.append(
            LevelTotal(
                level=level,
                requests=sum_amounts(each.requests for each in reads),
                bytes=sum_amounts(each.bytes for each in reads),
                seconds=sum(known) if len(known) == len(reads) else None,
            )
        )
    return totals


def write_estimates(summary: EstimatesSummary, console: Console) -> None:
    """Print the bytes that each table needs at each level, and the requests, bytes and time of all tables."""
    from rich.text import Text

    levels = [each.level for each in summary.totals]
    rows = [("live files", *levels, "table"), *(_build_row(each, levels) for each in summary.tables)]
    if summary.tables:
        console.print(Text("bytes up to each level", "dim"))
        _write_rows(rows, console)
    for each in summary.not_estimated:
        for line in wrap_text(f"{escape_text(each.table)}: {escape_text(each.reason)}", console.width):
            console.print(Text(line, "bold red"))
    if summary.tables:
        console.print()
        totals = [("", "requests", "bytes", "time")]
        for level, reads in _list_reads(summary.tables):
            requests = format_sum([each.requests for each in reads], "{:,}".format)
            needed = format_sum([each.bytes for each in reads], size)
            totals.append((f"up to {level}", requests, needed, format_time(reads)))
        _write_rows(totals, console)
    failed = len(summary.not_estimated)
    shown = count(len(summary.tables) + failed, "table") + (f", {failed:,} without an estimate" if failed else "")
    console.print(Text(f"{shown} · exit {summary.exit_code}", "bold"))


def _list_reads(estimates: Sequence[Estimate]) -> list[tuple[str, list[Reads]]]:
    """Return each level with the files of all tables that runs at this level read."""
    levels = [each.level for each in estimates[0].levels] if estimates else []
    return [
        (name, [reads for each in estimates for level in each.up_to(name) for reads in level.reads]) for name in levels
    ]


def _build_row(estimate: Estimate, levels: Sequence[str]) -> tuple[str, ...]:
    needed = (
        format_sum([reads.bytes for level in estimate.up_to(each) for reads in level.reads], size) for each in levels
    )
    return format_sum([estimate.live_files], "{:,}".format), *needed, escape_text(estimate.table)


def _write_rows(rows: Sequence[tuple[str, ...]], console: Console) -> None:
    """Print rows with aligned columns; the first row is the header."""
    from rich.text import Text

    *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    for number, (*cells, last) in enumerate(rows):
        aligned = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        console.print(Text(f"{aligned}  {last}", "bold" if number == 0 else ""))
