"""Requirements that the suites test, and reasons why others cannot be tested from outside."""

import tomllib
from functools import cache
from pathlib import Path

from deltaspec.golden.table_requirements import TABLE_REQUIREMENTS
from deltaspec.protocol.revisions import Revision
from deltaspec.suites.all_checks import CHECKS
from deltaspec.suites.checks import SUITES
from deltaspec.suites.refuse import check_broken_table
from deltaspec_generators.faulty_tables import FAULTY_TABLES

(BROKEN_TABLE,) = (check.name for check in CHECKS.values() if check.run is check_broken_table)
TABLE_CONTENT = "drawn tables"
"""Stands for every check: the requirement shows in the answers about tables with certain contents."""
GOLDEN_ONLY = {
    "action.unknown-not-required": "unknown.action",
    "add.rearranged-skipped": "change-data.compaction",
    "checksum.readers-free": "compactions.checksum.before-checkpoint",
    "compaction.readers-free": "compactions.range.all",
    "domain.readers-ignore": "protocol.domains",
    "domain.readers-optional": "protocol.domains",
    "vacuum-protocol-check.readers-acknowledge": "protocol.supported.vacuumprotocolcheck",
}
"""Requirements that only golden cases test, each with one of its cases (`deltaspec test --golden`)."""


@cache
def load_untestable_requirements() -> dict[str, str]:
    """Return the requirements that no test from outside can show, with the reason."""
    reasons = tomllib.loads((Path(__file__).parent / "untestable.toml").read_text("utf-8"))
    found: dict[str, str] = {}
    for of_actor in reasons.values():
        found |= of_actor
    return found


NOT_OF_EARLIER = "only tables and histories of later revisions test it"
"""Why the suites do not test a requirement in an earlier revision that they test in the current one."""
NOT_DRAWN: dict[str, tuple[str, ...]] = {"r1": (), "r2": (), "r3": ()}
"""Requirements of an earlier revision that show in the content of tables, but in none that is drawn of the revision."""


def list_tested_requirements(revision: str = Revision.CURRENT) -> dict[str, tuple[str, ...]]:
    """Return the requirements that the suites test in a revision, with checks, `TABLE_CONTENT` or golden cases.

    Only drawn tables to read are of earlier revisions (`deltaspec test --revision`). Written tables, histories, golden
    cases and tables that must be refused are of the current one.
    """
    if revision == Revision.CURRENT:
        return _list_tested_requirements()
    of_drawn_tables = {check.name for check in CHECKS.values() if check.suite in SUITES} - {BROKEN_TABLE}
    found = {}
    for requirement, names in _list_tested_requirements().items():
        kept = tuple(name for name in names if name in of_drawn_tables)
        if TABLE_CONTENT in names and requirement not in NOT_DRAWN[revision]:
            kept = (*kept, TABLE_CONTENT)
        if kept:
            found[requirement] = kept
    return found


@cache
def _list_tested_requirements() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for check in CHECKS.values():
        for requirement in check.requires:
            found.setdefault(requirement, {})[check.name] = None
    for faulty in FAULTY_TABLES.values():
        for requirement in faulty.requires:
            found.setdefault(requirement, {})[BROKEN_TABLE] = None
    for requirement in TABLE_REQUIREMENTS:
        found.setdefault(requirement, {})[TABLE_CONTENT] = None
    for requirement, case in GOLDEN_ONLY.items():
        found.setdefault(requirement, {})[f"golden case {case}"] = None
    return {requirement: tuple(names) for requirement, names in found.items()}
