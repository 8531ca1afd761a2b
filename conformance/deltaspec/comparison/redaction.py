"""Leave values of the table out of a comparison, for a bug report.

Values, partition values, paths below the table and messages of engines are replaced. Names of columns, types, counts
and known findings stay. Equal values get equal replacements.
"""

from __future__ import annotations

from msgspec.structs import replace

from deltaspec.comparison.results import Check, ComparisonReport, DifferingRow, FileRows, RowDifference

_WITHHELD = "withheld (--redact)"


def redact_comparison(report: ComparisonReport) -> ComparisonReport:
    """Return a report without values of the table."""
    return _Redactor().redact(report)


class _Redactor:
    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def redact(self, report: ComparisonReport) -> ComparisonReport:
        engines = tuple(replace(each, checks=tuple(map(self._redact_check, each.checks))) for each in report.engines)
        sample = report.sample
        return replace(
            report,
            table=_WITHHELD,
            engines=engines,
            unread_files={self._rename("file", path): _WITHHELD for path in report.unread_files},
            columns_not_compared=dict.fromkeys(report.columns_not_compared, _WITHHELD),
            sample=None if sample is None else replace(sample, condition=_WITHHELD),
        )

    def _redact_check(self, check: Check) -> Check:
        difference = check.difference
        if difference is None:
            return replace(check, message=_WITHHELD if check.message else "")
        return replace(check, difference=self._redact_difference(difference))

    def _redact_difference(self, difference: RowDifference) -> RowDifference:
        return replace(
            difference,
            partitions=tuple(self._rename("partition", each) for each in difference.partitions),
            files=tuple(FileRows(self._rename("file", each.file), each.rows) for each in difference.files),
            rows=tuple(map(self._redact_row, difference.rows)),
        )

    def _redact_row(self, row: DifferingRow) -> DifferingRow:
        file = None if row.file is None else self._rename("file", row.file)
        return DifferingRow(file=file, expected=self._redact_values(row.expected), found=self._redact_values(row.found))

    def _redact_values(self, values: dict[str, str] | None) -> dict[str, str] | None:
        if values is None:
            return None
        return {
            name: text if text == "null" else self._rename(f"value of {name}", text) for name, text in values.items()
        }

    def _rename(self, kind: str, text: str) -> str:
        number = self._numbers.setdefault((kind, text), 1 + sum(known == kind for known, _ in self._numbers))
        return f"{kind.partition(' of ')[0]} {number}"
