"""What a run would read, as values and as text: files, requests and bytes of each level, and where a number is from."""

from collections.abc import Callable, Iterable

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from deltaspec.report.text import escape_text, size, wrap_text

ESTIMATE_VERSION = 1
_COLUMNS = (20, 14, 15, 15)
"""Widths: what is read, files, requests, bytes."""


class Amount(Struct, frozen=True):
    """A number that is known exactly, within bounds, about, or not at all."""

    about: int | None
    """The likely one; None where nothing tells."""
    at_least: int = 0
    at_most: int | None = None
    """None where nothing bounds it."""

    @property
    def is_exact(self) -> bool:
        return self.at_least == self.at_most

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(_sum(self.about, other.about), self.at_least + other.at_least, _sum(self.at_most, other.at_most))


def exact_amount(number: int) -> Amount:
    """A number that is known."""
    return Amount(number, number, number)


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    """The sum of some numbers: what bounds all of them bounds it."""
    return sum(amounts, exact_amount(0))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


class Reads(Struct, frozen=True, kw_only=True):
    """Files of one kind that a run reads."""

    what: str
    files: Amount
    requests: Amount
    """As an object store counts them: one for each thousand names listed, one for each read of a file or of a part."""
    bytes: Amount
    source: str
    """What the numbers are from."""


class LevelReads(Struct, frozen=True, kw_only=True):
    """What one level reads beside what those before it do."""

    level: str
    reads: list[Reads]
    not_known: list[str]
    """What it may read as well, and nothing tells how much of."""

    @property
    def requests(self) -> Amount:
        return sum_amounts(each.requests for each in self.reads)

    @property
    def bytes(self) -> Amount:
        return sum_amounts(each.bytes for each in self.reads)


class Estimate(Struct, frozen=True, kw_only=True):
    """What runs of each level would read of a table, by its listing and by two small files of its log."""

    estimate_version: int
    deltaspec: str
    table: str
    version: int
    history: str
    revision: str
    live_files: Amount
    live_bytes: Amount
    live_source: str
    """What the numbers of live files and their bytes are from."""
    levels: list[LevelReads]

    def up_to(self, level: str) -> list[LevelReads]:
        """The levels that a run of one level reads: those before it and itself."""
        names = [each.level for each in self.levels]
        return self.levels[: names.index(level) + 1]


def write_estimate(estimate: Estimate, console: Console) -> None:
    """Print what each level reads, with its sum, and what is not known."""
    head = f" · version {estimate.version} · history {estimate.history}"
    console.print(Text.assemble((escape_text(estimate.table, 80), "bold"), head))
    console.print(
        f"live data files: {_number(estimate.live_files)}, {_bytes(estimate.live_bytes)} ({estimate.live_source})"
    )
    for number, each in enumerate(estimate.levels):
        console.print()
        console.print(Text(_row(f"level {each.level}", "files", "requests", "bytes") + "  from", "bold"))
        for reads in each.reads:
            _write_reads(reads, console)
        for text in each.not_known:
            for at, line in enumerate(wrap_text(text, console.width - 15)):
                console.print(Text(("  not known: " if at == 0 else " " * 13) + line, "dim"))
        so_far = [reads for level in estimate.levels[: number + 1] for reads in level.reads]
        requests = _sum_of([reads.requests for reads in so_far], "{:,}".format)
        console.print(_row(f"  up to {each.level}", "", requests, _sum_of([one.bytes for one in so_far], size)))


def _write_reads(reads: Reads, console: Console) -> None:
    row = _row(f"  {escape_text(reads.what, 40)}", _number(reads.files), _number(reads.requests), _bytes(reads.bytes))
    room = max(console.width - len(row) - 2, 20)
    for at, line in enumerate(wrap_text(reads.source, room) or [""]):
        console.print(Text.assemble(row if at == 0 else " " * len(row), ("  " + line, "dim")))


def _row(what: str, *cells: str) -> str:
    first, *others = _COLUMNS
    return what.ljust(first) + "".join(f" {cell:>{width}}" for cell, width in zip(cells, others, strict=True))


def _sum_of(amounts: list[Amount], show: Callable[[int], str]) -> str:
    """The sum of what is known."""
    if all(each.is_exact for each in amounts):
        return show(sum(each.at_least for each in amounts))
    known = sum(each.at_least if each.about is None else each.about for each in amounts)
    return f"about {show(known)}" + (" + ?" if any(each.about is None for each in amounts) else "")


def _number(amount: Amount) -> str:
    return _told(amount, "{:,}".format)


def _bytes(amount: Amount) -> str:
    return _told(amount, size)


def _told(amount: Amount, show: Callable[[int], str]) -> str:
    """`5`, `about 5`, `3 to 9`, `at least 3`, `at most 9` or `not known`: the likely number goes before bounds."""
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
    return f"at least {show(amount.at_least)}" if amount.at_least else "not known"
