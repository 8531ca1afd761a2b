"""Cost estimates as values and as text: files, requests and bytes that each level would read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec

from deltaspec.report.text import escape_text, format_duration, size, wrap_text

if TYPE_CHECKING:
    from rich.console import Console

ESTIMATE_VERSION = 1
_COLUMNS = (20, 14, 15, 15)
"""Widths of the columns: files read, number of files, requests, bytes."""


class Amount(msgspec.Struct, frozen=True):
    """A number that is exact, approximate, bounded or unknown."""

    about: int | None
    """Likely number; None if unknown."""
    at_least: int = 0
    at_most: int | None = None
    """None if there is no upper bound."""

    @property
    def is_exact(self) -> bool:
        return self.at_least == self.at_most

    def __add__(self, other: Amount) -> Amount:
        return Amount(_sum(self.about, other.about), self.at_least + other.at_least, _sum(self.at_most, other.at_most))


def exact_amount(number: int) -> Amount:
    """Return an exact number."""
    return Amount(number, number, number)


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of numbers; it is bounded if all of them are."""
    return sum(amounts, exact_amount(0))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


class Reads(msgspec.Struct, frozen=True, kw_only=True):
    """Files of one kind that a run would read."""

    what: str
    files: Amount
    requests: Amount
    """Requests to an object store: one for each 1,000 names listed, one for each read of a file or byte range."""
    bytes: Amount
    source: str
    """Source of the numbers."""
    seconds: float | None = None
    """Likely time, from a measurement; None if it is not known or was not measured."""


class Speed(msgspec.Struct, frozen=True, kw_only=True):
    """Measured speeds that times are estimated from."""

    is_remote: bool
    """Requests go over a network, several at once."""
    seconds_per_request: float | None
    """Time of a small request; None if the log has no readable file."""
    bytes_per_second: float | None
    """Bytes of one response; None if the log has no large file."""
    decoded_bytes_per_second: float
    """Bytes of JSON lines that this machine decodes."""
    max_requests_per_second: float | None
    """The limit that the user set; None for no limit."""


class LevelReads(msgspec.Struct, frozen=True, kw_only=True):
    """Files that one level reads in addition to the levels before it."""

    level: str
    reads: list[Reads]
    not_known: list[str]
    """Files that it may also read, in unknown number."""

    @property
    def requests(self) -> Amount:
        return sum_amounts(each.requests for each in self.reads)

    @property
    def bytes(self) -> Amount:
        return sum_amounts(each.bytes for each in self.reads)


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of a run at each level, estimated from the listing and two small files of the log."""

    estimate_version: int
    deltaspec: str
    table: str
    version: int
    history: str
    revision: str
    live_files: Amount
    live_bytes: Amount
    live_source: str
    """Source of the numbers of live files and their bytes."""
    levels: list[LevelReads]
    speed: Speed | None = None
    """Measured speeds that the times were computed from; None if nothing was measured."""

    def up_to(self, level: str) -> list[LevelReads]:
        """Return a level and the levels before it, which a run at this level reads."""
        names = [each.level for each in self.levels]
        return self.levels[: names.index(level) + 1]


def write_estimate(estimate: Estimate, console: Console) -> None:
    """Print what each level reads, the totals, and what is unknown."""
    from rich.text import Text

    head = f" · version {estimate.version} · history {estimate.history}"
    console.print(Text.assemble((escape_text(estimate.table), "bold"), head))
    console.print(
        f"live data files: {_number(estimate.live_files)}, {_bytes(estimate.live_bytes)} ({estimate.live_source})"
    )
    for number, each in enumerate(estimate.levels):
        console.print()
        console.print(Text(_row(f"level {each.level}", "files", "requests", "bytes") + "  from", "bold"))
        for reads in each.reads:
            _write_reads(reads, console)
        for text in each.not_known:
            for at, line in enumerate(wrap_text(text, console.width - 13)):
                console.print(Text(("  unknown: " if at == 0 else " " * 11) + line, "dim"))
        up_to_here = [reads for level in estimate.levels[: number + 1] for reads in level.reads]
        requests = format_sum([reads.requests for reads in up_to_here], "{:,}".format)
        row = _row(f"  up to {each.level}", "", requests, format_sum([one.bytes for one in up_to_here], size))
        console.print(row + (f"  {format_time(up_to_here)}" if estimate.speed is not None else ""))
    if estimate.speed is not None:
        console.print()
        for line in wrap_text(f"times from {_describe_speed(estimate.speed)}", console.width):
            console.print(Text(line, "dim"))


def format_time(reads: list[Reads]) -> str:
    """Return the sum of the known times."""
    known = sum(each.seconds or 0.0 for each in reads)
    return f"about {format_duration(known)}" + (" + ?" if any(each.seconds is None for each in reads) else "")


def _describe_speed(speed: Speed) -> str:
    """Return the measured speeds, in one line."""
    parts = [f"decoding {size(round(speed.decoded_bytes_per_second))} of log per second on this machine"]
    if speed.seconds_per_request is not None:
        parts.append(f"{1000 * speed.seconds_per_request:.3g} ms per request")
    if speed.bytes_per_second is not None:
        parts.append(f"{size(round(speed.bytes_per_second))} per second for one response")
    if speed.max_requests_per_second is not None and speed.is_remote:
        parts.append(f"at most {speed.max_requests_per_second:g} requests per second")
    return ", ".join(parts) + "; expect errors up to a factor of three"


def _write_reads(reads: Reads, console: Console) -> None:
    from rich.text import Text

    row = _row(f"  {escape_text(reads.what, 40)}", _number(reads.files), _number(reads.requests), _bytes(reads.bytes))
    room = max(console.width - len(row) - 2, 20)
    for at, line in enumerate(wrap_text(reads.source, room) or [""]):
        console.print(Text.assemble(row if at == 0 else " " * len(row), ("  " + line, "dim")))


def _row(what: str, *cells: str) -> str:
    first, *others = _COLUMNS
    return what.ljust(first) + "".join(f" {cell:>{width}}" for cell, width in zip(cells, others, strict=True))


def format_sum(amounts: list[Amount], show: Callable[[int], str]) -> str:
    """Format the sum of the known numbers."""
    if all(each.is_exact for each in amounts):
        return show(sum(each.at_least for each in amounts))
    known = sum(each.at_least if each.about is None else each.about for each in amounts)
    return f"about {show(known)}" + (" + ?" if any(each.about is None for each in amounts) else "")


def _number(amount: Amount) -> str:
    return _format_amount(amount, "{:,}".format)


def _bytes(amount: Amount) -> str:
    return _format_amount(amount, size)


def _format_amount(amount: Amount, show: Callable[[int], str]) -> str:
    """Return `5`, `about 5`, `3 to 9`, `at least 3`, `at most 9` or `unknown`; a likely number replaces the bounds."""
    if amount.is_exact:
        return show(amount.at_least)
    if amount.about is not None:
        return f"about {show(amount.about)}"
    if amount.at_most is not None:
        return (
            f"{show(amount.at_least)} to {show(amount.at_most)}"
            if amount.at_least
            else f"at most {show(amount.at_most)}"
        )
    return f"at least {show(amount.at_least)}" if amount.at_least else "unknown"
