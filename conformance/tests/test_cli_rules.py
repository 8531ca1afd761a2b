"""Commands `deltaspec rules` and `deltaspec explain CODE`."""

import json

import pytest
from click.testing import CliRunner
from helpers.cli import run, single_error_line

from deltaspec.cli import main
from deltaspec.requirements import load_requirements
from deltaspec.rule_pages import render_explanation
from deltaspec.rules import RULES


class TestExplain:
    @pytest.mark.parametrize("code", RULES)
    def test_page_of_a_rule_is_complete(self, code: str) -> None:
        rule = RULES[code]
        result = run("explain", code)
        text = " ".join(result.stdout.split())
        assert result.exit_code == 0
        for part in (
            *(rule.code, rule.name, rule.severity, rule.message, rule.why),
            *(", ".join(rule.revisions), rule.requirement.statement, rule.requirement.section),
            *("Conforms", "Violates", *rule.requires),
            *(f"[{case.fix_class}] {case.advice}" for case in rule.fix_cases),
        ):
            assert " ".join(part.split()) in text
        assert rule.why
        assert rule.fix
        prose = [each for each in result.stdout.split("\n\n") if each.split()[0] not in ("Conforms", "Violates")]
        lines = [line for block in prose for line in block.splitlines() if not line.startswith("See     https://")]
        assert max(map(len, lines)) <= 100

    def test_rule_is_found_by_name_and_by_code_in_any_case(self) -> None:
        by_code = run("explain", "FIL001").stdout
        assert by_code == run("explain", "fil001").stdout == run("explain", "malformed-path").stdout

    @pytest.mark.parametrize(
        ("name", "near"),
        [("FXL001", "FIL001"), ("malformed-pth", "malformed-path"), ("add.path-encodin", "add.path-encoding")],
    )
    def test_error_for_an_unknown_name_suggests_the_nearest(self, name: str, near: str) -> None:
        result = run("explain", name)
        assert result.exit_code == 2
        assert single_error_line(result) == f"deltaspec: no rule or requirement '{name}' (did you mean {near}?)"

    def test_error_without_a_suggestion_names_the_list_commands(self) -> None:
        assert single_error_line(run("explain", "1234567")).endswith(
            "; see `deltaspec rules` and `deltaspec requirements`"
        )

    def test_note_shows_how_it_is_read_and_reported(self) -> None:
        page = run("explain", "s21").stdout
        assert page.startswith("S21\nthe protocol is silent\n")
        for requirement in load_requirements().values():
            assert (f"\n{requirement.id} (" in page) is ("S21" in requirement.notes)
        for rule in RULES.values():
            assert (f"\n  {rule.code} " in page) is (rule.divergence == "S21")
        assert run("explain", "E04").stdout.startswith("E04\nthe protocol contradicts itself")
        assert run("explain", "S999").exit_code == 2

    def test_every_note_has_a_page(self) -> None:
        cited = {note for each in load_requirements().values() for note in each.notes}
        cited |= {rule.divergence for rule in RULES.values() if rule.divergence}
        assert cited == {note for note in cited if render_explanation(note).startswith(f"{note}\n")}

    @pytest.mark.parametrize(("name", "letter"), [("errata", "E"), ("silent", "S")])
    def test_list_has_every_note(self, name: str, letter: str) -> None:
        page = run("explain", name).stdout
        assert page == run("explain", letter).stdout == run("explain", letter.lower()).stdout
        cited = {note for each in load_requirements().values() for note in each.notes}
        cited |= {rule.divergence for rule in RULES.values() if rule.divergence}
        expected = sorted(each for each in cited if each.startswith(letter))
        assert [line.split()[0] for line in page.splitlines()[2:] if not line.startswith(" ")] == expected
        record = json.loads(run("explain", name, "--format", "json").stdout)
        assert [each["number"] for each in record["notes"]] == expected
        markdown = run("explain", name, "--format", "markdown").stdout
        for each in record["notes"]:
            assert f"## {each['number']}\n" in markdown
            for requirement in each["requirements"]:
                assert requirement["id"] in page, f"{each=}"
            for code in each["divergences"]:
                assert f"divergence {code} " in page, f"{each=}"

    def test_names_are_completed(self) -> None:
        variables = {"_DELTASPEC_COMPLETE": "bash_complete", "COMP_WORDS": "deltaspec explain fil00", "COMP_CWORD": "2"}
        completed = CliRunner().invoke(main, [], prog_name="deltaspec", env=variables)
        assert completed.stdout.splitlines() == [f"plain,{code}" for code in sorted(RULES) if code.startswith("FIL00")]

    def test_chapter_lists_its_requirements(self) -> None:
        result = run("explain", "cleanup")
        assert result.stdout == run("requirements", "--chapter", "cleanup").stdout
        assert result.stdout.startswith("cleanup.")

    def test_code_prefix_lists_its_rules(self) -> None:
        codes = [line.split()[0] for line in run("explain", "cop").stdout.splitlines()]
        assert codes == [code for code in sorted(RULES) if code.startswith("COP")]


