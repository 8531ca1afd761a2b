"""Render the state of a table as text, with a chart of its log files by version."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from deltaspec.report.description import FeatureState, LogFiles, TableDescription
from deltaspec.report.text import count, escape_text, size, wrap_text

_MARKS = {"blocks": "█▌·", "ascii": "#+."}
_LABEL = 13
_ENTRIES_SHOWN = 20
_RANGES_SHOWN = 10
Interval = tuple[int, int]
"""First and last version, both inclusive."""


def _describe_ranges(ranges: Sequence[Interval]) -> str:
    """Describe the last ranges, as `0 to 2, 6`."""
    texts = [f"{first} to {last}" if last > first else str(first) for first, last in ranges[-_RANGES_SHOWN:]]
    more = len(ranges) - len(texts)
    return ", ".join([f"{more:,} older ranges"] * bool(more) + texts)


def write_description(table: TableDescription, console: Console) -> None:
    """Print the state of a table."""
    console.print(Text.assemble((escape_text(table.table), "bold"), f" · version {table.version}"))
    console.print()
    if table.readable_versions:
        _fact(console, "readable", f"versions {_describe_ranges(table.readable_versions)}")
    elif table.earliest_version is not None and table.latest_version is not None:
        _fact(console, "readable", f"versions {table.earliest_version} to {table.latest_version}")
    if table.catalog is not None:
        _fact(console, "catalog", table.catalog)
    _entries(console, "not read", [escape_text(each, 200) for each in table.unread_checkpoints.values()])
    if table.min_reader_version is None:
        _fact(console, "protocol", "none")
    else:
        _fact(console, "protocol", f"reader {table.min_reader_version}, writer {table.min_writer_version}")
    _fact(console, "features", ", ".join(map(_feature, table.features)) or "none")
    _fact(
        console, "id", escape_text(table.id or "none", 60) + (f" · {escape_text(table.name, 40)}" if table.name else "")
    )
    records = "" if table.records is None else f", {count(table.records, 'row')}"
    _fact(console, "files", f"{count(table.files, 'file')}, {size(table.bytes)}{records}, {table.tombstones:,} removed")
    if table.files_with_deletion_vector:
        vectors = count(table.files_with_deletion_vector, "file")
        _fact(console, "vectors", f"{vectors} with {count(table.deleted_records, 'deleted row')}")
    _fact(console, "partitions", ", ".join(map(escape_text, table.partition_columns)) or "none")
    _entries(
        console,
        "properties",
        [f"{escape_text(name, 40)} = {escape_text(value, 44)}" for name, value in table.configuration.items()],
    )
    _entries(
        console,
        "domains",
        [f"{escape_text(name, 40)} = {escape_text(value, 44)}" for name, value in table.domains.items()],
    )
    _entries(
        console, "streams", [f"{escape_text(app, 60)} at {version}" for app, version in table.transactions.items()]
    )
    if table.schema_tree:
        console.print()
        for line in table.schema_tree.splitlines():
            console.print(escape_text(line, 100))
    console.print()
    for line in render_log_chart(table.log, table.version, min(console.width, 100), blocks=_can_print_blocks(console)):
        console.print(line)


def _feature(feature: FeatureState) -> str:
    note = " (unknown)" if not feature.known else " (not active)" if feature.active is False else ""
    return escape_text(feature.name, 60) + note


def _fact(console: Console, title: str, text: str) -> None:
    """Print one fact, with wrapped lines indented below the first."""
    for line in wrap_text(text, console.width - 11) or [""]:
        console.print(Text.assemble((f"{title:<11}", "dim"), line))
        title = ""


def _entries(console: Console, title: str, entries: list[str]) -> None:
    more = len(entries) - _ENTRIES_SHOWN
    shown = [*entries[:_ENTRIES_SHOWN], f"… and {more:,} more"] if more > 0 else entries
    for number, entry in enumerate(shown):
        _fact(console, title if number == 0 else "", entry)


def _can_print_blocks(console: Console) -> bool:
    try:
        _MARKS["blocks"].encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def render_log_chart(log: LogFiles, version: int, width: int, *, blocks: bool = True) -> list[str]:
    """Return one line for each kind of log file, with versions from left to right.

    A cell represents as many versions as needed to fit `width`. It is full if all of them have such a file, and half if
    some do. The cost depends on the number of files and the width, not on the number of versions.

    Args:
        log: versions of the log files.
        version: the described version.
        width: maximum width of a line.
        blocks: whether block characters can be printed; ASCII otherwise.
    """
    marks = _MARKS["blocks" if blocks else "ascii"]
    rows: dict[str, list[Interval]] = {
        "commits": _merge_intervals((each, each) for each in log.commits),
        "checkpoints": _merge_intervals((each, each) for each, _ in log.checkpoints),
        "compactions": _merge_intervals(interval for interval in log.compactions if interval[0] <= interval[1]),
        "checksums": _merge_intervals((each, each) for each in log.checksums),
        "staged": _merge_intervals((each, each) for each in log.staged),
    }
    ends = [end for name in ("commits", "checkpoints", "staged") for interval in rows[name] for end in interval]
    first, last = min([version, *ends]), max([version, *ends])
    cells = max(width - _LABEL - 1, 10)
    step = -(-(last - first + 1) // cells)
    shown = -(-(last - first + 1) // step)
    lines = [f"{'versions':<{_LABEL}}{_axis(first, last, shown)}"]
    for name, intervals in rows.items():
        if intervals:
            row = "".join(
                marks[_fill(intervals, start, min(start + step - 1, last))]
                for start in range(first, first + shown * step, step)
            )
            lines.append(f"{name:<{_LABEL}}{row}")
    for label, at in (("hint", log.hint), ("shown", version if version != last else None)):
        if at is not None and first <= at <= last:
            lines.append(_pointer(label, at, (at - first) // step, width))
    kinds = sorted({naming for _, naming in log.checkpoints})
    if kinds:
        lines.append(f"{'':<{_LABEL}}checkpoints: {', '.join(kinds)}")
    if step > 1:
        lines.append(f"{'':<{_LABEL}}one mark for {step} versions:")
        lines.append(f"{'':<{_LABEL}}{marks[0]} all, {marks[1]} some, {marks[2]} none")
    return lines


def _merge_intervals(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals that overlap or touch; return them in ascending order."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _fill(intervals: list[Interval], start: int, end: int) -> int:
    """Return 0 if the intervals cover every version from start to end, 1 if some, 2 if none."""
    touched = intervals[
        bisect_left(intervals, start, key=lambda interval: interval[1]) : bisect_right(
            intervals, end, key=lambda s: s[0]
        )
    ]
    if not touched:
        return 2
    return 0 if touched[0][0] <= start and touched[0][1] >= end else 1


def _axis(first: int, last: int, cells: int) -> str:
    left, right = str(first), str(last)
    if first == last:
        return left
    if cells < len(left) + len(right) + 1:
        return f"{left} to {right}"
    return f"{left}{' ' * (cells - len(left) - len(right))}{right}"


def _pointer(label: str, version: int, cell: int, width: int) -> str:
    """Return a line with a mark below a version, with its number on the side that has room."""
    number = str(version)
    if _LABEL + cell + 2 + len(number) <= width:
        return f"{label:<{_LABEL}}{' ' * cell}^ {number}"
    return f"{label:<{_LABEL}}{number.rjust(cell - 1)} ^"
