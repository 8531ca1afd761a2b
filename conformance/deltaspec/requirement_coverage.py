"""What decides a requirement: rules that look for its breach, and tables that use what it permits, by revision.

Computed from the rules and the permissions, and stored nowhere: whoever adds a rule has covered what it requires.
"""

from dataclasses import dataclass

from deltaspec.requirements import REVISIONS, Requirement, requirements
from deltaspec.rules import RULES
from deltaspec_generators.permissions.all_permissions import PERMISSIONS


@dataclass(frozen=True)
class RevisionCoverage:
    """What covers a requirement in one revision; false where nothing does."""

    rules: tuple[str, ...] = ()
    """Codes of the rules that are asked in the revision and check it."""
    permissions: tuple[str, ...] = ()
    """Names of the sound tables that use it, on which no rule says anything."""

    def __bool__(self) -> bool:
        return bool(self.rules or self.permissions)


@dataclass(frozen=True)
class Coverage:
    """What covers a requirement, revision by revision."""

    requirement: Requirement
    revisions: dict[str, RevisionCoverage]
    """One entry for each revision that was asked for and that the requirement holds in, oldest first."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Codes of all rules that check it in one of the revisions, in the order of their chapters."""
        return tuple(dict.fromkeys(code for covering in self.revisions.values() for code in covering.rules))

    @property
    def permissions(self) -> tuple[str, ...]:
        """Names of all sound tables that use it."""
        return tuple(dict.fromkeys(name for covering in self.revisions.values() for name in covering.permissions))

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Those of the revisions in which nothing covers it, oldest first."""
        return tuple(revision for revision, covering in self.revisions.items() if not covering)


def compute_coverage(requirement: Requirement, revisions: tuple[str, ...] = REVISIONS) -> Coverage:
    """What covers one requirement, in those of `revisions` that it holds in."""
    rules = [rule for rule in RULES.values() if requirement.id in rule.requires]
    permissions = tuple(each.name for each in PERMISSIONS.values() if each.requirement == requirement.id)
    held = [revision for revision in requirement.revisions if revision in revisions]
    return Coverage(
        requirement,
        {
            revision: RevisionCoverage(tuple(rule.code for rule in rules if revision in rule.revisions), permissions)
            for revision in held
        },
    )


def coverage(revision: str | None = None) -> dict[str, Coverage]:
    """What covers each requirement, by its id, in the order of the catalogue.

    Args:
        revision: only this one, and the requirements that hold in it; None: all four.
    """
    wanted = REVISIONS if revision is None else (revision,)
    found = {identity: compute_coverage(requirement, wanted) for identity, requirement in requirements().items()}
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
