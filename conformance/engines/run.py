"""Run every suite against the adapters that can run here, and write `reports/engines`.

    python conformance/engines/run.py                                # every adapter that can run
    python conformance/engines/run.py deltalake polars --tables 500  # these

Each engine gets `reports/engines/NAME.json`, judged with the known failures in `reports/engines/known/NAME.toml`. The
table in `reports/engines/README.md` is written from all reports. The exit code is 1 if an engine fails in a way that is
not listed.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import msgspec

from deltaspec.candidates.registry import ADAPTERS, find_missing_requirement
from deltaspec.suites.checks import SUITES
from deltaspec.suites.outcomes import Outcome
from deltaspec.suites.results import SuiteReport

REPORTS = Path(__file__).parents[2] / "reports/engines"
HEAD = """# Engines

`nox -s engines` writes this page. Each engine answered the same questions about the same tables, drawn with seed
{seed}. A cell has the number of cases that passed, and after it what else happened. *expected-failure*: listed in
[known](known), with one entry for each cause. *not-asked*: the engine does not offer it. An engine without a feature
must refuse tables that need it; those cases are in `refuse`.

"""


def main() -> None:
    """Parse the command line, run the engines and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("engines", nargs="*", metavar="NAME", help="adapters; all that can run here by default")
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    failed = [name for name in arguments.engines or list_runnable() if run_engine(name, arguments) not in (0, 2)]
    (REPORTS / "README.md").write_text(render_page(), "utf-8")
    if failed:
        sys.exit(f"failures that are not listed: {', '.join(failed)}")


def list_runnable() -> list[str]:
    """Return the adapters that can run here; say why the others cannot."""
    found = []
    for name, adapter in ADAPTERS.items():
        missing = find_missing_requirement(adapter)
        if missing is None:
            found.append(name)
        else:
            print(f"{name}: not run, {missing}; {adapter.install}", file=sys.stderr)
    return found


def run_engine(name: str, arguments: argparse.Namespace) -> int:
    """Run the suites against an engine in a process of its own and return the exit code."""
    known = REPORTS / "known" / f"{name}.toml"
    command = [sys.executable, "-m", "deltaspec", "test", name, "--format", "json", "--timeout-scale", "2"]
    command += ["--tables", str(arguments.tables), "--seed", str(arguments.seed)]
    command += ["--jobs", "1" if ADAPTERS[name].needs_java else str(arguments.jobs)]
    command += ["--known", str(known)] if known.exists() else []
    code = subprocess.run([*command, "--output", str(REPORTS / f"{name}.json")], check=False).returncode
    print(f"{name}: exit code {code}", file=sys.stderr)
    return code


def load_reports() -> list[SuiteReport]:
    """Load all reports, the engine with the most passed cases first."""
    reports = [msgspec.json.decode(path.read_bytes(), type=SuiteReport) for path in sorted(REPORTS.glob("*.json"))]
    return sorted(reports, key=lambda each: -each.total[Outcome.PASSED])


def render_page() -> str:
    """Return the page with one row for each engine."""
    reports = load_reports()
    lines = [HEAD.format(seed=", ".join(sorted({str(each.run.seed) for each in reports})))]
    lines += [f"| engine | tables | {' | '.join(SUITES)} |", "|-" * (len(SUITES) + 2) + "|"]
    for report in reports:
        cells = [_describe(report.outcomes.get(suite, {})) for suite in SUITES]
        name = f"[{report.candidate.name}]({report.run.candidate}.json) {report.candidate.version}"
        lines.append(f"| {name} | {report.run.tables} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _describe(counts: dict[str, int]) -> str:
    others = [f"{count} {name}" for name, count in counts.items() if name != Outcome.PASSED]
    return ", ".join([str(counts.get(Outcome.PASSED, 0)), *others])


if __name__ == "__main__":
    main()
