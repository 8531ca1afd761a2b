"""Writes `conformance/COVERAGE.md`: what the model, the rules and the mutations know of each chapter and revision.

python -m project.coverage_page      (in conformance/tests; `nox -s coverage` does it)
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutations.kill_table import find_revisions

import deltaspec.model
from deltaspec.requirement_coverage import Coverage, coverage
from deltaspec.requirements import REVISIONS
from deltaspec_generators.mutations.all_mutations import MUTATIONS

PAGE = Path(__file__).parents[2] / "COVERAGE.md"
MODEL = Path(str(deltaspec.model.__file__)).parent
HEAD = """# Coverage

Computed from the catalogue, the docstrings of the model, the rules, the permissions and the mutations; a test holds
this page to what they say, and `nox -s coverage` writes it anew. A cell is a chapter in a revision:

    M/N · R · D/S · T

- **model** M/N: of the N statements that hold in the revision, those whose section a module of the model names as its
  source.
- **rules** R: asked in the revision.
- **decided** D/S: of the S statements that a log or data files can show, those that a rule looks after or, where they
  permit or define, a table on which the kit is silent. The others of the N are of behaviour: a candidate breaks them.
- **planted** T: mutations that one of those rules finds in the revision, and sound tables that use what is permitted.

"""


@dataclass(frozen=True)
class Cell:
    """A chapter in one revision."""

    statements: int
    modelled: int
    rules: int
    shown: int
    decided: int
    planted: int

    def __str__(self) -> str:
        return f"{self.modelled}/{self.statements} · {self.rules} · {self.decided}/{self.shown} · {self.planted}"


def sources() -> dict[str, set[str]]:
    """What each module of the model names as its sources, in lower case."""
    return {path.stem: set(_sources_in(ast.parse(path.read_text("utf-8")))) for path in sorted(MODEL.glob("*.py"))}


def _sources_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = " ".join((ast.get_docstring(node) or "").split())
            yield from (each.lower() for each in re.findall(r"Source: (.*?)(?:\.(?= [A-Z])|\.?$)", text))


_OF_A_CHAPTER = re.compile(r"(?:reader|writer) requirements? for |(?: \(requirements for writers\))")
"""What headings add to the name of the chapter that they belong to."""


def modules_of(section: str, named: dict[str, set[str]]) -> list[str]:
    """Modules of the model whose sources name a section; a statement of two chapters stands under both headings."""
    headings = [_OF_A_CHAPTER.sub("", each.strip().lower()) for each in section.split(";")]
    found = [module for module, texts in named.items() if any(each in text for text in texts for each in headings)]
    return sorted(found)


def chapters() -> dict[str, list[Coverage]]:
    """Requirements and what covers them, by chapter."""
    found: dict[str, list[Coverage]] = defaultdict(list)
    for identity, each in coverage().items():
        found[identity.partition(".")[0]].append(each)
    return dict(sorted(found.items()))


def planted_in() -> dict[tuple[str, str], int]:
    """How many mutations break a requirement in a revision."""
    found: dict[tuple[str, str], int] = defaultdict(int)
    for mutation in MUTATIONS.values():
        for revision in find_revisions(mutation):
            found[mutation.requirement, revision] += 1
    return found


def cell(
    chapter: list[Coverage], revision: str, named: dict[str, set[str]], planted: dict[tuple[str, str], int]
) -> Cell | None:
    """A chapter in a revision; None where it has no statement in it."""
    held = [each for each in chapter if revision in each.revisions]
    if not held:
        return None
    shown = [each for each in held if each.requirement.check != "behaviour"]
    covering = [each.revisions[revision] for each in held]
    permitted = {name for each in covering for name in each.permissions}
    return Cell(
        statements=len(held),
        modelled=sum(bool(modules_of(each.requirement.section, named)) for each in held),
        rules=len({code for each in covering for code in each.rules}),
        shown=len(shown),
        decided=sum(bool(each.revisions[revision]) for each in shown),
        planted=sum(planted.get((each.requirement.id, revision), 0) for each in held) + len(permitted),
    )


def render_page() -> str:
    """The whole text; the last line has the sums, and rules that serve several chapters count once there."""
    planted, named = planted_in(), sources()
    lines = [HEAD + f"| chapter | {' | '.join(REVISIONS)} | modules of the model |", "|-" * (len(REVISIONS) + 2) + "|"]
    for name, chapter in chapters().items():
        cells = [cell(chapter, revision, named, planted) for revision in REVISIONS]
        modules = sorted({module for each in chapter for module in modules_of(each.requirement.section, named)})
        lines.append(f"| {name} | {' | '.join(str(each or '–') for each in cells)} | {', '.join(modules)} |")
    every = [each for chapter in chapters().values() for each in chapter]
    cells = [cell(every, revision, named, planted) for revision in REVISIONS]
    lines.append(f"| **all** | {' | '.join(str(each) for each in cells)} | {len(named)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render_page(), "utf-8")
