"""Definitions of golden cases, and the loader of `golden-tables/<chapter>/cases.py`."""

import importlib.util
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from deltaspec.candidates.messages import AcceptedErrors
from deltaspec.errors import InvalidUsage
from deltaspec.golden.case_format import Portability
from deltaspec.installation import GOLDEN_TABLES, find_checkout
from deltaspec.requirements import REVISIONS, load_requirements
from deltaspec_generators.table_files import TableFiles
from deltaspec_generators.table_history.written_table import WrittenTable
from deltaspec_generators.tables.readable import ReadableTable

ROOT = (find_checkout() or Path(__file__).parents[3]) / GOLDEN_TABLES


class Defect(msgspec.Struct, frozen=True):
    """The fault in the table of a broken case."""

    twin: str
    """Id of the valid case that it was made from."""
    text: str
    """Difference to the twin, as a clause: "commit 1 is missing"."""
    damage: Callable[[TableFiles], None]
    """Turn the files of the twin into the broken table."""
    accepted: AcceptedErrors = ()
    """Errors with which a reader must refuse the table; empty if it may read it."""
    code: str = ""
    """Reason of the refusal."""


class GoldenCase(msgspec.Struct, frozen=True):
    """A golden case: the builder of its table, and further questions. Everything else follows from the table."""

    id: str
    title: str
    requires: tuple[str, ...]
    """Requirements that the case is about; for a broken case, the violated one first."""
    build_table: Callable[[], WrittenTable | ReadableTable] | None
    """Build a valid table; None for a broken case whose twin is another case of the checkout."""
    meaning: int = 1
    since: str = ""
    """First revision that defines everything in the table; by default, the first revision of the requirements."""
    until: str = ""
    """Last revision under which the table is valid, if later ones define its form in another way."""
    defect: Defect | None = None
    where: tuple[tuple[Any, ...], ...] = ()
    """Further conditions to ask with: the arguments of `Condition`."""
    bugs: tuple[str, ...] = ()
    """Known bugs of engines that the case would have found."""
    portability: tuple[Portability, ...] = ()
    predicates: bool = True
    """Whether to ask with conditions that follow from the rows."""

    @property
    def chapter(self) -> str:
        return self.id.partition(".")[0]

    @property
    def revision(self) -> str:
        """First revision of the protocol under which the answer holds."""
        if self.since:
            return self.since
        known = load_requirements()
        return max((known[each].revisions[0] for each in self.requires), key=REVISIONS.index)

    def build(self) -> ReadableTable:
        """Build the table; for a broken case, its twin."""
        if self.build_table is None:
            assert self.defect is not None
            return load_cases()[self.defect.twin].build()
        built = self.build_table()
        return built.describe() if isinstance(built, WrittenTable) else built

    def build_broken(self) -> TableFiles:
        """Build the broken table of a broken case."""
        assert self.defect is not None
        files = deepcopy(self.build().files)
        self.defect.damage(files)
        return files


class Chapter(msgspec.Struct):
    """The cases of a folder of golden tables.

    chapter = Chapter("log")

    @chapter.case("empty", "A table without files.", "metadata.in-first-version")
    def build_empty() -> WrittenTable:
        return WrittenTable([("id", "long")])
    """

    name: str
    cases: list[GoldenCase] = msgspec.field(default_factory=list)

    def case(
        self, name: str, title: str, *requires: str, **options: Any
    ) -> Callable[[Callable[[], WrittenTable | ReadableTable]], Any]:
        """Register a valid case; `options` are fields of `GoldenCase`."""

        def register(build: Callable[[], WrittenTable | ReadableTable]) -> Any:
            self.cases.append(GoldenCase(f"{self.name}.{name}", title, requires, build, **options))
            return build

        return register

    def broken(
        self,
        name: str,
        title: str,
        *requires: str,
        twin: str,
        defect: str,
        accepted: AcceptedErrors = (),
        code: str = "",
        **options: Any,
    ) -> Callable[[Callable[[TableFiles], None]], Any]:
        """Register a broken case. The function damages the files of the twin, an id of this chapter or a full one."""

        def register(damage: Callable[[TableFiles], None]) -> Any:
            other = twin if "." in twin else f"{self.name}.{twin}"
            found = Defect(other, defect, damage, accepted, code)
            self.cases.append(GoldenCase(f"{self.name}.{name}", title, requires, None, defect=found, **options))
            return damage

        return register


def has_definitions(root: Path = ROOT) -> bool:
    """Return whether this is a checkout with the definitions of golden cases."""
    return any(root.glob("*/cases.py"))


@cache
def load_cases(root: Path = ROOT) -> dict[str, GoldenCase]:
    """Load every case of a checkout by id, ordered by chapter and position in its file.

    Raises:
        InvalidUsage: There are no definitions, as in an installed package, which has only the built tables.
    """
    paths = sorted(root.glob("*/cases.py"))
    if not paths:
        raise InvalidUsage(f"{root} has no definitions of golden cases; they are part of a checkout of deltaspec only")
    found: dict[str, GoldenCase] = {}
    for path in paths:
        for case in _load_chapter(path).cases:
            if case.id in found:
                raise ValueError(f"two golden cases have the id {case.id}")
            found[case.id] = case
    return found


def _load_chapter(path: Path) -> Chapter:
    name = path.parent.name
    spec = importlib.util.spec_from_file_location(f"golden_cases_{name.replace('-', '_')}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    chapter: Chapter = module.chapter
    if chapter.name != name:
        raise ValueError(f"{path}: the chapter is called {chapter.name}, its folder {name}")
    return chapter
