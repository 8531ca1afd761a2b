"""Write `conformance/COVERAGE.md`: coverage of each chapter and revision by model, rules and planted faults.

Run `nox -s coverage`, or `python -m project.coverage_page` in conformance/tests.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planted_faults.kill_table import find_revisions

import deltaspec.model
import deltaspec.protocol
from deltaspec.requirement_coverage import Coverage, coverage, format_revisions
from deltaspec.requirements import REVISIONS
from deltaspec.suites.coverage import NOT_OF_EARLIER
from planted_tables.faults.all_faults import PLANTED_FAULTS

PAGE = Path(__file__).parents[2] / "COVERAGE.md"
MODEL = [Path(str(package.__file__)).parent for package in (deltaspec.protocol, deltaspec.model)]
"""The model, and the facts that it is made of."""
HEAD = """# Coverage

`nox -s coverage` generates this page from the catalogue, the docstrings of the model, the rules, the permissions and
the planted faults. A test fails if it is out of date. Each cell describes one chapter in one revision:

    M/N · R · D/S · E/B · T

- **model** M/N: the revision has N statements; for M of them a module of `protocol` or `model` names the section as its
  source.
- **rules** R: number of rules for the revision.
- **decided** D/S: a log or data files can show S of the statements; D of them have a rule or, if they permit or define
  something, a sound table without findings.
- **tested** E/B: the other B statements concern the behavior of an engine; the suites or golden cases test E of them.
- **planted** T: faults that one of these rules catches in the revision, plus sound tables that use a permission.

"""


@dataclass(frozen=True)
class Cell:
    """A chapter in one revision."""

    statements: int
    modeled: int
    rules: int
    visible: int
    decided: int
    tested: int
    planted: int

    def __str__(self) -> str:
        behavior = f"{self.tested}/{self.statements - self.visible}"
        parts = (
            f"{self.modeled}/{self.statements}",
            self.rules,
            f"{self.decided}/{self.visible}",
            behavior,
            self.planted,
        )
        return " · ".join(map(str, parts))


def collect_sources() -> dict[str, set[str]]:
    """Return the sources that each module of the model names, in lower case."""
    modules = [path for root in MODEL for path in sorted(root.rglob("*.py")) if path.name != "__init__.py"]
    found: dict[str, set[str]] = {}
    for path in modules:  # a module of the model may have the name of one of `protocol`
        found.setdefault(path.stem, set()).update(_iter_sources(ast.parse(path.read_text("utf-8"))))
    return found


def _iter_sources(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = " ".join((ast.get_docstring(node) or "").split())
            yield from (each.lower() for each in re.findall(r"Source: (.*?)(?:\.(?= [A-Z])|\.?$)", text))


_HEADING_SUFFIX = re.compile(r"(?:reader|writer) requirements? for |(?: \(requirements for writers\))")
"""Parts of headings that are not part of the chapter's name."""


def find_modules(section: str, sources: dict[str, set[str]]) -> list[str]:
    """Return the modules of the model that name a section, or one of several separated by semicolons, as source."""
    headings = [_HEADING_SUFFIX.sub("", each.strip().lower()) for each in section.split(";")]
    found = [module for module, texts in sources.items() if any(each in text for text in texts for each in headings)]
    return sorted(found)


def group_by_chapter() -> dict[str, list[Coverage]]:
    """Return the coverage of all requirements by chapter."""
    found: dict[str, list[Coverage]] = defaultdict(list)
    for identity, each in coverage().items():
        found[identity.partition(".")[0]].append(each)
    return dict(sorted(found.items()))


def count_planted_faults() -> dict[tuple[str, str], int]:
    """Count the planted faults that break a requirement in a revision."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for fault in PLANTED_FAULTS.values():
        for revision in find_revisions(fault):
            found[fault.requirement, revision] += 1
    return found


def build_cell(
    chapter: list[Coverage], revision: str, sources: dict[str, set[str]], fault_counts: dict[tuple[str, str], int]
) -> Cell | None:
    """Build the cell of a chapter in a revision; None if the chapter has no statement there."""
    statements = [each for each in chapter if revision in each.revisions]
    if not statements:
        return None
    visible = [each for each in statements if each.requirement.check != "behaviour"]
    covering = [each.revisions[revision] for each in statements]
    permitted = {name for each in covering for name in each.permissions}
    return Cell(
        statements=len(statements),
        modeled=sum(bool(find_modules(each.requirement.section, sources)) for each in statements),
        rules=len({code for each in covering for code in each.rules}),
        visible=len(visible),
        decided=sum(bool(each.revisions[revision]) for each in visible),
        tested=sum(bool(each.revisions[revision]) for each in statements if each not in visible),
        planted=sum(fault_counts.get((each.requirement.id, revision), 0) for each in statements) + len(permitted),
    )


def render_page() -> str:
    """Render the page. The last line has the totals, where a rule of several chapters counts once."""
    fault_counts, sources = count_planted_faults(), collect_sources()
    lines = [HEAD + f"| chapter | {' | '.join(REVISIONS)} | modules of the model |", "|-" * (len(REVISIONS) + 2) + "|"]
    for name, chapter in group_by_chapter().items():
        cells = [build_cell(chapter, revision, sources, fault_counts) for revision in REVISIONS]
        modules = sorted({module for each in chapter for module in find_modules(each.requirement.section, sources)})
        lines.append(f"| {name} | {' | '.join(str(each or '–') for each in cells)} | {', '.join(modules)} |")
    every = [each for chapter in group_by_chapter().values() for each in chapter]
    cells = [build_cell(every, revision, sources, fault_counts) for revision in REVISIONS]
    lines.append(f"| **all** | {' | '.join(str(each) for each in cells)} | {len(sources)} |")
    return "\n".join([*lines, *_render_untested(every)]) + "\n"


def _render_untested(every: list[Coverage]) -> list[str]:
    """Return the table of requirements that nothing tests in a revision, each with its reason."""
    untested = [each for each in every if each.uncovered and each.reason != NOT_OF_EARLIER]
    rows = [f"| {each.requirement.id} | {format_revisions(each.uncovered)} | {each.reason} |" for each in untested]
    text = f"No test of an engine from outside can show {len(untested)} requirements."
    table = ["## Tested by nothing", "", text, "", "| requirement | revisions | reason |", "|-|-|-|", *rows]
    earlier = [each for each in every if each.uncovered and each.reason == NOT_OF_EARLIER]
    rows = [f"| {each.requirement.id} | {format_revisions(each.uncovered)} |" for each in earlier]
    text = "Drawn tables of earlier revisions (`deltaspec test --revision`) do not show these requirements:"
    return ["", *table, "", "## Tested in the current revision only", "", text, "", "| requirement | not tested in |",
            "|-|-|", *rows]  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(render_page(), "utf-8")
