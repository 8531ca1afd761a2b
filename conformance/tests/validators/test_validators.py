"""Cases for validators, and the comparison with other tools."""

import json
import os
import shutil
import sys
from pathlib import Path

import msgspec
import pytest
from validators.cases import find_twin, identify, validate, write_cases
from validators.compare import JSON, PAGE, Answer, Comparison, compare, judge, render
from validators.tools import TOOLS, ask_all

import deltaspec
from deltaspec.golden.case_format import CaseDocument
from planted_tables.faults.all_faults import PLANTED_FAULTS

NAMES = ["partition_value_absent", "checksum_file_count", "line_cut_short"]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("validators") / "cases"
    assert write_cases(directory, NAMES) == 3
    return directory


def test_a_case_names_requirement_place_and_harm(cases: Path) -> None:
    folder = cases / "checksum/checksum.num-files.checksum-file-count"
    document = msgspec.json.decode((folder / "case.json").read_bytes(), type=CaseDocument)
    expect = document.expect
    assert (expect.kind, expect.requirement, expect.severity) == ("violation", "checksum.num-files", "violation")
    assert [each.file for each in expect.where] == ["_delta_log/00000000000000000002.crc"]
    assert expect.harm == "The checksum or the log is wrong. If the log is wrong, readers return wrong rows."
    assert document.anchors[0].section == "Version Checksum File"


def test_the_broken_table_violates_and_its_twin_conforms(cases: Path) -> None:
    found = {}
    for path in sorted(cases.rglob("case.json")):
        document = json.loads(path.read_bytes())
        totals = [deltaspec.validate(str(path.parent / each), level="log", history="latest").totals
                  for each in ("delta", "twin")]  # fmt: skip
        found[document["id"]] = [bool(each) for each in totals]
    assert found == {identify(PLANTED_FAULTS[name]): [True, False] for name in NAMES}


def test_a_twin_is_sound_at_the_level_of_the_fault() -> None:
    fault = PLANTED_FAULTS["partition_value_absent"]
    twin = find_twin(fault.name)
    assert twin is not None
    assert validate(twin, fault).totals == {}


@pytest.mark.parametrize(
    ("broken", "twin", "expected"),
    [
        (["file: a.parquet"], [], Answer("found", "file: a.parquet")),
        ([], None, Answer("nothing")),
        (["no hint: x", "gap: /c/delta/x"], ["no hint: y"], Answer("found", "gap: …/x")),
        (["file: a.parquet"], ["file: b.parquet"], Answer("nothing")),
        (["failed: x"], ["file: b.parquet"], Answer("found", "failed: x")),
        (["state: error"], ["state: other error"], Answer("undecided")),
        (["state: error"], ["rows: no file"], Answer("found", "state: error")),
        (["rows: error"], ["rows: no file"], Answer("nothing")),
        (["rows: error"], [], Answer("found", "rows: error")),
        (["rows: error"], None, Answer("undecided")),
    ],
)  # fmt: skip
def test_only_what_the_twin_does_not_have_counts(broken: list[str], twin: list[str] | None, expected: Answer) -> None:
    assert judge(broken, twin, Path("/c")) == expected


def test_a_missing_data_file_is_found_by_repair_and_by_the_reader(cases: Path, tmp_path: Path) -> None:
    table = Path(__file__).parents[3] / "golden-tables/log/log.append-remove/delta"
    folder = tmp_path / "case"
    shutil.copytree(cases / "checksum/checksum.num-files.checksum-file-count", folder)
    for name in ("delta", "twin"):
        shutil.rmtree(folder / name)
        shutil.copytree(table, folder / name)
    for path in (folder / "delta").glob("*.parquet"):
        path.unlink()
    found = compare(tmp_path, ["repair", "delta-rs"])
    assert {tool: each.outcome for answers in [found.answers] for tool, by_case in answers.items()
            for each in by_case.values()} == {"repair": "found", "delta-rs": "found"}  # fmt: skip
    assert "| **all** | 1 | **1** | **1** |" in render(found)


def test_a_tool_that_dies_is_started_again(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nprint('ready')\nprint('[]')\nraise SystemExit(3)\n")
    os.chmod(python, 0o755)
    answers = ask_all("repair", [Path("a"), Path("b"), Path("c")], str(python))
    assert answers == [[], ["the process died with exit code 3"], []]


def test_the_page_is_rendered_from_the_answers() -> None:
    found = msgspec.json.decode(JSON.read_bytes(), type=Comparison)
    assert PAGE.read_text("utf-8") == render(found)
    assert set(found.answers) <= set(TOOLS)
    assert set(found.severities) <= {identify(each) for each in PLANTED_FAULTS.values()}
