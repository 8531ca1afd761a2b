"""Prints the kill table: every requirement and revision, the mutations that break it, the rule that must catch each.

python -m mutations.kill_table [EXAMPLES]      (in conformance/tests; `nox -s mutants` does it)
"""

import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from mutations.caught_by import CAUGHT_BY

from deltaspec.report.report_types import Report
from deltaspec.requirements import REVISIONS, requirements
from deltaspec.rules import RULES
from deltaspec.validation import validate_table
from deltaspec_generators.mutations.all_mutations import MUTATIONS
from deltaspec_generators.mutations.registry import Mutation
from deltaspec_generators.permissions.all_permissions import PERMISSIONS
from deltaspec_generators.permissions.registry import Permission
from deltaspec_generators.table_files import TableFiles, write_table

NO_FINDINGS = "silent"
"""What a permission has to give."""


def write_and_validate(files: TableFiles, level: str = "log", revision: str = "current") -> Report:
    """The report on a table, laid down in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        path = str(Path(directory) / "table")
        return validate_table(path, level=level, revision=revision, clock=files.clock_ms, history="latest")


def find_revisions(mutation: Mutation) -> tuple[str, ...]:
    """Revisions in which the rule of a mutation must find it."""
    held = requirements()[mutation.requirement].revisions
    asked = RULES[CAUGHT_BY[mutation.name]].revisions
    shown = mutation.revisions or REVISIONS
    return tuple(each for each in REVISIONS if each in held and each in asked and each in shown)


def count_outcomes(mutation: Mutation, examples: int, revision: str = "current") -> Counter[tuple[str, ...]]:
    """Which sets of rules the tables of a mutation gave, and how often."""
    found: Counter[tuple[str, ...]] = Counter()

    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(mutation.tables())
    def run(files: TableFiles) -> None:
        found[tuple(sorted(write_and_validate(files, mutation.level, revision).totals))] += 1

    run()
    return found


def compute_outcome(permission: Permission, revision: str) -> str:
    """`silent`, or what was said of a table that only uses what is permitted."""
    report = write_and_validate(permission.table(), permission.level, revision)
    unchecked = [each.reason for each in report.checked.not_checked]
    quiet = report.verdict == "conforms" and not report.totals and not unchecked
    return NO_FINDINGS if quiet else f"{report.verdict} {report.totals} {unchecked[:3]}"


def list_checked_pairs() -> set[tuple[str, str]]:
    """Requirement and revision, for all that a rule checks."""
    return {
        (name, revision)
        for rule in RULES.values()
        for name in rule.requires
        for revision in rule.revisions
        if revision in requirements()[name].revisions
    }


def list_planted_pairs() -> set[tuple[str, str]]:
    """Requirement and revision, for all that a mutation breaks."""
    return {(each.requirement, revision) for each in MUTATIONS.values() for revision in find_revisions(each)}


def main(examples: int) -> int:
    """Print the table; 1 if a mutation survives or is found by another rule, or something has no mutation."""
    warnings.simplefilter("ignore")
    lines: dict[str, list[str]] = defaultdict(list)
    bad = runs = 0
    for name, mutation in MUTATIONS.items():
        for revision in find_revisions(mutation):
            found = count_outcomes(mutation, examples, revision)
            killed = set(found) == {(CAUGHT_BY[name],)}
            runs, bad = runs + 1, bad + (not killed)
            said = "killed" if killed else f"SURVIVES {dict(found)}"
            lines[mutation.requirement].append(f"{revision:<8} {name:<48} {CAUGHT_BY[name]}  {said}")
    for name, permission in PERMISSIONS.items():
        for revision in requirements()[permission.requirement].revisions:
            said = compute_outcome(permission, revision)
            runs, bad = runs + 1, bad + (said != NO_FINDINGS)
            lines[permission.requirement].append(f"{revision:<8} {name:<48} permitted  {said}")
    for requirement in sorted(lines):
        print(requirement, *lines[requirement], sep="\n    ", flush=True)
    without = sorted(list_checked_pairs() - list_planted_pairs())
    print(f"\n{len(MUTATIONS)} mutations, {len(PERMISSIONS)} permissions, {len(lines)} requirements; ", end="")
    print(f"{runs} pairs with a revision, {bad} of them wrong; {len(without)} without a mutation {without}")
    return 1 if bad or without else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
