"""Coverage of requirements, on a small catalogue with expected results written by hand."""

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from deltaspec import requirement_coverage, requirement_pages
from deltaspec.requirement_coverage import RevisionCoverage, format_revisions
from deltaspec.requirement_pages import render_requirement_list, render_requirement_page
from deltaspec.requirements import REVISIONS, Requirement
from deltaspec.rules import RULES, Rule, registry
from deltaspec.suites import coverage

LATER = ("r3", "current")


def requirement(identity: str, **changes: Any) -> Requirement:
    default = Requirement(identity, "A Chapter", REVISIONS, "must", "table", "log", f"This is {identity}.", ("A.B",))
    return replace(default, **changes)


CATALOGUE = {
    each.id: each
    for each in (
        requirement("paths.known"),
        requirement("paths.newer", revisions=LATER, strength="should"),
        requirement("paths.permitted", strength="may", actor="writer"),
        requirement("paths.half", check="data", reading="We read it so (E99).", notes=("E99", "S98")),
        requirement("reading.done", actor="reader", check="behaviour"),
        requirement("reading.forgotten", revisions=("r1",)),
    )
}


def rule(code: str, *requires: str, **changes: str) -> Rule:
    name = f"fault-{code.lower()}"
    return Rule(code, name, requires, RULES["FIL001"].view, None, None, lambda: pl.lit(True), **changes)


@pytest.fixture(autouse=True)
def small_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (
        rule("AAA001", "paths.known", "paths.newer"),
        rule("AAA002", "paths.known", until="r2"),
        rule("AAA003", "paths.half", since="r3"),
    )
    for module in (requirement_coverage, requirement_pages, registry):
        monkeypatch.setattr(module, "load_requirements", lambda: CATALOGUE)
    for module in (requirement_coverage, requirement_pages):
        monkeypatch.setattr(module, "RULES", {each.code: each for each in rules})
    monkeypatch.setattr(requirement_coverage, "load_permissions", lambda: {"paths.permitted": ("a_free_path",)})


def covering(identity: str) -> dict[str, RevisionCoverage]:
    return requirement_coverage.coverage()[identity].revisions


def test_rule_covers_its_requirements_in_its_revisions() -> None:
    both, first = RevisionCoverage(("AAA001", "AAA002")), RevisionCoverage(("AAA001",))
    assert covering("paths.known") == {"r1": both, "r2": both, "r3": first, "current": first}
    assert covering("paths.half") == {
        "r1": RevisionCoverage(),
        "r2": RevisionCoverage(),
        "r3": RevisionCoverage(("AAA003",)),
        "current": RevisionCoverage(("AAA003",)),
    }


def test_requirement_is_covered_only_in_its_revisions() -> None:
    assert covering("paths.newer") == {"r3": RevisionCoverage(("AAA001",)), "current": RevisionCoverage(("AAA001",))}
    assert covering("reading.forgotten") == {"r1": RevisionCoverage()}


def test_permission_covers_every_revision() -> None:
    assert covering("paths.permitted") == dict.fromkeys(REVISIONS, RevisionCoverage((), ("a_free_path",)))


def test_uncovered_lists_revisions_without_coverage() -> None:
    assert {name: each.uncovered for name, each in requirement_coverage.coverage().items()} == {
        "paths.known": (),
        "paths.newer": (),
        "paths.permitted": (),
        "paths.half": ("r1", "r2"),
        "reading.done": REVISIONS,
        "reading.forgotten": ("r1",),
    }


def test_coverage_of_one_revision_omits_requirements_of_others() -> None:
    found = requirement_coverage.coverage("r2")
    assert list(found) == ["paths.known", "paths.permitted", "paths.half", "reading.done"]
    assert {name for name, each in found.items() if each.uncovered} == {"paths.half", "reading.done"}
    assert {name: set(each.revisions) for name, each in found.items()} == {key: {"r2"} for key in found}


