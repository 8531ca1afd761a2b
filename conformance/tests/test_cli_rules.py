"""`deltaspec rules` and `deltaspec explain CODE`, from outside."""

import json

import pytest
from helpers.cli import run, single_error_line

from deltaspec.rules import RULES


class TestExplain:
    @pytest.mark.parametrize("code", RULES)
    def test_a_rule_says_all_there_is_to_say(self, code: str) -> None:
        rule = RULES[code]
        result = run("explain", code)
        text = " ".join(result.stdout.split())
        assert result.exit_code == 0
        for part in (
            *(rule.code, rule.name, rule.severity, rule.message, rule.why, rule.fix),
            *(", ".join(rule.revisions), rule.requirement.statement, rule.requirement.section),
            *("Conforms", "Violates", *rule.requires),
        ):
            assert " ".join(part.split()) in text
        assert rule.why
        assert rule.fix
        prose = [each for each in result.stdout.split("\n\n") if each.split()[0] not in ("Conforms", "Violates")]
        assert max(len(line) for block in prose for line in block.splitlines()) <= 100

    def test_a_rule_goes_by_its_name_and_in_any_case_too(self) -> None:
        by_code = run("explain", "FIL001").stdout
        assert by_code == run("explain", "fil001").stdout == run("explain", "malformed-path").stdout

    @pytest.mark.parametrize(
        ("name", "near"),
        [("FXL001", "FIL001"), ("malformed-pth", "malformed-path"), ("add.path-encodin", "add.path-encoding")],
    )
    def test_an_unknown_name_is_told_of_the_nearest(self, name: str, near: str) -> None:
        result = run("explain", name)
        assert result.exit_code == 2
        assert single_error_line(result) == f"deltaspec: no rule or requirement '{name}' (did you mean {near}?)"

    def test_a_name_like_nothing_is_told_where_names_are(self) -> None:
        assert single_error_line(run("explain", "1234567")).endswith(
            "; see `deltaspec rules` and `deltaspec requirements`"
        )

    def test_a_chapter_lists_its_requirements(self) -> None:
        result = run("explain", "cleanup")
        assert result.stdout == run("requirements", "--chapter", "cleanup").stdout
        assert result.stdout.startswith("cleanup.")

    def test_the_beginning_of_codes_lists_its_rules(self) -> None:
        codes = [line.split()[0] for line in run("explain", "cop").stdout.splitlines()]
        assert codes == [code for code in RULES if code.startswith("COP")]


class TestLists:
    def test_rules_has_a_line_for_each(self) -> None:
        lines = run("rules").stdout.splitlines()
        assert [line.split()[0] for line in lines] == list(RULES)

    def test_rules_as_json(self) -> None:
        listed = json.loads(run("rules", "--format", "json").stdout)
        assert [each["code"] for each in listed] == list(RULES)
        assert all(each["message"] and each["requires"] for each in listed)

    def test_rules_by_their_beginnings(self) -> None:
        listed = run("rules", "--select", "dom,COP001").stdout.splitlines()
        assert [line.split()[0] for line in listed] == [
            code for code in RULES if code.startswith("DOM") or code == "COP001"
        ]

    def test_rules_of_a_revision_are_as_severe_as_it_makes_them(self) -> None:
        listed = json.loads(run("rules", "--revision", "r1", "--format", "json").stdout)
        assert {each["code"]: each["severity"] for each in listed} == {
            code: rule.severity_in("r1") for code, rule in RULES.items() if "r1" in rule.revisions
        }

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--select", "XX"], "no rule begins with 'XX'"),
            (["--select", ","], "expected at least one name"),
            (["--select", "COP", "--revision", "r1"], "none of these rules is asked in r1"),
        ],
    )
    def test_a_list_that_would_be_empty_is_refused(self, options: list[str], says: str) -> None:
        result = run("rules", *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert says in result.stderr
