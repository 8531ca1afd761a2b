"""Reports of several tables in one file: each table writes a part to a temporary directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from deltaspec.commands.metrics_file import MetricsFile
from deltaspec.commands.notifications import NOTIFY, Notifications
from deltaspec.commands.otlp_metrics import OtlpMetrics
from deltaspec.commands.report_formats import DELTA, OPENMETRICS, OTLP
from deltaspec.commands.site_report import SiteReport
from deltaspec.commands.table_names import PLACEHOLDER
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import write_file

if TYPE_CHECKING:
    from deltaspec.many_tables.delta_results import DeltaResults
    from deltaspec.report.tables_summary import TableResult
    from deltaspec.wire.storage.settings import StorageSettings


class JoinedReport(msgspec.Struct, frozen=True):
    """A report of several tables in one file."""

    format: str
    path: str
    parts: tuple[str, ...]
    """File of each table's report."""
    target: DeltaResults | SiteReport | MetricsFile | OtlpMetrics | Notifications | None = None
    """What takes the results of all tables instead of a renderer."""

    @property
    def part_format(self) -> str:
        """Format of the parts."""
        return self.format if self.target is None else "json"

    @property
    def is_file(self) -> bool:
        """Whether `path` is a file that is checked before the run."""
        return self.target is None

    def write(self, results: Sequence[TableResult]) -> None:
        """Write the report, or append its rows.

        Raises:
            InvalidUsage: it cannot be written.
        """
        from deltaspec.report.joined import JOINERS
        from deltaspec.report.report_types import Report

        files = [*map(Path, self.parts), *[None] * (len(results) - len(self.parts))]
        parts = [
            (result, file.read_text("utf-8") if file is not None and file.exists() else None)
            for result, file in zip(results, files, strict=True)
        ]
        if self.target is None:
            write_file(self.path, JOINERS[self.format](parts).encode())
        else:
            self.target.write(
                (result, None if part is None else msgspec.json.decode(part, type=Report)) for result, part in parts
            )


def plan_joined_report(
    text: str,
    names: Sequence[str],
    scratch: str,
    number: int,
    get_storage: Callable[[str], StorageSettings],
    config: str | None,
) -> JoinedReport | None:
    """Plan a report in one file; None if the value of `--report` names a file for each table, or cannot be joined.

    Args:
        text: `FORMAT:PATH`.
        names: names of the tables.
        scratch: temporary directory.
        number: of the report among the joined ones.
        get_storage: returns the settings for the location of a Delta table.
        config: configuration file; None to look for one.

    Raises:
        InvalidUsage: the results cannot be written.
    """
    from deltaspec.many_tables.delta_results import DeltaResults
    from deltaspec.report.joined import JOINERS

    output_format, _, path = text.partition(":")
    parts = _name_parts(names, scratch, number)
    if output_format == DELTA:
        return JoinedReport(DELTA, path, parts, DeltaResults(path, get_storage(path)))
    if output_format == OPENMETRICS:
        return JoinedReport(OPENMETRICS, path, parts, MetricsFile.parse(path, config))
    if output_format == OTLP:
        return JoinedReport(OTLP, OTLP, parts, OtlpMetrics.parse(path, config))
    if (site := SiteReport.parse(text, config)) is not None:
        return JoinedReport(output_format, path, parts, site)
    if output_format not in JOINERS or path in ("", "-") or PLACEHOLDER in path or path.endswith("/"):
        return None
    if os.path.isdir(path):
        return None
    return JoinedReport(output_format, path, parts)


def plan_notifications(
    given: Mapping[str, Any], names: Sequence[str], scratch: str, number: int
) -> JoinedReport | None:
    """Plan the messages about all tables; None if no address is given.

    Args:
        given: options of the command line, by parameter.
        names, scratch, number: as for `plan_joined_report`.

    Raises:
        InvalidUsage: an address or the file of the state cannot be used.
    """
    notifications = Notifications.parse(given.get("notify") or (), given.get("notify_state"), given.get("config"))
    return (
        None
        if notifications is None
        else JoinedReport(NOTIFY, notifications.state, _name_parts(names, scratch, number), notifications)
    )


def _name_parts(names: Sequence[str], scratch: str, number: int) -> tuple[str, ...]:
    return tuple(os.path.join(scratch, f"{number}-{name}") for name in names)


def write_joined_reports(joined: Sequence[JoinedReport], results: Sequence[TableResult]) -> list[InvalidUsage]:
    """Write joined reports, even if one cannot be written, and return the errors.

    Tables beyond the parts, which could not be searched for, have no report.
    """
    faults = []
    for each in joined:
        try:
            each.write(results)
        except InvalidUsage as fault:
            faults.append(fault)
    return faults