@pytest.mark.parametrize(
    ("revisions", "shown"),
    [
        (REVISIONS, "r1-current"),
        (("r1",), "r1"),
        (("r2", "r3"), "r2-r3"),
        (("r1", "r3"), "r1, r3"),
        (("r1", "r3", "current"), "r1, r3-current"),
        ((), ""),
    ],
)
def test_revisions_are_formatted_as_ranges(revisions: tuple[str, ...], shown: str) -> None:
    assert format_revisions(revisions) == shown


def columns(line: str) -> list[str]:
    return line.split(maxsplit=5)


def test_list_has_one_line_per_requirement() -> None:
    *lines, summary = render_requirement_list(width=200).splitlines()
    assert [columns(line) for line in lines] == [
        ["paths.known", "must", "table", "log", "r1-current", "AAA001, AAA002"],
        ["paths.newer", "should", "table", "log", "r3-current", "AAA001"],
        ["paths.permitted", "may", "writer", "log", "r1-current", "permitted"],
        ["paths.half", "must", "table", "data", "r1-current", "AAA003"],
        ["reading.done", "must", "reader", "behaviour", "r1-current", "-"],
        ["reading.forgotten", "must", "table", "log", "r1", "-"],
    ]
    assert summary == (
        "6 requirements: 2 checked by rules, 1 permitted, 0 tested by suites, "
        "3 not covered in every revision (0 with a reason)"
    )


def test_uncovered_requirements_list_their_revisions() -> None:
    *lines, summary = render_requirement_list(uncovered=True, width=200).splitlines()
    assert [columns(line)[::5] for line in lines] == [
        ["paths.half", "AAA003; not in r1-r2"],
        ["reading.done", "nothing"],
        ["reading.forgotten", "nothing"],
    ]
    assert summary.startswith("3 requirements: 0 checked by rules, 0 permitted, 0 tested by suites, 3 not covered")


def test_reason_is_no_coverage_and_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "load_untestable_requirements", lambda: {"reading.done": "Nobody can see it."})
    *lines, summary = render_requirement_list(uncovered=True, width=200).splitlines()
    assert columns(lines[1])[::5] == ["reading.done", "nothing"]
    assert lines[2] == "    Nobody can see it."
    assert summary.endswith("3 not covered in every revision (1 with a reason)")


def test_uncovered_in_one_revision() -> None:
    assert "paths.half" not in render_requirement_list(uncovered=True, revision="current")
    assert "paths.half" in render_requirement_list(uncovered=True, revision="r1")


def test_list_is_filtered_by_chapter_and_revision() -> None:
    ids = [
        line.split()[0] for line in render_requirement_list(chapters=["reading"], revision="r3", width=200).splitlines()
    ]
    assert ids == ["reading.done", "1"]


def test_narrow_terminal_gets_two_lines_per_requirement() -> None:
    lines = render_requirement_list(chapters=["paths"], width=60).splitlines()
    assert lines[:2] == ["paths.known", "    must · table · log · r1-current · AAA001, AAA002"]
    assert max(map(len, render_requirement_list(width=40).splitlines())) <= 40


def test_page_lists_coverage_by_revision() -> None:
    assert render_requirement_page(CATALOGUE["paths.half"]).splitlines() == [
        "paths.half",
        "must · table · data · revisions r1, r2, r3, current",
        "",
        "MUST    This is paths.half. (A Chapter; paths.half)",
        "Reading We read it so (E99).",
        "Settles E99, S98",
        "See     https://github.com/delta-io/delta/blob/master/PROTOCOL.md#a-chapter",
        "",
        "Covered",
        "  r1       nothing",
        "  r2       nothing",
        "  r3       AAA003",
        "  current  AAA003",
        "",
        "Checked by",
        "  AAA003 fault-aaa003",
        "",
        "From A.B",
    ]


def test_page_names_the_tables_that_use_a_permission() -> None:
    page = render_requirement_page(CATALOGUE["paths.permitted"])
    assert "  r2       permitted\n" in page
    assert "\nPermitted: valid tables that use it and have no findings\n  a free path\n" in page


def test_page_says_that_tables_do_not_show_behavior() -> None:
    assert "  Only the behavior of an implementation can show a breach.\n" in render_requirement_page(
        CATALOGUE["reading.done"]
    )
    assert "behavior" not in render_requirement_page(CATALOGUE["reading.forgotten"])
