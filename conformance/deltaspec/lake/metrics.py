"""Results of tables as OpenMetrics, for the textfile collector of node_exporter or a Pushgateway."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.lake.state import LETTERS
from deltaspec.report.report_types import Report, is_incomplete
from deltaspec.report.tables_summary import TableResult
from deltaspec.report.text import escape_text
from deltaspec.version import __version__

_COMPLETE = "deltaspec_table_last_complete_check_timestamp_seconds"
_MOST_BYTES = 1 << 30
_HELP = {
    "deltaspec_table_verdict": "1 for the verdict of the last run, 0 for the others.",
    "deltaspec_table_findings": "Findings by rule and severity.",
    "deltaspec_table_unchecked_rules": "Rules and table features that could not be decided, and that nobody accepts.",
    "deltaspec_table_last_check_timestamp_seconds": "Time of the last run.",
    _COMPLETE: "Time of the last run that checked everything that was requested.",
    "deltaspec_table_check_duration_seconds": "Duration of the last run.",
    "deltaspec_table_live_bytes": "Size of the live files, if the directories were listed.",
    "deltaspec_table_live_files": "Number of live files, if the directories were listed.",
}


def render_metrics(
    results: Iterable[tuple[TableResult, Report | None]],
    now: float,
    earlier: Mapping[str, float],
    get_owner: Callable[[str], str],
) -> bytes:
    """Return the metrics of a run.

    Args:
        results: of all tables.
        now: seconds since the epoch.
        earlier: time of the last complete check of each table, in seconds since the epoch, as `read_complete_checks`
            returns it; kept for tables that this run did not check completely.
        get_owner: returns the owner of a table, or an empty text.
    """
    from prometheus_client import CollectorRegistry, Gauge, Info
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry()
    labels = {"deltaspec_table_verdict": ["verdict"], "deltaspec_table_findings": ["rule", "severity"]}
    gauges: dict[str, Any] = {
        name: Gauge(name, text, ["table", "owner", *labels.get(name, [])], registry=registry)
        for name, text in _HELP.items()
    }
    Info("deltaspec_build", "Release of deltaspec.", registry=registry).info({"version": __version__})
    for result, report in results:
        table = escape_text(result.table)
        head = {"table": table, "owner": get_owner(result.table)}

        def set_gauge(name: str, value: float, head: Mapping[str, str] = head, **more: str) -> None:
            gauges[name].labels(**head, **more).set(value)

        for verdict in LETTERS:
            set_gauge("deltaspec_table_verdict", float(verdict == result.verdict), verdict=verdict)
        set_gauge("deltaspec_table_last_check_timestamp_seconds", now)
        set_gauge("deltaspec_table_check_duration_seconds", result.seconds)
        if table in earlier:
            set_gauge(_COMPLETE, earlier[table])
        if report is not None:
            _add_report(report, set_gauge, now)
    rendered: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return rendered


def _add_report(report: Report, set_gauge: Callable[..., None], now: float) -> None:
    severities = {each.rule: each.severity for each in report.findings}
    for rule, total in report.totals.items():
        set_gauge("deltaspec_table_findings", total, rule=rule, severity=severities.get(rule, "violation"))
    undecided = {each.rule for each in report.checked.not_checked if not each.accepted}
    set_gauge("deltaspec_table_unchecked_rules", len(undecided))
    if report.verdict != "refused" and not is_incomplete(report.checked.not_checked, report.stopped):
        set_gauge(_COMPLETE, now)
    if report.inventory is not None:
        set_gauge("deltaspec_table_live_bytes", report.inventory.live_bytes)
        set_gauge("deltaspec_table_live_files", report.inventory.live_files)


def read_complete_checks(path: str) -> dict[str, float]:
    """Return the time of the last complete check of each table from a file of an earlier run; empty if there is none.

    Raises:
        InvalidUsage: the file cannot be read, or does not have metrics.
    """
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    if not os.path.lexists(path):
        return {}
    try:
        text = read_input_file(path, _MOST_BYTES).decode()
        families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
        return {
            sample.labels["table"]: sample.value
            for family in families
            for sample in family.samples
            if sample.name == _COMPLETE
        }
    except (ValueError, KeyError) as fault:
        raise InvalidUsage(f"{path}: has no metrics of deltaspec ({fault}); name another file") from fault
