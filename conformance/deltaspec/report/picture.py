"""A table's state as text, with one picture of its log along the versions."""

from rich.console import Console
from rich.text import Text

from deltaspec.report.description import LogFiles, TableDescription
from deltaspec.report.text import count, safe, size

_MARKS = {"blocks": "█▌·", "ascii": "#+."}


def write_description(table: TableDescription, console: Console) -> None:
    """Print what a table is."""
    console.print(Text.assemble((safe(table.table, 90), "bold"), f" · version {table.version}"))
    console.print()
    _fact(console, "protocol", f"reader {table.min_reader_version}, writer {table.min_writer_version}")
    names = [each.name if each.known else f"{each.name} (unknown)" for each in table.features]
    _fact(console, "features", ", ".join(map(safe, names)) or "none")
    _fact(console, "id", safe(table.id or "none", 60) + (f" · {safe(table.name, 40)}" if table.name else ""))
    records = "" if table.records is None else f", {count(table.records, 'row')}"
    _fact(console, "files", f"{count(table.files, 'file')}, {size(table.bytes)}{records}, {table.tombstones:,} removed")
    if table.files_with_deletion_vector:
        vectors = count(table.files_with_deletion_vector, "file")
        _fact(console, "vectors", f"{vectors} with {count(table.deleted_records, 'deleted row')}")
    _fact(console, "partitions", ", ".join(map(safe, table.partition_columns)) or "none")
    for title, entries in (("properties", table.configuration), ("domains", table.domains)):
        for name, value in entries.items():
            _fact(console, title, f"{safe(name, 60)} = {safe(value, 100)}")
            title = ""
    title = "streams"
    for app, version in list(table.transactions.items())[:20]:
        _fact(console, title, f"{safe(app, 60)} at {version}")
        title = ""
    if table.schema_tree:
        console.print()
        for line in table.schema_tree.splitlines():
            console.print(safe(line, 100))
    console.print()
    for line in log_picture(table.log, table.version, min(console.width, 100), blocks=_can_print_blocks(console)):
        console.print(line)


def _fact(console: Console, title: str, text: str) -> None:
    console.print(Text.assemble((f"{title:<11}", "dim"), text))


def _can_print_blocks(console: Console) -> bool:
    try:
        _MARKS["blocks"].encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def log_picture(log: LogFiles, latest: int, width: int, *, blocks: bool = True) -> list[str]:
    """Commits, checkpoints, compactions and checksums along the versions, one row a kind.

    Each cell stands for as many versions as are needed to fit `width`: full if all of them have such a file, half if
    some do.
    """
    marks = _MARKS["blocks" if blocks else "ascii"]
    ends = [log.commits[0]] if log.commits else []
    ends += [version for version, _ in log.checkpoints]
    first = min(ends, default=0)
    label = 13
    cells = max(width - label - 1, 10)
    step = -(-(latest - first + 1) // cells)
    shown = -(-(latest - first + 1) // step)
    rows = {
        "commits": set(log.commits),
        "checkpoints": {version for version, _ in log.checkpoints},
        "compactions": {each for start, end in log.compactions for each in range(start, min(end, latest) + 1)},
        "checksums": set(log.checksums),
    }
    lines = [f"{'versions':<{label}}{_axis(first, latest, shown)}"]
    for name, versions in rows.items():
        if versions:
            lines.append(f"{name:<{label}}{_row(versions, first, latest, step, shown, marks)}".rstrip())
    if log.hint is not None and first <= log.hint <= latest:
        lines.append(f"{'hint':<{label}}{' ' * ((log.hint - first) // step)}^ {log.hint}")
    if step > 1:
        lines.append(f"{'':<{label}}one mark for {step} versions: {marks[0]} all, {marks[1]} some, {marks[2]} none")
    return lines


def _axis(first: int, latest: int, cells: int) -> str:
    left, right = str(first), str(latest)
    if first == latest or cells < len(left) + len(right) + 1:
        return left if first == latest else f"{left}–{right}"
    return f"{left}{' ' * (cells - len(left) - len(right))}{right}"


def _row(versions: set[int], first: int, latest: int, step: int, cells: int, marks: str) -> str:
    row = ""
    for cell in range(cells):
        here = range(first + cell * step, min(first + (cell + 1) * step, latest + 1))
        hits = sum(version in versions for version in here)
        row += marks[0] if hits == len(here) else marks[1] if hits else marks[2]
    return row
