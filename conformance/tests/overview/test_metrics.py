"""`--report openmetrics:FILE`: what a run says of each table, read by the parser of prometheus-client."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.cli import run, single_error_line
from helpers.lake_reports import build_report
from helpers.raw_logs import RawLog
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus_text

from deltaspec.commands import metrics_file
from deltaspec.lake.metrics import list_samples, read_complete_checks, render_metrics
from deltaspec.report.tables_summary import TableResult

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read_samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def select(samples: Samples, name: str, **labels: str) -> list[float]:
    return [value for (each, found), value in samples.items() if each == name and labels.items() <= dict(found).items()]


def test_run_over_tables_has_metrics_of_each(tmp_path: Path) -> None:
    broken = RawLog("plain")
    broken.drop(1)
    tables = [RawLog("plain").write(tmp_path / "lake/sound"), broken.write(tmp_path / "lake/broken"), tmp_path / "gone"]
    config = tmp_path / "deltaspec.toml"
    config.write_text(f'[tables."{tmp_path}/lake/*"]\nowner = "a \\"b\\""\n')
    file = tmp_path / "metrics.prom"
    result = run("validate", *tables, "--level", "log", "--config", config, "--report", f"openmetrics:{file}")
    assert result.exit_code == 2
    text = file.read_text("utf-8")
    samples = read_samples(text)
    sound, faulty, gone = map(str, tables)
    for table, verdict in ((sound, "conforms"), (faulty, "violations"), (gone, "unreadable")):
        assert select(samples, "deltaspec_table_verdict", table=table, verdict=verdict) == [1.0], table
        assert sum(select(samples, "deltaspec_table_verdict", table=table)) == 1.0, table
        assert len(select(samples, "deltaspec_table_check_duration_seconds", table=table)) == 1, table
    findings = select(samples, "deltaspec_table_findings", table=faulty, rule="LOG001", severity="violation")
    assert findings == [1.0]
    assert select(samples, "deltaspec_table_unchecked_rules", table=sound) == [0.0]
    assert select(samples, "deltaspec_table_unchecked_rules", table=faulty)[0] > 0
    complete = "deltaspec_table_last_complete_check_timestamp_seconds"
    assert [len(select(samples, complete, table=each)) for each in (sound, faulty, gone)] == [1, 0, 0]
    assert len(select(samples, "deltaspec_table_verdict", owner='a "b"')) == 16
    families = list(parse_prometheus_text(text))  # as the textfile collector reads it
    assert {family.type for family in families} <= {"gauge", "unknown", "info"}


def test_last_complete_check_is_kept_while_a_table_is_not_checked(tmp_path: Path) -> None:
    sound = RawLog("plain").write(tmp_path / "t")
    file = tmp_path / "metrics.prom"
    arguments = ("validate", sound, "--level", "log", "--quiet", "--report", f"openmetrics:{file}")
    assert run(*arguments).exit_code == 0
    first = read_complete_checks(str(file))
    (sound / "_delta_log" / f"{1:020}.json").unlink()
    assert run(*arguments).exit_code == 1
    assert read_complete_checks(str(file)) == first
    assert len(first) == 1


def test_size_is_known_if_the_directories_were_listed() -> None:
    report = build_report("s3://lake/t", {"FIL007": 3}, size=77)
    result = TableResult.from_report(report, 1, 2.5, ())
    samples = read_samples(render_metrics(list_samples([(result, report)], 9.0, {}, lambda _: "")).decode())
    assert select(samples, "deltaspec_table_live_bytes") == [77.0]
    assert select(samples, "deltaspec_table_live_files") == [2.0]
    assert select(samples, "deltaspec_table_findings") == [3.0]
    assert select(samples, "deltaspec_table_check_duration_seconds") == [2.5]
    assert select(samples, "deltaspec_table_last_check_timestamp_seconds") == [9.0]


def test_other_file_is_not_replaced(tmp_path: Path) -> None:
    sound = RawLog("plain").write(tmp_path / "t")
    file = tmp_path / "notes.txt"
    file.write_text("not metrics {")
    result = run("validate", sound, "--level", "log", "--quiet", "--report", f"openmetrics:{file}")
    assert "has no metrics of deltaspec" in single_error_line(result)
    assert file.read_text() == "not metrics {"


@pytest.mark.parametrize(
    ("value", "message"), [("openmetrics", "no file for the metrics"), ("openmetrics:-", "no file")]
)
def test_metrics_need_a_file(tmp_path: Path, value: str, message: str) -> None:
    assert message in single_error_line(run("validate", tmp_path, "--report", value))


def test_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> object:
        return None if name == "prometheus_client" else find_spec(name)

    monkeypatch.setattr(metrics_file, "find_spec", find)
    result = run("validate", tmp_path, "--report", f"openmetrics:{tmp_path}/m")
    assert "openmetrics needs prometheus-client" in single_error_line(result)
