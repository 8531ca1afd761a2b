"""Render the list of requirements, and the page of one requirement."""

import json
from collections.abc import Sequence
from difflib import get_close_matches

from deltaspec.errors import InvalidUsage
from deltaspec.report.text import count, wrap_text
from deltaspec.requirement_coverage import Coverage, RevisionCoverage, compute_coverage, coverage, format_revisions
from deltaspec.requirements import Requirement, load_requirements
from deltaspec.rules import RULES
from deltaspec.validation.rule_docs import build_requirement_url

WIDTH = 100
_ID = 44
"""Width of the id column; a few ids are longer and shift the other columns."""
_WIDE = 96
"""On narrower terminals, the columns of a requirement are printed below its id."""


def format_labelled(label: str, text: str, width: int = WIDTH) -> list[str]:
    """Wrap a paragraph after a label."""
    return wrap_text(f"{label:<8}{text}", width, indent=" " * 8)


def render_statement(requirement: Requirement, width: int = WIDTH) -> list[str]:
    """Return the statement of a requirement, its source, our reading and the errata that the reading settles."""
    text = f"{requirement.statement} ({requirement.section}; {requirement.id})"
    lines = format_labelled(requirement.strength.upper(), text, width)
    if requirement.reading:
        lines += format_labelled("Reading", requirement.reading, width)
    if requirement.notes:
        lines += format_labelled("Settles", ", ".join(requirement.notes), width)
    return [*lines, f"{'See':<8}{build_url(requirement)}"]


def build_url(requirement: Requirement) -> str:
    """Return the address of the section of a requirement."""
    return build_requirement_url(requirement.section, requirement.notes, requirement.revisions)


def render_requirement_page(requirement: Requirement, width: int = WIDTH) -> str:
    """Return the page of a requirement: statement, coverage by revision, rules and permissions."""
    covered = compute_coverage(requirement)
    about = (
        requirement.strength,
        requirement.actor,
        requirement.check,
        f"revisions {', '.join(requirement.revisions)}",
    )
    lines = [
        requirement.id,
        *wrap_text(" · ".join(about), width),
        "",
        *render_statement(requirement, width),
        "",
        "Covered",
    ]
    for revision, covering in covered.revisions.items():
        lines += wrap_text(f"  {revision:<9}{_format_coverage(covering)}", width, indent=" " * 11)
    if requirement.check == "behaviour":
        lines += wrap_text("  Only the behavior of an implementation can show a breach.", width, indent="  ")
    if covered.checks:
        lines += ["", "Tested by", *(f"  {name}" for name in covered.checks)]
    if covered.reason:
        title = (
            f"Not tested in {format_revisions(covered.uncovered)}" if covered.checks else "Not testable from outside"
        )
        lines += ["", title, *wrap_text(f"  {covered.reason}", width, indent="  ")]
    if covered.rules:
        lines += ["", "Checked by", *(f"  {code} {RULES[code].name}" for code in covered.rules)]
    if covered.permissions:
        lines += ["", "Permitted: valid tables that use it and have no findings"]
        lines += [f"  {name.replace('_', ' ')}" for name in covered.permissions]
    lines += ["", *wrap_text(f"From {', '.join(requirement.sources)}", width, indent="  ")]
    return "\n".join(lines)


def _format_coverage(covering: RevisionCoverage) -> str:
    return ", ".join(_list_coverage(covering)) or "nothing"


def _list_coverage(covering: RevisionCoverage | Coverage) -> list[str]:
    words = [("permitted", covering.permissions), ("suites", covering.checks)]
    return [*covering.rules, *(word for word, found in words if found)]


