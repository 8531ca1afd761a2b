"""The report `otlp`: metrics of all tables of a run, sent to an OpenTelemetry collector.

Endpoint, headers and timeout come from the standard variables `OTEL_EXPORTER_OTLP_…`, so that no secret is an argument.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from deltaspec.commands.contacts import Contacts
from deltaspec.commands.table_names import normalize_location
from deltaspec.errors import InvalidUsage
from deltaspec.installation import build_install_command
from deltaspec.report.text import bound_text, escape_text
from deltaspec.version import __version__
from deltaspec.wire.storage.interface import redact_uri

if TYPE_CHECKING:
    from deltaspec.report.report_types import Report
    from deltaspec.report.tables_summary import TableResult

ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""Variables with the address of the collector, the most specific first."""
_SECRETS = ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
_UNITS = {"_seconds": "s", "_bytes": "By"}
"""Ends of names that OpenTelemetry expresses as units. A collector adds them again for Prometheus."""


class OtlpMetrics(msgspec.Struct, frozen=True):
    """The collector that gets the metrics."""

    endpoint: str
    """Address for messages, without secrets."""
    contacts: Contacts

    @classmethod
    def parse(cls, path: str, config: str | None) -> OtlpMetrics:
        """Check before the run that metrics can be sent.

        Args:
            path: of `--report otlp:PATH`, which must be empty.
            config: configuration file with the owners of tables; None to look for one.

        Raises:
            InvalidUsage: the libraries of OpenTelemetry are not installed, or no endpoint is set.
        """
        from deltaspec.commands.configuration import load_contacts

        if path:
            raise InvalidUsage(f"write --report otlp, without an address, and set {ENDPOINTS[1]}")
        if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
            raise InvalidUsage(f"otlp needs opentelemetry: {build_install_command('otlp')}")
        endpoint = next(filter(None, map(os.environ.get, ENDPOINTS)), "")
        if not endpoint.startswith(("http://", "https://")):
            raise InvalidUsage(f"otlp sends over HTTP: set {ENDPOINTS[1]}, for example to http://localhost:4318")
        return cls(redact_uri(endpoint), load_contacts(config))

    def write(self, results: Iterable[tuple[TableResult, Report | None]]) -> None:
        """Send the metrics.

        Raises:
            InvalidUsage: the collector did not accept them.
        """
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
        from opentelemetry.sdk.resources import Resource

        from deltaspec.lake.metrics import METRICS, list_samples

        reader = InMemoryMetricReader()
        resource = Resource.create({"service.name": "deltaspec", "service.version": __version__})
        provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        meter = provider.get_meter("deltaspec", __version__)
        gauges = {name: meter.create_gauge(*_name_metric(name), text) for name, text in METRICS.items()}
        named = ((replace(result, table=normalize_location(result.table)), report) for result, report in results)
        for each in list_samples(named, time.time(), {}, self.contacts.get_owner):
            gauges[each.name].set(each.value, each.labels)
        data = reader.get_metrics_data()
        if data is None:
            return
        with _collecting_messages() as messages:
            result = OTLPMetricExporter().export(data)
        if result is not MetricExportResult.SUCCESS:
            raise InvalidUsage(f"{self.endpoint} did not accept the metrics: {_describe(messages)}")


def _name_metric(name: str) -> tuple[str, str]:
    """Return name and unit of a metric as OpenTelemetry writes them."""
    unit = next((end for end in _UNITS if name.endswith(end)), "")
    return name.removesuffix(unit).replace("deltaspec_table_", "deltaspec.table."), _UNITS.get(unit, "")


class _Messages(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def _collecting_messages() -> Iterator[list[str]]:
    """Collect the warnings of the exporter instead of printing them."""
    logger, handler = logging.getLogger("opentelemetry"), _Messages()
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler.texts
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


def _describe(messages: list[str]) -> str:
    """Return the last message of the exporter, without what the environment keeps secret."""
    text = messages[-1] if messages else "no answer"
    for name in ENDPOINTS:
        if value := os.environ.get(name):
            text = text.replace(value, redact_uri(value))
    for name in _SECRETS:
        for pair in os.environ.get(name, "").split(","):
            if value := pair.partition("=")[2].strip():
                text = text.replace(value, "…")
    return escape_text(bound_text(text))
