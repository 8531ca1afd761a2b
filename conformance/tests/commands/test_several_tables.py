"""`deltaspec validate` with several tables: one summary, a report for each, and the exit code of the worst."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from helpers.cli import run, single_error_line
from helpers.restricted_runs import run_with_permissions
from jsonschema import Draft202012Validator

from deltaspec.commands import table_workers
from deltaspec.commands.outages import Outages
from deltaspec.commands.table_names import build_table_name
from deltaspec.commands.table_workers import TableTask, run_in_workers, run_tables
from deltaspec.report.tables_summary import build_tables_schema, render_tables_schema
from deltaspec_generators.table_files import TableFiles, metadata_action, protocol_action, write_table

ROOT = Path(__file__).parents[3]


def write_sound_table(place: Path) -> None:
    files = TableFiles()
    files.commits[0] = [protocol_action(1, 2), metadata_action([("id", "long")])]
    write_table(files, place)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the sound tables `eu/orders` and `us/orders`, and the broken table `us/items`."""
    for name in ("eu/orders", "us/orders"):
        write_sound_table(tmp_path / "lake" / name)
    broken = TableFiles()
    broken.commits[0] = [protocol_action(1, 2)]
    write_table(broken, tmp_path / "lake" / "us/items")
    (tmp_path / "lake" / "notes").mkdir()
    monkeypatch.chdir(tmp_path / "lake")
    return tmp_path / "lake"


