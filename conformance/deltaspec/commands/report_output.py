"""Destinations of the reports of a run: `--format` and `--output` for one, `--report FORMAT:PATH` for more."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from deltaspec.commands.metrics_file import MetricsFile
from deltaspec.commands.notifications import Notifications
from deltaspec.commands.otlp_metrics import OtlpMetrics
from deltaspec.commands.printing import print_bytes
from deltaspec.commands.report_formats import (
    DELTA,
    FORMATS,
    OPENMETRICS,
    OTLP,
    RenderSettings,
    require_format,
    write_text,
)
from deltaspec.commands.site_report import SiteReport
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import require_writable, translate_write_errors, write_file

if TYPE_CHECKING:
    from deltaspec.many_tables.delta_results import DeltaResults
    from deltaspec.report.report_types import Report
    from deltaspec.wire.storage.settings import StorageSettings


class ReportTarget(msgspec.Struct, frozen=True):
    """A report to write: its format, and its file."""

    format: str
    path: str | None
    """None for stdout."""
    target: DeltaResults | SiteReport | MetricsFile | OtlpMetrics | Notifications | None = None
    """What takes the result instead of a renderer."""

    @classmethod
    def parse(cls, text: str, storage: StorageSettings, config: str | None) -> ReportTarget:
        """Parse `FORMAT:PATH`, or `FORMAT` or `FORMAT:-` for stdout.

        Args:
            text: value of `--report`.
            storage: settings for the Delta table of `delta:LOCATION`.
            config: configuration file with the owners of tables; None to look for one.

        Raises:
            InvalidUsage: the format is unknown, its library is not installed, or the Delta table cannot be used.
        """
        name, _, path = text.partition(":")
        require_format(name)
        if name == DELTA:
            from deltaspec.many_tables.delta_results import DeltaResults
            from deltaspec.wire.storage.interface import redact_uri

            return cls(name, redact_uri(path), DeltaResults(path, storage))
        if name == OPENMETRICS:
            return cls(name, path, MetricsFile.parse(path, config))
        if name == OTLP:
            return cls(name, name, OtlpMetrics.parse(path, config))
        if (site := SiteReport.parse(text, config)) is not None:
            return cls(name, path, site)
        return cls(name, None if path in ("", "-") else path)


def plan_reports(
    output_format: str,
    output: str | None,
    reports: Sequence[str],
    storage: StorageSettings,
    config: str | None,
    *,
    format_is_given: bool,
) -> list[ReportTarget]:
    """Return the reports of a run, files first.

    The report of `--format` and `--output` is always written, except if neither is given and a report of `--report`
    goes to stdout.

    Args:
        output_format: value of `--format`.
        output: value of `--output`.
        reports: values of `--report`.
        storage: settings for a Delta table of results.
        config: configuration file with the owners of tables; None to look for one.
        format_is_given: whether the user gave `--format`.

    Raises:
        InvalidUsage: a format is unknown, two reports have the same destination, or one cannot be written.
    """
    require_format(output_format)
    targets = [ReportTarget.parse(each, storage, config) for each in reports]
    goes_to_stdout = any(each.path is None for each in targets)
    if format_is_given or output is not None or not goes_to_stdout:
        targets.insert(0, ReportTarget(output_format, output))
    places = [None if each.path is None else os.path.realpath(each.path) for each in targets]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise InvalidUsage(f"two reports go to {targets[number].path or 'stdout'}; name another file for one")
    for each in targets:
        if each.target is not None:
            continue  # has checked its destination
        if each.path is not None:
            _check_file(each.path)
        elif each.format == "parquet" and sys.stdout.isatty():
            raise InvalidUsage("parquet is not for terminals; name a file, as in --report parquet:findings.parquet")
    return sorted(targets, key=lambda each: each.path is None)


def write_reports(
    report: Report, targets: Sequence[ReportTarget], settings: RenderSettings, stdout: TextIO | None
) -> None:
    """Write every report, even if one cannot be written. A file is replaced; a step summary of GitHub is extended.

    Args:
        report: of the run.
        targets: formats and files.
        settings: how reports are rendered.
        stdout: stream of a text report without a file; None to leave it out. Others are printed.

    Raises:
        InvalidUsage: a report could not be written.
    """
    faults: list[InvalidUsage] = []
    for each in targets:
        try:
            _write_report(report, each, settings, stdout)
        except InvalidUsage as fault:
            faults.append(fault)
    if faults:
        raise faults[0]


def _write_report(report: Report, target: ReportTarget, settings: RenderSettings, stdout: TextIO | None) -> None:
    if target.target is not None:
        from deltaspec.report.tables_summary import TableResult

        result = TableResult.from_report(report, settings.exit_code, round(settings.seconds, 3), ())
        target.target.write([(result, report)])
    elif target.path is not None:
        data = FORMATS[target.format](report, settings)
        if target.path == os.environ.get("GITHUB_STEP_SUMMARY"):
            with translate_write_errors(target.path), open(target.path, "ab") as file:
                file.write(data)
        else:
            write_file(target.path, data)
    elif target.format == "text":
        if stdout is None:
            return
        with translate_write_errors("stdout"):
            write_text(report, settings, stdout)
    else:
        print_bytes(FORMATS[target.format](report, settings))


def _check_file(path: str) -> None:
    """Raise `InvalidUsage` before the run if a report could not be written, or would be written into a table."""
    from deltaspec.validation.output_location import require_outside_table

    require_outside_table(path, None)
    require_writable(path)
