"""Write the site of a lake: a first page, and a page for each table and each rule, which open from files.

The pages load only a style sheet and scripts of the site, so that they work behind a strict content security policy.
Browsers do not let a page read other files, so details are pages of their own, and the data of the list is a script.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from deltaspec.lake.overview import TREND_PARTS, Overview, TableEntry, build_entry, build_overview
from deltaspec.lake.state import LETTERS, LakeState, StoredReport, read_state
from deltaspec.output_files import fill_directory
from deltaspec.pages.renderer import list_assets, render_page, require_jinja
from deltaspec.pages.validation import Charts, SiteLinks, render_validation
from deltaspec.report.report_types import Report
from deltaspec.report.tables_summary import TableResult
from deltaspec.report.text import bound_text, count, escape_text
from deltaspec.rule_records import describe_rule
from deltaspec.rules import RULES
from deltaspec.scales import HARMS
from deltaspec.version import __version__

HISTORY = "history.json"
"""File of the site with what later builds need."""
_INDEX, _ALL, _DATA = "index.html", "tables.html", "tables.js"
_MOST_LISTED = 20
_TABLES_OF_RULE = 1_000
_NIGHTS_OF_TABLE = 30
_DAY_MS = 86_400_000
_PAGES = ("overview", "tables", "rule", "no_report", "validation")
_NO_CHARTS = Charts(None, "`deltaspec show TABLE --files` reads the log of the table")

NameTable = Callable[[str], str]
"""Returns the text of a table, such as its owner."""


class SiteBuilder:
    """Collects results and pages, and writes the site when the `with` block ends without an error."""

    def __init__(self, directory: str, folder: Path, name: NameTable, get_owner: NameTable) -> None:
        """Begin a build.

        Args:
            directory: of the site; its history is continued.
            folder: where the new pages are written, as `fill_directory` yields it.
            name: returns the name of the page of a table.
            get_owner: returns the owner of a table, or an empty text.
        """
        require_jinja()
        self._earlier = Path(directory)
        history = self._earlier / HISTORY
        self.state = read_state(str(history)) if history.is_file() else LakeState()
        self._folder, self._name, self._get_owner = folder, name, get_owner
        for each in ("tables", "rules", "assets"):
            (folder / each).mkdir()

    def add_page(self, table: str, report: Report) -> None:
        """Write the page of a table, after `state` has recorded its report."""
        entry = self._build_entry(table)
        links = SiteLinks(
            index=f"../{_INDEX}",
            rules={code for code in RULES if code in report.totals or code in report.checked.undecided_rules},
            owner=entry.owner,
            nights=list_nights(entry, self.state)[-_NIGHTS_OF_TABLE:],
            new={each.rule: each.number for each in entry.new},
            gone={each.rule: each.number for each in entry.gone},
        )
        self._write(f"tables/{entry.name}.html", render_validation(report, _NO_CHARTS, links))

    def finish(self, notes: Iterable[str] = ()) -> Overview:
        """Write all other pages and the history, and return what the first page shows."""
        self.state.finish()
        overview = build_overview(map(self._build_entry, self.state.tables), self.state, list(notes))
        for entry in overview.tables:
            self._keep_page(entry)
        shared = {"overview": overview, "version": __version__, "harms": HARMS, "rules": RULES, "day": format_day}
        index = render_page(
            "overview", assets="assets/", most=_MOST_LISTED, parts=TREND_PARTS, age=self._describe_age, **shared
        )
        self._write(_INDEX, index)
        self._write(_ALL, render_page("tables", assets="assets/", age=self._describe_age, **shared))
        codes = {code for each in overview.tables for code in (*each.last.rules, *each.last.unchecked)}
        codes |= {each.change.rule for each in overview.gone}
        for code in sorted(codes & RULES.keys()):
            tables = next((each.tables for each in overview.rules if each.code == code), [])
            unchecked = [each for each in overview.tables if code in each.last.unchecked]
            page = render_page(
                "rule",
                assets="../assets/",
                rule=describe_rule(RULES[code]),
                cases=RULES[code].fix_cases,
                tables=tables,
                unchecked=unchecked,
                most=_TABLES_OF_RULE,
                **shared,
            )
            self._write(f"rules/{code}.html", page)
        for name, data in list_assets(_PAGES).items():
            (self._folder / "assets" / name).write_bytes(data)
        self._write(f"assets/{_DATA}", f"showTables({_encode_list(overview)});\n")
        (self._folder / HISTORY).write_bytes(msgspec.json.encode(self.state))
        return overview

    def _build_entry(self, table: str) -> TableEntry:
        return build_entry(table, self.state, self._name(table), self._get_owner(table))

    def _keep_page(self, entry: TableEntry) -> None:
        """Keep the page of the last report, or write one that says why there is none."""
        page = self._folder / "tables" / f"{entry.name}.html"
        if page.exists():
            return
        earlier = self._earlier / "tables" / page.name
        if entry.last.reason or not earlier.is_file():
            html = render_page("no_report", assets="../assets/", entry=entry, day=format_day, version=__version__)
            page.write_text(html, "utf-8")
            return
        try:
            os.link(earlier, page)
        except OSError:
            shutil.copyfile(earlier, page)

    def _describe_age(self, entry: TableEntry) -> str:
        """Return how long before the last report of all tables a table was last checked completely."""
        if entry.state.complete_ms is None:
            return "never"
        latest = max(each.checked_ms for each in self.state.tables.values())
        days = (latest - entry.state.complete_ms) // _DAY_MS
        return count(days, "day") if days else "last night"

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_bytes(text.encode("utf-8", "backslashreplace"))


def write_site(
    directory: str,
    results: Iterable[tuple[int, str, TableResult, Report | None]],
    name: NameTable,
    get_owner: NameTable,
) -> Overview:
    """Write the site from the results of a run; the history of an earlier site in the directory is continued.

    Args:
        directory: of the site.
        results: time in milliseconds since the epoch, location, result, and report of each table.
        name, get_owner: as for `SiteBuilder`.

    Raises:
        InvalidUsage: Jinja is not installed, or the directory cannot be read or written.
    """
    with fill_directory(directory) as folder:
        site = SiteBuilder(directory, folder, name, get_owner)
        for time_ms, table, result, report in results:
            stored = None if report is None else msgspec.convert(report, StoredReport, from_attributes=True)
            site.state.record(table, time_ms, result, stored)
            if report is not None:
                site.add_page(table, report)
        return site.finish()


def list_nights(entry: TableEntry, state: LakeState) -> list[tuple[str, str, int]]:
    """Return day, letter of the verdict, and number of findings of each night."""
    return list(zip(state.nights, entry.state.verdicts, entry.state.findings, strict=False))


def format_day(time_ms: int | None) -> str:
    """Return a time as date and minute in UTC."""
    return "never" if time_ms is None else f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M}"


def _encode_list(overview: Overview) -> str:
    """Return the data of the list: a row for each table. Texts are escaped here, and only ever set as text there."""
    owners, codes = overview.owners, [each.code for each in overview.rules]
    number = {code: at for at, code in enumerate(codes)}

    def iter_rows() -> Iterator[list[object]]:
        for each in overview.tables:
            counts = each.last.counts
            yield [
                escape_text(bound_text(each.table)),
                each.name,
                list(LETTERS).index(each.last.verdict),
                [counts.get(severity, 0) for severity in ("violation", "warning", "divergence")],
                len(each.last.unchecked),
                each.last.bytes,
                each.state.complete_ms,
                owners.index(each.owner) if each.owner else -1,
                [number[code] for code in each.last.rules],
                sum(change.number for change in each.new),
                sum(change.number for change in each.gone),
                int(each.is_late),
                each.state.verdicts,
            ]

    latest = max((each.state.checked_ms for each in overview.tables), default=0)
    data = {"verdicts": list(LETTERS), "owners": owners, "rules": codes, "days": overview.days, "latest": latest}
    encoded = msgspec.json.encode({**data, "tables": list(iter_rows())}).decode()
    return encoded.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
