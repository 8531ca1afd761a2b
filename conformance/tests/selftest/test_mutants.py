"""Every mutant is described, covers its requirements, and is killed by the table that the report names."""

import tempfile
from pathlib import Path

import msgspec
import pytest
from helpers.selection import is_selected

from deltaspec.candidates.in_process import InProcess
from deltaspec.requirements import load_requirements
from deltaspec.selftest.all_mutants import MUTANTS, READER_MODULES, WRITER_MODULES
from deltaspec.selftest.kill_table import KillTable
from deltaspec.selftest.races import RACE, RaceTrack
from deltaspec.selftest.runner import Referee, catch, get_kind
from deltaspec.suites.coverage import list_tested_requirements
from deltaspec.suites.subjects import build_subject

REPORT = Path(__file__).parents[3] / "reports" / "selftest.json"
PARTS = 8
"""Number of shares of the mutants, of which a run kills one."""
SOURCES = ("conformance/deltaspec/selftest/runner.py", "conformance/deltaspec/selftest/mutants.py")
WITHOUT_MUTANT = {
    "variant-shredding.both-read": "the reference does not declare the feature, so no fault of it shows",
    "deletion-vectors.offset-absent": "the reading is that no vector is found, so a reader can only refuse",
}
"""Requirements of readers that the suites test and no mutant breaks, with the reason."""


def load_report() -> KillTable:
    return msgspec.json.decode(REPORT.read_bytes(), type=KillTable)


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_described(name: str) -> None:
    mutant = MUTANTS[name]
    assert mutant.title.endswith(".")
    assert len(mutant.title) < 120
    assert mutant.suites
    assert mutant.requires
    assert set(mutant.requires) <= set(load_requirements())


def test_every_tested_requirement_of_readers_has_a_mutant() -> None:
    requirements = load_requirements()
    of_readers = {
        name
        for name in list_tested_requirements()
        if requirements[name].actor == "reader" and requirements[name].check == "behaviour"
    }
    broken = {requirement for mutant in MUTANTS.values() for requirement in mutant.requires}
    assert sorted(of_readers - broken) == sorted(WITHOUT_MUTANT)


def test_modules_are_listed_once() -> None:
    modules = (*READER_MODULES, *WRITER_MODULES)
    assert len(set(modules)) == len(modules)


def test_report_names_no_other_mutants() -> None:
    assert {row.mutant for row in load_report().rows} <= set(MUTANTS), "run `nox -s selftest`"


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_killed(name: str) -> None:
    mutant = MUTANTS[name]
    module = f"conformance/{mutant.module.replace('.', '/')}.py"
    if not is_selected(name, PARTS, (*SOURCES, module)):
        pytest.skip("not in the share of this commit")
    row = next((each for each in load_report().rows if each.mutant == name), None)
    if row is None or row.table is None:
        pytest.skip("the report has no table that kills it; run `nox -s selftest`")
    with tempfile.TemporaryDirectory() as directory:
        if get_kind(row.table) == RACE:
            kill = RaceTrack(Path(directory) / "bases").catch(mutant, row.table, Path(directory) / "race")
            messages = [] if kill is None else [kill.message]
        else:
            subject = build_subject(row.table, Path(directory) / "subject")
            found = catch(mutant, InProcess(mutant.build()), subject, Referee().confirm, only_its_suites=True)
            messages = [each.message.partition("\n")[0] for each in found]
    assert messages, f"{name} survives {row.table}"
    assert "internal" not in messages[0], "the mutant crashes instead of answering wrongly"
