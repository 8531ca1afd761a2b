"""Print the kill table: every requirement and revision, the faults that break it, the rule that must catch each.

python -m planted_faults.kill_table [EXAMPLES]      (in conformance/tests; `nox -s planted_faults` does it)
"""

import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from planted_faults.caught_by import CAUGHT_BY

import deltaspec
from deltaspec.report.report_types import CATALOG, Report
from deltaspec.requirements import REVISIONS, load_requirements
from deltaspec.rules import RULES
from deltaspec_generators.table_files import TableFiles, write_table
from planted_tables.faults.all_faults import PLANTED_FAULTS
from planted_tables.faults.registry import PlantedFault
from planted_tables.permissions.all_permissions import PERMISSIONS
from planted_tables.permissions.registry import Permission

NO_FINDINGS = "silent"
"""Outcome of a permission: the table conforms, and nothing is unchecked."""
_FEATURE_DROPPED = frozenset(code for code, rule in RULES.items() if rule.requires == ("protocol.features-stay",))
_USER_DEFINED_TYPE = frozenset({"PRP001"})
"""Reports every user-defined type, because no table feature gates them."""


@contextmanager
def written_table(files: TableFiles) -> Iterator[Callable[[str, str], Report]]:
    """Write a table to a temporary directory; yield a function that validates it at a level against a revision."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "table"
        write_table(files, path)

        def validate(level: str, revision: str) -> Report:
            return deltaspec.validate(
                str(path),
                level=level,
                revision=revision,
                clock=files.clock_ms,
                history="latest",
                accept_unchecked=[CATALOG],
            )

        yield validate


def write_and_validate(files: TableFiles, level: str = "log", revision: str = "current") -> Report:
    """Validate a table in a temporary directory."""
    with written_table(files) as validate:
        return validate(level, revision)


def find_revisions(fault: PlantedFault) -> tuple[str, ...]:
    """Return the revisions in which the rule of a planted fault must find it."""
    of_requirement = load_requirements()[fault.requirement].revisions
    of_rule = RULES[CAUGHT_BY[fault.name]].revisions
    of_fault = fault.revisions or REVISIONS
    return tuple(each for each in REVISIONS if each in of_requirement and each in of_rule and each in of_fault)


def find_permitted_revisions(permission: Permission) -> tuple[str, ...]:
    """Return the revisions in which validation must find nothing in the table of a permission."""
    of_requirement = load_requirements()[permission.requirement].revisions
    return tuple(each for each in of_requirement if permission.revisions is None or each in permission.revisions)


def count_outcomes(fault: PlantedFault, examples: Mapping[str, int]) -> dict[str, Counter[tuple[str, ...]]]:
    """Draw tables of a planted fault and count which sets of rules they violate.

    Args:
        fault: breaks one requirement.
        examples: number of tables per revision. Each table is drawn and written once.

    Returns:
        Per revision, the violated rules as sorted codes, and the number of tables. If the fault drops a feature,
        the divergence about that (E41) is left out; if it misuses a user-defined type, the one about the type (S44).
    """
    ignored = _FEATURE_DROPPED if fault.drops_feature else frozenset()
    ignored |= _USER_DEFINED_TYPE if fault.requirement.startswith("user-defined-types.") else frozenset()
    outcomes: dict[str, Counter[tuple[str, ...]]] = {revision: Counter() for revision in examples}

    @settings(
        max_examples=max(examples.values()),
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(fault.tables())
    def run(files: TableFiles) -> None:
        with written_table(files) as validate:
            for revision, most in examples.items():
                if outcomes[revision].total() < most:
                    found = set(validate(fault.level, revision).totals) - ignored
                    outcomes[revision][tuple(sorted(found))] += 1

    run()
    return outcomes


def compute_outcomes(permission: Permission, revisions: Iterable[str]) -> dict[str, str]:
    """Validate the table of a permission against revisions; per revision `NO_FINDINGS`, or what was reported."""
    outcomes = {}
    with written_table(permission.table()) as validate:
        for revision in revisions:
            report = validate(permission.level, revision)
            unchecked = [each.reason for each in report.checked.not_checked if not each.accepted]
            is_silent = report.verdict == "conforms" and not report.totals and not unchecked
            outcomes[revision] = NO_FINDINGS if is_silent else f"{report.verdict} {report.totals} {unchecked[:3]}"
    return outcomes


def list_checked_pairs() -> set[tuple[str, str]]:
    """Return every requirement and revision that a rule checks."""
    return {
        (name, revision)
        for rule in RULES.values()
        for name in rule.requires
        for revision in rule.revisions
        if revision in load_requirements()[name].revisions
    }


def list_planted_pairs() -> set[tuple[str, str]]:
    """Return every requirement and revision that a planted fault breaks."""
    return {(each.requirement, revision) for each in PLANTED_FAULTS.values() for revision in find_revisions(each)}


def main(examples: int) -> int:
    """Print the table; return 1 if a fault survives, another rule finds it, or a checked pair has no fault."""
    warnings.simplefilter("ignore")
    lines: dict[str, list[str]] = defaultdict(list)
    bad = runs = 0
    for name, fault in PLANTED_FAULTS.items():
        for revision, found in count_outcomes(fault, dict.fromkeys(find_revisions(fault), examples)).items():
            killed = set(found) == {(CAUGHT_BY[name],)}
            runs, bad = runs + 1, bad + (not killed)
            result = "killed" if killed else f"SURVIVES {dict(found)}"
            lines[fault.requirement].append(f"{revision:<8} {name:<48} {CAUGHT_BY[name]}  {result}")
    for name, permission in PERMISSIONS.items():
        for revision, outcome in compute_outcomes(permission, find_permitted_revisions(permission)).items():
            runs, bad = runs + 1, bad + (outcome != NO_FINDINGS)
            lines[permission.requirement].append(f"{revision:<8} {name:<48} permitted  {outcome}")
    for requirement in sorted(lines):
        print(requirement, *lines[requirement], sep="\n    ", flush=True)
    without = sorted(list_checked_pairs() - list_planted_pairs())
    print(f"\n{len(PLANTED_FAULTS)} planted faults, {len(PERMISSIONS)} permissions, {len(lines)} requirements")
    print(f"{runs} pairs with a revision, {bad} of them wrong; {len(without)} without a planted fault {without}")
    return 1 if bad or without else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
