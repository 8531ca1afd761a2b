"""Render the live data files of a table as text: histogram of sizes, partition skew, small files, deletion vectors."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from deltaspec.report.description import FileFacts, FilesDescription, PartitionFacts, Partitions, RowsPerFile
from deltaspec.report.text import count, escape_text, size, wrap_text

_MARKS = {"blocks": "█▌", "ascii": "#+"}
_LABEL = 11
_BOUND, _SIZE, _COUNT, _RATIO = 8, 10, 13, 9


def write_files(files: FilesDescription, console: Console) -> None:
    """Print the sizes and partitions of data files, at most 100 columns wide."""
    width = min(console.width, 100)
    title = f" · version {files.version} · data files"
    console.print(Text.assemble((escape_text(files.table, width - len(title)), "bold"), title))
    console.print()
    for title, text in list_facts(files):
        for number, line in enumerate(wrap_text(text, width - _LABEL)):
            console.print(Text.assemble((f"{title if number == 0 else '':<{_LABEL}}", "dim"), line))
    if sum(each.files > 0 for each in files.sizes) > 1:
        console.print()
        for line in histogram(files, width, blocks=_can_print_blocks(console)):
            console.print(line)
    if files.partitions is not None and files.partitions.count > 1:
        for line in _partitions(files.partitions, width):
            console.print(line)
    for title, some in (("largest", files.largest), ("smallest", files.smallest)):
        if some and files.files > 1:
            console.print()
            for number, each in enumerate(some):
                console.print(_file(title if number == 0 else "", each, width))


def list_facts(files: FilesDescription) -> Iterator[tuple[str, str]]:
    """Yield title and text of each line; the title is empty after the first line of a group."""
    for number, reason in enumerate(files.unread_checkpoints.values()):
        yield "" if number else "not read", escape_text(reason, 200)
    yield "files", f"{count(files.files, 'file')}, {size(files.bytes)}"
    if not files.files:
        return
    if files.files_without_size:
        yield "", f"{count(files.files_without_size, 'file')} of unknown size"
    if files.median_bytes is not None and files.files > 1:
        ends = f"{size(files.smallest[0].bytes)} to {size(files.largest[0].bytes)}"
        yield "sizes", f"{ends}, median {size(round(files.median_bytes))}"
    small, small_bytes = _percentage(files.small_files, files.files), _percentage(files.small_bytes, files.bytes)
    yield "small", f"{small} of the files are below {size(files.small_below)}, with {small_bytes} of the bytes"
    if files.rows is not None:
        yield "rows", _rows(files.rows)
    if files.files_without_row_count:
        yield "" if files.rows else "rows", f"{count(files.files_without_row_count, 'file')} without numRecords"
    without = _percentage(files.files_without_statistics, files.files)
    yield "statistics", f"{without} of the files have none" if files.files_without_statistics else "every file has them"
    yield "vectors", _vectors(files)


def _rows(rows: RowsPerFile) -> str:
    if rows.least == rows.most:
        return f"{rows.least:,} in every file"
    return f"{rows.least:,} to {rows.most:,} a file, median {rows.median:,.0f}"


def _vectors(files: FilesDescription) -> str:
    if not files.files_with_deletion_vector:
        return "no file has a deletion vector"
    percentage = _percentage(files.files_with_deletion_vector, files.files)
    text = f"{percentage} of the files have a deletion vector; {count(files.deleted_records, 'row')} deleted"
    if files.rows is None or files.files_without_row_count:
        return text
    return f"{text}, {_percentage(files.deleted_records, files.rows.total)} of all"


def _percentage(part: int, total: int) -> str:
    """Format a percentage that is 0 % only for none and 100 % only for all."""
    if total <= 0:
        return "0 %"
    percentage = 100 * part / total
    if part and percentage < 0.1:
        return "less than 0.1 %"
    if part < total and percentage > 99.9:
        return "more than 99.9 %"
    return f"{percentage:.1f} %".replace(".0 %", " %")


def histogram(files: FilesDescription, width: int, *, blocks: bool = True) -> list[str]:
    """Return one line for each range of sizes: bounds, files, bytes and a bar for the number of files.

    Args:
        files: the description with the ranges.
        width: maximum width of a line.
        blocks: whether block characters can be printed; ASCII otherwise.
    """
    marks = _MARKS["blocks" if blocks else "ascii"]
    numbers = [(f"{each.files:,}", size(each.bytes)) for each in files.sizes]
    widths = [max(len(title), *(len(row[at]) for row in numbers)) for at, title in enumerate(("files", "bytes"))]
    bound = max(_BOUND, *(len(format_bound(each.below)) for each in files.sizes))
    bar = max(width - 2 * bound - sum(widths) - 8, 8)
    most = max(each.files for each in files.sizes)
    lines = [f"{'from':>{bound}}  {'below':>{bound}}  {'files':>{widths[0]}}  {'bytes':>{widths[1]}}"]
    for each, (number, total) in zip(files.sizes, numbers, strict=True):
        halves = -(-2 * bar * each.files // most) if each.files else 0
        drawn = marks[0] * (halves // 2) + marks[1] * (halves % 2)
        bounds = f"{format_bound(each.at_least):>{bound}}  {format_bound(each.below):>{bound}}"
        lines.append(f"{bounds}  {number:>{widths[0]}}  {total:>{widths[1]}}  {drawn}".rstrip())
    return lines


def format_bound(number: int) -> str:
    """Format the bound of a range, a power of two, without decimals."""
    return size(number).replace(".0 ", " ")


def _partitions(partitions: Partitions, width: int) -> Iterator[str]:
    yield ""
    yield from wrap_text(
        f"{count(partitions.count, 'partition')} by {', '.join(escape_text(name, 40) for name in partitions.columns)}; "
        f"median {size(round(partitions.median_bytes))} and {_files(partitions.median_files)}",
        width,
    )
    for title, some, of_bytes in (("bytes", partitions.by_bytes, True), ("files", partitions.by_files, False)):
        yield f"{'most ' + title:<{_LABEL}}{'bytes':>{_SIZE}} {'files':>{_COUNT}} {'x median':>{_RATIO}}"
        for each in some:
            amount, median = (
                (each.bytes, partitions.median_bytes) if of_bytes else (each.files, partitions.median_files)
            )
            ratio = f"{amount / median:,.1f}" if median > 0 else "-"
            head = f"{'':<{_LABEL}}{size(each.bytes):>{_SIZE}} {each.files:>{_COUNT},} {ratio:>{_RATIO}}  "
            yield head + _cut(describe_partition(each, width), max(width - len(head), 8))


def _files(number: float) -> str:
    """Format a median number of files, which may be fractional."""
    return count(int(number), "file") if number == int(number) else f"{number:,.1f} files"


def describe_partition(partition: PartitionFacts, width: int) -> str:
    """Return `a=1, b=null`. Values that look like null, have outer white space or contain a comma are quoted."""
    shown = []
    for name, value in partition.values.items():
        text = "null" if value is None else escape_text(value, width)
        if value is not None and (value == "null" or value != value.strip() or "," in value):
            text = f'"{text}"'
        shown.append(f"{escape_text(name, 40)}={text}")
    return ", ".join(shown)


def _file(title: str, file: FileFacts, width: int) -> str:
    head = f"{title:<{_LABEL}}{size(file.bytes):>{_SIZE}}  "
    return head + escape_text(file.path, max(width - len(head), 8))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _can_print_blocks(console: Console) -> bool:
    try:
        _MARKS["blocks"].encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
