"""Prove the fixes of class `command` and `repair`; write `reports/fixes.json`, `planned-fixes.json` and `fixes.md`.

python -m fixes [plans | RULES]      (in conformance/tests; `nox -s fixes` does it)

With codes of rules, only their results of commands are replaced. `plans` replaces only the plans, and needs no Spark.
"""

import sys
import tempfile
import warnings
from pathlib import Path

from fixes.plans import plan_every_table
from fixes.proof import list_subjects, prove
from fixes.results import list_unproved, save_plans, save_results
from spark.session import start


def main(codes: list[str]) -> int:
    """Prove the fixes; return 1 if a fix is not proved."""
    warnings.simplefilter("ignore")
    if codes in ([], ["plans"]):
        save_plans(plan_every_table())
    if codes == ["plans"]:
        return 0
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        spark = start(f"{folder}/warehouse")
        for subject in list_subjects(codes):
            outcome = prove(spark, subject, Path(folder))
            outcomes.append(outcome)
            print(outcome.rule, outcome.case, outcome.table, outcome.failure or "proved", flush=True)
        spark.stop()
    unproved = list_unproved(save_results(outcomes, codes=codes))
    print(f"{len(outcomes)} runs; not proved: {', '.join(unproved) or 'none'}")
    return 1 if unproved else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
