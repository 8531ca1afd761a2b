"""Plant every fault that could make the ledger silent, run the tests of its module, and write the page.

The faults are planted in copies of the sources below the directory for temporary files. `reports/self-mutation.jsonl`
has the outcomes, `reports/self-mutation.md` is the page.
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
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

from cosmic_ray.mutating import mutate_and_test, mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome

from self_mutation.code_faults import CodeFault, list_code_faults
from self_mutation.page import Outcome, read_outcomes, read_reasons, write_page

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("conformance/deltaspec")
RESULTS = ROOT / "reports" / "self-mutation.jsonl"
FOLDERS = ("rules", "views", "wire", "validation")
_COPIED = ("conformance", "generators", "golden-tables", "reports", "pyproject.toml", "README.md", "CONTRIBUTING.md")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".hypothesis", "fuzz-failures")
_PYTEST = "-q -x --tb=no --no-header -p no:cacheprovider -m 'not spark'"


def main() -> int:
    """Run the session; return 1 if a survivor has no reason."""
    options = _parse_options()
    faults = {each.id: each for each in _list_faults()}
    selected = [each for each in faults.values() if options.module in each.module]
    rerun = {each.id for each in selected} if not options.resume else set()
    outcomes = {key: each for key, each in read_outcomes(RESULTS).items() if key in faults and key not in rerun}
    reasons = read_reasons()
    decided = {key for key, each in outcomes.items() if each.result != "survived" or each.key in reasons}
    pending = [each for each in selected if each.id not in decided]
    print(f"{len(selected)} faults; {len(pending)} of them run", flush=True)
    RESULTS.write_text("".join(f"{outcome.to_json()}\n" for outcome in outcomes.values()), encoding="utf-8")
    for number, outcome in enumerate(_run_all(pending, options.processes), 1):
        outcomes[outcome.id] = outcome
        print(f"{number:5} {outcome.result:8} {outcome}", flush=True)
    return write_page(RESULTS.with_suffix(".md"), outcomes.values(), faults.values())


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s self-mutation --", description=__doc__)
    parser.add_argument("--module", default="", help="only modules whose path contains this text")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--resume", action="store_true", help="keep earlier outcomes; run unexplained survivors again")
    return parser.parse_args()


def _list_faults() -> Iterator[CodeFault]:
    """Yield the faults of all folders. `validation/spark` is left out because its tests need Java."""
    root = ROOT / PACKAGE
    for path in (each for folder in FOLDERS for each in sorted((root / folder).rglob("*.py"))):
        module = path.relative_to(root).as_posix()
        if not module.startswith("validation/spark/"):
            yield from list_code_faults(root, module)


def _run_all(faults: list[CodeFault], processes: int) -> Iterator[Outcome]:
    """Yield the outcomes. Each process plants its faults in its own copy of the sources."""
    groups: dict[str, list[CodeFault]] = defaultdict(list)
    for each in faults:
        groups[" ".join(_list_tests(each.module))].append(each)
    with tempfile.TemporaryDirectory(prefix="self-mutation-") as folder:
        context = multiprocessing.get_context("spawn")
        # not `context.Pool`: its processes may not start processes, and some tests do
        with ProcessPoolExecutor(max(1, processes), context, _enter_copy, (folder,)) as pool:
            limits = dict(zip(groups, pool.map(_measure_limit, groups), strict=True))
            runs = [pool.submit(_run, each, tests, limits[tests]) for tests, group in groups.items() for each in group]
            yield from (each.result() for each in as_completed(runs))


def _enter_copy(folder: str) -> None:
    """Copy the sources, and make the copy the one that the tests import."""
    copy = Path(tempfile.mkdtemp(dir=folder))
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=_NOT_COPIED)
        else:
            shutil.copy(source, copy)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = os.pathsep.join(str(copy / name) for name in ("conformance", "generators"))
    os.environ["DELTASPEC_PROFILE"] = "unshrunk"  # that a test fails is enough


def _measure_limit(tests: str) -> float:
    """Run tests without a fault; return the seconds after which the tests of a fault are interrupted.

    Raises:
        RuntimeError: a test fails.
    """
    start = time.monotonic()
    done = subprocess.run(shlex.split(_format_command(tests)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"without a fault, a test fails: {done.stdout}")
    return 60 + 5 * (time.monotonic() - start)


def _run(fault: CodeFault, tests: str, limit: float) -> Outcome:
    """Run the tests of a fault. Append the outcome to the results at once, so that a run that is killed keeps it."""
    path = PACKAGE / fault.module
    source = path.read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(fault.operator)(), fault.occurrence)
    spec = MutationSpec(path, fault.operator, fault.occurrence, (0, 0), (0, 1))
    done = mutate_and_test([spec], _format_command(tests), limit)
    if done.worker_outcome != WorkerOutcome.NORMAL:
        raise RuntimeError(f"{fault}: {done.output}")
    result = "survived" if done.test_outcome == TestOutcome.SURVIVED else "killed"
    outcome = Outcome.from_sources(fault, "timeout" if done.output == "timeout" else result, source, changed or source)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(f"{outcome.to_json()}\n")
    return outcome


def _format_command(tests: str) -> str:
    paths = " ".join(f"conformance/tests/{each}" for each in tests.split())
    return f"{shlex.quote(sys.executable)} -m pytest {_PYTEST} {paths}"


@cache
def _list_tests(module: str) -> list[str]:
    """Return the tests of a module, from the longest entry of `tests.toml` that contains it."""
    tests = tomllib.loads(Path(__file__).with_name("tests.toml").read_text(encoding="utf-8"))["tests"]
    return tests[max((each for each in tests if f"{module}/".startswith(f"{each}/")), key=len)]


if __name__ == "__main__":
    sys.exit(main())
