"""`deltaspec golden draw`: golden cases from drawn tables, as many as a client wants, of the features it works on.

A case depends only on the seed, its number, the restrictions, and `GENERATOR_VERSION`, which its id names.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from deltaspec.errors import InvalidUsage
from deltaspec.golden.build import BuiltCase, build_case
from deltaspec.golden.case_format import Portability
from deltaspec.golden.definition import Defect, GoldenCase
from deltaspec.golden.drawn_defects import DRAWN_DEFECTS, Damage, DrawnDefect
from deltaspec.golden.table_requirements import list_table_requirements
from deltaspec.validation.options import Options, RunSettings
from deltaspec.validation.progress import ignore_progress
from deltaspec.validation.run import run_embedded
from deltaspec_generators.choices import Choices, SeededChoices
from deltaspec_generators.table_files import write_table
from deltaspec_generators.table_uris import TABLE_URI
from deltaspec_generators.tables.corpus import GENERATOR_VERSION
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.restrictions import NoSuchTable, Restrictions, draw_restricted_table

CHAPTER = "drawn"
COMMAND = "deltaspec golden draw"
_ALWAYS_TESTED = "reconciliation.queries-see-live-files"
_NOT_ON_WINDOWS = frozenset('<>:"\\|?*')


class DrawnCases(msgspec.Struct, frozen=True):
    """Golden cases of a seed. Each number is drawn alone, so the order and the number of processes do not matter."""

    seed: int
    restrictions: Restrictions
    refused: float = 0.0
    """Share of the tables that get a second, broken case, which a reader must refuse."""

    @property
    def prefix(self) -> str:
        """First part of the ids: generator version, seed, and a digest of the restrictions."""
        digest = hashlib.sha256(msgspec.json.encode((self.restrictions.given, self.refused))).hexdigest()[:6]
        return f"{CHAPTER}.v{GENERATOR_VERSION}-s{self.seed}-{digest}"

    def build(self, number: int) -> list[BuiltCase]:
        """Build the case of a number, and its broken sibling if it has one.

        Raises:
            InvalidUsage: no table meets the restrictions.
            AssertionError: a drawn table does not conform, which is a defect of the kit.
        """
        choices = SeededChoices(self.seed, number)
        table = self._draw(choices)
        _require_conformance(table, self.restrictions.revision)
        sound = self._describe(number, table)
        cases = [sound]
        if choices.chance(round(self.refused * 1000), 1000):
            cases += _describe_broken(sound, table, choices)
        return [build_case(each, command=COMMAND) for each in cases]

    def draw(self, number: int) -> ReadableTable:
        """Draw the table of a number without building its case. Raises `InvalidUsage` as `build` does."""
        return self._draw(SeededChoices(self.seed, number))

    def _draw(self, choices: Choices) -> ReadableTable:
        try:
            while True:
                table = draw_restricted_table(choices, self.restrictions)
                # Exports cannot replace absolute paths in checkpoints. Cases of a generator version never change, and
                # when this one began, they had no files elsewhere.
                if not (table.files.elsewhere or (_has_absolute_paths(table) and table.files.checkpoints)):
                    return table
        except NoSuchTable as fault:
            raise InvalidUsage(f"{fault}") from None

    def _describe(self, number: int, table: ReadableTable) -> GoldenCase:
        features = sorted(table.versions[-1].state.features)
        title = f"A drawn table with {len(table.versions)} versions; features: {', '.join(features) or 'none'}."
        return GoldenCase(
            f"{self.prefix}-{number:06}",
            title,
            tuple(list_table_requirements(table)) or (_ALWAYS_TESTED,),
            lambda: table,
            since="" if self.restrictions.revision == "current" else self.restrictions.revision,
            until="r2" if any(each.state.row_id_action for each in table.versions) else "",
            portability=_list_obstacles(table),
        )


def _describe_broken(sound: GoldenCase, table: ReadableTable, choices: Choices) -> Iterator[GoldenCase]:
    """Yield a broken sibling of a case, if a defect applies."""
    planned = [(defect, plan) for defect in DRAWN_DEFECTS if (plan := defect.plan(table)) is not None]
    if not planned:
        return
    chosen: tuple[DrawnDefect, Damage] = choices.pick(planned)
    defect, damage = chosen
    yield GoldenCase(
        f"{sound.id}.{defect.name}",
        f"A reader must refuse the table: {defect.text}.",
        (defect.requirement,),
        lambda: table,
        since=sound.since,
        defect=Defect(sound.id, defect.text, damage, defect.accepted),
        portability=sound.portability,
    )


def _list_obstacles(table: ReadableTable) -> tuple[Portability, ...]:
    found: list[Portability] = []
    if any(_NOT_ON_WINDOWS & {*name} for name in table.files.data):
        found.append("posix-names")
    return (*found, "absolute-paths") if _has_absolute_paths(table) else tuple(found)


def _has_absolute_paths(table: ReadableTable) -> bool:
    return any(TABLE_URI in repr(lines) for lines in table.files.commits.values())


def _require_conformance(table: ReadableTable, revision: str) -> None:
    """Raise `AssertionError` if the validator does not find a drawn table conforming."""
    with tempfile.TemporaryDirectory(prefix="deltaspec-") as directory:
        write_table(table.files, Path(directory))
        options = Options.create(level="rows", history="all", allow_outside=True, revision=revision)
        report = run_embedded(directory, options, RunSettings(ignore_progress, None, False, None))
    if report.verdict != "conforms":
        found = [finding.message for finding in report.findings if finding.severity == "violation"]
        found += [f"{each.rule} not checked: {each.reason}" for each in report.checked.not_checked]
        history = "; ".join(table.history)
        raise AssertionError(f"the validator says {report.verdict} of a drawn table: {found}; history: {history}")
