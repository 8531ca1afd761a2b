"""Tables under test on disk: drawn tables, written ones (sound, or broken with a good twin), golden cases."""

import re
import shutil
from pathlib import Path

import msgspec
from msgspec.structs import replace

from deltaspec.candidates.messages import ACCEPTED_ERRORS
from deltaspec.golden.definition import GoldenCase, load_cases
from deltaspec.protocol.revisions import Revision
from deltaspec.suites.checks import CATALOG, BrokenTable, TableUnderTest
from deltaspec.suites.imported_subjects import ImportedTables
from deltaspec.suites.rare_tables import RARE_TABLES
from deltaspec.suites.sound_tables import SOUND_TABLES
from deltaspec.suites.write_history import HistoryUnderTest
from deltaspec_generators.catalog_tables import CATALOG_TABLES
from deltaspec_generators.choices import SeededChoices
from deltaspec_generators.faulty_tables import FAULTY_TABLES
from deltaspec_generators.histories.written import WRITTEN_HISTORIES
from deltaspec_generators.table_files import TableFiles, write_table
from deltaspec_generators.tables.catalog_managed import draw_catalog_managed_table
from deltaspec_generators.tables.corpus import draw_table
from deltaspec_generators.tables.readable import ReadableTable
from deltaspec_generators.tables.restrictions import Restrictions, draw_restricted_table

DRAWN, SOUND, RARE, BROKEN, HISTORY, GOLDEN = "drawn", "sound", "rare", "broken", "history", "golden"


class Corpus(msgspec.Struct, frozen=True):
    """Which tables to read: `tables` drawn from a seed, and whether to include the written ones."""

    seed: int = 1
    tables: int = 100
    written: bool = True
    revision: str = "current"
    """Revision of the drawn tables; written ones are of the current revision."""
    histories: int = 0
    """Number of drawn histories, for the suites that write."""
    written_histories: bool = False
    """Whether to include the written histories."""
    catalog_tables: int | None = None
    """Number of drawn catalog-managed tables, after the written ones; None for none of both."""
    golden: bool = False
    """Whether to include the golden cases that have a question for a reader; needs a checkout."""
    imported: ImportedTables | None = None
    """Imported cases, which are then the only ones."""

    def list_ids(self) -> list[str]:
        """List the ids of the tables, the written ones first."""
        if self.imported is not None:
            return self.imported.list_ids()
        kinds = ((BROKEN, FAULTY_TABLES), (SOUND, SOUND_TABLES), (RARE, RARE_TABLES))
        written = [f"{kind}.{name}" for kind, tables in kinds for name in tables] if self.written else []
        written += [f"{GOLDEN}.{case.id}" for case in _list_golden_cases()] if self.golden else []
        kind = DRAWN if self.revision == Revision.CURRENT else f"{DRAWN}-{self.revision}"
        drawn = [f"{kind}.{self.seed}.{number}" for number in range(self.tables)]
        if self.catalog_tables is not None:
            written += [f"{CATALOG}.{name}" for name in CATALOG_TABLES] if self.written else []
            drawn += [f"{CATALOG}.{self.seed}.{number}" for number in range(self.catalog_tables)]
        histories = [f"{HISTORY}.{name}" for name in WRITTEN_HISTORIES] if self.written_histories else []
        histories += [f"{HISTORY}.{self.seed}.{number}" for number in range(self.histories)]
        return [*written, *drawn, *histories]

    def build_subject(self, identity: str, directory: Path) -> TableUnderTest:
        """Write the table of an id into a directory, which must not exist; imported tables stay where they are.

        Raises:
            KeyError: There is no such table.
        """
        if self.imported is not None:
            return self.imported.describe(identity)
        return build_subject(identity, directory)


def _list_golden_cases() -> list[GoldenCase]:
    """List the golden cases except tables that a reader may refuse or read."""
    return [case for case in load_cases().values() if case.defect is None or case.defect.accepted]