@pytest.fixture
def without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validate in the test process, to save the start of workers."""
    monkeypatch.setattr(table_workers, "run_in_workers", lambda tasks, _, outages: run_tables(tasks, outages))


def get_verdicts(*arguments: object) -> dict[str, str]:
    summary = json.loads(run("validate", *arguments, "--format", "json").stdout)
    return {each["table"]: each["verdict"] for each in summary["tables"]}


class TestWorkers:
    def test_tables_are_validated_in_processes_and_summarized(self, lake: Path) -> None:
        result = run("validate", "us/*", "eu/orders", "gone", "--jobs", "2", "--report", "json:reports/")
        header, *rows = result.stdout[result.stdout.index("verdict ") :].splitlines()
        assert header.split() == ["verdict", "violations", "warnings", "divergences", "unchecked", "time", "table"]
        assert [(row.split()[0], row.split()[-1]) for row in rows[:4]] == [
            *(("violations", "us/items"), ("conforms", "us/orders"), ("conforms", "eu/orders")),
            ("unreadable", "gone"),
        ]
        assert rows[4] == "    no such file or directory"
        assert rows[5] == "4 tables: 2 conform, 1 unreadable, 1 with violations · exit 2"
        assert result.exit_code == 2
        assert result.stdout.count("table  ") == 1, "a table that conforms has only its row"
        reports = [json.loads(file.read_bytes()) for file in Path("reports").iterdir()]
        assert sorted(each["table"] for each in reports) == ["eu/orders", "us/items", "us/orders"]

    def test_process_that_ends_is_replaced(self, lake: Path) -> None:
        names = ("eu/orders", "us/items", "us/orders")
        tasks = [TableTask(name, name, {"output_format": "text"}) for name in names]
        ended = {}
        runs = run_in_workers(tasks, 1, Outages())
        for number, each in runs:
            ended[number] = each.result
            if number == 0:  # the only worker waits for its next table
                (worker,) = _list_children()
                os.kill(worker, signal.SIGKILL)
        assert [ended[number].verdict for number in range(3)] == ["conforms", "failed", "conforms"]
        assert ended[1].reason == "its process ended on signal 9; was there enough memory?"
        assert ended[1].exit_code == 4


def _list_children() -> list[int]:
    import multiprocessing

    return [child.pid for child in multiprocessing.active_children() if child.pid is not None]


@pytest.mark.usefixtures("without_workers")
class TestTables:
    def test_globs_and_links_name_each_table_once(self, lake: Path) -> None:
        (lake / "us" / "current").symlink_to(lake / "us" / "orders")
        everything = {"./eu/orders": "conforms", "./us/items": "violations", "./us/orders": "conforms"}
        assert get_verdicts("**") == get_verdicts("**/**/*") == everything
        assert get_verdicts(".", "*/*") == {".": "unreadable", **everything}
        assert get_verdicts(lake / "[eu]*/orders", "us/current", "eu/orders/") == {
            f"{lake}/eu/orders": "conforms",
            f"{lake}/us/orders": "conforms",
        }

    def test_list_in_a_file_has_comments(self, lake: Path) -> None:
        Path("tables.txt").write_text("# ours\n\n  eu/orders  \r\nus/item?\n")
        assert get_verdicts("--tables-from", "tables.txt") == {"eu/orders": "conforms", "us/items": "violations"}
        assert get_verdicts("us/orders", "--tables-from", "tables.txt").keys() == {
            *("us/orders", "eu/orders", "us/items")
        }

    def test_discovered_tables_can_be_validated(self, lake: Path) -> None:
        write_sound_table(lake / "odd\nname [1]")
        Path("tables.txt").write_text(run("discover", ".").stdout)
        assert get_verdicts("--tables-from", "tables.txt").keys() == {
            *("./eu/orders", "./us/items", "./us/orders", f"{lake}/odd\nname [1]")
        }

    def test_name_with_glob_characters_is_one_table(self, lake: Path) -> None:
        write_sound_table(lake / "day[1]")
        assert json.loads(run("validate", "day[1]", "--format", "json").stdout)["verdict"] == "conforms"

    def test_glob_without_tables(self, lake: Path) -> None:
        result = run("validate", "note*")
        assert (result.exit_code, single_error_line(result)) == (2, "deltaspec: note*: no table matches")
        summary = run("validate", "eu/orders", "note*", "/nonexistent/*/x")
        assert summary.exit_code == 2
        assert "    no table matches" in summary.stdout
        assert "    /nonexistent: no such file or directory" in summary.stdout

    def test_exit_code_is_that_of_the_worst_table(self, lake: Path) -> None:
        missing = TableFiles()
        missing.commits[1] = [protocol_action(1, 2)]
        write_table(missing, lake / "incomplete")
        assert run("validate", "eu/orders", "us/orders").exit_code == 0
        assert run("validate", "eu/orders", "us/items").exit_code == 1
        assert run("validate", "eu/orders", "us/items", "--exit-zero").exit_code == 0
        assert run("validate", "eu/orders", "us/items", "gone", "--exit-zero").exit_code == 2

    def test_defect_in_one_table_does_not_stop_the_others(self, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import deltaspec.validation.run

        original = deltaspec.validation.run.run_embedded

        def fail(uri: str, *rest: Any) -> Any:
            if uri == "us/items":
                raise ZeroDivisionError("no")
            return original(uri, *rest)

        monkeypatch.setattr(deltaspec.validation.run, "run_embedded", fail)
        result = run("validate", "us/items", "eu/orders")
        assert result.exit_code == 4
        assert "    bug in deltaspec: ZeroDivisionError: no; details in " in result.stdout
        assert result.stdout.endswith("2 tables: 1 conforms, 1 failed · exit 4\n")

    def test_interrupt_prints_the_summary_of_what_ended(self, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def stop(tasks: Any, _: int, outages: Outages) -> Any:
            yield next(run_tables(tasks, outages))
            raise KeyboardInterrupt

        monkeypatch.setattr(table_workers, "run_in_workers", stop)
        result = run("validate", "eu/orders", "us/items")
        assert (result.exit_code, result.stderr) == (130, "deltaspec: interrupted\n")
        assert result.stdout.endswith("2 tables: 1 conforms, 1 not run · exit 130\n")


@pytest.mark.usefixtures("without_workers")
class TestOutput:
    def test_summary_matches_its_schema(self, lake: Path) -> None:
        result = run("validate", "us/*", "gone", "--format", "json", "--report", "junit:out/{table}/r.xml")
        summary = json.loads(result.stdout)
        Draft202012Validator(build_tables_schema()).validate(summary)
        first, _, gone = summary["tables"]
        assert (summary["tables_version"], summary["exit_code"], result.exit_code) == (1, 2, 2)
        assert (first["verdict"], first["version"], first["level"]) == ("violations", 0, "files")
        assert first["counts"]["violation"] == 1
        assert first["reports"] == [f"out/{build_table_name('us/items')}/r.xml"]
        assert Path(first["reports"][0]).is_file()
        assert (gone["verdict"], gone["reason"]) == ("unreadable", "no such file or directory")
        assert (gone["version"], gone["reports"]) == (None, [])

    def test_published_schema_is_up_to_date(self) -> None:
        assert (ROOT / "reports" / "tables.schema.json").read_text("utf-8") == render_tables_schema()
        assert run("schema", "tables").stdout == render_tables_schema()

    def test_summary_in_a_file(self, lake: Path) -> None:
        result = run("validate", "us/*", "--output", "summary.txt", "-q")
        assert (result.stdout, result.stderr) == ("", "")
        assert Path("summary.txt").read_text().endswith("2 tables: 1 conforms, 1 with violations · exit 1\n")
        result = run("validate", "us/*", "--output", "summary.json", "--format", "json")
        assert (result.stdout, result.stderr) == (
            "",
            "2 tables: 1 conforms, 1 with violations · exit 1 · summary in summary.json\n",
        )

    def test_quiet_prints_only_the_summary(self, lake: Path) -> None:
        assert run("validate", "us/*", "-q").stdout.startswith("verdict ")

    def test_sections_of_the_configuration_apply_to_their_tables(self, lake: Path) -> None:
        Path("deltaspec.toml").write_text('level = "log"\nquiet = true\n[tables."*/us/*"]\nlevel = "rows"\n')
        summary = json.loads(run("validate", "us/orders", "eu/orders", "--format", "json").stdout)
        assert [each["level"] for each in summary["tables"]] == ["rows", "log"]
        assert run("validate", "us/*").stdout.startswith("verdict ")

    def test_findings_of_each_table_go_to_a_file_of_its_own(self, lake: Path) -> None:
        assert run("validate", "us/*", "--findings-out", "{table}.parquet").exit_code == 1
        assert len(list(lake.glob("us.*-????????????.parquet"))) == 2

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--report", "json:x.json"], "--report json:x.json: names one file for several tables; write a path with"),
            (["--report", "json"], "--report json: names one file for several tables"),
            (["--report", "jsn:{table}"], "unknown report format 'jsn' (did you mean json?)"),
            (["--report", "json:{table}", "--report", "junit:./{table}"], "two reports go to ./us.items-"),
            (["--report", "json:us/items/{table}"], "us/items/us.items-"),
            (["--findings-out", "x.parquet"], "--findings-out x.parquet: names one place for several tables"),
            (["--state", "x"], "--state x: names one place for several tables; write a path with {table}"),
            (["--format", "sarif"], "the summary of several tables supports only: text, json; for a report of each"),
            (["-q", "-v"], "--verbose cannot be combined with --quiet"),
            (["--estimate", "--report", "json:{table}"], "--estimate cannot be combined with --report"),
            (["--estimate", "--format", "sarif"], "the summary of several tables supports only: text, json"),
            (["--select", "NONE1"], "unknown rule 'NONE1'"),
            (["--tables-from", "nothing"], "--tables-from nothing: cannot be read: No such file or directory"),
            (["--tables-from", "."], "--tables-from .: cannot be read: Is a directory"),
            (["--tables-from", "/dev/null"], "--tables-from /dev/null: names no table; write one location per line"),
            (["s3://*/orders"], "s3://*/orders: a glob cannot choose a bucket or host; name it"),
            (["xx://lake/*"], "xx://lake/*: no storage for scheme 'xx'"),
        ],
    )
    def test_invalid_request_is_refused_before_the_run(self, options: list[str], message: str, lake: Path) -> None:
        result = run("validate", "us/*", *options)
        assert result.exit_code == 2
        assert single_error_line(result).startswith(f"deltaspec: {message}")
        assert sorted(each.name for each in lake.iterdir()) == ["eu", "notes", "us"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                ["--findings-out", "file/{table}.parquet"],
                "file/us.items-{}.parquet: cannot be written: {}/file is",
            ),
            (["--state", "file/{table}"], "file/us.items-{}: cannot be written: {}/file is not a directory"),
            (["--report", "json:file/{table}"], "file/us.items-{}: cannot be written: {}/file is not a directory"),
            (
                ["--findings-out", "shut/{table}"],
                "shut/us.items-{}: cannot be written: no permission to create",
            ),
            (
                ["--report", "json:shut/{table}"],
                "shut/us.items-{}: cannot be written: no permission to create",
            ),
            (["--state", "shut/{table}"], "shut/us.items-{}: cannot be written: no permission to create"),
            (["--state", "shut/more/{table}"], "shut/more/us.items-{}: cannot be written: Permission denied"),
            (["--findings-out", "eu/orders/{table}"], "eu/orders/us.items-{}: is in a table, where deltaspec does not"),
            (["--state", "eu/orders/{table}"], "eu/orders/us.items-{}: is in a table, where deltaspec does not write"),
        ],
    )
    def test_wrong_place_is_refused_once_before_the_first_table(
        self, options: list[str], message: str, lake: Path
    ) -> None:
        Path("file").touch()
        Path("shut").mkdir(mode=0o555)
        done = run_with_permissions(lake, "validate", "us/*", *options)
        name = build_table_name("us/items").rpartition("-")[2]
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"deltaspec: {message.format(name, lake)}")
        assert list(Path("shut").iterdir()) == []

    def test_missing_directories_are_created(self, lake: Path) -> None:
        assert run("validate", "us/*", "--findings-out", "new/f/{table}.parquet").exit_code == 1
        assert len(list(lake.glob("new/f/us.*.parquet"))) == 2
        assert run("validate", "us/*", "--state", "new/s/{table}").exit_code == 1
        assert len(list(lake.glob("new/s/us.*/key.json"))) == 2


class TestOneTable:
    """`{table}` with one literal table."""

    def test_nightly_command_of_the_readme_works_for_one_table(self, lake: Path) -> None:
        nightly = ("us/orders", "--since", "reports/{table}.json", "--report", "json:reports/{table}.json")
        name = build_table_name("us/orders")
        for is_first in (True, False):
            result = run("validate", *nightly)
            assert result.exit_code == 0, f"{is_first=}"
            assert f"report in reports/{name}.json" in result.stderr, f"{is_first=}"
            report = json.loads((lake / f"reports/{name}.json").read_bytes())
            assert (report["since"] is None) == is_first
        assert run("validate", "us/*", "--tables-from", "/dev/null").exit_code == 2
        again = run("validate", "us/order[s]", *nightly[1:])
        assert (again.exit_code, os.listdir("reports")) == (0, [f"{name}.json"])

    def test_every_option_takes_the_name(self, lake: Path) -> None:
        name = build_table_name("us/items")
        options = ("--output", "a/{table}.txt", "--findings-out", "b/{table}", "--report", "junit:c/{table}.xml")
        assert run("validate", "us/items", *options).exit_code == 1
        assert run("validate", "us/items", "--state", "d/{table}").exit_code == 1
        for each in (f"a/{name}.txt", f"b/{name}", f"c/{name}.xml", f"d/{name}/key.json"):
            assert (lake / each).stat().st_size > 0
        assert run("validate", "us/items", "--since", "{table}.json", "--level", "log").exit_code == 1

    def test_wrong_place_is_refused(self, lake: Path) -> None:
        for option in ("--findings-out", "--state", "--output"):
            result = run("validate", "us/items", option, "eu/orders/{table}")
            assert (result.exit_code, "is in a table" in single_error_line(result)) == (2, True), f"{option=}"
        result = run("validate", "us/items", "--report", "json:a/{table}", "--output", "a/{table}")
        assert single_error_line(result).startswith("deltaspec: two reports go to a/us.items-")


class TestNames:
    def test_name_of_a_table_is_readable_and_the_same_in_every_run(self) -> None:
        name = build_table_name("s3://lake/sales/orders")
        assert name == build_table_name("s3a://lake/sales//orders/") == "sales.orders-3aa15758b8b5"

    def test_no_two_tables_have_the_same_name(self) -> None:
        locations = [
            "s3://a/b/c",
            "s3://x/b/c",
            "s3://a/b.c",
            "s3://a/b_c",
            "gs://a/b/c",
            "b/c",
            "b.c",
            "b/C",
            "b/ c",
            "/",
        ]
        assert len({build_table_name(each).casefold() for each in locations}) == len(locations)

    @pytest.mark.parametrize("location", ["../..", "s3://lake/ü/" + "x" * 500, "/\udcff", "s3://l/..;rm -rf", "a\nb"])
    def test_name_is_one_safe_folder(self, location: str) -> None:
        name = build_table_name(location)
        assert re.fullmatch(r"[A-Za-z0-9_=][A-Za-z0-9._=-]{,99}", name)
