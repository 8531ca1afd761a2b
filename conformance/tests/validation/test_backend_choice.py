"""Which backend `--backend` chooses, and the reason that it reports."""

from pathlib import Path

import pytest
from helpers.cli import run, single_error_line

from deltaspec.errors import InvalidUsage
from deltaspec.report.estimate import Amount, Estimate, LevelReads, Reads, exact_amount
from deltaspec.validation import backend_choice
from deltaspec.validation.backend_choice import (
    MAX_EMBEDDED_LOG_BYTES,
    MAX_EMBEDDED_REQUESTS,
    MAX_EMBEDDED_ROW_BYTES,
    RequestedBackend,
    choose_backend,
    parse_backend,
)
from deltaspec_generators.table_files import write_table
from planted_tables.bases import log_only


def build_estimate(log: int = 0, footers: int = 0, rows: int | None = 0) -> Estimate:
    """Build an estimate from bytes of log, requests for footers, and bytes of rows (None if unknown)."""
    amounts = {
        "log": (exact_amount(1), exact_amount(log)),
        "files": (exact_amount(1), exact_amount(0)),
        "footers": (Amount(footers), Amount(footers)),
        "rows": (exact_amount(1), Amount(rows)),
    }
    return Estimate(
        estimate_version=1,
        deltaspec="0",
        table="t",
        version=0,
        history="latest",
        revision="current",
        live_files=Amount(7),
        live_bytes=Amount(None),
        live_source="",
        levels=[
            LevelReads(
                level=level,
                reads=[Reads(what=level, files=exact_amount(0), requests=requests, bytes=size, source="")],
                not_known=[],
            )
            for level, (requests, size) in amounts.items()
        ],
    )


@pytest.mark.parametrize(
    ("estimate", "level", "backend"),
    [
        (build_estimate(), "rows", "embedded"),
        (build_estimate(log=MAX_EMBEDDED_LOG_BYTES), "log", "embedded"),
        (build_estimate(log=MAX_EMBEDDED_LOG_BYTES + 1), "log", "spark"),
        (build_estimate(footers=MAX_EMBEDDED_REQUESTS + 1), "files", "embedded"),
        (build_estimate(footers=MAX_EMBEDDED_REQUESTS + 1), "footers", "spark"),
        (build_estimate(rows=MAX_EMBEDDED_ROW_BYTES + 1), "footers", "embedded"),
        (build_estimate(rows=MAX_EMBEDDED_ROW_BYTES + 1), "rows", "spark"),
        (build_estimate(rows=None), "rows", "embedded"),
    ],
)
def test_backend_depends_on_what_the_level_reads(estimate: Estimate, level: str, backend: str) -> None:
    assert choose_backend(estimate, level, None).backend == backend


def test_reason_names_the_exceeded_limit() -> None:
    assert (
        choose_backend(build_estimate(log=3 << 30), "log", None).reason == "3.0 GiB of log to read, more than 512.0 MiB"
    )
    assert choose_backend(build_estimate(log=5), "log", None).reason == "5 B of log to read, about 7 live files"
    choice = choose_backend(build_estimate(rows=1 << 40), "rows", "Java is not installed")
    assert choice.backend == "embedded"
    assert (
        choice.reason
        == "Spark would be faster (1.0 TiB of data to read, more than 20.0 GiB), but Java is not installed"
    )


@pytest.mark.parametrize(
    ("text", "requested"),
    [
        ("embedded", RequestedBackend("embedded")),
        ("auto", RequestedBackend("auto")),
        ("spark", RequestedBackend("spark")),
        *(
            (f"spark={master}", RequestedBackend("spark", master))
            for master in (
                "local",
                "local[*]",
                "local[4,2]",
                "yarn",
                "spark://h:7077",
                "k8s://https://h",
                "sc://h:15002",
            )
        ),
    ],
)
def test_backend_option_is_parsed(text: str, requested: RequestedBackend) -> None:
    assert parse_backend(text) == requested


@pytest.mark.parametrize("text", ["", "Spark", "flink", "spark=", "spark=local[", "spark=host:7077", "auto=yarn"])
def test_invalid_backend_is_refused(text: str) -> None:
    with pytest.raises(InvalidUsage):
        parse_backend(text)


class TestCommand:
    @pytest.fixture
    def table(self, tmp_path: Path) -> Path:
        write_table(log_only.build_table(), tmp_path)
        return tmp_path

    def test_auto_reports_the_chosen_backend(self, table: Path) -> None:
        chosen = run("validate", table, "--backend", "auto", "--level", "log")
        default = run("validate", table, "--level", "log")
        assert (chosen.exit_code, chosen.stdout) == (0, default.stdout)
        (line,) = chosen.stderr.splitlines()
        assert line.startswith("backend embedded: ")
        assert line.endswith(" of log to read, about 2 live files")

    def test_auto_reports_that_spark_is_unavailable(self, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(backend_choice, "MAX_EMBEDDED_LOG_BYTES", 10)
        monkeypatch.setenv("JAVA_HOME", "/nowhere")
        result = run("validate", table, "--backend", "auto", "--level", "log")
        assert result.exit_code == 0
        assert "more than 10 B), but JAVA_HOME is /nowhere" in result.stderr

    @pytest.mark.parametrize("option", ["--backend", "--" + "backend"])
    def test_unknown_backend_gives_one_error_line(self, option: str, table: Path) -> None:
        result = run("validate", table, option, "flink")
        assert result.exit_code == 2
        assert (
            single_error_line(result)
            == "deltaspec: invalid backend 'flink'; choose from embedded, spark[=MASTER], auto"
        )
