"""What the kit prints of the catalogue of requirements: its list, and the page of one requirement."""

import json
from collections.abc import Sequence
from difflib import get_close_matches

from deltaspec.errors import InvalidUsage
from deltaspec.report.text import count, wrap_text
from deltaspec.requirement_coverage import Coverage, RevisionCoverage, compute_coverage, coverage, format_revisions
from deltaspec.requirements import Requirement, requirements
from deltaspec.rules import RULES

WIDTH = 100
_ID = 44
"""Columns of an id; a few are longer and push what follows."""
_WIDE = 96
"""Narrower terminals get what is said of a requirement on lines below its id."""


def format_labelled(label: str, text: str, width: int = WIDTH) -> list[str]:
    """A paragraph behind its label."""
    return wrap_text(f"{label:<8}{text}", width, indent=" " * 8)


def statement(requirement: Requirement, width: int = WIDTH) -> list[str]:
    """What the protocol says in our words, where, and how we read it."""
    said = f"{requirement.statement} ({requirement.section}; {requirement.id})"
    lines = format_labelled(requirement.level.upper(), said, width)
    if requirement.reading:
        lines += format_labelled("Read", requirement.reading, width)
    if requirement.notes:
        lines += format_labelled("Settles", ", ".join(requirement.notes), width)
    return lines


def render_requirement_page(requirement: Requirement, width: int = WIDTH) -> str:
    """Everything that there is to say of a requirement."""
    covered = compute_coverage(requirement)
    about = (requirement.level, requirement.actor, requirement.check, f"revisions {', '.join(requirement.revisions)}")
    lines = [requirement.id, *wrap_text(" · ".join(about), width), "", *statement(requirement, width), "", "Covered"]
    for revision, covering in covered.revisions.items():
        lines += wrap_text(f"  {revision:<9}{_said(covering)}", width, indent=" " * 11)
    if not covered.rules and not covered.permissions and requirement.check == "behaviour":
        lines += wrap_text("  Only what an implementation does shows it.", width, indent="  ")
    if covered.rules:
        lines += ["", "Checked by", *(f"  {code} {RULES[code].name}" for code in covered.rules)]
    if covered.permissions:
        lines += ["", "Permitted: sound tables that use it, on which no rule says anything"]
        lines += [f"  {name.replace('_', ' ')}" for name in covered.permissions]
    lines += ["", *wrap_text(f"From {', '.join(requirement.sources)}", width, indent="  ")]
    return "\n".join(lines)


def _said(covering: RevisionCoverage) -> str:
    return ", ".join([*covering.rules, *(["permitted"] if covering.permissions else [])]) or "nothing"


def render_requirement_list(
    *,
    chapters: Sequence[str] = (),
    revision: str | None = None,
    uncovered: bool = False,
    output_format: str = "text",
    width: int = WIDTH,
) -> str:
    """The catalogue, or what of it is asked for, with what covers each requirement.

    Args:
        chapters: only these; none: all.
        revision: only what holds in this revision, and what covers it there.
        uncovered: only what nothing covers in at least one of the revisions.
        output_format: `text` or `json`.
        width: columns of the text.

    Raises:
        InvalidUsage: no such chapter, or one that the revision does not have.
    """
    _check_chapters(chapters, revision)
    chosen = [
        each
        for each in coverage(revision).values()
        if (not chapters or each.requirement.chapter in chapters) and (not uncovered or each.uncovered)
    ]
    if output_format == "json":
        return json.dumps([_record(each) for each in chosen], indent=2, ensure_ascii=False)
    lines = [line for each in chosen for line in _entry(each, uncovered, width)]
    return "\n".join([*lines, *wrap_text(_summary(chosen), width)])


def _check_chapters(chapters: Sequence[str], revision: str | None) -> None:
    known = sorted({requirement.chapter for requirement in requirements().values()})
    held = {each.requirement.chapter for each in coverage(revision).values()}
    for chapter in chapters:
        if chapter not in known:
            near = get_close_matches(chapter, known, 1)
            hint = f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(known)}"
            raise InvalidUsage(f"no chapter {chapter!r}{hint}")
        if chapter not in held:
            raise InvalidUsage(f"{revision} says nothing of {chapter!r}")


def _entry(covered: Coverage, gaps: bool, width: int) -> list[str]:
    """One requirement: a line with columns, or on narrow terminals its id and what is said of it below."""
    each = covered.requirement
    said = ", ".join([*covered.rules, *(["permitted"] if covered.permissions else [])]) or "-"
    if gaps:
        missing = f"not in {format_revisions(covered.uncovered)}"
        said = "nothing" if said == "-" else f"{said}; {missing}"
    span = format_revisions(each.revisions)
    if width >= _WIDE:
        line = f"{each.id:<{_ID}} {each.level:<6} {each.actor:<6} {each.check:<9} {span:<10} "
        return wrap_text(line + said, width, indent=" " * len(line))
    return [
        each.id,
        *wrap_text(f"    {' · '.join((each.level, each.actor, each.check, span, said))}", width, indent="    "),
    ]


def _summary(chosen: Sequence[Coverage]) -> str:
    """How many there are, and how many of them are covered by what."""
    whole = [each for each in chosen if not each.uncovered]
    ruled = sum(1 for each in whole if each.rules)
    open_ones = [each for each in chosen if each.uncovered]
    behaviour = sum(1 for each in open_ones if each.requirement.check == "behaviour")
    return (
        f"{count(len(chosen), 'requirement')}: {ruled:,} checked by rules, {len(whole) - ruled:,} permitted, "
        f"{len(open_ones):,} not covered in every revision, {behaviour:,} of these about behaviour"
    )


def _record(covered: Coverage) -> dict[str, object]:
    each = covered.requirement
    return {
        "id": each.id,
        "section": each.section,
        "revisions": each.revisions,
        "level": each.level,
        "actor": each.actor,
        "check": each.check,
        "statement": each.statement,
        "reading": each.reading,
        "notes": each.notes,
        "rules": covered.rules,
        "permissions": covered.permissions,
        "coverage": {
            revision: {"rules": covering.rules, "permissions": covering.permissions}
            for revision, covering in covered.revisions.items()
        },
        "uncovered": covered.uncovered,
    }