def render_requirement_list(
    *,
    chapters: Sequence[str] = (),
    revision: str | None = None,
    uncovered: bool = False,
    output_format: str = "text",
    width: int = WIDTH,
) -> str:
    """Return the selected requirements with the rules and permissions that cover them.

    Args:
        chapters: only these chapters; empty for all.
        revision: only requirements and coverage of this revision.
        uncovered: only requirements that are not covered in at least one revision, with the reason.
        output_format: `text` or `json`.
        width: columns of the text.

    Raises:
        InvalidUsage: a chapter is unknown, or the revision does not have it.
    """
    _check_chapters(chapters, revision)
    chosen = [
        each
        for each in coverage(revision).values()
        if (not chapters or each.requirement.chapter in chapters) and (not uncovered or each.uncovered)
    ]
    if output_format == "json":
        return json.dumps([_build_record(each) for each in chosen], indent=2, ensure_ascii=False)
    lines = [line for each in chosen for line in _render_entry(each, uncovered, width)]
    return "\n".join([*lines, *wrap_text(_summary(chosen), width)])


def _check_chapters(chapters: Sequence[str], revision: str | None) -> None:
    known = sorted({requirement.chapter for requirement in load_requirements().values()})
    of_revision = {each.requirement.chapter for each in coverage(revision).values()}
    for chapter in chapters:
        if chapter not in known:
            near = get_close_matches(chapter, known, 1)
            hint = f" (did you mean {near[0]}?)" if near else f"; choose from {', '.join(known)}"
            raise InvalidUsage(f"unknown chapter {chapter!r}{hint}")
        if chapter not in of_revision:
            raise InvalidUsage(f"revision {revision} has no chapter {chapter!r}")


def _render_entry(covered: Coverage, gaps: bool, width: int) -> list[str]:
    """Return a line with columns, or on narrow terminals the id and the columns below it; for gaps also the reason."""
    each = covered.requirement
    covering = ", ".join(_list_coverage(covered)) or "-"
    if gaps:
        missing = f"not in {format_revisions(covered.uncovered)}"
        covering = "nothing" if covering == "-" else f"{covering}; {missing}"
    revisions = format_revisions(each.revisions)
    reason = wrap_text(f"    {covered.reason}", width, indent="    ") if gaps and covered.reason else []
    if width >= _WIDE:
        line = f"{each.id:<{_ID}} {each.strength:<6} {each.actor:<6} {each.check:<9} {revisions:<10} "
        return [*wrap_text(line + covering, width, indent=" " * len(line)), *reason]
    return [
        each.id,
        *wrap_text(
            f"    {' · '.join((each.strength, each.actor, each.check, revisions, covering))}", width, indent="    "
        ),
        *reason,
    ]


def _summary(chosen: Sequence[Coverage]) -> str:
    """Return the number of requirements, and how many of them are covered."""
    covered = [each for each in chosen if not each.uncovered]
    with_rules = sum(1 for each in covered if each.rules)
    with_checks = sum(1 for each in covered if not each.rules and each.checks)
    permitted = len(covered) - with_rules - with_checks
    uncovered = [each for each in chosen if each.uncovered]
    with_reason = sum(bool(each.reason) for each in uncovered)
    return (
        f"{count(len(chosen), 'requirement')}: {with_rules:,} checked by rules, {permitted:,} permitted, "
        f"{with_checks:,} tested by suites, "
        f"{len(uncovered):,} not covered in every revision ({with_reason:,} with a reason)"
    )


def _build_record(covered: Coverage) -> dict[str, object]:
    each = covered.requirement
    return {
        "id": each.id,
        "section": each.section,
        "revisions": each.revisions,
        "strength": each.strength,
        "level": each.strength,
        "actor": each.actor,
        "check": each.check,
        "statement": each.statement,
        "reading": each.reading,
        "notes": each.notes,
        "rules": covered.rules,
        "permissions": covered.permissions,
        "checks": covered.checks,
        "reason": covered.reason,
        "coverage": {
            revision: {"rules": covering.rules, "permissions": covering.permissions, "checks": covering.checks}
            for revision, covering in covered.revisions.items()
        },
        "uncovered": covered.uncovered,
    }
