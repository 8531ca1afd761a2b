"""What the kit can say of a rule or a requirement, from the registry and the catalogue."""

import json
from difflib import get_close_matches
from typing import Any

from deltaspec.errors import InvalidUsage
from deltaspec.report.terminal import RuleWords
from deltaspec.report.text import wrapped
from deltaspec.requirements import Requirement, requirements
from deltaspec.rules import RULES, Rule

_WIDTH = 100


def words_of(code: str) -> RuleWords:
    """What a report says of a rule beside its findings."""
    rule = RULES[code]
    requirement = rule.requirement
    level = f"diverge {rule.divergence}" if rule.divergence else requirement.level
    return RuleWords(requirement.statement, requirement.section, level, rule.why, rule.fix)


def explanation(name: str) -> str:
    """The page of a rule, by code or name, or of a requirement, by id.

    Raises:
        InvalidUsage: there is none of that name; names the nearest.
    """
    by_name = {rule.name: rule for rule in RULES.values()}
    rule = RULES.get(name.upper()) or by_name.get(name)
    if rule is not None:
        return _rule_page(rule)
    if name in requirements():
        return _requirement_page(requirements()[name])
    near = get_close_matches(name, [*RULES, *by_name, *requirements()], 1) or get_close_matches(name.upper(), RULES, 1)
    hint = f" (did you mean {near[0]}?)" if near else "; see `deltaspec rules` and `deltaspec requirements`"
    raise InvalidUsage(f"no rule or requirement {name!r}{hint}")


def _rule_page(rule: Rule) -> str:
    requirement = rule.requirement
    lines = [
        f"{rule.code} {rule.name}",
        f"{rule.severity} · level {rule.level} · view {rule.view.name} · revisions {', '.join(rule.revisions)}",
        "",
        *wrapped(rule.message, _WIDTH),
        "",
        *_wrapped("Why", rule.why),
        *_wrapped("Fix", rule.fix),
        "",
    ]
    for identity in rule.requires:
        lines += _statement(requirements()[identity])
    if rule.divergence:
        lines += _wrapped("Note", f"the text does not decide ({rule.divergence}): this is never an error")
    elif requirement.level in ("must", "is"):
        lines += _wrapped("Note", f"the text says {requirement.level}: a finding is a violation")
    lines += ["", *_examples("Conforms", rule.conforms), *_examples("Violates", rule.violates)]
    nulls = "the rule does not apply there" if rule.null == "not applicable" else "the row counts as not checked"
    looks = f"Looks at {rule.view.name}: one row per {rule.view.grain}. Where a value is null, {nulls}."
    lines += ["", *wrapped(looks, _WIDTH)]
    for name in rule.reads:
        lines += wrapped(f"  {name}: {rule.view.columns[name].says}", _WIDTH, indent="      ")
    return "\n".join(lines)


def _statement(requirement: Requirement) -> list[str]:
    lines = _wrapped(requirement.level.upper(), f"{requirement.statement} ({requirement.section}; {requirement.id})")
    if requirement.reading:
        lines += _wrapped("Read", requirement.reading)
    return lines


def _examples(title: str, rows: list[dict[str, Any]]) -> list[str]:
    shown = [
        ", ".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in row.items()) for row in rows
    ]
    return [title, *(f"  {row}" for row in shown)]


def _requirement_page(requirement: Requirement) -> str:
    checking = [rule for rule in RULES.values() if requirement.id in rule.requires]
    lines = [
        requirement.id,
        f"{requirement.level} · {requirement.actor} · revisions {', '.join(requirement.revisions)}",
        "",
        *_statement(requirement),
        "",
        "Checked by" if checking else "No rule checks it: a table cannot show it, or not at the levels that exist.",
        *(f"  {rule.code} {rule.name}" for rule in checking),
        "",
        f"Covers {', '.join(requirement.sources)}",
    ]
    return "\n".join(lines)


def _wrapped(label: str, text: str) -> list[str]:
    return wrapped(f"{label:<8}{text}", _WIDTH, indent=" " * 8)


def rule_list(form: str) -> str:
    """Every rule, as lines or as JSON."""
    if form == "json":
        return json.dumps(
            [
                {
                    "code": rule.code,
                    "name": rule.name,
                    "severity": rule.severity,
                    "level": rule.level,
                    "view": rule.view.name,
                    "requires": list(rule.requires),
                    "revisions": list(rule.revisions),
                    "message": rule.message,
                }
                for rule in RULES.values()
            ],
            indent=2,
        )
    return "\n".join(f"{rule.code}  {rule.severity:<10}  {rule.name}" for rule in RULES.values())


def requirement_list(chapter: str | None, form: str) -> str:
    """The catalogue, or one chapter of it, with the rules that check each requirement.

    Raises:
        InvalidUsage: no such chapter.
    """
    chapters = sorted({requirement.chapter for requirement in requirements().values()})
    if chapter is not None and chapter not in chapters:
        near = get_close_matches(chapter, chapters, 1)
        hint = f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(chapters)}"
        raise InvalidUsage(f"no chapter {chapter!r}{hint}")
    chosen = [each for each in requirements().values() if chapter in (None, each.chapter)]
    checking = {each.id: [rule.code for rule in RULES.values() if each.id in rule.requires] for each in chosen}
    if form == "json":
        fields = ("id", "section", "revisions", "level", "actor", "statement", "reading")
        return json.dumps(
            [{**{name: getattr(each, name) for name in fields}, "rules": checking[each.id]} for each in chosen],
            indent=2,
        )
    lines = [f"{each.id:<45} {each.level:<7} {', '.join(checking[each.id]) or '-'}" for each in chosen]
    return "\n".join(piece for line in lines for piece in wrapped(line, _WIDTH, indent=" " * 54))
