"""The runner kills mutants, reports survivors, and blames the reference where the reference fails."""

import json
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from deltaspec.candidates.reference.engine import Engine
from deltaspec.cli import main
from deltaspec.selftest import runner
from deltaspec.selftest.all_mutants import MUTANTS
from deltaspec.selftest.kill_table import build_kill_table, render_markdown, render_text
from deltaspec.selftest.mutants import Mutant
from deltaspec.selftest.runner import MutantResult, ReferenceFails, is_drawn, list_tables, run_mutants
from deltaspec.suites.subjects import Corpus

WITHOUT_FAULT = Mutant("none.no-fault", "Does everything right.", (), ("refuse", "read"), None, __name__, Engine)
CHECKS_NO_VERSION = "refusals.reader-version-not-checked"


def test_drawn_tables_come_first() -> None:
    tables = list_tables(Corpus(1, 2))
    assert [is_drawn(each) for each in tables[:3]] == [True, True, False]


def test_engine_without_fault_survives() -> None:
    assert list(run_mutants([WITHOUT_FAULT], ["drawn.1.0", "broken.commit-gap"])) == [
        MutantResult("none.no-fault", None)
    ]


def test_kill_says_after_how_many_drawn_tables() -> None:
    mutant = MUTANTS["reconciliation.removes-ignored"]
    (result,) = run_mutants([mutant], [f"drawn.1.{number}" for number in range(20)])
    assert result.kill is not None
    assert result.kill.table == f"drawn.1.{(result.kill.tables or 0) - 1}"
    assert result.kill.suites[0] in mutant.suites


def test_failure_of_the_reference_kills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[CHECKS_NO_VERSION]
    monkeypatch.setattr(runner, "Engine", mutant.build)
    with pytest.raises(ReferenceFails, match=r"broken\.reader-version-4"):
        list(run_mutants([mutant], ["broken.reader-version-4"]))


@pytest.mark.parametrize(("is_stopped", "is_alive", "kills"), [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_process_ends_its_share_if_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, is_stopped: bool, is_alive: bool, kills: int
) -> None:
    context = get_context("spawn")
    queue, stop = context.SimpleQueue(), context.Event()
    if is_stopped:
        stop.set()
    monkeypatch.setattr(runner, "result_queue", (queue, stop))
    monkeypatch.setattr(runner, "parent_process", lambda: SimpleNamespace(is_alive=lambda: is_alive))
    runner.run_share([CHECKS_NO_VERSION], ["broken.reader-version-4"])
    assert (not queue.empty()) == bool(kills)


def test_processes_are_stopped_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stops: list[Any] = []

    class Pool(ThreadPoolExecutor):
        """A pool whose only share fails."""

        def __init__(self, jobs: int, context: object, initializer: object, initargs: tuple[object, Any]) -> None:
            super().__init__(jobs)
            stops.append(initargs[1])

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(runner, "run_share", fail)
    with pytest.raises(KeyboardInterrupt):
        runner.run_in_processes([CHECKS_NO_VERSION], [], 1, lambda _: None)
    assert [stop.is_set() for stop in stops] == [True]


def test_report_names_survivors() -> None:
    table = build_kill_table([MutantResult(CHECKS_NO_VERSION, None)], seed=1, tables=3)
    for text in (render_text(table), render_markdown(table)):
        assert text.endswith("0 of 1 killed\n")
        assert f"survived: {CHECKS_NO_VERSION}" in text


def test_command_prints_the_kill_table() -> None:
    done = CliRunner().invoke(
        main,
        ["selftest", "--mutants", CHECKS_NO_VERSION, "--tables", "0", "--no-golden", "--jobs", "1", "--format", "json"],
    )
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)["rows"]
    assert row["table"] == "broken.reader-version-4"
    assert row["suites"] == ["refuse"]


def test_command_rejects_a_pattern_without_mutants() -> None:
    done = CliRunner().invoke(main, ["selftest", "--mutants", "nothing"])
    assert done.exit_code == 2
