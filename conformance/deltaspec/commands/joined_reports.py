"""Reports of several tables in one file: each table writes a part to a temporary directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from deltaspec.commands.report_formats import DELTA
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
    results: DeltaResults | None = None
    """The Delta table to which results are appended, for the format `delta`."""

    @property
    def part_format(self) -> str:
        """Format of the parts."""
        return self.format if self.results is None else "json"

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
        if self.results is None:
            write_file(self.path, JOINERS[self.format](parts).encode())
        else:
            self.results.append(
                (result, None if part is None else msgspec.json.decode(part, type=Report)) for result, part in parts
            )


def plan_joined_report(
    text: str, names: Sequence[str], scratch: str, number: int, get_storage: Callable[[str], StorageSettings]
) -> JoinedReport | None:
    """Plan a report in one file; None if the value of `--report` names a file for each table, or cannot be joined.

    Args:
        text: `FORMAT:PATH`.
        names: names of the tables.
        scratch: temporary directory.
        number: of the report among the joined ones.
        get_storage: returns the settings for the location of a Delta table.

    Raises:
        InvalidUsage: results cannot be appended to a Delta table.
    """
    from deltaspec.many_tables.delta_results import DeltaResults
    from deltaspec.report.joined import JOINERS

    output_format, _, path = text.partition(":")
    parts = tuple(os.path.join(scratch, f"{number}-{name}") for name in names)
    if output_format == DELTA:
        return JoinedReport(DELTA, path, parts, DeltaResults(path, get_storage(path)))
    if output_format not in JOINERS or path in ("", "-") or PLACEHOLDER in path or path.endswith("/"):
        return None
    if os.path.isdir(path):
        return None
    return JoinedReport(output_format, path, parts)


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
