"""Engines are asked about large golden tables, and a wrong answer is noticed."""

import json
from pathlib import Path

import msgspec
import pytest

from deltaspec.candidates.registry import ADAPTERS, find_missing_requirement
from deltaspec.golden.scale.options import parse_scale
from golden_clients.scale import CASES, REPORTS, Measured, ScaleReport, measure, render
from golden_clients.scale_engines import BUILD, ENGINES, ask

SIZES = "rows=300,files=5,columns=5,deleted=60,depth=2"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("scale") / "case"
    assert ask(BUILD, f"{SIZES}@{directory}")[0] == []
    return directory


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_answers(engine: str, case: Path) -> None:
    if engine == "kernel-rs" and (reason := find_missing_requirement(ADAPTERS["kernel_rust"])):
        pytest.skip(reason)
    problems, megabytes = ask(engine, str(case))
    assert problems == []
    assert megabytes > 5


def test_wrong_answers_are_noticed(case: Path) -> None:
    path = case / "specs-x/aggregates.json"
    content = path.read_bytes()
    document = json.loads(content)
    document["expected"]["rows"] += 1
    document["expected"]["columns"]["c0"]["sum"] -= 1
    path.write_text(json.dumps(document))
    problems, _ = ask("delta-rs", str(case))
    path.write_bytes(content)
    assert [problem.partition(" is ")[0] for problem in problems] == ["240 rows instead of 241", "sum(c0)"]


def test_a_process_that_fails_is_reported() -> None:
    found = measure("DuckDB", "/nothing")
    assert "/nothing" in found.problem
    assert found.megabytes > 20


def test_time_and_memory_are_measured(case: Path) -> None:
    found = measure("delta-rs", str(case))
    assert found.problem == ""
    assert 50 < found.megabytes < 1000
    assert 0 < found.seconds < 60


def test_the_page_is_rendered_from_the_report() -> None:
    report = msgspec.json.decode((REPORTS / "scale.json").read_bytes(), type=ScaleReport)
    assert (REPORTS / "scale.md").read_text("utf-8") == render(report)
    assert list(report.cases) == list(CASES)
    assert [name for name, sizes in CASES.items() if parse_scale(sizes).rows < 1] == []


def test_problems_are_below_the_table() -> None:
    measured = {
        BUILD: Measured(1.0, 50),
        "delta-rs": Measured(2.0, 60, "1 rows instead of 2"),
        "DuckDB": Measured(1, 1),
    }
    page = render(ScaleReport("2 CPUs", {}, {"deep nesting": measured}))
    assert "| 1.0 s, 50 MB | 2.0 s, 60 MB (wrong) |" in page
    assert "- deep nesting, delta-rs: 1 rows instead of 2" in page
