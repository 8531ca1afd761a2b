"""`--report otlp`: a local receiver gets the metrics of a run, with the headers of the environment."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest
from helpers.cli import run, single_error_line
from helpers.raw_logs import RawLog
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from deltaspec.commands import otlp_metrics

SECRET = "very-secret-0123456789"


class Receiver(HTTPServer):
    """A collector that answers with a status, and keeps requests with their key."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.received: list[tuple[str, str | None, ExportMetricsServiceRequest]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = ExportMetricsServiceRequest.FromString(body)
        self.server.received.append((self.path, self.headers["api-key"], request))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with Receiver() as found:
        thread = Thread(target=found.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://user:{SECRET}@127.0.0.1:{found.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"api-key={SECRET}")
        yield found
        found.shutdown()


def test_receiver_gets_the_metrics_of_each_table(receiver: Receiver, tmp_path: Path) -> None:
    broken = RawLog("plain")
    broken.drop(1)
    sound, faulty = RawLog("plain").write(tmp_path / "sound"), broken.write(tmp_path / "broken")
    result = run("validate", sound, faulty, "--level", "log", "--report", "otlp")
    assert result.exit_code == 1, result.output
    ((path, key, request),) = receiver.received
    assert (path, key) == ("/v1/metrics", SECRET)
    (resource,) = request.resource_metrics
    assert "deltaspec" in [
        each.value.string_value for each in resource.resource.attributes if each.key == "service.name"
    ]
    (scope,) = resource.scope_metrics
    values = {}
    for metric in scope.metrics:
        for point in metric.gauge.data_points:
            labels = {each.key: each.value.string_value for each in point.attributes}
            detail = labels.get("verdict") or labels.get("rule") or ""
            values[metric.name, metric.unit, labels["table"], detail] = point.as_double or point.as_int
    assert values["deltaspec.table.verdict", "", str(sound), "conforms"] == 1
    assert values["deltaspec.table.verdict", "", str(faulty), "violations"] == 1
    assert values["deltaspec.table.findings", "", str(faulty), "LOG001"] == 1
    assert values["deltaspec.table.last_complete_check_timestamp", "s", str(sound), ""] > 0
    assert ("deltaspec.table.last_complete_check_timestamp", "s", str(faulty), "") not in values
    assert ("deltaspec.table.check_duration", "s", str(faulty), "") in values


def test_refused_metrics_are_an_error_without_secrets(receiver: Receiver, tmp_path: Path) -> None:
    receiver.status = 401
    result = run("validate", RawLog("plain").write(tmp_path / "t"), "--level", "log", "--quiet", "--report", "otlp")
    assert result.exit_code == 2
    assert "did not accept the metrics: " in result.stderr
    assert "401" in result.stderr
    assert SECRET not in result.output


@pytest.mark.parametrize(
    ("value", "endpoint", "message"),
    [
        ("otlp:http://localhost:4318", "http://localhost:4318", "write --report otlp, without an address"),
        ("otlp", "", "set OTEL_EXPORTER_OTLP_ENDPOINT, for example to http://localhost:4318"),
        ("otlp", "localhost:4317", "otlp sends over HTTP"),
    ],
)
def test_missing_endpoint_is_an_error(value: str, endpoint: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    assert message in single_error_line(run("validate", "t", "--report", value))


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_metrics, "find_spec", lambda name: None if "opentelemetry" in name else find_spec(name))
    assert "otlp needs opentelemetry" in single_error_line(run("validate", tmp_path, "--report", "otlp"))
