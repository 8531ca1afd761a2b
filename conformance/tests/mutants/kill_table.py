"""Prints the kill table: every mutation, the requirement it breaks, the rule that must catch it, and what did.

python -m mutants.kill_table [EXAMPLES]      (in conformance/tests; `nox -s mutants` does it)
"""

import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from mutants.caught_by import CAUGHT_BY

from deltaspec.rules import RULES
from deltaspec.validate import validate_table
from deltaspec_generators.builder import TableFiles, write_table
from deltaspec_generators.every_mutation import MUTATIONS
from deltaspec_generators.mutations import Mutation


def findings_of(files: TableFiles, level: str = "log") -> Counter[str]:
    """Findings by rule on a table, laid down in a directory of its own."""
    with tempfile.TemporaryDirectory() as directory:
        write_table(files, Path(directory) / "table")
        return Counter(validate_table(str(Path(directory) / "table"), level=level, history="latest").totals)


def outcomes(mutation: Mutation, examples: int) -> Counter[tuple[str, ...]]:
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
        found[tuple(sorted(findings_of(files, mutation.level)))] += 1

    run()
    return found


def main(examples: int) -> int:
    """Print the table; 1 if a mutation survives or is found by another rule, or a rule has no mutation."""
    warnings.simplefilter("ignore")
    survivors = 0
    caught: set[str] = set()
    for name, mutation in MUTATIONS.items():
        found = outcomes(mutation, examples)
        killed = set(found) == {(CAUGHT_BY[name],)}
        survivors += not killed
        caught |= {CAUGHT_BY[name]} if killed else set()
        verdict = "killed" if killed else f"SURVIVES {dict(found)}"
        print(f"{mutation.requirement:<48} {name:<42} {CAUGHT_BY[name]}  {verdict}", flush=True)
    without = sorted(set(RULES) - caught)
    print(f"\n{len(MUTATIONS)} mutations, {survivors} survive; ", end="")
    print(f"{len(RULES)} rules, {len(without)} without a kill {without}")
    return 1 if survivors or without else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