def is_drawn(identity: str) -> bool:
    """Return whether an id names a drawn table of the current revision; only those are shrunk.

    Imported cases may be drawn golden cases, whose ids begin likewise.
    """
    return re.fullmatch(rf"{DRAWN}\.\d+\.\d+", identity) is not None


def is_history(identity: str) -> bool:
    """Return whether an id names a history."""
    return identity.startswith(f"{HISTORY}.")


def describe_subject(identity: str) -> TableUnderTest:
    """Return the table of an id without writing it.

    Raises:
        KeyError: There is no such table.
    """
    kind, _, name = identity.partition(".")
    nowhere = Path()
    if kind == BROKEN:
        case = FAULTY_TABLES[name]
        broken = BrokenTable(case.requires, case.defect, nowhere, ACCEPTED_ERRORS[case.reason], case.features)
        return TableUnderTest(identity, nowhere, case.build_twin(), broken)
    if kind in (SOUND, RARE):
        return TableUnderTest(identity, nowhere, (SOUND_TABLES if kind == SOUND else RARE_TABLES)[name]())
    if kind == CATALOG and name in CATALOG_TABLES:
        return TableUnderTest(identity, nowhere, CATALOG_TABLES[name]())
    if kind == GOLDEN:
        return _describe_golden_case(identity, load_cases()[name])
    if kind == HISTORY and name in WRITTEN_HISTORIES:
        return build_history_subject(identity, HistoryUnderTest(0, 0, nowhere, WRITTEN_HISTORIES[name]()))
    seed, _, number = name.partition(".")
    drawn, _, revision = kind.partition("-")
    is_known = kind in (DRAWN, CATALOG, HISTORY) or (drawn == DRAWN and revision in {*Revision} - {Revision.CURRENT})
    if not is_known or not (seed.isdecimal() and number.isdecimal()):
        raise KeyError(identity)
    if kind == HISTORY:
        return build_history_subject(identity, HistoryUnderTest(int(seed), int(number), nowhere))
    choices = SeededChoices(int(seed), int(number))
    if revision:
        return TableUnderTest(identity, nowhere, draw_restricted_table(choices, Restrictions(revision=revision)))
    table = (draw_catalog_managed_table if kind == CATALOG else draw_table)(choices)
    return TableUnderTest(identity, nowhere, replace(table, choices=tuple(choices.sequence)))


def _describe_golden_case(identity: str, case: GoldenCase) -> TableUnderTest:
    defect, nowhere = case.defect, Path()
    broken = None if defect is None else BrokenTable(case.requires, defect.text, nowhere, defect.accepted)
    return TableUnderTest(identity, nowhere, case.build(), broken)


def build_history_subject(identity: str, history: HistoryUnderTest) -> TableUnderTest:
    """Return the subject of a history: there is no table before it is performed."""
    table = ReadableTable(TableFiles(), (), ())
    return TableUnderTest(identity, history.directory / "table", table, history=history)


def build_subject(identity: str, directory: Path) -> TableUnderTest:
    """Write the table of an id into a directory, which must not exist.

    Raises:
        KeyError: There is no such table.
    """
    described = describe_subject(identity)
    location = directory / "table"
    if described.history is not None:
        return replace(described, location=location, history=replace(described.history, directory=directory))
    described = replace(described, location=location)
    if described.broken is not None:
        described = replace(described, broken=replace(described.broken, location=directory / "broken"))
    _write_subject(described)
    return described


def _write_subject(subject: TableUnderTest) -> None:
    write_table(subject.table.files, subject.location)
    if subject.broken is not None:
        kind, _, name = subject.id.partition(".")
        files = load_cases()[name].build_broken() if kind == GOLDEN else FAULTY_TABLES[name].build_faulty()
        write_table(files, subject.broken.location)


def rewrite_subject(subject: TableUnderTest) -> None:
    """Write the tables of a subject again, after a candidate changed them. Imported tables stay as they are."""
    if subject.imported is None:
        for each in subject.locations:
            shutil.rmtree(each, ignore_errors=True)
        _write_subject(subject)
