"""Results of tables as metrics: OpenMetrics for the textfile collector of node_exporter or a Pushgateway, and OTLP."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from deltaspec.errors import InvalidUsage
from deltaspec.input_files import read_input_file
from deltaspec.lake.state import LETTERS
from deltaspec.report.report_types import Report, is_incomplete
from deltaspec.report.tables_summary import TableResult
from deltaspec.report.text import escape_text
from deltaspec.version import __version__

_COMPLETE = "deltaspec_table_last_complete_check_timestamp_seconds"
_MOST_BYTES = 1 << 30
METRICS = {
    "deltaspec_table_verdict": "1 for the verdict of the last run, 0 for the others.",
    "deltaspec_table_findings": "Findings by rule and severity.",
    "deltaspec_table_unchecked_rules": "Rules and table features that could not be decided, and that nobody accepts.",
    "deltaspec_table_last_check_timestamp_seconds": "Time of the last run.",
    _COMPLETE: "Time of the last run that checked everything that was requested.",
    "deltaspec_table_check_duration_seconds": "Duration of the last run.",
    "deltaspec_table_live_bytes": "Size of the live files, if the directories were listed.",
    "deltaspec_table_live_files": "Number of live files, if the directories were listed.",
}
"""Name of each metric, and what it is. All are gauges."""


class Sample(NamedTuple):
    """A value of a metric."""

    name: str
    """A key of `METRICS`."""
    labels: dict[str, str]
    value: float


def list_samples(
    results: Iterable[tuple[TableResult, Report | None]],
    now: float,
    earlier: Mapping[str, float],
    get_owner: Callable[[str], str],
) -> Iterator[Sample]:
    """Yield the values of all metrics of a run.

    Args:
        results: of all tables.
        now: seconds since the epoch.
        earlier: time of the last complete check of each table, in seconds since the epoch, as `read_complete_checks`
            returns it; kept for tables that this run did not check completely.
        get_owner: returns the owner of a table, or an empty text.
    """
    for result, report in results:
        table = escape_text(result.table)
        head = {"table": table, "owner": get_owner(result.table)}
        for verdict in LETTERS:
            value = float(verdict == result.verdict)
            yield Sample("deltaspec_table_verdict", {**head, "verdict": verdict}, value)
        yield Sample("deltaspec_table_last_check_timestamp_seconds", head, now)
        yield Sample("deltaspec_table_check_duration_seconds", head, result.seconds)
        is_complete = report is not None and _is_complete(report)
        if is_complete or table in earlier:
            yield Sample(_COMPLETE, head, now if is_complete else earlier[table])
        if report is not None:
            yield from _list_report_samples(report, head)


def _is_complete(report: Report) -> bool:
    return report.verdict != "refused" and not is_incomplete(report.checked.not_checked, report.stopped)


def _list_report_samples(report: Report, head: dict[str, str]) -> Iterator[Sample]:
    severities = {each.rule: each.severity for each in report.findings}
    for rule, total in report.totals.items():
        labels = {**head, "rule": rule, "severity": severities.get(rule, "violation")}
        yield Sample("deltaspec_table_findings", labels, total)
    undecided = {each.rule for each in report.checked.not_checked if not each.accepted}
    yield Sample("deltaspec_table_unchecked_rules", head, len(undecided))
    if report.inventory is not None:
        yield Sample("deltaspec_table_live_bytes", head, report.inventory.live_bytes)
        yield Sample("deltaspec_table_live_files", head, report.inventory.live_files)


def render_metrics(samples: Iterable[Sample]) -> bytes:
    """Return the metrics of a run as OpenMetrics."""
    from prometheus_client import CollectorRegistry, Gauge, Info
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry()
    labels = {"deltaspec_table_verdict": ["verdict"], "deltaspec_table_findings": ["rule", "severity"]}
    gauges: dict[str, Any] = {
        name: Gauge(name, text, ["table", "owner", *labels.get(name, [])], registry=registry)
        for name, text in METRICS.items()
    }
    Info("deltaspec_build", "Release of deltaspec.", registry=registry).info({"version": __version__})
    for each in samples:
        gauges[each.name].labels(**each.labels).set(each.value)
    rendered: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return rendered


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
