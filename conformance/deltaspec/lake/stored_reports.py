"""Find and read JSON reports of earlier runs: reports of one table, and summaries of runs over several tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.lake.state import StoredReport
from deltaspec.output_files import is_temporary
from deltaspec.report.report_types import REPORT_VERSION, Report
from deltaspec.report.tables_summary import TABLES_VERSION, TableResult, TablesSummary

_MOST_BYTES = 1 << 30
_DATE = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")


class StoredFile(msgspec.Struct, frozen=True, order=True):
    """A file that may be a report, with its time. Files sort by time."""

    time_ms: int
    path: str
    is_named: bool = False
    """Whether the user named the file itself, not its folder."""


class Reading(msgspec.Struct, frozen=True):
    """What a file says about a table."""

    result: TableResult
    report: StoredReport | None


class _Head(msgspec.Struct, frozen=True):
    report_version: int | None = None
    tables_version: int | None = None


_HEAD = msgspec.json.Decoder(_Head)
_STORED = msgspec.json.Decoder(StoredReport)
_COMPLETE = msgspec.json.Decoder(Report)
_SUMMARY = msgspec.json.Decoder(TablesSummary)


def find_files(locations: Iterable[str]) -> list[StoredFile]:
    """Return the JSON files at and below locations, oldest first.

    The time of a report is the date in the name of its file or of a folder above it, such as `2026-11-29/sales.json`,
    with the time of day at which the file was written; without a date, the time at which the file was written.

    Args:
        locations: files and folders.

    Raises:
        InvalidUsage: a location does not exist, or a folder cannot be listed.
    """
    found: dict[str, StoredFile] = {}
    for location in locations:
        root = os.path.abspath(location)
        if os.path.isfile(root):
            found[os.path.realpath(root)] = StoredFile(_find_time(root), root, is_named=True)
            continue
        for path in _walk(location, root):
            found.setdefault(os.path.realpath(path), StoredFile(_find_time(path), path))
    return sorted(found.values())


def _walk(location: str, root: str) -> Iterator[str]:
    def fail(fault: OSError) -> None:
        raise InvalidUsage(f"{location}: cannot be listed: {fault.strerror}") from fault

    for folder, folders, files in os.walk(root, onerror=fail, followlinks=True):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".json") and not is_temporary(name):
                yield os.path.join(folder, name)


def _find_time(path: str) -> int:
    try:
        written = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
    except OSError as fault:
        raise InvalidUsage(f"{path}: cannot be read: {fault.strerror}") from fault
    for name in reversed(Path(path).parts):
        for text in _DATE.findall(name):
            try:
                day = datetime.fromisoformat(text)
            except ValueError:
                continue
            written = written.replace(year=day.year, month=day.month, day=day.day)
            return int(written.timestamp() * 1000)
    return int(written.timestamp() * 1000)


def read_file(file: StoredFile) -> list[Reading] | None:
    """Return what a file says about tables; None for a JSON file in a folder that is no report.

    Raises:
        InvalidUsage: the file cannot be read, is not complete, or has another version; or the user named it, and it is
        no report.
    """
    data = read_input_file(file.path, _MOST_BYTES)
    try:
        head = _HEAD.decode(data)
        if head.report_version is not None:
            _require_version(file, "report", head.report_version, REPORT_VERSION)
            report = _STORED.decode(data)
            return [Reading(_summarize(report, file), report)]
        if head.tables_version is not None:
            _require_version(file, "summary", head.tables_version, TABLES_VERSION)
            # a table with a report is read from its report
            return [Reading(each, None) for each in _SUMMARY.decode(data).tables if each.level is None]
    except msgspec.DecodeError as fault:
        if file.is_named:
            raise InvalidUsage(f"{file.path}: is no JSON report of deltaspec validate: {fault}") from fault
        return None
    if file.is_named:
        raise InvalidUsage(f"{file.path}: is no JSON report of deltaspec validate")
    return None


def read_report(path: str) -> Report:
    """Return a complete report.

    Raises:
        InvalidUsage: it cannot be read.
    """
    try:
        return _COMPLETE.decode(read_input_file(path, _MOST_BYTES))
    except msgspec.DecodeError as fault:
        raise InvalidUsage(f"{path}: is no JSON report of this release: {fault}") from fault


def _require_version(file: StoredFile, kind: str, found: int, expected: int) -> None:
    if found != expected:
        raise InvalidUsage(f"{file.path}: {kind} of version {found}, expected {expected}; write it again")


def _summarize(report: StoredReport, file: StoredFile) -> TableResult:
    return TableResult(
        table=report.table,
        version=report.version,
        level=report.level,
        verdict=report.verdict,
        exit_code=0,
        counts=report.counts,
        accepted=sum(report.accepted_totals.values()),
        not_checked=len({each.rule for each in report.checked.not_checked}),
        reports=[file.path],
    )
