"""Compute what covers a requirement, by revision.

A rule checks the requirements that it names. A permission is a valid table that uses what a requirement permits. The
tests have these tables, so `permissions.json` has the names that `nox -s explain_data` wrote; a test compares them.
Checks of the suites and golden cases test requirements about the behaviour of engines. Some of those cannot be tested
from outside. They have a written reason, and count as not covered.
"""

from functools import cache
from pathlib import Path

import msgspec

from deltaspec.requirements import REVISIONS, Requirement, load_requirements
from deltaspec.rules import RULES

PERMISSIONS_FILE = Path(__file__).with_name("permissions.json")


@cache
def load_permissions() -> dict[str, tuple[str, ...]]:
    """Return the names of the permissions by id of the requirement that they use."""
    return msgspec.json.decode(PERMISSIONS_FILE.read_bytes(), type=dict[str, tuple[str, ...]])


class RevisionCoverage(msgspec.Struct, frozen=True):
    """What covers a requirement in one revision; false if nothing does."""

    rules: tuple[str, ...] = ()
    """Codes of the rules that check it in the revision."""
    permissions: tuple[str, ...] = ()
    """Names of the valid tables that use it and have no findings."""
    checks: tuple[str, ...] = ()
    """Checks of the suites and golden cases that test it, for a requirement about behaviour."""
    reason: str = ""
    """Why no test from outside can show it."""

    def __bool__(self) -> bool:
        return bool(self.rules or self.permissions or self.checks)


class Coverage(msgspec.Struct, frozen=True):
    """Coverage of a requirement by revision."""

    requirement: Requirement
    revisions: dict[str, RevisionCoverage]
    """One entry for each selected revision in which the requirement applies, oldest first."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of all rules that check it in at least one of the revisions."""
        return tuple(dict.fromkeys(code for covering in self.revisions.values() for code in covering.rules))

    @property
    def permissions(self) -> tuple[str, ...]:
        """Names of all valid tables that use it."""
        return tuple(dict.fromkeys(name for covering in self.revisions.values() for name in covering.permissions))

    @property
    def checks(self) -> tuple[str, ...]:
        """Names of all checks that test it."""
        return tuple(dict.fromkeys(name for covering in self.revisions.values() for name in covering.checks))

    @property
    def reason(self) -> str:
        """Why no test from outside can show it, or an empty string."""
        return next((covering.reason for covering in self.revisions.values() if covering.reason), "")

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Revisions in which nothing covers it, oldest first."""
        return tuple(revision for revision, covering in self.revisions.items() if not covering)


def compute_coverage(requirement: Requirement, revisions: tuple[str, ...] = REVISIONS) -> Coverage:
    """Return the coverage of a requirement in each of `revisions` in which it applies."""
    rules = [rule for rule in RULES.values() if requirement.id in rule.requires]
    permissions = load_permissions().get(requirement.id, ())
    applicable = [revision for revision in requirement.revisions if revision in revisions]
    return Coverage(
        requirement,
        {
            revision: RevisionCoverage(
                tuple(rule.code for rule in rules if revision in rule.revisions),
                permissions,
                *_find_suite_coverage(requirement, revision),
            )
            for revision in applicable
        },
    )


def _find_suite_coverage(requirement: Requirement, revision: str) -> tuple[tuple[str, ...], str]:
    """Return the checks that test a requirement about behaviour in a revision, and why there are none."""
    if requirement.check != "behaviour":
        return (), ""
    from deltaspec.suites.coverage import NOT_OF_EARLIER, list_tested_requirements, load_untestable_requirements

    tested = list_tested_requirements(revision).get(requirement.id, ())
    reason = load_untestable_requirements().get(requirement.id, "")
    if not tested and requirement.id in list_tested_requirements():
        reason = NOT_OF_EARLIER
    return tested, reason


def coverage(revision: str | None = None) -> dict[str, Coverage]:
    """Return the coverage of each requirement, by id, in the order of the catalog.

    Args:
        revision: only this revision and its requirements; None for all four.
    """
    selected = REVISIONS if revision is None else (revision,)
    found = {identity: compute_coverage(requirement, selected) for identity, requirement in load_requirements().items()}
    return {identity: each for identity, each in found.items() if each.revisions}


def format_revisions(revisions: tuple[str, ...]) -> str:
    """Revisions in few letters: neighbours as first and last, `r1-r3`; others with commas between them."""
    spans: list[list[str]] = []
    for revision in revisions:
        if spans and REVISIONS.index(revision) == REVISIONS.index(spans[-1][-1]) + 1:
            spans[-1].append(revision)
        else:
            spans.append([revision])
    return ", ".join(span[0] if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans)
