"""`deltaspec.validate_many`, and the results of runs as a Delta table."""

import json
import pickle
import re
import sys
import time
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from helpers.cli import run, single_error_line
from helpers.selection import ROOT

import deltaspec
from deltaspec.commands import progress
from deltaspec.errors import InvalidUsage, ValidationFailed
from deltaspec.many_tables import delta_results
from deltaspec.many_tables.runs import RequestTask
from deltaspec.report.results_rows import SCHEMA
from deltaspec.wire.storage.local import LocalStore

LOGS = ROOT / "golden-tables/log"
SOUND, FAULTY = LOGS / "log.append-remove/delta", LOGS / "log.commit-gap/delta"


def read_results(table: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.table(DeltaTable(str(table)).to_pyarrow_table()).to_pylist()
    return rows


class TestApi:
    def test_every_table_has_a_result(self, tmp_path: Path) -> None:
        calls: list[tuple[Any, ...]] = []
        tables = [str(SOUND), f"{LOGS}/log.commit-ga?/delta", str(tmp_path / "gone")]
        found = deltaspec.validate_many(tables, level="log", progress=lambda *call: calls.append(call))
        assert [each.verdict for each in found.tables] == ["conforms", "violations", "unreadable"]
        assert found.tables[2].reason == "no such file or directory"
        assert found.reports == [*(deltaspec.validate(str(each), level="log") for each in (SOUND, FAULTY)), None]
        assert found.exit_code == 2
        assert calls == [("tables", number, 3) for number in range(4)]
        assert json.loads(found.to_json())["tables"][1]["counts"]["violation"] == 1
        with pytest.raises(ValidationFailed, match=r"3 tables: .*\n  violations .*log.commit-gap/delta$"):
            found.raise_for_violations()
        with pytest.raises(ValidationFailed, match=r"unreadable .*: no such file"):
            found.raise_for_violations(require_complete=True)

    def test_workers_give_the_same_result(self) -> None:
        tables = [str(SOUND), str(FAULTY)]
        one, two = (deltaspec.validate_many(tables, level="log", jobs=jobs) for jobs in (1, 2))
        assert one.reports == two.reports
        one.reports[0].raise_for_violations()  # type: ignore[union-attr]

    def test_notebook_shows_notable_tables_first(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        hostile = tmp_path / "<b>"
        found = deltaspec.validate_many([str(SOUND), str(hostile)], level="log")
        html = found._repr_html_()
        assert html.index("unreadable") < html.index("conforms<")
        assert "&lt;b&gt;" in html
        assert "<b>" not in html
        found.show()
        assert "2 tables: 1 conforms, 1 unreadable · exit 2" in capsys.readouterr().out

    def test_invalid_request_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidUsage, match="invalid level 'all'"):
            deltaspec.validate_many([str(SOUND)], level="all")
        with pytest.raises(InvalidUsage, match="invalid jobs 0"):
            deltaspec.validate_many([str(SOUND)], jobs=0)

    def test_interrupted_run_keeps_the_results_so_far(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        run_table = RequestTask.run

        def interrupt(task: RequestTask) -> Any:
            if task.table == str(FAULTY):
                raise KeyboardInterrupt
            return run_table(task)

        monkeypatch.setattr(RequestTask, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            deltaspec.validate_many([str(SOUND), str(FAULTY)], level="log", results=str(tmp_path / "results"))
        rows = [each for each in read_results(tmp_path / "results") if each["kind"] == "table"]
        assert [each["verdict"] for each in rows] == ["conforms", "not run"]


class TestResults:
    def test_command_and_api_append_to_one_table_that_conforms(self, tmp_path: Path) -> None:
        table = tmp_path / "results"
        assert run("validate", SOUND, FAULTY, "--level", "log", "--report", f"delta:{table}").exit_code == 1
        assert run("validate", FAULTY, "--level", "log", "--report", f"delta:{table}").exit_code == 1
        deltaspec.validate_many([str(SOUND), str(tmp_path / "gone")], results=str(table))
        rows = read_results(table)
        assert len({each["run"] for each in rows}) == 3
        summaries = {(each["run"], each["table"]): each for each in rows if each["kind"] == "table"}
        assert sorted(each["verdict"] for each in summaries.values()) == [
            *("conforms", "conforms", "unreadable", "violations", "violations")
        ]
        findings = [each for each in rows if each["kind"] == "finding"]
        assert [(each["rule"], each["severity"]) for each in findings] == [("LOG001", "violation")] * 2
        assert findings[0]["location"] == "_delta_log/00000000000000000002.json"
        assert json.loads(findings[0]["evidence"])["missing_commits_before"] == 1
        summary = summaries[findings[0]["run"], findings[0]["table"]]
        undecided = {each["rule"] for each in rows if (each["kind"], each["run"]) == ("not checked", summary["run"])}
        assert (summary["violations"], summary["not_checked"]) == (1, len(undecided))
        report = deltaspec.validate(str(table), level="rows")
        report.raise_for_violations(require_complete=True)
        assert report.findings == []

    def test_table_with_other_columns_is_refused_before_the_run(self, tmp_path: Path) -> None:
        rows = SCHEMA.empty_table().drop(["run"]).append_column("extra", pa.array([], pa.int64()))
        write_deltalake(str(tmp_path / "older"), rows)
        result = run("validate", SOUND, "--report", f"delta:{tmp_path / 'older'}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert single_error_line(result).startswith(
            f"deltaspec: {tmp_path / 'older'}: is no table of results of this release: missing columns: run; unknown "
            "columns: extra"
        )
        assert DeltaTable(str(tmp_path / "older")).version() == 0

    @pytest.mark.parametrize(
        ("location", "message"),
        [
            ("", "no table for the results is named"),
            (f"{SOUND}/results", f"{SOUND}/results: is in a table"),
            ("xx://lake/results", "xx://lake/results: results cannot be written"),
        ],
    )
    def test_wrong_location_is_refused_before_the_run(self, location: str, message: str) -> None:
        for tables in ([SOUND], [SOUND, FAULTY]):
            result = run("validate", *tables, "--report", f"delta:{location}")
            assert (result.exit_code, result.stdout) == (2, ""), tables
            assert single_error_line(result).startswith(f"deltaspec: {message}"), tables

    def test_missing_library_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(delta_results, "find_spec", lambda name: None if name == "deltalake" else find_spec(name))
        with pytest.raises(InvalidUsage, match=r"needs deltalake: pip install .*\[deltalake\]"):
            deltaspec.validate_many([str(SOUND)], results=str(tmp_path / "results"))


def test_relative_path_is_resolved_before_another_process_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SOUND)
    pickled = pickle.dumps(LocalStore("."))
    monkeypatch.chdir(tmp_path)
    store = pickle.loads(pickled)
    assert (store.uri, store.list_log()) == (".", LocalStore(str(SOUND)).list_log())


def test_notebook_rewrites_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small objects stand in for the kernel, which only a notebook has."""
    assert not progress.is_notebook()
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setattr(progress, "PROGRESS_DELAY_SECONDS", 0.01)
    stream = WaitingStream()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.show_progress() as show:
        show("tables", 3, 4)
        stream.wait_for("tables 3 of 4")
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith(" \r")


class WaitingStream(StringIO):
    """Text stream that can wait for a text."""

    def wait_for(self, text: str) -> None:
        end = time.monotonic() + 10
        while text not in self.getvalue():
            assert time.monotonic() < end, self.getvalue()
            time.sleep(0.01)


def test_query_of_the_readme_lists_tables_with_violations_of_the_last_run(tmp_path: Path) -> None:
    (query,) = re.findall(r"^```sql\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    place = tmp_path / "results"
    for tables in ([str(FAULTY), str(tmp_path / "gone")], [str(SOUND), str(FAULTY)]):
        deltaspec.validate_many(tables, level="log", results=str(place))
    results = pa.table(DeltaTable(str(place)).to_pyarrow_table())
    with duckdb.connect() as connection:
        connection.register("results", results)
        assert connection.sql(query).fetchall() == [(str(FAULTY), 1)]
