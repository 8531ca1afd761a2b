"""Commands `deltaspec requirements` and `deltaspec explain REQUIREMENT`."""

import json
import subprocess
import sys
from typing import Any

import pytest
from helpers.cli import run

from deltaspec.golden.coverage import compute_coverage
from deltaspec.requirements import REVISIONS, load_requirements
from deltaspec.rules import RULES
from deltaspec.suites.coverage import (
    GOLDEN_ONLY,
    NOT_OF_EARLIER,
    list_tested_requirements,
    load_untestable_requirements,
)
from planted_tables.permissions.all_permissions import PERMISSIONS


def listed(*args: str) -> list[dict[str, Any]]:
    return json.loads(run("requirements", *args, "--format", "json").stdout)


def ids(*args: str) -> list[str]:
    return [each["id"] for each in listed(*args)]


class TestList:
    def test_every_requirement_has_a_line(self) -> None:
        result = run("requirements")
        lines = result.stdout.splitlines()
        first = [line.split()[0] for line in lines if not line.startswith(" ")]
        assert result.exit_code == 0
        assert first[: len(load_requirements())] == list(load_requirements())
        assert f"\n{len(load_requirements()):,} requirements: " in result.stdout
        assert max(map(len, lines)) <= 100

    def test_line_has_the_columns_of_the_catalog(self) -> None:
        (line,) = [
            line for line in run("requirements", "--chapter", "add").stdout.splitlines() if line.startswith("add.path ")
        ]
        assert line.split()[:5] == ["add.path", "must", "table", "log", "r1-current"]
        assert "FIL003" in line

    def test_json_has_all_fields(self) -> None:
        (each,) = [each for each in listed("--chapter", "add") if each["id"] == "add.path-encoding"]
        assert {
            name: each[name] for name in ("section", "strength", "level", "actor", "check", "revisions", "uncovered")
        } == {
            "section": "Add File and Remove File",
            "strength": "must",
            "level": "must",
            "actor": "table",
            "check": "log",
            "revisions": ["r1", "r2", "r3", "current"],
            "uncovered": [],
        }
        assert "FIL001" in each["rules"]
        assert list(each["coverage"]) == ["r1", "r2", "r3", "current"]
        assert "FIL001" in each["coverage"]["r2"]["rules"]
        assert each["statement"].endswith(".")

    def test_json_has_settled_errata(self) -> None:
        (each,) = [each for each in listed("--chapter", "row-tracking") if each["id"] == "row-tracking.mark-in-domain"]
        assert each["notes"] == ["E27", "S53"]
        assert "highWaterMark" in each["reading"]

    def test_chapters_may_be_repeated_or_separated_by_commas(self) -> None:
        chapters = {each.partition(".")[0] for each in ids("--chapter", "add, remove", "--chapter", "cdc")}
        assert chapters == {"add", "remove", "cdc"}

    @pytest.mark.parametrize("revision", REVISIONS)
    def test_revision_lists_its_requirements(self, revision: str) -> None:
        found = listed("--revision", revision)
        assert [each["id"] for each in found] == [
            each.id for each in load_requirements().values() if revision in each.revisions
        ]
        assert {tuple(each["coverage"]) for each in found} == {(revision,)}

    def test_row_ids_of_r1_are_listed_only_for_r1(self) -> None:
        assert "row-ids.preserved-flag" in ids("--revision", "r1")
        assert "row-ids.preserved-flag" not in ids("--revision", "r2")

    def test_uncovered_requirements_have_no_rule_no_permission_and_no_check(self) -> None:
        named = {name for rule in RULES.values() for name in rule.requires}
        named |= {permission.requirement for permission in PERMISSIONS.values()}
        named |= set(list_tested_requirements())
        found = listed("--uncovered")
        of_earlier = [each for each in found if each["reason"] == NOT_OF_EARLIER]
        missing = {each["id"]: each["reason"] for each in found if each not in of_earlier}
        assert set(missing) == set(load_requirements()) - named
        assert missing == load_untestable_requirements()
        assert [each["id"] for each in of_earlier if "current" in each["uncovered"] or each["id"] not in named] == []

    def test_uncovered_requirements_have_revisions_and_a_reason(self) -> None:
        found = {each["id"]: each for each in listed("--uncovered")}
        assert found["checkpoint.often-enough"]["uncovered"] == ["r3", "current"]
        assert found["checkpoint.often-enough"]["reason"] == "The protocol gives no measure of often enough."
        shown = " ".join(run("requirements", "--uncovered", columns=200).stdout.split())
        assert [name for name, each in found.items() if each["reason"] not in shown] == []

    def test_summary_counts_the_listed_requirements(self) -> None:
        last = " ".join(run("requirements", "--chapter", "catalog-managed", columns=200).stdout.splitlines()[-2:])
        assert f"{len(ids('--chapter', 'catalog-managed'))} requirements: " in last

    @pytest.mark.parametrize(
        ("name", "hint"), [("protocl", "did you mean protocol?"), ("qqq", "choose from action, adaptive-metadata, add")]
    )
    def test_unknown_chapter_is_an_error(self, name: str, hint: str) -> None:
        result = run("requirements", "--chapter", f"add,{name}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"deltaspec: unknown chapter '{name}'")
        assert hint in result.stderr

    def test_chapter_outside_the_revision_is_an_error(self) -> None:
        result = run("requirements", "--revision", "r1", "--chapter", "sidecar")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == "deltaspec: revision r1 has no chapter 'sidecar'\n"

    @pytest.mark.parametrize("name", ["", " , "])
    def test_empty_chapter_option_is_an_error(self, name: str) -> None:
        result = run("requirements", "--chapter", name)
        assert result.exit_code == 2
        assert "expected at least one name" in result.stderr

    def test_unknown_revision_is_an_error(self) -> None:
        assert run("requirements", "--revision", "r4").exit_code == 2


class TestTerminals:
    @pytest.mark.parametrize("columns", [40, 72, 100])
    @pytest.mark.parametrize(
        "command", [("requirements", "--chapter", "checkpoint"), ("explain", "row-tracking.mark-in-domain")]
    )
    def test_lines_fit_the_terminal(
        self, command: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        printed = run(*command, columns=columns).stdout.splitlines()
        lines = [line for line in printed if not line.startswith("See     https://")]
        names = {*load_requirements(), *(rule.name for rule in RULES.values())}
        assert [line for line in lines if len(line) > columns and line.split()[-1] not in names] == []

    def test_closed_pipe_is_not_an_error(self) -> None:
        process = subprocess.run(
            f"{sys.executable} -m deltaspec requirements | head -1; exit ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert (process.returncode, process.stderr) == (0, b"")


class TestExplain:
    @pytest.mark.parametrize("identity", load_requirements())
    def test_page_of_a_requirement_is_complete(self, identity: str) -> None:
        result = run("explain", identity)
        requirement = load_requirements()[identity]
        text = " ".join(result.stdout.split())
        assert result.exit_code == 0
        for part in (requirement.statement, requirement.reading or "", requirement.check, requirement.section):
            assert " ".join(part.split()) in text
        assert [note for note in requirement.notes if f" {note}" not in text] == []
        assert [source for source in requirement.sources if source not in text] == []
        checking = [f"  {rule.code} {rule.name}" for rule in RULES.values() if identity in rule.requires]
        permitting = [
            f"  {each.name.replace('_', ' ')}" for each in PERMISSIONS.values() if each.requirement == identity
        ]
        nothing = [f"  {revision:<9}nothing" for revision in requirement.revisions]
        testing = [
            f"  {name}" for name in list_tested_requirements().get(identity, ()) if requirement.check == "behaviour"
        ]
        assert set(checking + permitting + testing or nothing) <= set(result.stdout.splitlines())
        assert load_untestable_requirements().get(identity, "") in text


def test_suites_name_known_requirements_and_excuse_only_untested_ones() -> None:
    tested, untestable = list_tested_requirements(), load_untestable_requirements()
    assert set(tested) | set(untestable) <= set(load_requirements())
    assert not set(tested) & set(untestable)
    assert [each for each in untestable if load_requirements()[each].check != "behaviour"] == []


def test_requirements_that_only_golden_cases_test_are_named_by_the_case() -> None:
    cases = compute_coverage().cases
    assert {
        name: case for name, case in GOLDEN_ONLY.items() if case not in {each.id for each in cases.get(name, ())}
    } == {}
    assert set(load_untestable_requirements()) & set(cases) == set()


def test_permissions_need_no_hypothesis() -> None:
    """The installed package lists permissions without the dependencies of the tests."""
    program = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "hypothesis":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from click.testing import CliRunner
from deltaspec.cli import main
result = CliRunner().invoke(main, ["requirements", "--chapter", "deletion-vectors"])
assert result.exit_code == 0, result.stderr
assert "permitted" in result.stdout
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=120)
