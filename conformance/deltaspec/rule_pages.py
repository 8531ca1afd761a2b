"""Render the page of a rule, and the list of rules."""

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.fix_cases import list_steps
from deltaspec.log_examples import load_log_examples, render_log_example
from deltaspec.report.text import wrap_text
from deltaspec.requirement_pages import (
    WIDTH,
    format_labelled,
    render_requirement_list,
    render_requirement_page,
    render_statement,
)
from deltaspec.requirements import Requirement, load_requirements
from deltaspec.rule_records import list_differences
from deltaspec.rules import RULES, Rule
from deltaspec.scales import HARMS
from deltaspec.views.view_sources import VIEW_SOURCES

_NOTE = re.compile(r"[ES]\d+", re.ASCII)
"""Number of an erratum or of a silent point."""
NOTE_LISTS = {"errata": "E", "silent": "S"}
"""Lists of all notes, and the letter of their numbers, which names the list, too."""
ABOUT_NOTES = {"E": "the protocol contradicts itself or its examples", "S": "the protocol is silent"}


class Explained(msgspec.Struct, frozen=True):
    """The rules, requirements or notes that a name given to `explain` stands for."""

    kind: Literal["rule", "requirement", "chapter", "prefix", "note", "notes"]
    title: str
    rules: Sequence[Rule] = ()
    requirements: Sequence[Requirement] = ()
    notes: "Sequence[Explained]" = ()


def render_explanation(name: str, width: int = WIDTH) -> str:
    """Return the page of a rule (code or name), requirement (id) or note, or a list (chapter, prefix or all notes).

    Raises:
        InvalidUsage: the name is unknown; the message suggests the nearest name.
    """
    found = find_explained(name)
    match found.kind:
        case "rule":
            return _rule_page(found.rules[0], width)
        case "requirement":
            return render_requirement_page(found.requirements[0], width)
        case "chapter":
            return render_requirement_list(chapters=[name], width=width)
        case "prefix":
            return render_rule_list("text", [name.upper()])
        case "notes":
            return _render_notes(found, width)
    return _render_note(found, width)


def find_explained(name: str) -> Explained:
    """Return what a name stands for. Raises as `render_explanation`."""
    by_name = {rule.name: rule for rule in RULES.values()}
    rule = RULES.get(name.upper()) or by_name.get(name)
    if rule is not None:
        return Explained("rule", f"{rule.code} {rule.name}", [rule])
    requirements = load_requirements()
    if name in requirements:
        return Explained("requirement", name, requirements=[requirements[name]])
    if chapter := [each for each in requirements.values() if each.chapter == name]:
        return Explained("chapter", name, requirements=chapter)
    code = name.upper()
    letter = NOTE_LISTS.get(name.lower(), code)
    if letter in ABOUT_NOTES:
        return Explained("notes", f"{letter}: {ABOUT_NOTES[letter]}", notes=list_notes(letter))
    if name.isalpha() and (rules := [rule for rule in RULES.values() if rule.code.startswith(code)]):
        return Explained("prefix", code, rules)
    if found := [each for each in list_notes(code[:1]) if each.title == code]:
        return found[0]
    near = get_close_matches(name, [*RULES, *by_name, *load_requirements()], 1) or get_close_matches(
        name.upper(), RULES, 1
    )
    hint = f" (did you mean {near[0]}?)" if near else "; see `deltaspec rules` and `deltaspec requirements`"
    raise InvalidUsage(f"no rule or requirement {name!r}{hint}")


def list_notes(letter: str) -> list[Explained]:
    """Return the errata (`E`) or silent points (`S`) in the order of their numbers.

    Each has the requirements that settle it, and the rules that report it as a divergence.
    """
    requirements = load_requirements().values()
    numbers = {note for each in requirements for note in each.notes} | {rule.divergence for rule in RULES.values()}
    return [
        Explained(
            "note",
            number,
            [rule for rule in RULES.values() if rule.divergence == number],
            [each for each in requirements if number in each.notes],
        )
        for number in sorted(filter(_NOTE.fullmatch, filter(None, numbers)), key=lambda each: int(each[1:]))
        if number.startswith(letter)
    ]


def _render_notes(found: Explained, width: int) -> str:
    """Return a list of notes with their readings."""
    lines = [found.title, ""]
    for note in found.notes:
        texts = [f"{each.id}: {each.reading or each.statement}" for each in note.requirements]
        texts += [f"divergence {rule.code} {rule.name}: {rule.message}" for rule in note.rules]
        for number, text in enumerate(texts):
            lines += wrap_text(f"{'' if number else note.title:<5}{text}", width, indent=" " * 5)
    return "\n".join(lines)