class TestLists:
    def test_every_rule_has_a_line(self) -> None:
        lines = run("rules").stdout.splitlines()
        assert [line.split()[0] for line in lines] == sorted(RULES)

    def test_json_lists_every_rule(self) -> None:
        listed = json.loads(run("rules", "--format", "json").stdout)
        assert [each["code"] for each in listed] == sorted(RULES)
        assert [each for each in listed if not (each["message"] and each["requires"])] == []

    def test_select_accepts_code_prefixes(self) -> None:
        listed = run("rules", "--select", "dom,COP001").stdout.splitlines()
        assert [line.split()[0] for line in listed] == [
            code for code in sorted(RULES) if code.startswith("DOM") or code == "COP001"
        ]

    def test_rules_of_a_revision_have_their_severity_in_it(self) -> None:
        listed = json.loads(run("rules", "--revision", "r1", "--format", "json").stdout)
        assert {each["code"]: each["severity"] for each in listed} == {
            code: rule.severity_in("r1") for code, rule in RULES.items() if "r1" in rule.revisions
        }

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--select", "XX"], "no rule code begins with 'XX'"),
            (["--select", ","], "expected at least one name"),
            (["--select", "COP", "--revision", "r1"], "none of the selected rules applies in r1"),
        ],
    )
    def test_empty_selection_is_an_error(self, options: list[str], says: str) -> None:
        result = run("rules", *options)
        assert (result.exit_code, result.stdout) == (2, "")
        assert says in result.stderr


class TestExplainFormats:
    def test_json_has_rule_requirements_and_marked_differences(self) -> None:
        record = json.loads(run("explain", "partition-column-missing", "--format", "json").stdout)
        (rule,) = record["rules"]
        assert (rule["code"], record["title"]) == ("FIL007", "FIL007 partition-column-missing")
        assert rule["requires"][0]["url"].endswith("PROTOCOL.md#add-file-and-remove-file")
        for each in rule["violates"]:
            assert each["differs"]
            assert {*each["differs"]} <= {*each["row"]}

    @pytest.mark.parametrize("name", ["add.partition-values", "add", "FIL", "S21", "E04"])
    def test_every_kind_of_name_has_both_formats(self, name: str) -> None:
        record = json.loads(run("explain", name, "--format", "json").stdout)
        page = run("explain", name, "--format", "markdown").stdout
        assert page.startswith(f"# {name}\n")
        for requirement in record["requirements"]:
            assert f"`{requirement['id']}`" in page
        for rule in record["rules"]:
            assert f"## {rule['code']} {rule['name']}" in page
        assert record["rules"] or record["requirements"]

    @pytest.mark.parametrize("output_format", ["json", "markdown"])
    def test_unknown_name_is_one_line(self, output_format: str) -> None:
        result = run("explain", "FIL999", "--format", output_format)
        assert (result.exit_code, "did you mean" in single_error_line(result)) == (2, True)

    def test_text_links_to_the_section_and_marks_differences(self) -> None:
        page = run("explain", "FIL007").stdout
        assert "See     https://github.com/delta-io/delta/blob/master/PROTOCOL.md#add-file-and-remove-file" in page
        assert '  kind: "cdc", missing_partition_columns: ["day"]\n    differs in kind' in page
