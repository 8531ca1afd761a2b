"""Plant faults in the kit's own code, run the tests that should notice, and write `reports/mutation.md`.

A run takes a sample of the mutants of each folder, and every mutant that could make the ledger silent. The mutants are
planted in copies of the sources below the directory for temporary files. `reports/mutation.jsonl` has the outcomes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

from cosmic_ray.mutating import mutate_and_test, mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome

from mutation.mutants import Mutant, list_mutants
from mutation.page import Outcome, read_outcomes, write_page
from mutation.warm_tests import Undecided, run_warm_tests

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("conformance/deltaspec")
RESULTS = ROOT / "reports" / "mutation.jsonl"
FOLDERS = ("model", "rules", "views", "wire", "validation")
_COPIED = ("conformance", "generators", "golden-tables", "reports", "pyproject.toml", "README.md", "CONTRIBUTING.md")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".hypothesis", "fuzz-failures")
_CHUNK = 150
"""Mutants for which a process collects the tests once, and runs them without a fault."""
_PYTEST = "-q -x --tb=no --no-header -p no:cacheprovider -m 'not spark'"


def main() -> int:
    """Run the session; return 1 if a survivor without a reason is in the ledger group or in a weak folder."""
    options = _parse_options()
    mutants = {each.id: each for folder in FOLDERS for each in _list_folder(folder)}
    folders = options.folder or FOLDERS
    selected = [each for folder in folders for each in _select(folder, mutants, options)]
    outcomes = {
        key: outcome
        for key, outcome in read_outcomes(RESULTS).items()
        if key in mutants and (options.resume or outcome.folder not in folders)
    }
    killed = {key for key, outcome in outcomes.items() if outcome.result != "survived"}
    pending = [each for each in selected if each.id not in killed]
    print(f"{len(selected)} mutants, of which {len(pending)} run", flush=True)
    RESULTS.write_text("".join(f"{outcome.to_json()}\n" for outcome in outcomes.values()), encoding="utf-8")
    for number, outcome in enumerate(_run_all(pending, options.processes), 1):
        outcomes[outcome.id] = outcome
        print(f"{number:5} {outcome.result:8} {outcome}", flush=True)
    totals = {folder: sum(each.folder == folder for each in mutants.values()) for folder in FOLDERS}
    totals["ledger"] = sum(each.is_ledger for each in mutants.values())
    return write_page(ROOT / "reports" / "mutation.md", outcomes.values(), totals, options.seed)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s mutate --", description=__doc__)
    parser.add_argument("--folder", action="append", choices=FOLDERS, help="repeatable; all folders by default")
    parser.add_argument("--module", default="", help="only modules whose path contains this text")
    parser.add_argument("--sample", type=int, default=150, help="mutants of each folder, in addition to the ledger")
    parser.add_argument("--all", action="store_true", help="every mutant: takes days")
    parser.add_argument("--seed", type=int, default=7, help="another seed selects another sample")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--resume", action="store_true", help="keep earlier outcomes; run survivors again")
    return parser.parse_args()


def _list_folder(folder: str) -> Iterator[Mutant]:
    """Yield the mutants of a folder. `validation/spark` is left out because its tests need Java."""
    root = ROOT / PACKAGE
    for path in sorted((root / folder).rglob("*.py")):
        module = path.relative_to(root).as_posix()
        if not module.startswith("validation/spark/"):
            yield from list_mutants(root, module)


def _select(folder: str, mutants: dict[str, Mutant], options: argparse.Namespace) -> list[Mutant]:
    """Return all mutants of the ledger in a folder, removed statements first, and the sample of the others."""
    found = [each for each in mutants.values() if each.folder == folder and options.module in each.module]
    ledger = sorted((each for each in found if each.is_ledger), key=lambda each: "Remove" not in each.operator)
    others = sorted((each for each in found if not each.is_ledger), key=lambda each: each.compute_rank(options.seed))
    return ledger + (others if options.all else others[: options.sample])


def _run_all(mutants: list[Mutant], processes: int) -> Iterator[Outcome]:
    """Yield the outcomes. Each process plants its faults in its own copy of the sources."""
    groups: dict[str, list[Mutant]] = defaultdict(list)
    for each in mutants:
        groups[" ".join(_list_tests(each.module))].append(each)
    chunks = [group[start : start + _CHUNK] for group in groups.values() for start in range(0, len(group), _CHUNK)]
    undecided: list[tuple[Undecided, int]] = []
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        context = multiprocessing.get_context("spawn")
        # not `context.Pool`: its processes may not start processes, and some tests do
        with ProcessPoolExecutor(min(processes, len(chunks)) or 1, context, _enter_copy, (folder,)) as pool:
            for chunk in as_completed([pool.submit(_run_chunk, each) for each in chunks]):
                outcomes, rest = chunk.result()
                yield from outcomes
                undecided += rest
            print(f"{len(undecided)} mutants run again, in processes of their own", flush=True)
            for again in as_completed([pool.submit(_confirm, each) for each in undecided]):
                yield again.result()


def _enter_copy(folder: str) -> None:
    """Copy the sources, and make the copy the one that this process and its tests import."""
    copy = Path(tempfile.mkdtemp(dir=folder))
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=_NOT_COPIED)
        else:
            shutil.copy(source, copy)
    os.chdir(copy)
    packages = [str(copy / name) for name in ("conformance", "generators")]
    os.environ["PYTHONPATH"] = os.pathsep.join(packages)
    sys.path[:0] = packages
    os.environ["DELTASPEC_PROFILE"] = "unshrunk"  # that a test fails is enough
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    os.environ.setdefault("DELTASPEC_COMMIT", head.stdout.strip() or "none")  # determines the seed of property tests


def _run_chunk(mutants: list[Mutant]) -> tuple[list[Outcome], list[tuple[Undecided, int]]]:
    """Run the tests on mutants in this process. Return outcomes, and the undecided mutants with their time limit."""
    options = shlex.split(_PYTEST) + [f"conformance/tests/{each}" for each in _list_tests(mutants[0].module)]
    outcomes: list[Outcome] = []
    undecided, limit = run_warm_tests(
        options, mutants, PACKAGE, lambda mutant, result: outcomes.append(_record(mutant, result))
    )
    return outcomes, [(each, limit) for each in undecided]


def _confirm(undecided: tuple[Undecided, int]) -> Outcome:
    """Run the tests that execute a mutant, or all tests of its module, in another process with a limit in seconds."""
    (mutant, tests), limit = undecided
    names = Path("tests-to-run.txt")
    names.write_text("\n".join(tests or [f"conformance/tests/{each}" for each in _list_tests(mutant.module)]), "utf-8")
    spec = MutationSpec(PACKAGE / mutant.module, mutant.operator, mutant.occurrence, (0, 0), (0, 1))
    done = mutate_and_test([spec], f"{shlex.quote(sys.executable)} -m pytest {_PYTEST} @{names}", limit)
    if done.worker_outcome != WorkerOutcome.NORMAL:
        raise RuntimeError(f"{mutant}: {done.output}")
    result = "survived" if done.test_outcome == TestOutcome.SURVIVED else "killed"
    return _record(mutant, "timeout" if done.output == "timeout" else result)


def _record(mutant: Mutant, result: str) -> Outcome:
    """Append an outcome to the results at once, so that a run that is killed keeps it."""
    source = (PACKAGE / mutant.module).read_text(encoding="utf-8")
    mutated = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    outcome = Outcome.from_sources(mutant, result, source, mutated)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(f"{outcome.to_json()}\n")
    return outcome


@cache
def _list_tests(module: str) -> list[str]:
    """Return the tests of a module: those of the longest entry of `tests.toml` that contains it."""
    tests = tomllib.loads(Path(__file__).with_name("tests.toml").read_text(encoding="utf-8"))["tests"]
    return tests[max((each for each in tests if f"{module}/".startswith(f"{each}/")), key=len)]


if __name__ == "__main__":
    sys.exit(main())
