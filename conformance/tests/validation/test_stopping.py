"""Runs that stop: the ledger has everything that they did not decide."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from helpers.backends import list_backend
from helpers.cli import run, single_error_line
from helpers.resume_table import OPTIONS, build_full_table
from msgspec.structs import replace

import deltaspec
from deltaspec.errors import InvalidUsage
from deltaspec.report.report_types import Report
from deltaspec.rules import RULES
from deltaspec.validation import run as validate_run
from deltaspec.validation.describe.table_description import describe_table
from deltaspec.validation.ledger import find_unused_rules
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.run import run_embedded
from deltaspec.validation.stopping import Budget, RunStopped, parse_budget
from deltaspec_generators.table_files import write_table


class StepClock:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.seconds = -1.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


def make_budget(steps: int) -> Budget:
    """Return a budget that is used after some steps of a run."""
    return Budget("30m", steps, StepClock())


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stopping") / "table"
    write_table(build_full_table(), root)
    return root


@pytest.fixture(scope="module")
def complete(table: Path) -> Report:
    return deltaspec.validate(str(table), **OPTIONS)


def assert_undecided_rules_are_listed(stopped: Report, complete: Report) -> None:
    undecided = stopped.checked.undecided_rules
    different = {
        code
        for code in {*stopped.totals, *complete.totals}
        if stopped.totals.get(code) != complete.totals.get(code) and code not in undecided
    }
    assert not different
    not_run = set(complete.checked.run) - set(stopped.checked.run) - undecided
    supported = {each.name for each in describe_table(complete.table).features}
    assert not not_run - find_unused_rules(not_run, supported)
    for code in stopped.totals:
        assert stopped.totals[code] <= complete.totals.get(code, 0), "a partial run finds nothing else"


def list_stopped_reports(validate: Callable[[Budget], Report]) -> Iterator[Report]:
    """Yield the reports of runs with more and more time, up to the first that ends."""
    for steps in range(0, 1000, 2):
        report = validate(make_budget(steps))
        if report.stopped is None:
            return
        yield report
    raise AssertionError("the run never ends")


@pytest.fixture(scope="module")
def reports(table: Path) -> list[Report]:
    """Reports of runs that stop after more and more steps."""
    options = Options.create(**OPTIONS)
    return list(list_stopped_reports(lambda each: run_embedded(str(table), options, RunSettings(budget=each))))


def test_everything_that_is_not_decided_is_in_the_ledger(reports: list[Report], complete: Report) -> None:
    assert len(reports) > 5
    for report in reports:
        assert report.stopped == "the budget of 30m was used"
        assert report.verdict in ("incomplete", "violations")
        assert "the budget of 30m was used" in {each.reason for each in report.checked.not_checked}
        assert_undecided_rules_are_listed(report, complete)
    levels = [{each.level for each in report.findings} for report in reports]
    assert levels[0] == set()
    assert "rows" not in levels[0] | levels[1]
    assert any(found >= {"log", "files", "footers"} for found in levels), "levels are checked in their order"


def test_footers_are_decided_once_rows_are_read(reports: list[Report], complete: Report) -> None:
    last = reports[-1]
    footers = [code for code in complete.checked.run if RULES[code].level == "footers"]
    assert footers
    left_out = {each.rule for each in last.checked.not_checked if each.reason == last.stopped}
    assert left_out
    assert not left_out & set(footers)


def test_stopped_run_can_be_resumed(
    table: Path, complete: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validate_run, "SPILLED_BUCKETS", 3)
    options, steps = Options.create(**OPTIONS), count(3, 4)
    settings = RunSettings(state=str(tmp_path / "state"), resume=True)

    def resume(_: Budget) -> Report:
        return run_embedded(str(table), options, replace(settings, budget=make_budget(next(steps))))

    stops = 0
    for report in list_stopped_reports(resume):
        assert_undecided_rules_are_listed(report, complete)
        stops += 1
    assert stops >= 2
    last = run_embedded(str(table), options, replace(settings, resume=True))
    assert msgspec.json.encode(last) == msgspec.json.encode(complete)


def test_executors_stop_between_buckets(table: Path, complete: Report) -> None:
    options = Options.create(**OPTIONS)
    reports = [list_backend(3, seed=1, budget=make_budget(steps))(str(table), options) for steps in (0, 1, 2, 200)]
    for report in reports:
        assert_undecided_rules_are_listed(report, complete)
    stopped = "the budget of 30m was used"
    assert [report.stopped for report in reports] == [stopped, stopped, stopped, None]
    assert [
        report for report in reports[:3] if stopped not in {each.reason for each in report.checked.not_checked}
    ] == []


def test_interrupt_gives_a_partial_report(table: Path, complete: Report) -> None:
    def interrupt(phase: str, done: int, total: int | None) -> None:
        if phase == "rows":
            raise KeyboardInterrupt

    options = Options.create(**OPTIONS)
    settings = RunSettings(interrupt, interrupts={KeyboardInterrupt: "interrupted"})
    report = run_embedded(str(table), options, settings)
    assert report.stopped == "interrupted"
    assert report.findings
    assert_undecided_rules_are_listed(report, complete)
    with pytest.raises(KeyboardInterrupt):
        deltaspec.validate(str(table), progress=interrupt, **OPTIONS)


def test_command_says_how_to_resume(table: Path, tmp_path: Path) -> None:
    def validate(*arguments: str) -> Any:
        return run("validate", str(table), "--level", "log", "--format", "json", *arguments)

    result = validate("--budget", "1s")
    assert json.loads(result.stdout)["stopped"] is None
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("deltaspec.validation.request.parse_budget", lambda _: make_budget(1))
        state = tmp_path / "my state"
        stopped = validate("--budget", "30m", "--state", str(state))
        assert json.loads(stopped.stdout)["stopped"] == "the budget of 30m was used"
        assert stopped.exit_code == 3
        assert stopped.stderr == (
            "deltaspec: the budget of 30m was used; the report is partial; "
            f"to continue, run the same command with --state '{state}' --resume\n"
        )
    resumed = validate("--state", str(state), "--resume")
    assert json.loads(resumed.stdout) == json.loads(result.stdout)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("30m", 1800), ("90s", 90), ("1h30m", 5400), ("2h1m5s", 7265), (7, 7), (0.5, 0.5), (timedelta(minutes=2), 120)],
)
def test_durations(value: str | float | timedelta, seconds: float) -> None:
    budget = parse_budget(value, lambda: 1000.0)
    assert budget is not None
    assert budget.end == 1000 + seconds


@pytest.mark.parametrize("value", ["", "30", "m", "0m", -1, 0, "1d", "30 m", True, float("nan"), float("inf"), "-5m"])
def test_other_durations_are_refused(value: Any) -> None:
    with pytest.raises(InvalidUsage, match="write a duration above 0 such as 30m, 90s or 1h30m"):
        parse_budget(value)


def test_command_refuses_other_durations(table: Path) -> None:
    error = single_error_line(run("validate", str(table), "--budget", "soon"))
    assert error == "deltaspec: invalid budget 'soon'; write a duration above 0 such as 30m, 90s or 1h30m"


def test_end_of_a_phase_does_not_stop() -> None:
    budget = make_budget(0)
    progress = budget.limit(lambda *_: None)
    progress("rows", 5, 5)
    with pytest.raises(RunStopped, match="the budget of 30m was used"):
        progress("rows", 4, 5)


def test_rows_that_were_read_before_the_stop_are_checked(tmp_path: Path) -> None:
    """The backend evaluates a batch of file actions while it reads the next one."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in range(210):
        actions: list[dict[str, Any]] = []
        if version == 0:
            actions.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})
        if version in (0, 100):  # a batch ends where the state changes
            field = {"name": f"c{version}", "type": "long", "nullable": True, "metadata": {}}
            schema = {"type": "struct", "fields": [field]}
            metadata = {"id": "t", "format": {"provider": "parquet", "options": {}}, "partitionColumns": []}
            metadata |= {"schemaString": json.dumps(schema), "configuration": {}}
            actions.append({"metaData": metadata})
        add = {"path": f"{version}.parquet", "partitionValues": {}, "size": -1 if version == 3 else 1}
        actions.append({"add": {**add, "modificationTime": 1, "dataChange": True}})
        lines = "\n".join(json.dumps(action) for action in actions)
        (log / f"{version:020}.json").write_text(lines + "\n", encoding="utf-8")

    def stop(phase: str, done: int, _: int | None) -> None:
        if phase == "commits" and done == 200:
            raise RunStopped("the budget of 1s was used")

    report = deltaspec.validate(str(tmp_path), level="log", progress=stop)
    assert report.stopped is not None
    assert report.totals.get("FIL011") == 1
