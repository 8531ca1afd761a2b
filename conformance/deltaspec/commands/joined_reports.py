"""Reports of several tables in one file: each table writes a part to a temporary directory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from deltaspec.commands.table_names import PLACEHOLDER
from deltaspec.errors import InvalidUsage
from deltaspec.output_files import write_file

if TYPE_CHECKING:
    from deltaspec.report.tables_summary import TableResult


class JoinedReport(msgspec.Struct, frozen=True):
    """A report of several tables in one file."""

    format: str
    path: str
    parts: tuple[str, ...]
    """File of each table's report."""


def plan_joined_report(text: str, names: Sequence[str], scratch: str, number: int) -> JoinedReport | None:
    """Plan a report in one file; None if the value of `--report` names a file for each table, or cannot be joined.

    Args:
        text: `FORMAT:PATH`.
        names: names of the tables.
        scratch: temporary directory.
        number: of the report among the joined ones.
    """
    from deltaspec.report.joined import JOINERS

    output_format, _, path = text.partition(":")
    if output_format not in JOINERS or path in ("", "-") or PLACEHOLDER in path or path.endswith("/"):
        return None
    if os.path.isdir(path):
        return None
    return JoinedReport(output_format, path, tuple(os.path.join(scratch, f"{number}-{name}") for name in names))


def write_joined_reports(joined: Sequence[JoinedReport], results: Sequence[TableResult]) -> list[InvalidUsage]:
    """Write joined reports, even if one cannot be written, and return the errors.

    Tables beyond the parts, which could not be searched for, have no report.
    """
    from deltaspec.report.joined import JOINERS

    faults = []
    for each in joined:
        files = [*map(Path, each.parts), *[None] * (len(results) - len(each.parts))]
        parts = [
            (result, file.read_text("utf-8") if file is not None and file.exists() else None)
            for result, file in zip(results, files, strict=True)
        ]
        try:
            write_file(each.path, JOINERS[each.format](parts).encode())
        except InvalidUsage as fault:
            faults.append(fault)
    return faults