def _render_note(note: Explained, width: int) -> str:
    """Return how an erratum or a silent point of the protocol is read."""
    number, settled, divergences = note.title, note.requirements, note.rules
    lines = [number, ABOUT_NOTES[number[0]]]
    for each in settled:
        lines += ["", *wrap_text(f"{each.id} ({each.section})", width)]
        lines += format_labelled(each.strength.upper(), each.statement, width)
        lines += format_labelled("Reading", each.reading, width) if each.reading else []
    if divergences:
        lines += ["", "Reported as a divergence, which is not an error"]
        lines += [f"  {rule.code} {rule.name}" for rule in divergences]
    return "\n".join(lines)


def _rule_page(rule: Rule, width: int) -> str:
    requirement = rule.requirement
    lines = [
        f"{rule.code} {rule.name}",
        f"{rule.severity} · level {rule.level} · view {rule.view.name} · revisions {', '.join(rule.revisions)}",
        "",
        *wrap_text(rule.message, width),
        "",
        *format_labelled("Why", rule.why, width),
        *format_labelled("Harm", HARMS[rule.harm], width),
        *_render_fix(rule, width),
        "",
    ]
    for identity in rule.requires:
        lines += render_statement(load_requirements()[identity], width)
    if rule.divergence:
        lines += format_labelled(
            "Note", f"the protocol does not decide this ({rule.divergence}): a finding is not an error", width
        )
    elif requirement.strength in ("must", "is"):
        note = f"the protocol says {requirement.strength}: a finding is a {rule.severity}"
        lines += format_labelled("Note", note, width)
    if example := load_log_examples().get(rule.code):
        lines += ["", "In the log", *(f"  {line}" for line in render_log_example(example, width - 2))]
    lines += ["", "Conforms", *(f"  {_format_example(row)}" for row in rule.conforms), "Violates"]
    for row in rule.violates:
        lines += [f"  {_format_example(row)}", f"    differs in {', '.join(list_differences(rule, row))}"]
    nulls = f"the row counts as not checked: {rule.undecided}" if rule.undecided else "the rule does not apply"
    view = f"Reads view {rule.view.name}, one row per {rule.view.grain}. If the result is null, {nulls}."
    lines += ["", *wrap_text(view, width)]
    for name in rule.reads:
        lines += wrap_text(f"  {name}: {rule.view.columns[name].description}", width, indent="      ")
    source = VIEW_SOURCES[rule.view.name]
    lines += ["", f"Module of the rule: {rule.expression.__module__}"]
    lines += ["Functions of deltaspec that fill the view", *(f"  {name}" for name in source.filled_by)]
    lines += ["Steps that evaluate its rules", *(f"  {name}" for name in source.steps)]
    return "\n".join(lines)


def _render_fix(rule: Rule, width: int) -> list[str]:
    """Return the class and the advice of each case, then the steps of the repair."""
    lines = []
    for case in rule.fix_cases:
        lines += format_labelled("Fix", f"[{case.fix_class}] {case.advice}", width)
    if all(case.fix_class == "none" for case in rule.fix_cases):
        return lines
    lines += ["", "Steps of every repair"]
    for number, step in enumerate(list_steps(rule.code, rule.level, "Follow the fix above."), 1):
        command = f" `{step.command}`" if step.command else ""
        lines += wrap_text(f"  {number}. {step.text}{command}", width, indent=" " * 5)
    return lines


def _format_example(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row.items())


def render_rule_list(output_format: str, select: Sequence[str] = (), revision: str | None = None) -> str:
    """Return the rules, as lines or as JSON.

    Args:
        output_format: `text` or `json`.
        select: prefixes of codes; empty for all rules.
        revision: only rules that apply in this revision, with their severity in it.

    Raises:
        InvalidUsage: no rule has one of the prefixes, or no selected rule applies in the revision.
    """
    for code in select:
        if not any(each.startswith(code) for each in RULES):
            raise InvalidUsage(f"no rule code begins with {code!r}; see `deltaspec rules`")
    chosen = [
        rule
        for rule in RULES.values()
        if (not select or rule.code.startswith(tuple(select))) and (revision is None or revision in rule.revisions)
    ]
    if not chosen:
        raise InvalidUsage(f"none of the selected rules applies in {revision}")
    severities = [rule.severity if revision is None else rule.severity_in(revision) for rule in chosen]
    if output_format == "json":
        return json.dumps(
            [
                {
                    "code": rule.code,
                    "name": rule.name,
                    "severity": severity,
                    "level": rule.level,
                    "view": rule.view.name,
                    "requires": list(rule.requires),
                    "revisions": list(rule.revisions),
                    "message": rule.message,
                }
                for rule, severity in zip(chosen, severities, strict=True)
            ],
            indent=2,
        )
    lines = zip(chosen, severities, strict=True)
    return "\n".join(f"{rule.code}  {severity:<10}  {rule.level:<7}  {rule.name}" for rule, severity in lines)
