"""Pages of rules, requirements, notes and golden cases, written from the catalogue.

All functions return pages: Markdown by path below the directory of pages.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from planted_faults.caught_by import CAUGHT_BY

from deltaspec.feature_list import render_feature_list
from deltaspec.fix_cases import list_steps
from deltaspec.golden.coverage import compute_coverage as compute_golden_coverage
from deltaspec.golden.definition import GoldenCase, load_cases
from deltaspec.log_examples import (
    LogExample,
    Mark,
    describe_missing,
    describe_more,
    find_marks,
    load_log_examples,
    split_line,
)
from deltaspec.report.text import count
from deltaspec.requirement_coverage import Coverage, coverage, format_revisions
from deltaspec.requirements import Requirement, load_requirements
from deltaspec.rule_pages import ABOUT_NOTES, list_notes
from deltaspec.rules import RULES, Rule
from deltaspec.rules.prefixes import PREFIXES
from deltaspec.validation.rule_docs import build_rule_doc, build_section_url
from planted_tables.faults.all_faults import PLANTED_FAULTS

_CODE = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\*_\[\]|#])")
_MOST_CASES = 12
"""Maximum number of golden cases of a requirement on a page."""
_STRENGTHS = {"must": "MUST", "should": "SHOULD", "may": "MAY", "is": "IS"}
_EXPECTATIONS = {"rows": "rows", "refuse": "refused", "violation": "violation"}
_ABOUT_ALL_NOTES = (
    "Where the protocol contradicts itself or is silent, a requirement states how deltaspec reads it. Where engines "
    "differ and the protocol does not decide, rules report a divergence, which is not an error."
)
_ABOUT_RULES = (
    "{} rules. A rule is one expression over one relation. It finds violations of the requirements that it names. "
    "Below each are its severity, the lowest `--level` that runs it, and the revisions of the protocol in which it "
    "applies."
)


def build_pages() -> dict[str, str]:
    """Return all pages of the catalogue."""
    requirements = coverage()
    cases = compute_golden_coverage().cases
    pages = {"rules/index.md": _render_rule_index()}
    pages |= {f"rules/{code}.md": _render_rule(rule, cases) for code, rule in RULES.items()}
    pages["requirements/index.md"] = _render_chapter_index(requirements.values())
    for chapter, found in _group_by_chapter(requirements.values()).items():
        pages[f"requirements/{chapter}/index.md"] = _render_chapter(chapter, found)
    pages |= {_requirement_page(each): _render_requirement(covered, cases) for each, covered in requirements.items()}
    pages["notes.md"] = _render_notes()
    pages["features.md"] = _render_features()
    return pages | _build_golden_pages()


def _requirement_page(identity: str) -> str:
    return f"requirements/{identity.replace('.', '/', 1)}.md"


def _text(text: str) -> str:
    """Return prose of the catalogue as Markdown: code stays code, and nothing else is markup."""
    parts = _CODE.split(text)
    parts[::2] = [escape(_SPECIAL.sub(r"\\\1", part), quote=False) for part in parts[::2]]
    return "".join(parts)


def _front_matter(title: str, description: str) -> str:
    return f"---\ntitle: {json.dumps(title)}\ndescription: {json.dumps(description)}\n---\n\n"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = list(header)
    lines = [f"| {' | '.join(cells)} |" for cells in (columns, *rows)]
    return "\n".join([lines[0], "|-" * len(columns) + "|", *lines[1:]]) + "\n"


def _bullets(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _small(*facts: str) -> str:
    """Return facts for the end of a cell, on a separate line."""
    return f"<small>{' · '.join(facts)}</small>"


def _render_rule_index() -> str:
    by_prefix: dict[str, list[Rule]] = defaultdict(list)
    for rule in RULES.values():
        by_prefix[rule.prefix].append(rule)
    parts = [
        _front_matter("Rules", f"{len(RULES)} rules of deltaspec"),
        f"# Rules\n\n{_ABOUT_RULES.format(len(RULES))}\n",
    ]
    for prefix, rules in by_prefix.items():
        parts.append(f"\n## {prefix}: {PREFIXES[prefix].subject}\n\n")
        parts.append(
            _table(
                ("code", "finds"),
                (
                    (
                        f"[{each.code}]({each.code}.md)",
                        _text(each.message) + _small(each.severity, each.level, format_revisions(each.revisions)),
                    )
                    for each in rules
                ),
            )
        )
    return "".join(parts)


def _render_rule(rule: Rule, cases: Mapping[str, tuple[GoldenCase, ...]]) -> str:
    doc = build_rule_doc(rule.code)
    nulls = f"the row counts as not checked: {rule.undecided}" if rule.undecided else "the rule does not apply"
    caught = [name for name, code in CAUGHT_BY.items() if code == rule.code]
    parts = [
        _front_matter(f"{rule.code} {rule.name}", rule.message),
        f"# {rule.code} {rule.name}\n\n**{_text(rule.message)}**\n\n",
        _facts(
            severity=rule.severity,
            level=f"`{rule.level}`",
            revisions=format_revisions(rule.revisions),
            clock="needs `--clock`" if rule.needs_clock else "",
        ),
        "\n## Requirement\n\n",
        *(_render_statement(load_requirements()[each], "../") for each in rule.requires),
    ]
    if rule.divergence:
        link = _link_note(rule.divergence, "../")
        parts.append(f"\nThe protocol does not decide this ({link}): a finding is not an error.\n")
    parts += ["\n## Why it matters\n\n", _text(doc.why), "\n\n## How to fix it\n\n", _render_fix(rule)]
    if example := load_log_examples().get(rule.code):
        parts += ["\n## In the log\n\n", _render_log_example(example)]
    parts += ["\n## Examples\n\n", _render_examples(rule)]
    parts.append(
        f"\nA row of the view `{rule.view.name}` is one row per {_text(rule.view.grain)}. If the result is null, "
        f"{nulls}. The rule reads:\n\n"
    )
    parts.append(_bullets(f"`{name}`: {_text(rule.view.columns[name].description)}" for name in rule.reads))
    parts.append("\n## How it is tested\n\n")
    parts.append(_render_planted_faults(caught, "../", rules=False))
    parts.append(_render_cases({case.id: case for each in rule.requires for case in cases.get(each, ())}, "../"))
    parts.append(f"\nOn the command line: `deltaspec explain {rule.code}`.\n")
    return "".join(parts)


def _render_fix(rule: Rule) -> str:
    """Return the class and the advice of each case, then the steps of the repair."""
    parts = [_bullets(f"**{case.fix_class}**: {_text(case.advice)}" for case in rule.fix_cases)]
    if any(case.fix_class != "none" for case in rule.fix_cases):
        parts.append("\nSteps of every repair:\n\n")
        for number, step in enumerate(list_steps(rule.code, rule.level, "Follow the fix above."), 1):
            parts.append(f"{number}. {step.text}" + (f" `{step.command}`" if step.command else "") + "\n")
    return "".join(parts)


def _facts(**facts: str) -> str:
    shown = (f"<span>{name} <b markdown>{value}</b></span>" for name, value in facts.items() if value)
    return f'<p class="facts" markdown>{" ".join(shown)}</p>\n'


def _render_statement(requirement: Requirement, up: str) -> str:
    link = f"[{requirement.id}]({up}{_requirement_page(requirement.id)})"
    return _quote_statement(requirement, up, link) + "\n"


def _quote_statement(requirement: Requirement, up: str, *links: str) -> str:
    """Return the statement, our interpretation, and the source as a quotation."""
    section = _text(requirement.section)
    if "current" in requirement.revisions:
        section = f"[{section}]({build_section_url(requirement.section)})"
    lines = [f"**{_STRENGTHS[requirement.strength]}** {_text(requirement.statement)}"]
    if requirement.reading:
        lines.append(f"**Reading** {_text(requirement.reading)}")
    settles = ["settles " + ", ".join(_link_note(each, up) for each in requirement.notes)] if requirement.notes else []
    return "".join(f"> {line}\n>\n" for line in [*lines, _small(*links, f"section {section}", *settles)])


def _link_note(number: str, up: str) -> str:
    return f"[{number}]({up}notes.md#{number.lower()})"


def _render_examples(rule: Rule) -> str:
    rows = [("conforms", row) for row in rule.conforms] + [("violates", row) for row in rule.violates]
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        f'<tr class="{outcome}"><td>{outcome}</td>{"".join(_render_cell(row, name) for name in columns)}</tr>\n'
        for outcome, row in rows
    )
    return (
        f'<div class="scroll"><table class="examples">\n<thead><tr><th>row</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table></div>\n"
    )


def _render_log_example(example: LogExample) -> str:
    """Return lines of a sound table and of one that violates the rule, with marked differences."""
    html = ""
    for pair in example.pairs:
        html += f"<p><code>{escape(pair.file)}</code></p>\n"
        marks, other_marks = find_marks(pair.conforms, pair.violates)
        for outcome, text, differs in (("conforms", pair.conforms, marks), ("violates", pair.violates, other_marks)):
            line = escape(describe_missing(pair)) if text is None else _mark_line(text, differs)
            if text is not None and pair.file_lines > 1:
                line += f"\n({count(pair.file_lines - 1, 'more line')})"
            html += f'<pre class="{outcome}"><b>{outcome}</b> <code>{line}</code></pre>\n'
    more = describe_more(example)
    return f'<div class="log-lines">\n{html}</div>\n' + (f"\n{more}\n" if more else "")


def _mark_line(text: str, marks: Sequence[Mark]) -> str:
    parts = split_line(text, marks)
    return "".join(f"<mark>{escape(each.text)}</mark>" if each.differs else escape(each.text) for each in parts)


def _render_cell(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        return "<td></td>"
    return f"<td><code>{escape(json.dumps(row[name], ensure_ascii=False))}</code></td>"


def _render_planted_faults(names: Iterable[str], up: str, *, rules: bool) -> str:
    found = list(names)
    if not found:
        return ""
    lines = []
    for name in found:
        code = CAUGHT_BY.get(name)
        by = f", found by [{code}]({up}rules/{code}.md)" if rules and code else ""
        lines.append(f"{_text(name.replace('_', ' '))} (level `{PLANTED_FAULTS[name].level}`{by})")
    text = "Planted faults: tables that break the requirement and nothing else. No other rule may find them.\n\n"
    return text + _bullets(lines)


def _render_cases(cases: Mapping[str, GoldenCase], up: str) -> str:
    if not cases:
        return ""
    shown = [
        f"[`{each.id}`]({up}golden/{each.chapter}.md#{_case_anchor(each)}): {_text(each.title)}"
        for each in list(cases.values())[:_MOST_CASES]
    ]
    if more := len(cases) - len(shown):
        shown.append(f"and {more} more")
    return "\nGolden cases that ask readers about it:\n\n" + _bullets(shown)


def _group_by_chapter(found: Iterable[Coverage]) -> dict[str, list[Coverage]]:
    chapters: dict[str, list[Coverage]] = defaultdict(list)
    for each in found:
        chapters[each.requirement.chapter].append(each)
    return chapters


def _render_chapter_index(found: Iterable[Coverage]) -> str:
    chapters = _group_by_chapter(found)
    total = sum(map(len, chapters.values()))
    rows = (
        (
            f"[{chapter}]({chapter}/index.md)",
            str(len(each)),
            str(len({code for covered in each for code in covered.rules})),
            str(sum(bool(covered.uncovered) for covered in each) or ""),
        )
        for chapter, each in chapters.items()
    )
    return (
        _front_matter("Requirements", f"{total} normative statements of the Delta protocol")
        + f"# Requirements\n\n{total} normative statements of the Delta protocol in our own words, in {len(chapters)} "
        "chapters. *Not covered* counts those that nothing covers in at least one revision of the protocol.\n\n"
        + _table(("chapter", "requirements", "rules", "not covered"), rows)
    )


def _render_chapter(chapter: str, found: list[Coverage]) -> str:
    rows = (
        (
            f"[{each.requirement.id.partition('.')[2]}]({each.requirement.id.partition('.')[2]}.md)",
            _text(each.requirement.statement)
            + _small(
                _STRENGTHS[each.requirement.strength],
                each.requirement.actor,
                format_revisions(each.requirement.revisions),
                *(f"[{code}](../../rules/{code}.md)" for code in each.rules),
            ),
        )
        for each in found
    )
    return (
        _front_matter(f"Requirements: {chapter}", f"Requirements of the chapter {chapter}")
        + f"# Requirements: {chapter}\n\n"
        + _table(("requirement", "statement"), rows)
    )


def _render_requirement(covered: Coverage, cases: Mapping[str, tuple[GoldenCase, ...]]) -> str:
    each, up = covered.requirement, "../../"
    parts = [
        _front_matter(each.id, each.statement),
        f"# {each.id}\n\n",
        _facts(
            strength=_STRENGTHS[each.strength],
            actor=each.actor,
            check=each.check,
            revisions=format_revisions(each.revisions),
        ),
        "\n",
        _quote_statement(each, up),
        "\n## How it is covered\n\n",
    ]
    if covered.uncovered:
        parts.append(f"Nothing covers it in {format_revisions(covered.uncovered)}.\n\n")
    if each.check == "behaviour":
        parts.append("Only the behavior of an implementation can show a breach.\n\n")
    if covered.rules:
        parts.append("Rules:\n\n")
        parts.append(
            _bullets(f"[{code}]({up}rules/{code}.md) {_text(RULES[code].message)}" for code in covered.rules) + "\n"
        )
    if covered.checks:
        parts.append("Checks of the suites that ask engines:\n\n")
        parts.append(_bullets(f"`{name}`" for name in covered.checks) + "\n")
    if covered.reason:
        parts.append(f"Not testable from outside: {_text(covered.reason)}\n\n")
    if covered.permissions:
        parts.append("Sound tables that use it and have no findings:\n\n")
        parts.append(_bullets(_text(name.replace("_", " ")) for name in covered.permissions) + "\n")
    faults = (name for name, found in PLANTED_FAULTS.items() if found.requirement == each.id)
    parts.append(_render_planted_faults(faults, up, rules=True))
    parts.append(_render_cases({case.id: case for case in cases.get(each.id, ())}, up))
    parts.append(f"\nOn the command line: `deltaspec explain {each.id}`.\n")
    return "".join(parts)


def _render_features() -> str:
    """Return the page of table features: the output of `deltaspec features`."""
    front = _front_matter("Table features", "Every table feature that the protocol, a proposal or an engine knows")
    about = "Findings about proposals are divergences (S44). `deltaspec features` prints this table."
    return f"{front}# Table features\n\n{about}\n\n{render_feature_list('markdown')}\n"


def _render_notes() -> str:
    """Return the page of errata and silent points: the requirements that settle each of them, and its rules."""
    parts = [
        _front_matter("Errata and silent points", "How deltaspec reads what the Delta protocol leaves open"),
        f"# Errata and silent points\n\n{_ABOUT_ALL_NOTES}\n",
    ]
    for kind, about in ABOUT_NOTES.items():
        parts.append(f"\n## {about[0].upper()}{about[1:]}\n")
        for note in list_notes(kind):
            parts.append(f"\n### {note.title}\n\n")
            parts.append(
                _bullets(
                    f"[`{each.id}`]({_requirement_page(each.id)}): {_text(each.reading or each.statement)}"
                    for each in note.requirements
                )
            )
            parts.append(
                _bullets(
                    f"reported as a divergence by [{each.code}](rules/{each.code}.md): {_text(each.message)}"
                    for each in note.rules
                )
            )
    return "".join(parts)


def _case_anchor(case: GoldenCase) -> str:
    return case.id.replace(".", "-")


def _build_golden_pages() -> dict[str, str]:
    """Return the list of chapters of golden cases, and a page for each."""
    chapters: dict[str, list[GoldenCase]] = defaultdict(list)
    for case in load_cases().values():
        chapters[case.chapter].append(case)
    total = sum(map(len, chapters.values()))
    kinds = ("rows", "refused", "violation")
    index = (
        _front_matter("Golden cases", f"{total} golden tables with known answers")
        + f"# Golden cases\n\n{total} tables with known answers in {len(chapters)} chapters. [Golden tables]"
        "(../golden-format.md) describes their format.\n\n"
        + _table(
            ("chapter", "cases", *kinds),
            (
                (
                    f"[{chapter}]({chapter}.md)",
                    str(len(cases)),
                    *(str(sum(_expectation(case) == kind for case in cases) or "") for kind in kinds),
                )
                for chapter, cases in chapters.items()
            ),
        )
    )
    pages = {"golden/index.md": index}
    for chapter, cases in chapters.items():
        rows = (
            (
                f'<a id="{_case_anchor(case)}"></a>`{case.id}`',
                _text(case.title)
                + (f" *Defect: {_text(case.defect.text)}.*" if case.defect else "")
                + _small(_expectation(case), *(f"[{each}](../{_requirement_page(each)})" for each in case.requires)),
            )
            for case in cases
        )
        pages[f"golden/{chapter}.md"] = (
            _front_matter(f"Golden cases: {chapter}", f"Golden cases of the chapter {chapter}")
            + f"# Golden cases: {chapter}\n\n"
            + _table(("case", "table"), rows)
        )
    return pages


def _expectation(case: GoldenCase) -> str:
    if case.defect is None:
        return "rows"
    return "refused" if case.defect.accepted else "violation"
