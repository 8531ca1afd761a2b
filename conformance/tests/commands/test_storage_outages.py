"""A store that stops or fails: for a while it goes unnoticed; afterwards the exit code is 5, below violations."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.cli import run, single_error_line
from helpers.faulty_s3 import BUCKET, Fault, FaultyS3, environment, run_faulty_s3, set_environment

import deltaspec
from deltaspec.commands import table_workers
from deltaspec.commands.table_workers import run_in_workers, run_tables
from deltaspec.errors import StorageUnavailable
from deltaspec.report.report_types import Report
from deltaspec.wire.storage import retries
from deltaspec_generators.small_tables import build_table_with_data
from deltaspec_generators.table_files import encode_table

TABLES = [f"s3://{BUCKET}/t{number}" for number in range(6)]
DONE_SECONDS = 60
"""Time after which a test gives up a process."""


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyS3]:
    with run_faulty_s3() as s3:
        yield s3


@pytest.fixture
def s3(server: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyS3]:
    """Six sound tables. Requests are retried for ten seconds, however often."""
    set_environment(monkeypatch, server)
    monkeypatch.delenv("DELTASPEC_STORE_RETRIES")
    monkeypatch.setenv("DELTASPEC_STORE_RETRY_SECONDS", "10")
    monkeypatch.setattr(table_workers, "run_in_workers", lambda tasks, _, outages: run_tables(tasks, outages))
    monkeypatch.setattr(retries, "UNAVAILABLE", set())
    server.clear()
    for table in TABLES:
        put_table(server, table)
    yield server
    server.clear()


def put_table(s3: FaultyS3, table: str, *, missing: str | None = None) -> None:
    for path, data in encode_table(build_table_with_data()).items():
        if path != missing:
            s3.put(f"{table.removeprefix(f's3://{BUCKET}/')}/{path}", data)


def fail_lists(s3: FaultyS3, *names: str) -> None:
    """Answer listings of some tables with 503, whose retries end at once."""
    s3.faults = [Fault("503", kinds=("list",), key=lambda key: key.split("/")[0] in names)]


@pytest.fixture
def impatient(s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> FaultyS3:
    """The store, whose requests are not retried."""
    monkeypatch.setenv("DELTASPEC_STORE_RETRY_SECONDS", "0")
    return s3


def get_rows(*arguments: str) -> tuple[int, list[tuple[str, int]], list[str]]:
    """Return the exit code, verdict and exit code of each table, and the notes."""
    result = run("validate", *arguments, "--level", "files", "--format", "json")
    summary = json.loads(result.stdout)
    assert result.exit_code == summary["exit_code"]
    return result.exit_code, [(each["verdict"], each["exit_code"]) for each in summary["tables"]], summary["notes"]


def render(report: Report) -> Any:
    return msgspec.to_builtins(report)


class TestRecovery:
    def test_store_that_starts_late_goes_unnoticed(self, s3: FaultyS3) -> None:
        expected = render(deltaspec.validate(TABLES[0], level="rows"))
        s3.stop_for(0.5)
        assert render(deltaspec.validate(TABLES[0], level="rows")) == expected

    @pytest.mark.parametrize("kind", ["list", "get", "range"])
    def test_store_that_restarts_in_the_middle_goes_unnoticed(self, kind: str, s3: FaultyS3) -> None:
        expected = render(deltaspec.validate(TABLES[0], level="rows"))
        stopped: list[str] = []

        def stop_once(key: str) -> bool:
            if stopped:
                return False
            stopped.append(key)
            s3.stop_for(0.5)
            return True

        s3.faults = [Fault("reset", kinds=(kind,), key=stop_once)]
        assert render(deltaspec.validate(TABLES[0], level="rows")) == expected
        assert stopped

    @pytest.mark.parametrize("what", ["503", "500", "reset", "cut"])
    def test_more_failures_than_the_client_retries_go_unnoticed(self, what: str, s3: FaultyS3) -> None:
        expected = render(deltaspec.validate(TABLES[0], level="rows"))
        s3.faults = [Fault(what, turns=lambda turn: turn <= 6)]
        assert render(deltaspec.validate(TABLES[0], level="rows")) == expected
        assert min(s3.faults[0].match_counts.values()) > 6


class TestOutage:
    def test_one_table(self, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DELTASPEC_STORE_RETRY_SECONDS", "2")
        s3.faults = [Fault("503")]
        result = run("validate", TABLES[0])
        assert (result.exit_code, single_error_line(result)) == (
            5,
            (
                f"deltaspec: {TABLES[0]}: _delta_log cannot be listed: "
                "the store answers 503 Service Unavailable (SlowDown), after 2 s of retries"
            ),
        )
        assert s3.count("list") > 3, "more often than the client retries itself"

    @pytest.mark.parametrize("host", ["127.0.0.1:1", "no-such-host.invalid"])
    def test_unreachable_store(self, host: str, impatient: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}")
        with pytest.raises(StorageUnavailable, match="no connection to the store"):
            deltaspec.validate(TABLES[0])

    @pytest.mark.parametrize("place", [TABLES[0], f"s3://{BUCKET}/*"])
    def test_denied_access_is_no_outage(self, place: str, s3: FaultyS3) -> None:
        s3.faults = [Fault("403")]
        assert run("validate", place).exit_code == 2
        assert s3.count("list") <= 2, "403 is not retried"

    def test_search_for_tables(self, impatient: FaultyS3) -> None:
        impatient.faults = [Fault("503")]
        result = run("validate", f"s3://{BUCKET}/*")
        assert (result.exit_code, "503" in single_error_line(result)) == (5, True)
        assert get_rows(f"s3://{BUCKET}/*", f"s3://{BUCKET}/t/**")[:2] == (5, [("unavailable", 5), ("unavailable", 5)])

    def test_files_that_are_not_answered_stay_unchecked(self, impatient: FaultyS3) -> None:
        impatient.faults = [Fault("503", kinds=("range", "head"))]
        assert run("validate", TABLES[0], "--level", "footers").exit_code == 3

    def test_retries_are_short_until_the_store_answers(self, s3: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DELTASPEC_STORE_RETRY_SECONDS", "0.5")
        monkeypatch.setattr(retries, "OUTAGE_RETRY_SECONDS", 0.25)
        s3.faults = [Fault("503", turns=lambda turn: turn < 1000)]
        for seconds in ("0.5", "0.25", "0.25"):
            with pytest.raises(StorageUnavailable, match=f"after {seconds} s of retries"):
                deltaspec.validate(TABLES[0])
        s3.faults.clear()
        assert deltaspec.validate(TABLES[0]).verdict == "conforms"
        s3.faults = [Fault("503")]
        with pytest.raises(StorageUnavailable, match=r"after 0\.5 s of retries"):
            deltaspec.validate(TABLES[0])


class TestSeveralTables:
    def test_violations_are_not_hidden(self, impatient: FaultyS3) -> None:
        put_table(impatient, f"s3://{BUCKET}/broken", missing="c.parquet")
        fail_lists(impatient, "t0")
        exit_code, rows, notes = get_rows(TABLES[0], f"s3://{BUCKET}/broken", TABLES[1])
        assert (exit_code, rows, notes) == (1, [("unavailable", 5), ("violations", 1), ("conforms", 0)], [])

    def test_outage_is_worse_than_an_incomplete_run(self, impatient: FaultyS3) -> None:
        impatient.faults = [
            Fault("503", key=lambda key: key.startswith("t0/")),
            Fault("503", kinds=("get",), key=lambda key: key.startswith("t1/") and key.endswith("2.json")),
        ]
        assert get_rows(*TABLES[:3])[:2] == (5, [("unavailable", 5), ("incomplete", 3), ("conforms", 0)])

    def test_one_table_without_access(self, s3: FaultyS3) -> None:
        s3.faults = [Fault("403", key=lambda key: key.startswith("t1/"))]
        assert get_rows(*TABLES[:3])[:2] == (2, [("conforms", 0), ("unreadable", 2), ("conforms", 0)])

    def test_store_that_answers_for_no_table_is_given_up(self, impatient: FaultyS3, tmp_path: Path) -> None:
        fail_lists(impatient, *(f"t{number}" for number in range(6)))
        note = f"s3://{BUCKET} did not answer for 3 tables and answered for none: 3 further tables were not run"
        exit_code, rows, notes = get_rows(*TABLES)
        assert (exit_code, rows, notes) == (5, [("unavailable", 5)] * 3 + [("not run", 3)] * 3, [note])
        assert {each.key.split("/")[0] for each in impatient.requests} == {"t0", "t1", "t2"}
        text = run("validate", *TABLES).stdout
        assert text.endswith(f"\n{note}\n6 tables: 3 not run, 3 unavailable · exit 5\n")

    def test_workers_end_when_a_store_is_given_up(self, impatient: FaultyS3, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(table_workers, "run_in_workers", run_in_workers)
        fail_lists(impatient, *(f"t{number}" for number in range(6)))
        verdicts = [verdict for verdict, _ in get_rows(*TABLES, "--jobs", "2")[1]]
        # the other worker may have started a table when the third was unavailable
        assert verdicts in (["unavailable"] * number + ["not run"] * (6 - number) for number in (3, 4))

    @pytest.mark.parametrize("answered", [0, 2])
    def test_store_that_answered_once_is_not_given_up(self, answered: int, impatient: FaultyS3) -> None:
        failed = [number for number in range(6) if number != answered]
        fail_lists(impatient, *(f"t{number}" for number in failed))
        exit_code, rows, notes = get_rows(*TABLES)
        assert (exit_code, notes) == (5, [])
        assert rows == [("conforms", 0) if number == answered else ("unavailable", 5) for number in range(6)]

    def test_tables_elsewhere_are_run(self, impatient: FaultyS3, tmp_path: Path) -> None:
        for path, data in encode_table(build_table_with_data()).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(data)
        fail_lists(impatient, *(f"t{number}" for number in range(6)))
        (tmp_path / "c.parquet").unlink()
        arguments = (*TABLES[:4], str(tmp_path))
        assert get_rows(*arguments)[:2] == (1, [*[("unavailable", 5)] * 3, ("not run", 3), ("violations", 1)])
        assert "c.parquet" in run("validate", *arguments, "--level", "files").stdout


@pytest.mark.parametrize(
    ("key", "arguments", "verdicts"),
    [
        (lambda key: key.startswith("t1/"), (TABLES[0], TABLES[1], "--report", "json:{table}.json"), ["conforms"]),
        (lambda _: True, (TABLES[1], "--report", "json:one.json"), []),
        (
            lambda key: key.endswith(".parquet"),
            (TABLES[1], "--level", "rows", "--report", "json:one.json"),
            ["incomplete"],
        ),
    ],
    ids=["second table", "log", "data"],
)
def test_interrupt_ends_retries(
    key: Callable[[str], bool], arguments: tuple[str, ...], verdicts: list[str], s3: FaultyS3, tmp_path: Path
) -> None:
    """Retries would take more than the time after which the process is given up."""
    s3.faults = [Fault("503", key=key)]
    settings = {**os.environ, **environment(s3), "DELTASPEC_STORE_RETRY_SECONDS": str(10 * DONE_SECONDS)}
    del settings["DELTASPEC_STORE_RETRIES"]
    command = [sys.executable, "-m", "deltaspec", "validate", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path, env=settings)
    try:
        until = time.monotonic() + DONE_SECONDS
        while sum(s3.faults[0].match_counts.values()) < 5 and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=DONE_SECONDS)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, b"deltaspec: interrupted" in errors) == (130, True)
    assert [json.loads(file.read_bytes())["verdict"] for file in tmp_path.rglob("*.json")] == verdicts
