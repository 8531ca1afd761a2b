"""Every mutant is described, covers its requirements, and is killed by the table that the report names."""

import tempfile
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from deltaspec.candidates.in_process import InProcess
from deltaspec.requirements import load_requirements
from deltaspec.selftest.all_mutants import MUTANTS, READER_MODULES, WRITER_MODULES
from deltaspec.selftest.kill_table import KillTable
from deltaspec.selftest.races import RACE, RaceTrack
from deltaspec.selftest.runner import Referee, catch, get_kind
from deltaspec.suites.coverage import GOLDEN_ONLY, list_tested_requirements
from deltaspec.suites.subjects import build_subject
from deltaspec_generators.histories.plain_table import Forbidden, PlainTable, perform
from deltaspec_generators.histories.written import WRITTEN_HISTORIES

REPORT = Path(__file__).parents[3] / "reports" / "selftest.json"
WITHOUT_MUTANT = {
    "variant-shredding.both-read": "the reference does not declare the feature, so no fault of it shows",
    "deletion-vectors.offset-absent": "the reading is that no vector is found, so a reader can only refuse",
}
"""Requirements of readers that the suites test and no mutant breaks, with the reason."""
BUGS_WITHOUT_MUTANT = files("deltaspec.selftest") / "bugs_without_mutant.toml"


REFEREE = Referee()
"""For all tests of this process: many mutants die of the same table."""


@cache
def load_killers() -> dict[str, str | None]:
    """Return the table that kills each mutant, by the report; None without one."""
    return {row.mutant: row.table for row in msgspec.json.decode(REPORT.read_bytes(), type=KillTable).rows}


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
        for name in list_tested_requirements().keys() - GOLDEN_ONLY.keys()
        if requirements[name].actor == "reader" and requirements[name].check == "behaviour"
    }
    broken = {requirement for mutant in MUTANTS.values() for requirement in mutant.requires}
    assert sorted(of_readers - broken) == sorted(WITHOUT_MUTANT)


def test_every_requirement_of_writers_that_a_history_forbids_has_a_mutant() -> None:
    forbidden = set()
    for build in WRITTEN_HISTORIES.values():
        past: list[PlainTable | None] = []
        for step in build():
            found = perform(past[-1] if past else None, step.operation, step.commit, past)
            if isinstance(found, Forbidden):
                forbidden.add(found.requirement)
            past.append(past[-1] if isinstance(found, Forbidden) else found.table)
    broken = {requirement for mutant in MUTANTS.values() for requirement in mutant.requires}
    assert {"append-only.no-removal", "check-constraints.rows-checked"} <= forbidden
    assert forbidden - broken == {"check-constraints.rows"}, "a table with such rows breaks it, not a writer"


def test_bugs_have_either_a_mutant_or_a_reason() -> None:
    reasons = tomllib.loads(BUGS_WITHOUT_MUTANT.read_text())
    assert {key: reason for key, reason in reasons.items() if not reason.endswith(".")} == {}
    assert not set(reasons) & {mutant.origin for mutant in MUTANTS.values()}
    assert list(reasons) == sorted(reasons)


def test_modules_are_listed_once() -> None:
    modules = (*READER_MODULES, *WRITER_MODULES)
    assert len(set(modules)) == len(modules)


def test_report_names_no_other_mutants() -> None:
    assert load_killers().keys() <= MUTANTS.keys(), "run `nox -s selftest`"


@pytest.mark.slow("conformance/deltaspec/selftest")
@pytest.mark.parametrize("name", sorted(MUTANTS, key=lambda name: load_killers().get(name) or ""))
def test_mutant_is_killed(name: str) -> None:
    mutant, table = MUTANTS[name], load_killers().get(name)
    if table is None:
        pytest.skip("the report has no table that kills it; run `nox -s selftest`")
    with tempfile.TemporaryDirectory() as directory:
        if get_kind(table) == RACE:
            kill = RaceTrack(Path(directory) / "bases").catch(mutant, table, Path(directory) / "race")
            messages = [] if kill is None else [kill.message]
        else:
            subject = build_subject(table, Path(directory) / "subject")
            found = catch(mutant, InProcess(mutant.build()), subject, REFEREE.confirm, only_its_suites=True)
            messages = [each.message.partition("\n")[0] for each in found]
    assert messages, f"{name} survives {table}"
    crashed = messages[0].startswith("refused: internal") or "the table allows: internal" in messages[0]
    assert not crashed, "the mutant crashes instead of answering wrongly"
