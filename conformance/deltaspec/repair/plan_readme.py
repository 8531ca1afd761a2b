"""`README.md` of a plan, for the person who reviews it."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote
from urllib.parse import quote as quote_for_header

from deltaspec.repair.plan_format import LogFileDigest, NotRepaired, Repair, RepairPlan, VerdictSummary
from deltaspec.report.text import count, escape_text

_MAX_LINES = 100
_EFFECTS = {
    "none": "No row changes.",
    "lost": "Rows are lost:",
    "returned": "Deleted rows come back:",
    "duplicates-end": "Rows that some engines read twice are read once:",
}


def render_readme(plan: RepairPlan, folder: str) -> str:
    """Return the page in Markdown."""
    return "\n".join(_iter_lines(plan, folder)) + "\n"


def _iter_lines(plan: RepairPlan, folder: str) -> Iterator[str]:
    yield f"# Repair of {_code(plan.table)}"
    yield ""
    yield f"Planned by deltaspec {plan.deltaspec} for version {plan.version}. Nothing has been written into the table."
    yield ""
    yield "| | verdict | violations | not checked |"
    yield "|-|-|-|-|"
    yield _verdict_row("before", plan.before)
    yield _verdict_row("after", plan.after)
    if plan.after_cleanup is not None:
        yield _verdict_row("after log cleanup", plan.after_cleanup)
    yield ""
    yield f"Both at level {plan.before.level}; `after` is a validation of the table with the plan laid over it."
    if plan.after_cleanup is not None:
        yield ""
        yield "Older commits still show what is repaired, until log cleanup deletes them; the last row is without them."
    yield ""
    yield "## What changes"
    yield ""
    for repair in plan.repairs[:_MAX_LINES]:
        yield from _repair_lines(repair)
    if len(plan.repairs) > _MAX_LINES:
        yield f"- {len(plan.repairs) - _MAX_LINES} more repairs are in `plan.json`."
    yield from _row_lines(plan)
    yield from _file_lines("Files that are written into `_delta_log`", [*filter(None, [plan.commit]), *plan.writes])
    aside = [*plan.set_aside, *plan.set_aside_after]
    yield from _file_lines("Files of `_delta_log` that are set aside", aside)
    if plan.commit is not None and any(each.effect != "none" for each in plan.repairs):
        yield ""
        yield (
            f"If the change data feed is enabled, its readers compute the changes of version {plan.version + 1} from "
            "the files that it removes and adds. They fail on files that cannot be read, and must skip it."
        )
    if plan.not_repaired:
        yield ""
        yield "## What is not repaired"
        yield ""
        for entry in plan.not_repaired[:_MAX_LINES]:
            yield from _unrepaired_lines(entry)
    yield ""
    yield "## Next"
    yield ""
    yield "1. Stop the writers of the table, and copy `_delta_log`."
    yield "2. Review this page, and restore what the page says may be found elsewhere. If you do, plan again."
    yield f"3. Run `deltaspec repair apply {quote(folder)}`."


def _code(text: str) -> str:
    """Return text of a table as code that Markdown shows as it is."""
    shown = escape_text(text).replace("`", "'").replace("|", "\\|")
    return f"`{shown}`"


def _verdict_row(name: str, summary: VerdictSummary) -> str:
    violations = ", ".join(f"{code}: {number}" for code, number in summary.violations.items()) or "none"
    return f"| {name} | {summary.verdict} | {violations} | {summary.not_checked} |"


def _repair_lines(repair: Repair) -> Iterator[str]:
    yield f"- {escape_text(repair.summary)} ({', '.join(repair.rules)}) {_EFFECTS[repair.effect]}"
    for path in repair.files[:_MAX_LINES]:
        yield f"  - {_code(path)}"
    if len(repair.files) > _MAX_LINES:
        yield f"  - and {count(len(repair.files) - _MAX_LINES, 'more file')}"
    for part in repair.rows:
        values = ", ".join(
            f"{name}={'null' if value is None else value}" for name, value in part.partition_values.items()
        )
        rows = "an unknown number of rows" if part.rows is None else count(part.rows, "row")
        yield f"  - {rows} in {_code(values) if values else 'the table'}"
    if repair.list_rows is not None:
        yield f"  - list them: {_code(repair.list_rows)}"
    if repair.found_elsewhere:
        yield "  - the file may be at one of these places; **restore it instead of losing its rows**:"
        yield from _place_lines(repair.found_elsewhere)
    for note in repair.not_searched:
        yield f"  - the search for the file is not complete: {escape_text(note)}"


def _place_lines(places: list[str]) -> Iterator[str]:
    """Yield where a file may be, with the command that restores an earlier version of an object."""
    for place in places:
        yield f"    - {_code(place)}"
        uri, separator, version = place.rpartition("?versionId=")
        if separator:
            bucket, _, key = uri.removeprefix("s3://").partition("/")
            source = f"{bucket}/{quote_for_header(key)}?versionId={version}"
            command = f"aws s3api copy-object --bucket {quote(bucket)} --key {quote(key)} --copy-source {quote(source)}"
            yield f"      - restore it: {_code(command)}"


def _row_lines(plan: RepairPlan) -> Iterator[str]:
    rows = plan.rows
    yield ""
    yield (
        f"Rows were compared by file: {count(rows.equal_files, 'file')} equal, {len(rows.different_files)} different, "
        f"{len(rows.not_compared)} that cannot be read. Only the repairs above declare differences."
    )


def _file_lines(title: str, files: list[LogFileDigest]) -> Iterator[str]:
    if not files:
        return
    yield ""
    yield f"## {title}"
    yield ""
    for each in files[:_MAX_LINES]:
        yield f"- {_code(each.name)}, {each.size_bytes:,} B"
    if len(files) > _MAX_LINES:
        yield f"- and {len(files) - _MAX_LINES} more, which `plan.json` lists"


def _unrepaired_lines(entry: NotRepaired) -> Iterator[str]:
    rule = f"{entry.rule} in " if entry.rule else ""
    yield f"- {rule}{_code(entry.location)}: {escape_text(entry.reason)}."
    for choice in entry.choices:
        yield f"  - {_code('--choose ' + quote(choice))}"
    if entry.found_elsewhere:
        yield "  - the file may be at one of these places:"
        yield from _place_lines(entry.found_elsewhere)
